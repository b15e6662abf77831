#!/bin/sh
# Makes sure that there is a Rust toolchain; says how to get one otherwise. With `lint`, rustfmt and
# clippy as well, which rustup can add.
set -u
if ! command -v cargo >/dev/null 2>&1; then
    cat >&2 <<'MESSAGE'
mebridge: cargo is missing. Install Rust 1.91 or later and run make again:
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
then open a new shell, or: . "$HOME/.cargo/env"
MESSAGE
    exit 1
fi
if ! command -v cc >/dev/null 2>&1; then
    echo "mebridge: a C compiler (cc) is missing, which Rust needs to link: install gcc or clang" >&2
    exit 1
fi
[ "${1-}" = lint ] || exit 0
for tool in fmt clippy; do
    cargo $tool --version >/dev/null 2>&1 && continue
    component=$tool
    [ $tool = fmt ] && component=rustfmt
    if command -v rustup >/dev/null 2>&1; then
        echo "mebridge: running: rustup component add $component" >&2
        rustup component add $component >&2 || exit 1
    else
        echo "mebridge: 'cargo $tool' is missing: install the package $component of your Rust toolchain" >&2
        exit 1
    fi
done
