#!/bin/sh
# Called by cargo instead of rustc for the crates of this workspace (.cargo/config.toml).
# Tests are built on the libraries of target/release, so that each is compiled once, and the tests use the code that
# ships. The tests themselves are not optimised: they run once, and optimising them takes longer than it saves. Their
# arithmetic and their debug assertions are checked. Tests of another profile than `release` (make test-arm) are left as
# they are.
# Clippy compiles the tests, where it is installed: it looks at code that rustc reads in any case, and cargo repeats what
# it says as warnings of each build, in which `make test` finds them. (Clippy optimises less than rustc, so that
# libraries, which ship, have `cargo clippy`.)
set -u
rustc=$1
shift
case " $* " in
    # Of all profiles, that of releases strips what it makes.
    *" --test "*" strip=debuginfo "* | *" strip=debuginfo "*" --test "*)
        set -- "$@" -C opt-level=0 -C codegen-units=16 -C overflow-checks=on -C debug-assertions=on
        case $rustc in
            */*) driver=${rustc%/*}/clippy-driver ;;
            *) driver=clippy-driver ;;
        esac
        if command -v "$driver" >/dev/null; then exec "$driver" "$rustc" "$@"; fi
        ;;
esac
exec "$rustc" "$@"
