"""MadSpace as it is installed: runs rest on how one version of it counts, names and writes."""

from __future__ import annotations

import functools
import importlib.metadata
import re

from ._library import Error
from ._worker import show_message

# The one whose runs were tested.
TESTED = "0.2.1"
_INSTALL = f'pip install "madspace=={TESTED}"'


@functools.cache
def version() -> str:
    """That of what is installed. One that is newer than the tested is warned of, once.

    Raises:
        Error: it is not installed, or older.
    """
    try:
        found = importlib.metadata.version("madspace")
    except importlib.metadata.PackageNotFoundError:
        raise Error(f"events need MadSpace: {_INSTALL}") from None
    if _numbers(found) < _numbers(TESTED):
        raise Error(f"events need MadSpace {TESTED}, and {found} is installed: {_INSTALL}")
    if found != TESTED:
        text = f"events were tested with MadSpace {TESTED}, and {found} is installed: compare cross sections, or {_INSTALL}"
        show_message("warning", text)
    return found


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))
