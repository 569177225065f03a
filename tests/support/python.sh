#!/usr/bin/env bash
# Makes build/NAME, a virtual environment with exactly what FILE pins, where it is not that yet; several at once wait for each
# other.
#   python.sh FILE NAME
set -euo pipefail
build=$(cd "$(dirname "$0")/../.." && pwd)/build
mkdir -p "$build"
exec 9>"$build/$2-install.lock"
flock 9
packages="$(sha256sum <"$1") $(python3 --version)"
[ "$(cat "$build/$2/.installed" 2>/dev/null)" = "$packages" ] && exit 0
rm -rf "${build:?}/$2"
python3 -m venv "$build/$2"
"$build/$2/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$1"
echo "$packages" >"$build/$2/.installed"
