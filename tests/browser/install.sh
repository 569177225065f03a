#!/usr/bin/env bash
# Installs what the browser tests need of npm, where it is not there yet; Chromium is Debian's (scripts/packages.txt).
set -euo pipefail
cd "$(dirname "$0")"
exec ../support/npm.sh . --ignore-scripts
