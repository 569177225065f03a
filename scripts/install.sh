#!/usr/bin/env bash
# Installs what is missing of the Debian packages that this project needs, and nothing where nothing is missing.
#   scripts/install.sh [build] [run] [test]      without a word: all three (scripts/packages.txt)
# Tests drive real MCP servers and clients with Node: the node and npm that are there are used, else Debian's.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(build run test)

missing=()
with_node=no
for part in "${parts[@]}"; do
  case $part in
    build | run) ;;
    test) with_node=yes ;;
    *) echo "install.sh: no such part: $part (build, run, test)" >&2; exit 2 ;;
  esac
  while read -r kind name; do
    [ "$kind" = "$part" ] || continue
    # "hold ok installed" is as good as "install ok installed".
    [[ "$(dpkg-query -W -f '${Status}' "$name" 2>/dev/null || true)" == *" ok installed" ]] || missing+=("$name")
  done < scripts/packages.txt
done
if [ $with_node = yes ]; then
  command -v node >/dev/null || missing+=(nodejs)
  command -v npm >/dev/null || missing+=(npm)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install.sh: as root: apt-get install ${missing[*]}" >&2; exit 2; }
  root=(sudo)
fi
echo "Installing ${#missing[@]} packages: ${missing[*]}"
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
"${apt[@]}" update >/dev/null
"${apt[@]}" install --no-install-recommends "${missing[@]}" >/dev/null
