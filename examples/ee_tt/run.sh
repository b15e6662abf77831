#!/bin/sh
# The last step of `make run`: events of e+ e- > t t~ by a run card, and their cross section beside MadEvent's.
#
#   run.sh MEBRIDGE FOLDER     the command, and where Events/run_NN is made
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command=$1
folder=$2
# MadEvent of MG5aMC 3.5.7, the same card, pb (benches/results/compared_events.csv, "e+ e- > t t~, 500 GeV").
known=0.54890
known_error=0.00032

mkdir -p "$folder"
"$command" events "e+ e- > t t~" --run-card "$here/run_card.dat" --folder "$folder" >"$folder/printed.txt"
cat "$folder/printed.txt"
# The line "all  X +- E"; the two are the same to five standard errors, or this fails.
awk -v known="$known" -v known_error="$known_error" '
    $1 == "all" && $3 == "+-" {
        apart = ($2 - known) / sqrt($4 * $4 + known_error * known_error)
        printf "cross section, pb        %s +- %s\n", $2, $4
        printf "MadEvent of MG5aMC 3.5.7 %s +- %s\n", known, known_error
        printf "they differ by %.1f standard errors\n", apart < 0 ? -apart : apart
        found = 1
        exit apart * apart > 25
    }
    END { if (!found) { print "there is no cross section in what was printed"; exit 1 } }' "$folder/printed.txt"
