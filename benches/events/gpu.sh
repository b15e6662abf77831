#!/bin/sh
# Events by a GPU beside those of the CPU, then how many a second: gpu.sh EVENTS DENSITIES [check|times]
#
# EVENTS is examples/events.rs as it was built, DENSITIES a member of a set. Each line of times has matrix elements, channels,
# start, survey, three rounds, and where the time of GPUs went.
set -u
events=$1 densities=$2 what=${3:-all}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CUDACPP_RUNTIME_THREADS=${CUDACPP_RUNTIME_THREADS:-$(nproc)}

# Every number of both files, those that are nearly zero beside 1.
compare() {
    awk -v first="$1" -v second="$2" 'BEGIN {
        while ((getline a < first) > 0) {
            if ((getline b < second) <= 0) { print "fewer lines"; exit 1 }
            lines++
            if (split(a, x) != split(b, y)) { print lines ": " a " | " b; wrong++; continue }
            for (i in x) {
                size = x[i] < 0 ? -x[i] : x[i]
                away = x[i] - y[i]; away = away < 0 ? -away : away
                if (x[i] != y[i] && !(away <= 1e-6 * (size > 1 ? size : 1))) {
                    if (++wrong < 5) print lines ": " a " | " b
                    break
                }
            }
        }
        print lines " lines, " wrong + 0 " others"
        exit wrong > 0
    }'
}

check() {
    echo "== check $1"
    for backend in cpu cuda; do
        CUDACPP_RUNTIME_BACKEND=$backend timeout 200 "$events" "$1" "$2" "$3" "$folder/$backend.lhe" $4 || return
    done
    compare "$folder/cpu.lhe" "$folder/cuda.lhe"
}

measure() {
    echo "== $1, $3 events, $2"
    CUDACPP_RUNTIME_BACKEND=$2 timeout 150 "$events" "$1" 13000 "$3" - "$densities" 2>&1
}

if [ "$what" != times ]; then
    check "g g > t t~ g" 1000 5000 ""
    check "p p > t t~ j" 13000 20000 "$densities"
    check "p p > e+ e- j j" 13000 5000 "$densities"
fi
if [ "$what" != check ]; then
    measure "p p > t t~ j" cuda 2000000
    measure "p p > e+ e- j j" cuda 500000
    measure "p p > t t~ j j" cuda 200000
    measure "p p > e+ e- j j j" cuda 50000
    measure "p p > t t~ j" cpu 50000
fi
