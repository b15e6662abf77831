#!/bin/sh
# Events of this tree, by `make bench-events`: run.sh [OPTION...], options being those of
# events.py. The package is that of python/, the library that of target/release.
set -eu
cd "$(dirname "$0")/../.."
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
. python/environment.sh
export PYTHONPATH="$PWD/python" MEBRIDGE_COMMAND="$target/release/mebridge"
for file in "$target/release/libmebridge.so" "$target/release/libmebridge.dylib"; do
    [ ! -f "$file" ] || export MEBRIDGE_LIBRARY="$file"
done
exec "$environment/bin/python" benches/events/events.py "$@"
