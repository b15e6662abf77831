#!/bin/sh
# Tests the library on 64-bit ARM, cross compiled and under emulation: `make test-arm`, or some of its steps, `make
# test-arm ARGS="reference fortran"`. Times are meaningless there. A summary at the end lists what ran; a step that
# fails does not stop the others. Status 77: a requirement is missing, which is named.
#
#   MEBRIDGE_REFERENCE, MEBRIDGE_MG5_OUTPUTS   reference files and outputs of MG5aMC, as for `make test`
# MEBRIDGE_ARM_PYTHON                        a Python for ARM that runs here; else python/tests/arm_python.sh makes one
set -u
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
# A compiler that lacks a target's standard library has no folder for it.
[ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ] ||
    missing "Rust's standard library for $target (rustup target add $target)"
has $prefix-gcc || missing "$prefix-gcc (Debian: gcc-aarch64-linux-gnu)"
has $prefix-gfortran || missing "$prefix-gfortran (Debian: gfortran-aarch64-linux-gnu)"
has $prefix-objdump || missing "$prefix-objdump (Debian: binutils-aarch64-linux-gnu)"
has qemu-aarch64-static || missing "qemu-aarch64-static (Debian: qemu-user-static)"
# The system's own C library for ARM and the cross compiler's may be different versions, which must not be mixed.
emulator=qemu-aarch64-static
[ -e /lib/ld-linux-aarch64.so.1 ] || emulator="$emulator -L /usr/$prefix"
. tests/arm/core.sh

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$prefix-gcc
# C programs of tests are compiled for the emulated machine.
export CC_aarch64_unknown_linux_gnu=$prefix-gcc
export CUDACPP_RUNTIME_CACHE=off CUDACPP_RUNTIME_BACKEND=cpu
# The flags of .cargo/config.toml, without which there is no SVE, apply only if the environment sets none.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS
release=$PWD/${CARGO_TARGET_DIR:-target}/$target/release
case ${CARGO_TARGET_DIR:-} in /*) release=$CARGO_TARGET_DIR/$target/release ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/summary"
note() { printf '  %-46s %-8s %s\n' "$1" "$2" "$3" >>"$folder/summary"; }

# step NAME COMMAND...: runs a command and records its result, with the lines of its output that report accuracy.
step() {
    name=$1
    shift
    echo
    echo "== $name"
    begun=$(date +%s)
    # In a separate shell, which a skipped step exits.
    { ("$@") 2>&1; echo $? >"$folder/status"; } | tee "$folder/said"
    case $(cat "$folder/status") in
        0) verdict=passed ;;
        77) verdict=SKIPPED ;;
        *) verdict=FAILED ;;
    esac
    note "$name" "$verdict" "$(($(date +%s) - begun)) s"
    grep -E '^(level |SKIPPED|Fortran comparisons:|event loop: |Ran [0-9]+ tests|madevent )' "$folder/said" |
        sed 's/^/      /' >>"$folder/summary"
}

# tests BITS ARGUMENTS: cargo's tests on such a core.
tests() {
    bits=$1
    shift
    echo "-- SVE of $bits bits"
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$(core "$bits") MEBRIDGE_TEST_RUNNER=$(core "$bits") \
        MEBRIDGE_TEST_SVE_BITS=$bits "$cargo" test --locked --target $target "$@"
}
# The library that ships, with the command, compiled once for everything that uses it; tests on it are not optimised
# (tests/rustc.sh).
ships="--release -p mebridge -p mebridge-capi -p mebridge-shared -p mebridge-command"
library() { "$cargo" build --locked --target $target $ships; }

units() {
    tests 128 -p mebridge-support -p mebridge-plan --lib || return
    # Optimised like the release: otherwise LLVM does not make vectors in SVE registers.
    for bits in 0 128 256 512; do
        RUSTC_WORKSPACE_WRAPPER='' tests $bits --release -p mebridge-simd -p mebridge-ops -p mebridge-engine --lib ||
            return
    done
}
wide() {
    flags=$(sed -n '/^\[target.*aarch64/,/^]/s/^ *"\(-C.*\)",$/\1/p' .cargo/config.toml | sed 's/=256$/=512/; s/=8$/=16/' |
        tr '\n' ' ')
    for bits in 256 512; do
        RUSTFLAGS=$flags RUSTC_WORKSPACE_WRAPPER='' tests $bits --release -p mebridge-simd -p mebridge-ops --lib ||
            return
    done
}
reference() {
    [ -n "${MEBRIDGE_MG5_OUTPUTS:-}" ] || missing "set MEBRIDGE_MG5_OUTPUTS to the folder that holds the *.mad outputs"
    [ -n "${MEBRIDGE_REFERENCE:-}" ] || [ -d ../shared/reference ] ||
        missing "set MEBRIDGE_REFERENCE to the folder of reference files"
    # Levels without SVE do not depend on the length of its registers.
    tests 256 $ships --test engine reference:: -- --nocapture &&
        MEBRIDGE_TEST_LEVELS=avx2 tests 512 $ships --test engine reference::double -- --nocapture
}
events() {
    for bits in 0 128 256 512; do
        # Optimised, because volumes take millions of points.
        RUSTC_WORKSPACE_WRAPPER='' tests $bits --release -p mebridge-densities -p mebridge-phasespace -p mebridge-sampler ||
            return
    done
    tests 256 $ships --test sampling
}
engine() { tests 256 $ships --test engine -- --skip reference::; }
# Each in a separate program: if a thread opens a library after others have closed theirs, the C library of Debian 12
# for ARM (glibc 2.36) crashes in its thread-local variables, with or without SVE; that of Debian 13 (2.41) does not.
doors() {
    names=$(tests 256 $ships --test c_abi -- --list | sed -n 's/: test$//p')
    [ -n "$names" ] || return
    for name in $names; do tests 256 $ships --test c_abi -- --exact "$name" || return; done
    echo "level avx2: $(echo "$names" | wc -l) tests of C and UMAMI"
}
fortran() {
    "${MAKE:-make}" --no-print-directory -o rust FC=$prefix-gfortran \
        FFLAGS="-O3 -ffp-contract=off -static-libgfortran -static-libgcc" BUILD=build/arm RELEASE="$release" build/arm/event_loop \
        tests-fortran || return
    for bits in 0 256; do
        echo "-- SVE of $bits bits"
        MEBRIDGE_TEST_RUNNER=$(core $bits) MEBRIDGE_TEST_SVE_BITS=$bits tests/fortran/run.sh build/arm/tests || return
    done
    EMULATOR=$emulator tests/arm/event_loop.sh build/arm/event_loop
}
madevent() {
    [ -n "${MEBRIDGE_MG5_OUTPUTS:-}" ] || missing "set MEBRIDGE_MG5_OUTPUTS to the folder that holds gg_ttg.mad"
    has $prefix-g++ || missing "$prefix-g++ (Debian: g++-aarch64-linux-gnu)"
    EMULATOR=$emulator PREFIX=$prefix tests/arm/madevent.sh "$MEBRIDGE_MG5_OUTPUTS/gg_ttg.mad" "$release"
}
instructions() { $prefix-objdump -d --no-show-raw-insn "$1" | awk -f tests/arm/instructions.awk; }
python() {
    "${MAKE:-make}" --no-print-directory wheel ARCH=aarch64 || return
    EMULATOR=$emulator python/tests/arm.sh
}

built=
asked=${*:-units wide reference doors fortran madevent instructions engine events python}
for one in $asked; do
    case $one in
        units | wide | reference | doors | fortran | madevent | instructions | engine | events | python) ;;
        *)
            echo "$0: there is no step $one" >&2
            exit 1
            ;;
    esac
done
for one in $asked; do
    case $one in
        units | wide | python) ;;
        *)
            [ -n "$built" ] || step "the library and the command" library
            built=yes
            ;;
    esac
    case $one in
        units) step "registers, kernels, engine: SVE 0, 128, 256, 512" units ;;
        wide) step "registers, kernels of a build for SVE of 512" wide ;;
        reference) step "reference files" reference ;;
        doors) step "C and UMAMI, SVE of 256 bits" doors ;;
        fortran) step "Fortran" fortran ;;
        madevent) step "madevent, linked" madevent ;;
        instructions) step "instructions of the library" instructions "$release/libmebridge.so" ;;
        engine) step "plans, recursion, one event, SVE of 256 bits" engine ;;
        events) step "points, densities, surveys, events" events ;;
        python) step "wheel, Python package" python ;;
    esac
done
echo
echo "== summary, $emulator"
cat "$folder/summary"
! grep -q '^  [^ ].* FAILED ' "$folder/summary"
