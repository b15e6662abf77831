"""Temporary folders."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

_PREFIX = "mebridge-"


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """Context with a temporary folder. It is removed at the end, or by the next run if this process is killed."""
    where = tempfile.gettempdir()
    _sweep(where)
    made = tempfile.mkdtemp(prefix=_PREFIX, dir=where)
    try:
        with open(os.path.join(made, "lock.new"), "xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Renamed once locked: other processes find the lock file under this name locked until this process ends.
            os.rename(lock.name, os.path.join(made, "lock"))
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _sweep(where: str) -> None:
    """Removes folders left behind by killed runs."""
    for left in pathlib.Path(where).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if left.is_symlink() or left.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(left / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(descriptor)
