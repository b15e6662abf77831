#!/bin/sh
# Prints a folder that holds NVRTC, the compiler of device code as a library: no GPU and no driver is needed.
# It is taken from the package registry of Python once, about 90 MB, and stays in build/nvrtc until
# `make clean`. Where that does not work nothing is printed, and the reason goes to the error output.
#
#   MEBRIDGE_NVRTC   folder that holds it already
set -eu
cd "$(dirname "$0")/.."
version=13.0.88
package=nvidia-cuda-nvrtc==$version
folder=build/nvrtc/$version

if [ -n "${MEBRIDGE_NVRTC-}" ]; then
    echo "$MEBRIDGE_NVRTC"
    exit
fi
if [ ! -d "$folder" ]; then
    if ! python3 -m pip --version >/dev/null 2>&1; then
        echo "no python3 with pip to take $package with" >&2
        exit 1
    fi
    mkdir -p build/nvrtc
    unpacked=$(mktemp -d build/nvrtc/unpack.XXXXXX)
    trap 'rm -rf "$unpacked"' EXIT
    echo "taking $package from the package registry of Python, about 90 MB, once" >&2
    # Whatever a network does, it ends.
    limited=$(command -v timeout >/dev/null && echo "timeout 600" || true)
    PIP_ROOT_USER_ACTION=ignore $limited python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --retries 1 --timeout 20 \
        --only-binary :all: --target "$unpacked/package" "$package" >&2 || exit 1
    # A second build of it for other hosts, of no use here.
    rm -f "$unpacked"/package/nvidia/*/lib/*.alt.so.*
    # Somebody else may have taken it meanwhile.
    [ -d "$folder" ] || mv "$unpacked/package" "$folder"
fi
for library in "$PWD/$folder"/nvidia/*/lib/libnvrtc.so.*; do
    if [ -f "$library" ]; then
        dirname "$library"
        exit
    fi
done
echo "$package holds no libnvrtc.so; remove $folder to try again" >&2
exit 1
