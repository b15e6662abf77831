#!/bin/sh
# wheel.sh GLIBC ARCH: builds the wheel that is released into build/python/released, for Linux on processors of this kind
# (x86_64, aarch64) with this glibc or a later one, whatever this machine has. zig, which links it, and maturin come from
# the package registry of Python.
set -eu
case $2 in
x86_64 | aarch64) ;;
*)
    echo "wheel: there is no ARCH=$2: x86_64 or aarch64" >&2
    exit 1
    ;;
esac
if [ "$2" = aarch64 ] && [ -n "${RUSTFLAGS-}${CARGO_ENCODED_RUSTFLAGS-}${CARGO_BUILD_RUSTFLAGS-}" ]; then
    echo "wheel: unset RUSTFLAGS, which takes the place of .cargo/config.toml: the library would have no code for SVE" >&2
    exit 1
fi
# What is set for this machine's cross compiler (tests/arm.sh does) would come before zig, with this machine's glibc.
for kind in x86_64 aarch64; do
    upper=$(echo "$kind" | tr '[:lower:]' '[:upper:]')
    unset "CARGO_TARGET_${upper}_UNKNOWN_LINUX_GNU_LINKER" "CC_${kind}_unknown_linux_gnu"
done
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
[ -d "$(rustc --print target-libdir --target "$2-unknown-linux-gnu" 2>/dev/null)" ] || {
    echo "wheel: Rust's standard library for $2 is missing: rustup target add $2-unknown-linux-gnu" >&2
    exit 1
}
rm -f "$folder"/mebridge-*_"$2".whl
MEBRIDGE_GLIBC=$1 MEBRIDGE_ARCH=$2 "$tools/bin/python" -m pip --disable-pip-version-check wheel --no-deps --no-build-isolation \
    --wheel-dir "$folder" ./python
auditwheel show "$folder"/mebridge-*_"$2".whl
ls -l "$folder"/mebridge-*_"$2".whl
