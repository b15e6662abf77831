"""maturin, behind a step that builds libmebridge.so and puts it into the package."""

import os
import pathlib
import shutil
import subprocess

from maturin import *  # noqa: F403
import maturin

_HERE = pathlib.Path(__file__).resolve().parent


def _library() -> None:
    """Builds the library and copies it to where maturin finds it.

    Library and command share all of their compilation. ``MEBRIDGE_LIBRARY`` names one that is there already.
    """
    given = os.environ.get("MEBRIDGE_LIBRARY")
    if given is None:
        manifest = _HERE.parent / "Cargo.toml"
        cargo = os.environ.get("CARGO", "cargo")
        subprocess.run([cargo, "build", "--release", "--locked", "--manifest-path", str(manifest)], check=True)
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", _HERE.parent / "target"))
        given = target / "release" / "libmebridge.so"
    shutil.copyfile(given, _HERE / "mebridge" / "libmebridge.so")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _library()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _library()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
