#!/usr/bin/env bash
# Configures and builds a preset of CMakePresets.json into build/PRESET.
#   scripts/build.sh PRESET [TARGET…]            JOBS=N: that many compilers at once (default: one per core)
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: scripts/build.sh PRESET [TARGET…]" >&2; exit 2; }
preset=$1
shift
# Ninja configures again by itself when a CMakeLists.txt changes; of changed presets it knows nothing.
if [ ! -e "build/$preset/build.ninja" ] || [ CMakePresets.json -nt "build/$preset/build.ninja" ]; then
  cmake --preset "$preset" >/dev/null
  touch "build/$preset/build.ninja"
fi
exec ninja -C "build/$preset" -j "${JOBS:-$(nproc)}" "$@"
