#!/bin/sh
# The Fortran event loop at each level of ARM, and what is refused there: event_loop.sh PROGRAM. EMULATOR: what starts it.
set -eu
emulator=$EMULATOR
. "$(dirname "$0")/core.sh"
for case in none:0 sse4:0 sse4:128 avx2:256 avx2:512; do
    for precision in d m f; do
        said=$(CUDACPP_RUNTIME_SIMD=${case%:*} CUDACPP_RUNTIME_FPTYPE=$precision $(core "${case#*:}") "$1" --events 2000 \
            --vecsize 100) || {
            echo "$case $precision: $said"
            exit 1
        }
        echo "level ${case%:*}, SVE of ${case#*:} bits, $precision:$(echo "$said" | sed -n 's/^ *largest relative/ largest relative/p')"
    done
done
# Registers that are too short, and a level that this build has not, are refused by name.
refused() {
    if said=$(CUDACPP_RUNTIME_SIMD=$2 $(core "$3") "$1" --events 100 --vecsize 100 2>&1); then
        echo "level $2 ran on a core with SVE of $3 bits"
        exit 1
    fi
    case $said in
        *"$4 SIMD level \`$2\`"*) echo "refused: $2 on a core with SVE of $3 bits" ;;
        *) echo "SIMD level $2, SVE of $3 bits: $said"; exit 1 ;;
    esac
}
for bits in 0 128; do refused "$1" avx2 $bits "this CPU lacks"; done
refused "$1" 512z 512 "this build has no code of"
echo "event loop: none, sse4, avx2 in d, m, f; avx2 refused where SVE has 0 or 128 bits, 512z by this build"
