#!/bin/sh
# Prints the folder of the official JSON Schema test suite, which this project does not carry:
#   export SALLYPORT_JSON_SCHEMA_SUITE="$(tests/unit/schemas/validate/suite.sh)"
# In this order: what the variable names; the copy in the source package of Python's jsonschema (fetched once into
# build/, by pip); a copy beside the source tree. Fails if there is none.
set -eu
root=$(cd "$(dirname "$0")/../../../.." && pwd)
version=4.26.0
cache=$root/build/json-schema-test-suite

is_suite() { [ -d "$1/tests/draft2020-12" ] && [ -d "$1/remotes" ]; }

fetch() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  pip="python3 -m pip"
  if ! $pip --version >/dev/null 2>&1; then  # Debian splits it off; a venv has its own
    python3 -m venv "$work/venv" >&2 || return 1
    pip=$work/venv/bin/pip
  fi
  (cd "$work" && $pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: "jsonschema==$version" && tar xzf "jsonschema-$version.tar.gz") >&2 || return 1
  mkdir -p "$(dirname "$cache")"
  # In one step, since another may do the same.
  cp -R "$work/jsonschema-$version/json" "$cache.$$"
  mv -T "$cache.$$" "$cache" 2>/dev/null || rm -rf "$cache.$$"
}

if [ -n "${SALLYPORT_JSON_SCHEMA_SUITE:-}" ]; then
  is_suite "$SALLYPORT_JSON_SCHEMA_SUITE" || { echo "no test suite at $SALLYPORT_JSON_SCHEMA_SUITE" >&2; exit 1; }
  echo "$SALLYPORT_JSON_SCHEMA_SUITE"
elif is_suite "$cache"; then
  echo "$cache"
elif fetch && is_suite "$cache"; then
  echo "$cache"
elif is_suite "$root/../shared/data/json-schema-test-suite"; then
  (cd "$root/../shared/data/json-schema-test-suite" && pwd)
else
  echo "the JSON Schema test suite was not found: fetching it by pip failed, and no copy is beside the source tree" >&2
  exit 1
fi
