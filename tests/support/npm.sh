#!/usr/bin/env bash
# Installs what the package files of FOLDER name into its node_modules, where that is not there yet; several at once wait for
# each other.
#   npm.sh FOLDER [OPTION OF npm ci…]
set -euo pipefail
build=$(cd "$(dirname "$0")/../.." && pwd)/build
mkdir -p "$build"
cd "$1"
shift
exec 9>"$build/$(basename "$PWD")-npm.lock"
flock 9
modules=$(sha256sum package.json package-lock.json | sha256sum)
[ "$(cat node_modules/.installed 2>/dev/null)" = "$modules" ] && exit 0
npm ci "$@" --no-audit --no-fund --loglevel=error
echo "$modules" >node_modules/.installed
