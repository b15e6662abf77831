"""Where files are that a run does not keep: in memory, if there is room."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

# A file system in memory, where there is one.
_MEMORY = "/dev/shm"
_PREFIX = "mebridge-"
# It is left to others for the most part.
_SHARE = 16


def room(events: int) -> int:
    """Bytes that a part of a run with so many events takes at most, outside of what it makes."""
    return (16 << 20) + 4096 * events


@contextlib.contextmanager
def scratch(events: int, otherwise: str) -> Iterator[str]:
    """A folder in memory, or another one. MadSpace makes and removes two files there for each channel and round."""
    try:
        if shutil.disk_usage(_MEMORY).free < _SHARE * room(events):
            raise OSError
        _sweep()
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=_MEMORY)
    except OSError:
        yield otherwise
        return
    try:
        with open(os.path.join(folder, "lock.new"), "xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Whoever finds the lock under this name finds it taken, for as long as this process is there.
            os.rename(lock.name, os.path.join(folder, "lock"))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Removes what runs left that were killed: nobody else would, before the machine is started again."""
    for folder in pathlib.Path(_MEMORY).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(folder / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
