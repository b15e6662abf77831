#!/bin/sh
# The library on 64-bit ARM, cross compiled and under emulation: `make test-arm`. Times mean nothing there.
# Status 77: something is missing, which is named.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=aarch64-unknown-linux-gnu
prefix=aarch64-linux-gnu

missing() {
    echo "SKIPPED: $1" >&2
    exit 77
}
has() { command -v "$1" >/dev/null 2>&1; }
[ "$(uname -m)" != aarch64 ] || missing "this is an ARM machine: make test does all of it"
# A compiler without a target's standard library has no folder for it.
[ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ] ||
    missing "Rust's standard library for $target (rustup target add $target)"
has $prefix-gcc || missing "$prefix-gcc (Debian: gcc-aarch64-linux-gnu)"
has $prefix-gfortran || missing "$prefix-gfortran (Debian: gfortran-aarch64-linux-gnu)"
has $prefix-objdump || missing "$prefix-objdump (Debian: binutils-aarch64-linux-gnu)"
has qemu-aarch64-static || missing "qemu-aarch64-static (Debian: qemu-user-static)"
# The system's own C library for ARM and the cross compiler's may be different versions, which must not be mixed.
emulator=qemu-aarch64-static
[ -e /lib/ld-linux-aarch64.so.1 ] || emulator="$emulator -L /usr/$prefix"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$prefix-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator"
export CUDACPP_RUNTIME_CACHE=off

echo "== registers, kernels and engine, at all levels"
"$cargo" test --locked --target $target -p mebridge-support -p mebridge-simd -p mebridge-ops -p mebridge-plan \
    -p mebridge-engine --lib
echo "== reference files, processes, the interface by Rust"
"$cargo" test --locked --target $target -p mebridge --test engine

echo "== the interface by Fortran"
"$cargo" build --locked --release --target $target -p mebridge --lib
release=$PWD/${CARGO_TARGET_DIR:-target}/$target/release
"${MAKE:-make}" --no-print-directory -o rust FC=$prefix-gfortran FFLAGS="-O3 -static-libgfortran -static-libgcc" \
    BUILD=build/arm RELEASE="$release" build/arm/event_loop
for level in none sse4; do
    for precision in d f; do
        CUDACPP_RUNTIME_SIMD=$level CUDACPP_RUNTIME_FPTYPE=$precision \
            $emulator build/arm/event_loop --events 2000 --vecsize 100
    done
done

echo "== vector instructions"
$prefix-objdump -d --no-show-raw-insn "$release/libmebridge.so" | awk '
    BEGIN { n = split("fmla fmls fmul fadd fsub", names) }
    $3 ~ /^v/ { counts[$2]++ }
    END {
        for (i = 1; i <= n; i++) {
            print names[i] ": " counts[names[i]] + 0
            if (counts[names[i]] <= 500) few = 1
        }
        if (few) { print "the kernels are not vectors"; exit 1 }
    }'
echo "== the Python package"
if [ -n "${MEBRIDGE_ARM_PYTHON:-}" ]; then
    "${MAKE:-make}" --no-print-directory wheel ARCH=aarch64
    python/tests/arm.sh "$MEBRIDGE_ARM_PYTHON"
else
    echo "SKIPPED: set MEBRIDGE_ARM_PYTHON to a Python of ARM that runs here (python/tests/arm.sh)"
fi
echo "ARM: passed under $emulator"
