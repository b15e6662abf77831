"""The first program of a pack (docs/pack.md): whether its files are whole, and then a job.

It is run as a file, by the interpreter of the pack, and needs nothing of this package for the first of the two.
"""

from __future__ import annotations

import signal

if __name__ == "__main__":
    # Until somebody can say it, SIGINT ends this without a word.
    _heard = signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _heard is signal.SIG_IGN:
        signal.signal(signal.SIGINT, _heard)

import hashlib
import json
import os
import pathlib
import sys

SUMS, RECIPE, RUN_SCRIPT = "SHA256SUMS", "run/recipe.json", "run.sh"
# run.sh knows by it that all was said.
BROKEN = 3
# What is not to change what a job makes, by how its name begins.
_FOREIGN = ("CUDACPP_RUNTIME_", "NPY_", "OPENBLAS_", "OMP_NUM_THREADS", "MEBRIDGE_")


def broken(root: pathlib.Path) -> list[str]:
    """What is wrong with the files of a pack, by their names.

    Args:
        root: the folder of ``SHA256SUMS``, whose names are those in the folder above it, as of ``sha256sum -c``.
    """
    try:
        sums = (root / SUMS).read_bytes()
    except OSError as error:
        return [f"{root.name}/{SUMS} cannot be read: {error.strerror}"]
    text, _, own = sums.rpartition(b"# ")
    if hashlib.sha256(text).hexdigest() != own.decode("ascii", "replace").strip():
        return [f"{root.name}/{SUMS} is not what was packed"]
    found, listed = [], set()
    for line in text.decode().splitlines():
        digest, _, name = line.partition("  ")
        listed.add(name)
        try:
            if _digest(root.parent / name) != digest:
                found.append(f"{name} is not what was packed")
        except OSError as error:
            found.append(f"{name} cannot be read: {error.strerror}")
    for folder, _, files in os.walk(root):
        for file in files:
            name = os.path.relpath(os.path.join(folder, file), root.parent)
            if name not in listed and name != f"{root.name}/{SUMS}":
                found.append(f"{name} was not packed")
    return found


def _digest(path: pathlib.Path) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()


def _main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:] == ["--check"]:
        wrong = broken(root)
        for line in wrong[:20]:
            sys.stderr.write(f"mebridge: {line}\n")
        if wrong:
            more = f" ({len(wrong)} files)" if len(wrong) > 20 else ""
            sys.stderr.write(f"mebridge: the pack in {root.parent} is broken{more}; unpack it again\n")
        return BROKEN if wrong else 0
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        del os.environ[name]
    os.environ.update(json.loads((root / RECIPE).read_text())["environment"])
    # That of the machine would be another one; children run it, too.
    sys.executable = str(root / "bin" / "python")
    sys.path.append(str(root / "packages"))
    from mebridge._packed import main

    signal.signal(signal.SIGINT, _heard)
    return main(root, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_main())
