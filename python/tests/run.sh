#!/bin/sh
# Tests the Python package as installed from its wheel: run.sh [--installed] [ARGUMENTS OF PYTEST...]. Without
# `--installed` the wheel is built and installed first (wheel.sh).
set -eu
cd "$(dirname "$0")/../.."
if [ "${1-}" = --installed ]; then shift; else python/tests/wheel.sh; fi
. python/environment.sh
# Nothing of whoever runs this: neither another library or command than those of the wheel, nor a cache.
unset MEBRIDGE_LIBRARY MEBRIDGE_COMMAND PYTHONPATH
export CUDACPP_RUNTIME_CACHE=off
# From another folder, so that the package is the installed one.
mkdir -p build/python/here
cd build/python/here
if [ $# -eq 0 ]; then
    set -- ../../../python/tests
fi
exec "$environment/bin/pytest" -c ../../../python/pyproject.toml "$@"
