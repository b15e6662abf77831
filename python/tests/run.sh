#!/bin/sh
# Builds the wheel of the Python package, installs it into a virtual environment under build/ and tests it there.
# Library and command are those of target/release, which `make build` makes. Where Python, its package registry or a new
# enough Python is missing, it says so and ends with status 77: skipped.
set -eu
cd "$(dirname "$0")/../.."
. python/environment.sh
rm -rf build/python/wheels
# No second compilation: maturin takes the command from the same folder.
(cd python && pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
    --wheel-dir ../build/python/wheels .)
pip --disable-pip-version-check install --quiet --force-reinstall --no-deps build/python/wheels/mebridge-*.whl
ls -l build/python/wheels/*.whl
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
