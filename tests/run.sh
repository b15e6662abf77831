#!/bin/sh
# Runs all tests that this machine can run, then prints a summary: `make test`.
# A step that fails does not stop the others; the status is 0 only if none failed.
#
# First everything is compiled by one call of cargo, in target/release: the library that ships, and the tests on it
# (tests/rustc.sh); then the wheel is made of it. Then there are two lanes of steps, run in parallel because most steps
# leave a core idle for much of their time: Rust tests, and everything else that uses the library, with the
# documentation. The output of the second is kept until the first has ended.
#
#   MEBRIDGE_MG5_OUTPUTS   folder of MG5aMC outputs (*.mad, *.nlo): imports and compares all of them
#   MEBRIDGE_REFERENCE     folder of reference files; ../shared/reference if that is there
#   MEBRIDGE_NVRTC         folder that holds libnvrtc.so.*, the compiler of device code; tests/nvrtc.sh finds one
#   MEBRIDGE_CLANG         a clang that compiles HIP for AMD's GPUs, 19 or later; by default one of the usual names
#   MEBRIDGE_AMD_EMULATOR  a checkout of tinygrad, whose emulator of AMD's instruction set runs device code
#   MEBRIDGE_REQUIRE       requirements: gpu,reference,... (below), or all; a skip because of one of them is a failure
#   FC                     the Fortran compiler
set -u
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
folder=$(mktemp -d)
# For the lane that is running.
summary=$folder/rust
# Where each test reports what it used or skipped (crates/testing/src/require.rs).
MEBRIDGE_TEST_LOG=$folder/log
: >"$MEBRIDGE_TEST_LOG"
export MEBRIDGE_TEST_LOG
# The user's cache is neither used nor filled.
export CUDACPP_RUNTIME_CACHE=off
start=$(date +%s)

