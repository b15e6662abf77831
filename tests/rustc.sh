#!/bin/sh
# What cargo calls in the place of rustc for the crates of this workspace: RUSTC_WORKSPACE_WRAPPER, which the Makefile sets.
# Tests are built on the libraries of target/release, so that each is compiled once, and what is tested is what ships. The
# tests themselves are not optimised: they run once, and to optimise them takes three times as long as to compile them. Their
# arithmetic is checked, and their assertions hold.
set -u
rustc=$1
shift
for argument in "$@"; do
    if [ "$argument" = --test ]; then
        set -- "$@" -C opt-level=0 -C lto=off -C overflow-checks=on -C debug-assertions=on
        break
    fi
done
exec "$rustc" "$@"
