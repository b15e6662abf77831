#!/bin/sh
# A real MadEvent of ARM under emulation: madevent.sh OUTPUT RELEASE. OUTPUT is one of MG5aMC with the plugin and one P
# directory, of which a copy is used, RELEASE has libmebridge.so and the command. Its events by its own Fortran are those
# by the library at each level, byte for byte. EMULATOR starts programs of ARM, PREFIX begins the compilers' names.
set -eu
folder=$PWD/build/arm/madevent
rm -rf "$folder"
mkdir -p "$folder"
cp -RL "$1" "$folder/output"
p=$(echo "$folder"/output/SubProcesses/P*)
compile() {
    make -C "$p" "$1" FC="$PREFIX-gfortran" CXX="$PREFIX-g++" AR="$PREFIX-ar" >"$folder/make.log" 2>&1 || {
        tail -20 "$folder/make.log"
        exit 1
    }
}
# run NAME CPU: 2048 events in calls of 512.
run() {
    rm -f "$p/ftn26" "$p/ftn25" "$p/results.dat" "$p/events.lhe"
    printf '2048 1 1\n0.000001\n0\n1\n0\n1\n' >"$p/input"
    (cd "$p" && CUDACPP_RUNTIME_VECSIZEUSED=512 $EMULATOR -cpu "$2" ./madevent <input) >"$folder/$1.log" 2>"$folder/$1.err" ||
        {
            tail -20 "$folder/$1.log" "$folder/$1.err"
            exit 1
        }
    mv "$p/events.lhe" "$folder/$1.lhe"
    sed -n '/^ *Cross sec/{s/^ */'"$1"':/;p;}' "$folder/$1.log"
}
compile madevent_fortran_link
run fortran max,sve=off
$EMULATOR -cpu max,sve256=on "$2/mebridge" link "$folder/output" --library "$2/libmebridge.so"
compile madevent_cpp_link
export CUDACPP_RUNTIME_VERBOSE=1
for case in none:sve=off sse4:sve=off avx2:sve256=on; do
    level=${case%:*}
    CUDACPP_RUNTIME_SIMD=$level run "$level" "max,${case#*:}"
    grep -q " $level" "$folder/$level.err" || {
        echo "madevent does not say that the library ran at $level:"
        cat "$folder/$level.err"
        exit 1
    }
    grep -q '<event>' "$folder/fortran.lhe" && cmp "$folder/fortran.lhe" "$folder/$level.lhe"
done
echo "madevent of $(basename "$1"): $(grep -c '<event>' "$folder/fortran.lhe") events, the same bytes by Fortran, none, sse4, avx2"
