#!/usr/bin/env bash
# Installs what these tests need of npm (node_modules here) and of PyPI (build/python), where it is not there yet. ctest calls
# it before the first test that needs it; several at once wait for each other.
set -euo pipefail
cd "$(dirname "$0")"
../support/npm.sh . --ignore-scripts

build=$(cd ../.. && pwd)/build
exec 9>"$build/integration-install.lock"
flock 9
packages="$(sha256sum <requirements.txt) $(python3 --version)"
if [ "$(cat "$build/python/.installed" 2>/dev/null)" != "$packages" ]; then
  rm -rf "$build/python"
  python3 -m venv "$build/python"
  "$build/python/bin/pip" install --quiet --disable-pip-version-check --no-deps -r requirements.txt
  echo "$packages" >"$build/python/.installed"
fi
