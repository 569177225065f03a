#!/usr/bin/env bash
# What every run.sh of an example does: installs and builds what is missing, then runs the Python file named first.
# SALLYPORT_BUILD=build/dev takes programs that are built already.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ -z "${SALLYPORT_BUILD:-}" ]; then
  "$root/scripts/install.sh" build run
  "$root/scripts/build.sh" release sallyport export-worker
fi
PYTHONPATH=$root/examples/support exec python3 -B "$@"
