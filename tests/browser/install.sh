#!/usr/bin/env bash
# Installs what the browser tests need of npm, where it is not there yet; Chromium is Debian's (scripts/packages.txt).
set -euo pipefail
cd "$(dirname "$0")"
build=$(cd ../.. && pwd)/build
mkdir -p "$build"
exec 9>"$build/browser-install.lock"
flock 9
modules=$(sha256sum package.json package-lock.json | sha256sum)
if [ "$(cat node_modules/.installed 2>/dev/null)" != "$modules" ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  echo "$modules" >node_modules/.installed
fi
