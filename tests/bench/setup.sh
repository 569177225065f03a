# For run.sh and instructions.sh, which source it: a folder of its own, the echo server, and the gateway in front of it, with the
# schema of the tool, three rules and durable receipts. Sets echo_port, port, gateway_pid.

build=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/release
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    *) break ;;
  esac
done
sallyport=$build/sallyport load=$build/tests/bench/bench_load
for program in "$sallyport" "$load" "$build/tests/bench/bench_echo_server"; do
  [ -x "$program" ] || { echo "no $program: scripts/build.sh release label_bench" >&2; exit 2; }
done
work=$(mktemp -d)
started=()
umask 077
end_started() {
  local pid
  for pid in "${started[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end_started EXIT

# Until something listens on the port: seconds it took from now.
wait_for_port() {
  local begin=$EPOCHREALTIME
  until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do
    [ "${EPOCHREALTIME%.*}" -lt $((${begin%.*} + ${2:-20})) ] || { echo "nothing listens on $1" >&2; cat "$work/gateway.log" >&2; exit 1; }
  done
}

free_port() {
  local at
  for at in $(seq $((20000 + RANDOM % 10000)) 31000); do
    (exec 3<>"/dev/tcp/127.0.0.1/$at") 2>/dev/null || { echo "$at"; return; }
  done
}

start_echo() {
  "$build/tests/bench/bench_echo_server" >"$work/echo.port" &
  started+=($!)
  until [ -s "$work/echo.port" ]; do sleep 0.02; done
  echo_port=$(cat "$work/echo.port")
}

write_config() {
  cat >"$work/sallyport.jsonc" <<END
{ "mcpServers": { "echo": { "type": "http", "url": "http://127.0.0.1:$echo_port/mcp" } },
  "trust": "trust.jsonc", "policy": "policy.jsonc", "state": "state" }
END
  cat >"$work/trust.jsonc" <<'END'
{ "servers": { "echo": { "tools": {
  "look": "read", "note": { "effect": "record", "destructive": false, "scope": "notes/{/number}", "record": { "arguments": ["/number"] } } } } } }
END
  cat >"$work/policy.jsonc" <<'END'
{ "default": "ask", "rules": [
  { "id": "reads", "allow": { "effect": "read" } },
  { "id": "notes", "allow": { "server": "echo", "tool": "note", "arguments": { "text": { "maxLength": 1000 }, "number": { "minimum": 0 }, "tags?": {} } } },
  { "id": "secrets", "deny": { "server": "echo", "anyArgument": { "pattern": ".*(secret|password).*" } } } ] }
END
  "$sallyport" trust accept --yes --config "$work/sallyport.jsonc" >/dev/null 2>"$work/accept.log" || { cat "$work/accept.log" >&2; exit 1; }
}

# start_gateway [WRAPPER…]
start_gateway() {
  port=$(free_port)
  "$@" "$sallyport" serve --config "$work/sallyport.jsonc" --port "$port" --control-port 0 >"$work/gateway.log" 2>&1 &
  gateway_pid=$!
  started+=("$gateway_pid")
  wait_for_port "$port" 120
}
gateway_target() { echo "sallyport=$port/mcp,echo__,$work/state/client.token"; }
