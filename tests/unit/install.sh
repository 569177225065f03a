#!/bin/sh
# What the unit tests need beyond packages: the JSON Schema test suite (fetched once into build/).
exec "$(dirname "$0")/schemas/validate/suite.sh" >/dev/null
