#!/usr/bin/env bash
# Installs the official conformance suite, the SDK and a Node that the suite runs on (node_modules here), where they are not
# there yet. tests/run.sh calls it, and ctest before the first test that needs it; several at once wait for each other.
set -euo pipefail
cd "$(dirname "$0")"
build=$(cd ../.. && pwd)/build
mkdir -p "$build"
exec 9>"$build/conformance-install.lock"
flock 9
modules=$(sha256sum package.json package-lock.json | sha256sum)
[ "$(cat node_modules/.installed 2>/dev/null)" = "$modules" ] && exit 0
npm ci --no-audit --no-fund --loglevel=error
echo "$modules" >node_modules/.installed
