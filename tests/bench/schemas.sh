#!/usr/bin/env bash
# Our schema engine beside ajv, on the same inputs in the same run: one table. Needs node and npm.
#   tests/bench/schemas.sh [--build build/release]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build/release
if [ "${1:-}" = --build ]; then build=$2; fi
bench=$build/tests/bench/bench_schemas
[ -x "$bench" ] || { echo "no $bench: scripts/build.sh release label_bench" >&2; exit 2; }
modules=$root/build/ajv
if [ ! -d "$modules/node_modules/ajv" ]; then
  mkdir -p "$modules"
  npm install --silent --no-audit --no-fund --no-save --prefix "$modules" ajv@8.20.0 >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node "$here/schemas_inputs.cjs" >"$work/inputs.jsonl"
# One after the other, and ours again: where the two runs of ours differ much, the machine was busy.
"$bench" --benchmark_format=json --benchmark_min_time=0.2 "$work/inputs.jsonl" >"$work/ours.json" 2>/dev/null
NODE_PATH=$modules/node_modules node "$here/schemas_ajv.cjs" "$work/inputs.jsonl" >"$work/ajv.jsonl"
"$bench" --benchmark_format=json --benchmark_min_time=0.2 "$work/inputs.jsonl" >"$work/again.json" 2>/dev/null
python3 - "$work" <<'END'
import json, sys
work = sys.argv[1]
runs = []
for name in ("ours", "again"):
    with open(f"{work}/{name}.json", encoding="utf-8") as file:
        runs.append({one["name"]: one for one in json.load(file)["benchmarks"]})
for run in runs:
    for one in run.values():
        if one.get("error_occurred"):
            sys.exit(f"{one['name']}: {one['error_message']}")
theirs = [json.loads(line) for line in open(f"{work}/ajv.jsonl", encoding="utf-8")]


def ours(kind, name):
    return min(run[f"{kind}/{name}"]["real_time"] for run in runs)  # ns


print(f"{'microseconds':18}{'bytes':>9}{'verdict':>10}{'ajv':>10}{'ratio':>7}{'judge':>10}{'ajv':>10}{'compile':>10}{'ajv':>10}"
      f"{'schema B':>10}{'memory B':>10}")
for one in theirs:
    name = one["name"]
    verdict, judge, compile_ = (ours(kind, name) / 1000 for kind in ("verdict", "judge", "compile"))
    sizes = runs[0][f"compile/{name}"], runs[0][f"verdict/{name}"]
    print(f"{name:18}{sizes[1]['instance_bytes']:9.0f}{verdict:10.3f}{one['verdict'] / 1000:10.3f}{verdict * 1000 / one['verdict']:7.2f}"
          f"{judge:10.3f}{one['validate'] / 1000:10.3f}{compile_:10.1f}{one['compile'] / 1000:10.1f}"
          f"{sizes[0]['schema_bytes']:10.0f}{sizes[0]['memory']:10.0f}")
print("verdict: from the bytes of the arguments (ajv: Buffer, JSON.parse, validate); judge: of what was parsed; the better of two runs")
END
