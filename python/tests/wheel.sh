#!/bin/sh
# Builds the wheel of the Python package and installs it into a virtual environment under build/. Library and command
# are those of target/release, which `make build` makes; maturin replaces the command by the same one, so nothing else
# may use it meanwhile. Where Python, its package registry or a new enough Python is missing, it says so and ends with
# status 77: skipped.
set -eu
cd "$(dirname "$0")/../.."
. python/environment.sh
rm -rf build/python/wheels
# No second compilation: maturin takes the command from the same folder.
(cd python && pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
    --wheel-dir ../build/python/wheels .)
pip --disable-pip-version-check install --quiet --force-reinstall --no-deps build/python/wheels/mebridge-*.whl
ls -l build/python/wheels/*.whl
