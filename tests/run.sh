#!/bin/sh
# Everything that can be checked on this machine, one step after the other, then a summary: `make test`.
# A step that fails does not stop the others; the status is 0 only if none failed.
#
#   MEBRIDGE_MG5_OUTPUTS   folder of MG5aMC outputs (*.mad): imports and compares all of them
#   MEBRIDGE_REFERENCE     folder of reference files; ../shared/reference if that is there
#   MEBRIDGE_NVRTC         folder that holds libnvrtc.so.*, the compiler of device code; tests/nvrtc.sh finds one
#   FC                     the Fortran compiler
set -u
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT
failed=0
# Nothing is taken from the cache of whoever runs this, and nothing put into it.
export CUDACPP_RUNTIME_CACHE=off
start=$(date +%s)

# step NAME COMMAND...: runs a command and notes how it ended.
step() {
    name=$1
    shift
    echo
    echo "== $name: $*"
    begun=$(date +%s)
    if "$@"; then verdict=passed; else verdict=FAILED && failed=$((failed + 1)); fi
    note "$name" "$verdict" "$(($(date +%s) - begun)) s"
}
note() { printf '  %-28s %-8s %s\n' "$1" "$2" "$3" >>"$summary"; }

fortran/require_rust.sh lint || exit 1
step "formatting" "$cargo" fmt --all --check
step "lints" "$cargo" clippy --locked --all-targets -- -D warnings
step "documentation" env RUSTDOCFLAGS="-D warnings" "$cargo" doc --locked --no-deps --document-private-items
step "library" "$cargo" build --locked --release
# Device code is compiled for real, with or without a GPU.
if nvrtc=$(tests/nvrtc.sh); then export MEBRIDGE_NVRTC="$nvrtc"; else nvrtc=; fi
step "tests in Rust" "$cargo" test --locked
if [ -n "$nvrtc" ]; then
    note "  device code" "compiled" "$nvrtc"
else
    note "  device code" "SKIPPED" "no NVRTC, see above; MEBRIDGE_NVRTC names the folder of one"
fi
if nvidia-smi -L >/dev/null 2>&1; then
    note "  GPU" "used" "$(nvidia-smi -L | head -n 1)"
else
    note "  GPU" "SKIPPED" "nvidia-smi shows none"
fi
if [ -n "${MEBRIDGE_REFERENCE-}" ] || [ -d ../shared/reference ]; then
    note "  reference files" "used" "${MEBRIDGE_REFERENCE:-../shared/reference}"
else
    note "  reference files" "SKIPPED" "no ../shared/reference, and MEBRIDGE_REFERENCE is not set"
fi
if [ -n "${MEBRIDGE_MG5_OUTPUTS-}" ]; then
    note "  MG5aMC outputs" "used" "$MEBRIDGE_MG5_OUTPUTS"
else
    note "  MG5aMC outputs" "SKIPPED" "MEBRIDGE_MG5_OUTPUTS is not set"
fi
step "Fortran comparisons" "${MAKE:-make}" --no-print-directory test-fortran
step "event loop" "${MAKE:-make}" --no-print-directory run ARGS="--events 20000 --vecsize 100"

echo
echo "== summary, $(($(date +%s) - start)) s"
cat "$summary"
if [ "$failed" -eq 0 ]; then echo "all passed"; else echo "$failed of the steps FAILED"; fi
[ "$failed" -eq 0 ]
