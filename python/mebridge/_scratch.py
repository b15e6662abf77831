"""Temporary folders."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator

_PREFIX = "mebridge-"


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """Context with a temporary folder. It is removed at the end, or by the next run if this process is killed."""
    where = tempfile.gettempdir()
    _sweep(where)
    while (locked := _locked(where)) is None:
        pass
    made, lock = locked
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _locked(where: str) -> tuple[str, int] | None:
    """Makes a folder, and returns it with the descriptor of its locked file; ``None`` if another run removed it
    before it was locked, as one that a killed run left."""
    made = tempfile.mkdtemp(prefix=_PREFIX, dir=where)
    path = os.path.join(made, "lock.new")
    lock = -1
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Renamed once locked: other processes find the lock file under this name locked until this process ends.
        os.rename(path, os.path.join(made, "lock"))
    except BaseException as error:
        if lock >= 0:
            os.close(lock)
        shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, FileNotFoundError):
            return None
        raise
    return made, lock


def _sweep(where: str) -> None:
    """Removes folders left behind by killed runs."""
    for left in pathlib.Path(where).glob(f"{_PREFIX}*"):
        # As `mkdtemp` names them; a folder of that name that somebody made is not ours.
        if not re.fullmatch(f"{_PREFIX}[a-z0-9_]{{8}}", left.name):
            continue
        with contextlib.suppress(OSError):
            if left.is_symlink() or left.stat().st_uid != os.geteuid():
                continue
            _remove(left)


def _remove(left: pathlib.Path) -> None:
    """Removes a folder that no run has locked: with its lock file, or of a run that was killed before it had one."""
    for name in ("lock", "lock.new"):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(left / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(descriptor)
            return
    # Only if it is empty.
    left.rmdir()
