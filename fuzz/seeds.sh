#!/bin/sh
# Makes the inputs that fuzzing begins with: files of fortran/gg_ttx behind the number that the importer's target
# gives them, and process files. They lie in fuzz/corpus, which is not committed.
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/importer corpus/process_file
number=0
sed -n '/^const FILES/,/^];/s/^ *"\(.*\)",$/\1/p' fuzz_targets/importer.rs | while read -r file; do
    {
        printf "\\$(printf %03o $number)"
        cat "../fortran/gg_ttx/$file"
    } >"corpus/importer/$(basename "$file")"
    number=$((number + 1))
done
mebridge=${MEBRIDGE:-../target/release/mebridge}
for directory in ../fortran/gg_ttx/SubProcesses/P* ../fortran/outputs/*/SubProcesses/P*; do
    name=$(echo "$directory" | tr -c 'A-Za-z0-9\n' _)
    "$mebridge" import "$directory" -o "corpus/process_file/$name" >/dev/null
done
