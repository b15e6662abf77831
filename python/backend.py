"""maturin, behind a step that builds libmebridge.so and puts it into the package.

Library and command are compiled once, together. Two variables change how:

``MEBRIDGE_LIBRARY=FILE``
    a library that is there already.
``MEBRIDGE_GLIBC=2.28``
    for this glibc and later ones, whatever this machine has: zig links, and the wheel is named manylinux_2_28.
``MEBRIDGE_ARCH=aarch64``
    beside it, for these processors and not for x86_64.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import maturin
from maturin import *  # noqa: F403

_HERE = pathlib.Path(__file__).resolve().parent
_TRIPLE = f"{os.environ.get('MEBRIDGE_ARCH', 'x86_64')}-unknown-linux-gnu"
_MANIFEST = _HERE.parent / "Cargo.toml"
_COMMAND = _HERE.parent / "crates" / "command" / "Cargo.toml"
# maturin would fetch a toolchain of its own, of which the step before it knows nothing.
os.environ["MATURIN_NO_INSTALL_RUST"] = "1"


def _library() -> None:
    """Builds the library and copies it to where maturin finds it."""
    given, glibc = os.environ.get("MEBRIDGE_LIBRARY"), os.environ.get("MEBRIDGE_GLIBC")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", _HERE.parent / "target"))
    if glibc is not None:
        asked = ["--zig", "--target", _TRIPLE, "--compatibility", f"manylinux_{glibc.replace('.', '_')}"]
        os.environ["MATURIN_PEP517_ARGS"] = shlex.join(asked)
    if given is None and glibc is None:
        cargo = os.environ.get("CARGO", "cargo")
        # It brings the library along.
        subprocess.run([cargo, "build", "--release", "--locked", "--manifest-path", str(_COMMAND)], check=True)
        given = target / "release" / "deps" / "libmebridge.so"
    elif given is None:
        # Cargo takes what another linker made for stale, and zig is maturin's: its command brings the library along.
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["maturin", "build", "--release", *asked, "--out", folder], cwd=_HERE, check=True)
        given = target / _TRIPLE / "release" / "deps" / "libmebridge.so"
    shutil.copyfile(given, _HERE / "mebridge" / "libmebridge.so")


def get_requires_for_build_wheel(config_settings=None) -> list[str]:
    """What pip has to install for the build. It asks this first: what only the user can install is looked for here."""
    needed = re.search(r'^rust-version = "(.*)"', _MANIFEST.read_text(), re.MULTILINE)[1]
    try:
        cargo = os.environ.get("CARGO", "cargo")
        found = subprocess.run([cargo, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    except (OSError, subprocess.CalledProcessError):
        sys.exit(
            f"mebridge: cargo is missing. To build this package, install Rust {needed} or later (https://rustup.rs) and "
            "run this again in a new shell; a wheel of it needs no Rust."
        )
    if [int(part) for part in found.split(".")[:2]] < [int(part) for part in needed.split(".")]:
        sys.exit(f"mebridge: cargo is {found}, and Rust {needed} or later is needed: rustup update")
    if shutil.which("cc") is None:
        sys.exit("mebridge: a C compiler (cc) is missing, which Rust needs to link: install gcc or clang")
    zig = ["ziglang"] if "MEBRIDGE_GLIBC" in os.environ else []
    return [*maturin.get_requires_for_build_wheel(config_settings), *zig]


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _library()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _library()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