# Time limit of a step in seconds: a hanging step fails, and the results of the others are kept.
limit=1800
# limited COMMAND...: stops a program after that time, if `timeout` exists; functions run without a limit.
limited() {
    case $(command -v "$1") in
        */*) if command -v timeout >/dev/null; then set -- timeout --foreground -k 10 "$limit" "$@"; fi ;;
    esac
    "$@"
}

# step NAME COMMAND...: runs a command and records its result.
step() {
    name=$1
    shift
    echo
    echo "== $name: $*"
    begun=$(date +%s)
    if limited "$@"; then
        verdict=passed
    elif [ $? -eq 77 ] && ! all_required; then
        # A requirement is missing, and was named.
        verdict=SKIPPED
    else
        verdict=FAILED
    fi
    note "$name" "$verdict" "$(($(date +%s) - begun)) s"
}
all_required() { case ",${MEBRIDGE_REQUIRE-}," in *,all,*) true ;; *) false ;; esac; }
note() { printf '  %-28s %-8s %s\n' "$1" "$2" "$3" >>"$summary"; }

# need NAME TEXT: reports how often tests used a requirement that may be missing, from their own reports.
need() {
    used=$(grep -c "^used $1 " "$MEBRIDGE_TEST_LOG")
    skipped=$(grep -c "^skipped $1 " "$MEBRIDGE_TEST_LOG")
    what=$(sed -n "s/^used $1 //p" "$MEBRIDGE_TEST_LOG" | sort | uniq -c | sort -rn | sed -n '1s/^ *[0-9]* //p')
    why=$(sed -n "s/^skipped $1 //p" "$MEBRIDGE_TEST_LOG" | sed -n 1p)
    if [ "$used" -gt 0 ]; then
        note "  $2" used "$used times: $what"
        if [ "$skipped" -gt 0 ]; then note "  $2" SKIPPED "$skipped times: $why"; fi
    elif [ "$skipped" -gt 0 ]; then
        note "  $2" SKIPPED "$skipped times: $why"
    else
        note "  $2" UNUSED "no test came to it"
        case ",${MEBRIDGE_REQUIRE-}," in *",$1,"* | *,all,*)
            note "  $2" FAILED "MEBRIDGE_REQUIRE asks for it"
            ;;
        esac
    fi
}

# without_warnings ARGUMENTS...: calls cargo, which has clippy compile tests (tests/rustc.sh).
without_warnings() {
    limited "$cargo" "$@" --color never 2>&1 | tee "$folder/compiled"
    # Of all that cargo may say, the line below what a compiler said of a crate.
    ! grep -E '^warning: .* generated [0-9]+ warning|^error' "$folder/compiled"
}

documentation() {
    mkdir "$folder/documentation"
    tests/documentation.sh "$(realpath "${CARGO_TARGET_DIR:-target}")/release/deps" "$folder/documentation"
}

rust() {
    step "tests in Rust" "$cargo" test --locked --release --workspace --no-fail-fast
    need nvrtc "device code by NVRTC"
    need amd "device code by clang for AMD"
    need hiprtc "device code by hiprtc"
    need amd-emulator "device code on an AMD emulator"
    need gpu "GPU"
    need gpus "several GPUs"
    need sanitizer "compute-sanitizer on a GPU"
    need reference "reference files"
    need outputs "MG5aMC outputs"
    need models "MG5aMC models"
    need cxx "C and C++ compilers"
    need fortran "gfortran"
}

# The wheel and the installed library use what the library's step compiled, unless a dependency has other features there
# than in the workspace.
compiled_once() {
    again=$(find "${CARGO_TARGET_DIR:-target}/release/deps" -newer "$folder/built" \
        \( -name "libmebridge_command-*.rlib" -o -name "libmebridge_run-*.rlib" \))
    if [ -n "$again" ]; then
        echo "compiled once more: $again; give it the features that the workspace has (docs/testing.md)" >&2
        return 1
    fi
}

library() {
    step "Python package" python/tests/run.sh --installed
    step "SIMD levels" tests/intrinsics.sh "${CARGO_TARGET_DIR:-target}/release/libmebridge.so"
    step "comparison of commits" tests/against.sh
    step "Fortran comparisons" "${MAKE:-make}" --no-print-directory test-fortran
    step "event loop" "${MAKE:-make}" --no-print-directory run ARGS="--events 20000 --vecsize 100"
    step "installation" tests/install.sh "${FC:-gfortran}"
    step "compiled once" compiled_once
    step "documentation" documentation
}

fortran/require_rust.sh lint || exit 1
trap 'rm -rf "$folder"' EXIT
step "formatting" "$cargo" fmt --all --check
# Packages for Python and the compiler of device code are downloaded meanwhile. If they are missing, the steps report it.
(. python/environment.sh) &
packages=$!
tests/nvrtc.sh >/dev/null &
nvrtc=$!
step "library and tests" without_warnings build --locked --release --workspace --lib --bins --examples --tests
touch "$folder/built"
wait "$packages"
# Device code is compiled with or without a GPU.
if wait "$nvrtc"; then
    MEBRIDGE_NVRTC=$(tests/nvrtc.sh)
    export MEBRIDGE_NVRTC
fi
# Before the lanes: maturin replaces the command, which tests in Rust start.
summary=$folder/library
step "Python wheel" python/tests/wheel.sh
summary=$folder/rust
(
    summary=$folder/library
    library
) >"$folder/output" 2>&1 &
beside=$!
# Ctrl-C goes to the whole process group, but shells make background processes ignore it.
trap 'trap "" TERM; kill -TERM 0; exit 130' INT
trap 'kill "$beside" 2>/dev/null; cat "$folder/output"; exit 143' TERM HUP
rust
wait "$beside" || note "steps beside" FAILED "they ended before their last"
cat "$folder/output"

echo
echo "== summary, $(($(date +%s) - start)) s"
cat "$folder/rust" "$folder/library" | tee "$folder/summary"
failed=$(grep -c ' FAILED ' "$folder/summary")
skips=$(grep -c ' SKIPPED ' "$folder/summary")
if [ "$failed" -gt 0 ]; then
    echo "$failed of the steps FAILED"
elif [ "$skips" -gt 0 ]; then
    echo "passed, $skips skipped for want of something (above)"
else
    echo "passed, nothing skipped"
fi
[ "$failed" -eq 0 ]
