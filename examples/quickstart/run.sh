#!/usr/bin/env bash
# The quick start: installs, builds, starts the gateway in front of an example server, and walks through what it does.
#   examples/quickstart/run.sh [--stay]      --stay: leaves the gateway running at the end
# All it writes lies in examples/quickstart/.work, which every run begins afresh. SALLYPORT_BUILD=build/dev takes programs
# that are built already.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$here/.work
stay=no
case "${1:-}" in
  "") ;;
  --stay) stay=yes ;;
  *) echo "usage: examples/quickstart/run.sh [--stay]" >&2; exit 2 ;;
esac
if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
say() { printf '   %s\n' "$*"; }
show() { sed "s/^/   $dim|$plain /"; }
fail() { printf '\nquickstart: %s\n' "$*" >&2; exit 1; }
# expect WHAT JQ-CONDITION JSON: says WHAT, or ends.
expect() { jq -e "$2" >/dev/null <<<"$3" || { jq . <<<"$3" >&2 || echo "$3" >&2; fail "expected: $1"; }; say "$1"; }
words() { jq -r '.content[] | select(.type == "text") | .text' <<<"$1" | show; }
code() { jq -r '._meta["dev.sallyport/call"].code // ""' <<<"$1"; }
executed() { jq -r --arg tool "$1" '.executions[$tool] // 0' "$work/exports.json"; }
operator() { "$sallyport" "$@" --config "$work/sallyport.jsonc" --token-file "$work/state/owner.token"; }

# Ends the gateway of this run or of an earlier one that stayed: only a process that is one, by its number.
stop_gateway() {
  local pid
  pid=$(cat "$work/gateway.pid" 2>/dev/null) || return 0
  if [[ "$(readlink "/proc/$pid/exe" 2>/dev/null)" == */sallyport* ]] && grep -qsF "$work" "/proc/$pid/cmdline"; then
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  fi
  rm -f "$work/gateway.pid"
}

free_ports() {
  local port
  for port in $(seq 8720 2 8820); do
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && ! (exec 3<>"/dev/tcp/127.0.0.1/$((port + 1))") 2>/dev/null; then
      echo "$port $((port + 1))"
      return
    fi
  done
  fail "no free port between 8720 and 8821"
}

# The id of the ask that waits, once there is one.
waiting_ask() {
  local id
  for _ in $(seq 100); do
    id=$(operator approvals list --json >asks.json || fail "the asks cannot be listed"; jq -r '.approvals[0].id // empty' asks.json)
    if [ -n "$id" ]; then echo "$id"; return; fi
    sleep 0.1
  done
  fail "no ask came"
}

if [ -n "${SALLYPORT_BUILD:-}" ]; then
  build=$(cd "$root" && cd "$SALLYPORT_BUILD" && pwd)
else
  "$root/scripts/install.sh" build run
  step "Building"
  "$root/scripts/build.sh" release sallyport export-worker
  build=$root/build/release
fi
sallyport=$build/sallyport
export EXPORT_WORKER=$build/examples/export-worker/export-worker QUICKSTART_FOLDER=$work
export XDG_CONFIG_HOME=$work/config-home  # nothing of yours is read or written
unset SALLYPORT_TOKEN SALLYPORT_CONTROL_TOKEN

stop_gateway
rm -rf "$work"
umask 077  # what others may write is refused
mkdir -p "$work"
trap '[ $stay = started ] || stop_gateway' EXIT
for file in sallyport trust policy; do cat "$here/$file.jsonc" >"$work/$file.jsonc"; done
echo '{"config": {"format": "csv", "destination": "exports/daily", "max_retries": 2, "compress": false}, "revision": 1}' >"$work/exports.json"
cd "$work"

step "1. Accept the server's tools, and check the files"
"$sallyport" trust accept --yes --config sallyport.jsonc 2>accept.txt | show
"$sallyport" check --config sallyport.jsonc | show

step "2. Start the gateway"
read -r port control_port < <(free_ports)
"$sallyport" serve --config "$work/sallyport.jsonc" --port "$port" --control-port "$control_port" >gateway.log 2>&1 </dev/null &
echo $! >gateway.pid
disown
for _ in $(seq 200); do
  curl -sf -o /dev/null "http://127.0.0.1:$control_port/healthz" && break
  kill -0 "$(cat gateway.pid)" 2>/dev/null || { cat gateway.log >&2; fail "the gateway ended"; }
  sleep 0.1
done
say "clients: http://127.0.0.1:$port/mcp, people: http://127.0.0.1:$control_port/ (log: examples/quickstart/.work/gateway.log)"
mcp_url=http://127.0.0.1:$port/mcp
mcp_token_file=$work/state/client.token
. "$here/client.sh"
mcp_connect
say "tools: $(mcp tools/list '{}' | jq -r '[.result.tools[].name] | join(", ")')"

step "3. A read is allowed"
result=$(call read_config '{}')
expect "the server's own answer came back" '.structuredContent.revision == 1 and (.isError | not)' "$result"
words "$result"

