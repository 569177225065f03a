#!/usr/bin/env bash
# Prints the table of the official JSON Schema test suite, draft by draft, and by name what of the optional cases does not
# pass.  table.sh PATH_OF_unit_validate
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SALLYPORT_JSON_SCHEMA_SUITE=$("$here/suite.sh")
export SALLYPORT_JSON_SCHEMA_SUITE
out=$("$1" --gtest_filter='JsonSchemaSuite.*' --gtest_color=no) || { echo "$out"; exit 1; }
printf '%-10s%15s%15s\n' draft required optional
awk '$1 == "suite" { printf "%-10s%15s%15s\n", $2, $4, $6 }' <<<"$out"
awk '$1 == "suite" { draft = $2 } /^  optional, not passed: / { sub(/^  optional, not passed: /, ""); print draft ": optional, not passed: " $0 }' <<<"$out"
