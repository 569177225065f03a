#!/usr/bin/env bash
# Instructions that the gateway executes per call, by callgrind: unlike times they hardly differ from run to run. They are committed in
# instructions.json; growth by more than 5 % fails until somebody looks and says --accept.
#   tests/bench/instructions.sh [--build FOLDER] [--accept]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
accept=${1:-}
calls=${CALLS:-300}

start_echo
write_config
start_gateway valgrind --tool=callgrind --callgrind-out-file="$work/callgrind.out" --trace-children=no -q

# Instructions since the last time, all threads.
dump() {
  local before after
  before=$(find "$work" -name 'callgrind.out.*' | wc -l)
  callgrind_control --dump "$gateway_pid" >/dev/null
  for _ in $(seq 300); do
    after=$(find "$work" -name 'callgrind.out.*' | wc -l)
    [ "$after" -gt "$before" ] && break
    sleep 0.1
  done
  awk '/^(totals|summary):/ {total = $2} END {print total}' "$(ls -t "$work"/callgrind.out.* | head -n 1)"
}

measured='{}'
for tool in look note; do
  "$load" --tool $tool --connections 1 --rounds 1 --calls 100 "$(gateway_target)" >/dev/null
  dump >/dev/null
  "$load" --tool $tool --connections 1 --rounds 1 --calls "$calls" "$(gateway_target)" >/dev/null
  total=$(dump)
  measured=$(jq -c --arg name "$([ $tool = look ] && echo read || echo write)" --argjson each $((total / calls)) '.[$name] = $each' <<<"$measured")
done

echo "instructions per call: $measured"
if [ "$accept" = --accept ] || [ ! -e "$here/instructions.json" ]; then
  jq . <<<"$measured" >"$here/instructions.json"
  echo "written to tests/bench/instructions.json"
  exit 0
fi
jq -n --argjson now "$measured" --slurpfile kept "$here/instructions.json" '
  [$now | to_entries[] | {name: .key, now: .value, kept: $kept[0][.key], grown: (.value / $kept[0][.key] - 1)}]' |
  jq -e -r '(.[] | "\(.name): \(.now), committed \(.kept) (\(.grown * 1000 | round / 10) %)"), (if any(.[]; .grown > 0.05) then "grown by more than 5 %: find out why, or tests/bench/instructions.sh --accept" | halt_error(1) else empty end)'
