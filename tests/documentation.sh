#!/bin/sh
# Makes the documentation of all libraries of the workspace, of private items as well, and fails at a warning:
#
#     documentation.sh DEPS FOLDER
#
# DEPS is the `deps` folder of a build, in which tests/rustc.sh has left how each library was compiled. `cargo doc` would
# check everything once more before, dependencies as well.
set -u
cd "$(dirname "$0")/.."
# The same for one library: --one DEPS FOLDER MANIFEST
if [ "$1" = --one ]; then
    deps=$2 folder=$3 manifest=$4
    name=$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | sed -n 1p | tr - _)
    if [ ! -f "$deps/$name.arguments" ]; then
        echo "$name: nothing says how it was compiled; run cargo clean --release -p $(echo "$name" | tr _ -), and build it" >&2
        exit 1
    fi
    # What rustc alone knows: what it makes, and how its messages are encoded.
    awk '/^--(emit|error-format|json|diagnostic-width)=/ { next } /^--out-dir$/ { getline; next } { print }' \
        "$deps/$name.arguments" >"$folder/$name.arguments"
    # shellcheck disable=SC1090
    . "$deps/$name.environment"
    # That of the cargo that compiled it.
    unset CARGO_MAKEFLAGS MAKEFLAGS MFLAGS
    # Only its warnings are needed, and pages take time. The option is unstable.
    exec env RUSTC_BOOTSTRAP=1 rustdoc -Z unstable-options --check "@$folder/$name.arguments" --out-dir "$folder" --document-private-items -D warnings \
        -A rustdoc::private-intra-doc-links
fi
for manifest in Cargo.toml crates/*/Cargo.toml; do
    if [ -f "${manifest%Cargo.toml}src/lib.rs" ] && ! grep -q '^crate-type = \["cdylib"\]' "$manifest"; then
        echo "$manifest"
    fi
done | xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" "$0" --one "$1" "$2"
