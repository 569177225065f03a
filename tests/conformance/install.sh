#!/usr/bin/env bash
# Installs the official conformance suite, the SDK and a Node that the suite runs on (node_modules here), where they are not
# there yet. ctest calls it before the first test that needs it.
set -euo pipefail
cd "$(dirname "$0")"
exec ../support/npm.sh .
