#!/bin/sh
# wheel.sh GLIBC: builds the wheel that is released into build/python/released, for x86-64 Linux with this glibc or a
# later one, whatever this machine has. zig, which links it, and maturin come from the package registry of Python.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/build/python/released
tools=$PWD/build/python/tools
if [ ! -f "$tools/complete" ]; then
    rm -rf "$tools"
    "${PYTHON:-python3}" -m venv "$tools"
    "$tools/bin/python" -m pip --disable-pip-version-check install --quiet --only-binary :all: \
        "maturin<2" ziglang auditwheel
    touch "$tools/complete"
fi
PATH=$tools/bin:$PATH
rm -rf "$folder"
MEBRIDGE_GLIBC=$1 "$tools/bin/python" -m pip --disable-pip-version-check wheel --no-deps --no-build-isolation \
    --wheel-dir "$folder" ./python
auditwheel show "$folder"/mebridge-*.whl
ls -l "$folder"/mebridge-*.whl
