#!/bin/sh
# Runs the Fortran comparisons: run.sh DIRECTORY_OF_THE_PROGRAMS, from the top directory of mebridge.
# Prints one line for each comparison, then the totals; the status is 0 only if all passed.
# MEBRIDGE_TEST_RUNNER: what starts a program, an emulator of ARM; MEBRIDGE_TEST_SVE_BITS is then the length of its
# registers.
set -u
runner=${MEBRIDGE_TEST_RUNNER-}
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
log=$bin/comparisons.log

# A clean slate: switches of the caller must not decide what is compared.
for name in $(env | sed -n 's/^\(CUDACPP_RUNTIME_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
CUDACPP_RUNTIME_PROCESS=$(cd "$here/../../fortran/gg_ttx/SubProcesses/P1_gg_ttx" && pwd)
MEBRIDGE_TESTS=$here
CUDACPP_RUNTIME_CACHE=off
CUDACPP_RUNTIME_BACKEND=cpu
export CUDACPP_RUNTIME_PROCESS CUDACPP_RUNTIME_CACHE CUDACPP_RUNTIME_BACKEND MEBRIDGE_TESTS

bad=0
: >"$log"
# run PROGRAM [ARGUMENT]: a program that ends badly without a line that says so gets one.
run() {
    $runner "$bin/$1" ${2+"$2"} >"$log.one" 2>"$log.err"
    status=$?
    cat "$log.one"
    cat "$log.one" >>"$log"
    if [ $status -ne 0 ]; then
        bad=$((bad + 1))
        sed 's/^/    /' "$log.err"
        grep -q FAIL "$log.one" || printf '%-40s%39s\n' "${2-$1}" "  FAIL, ended with status $status" | tee -a "$log"
    elif ! grep -q 'pass$' "$log.one"; then
        bad=$((bad + 1))
        printf '%-40s%39s\n' "${2-$1}" "  FAIL, compared nothing" | tee -a "$log"
    fi
}

# refuses NAME PROGRAM ARGUMENT TEXT: the program has to end by itself, with a status other than 0 and a
# message that has TEXT in it.
refuses() {
    $runner "$bin/$2" "$3" >"$log.one" 2>"$log.err"
    status=$?
    if [ $status -eq 0 ]; then
        why='FAIL, it was accepted'
    elif [ $status -ge 128 ]; then
        why="FAIL, ended by signal $((status - 128))"
    elif ! grep -qi -- "$4" "$log.err"; then
        why="FAIL, the message does not say '$4'"
    else
        why=pass
    fi
    printf '%-40s%29s  %s\n' "refused: $1" '' "$why" | tee -a "$log"
    if [ "$why" != pass ]; then sed 's/^/    /' "$log.err"; fi
}

# Whether this machine has a SIMD level: all that its kernels may use.
has() {
    if [ "$1" = none ]; then return 0; fi
    case ${runner:+arm}$(uname -m) in
        arm* | aarch64)
            # NEON is part of every one; avx2 is SVE, in builds of .cargo/config.toml. Its length here is Linux's for new
            # programs, in bytes; there is none of it on macOS.
            default=/proc/sys/abi/sve_default_vector_length
            bits=${MEBRIDGE_TEST_SVE_BITS-$(($(cat "$default" 2>/dev/null || echo 0) * 8))}
            case $1 in
                sse4) return 0 ;;
                avx2) [ "$bits" -ge 256 ] ;;
                *) return 1 ;;
            esac
            return
            ;;
    esac
    if [ ! -r /proc/cpuinfo ]; then return 1; fi
    flags=" $(sed -n '/^flags/{s/.*://;p;q;}' /proc/cpuinfo) "
    case $1 in
        sse4) needs="sse4_2" ;;
        avx2) needs="avx2 fma" ;;
        512y | 512z) needs="avx512f avx512vl avx512dq avx512bw" ;;
    esac
    for flag in $needs; do
        case $flags in *" $flag "*) ;; *) return 1 ;; esac
    done
}

printf '%-40s%9s%10s%10s  %s\n' comparison points worst tolerance verdict
for program in closed_formula no_channel channels helicity_choice colour_choice igraph running_coupling \
    batch_sizes beyond_the_batch two_bridges good_helicities without_igraph; do
    run $program
done
skipped=0
for simd in none sse4 avx2 512y 512z; do
    for fptype in d m f; do
        if has $simd; then
            export CUDACPP_RUNTIME_SIMD=$simd CUDACPP_RUNTIME_FPTYPE=$fptype
            run switches "SIMD $simd, precision $fptype"
            unset CUDACPP_RUNTIME_SIMD CUDACPP_RUNTIME_FPTYPE
        else
            skipped=$((skipped + 1))
            printf '%-40s%29s  %s\n' "SIMD $simd, precision $fptype" '' 'skipped: not on this CPU'
        fi
    done
done
export CUDACPP_RUNTIME_THREADS=2
run switches '2 threads'
unset CUDACPP_RUNTIME_THREADS

refuses 'number of legs' refused legs npar
refuses 'number of components' refused components np4
refuses 'batch without events' refused 'no events' nevt
refuses 'bridge that was deleted' refused 'deleted bridge' bridge
refuses 'channel that does not exist' refused channel channel
refuses 'momentum that is not a number' refused nan momentum
export CUDACPP_RUNTIME_IGRAPH=no
refuses 'igraph where none is expected' refused plain igraph
export CUDACPP_RUNTIME_IGRAPH=yes
refuses 'no igraph where one is expected' without_igraph keep igraph
unset CUDACPP_RUNTIME_IGRAPH
export CUDACPP_RUNTIME_FPTYP=d
refuses 'switch that does not exist' refused plain CUDACPP_RUNTIME_FPTYP
unset CUDACPP_RUNTIME_FPTYP
export CUDACPP_RUNTIME_SIMD=avx9
refuses 'SIMD level that does not exist' refused plain CUDACPP_RUNTIME_SIMD
unset CUDACPP_RUNTIME_SIMD
export CUDACPP_RUNTIME_PARAMCARD=$bin/no_such_card.dat
refuses 'parameter card that is not there' refused plain no_such_card.dat
unset CUDACPP_RUNTIME_PARAMCARD
export CUDACPP_RUNTIME_PROCESS=$here
refuses 'directory without a process' refused plain 'matrix<i>.f'
export CUDACPP_RUNTIME_PROCESS="$here/run.sh"
refuses 'file that is not a process' refused plain run.sh

passed=$(grep -c 'pass$' "$log")
failed=$(grep -c FAIL "$log")
echo "Fortran comparisons: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$passed" -gt 0 ]
