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
# A core with SVE's registers of so many bits; 0: without SVE.
core() {
    case $1 in
        0) echo "$emulator -cpu max,sve=off" ;;
        *) echo "$emulator -cpu max,sve$1=on" ;;
    esac
}

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$prefix-gcc
export CUDACPP_RUNTIME_CACHE=off
# The flags of .cargo/config.toml, without which there is no SVE, count only where the environment names none.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS
# tests BITS ARGUMENTS: cargo's tests on such a core.
tests() {
    bits=$1
    shift
    echo "-- SVE of $bits bits"
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$(core "$bits") MEBRIDGE_TEST_SVE_BITS=$bits \
        "$cargo" test --locked --target $target "$@"
}

echo "== what lies below registers, and plans"
tests 128 -p mebridge-support -p mebridge-plan --lib
echo "== registers, kernels and engine, at all levels"
# Optimised as what ships: LLVM makes vectors of SVE's registers only then.
for bits in 0 128 256 512; do
    RUSTC_WORKSPACE_WRAPPER='' tests $bits --release -p mebridge-simd -p mebridge-ops -p mebridge-engine --lib
done
echo "== registers and kernels of a build for SVE of 512 bits"
flags=$(sed -n '/^\[target.*aarch64/,/^]/s/^ *"\(-C.*\)",$/\1/p' .cargo/config.toml | sed 's/=256$/=512/' | tr '\n' ' ')
for bits in 256 512; do
    RUSTFLAGS=$flags RUSTC_WORKSPACE_WRAPPER='' tests $bits --release -p mebridge-simd -p mebridge-ops --lib
done
echo "== reference files, processes, the interface by Rust: the library that ships"
tests 256 --release -p mebridge --test engine
for bits in 128 512; do
    tests $bits --release -p mebridge --test engine reference::
done

echo "== the interface by Fortran"
"$cargo" build --locked --release --target $target -p mebridge --lib
release=$PWD/${CARGO_TARGET_DIR:-target}/$target/release
case ${CARGO_TARGET_DIR:-} in /*) release=$CARGO_TARGET_DIR/$target/release ;; esac
"${MAKE:-make}" --no-print-directory -o rust FC=$prefix-gfortran FFLAGS="-O3 -static-libgfortran -static-libgcc" \
    BUILD=build/arm RELEASE="$release" build/arm/event_loop
for case in none:0 sse4:128 avx2:256 avx2:512; do
    for precision in d f; do
        CUDACPP_RUNTIME_SIMD=${case%:*} CUDACPP_RUNTIME_FPTYPE=$precision \
            $(core "${case#*:}") build/arm/event_loop --events 2000 --vecsize 100
    done
done
# Registers that are too short, and a level that this build has not, are refused by name.
refused() {
    if said=$(CUDACPP_RUNTIME_SIMD=$1 $(core "$2") build/arm/event_loop --events 100 --vecsize 100 2>&1); then
        echo "level $1 ran on a core with SVE of $2 bits"
        exit 1
    fi
    case $said in
        *"$3 SIMD level \`$1\`"*) echo "refused: $1 on a core with SVE of $2 bits" ;;
        *) echo "level $1, SVE of $2 bits: $said"; exit 1 ;;
    esac
}
for bits in 0 128; do refused avx2 $bits "this CPU lacks"; done
refused 512z 512 "this build has no code of"

echo "== vector instructions"
$prefix-objdump -d --no-show-raw-insn "$release/libmebridge.so" | awk '
    BEGIN { n = split("fmla fmls fmul fadd fsub", names) }
    # Functions of level avx2 name its register.
    /^[0-9a-f]+ <.*>:$/ { sve = /F(64|32)Avx2/; next }
    $3 ~ /^v/ { counts[$2]++ }
    $2 ~ /^f(n?m(la|ls|ad|sb|ul)|add|subr?|n?madd|n?msub|divr?|sqrt)$/ {
        if ($3 ~ /^z/) { if (sve) whole++; else astray++ }
        else if (sve && $3 ~ /^v/) half++
        else if (sve && $3 ~ /^[ds][0-9]/) alone++
    }
    END {
        for (i = 1; i <= n; i++) {
            print names[i] ": " counts[names[i]] + 0
            if (counts[names[i]] <= 500) few = 1
        }
        if (few) { print "the kernels are not vectors"; exit 1 }
        print "level avx2: SVE " whole + 0 ", 128 bits " half + 0 ", single numbers " alone + 0
        if (whole <= 10000 || half + alone > whole / 20) { print "level avx2 is not SVE"; exit 1 }
        if (astray) { print astray " instructions of SVE in functions of other levels"; exit 1 }
    }'
echo "== the Python package"
if [ -n "${MEBRIDGE_ARM_PYTHON:-}" ]; then
    "${MAKE:-make}" --no-print-directory wheel ARCH=aarch64
    python/tests/arm.sh "$MEBRIDGE_ARM_PYTHON"
else
    echo "SKIPPED: set MEBRIDGE_ARM_PYTHON to a Python of ARM that runs here (python/tests/arm.sh)"
fi
echo "ARM: passed under $emulator, SVE of 128, 256 and 512 bits"
