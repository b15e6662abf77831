#!/bin/sh
# Runs all kinds of GPU work under memcheck, initcheck, racecheck and synccheck of compute-sanitizer: sanitize.sh
# [PROGRAM]. Status 0: nothing was found; 1: something was found, or nothing could be checked.
#
# PROGRAM is the program of the GPU tests, which needs neither Rust nor MG5aMC. By default cargo builds it; on a machine
# without cargo, copy it there:
#
#   cargo test --release --locked -p mebridge-capi --test gpu --no-run     # prints its path
#
#   MEBRIDGE_SANITIZER      compute-sanitizer, if it is neither in PATH nor in /usr/local/cuda/bin
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
