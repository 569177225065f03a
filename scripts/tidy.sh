#!/usr/bin/env bash
# clang-tidy over what differs from a commit, or over everything: minutes to an hour, so it is no part of tests/run.sh.
#   scripts/tidy.sh [COMMIT | --all]             default: HEAD~1; uses build/dev's compile_commands.json
set -euo pipefail
cd "$(dirname "$0")/.."
since=${1:-HEAD~1}
[ -e build/dev/compile_commands.json ] || cmake --preset dev >/dev/null
if [ "$since" = --all ]; then
  mapfile -t files < <(git ls-files '*.cpp' ':!tests')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- '*.cpp' ':!tests')
fi
[ ${#files[@]} -gt 0 ] || { echo "nothing to check since $since"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P "${JOBS:-$(nproc)}" -n 1 clang-tidy-19 --quiet -p build/dev
