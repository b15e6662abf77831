"""Text of cards, from regular files of a size that cards may have."""

from __future__ import annotations

import os
import stat

from ._library import Error
from ._process import Path

# As many bytes as the library takes.
MOST = 1 << 26


def read(path: Path, what: str) -> str:
    """The text of a card. It is read more than once, which a pipe is not for; a device may never end.

    Args:
        what: it is, for messages.
    """
    name = os.fspath(path)
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file; copy what it gives into one"
            raise Error(f"{what} {name} cannot be read: it is {kind}")
        if found.st_size > MOST:
            raise Error(f"{what} {name} cannot be read: it has {found.st_size} bytes, more than a card can need ({MOST})")
        # As many editors of Windows write it, with a mark at its begin.
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(MOST)
    except OSError as error:
        raise Error(f"{what} {name} cannot be read: {error.strerror}") from None
