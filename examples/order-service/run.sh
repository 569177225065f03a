#!/usr/bin/env bash
# Prints a short table; exit 0 only if every row holds.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../support/run.sh" "$here/run.py"
