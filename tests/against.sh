#!/bin/sh
# Checks that the program of `make bench-against` can still call the library of target/release in each way, by comparing
# it with itself. Its speed does not matter here.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
library=
for file in "$target/release/libmebridge.so" "$target/release/libmebridge.dylib"; do
    if [ -f "$file" ]; then library=$file; fi
done
[ -n "$library" ] || {
    echo "there is no libmebridge in $target/release" >&2
    exit 1
}
table=$(mktemp)
trap 'rm -f "$table"' EXIT
status=0
MEBRIDGE_MG5_OUTPUTS='' "$target/release/mebridge-against" --old "$library" --new "$library" --only "gg_tt " \
    --rounds 1 >"$table" || status=$?
cat "$table"
# 1: a row is slower, by chance.
[ "$status" -le 1 ] || exit 1
if grep -q wrong "$table"; then
    echo "a row is wrong" >&2
    exit 1
fi
rows=$(grep -c '^| gg_tt ' "$table") || true
if [ "$(uname -m)" = x86_64 ] && [ "$rows" -eq 0 ]; then
    echo "no row was measured" >&2
    exit 1
fi
