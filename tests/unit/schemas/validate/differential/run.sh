#!/usr/bin/env bash
# Compares our verdicts with ajv's over generated pairs of schema and instance; every difference must be one we know.
#   run.sh PATH_OF_unit_validate [PAIRS (100000)] [SEED (7)]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
modules=$(cd "$here/../../../../.." && pwd)/build/ajv
if [ ! -d "$modules/node_modules/ajv" ]; then
  mkdir -p "$modules"
  npm install --silent --no-audit --no-fund --no-save --prefix "$modules" ajv@8.20.0 >&2
fi
pairs=$(mktemp)
trap 'rm -f "$pairs"' EXIT
NODE_PATH=$modules/node_modules node "$here/pairs.cjs" "${2:-100000}" "${3:-7}" >"$pairs"
SALLYPORT_SCHEMA_PAIRS=$pairs "$1" --gtest_filter='AjvDifferential.*'
