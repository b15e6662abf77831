#!/bin/sh
# Prints a folder that contains NVRTC, the compiler of device code as a library; neither a GPU nor a driver is needed.
# NVRTC is downloaded from PyPI once, about 90 MB, and stays in build/nvrtc until `make clean`. If that fails nothing is
# printed, and the reason goes to stderr.
#
#   MEBRIDGE_NVRTC   folder that already contains it
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
    # With a time limit, whatever the network does.
    limited=$(command -v timeout >/dev/null && echo "timeout 600" || true)
    PIP_ROOT_USER_ACTION=ignore $limited python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --retries 1 --timeout 20 \
        --only-binary :all: --target "$unpacked/package" "$package" >&2 || exit 1
    # A second build of it for other hosts, of no use here.
    rm -f "$unpacked"/package/nvidia/*/lib/*.alt.so.*
    # Another process may have downloaded it meanwhile.
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
