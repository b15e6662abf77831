"""`mebridge plugin`: the folder that makes `output mebridge` a word of MG5aMC."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Sequence

from . import _arguments, _command, _main
from ._library import Error, library_path
from ._process import Path

_NAME = "mebridge"
_SOURCE = pathlib.Path(__file__).with_name("mg5amc_plugin")
_FILES = ("__init__.py", "output.py")
# Where its command stands, and the library; a folder with it is ours.
_INSTALLED = "installed.txt"
# A folder of this name in one of PYTHONPATH is one of plugins as well.
_ANYWHERE = "MG5aMC_PLUGIN"
# With which it was run.
TRIED = ("3.4.2", "3.5.7")


def place(mg5amc: Path) -> tuple[pathlib.Path, str]:
    """Where the plugin lies, and the version of MG5aMC, if it is known."""
    folder = pathlib.Path(os.path.abspath(_arguments.text("folder", mg5amc)))
    if folder.name == _ANYWHERE:
        return folder / _NAME, ""
    if not (folder / "bin" / "mg5_aMC").is_file() or not (folder / "madgraph").is_dir():
        raise Error(
            f"{folder} is no folder of MG5aMC: it has no bin/mg5_aMC and madgraph. A folder {_ANYWHERE} that lies in "
            "one of PYTHONPATH is one, too"
        )
    try:
        found = re.search(r"^version\s*=\s*(\S+)", (folder / "VERSION").read_text(errors="replace"), re.MULTILINE)
    except OSError:
        found = None
    return folder / "PLUGIN" / _NAME, found[1] if found else "unknown"


def install(mg5amc: Path) -> tuple[pathlib.Path, str]:
    """Puts the plugin into a folder of MG5aMC, in the place of an older one; as :func:`place`."""
    target, version = place(mg5amc)
    _check_ours(target)
    try:
        target.parent.mkdir(exist_ok=True)
        # Two runs of MG5aMC may read it meanwhile.
        with tempfile.TemporaryDirectory(prefix=".mebridge-", dir=target.parent) as folder:
            made = pathlib.Path(folder) / _NAME
            made.mkdir()
            for name in _FILES:
                shutil.copyfile(_SOURCE / name, made / name)
            there = [_command.command().resolve(), library_path().resolve()]
            (made / _INSTALLED).write_text("".join(f"{path}\n" for path in there), encoding="utf-8")
            if target.exists():
                target.rename(pathlib.Path(folder) / "before")
            made.rename(target)
    except OSError as error:
        raise Error(f"{target} cannot be written: {error.strerror}; a folder {_ANYWHERE} will do as well") from None
    return target, version


def remove(mg5amc: Path) -> pathlib.Path:
    """Takes the plugin away."""
    target, _ = place(mg5amc)
    if not target.exists():
        raise Error(f"{target} is not there")
    _check_ours(target)
    try:
        shutil.rmtree(target)
    except OSError as error:
        raise Error(f"{target} cannot be removed: {error.strerror}") from None
    return target


def _check_ours(target: pathlib.Path) -> None:
    if os.path.lexists(target) and (target.is_symlink() or not (target / _INSTALLED).is_file()):
        raise Error(f"{target} is another plugin; take it away first")


def main(arguments: Sequence[str]) -> int:
    """``mebridge plugin``."""
    return _main.run(_plugin, arguments)


def _plugin(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="mebridge plugin",
        description="Puts a plugin into the folder PLUGIN of MG5aMC: 'output mebridge DIR' there writes what 'output "
        "madevent DIR' writes and links it, as 'mebridge link' does; 'launch' runs it. docs/plugin.md says more.",
    )
    said = f"of MG5aMC; or one that is named {_ANYWHERE}, in a folder that PYTHONPATH names when MG5aMC runs"
    parser.add_argument("folder", metavar="MG5_FOLDER", help=said)
    parser.add_argument("--remove", action="store_true", help="take it away")
    asked = parser.parse_args(arguments)
    if asked.remove:
        _main.tell(f"{remove(asked.folder)} is removed\n")
        return
    target, version = install(asked.folder)
    _main.tell(f"{target}: 'output mebridge DIR' and 'launch'\n")
    if version and version not in TRIED:
        tried = " and ".join(TRIED)
        _command.say(f"mebridge: this is MG5aMC {version}; the plugin was tried with {tried}\n")
