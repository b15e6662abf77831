"""maturin, behind a step that builds libmebridge.so and puts it into the package."""

import os
import pathlib
import shlex
import shutil
import subprocess

from maturin import *  # noqa: F403
import maturin

_HERE = pathlib.Path(__file__).resolve().parent
_TRIPLE = "x86_64-unknown-linux-gnu"


def _library() -> None:
    """Builds the library and copies it to where maturin finds it.

    Library and command share all of their compilation. ``MEBRIDGE_LIBRARY`` names one that is there already.
    ``MEBRIDGE_GLIBC=2.28`` builds both for this glibc and later ones, with cargo-zigbuild, and names the wheel so.
    """
    given, glibc = os.environ.get("MEBRIDGE_LIBRARY"), os.environ.get("MEBRIDGE_GLIBC")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", _HERE.parent / "target"))
    if glibc is not None:
        asked = ["--zig", "--target", _TRIPLE, "--compatibility", f"manylinux_{glibc.replace('.', '_')}"]
        os.environ["MATURIN_PEP517_ARGS"] = shlex.join(asked)
    if given is None:
        manifest = _HERE.parent / "Cargo.toml"
        cargo = os.environ.get("CARGO", "cargo")
        build = [cargo, "build"] if glibc is None else [cargo, "zigbuild", "--target", f"{_TRIPLE}.{glibc}"]
        subprocess.run([*build, "--release", "--locked", "--manifest-path", str(manifest)], check=True)
        given = target / ("release" if glibc is None else f"{_TRIPLE}/release") / "libmebridge.so"
    shutil.copyfile(given, _HERE / "mebridge" / "libmebridge.so")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _library()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _library()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
