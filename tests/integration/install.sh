#!/usr/bin/env bash
# Installs what these tests need of npm (node_modules here) and of PyPI (build/python), where it is not there yet. ctest calls
# it before the first test that needs it; several at once wait for each other.
set -euo pipefail
cd "$(dirname "$0")"
../support/npm.sh . --ignore-scripts
exec ../support/python.sh requirements.txt python
