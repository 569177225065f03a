#!/usr/bin/env bash
# Installs, builds and tests. The last line is `N passed, N failed`.
#   tests/run.sh               release and asan on everything that exists of unit, component, integration, faults, conformance
#                              and browser, arch, and tsan on component
#   tests/run.sh LABEL…        the union of those labels (a folder of tests/ or a subject, such as "policy") in release and
#                              asan; bench, soak and fuzz run only when named
# PRESETS="release" runs those presets only; JOBS=N bounds compilers and tests at once; FUZZ_SECONDS=60 is for each target.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
jobs=${JOBS:-$(nproc)}
passed=0 failed=0 skipped=0
faults=()

finish() {
  if [ ${#faults[@]} -gt 0 ]; then printf 'Failed: %s\n' "${faults[@]}"; fi
  if [ $skipped -gt 0 ]; then echo "$skipped skipped"; fi
  echo "$passed passed, $failed failed"
  [ $failed = 0 ] && [ $passed -gt 0 ]
  exit
}

fault() {
  failed=$((failed + 1))
  faults+=("$1")
}

part() { printf '\n== %s\n' "$*"; }

# build PRESET TARGET…: false where it failed, which then is a failed test.
build() {
  part "build $*"
  scripts/build.sh "$@" && return
  fault "$1: build"
  return 1
}

# Every label has a target that builds its tests (tests/CMakeLists.txt). Those that this tree lacks are left out.
targets_of() {
  local preset=$1 known label
  shift
  cmake --preset "$preset" >/dev/null || return
  known=$(ninja -C "build/$preset" -t targets all | sed -n 's/^label_\([a-z_-]*\): phony$/\1/p')
  for label in "$@"; do
    if grep -qx -- "$label" <<<"$known"; then echo "label_$label"; fi
  done
}

# ctest PRESET LABEL…: runs them and adds up what it reports.
run_ctest() {
  local preset=$1 report=build/$1/report.xml log=build/$1/ctest.log pattern totals
  shift
  pattern="^($(IFS='|'; echo "$*"))\$"
  part "test $preset: $*"
  rm -f "$report"
  # In that folder the sanitizers find what names functions and lines in their reports.
  PATH=/usr/lib/llvm-19/bin:$PATH ctest --test-dir "build/$preset" -L "$pattern" -j "$jobs" --output-on-failure --no-tests=ignore --timeout 300 \
    --output-junit "$PWD/$report" >"$log" 2>&1 </dev/null
  # The log names every test; on the screen only what is not "Passed".
  grep -vE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* +Passed +[0-9.]+ sec$|^ *Start +[0-9]+: ' "$log"
  totals=$(python3 tests/totals.py "$report") || { fault "$preset: ctest"; return; }
  local p f s names
  read -r p f s < <(head -n 1 <<<"$totals")
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  mapfile -t names < <(tail -n +2 <<<"$totals")
  faults+=("${names[@]/#/$preset: }")
}

# suite_table PRESET: what passes of the official JSON Schema suite (tests, which were counted already), draft by draft.
suite_table() {
  part "JSON Schema suite, $1"
  tests/unit/schemas/validate/table.sh "build/$1/tests/unit_validate"
}

# conformance_table PRESET: per requirement set and side, the scenarios that passed, and per pairing of eras the pairs of
# official SDKs (in tests that were counted already).
conformance_table() {
  part "conformance, $1"
  grep -oE '[0-9-]{10} (server|client): [0-9]+ of [0-9]+ required scenarios passed' "build/$1/report.xml" | sort -u
  grep -oE 'pairing (legacy|modern) to (legacy|modern): [0-9]+ of [0-9]+ pairs of SDKs passed: [a-z0-9, -]*' "build/$1/report.xml" | sort -u
}

# in_presets PRESETS LABEL…
in_presets() {
  local presets=$1 preset targets
  shift
  for preset in $presets; do
    mapfile -t targets < <(targets_of "$preset" "$@")
    if [ ${#targets[@]} = 0 ]; then
      [ -e "build/$preset/build.ninja" ] || fault "$preset: configure"
      continue
    fi
    if build "$preset" "${targets[@]}"; then
      run_ctest "$preset" "$@"
      if [[ " $* " == *" schemas "* ]]; then suite_table "$preset"; fi
      if [[ " $* " == *" conformance "* ]]; then conformance_table "$preset"; fi
    fi
  done
}

run_fuzz() {
  local target folder
  build fuzz || return
  for target in build/fuzz/tests/fuzz/fuzz_*; do
    if [ ! -x "$target" ] || [ -d "$target" ]; then continue; fi
    part "fuzz ${target##*/}"
    folder=build/fuzz/corpus/${target##*/}
    mkdir -p "$folder"
    if "$target" -max_total_time="${FUZZ_SECONDS:-60}" -rss_limit_mb=4096 -timeout=10 -print_final_stats=1 \
      -artifact_prefix="$folder/" "$folder" >"$folder.log" 2>&1; then
      passed=$((passed + 1))
    else
      tail -n 40 "$folder.log"
      fault "fuzz: ${target##*/}"
    fi
  done
}

case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
esac
scripts/install.sh || { fault "install"; finish; }
if [ $# = 0 ]; then
  in_presets "${PRESETS:-release}" unit component integration faults conformance browser arch
  in_presets "${PRESETS:-asan}" unit component integration faults conformance browser
  in_presets "${PRESETS:-tsan}" component
  finish
fi
named=()
for label in "$@"; do
  case $label in
    fuzz) run_fuzz ;;
    bench | soak) in_presets release "$label" ;;
    *) named+=("$label") ;;
  esac
done
if [ ${#named[@]} -gt 0 ]; then
  case "${named[*]}" in
    arch) in_presets "${PRESETS:-release}" arch ;;
    *) in_presets "${PRESETS:-release asan}" "${named[@]}" ;;
  esac
fi
finish
