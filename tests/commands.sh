#!/bin/sh
# Runs every subcommand as a user would, by its name only and in an empty environment, for one way of installing:
#
#     commands.sh MEBRIDGE LIBRARY
#
# LIBRARY is the library that it has to find.
set -eu
root=$(CDPATH='' cd -- "$(dirname "$0")/.." && pwd)
command=$1 library=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$command: $*" >&2
    exit 1
}
called=
# run STATUS ARGUMENTS...: calls a subcommand; its output is in `said`.
run() {
    status=0
    wanted=$1
    shift
    called="$called $1"
    env -i PATH=/usr/bin:/bin HOME="$folder" TMPDIR="$folder" CUDACPP_RUNTIME_BACKEND=cpu "$command" "$@" >said 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "'$*' has status $status: $(cat said)"
}

# A small MadEvent output, and a folder that looks like MG5aMC.
p=output/SubProcesses/P1_gg_ttx
cp -R "$root/fortran/gg_ttx" output
mkdir output/lib mg5 mg5/bin mg5/madgraph
cp "$root/fortran/madevent/make_opts" output/Source/
cp "$root/fortran/madevent/run_card.dat" output/Cards/
for file in makefile driver.f auto_dsig.f genps.inc run.inc; do cp "$root/fortran/madevent/$file" $p/; done
cp "$root/fortran/madevent/auto_dsig1_batch.f" $p/auto_dsig1.f
touch mg5/bin/mg5_aMC
echo '500 0 0 500  500 0 0 -500  500 0 469.11725613112975  0  500 0 -469.11725613112975 0' >momenta
printf '100 = nevents\n0 = lpp1\n0 = lpp2\n100 = ebeam1\n100 = ebeam2\n' >card

run 0 generate 'g g > t t~' -o a.mebridge
run 0 import $p -o b.mebridge
run 0 model "$root/crates/ufo/tests/toy" -o toy
run 0 info a.mebridge
run 0 check a.mebridge 32 8 1
run 0 eval a.mebridge momenta
run 0 bench a.mebridge --nevt 32 --simd none --fptype d --repetitions 1 --seconds 0.01 -o bench
run 0 cache
run 0 doctor
run 0 link output
[ output/lib/libmebridge.so -ef "$library" ] || cmp -s output/lib/libmebridge.so "$library" || fail "link takes another library"
run 0 unlink output
run 0 plugin mg5
run 0 umami a.mebridge -o umami.so
if command -v gfortran >/dev/null 2>&1; then run 0 compare $p; else called="$called compare"; fi
run 0 events 'e+ e- > mu+ mu-' --run-card card --name r
run 0 pack Events/r -o pack.tar
run 0 events 'e+ e- > mu+ mu-' --run-card card --name s --seed 77
run 0 merge Events/r/unweighted_events.lhe.gz Events/s/unweighted_events.lhe.gz -o joined.lhe
run 0 plot Events/r/unweighted_events.lhe.gz joined.lhe
gzip -dc Events/r/unweighted_events.lhe.gz | sed -n '/<slha>/,/<.slha>/{/slha>/!p;}' >cards
run 0 reweight Events/r/unweighted_events.lhe.gz 'e+ e- > mu+ mu-' --card cards -o out.lhe
run 0 events 'e+ e- > w+ w-' --run-card card --name d
run 0 decay Events/d/unweighted_events.lhe.gz 'w+ > e+ ve' -o decayed.lhe
run 0 help

env -i "$command" --help | sed -n '/^Commands:/,/^Options:/s/^  \([a-z][a-z]*\) .*/\1/p' >listed
for name in $(cat listed); do
    case " $called " in *" $name "*) ;; *) fail "no test calls $name" ;; esac
done
echo "$command: $(wc -l <listed) subcommands"
