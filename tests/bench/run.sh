#!/usr/bin/env bash
# What a call costs: direct, through nginx and through Sallyport, in turns in one run against one fast server; then memory and start
# time. Prints a table and writes build/…/bench.json. Nothing fails on a time, only on a wrong answer.
#   tests/bench/run.sh [--build FOLDER]      ROUNDS=20 CALLS=400: per target, round and setting
set -euo pipefail
. "$(dirname "$0")/setup.sh"
rounds=${ROUNDS:-20} calls=${CALLS:-400}
memory() { awk -v name="$2:" '$1 == name {print $2}' "/proc/$1/status"; }  # kB

start_echo
write_config

nginx_port=$(free_port)
mkdir "$work/nginx"
cat >"$work/nginx.conf" <<END
daemon off; worker_processes 1; pid $work/nginx/pid; error_log $work/nginx/error.log;
events { worker_connections 512; }
http {
  access_log off; client_body_temp_path $work/nginx/body; proxy_temp_path $work/nginx/proxy; fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi; scgi_temp_path $work/nginx/scgi; keepalive_requests 100000000;
  upstream echo { server 127.0.0.1:$echo_port; keepalive 64; keepalive_requests 100000000; }
  server { listen 127.0.0.1:$nginx_port; location / { proxy_pass http://echo; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
END
nginx=$(PATH=$PATH:/usr/sbin command -v nginx)
"$nginx" -c "$work/nginx.conf" -e "$work/nginx/error.log" &
started+=($!)
wait_for_port "$nginx_port"

begin=$EPOCHREALTIME
start_gateway
start_ms=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.0f", (b - a) * 1000}')
"$load" --tool look --connections 1 --rounds 1 --calls 1 "$(gateway_target)" >/dev/null
idle_kb=$(memory "$gateway_pid" VmRSS)

results='{}'
for tool in look note; do
  for connections in 1 16; do
    one=$("$load" --tool $tool --connections $connections --rounds "$rounds" --calls "$calls" \
      "direct=$echo_port/mcp" "nginx=$nginx_port/mcp" "$(gateway_target)")
    results=$(jq -c --arg tool $tool --argjson connections $connections --argjson one "$one" '
      .[if $tool == "look" then "read" else "write" end][$connections | tostring] = ($one | map_values(. + {addedP50us: (.p50us - $one.direct.p50us) | (. * 10 | round / 10)}))' <<<"$results")
  done
done
load_kb=$(memory "$gateway_pid" VmHWM)
size=$(strip -o "$work/stripped" "$sallyport" 2>/dev/null && stat -c %s "$work/stripped" || stat -c %s "$sallyport")

report=$(jq -n --argjson results "$results" --argjson idle "$idle_kb" --argjson load "$load_kb" --argjson start "$start_ms" --argjson size "$size" \
  --arg version "$("$sallyport" --version)" --argjson cores "$(nproc)" '
  {version: $version, cores: $cores, calls: $results, startMs: $start, memoryKb: {idle: $idle, peak: $load}, strippedBytes: $size,
   readAddsTimesNginx: ($results.read["1"] | if .nginx.addedP50us > 0 then (.sallyport.addedP50us / .nginx.addedP50us * 100 | round / 100) else null end)}')
echo "$report" >"$build/bench.json"

printf '%-6s %-5s %-10s %9s %9s %9s %9s\n' call conns through calls/s p50µs p99µs addedµs
jq -r '.calls | to_entries[] | .key as $kind | .value | to_entries[] | .key as $n | .value | to_entries[] |
  [$kind, $n, .key, .value.perSecond, .value.p50us, .value.p99us, .value.addedP50us] | @tsv' <<<"$report" |
  while IFS=$'\t' read -r kind n through rate p50 p99 added; do
    printf '%-6s %-5s %-10s %9s %9s %9s %9s\n' "$kind" "$n" "$through" "$rate" "$p50" "$p99" "$added"
  done
jq -r '"a read adds \(.readAddsTimesNginx) times what nginx adds; start \(.startMs) ms; memory \(.memoryKb.idle) kB idle, \(.memoryKb.peak) kB at most; stripped \(.strippedBytes) bytes"' <<<"$report"