step "4. Wrong arguments never reach the server, and the model is told how to mend them"
result=$(call write_config '{"format": "csv", "destination": "exports/daily", "max_retries": "two"}')
expect "refused: $(code "$result")" '._meta["dev.sallyport/call"].code == "ARGUMENTS_INVALID" and .isError' "$result"
words "$result"

step "5. A rule denies publishing"
result=$(call publish '{"export_id": "ex-1"}')
expect "refused: $(code "$result")" '._meta["dev.sallyport/call"].code == "POLICY_DENIED" and .isError' "$result"
words "$result"

step "6. Queueing an export asks a person"
call queue_export '{"dataset": "orders"}' >queued.json &
client=$!
ask=$(waiting_ask)
say "the client's call is held; $ask waits:"
operator approvals show "$ask" | show
if "$sallyport" approvals approve "$ask" --yes --config sallyport.jsonc --token-file "$work/state/client.token" >/dev/null 2>refused.txt; then
  fail "a client's credential approved"
fi
say "the client's own credential approves nothing:"
show <refused.txt
operator approvals approve "$ask" --yes 2>/dev/null | show
wait "$client"
result=$(cat queued.json)
expect "the held call came back with the server's answer" '.structuredContent.status == "queued" and (.isError | not)' "$result"
words "$result"

step "7. It ran once, and the approval is spent"
if operator approvals approve "$ask" --yes >/dev/null 2>refused.txt; then fail "an approval was spent twice"; fi
show <refused.txt
result=$(mcp tools/call "{\"name\": \"sallyport_wait\", \"arguments\": {\"id\": \"$ask\"}}" | jq -c .result)
say "asked for it again, the gateway tells what became of it, and runs nothing:"
words "$result"
call queue_export '{"dataset": "orders"}' >again.json &
client=$!
second=$(waiting_ask)
[ "$second" != "$ask" ] || fail "the spent approval was offered again"
say "the same call once more is a new ask, $second; denied:"
operator approvals deny "$second" --reason "one is enough" | show
wait "$client"
expect "refused: $(code "$(cat again.json)")" '._meta["dev.sallyport/call"].code == "APPROVAL_DENIED"' "$(cat again.json)"
[ "$(executed queue_export)" = 1 ] || fail "the server queued $(executed queue_export) exports"
say "the server counts 1 execution of queue_export"

step "8. A lost answer is neither success nor failure"
result=$(call write_config '{"format": "json", "destination": "exports/weekly", "max_retries": 3}')
expect "after its deadline of 3 s: $(code "$result")" '._meta["dev.sallyport/call"].code == "OUTCOME_UNKNOWN" and .isError' "$result"
words "$result"
operation=$(jq -r '._meta["dev.sallyport/call"].operation' <<<"$result")
say "what touches the same scope has to wait:"
result=$(call queue_export '{"dataset": "customers"}')
expect "refused: $(code "$result")" '._meta["dev.sallyport/call"].code == "BLOCKED_BY_UNKNOWN"' "$result"
words "$result"

step "9. A person looks, and settles it"
result=$(call read_config '{}')
expect "read_config shows the new configuration: it did happen" '.structuredContent.config.destination == "exports/weekly"' "$result"
operator operations list --only unknown | show
operator operations resolve "$operation" applied --reason "read_config shows exports/weekly" | show
result=$(call write_config '{"format": "json", "destination": "exports/weekly", "max_retries": 4}')
expect "writes go on" '.isError | not' "$result"

step "10. All of it left receipts"
operator receipts list --limit 40 | show
say "verified by the program:"
"$sallyport" receipts verify --config sallyport.jsonc | show
say "and by jq and openssl alone, as docs/verify.md says:"
mkdir -p verify
"$sallyport" receipts export --config sallyport.jsonc >verify/log.jsonl
"$sallyport" receipts key --config sallyport.jsonc >verify/receipts.pub
sed -n '/^```bash$/,/^```$/p' "$root/docs/verify.md" | sed '1d;$d' >verify/verify.sh
(cd verify && bash verify.sh) | show

step "Put it in front of your client"
if [ $stay = yes ]; then
  stay=started
  say "the gateway runs on: http://127.0.0.1:$port/mcp, console: http://127.0.0.1:$control_port/ (token: .work/state/owner.token)"
  say "it ends with: kill $(cat gateway.pid)"
else
  say "the gateway of this run, http://127.0.0.1:$port/mcp, ends now; run.sh --stay leaves it running. For Claude Code:"
fi
say "  claude mcp add --transport http sallyport http://127.0.0.1:$port/mcp --header \"Authorization: Bearer $(cat state/client.token)\""
say "and in a file with mcpServers (Cursor and others):"
say "  \"sallyport\": { \"type\": \"http\", \"url\": \"http://127.0.0.1:$port/mcp\", \"headers\": { \"Authorization\": \"Bearer $(cat state/client.token)\" } }"
