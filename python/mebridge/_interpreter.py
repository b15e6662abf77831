"""A copy of this interpreter, of the packages that events need and of the shared libraries of both, the C library among
them: with it programs run where there is neither Python nor a glibc that is new enough.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable

from ._library import Error, library_path

# Modules of the standard library that no events need: they are large, or need libraries of their own.
_LEFT_OUT = (
    "__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "turtle.py",
    "lib2to3", "ensurepip", "pydoc_data", "venv", "config-*", "sqlite3", "curses", "dbm", "_sysconfigdata*",
    "_tkinter.*", "_curses*", "readline.*", "_dbm.*", "_gdbm.*", "_sqlite3.*", "_ssl.*", "_test*", "_ctypes_test.*",
    "_xx*", "xx*", "nis.*", "_crypt.*", "ossaudiodev.*", "*.a", "*.pyc",
)  # fmt: skip
# The same of packages; what is for GPUs alone as well.
_LEFT_OUT_OF_PACKAGES = (
    "__pycache__", "tests", "include", "f2py", "*.pyi", "*.a", "*.pyc", "*_cuda.so", "*_hip.so", "*.typed",
)  # fmt: skip
_PACKAGES = ("numpy",)
_LOADER = re.compile(r"ld-linux.*\.so\.\d+")

# Where things lie in the copy.
PACKAGES, SHARED, PROGRAM, START = "packages", "lib/shared", "bin/python", "packages/mebridge/_start.py"
# Without any program but the shell. A colon would divide the path of the libraries.
_SCRIPT = """#!/bin/sh
# The interpreter of this folder with the shared libraries of this folder, whatever the machine has.
here=$(CDPATH= cd -- "${{0%/*}}/.." && pwd -P) || exit 1
unset LD_PRELOAD LD_LIBRARY_PATH
LC_ALL=C
export LC_ALL
exec "$here/{shared}/{loader}" --inhibit-rpath '' --library-path "$here/{shared}" \\
    "$here/bin/{program}" -I -S -B -X utf8 "$@"
"""


def copy(into: pathlib.Path, others: Iterable[pathlib.Path]) -> None:
    """Copies all into a folder.

    Args:
        others: further shared libraries whose libraries are to be there.
    """
    program = pathlib.Path(os.path.realpath(sys.executable))
    standard = pathlib.Path(os.__file__).parent
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    there = into / sys.platlibdir / version
    shutil.copytree(standard, there, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    # getpath looks for it here, whatever the interpreter was built with.
    (there / "lib-dynload").mkdir(exist_ok=True)
    (into / "bin").mkdir()
    shutil.copy2(program, into / "bin" / version)
    binaries = [program, *(standard / "lib-dynload" / path.name for path in (there / "lib-dynload").glob("*.so"))]
    for name in _PACKAGES:
        binaries += _package(name, into / PACKAGES)
    mine, library = pathlib.Path(__file__).parent, library_path()
    shutil.copytree(mine, into / PACKAGES / mine.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.typed"))
    shutil.copy2(library, into / PACKAGES / mine.name / "libmebridge.so")
    loader = _shared([*binaries, library, *others], into / SHARED, [_home(name) for name in _PACKAGES])
    script = into / PROGRAM
    script.write_text(_SCRIPT.format(shared=SHARED, loader=loader, program=version))
    script.chmod(0o755)
    _compile(into)


def _home(name: str) -> pathlib.Path:
    """The folder that a package lies in."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise Error(f"a pack needs {name}: pip install {name}")
    return pathlib.Path(os.path.realpath(found.submodule_search_locations[0])).parent


def _package(name: str, into: pathlib.Path) -> list[pathlib.Path]:
    """Copies a package with the libraries that its wheel brought; its shared libraries, where they were."""
    home, found = _home(name), []
    for folder in (name, f"{name}.libs"):
        if (home / folder).is_dir():
            shutil.copytree(home / folder, into / folder, ignore=shutil.ignore_patterns(*_LEFT_OUT_OF_PACKAGES))
            found += [home / path.relative_to(into) for path in (into / folder).rglob("*") if _binary(path)]
    return found


def _binary(path: pathlib.Path) -> bool:
    if not path.is_file() or not fnmatch.fnmatch(path.name, "*.so*"):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _shared(binaries: list[pathlib.Path], into: pathlib.Path, homes: list[pathlib.Path]) -> str:
    """Copies the shared libraries that these need and that do not lie in the packages; the name of the loader."""
    into.mkdir(parents=True)
    needed: dict[str, pathlib.Path] = {}
    # Packages load some of theirs by their paths before others ask for them.
    own = {binary.name for binary in binaries}
    for binary in binaries:
        # Its status is that of the last file; what it says is enough.
        said = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        for line in said.stdout.splitlines():
            name, arrow, rest = line.strip().partition(" => ")
            if arrow and rest.startswith("not found"):
                if name in own:
                    continue
                raise Error(f"{binary} needs {name}, which is missing on this machine")
            # The loader has no arrow, or one to itself.
            path = pathlib.Path(re.sub(r" \(0x[0-9a-f]+\)$", "", rest if arrow else name))
            if path.is_absolute() and not any(home in pathlib.Path(os.path.realpath(path)).parents for home in homes):
                needed.setdefault(path.name if not arrow else pathlib.Path(name).name, path)
    loader = next((name for name in needed if _LOADER.fullmatch(name)), None)
    if loader is None:
        raise Error("a pack needs the GNU C library: ldd of this machine names no ld-linux")
    for name, path in needed.items():
        shutil.copyfile(path, into / name)
        (into / name).chmod(0o755)
    return loader


def _compile(into: pathlib.Path) -> None:
    """Bytecode, without times: the folder may be unpacked anywhere, and is not written to."""
    import py_compile

    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for path in into.rglob("*.py"):
        name = str(path.relative_to(into))
        # Beside it, whatever PYTHONPYCACHEPREFIX says here: that of the machines that run it is another one.
        place = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(str(path), str(place), name, doraise=False, quiet=2, invalidation_mode=unchecked)
