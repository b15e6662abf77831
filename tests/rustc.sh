#!/bin/sh
# Called by cargo instead of rustc for the crates of this workspace (.cargo/config.toml).
# Tests are built on the libraries of target/release, so that each is compiled once, and the tests use the code that
# ships. The tests themselves are not optimised: they run once, and optimising them takes longer than it saves. In few
# codegen units, less is compiled several times. Their arithmetic and their debug assertions are checked. Tests of another
# profile than `release` (make test-arm) are left as they are.
# Clippy, where it is installed, compiles the tests and what is only checked: it looks at code that rustc reads in any
# case. Cargo repeats what it says as warnings of each build, in which `make test` finds them. (Clippy optimises less than
# rustc, which compiles what ships.)
# How a library was compiled is kept beside it: its documentation is made from that (tests/documentation.sh).
set -u
rustc=$1
shift
compiler=rustc
case " $* " in
    # Of all profiles, that of releases strips what it makes.
    *" --test "*" strip=debuginfo "* | *" strip=debuginfo "*" --test "*)
        compiler=clippy
        set -- "$@" -C opt-level=0 -C codegen-units=4 -C overflow-checks=on -C debug-assertions=on
        ;;
    *" --emit=dep-info,metadata "*) compiler=clippy ;;
    *" --crate-type lib "*" --out-dir "*)
        last=
        for argument; do
            if [ "$last" = --out-dir ]; then record=$argument/$CARGO_CRATE_NAME; fi
            last=$argument
        done
        printf '%s\n' "$@" >"$record.arguments"
        export -p >"$record.environment"
        ;;
esac
if [ $compiler = clippy ]; then
    case $rustc in
        */*) driver=${rustc%/*}/clippy-driver ;;
        *) driver=clippy-driver ;;
    esac
    if command -v "$driver" >/dev/null; then exec "$driver" "$rustc" "$@"; fi
fi
exec "$rustc" "$@"
