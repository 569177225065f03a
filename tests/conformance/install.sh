#!/usr/bin/env bash
# Installs the official conformance suite, the SDKs and a Node that the suite runs on (node_modules here, build/python-modern),
# where they are not there yet. ctest calls it before the first test that needs it.
set -euo pipefail
cd "$(dirname "$0")"
../support/npm.sh .
exec ../support/python.sh requirements.txt python-modern
