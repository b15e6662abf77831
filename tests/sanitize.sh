#!/bin/sh
# All kinds of work on a GPU under memcheck, initcheck, racecheck and synccheck of compute-sanitizer: sanitize.sh [PROGRAM].
# Status 0: nothing was found; 1: something was, or nothing could be looked at.
#
# PROGRAM is that of the GPU tests, which needs neither Rust nor MG5aMC. Without it cargo makes it; where there is no
# cargo, it can be brought along:
#
#   cargo test --release --locked -p mebridge-capi --test gpu --no-run     # says where it is
#
#   MEBRIDGE_SANITIZER      compute-sanitizer, where it is neither in PATH nor in /usr/local/cuda/bin
#   MEBRIDGE_TEST_TOOL      only tools whose names contain this
#   MEBRIDGE_TEST_PROCESS   only processes whose names contain this ("t t~ g")
set -u
test=sanitizer::no_tool_finds_anything
# A skip is a failure here.
MEBRIDGE_REQUIRE=gpu,sanitizer
export MEBRIDGE_REQUIRE
if [ $# -gt 0 ]; then
    "$1" --exact "$test" --nocapture --test-threads=1
else
    cd "$(dirname "$0")/.." || exit 1
    "${CARGO:-cargo}" test --release --locked -p mebridge-capi --test gpu -- --exact "$test" --nocapture
fi
status=$?
if [ "$status" -eq 0 ]; then echo "sanitize: nothing found"; else echo "sanitize: FAILED"; fi
[ "$status" -eq 0 ]
