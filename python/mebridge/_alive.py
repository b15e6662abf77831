"""What MadSpace works with stays until its threads have ended their work.

MadSpace 0.2.1 throws an error, or SIGINT, while jobs of other threads go on, and these use the generator, its channels
and the integrands. It has no way to wait for them; Linux says which threads do anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")
_TASKS = pathlib.Path("/proc/self/task")
# So many looks in a row at threads that sleep say that nothing is left to do. Seconds.
_LOOKS, _PAUSE, _LONGEST = 5, 0.02, 120.0


class Workers:
    """Threads of MadSpace's contexts.

    Args:
        can_sleep: whether threads that sleep have ended their work; those that wait for a GPU have not.
    """

    def __init__(self, can_sleep: bool) -> None:
        self._can_sleep = can_sleep
        self._threads: set[str] = set()

    def start(self, make: Callable[[], _T]) -> _T:
        """What makes a context, whose threads are ours from then on."""
        before = _tasks()
        made = make()
        self._threads |= _tasks() - before
        return made

    @contextlib.contextmanager
    def keeping(self, *objects: Any) -> Iterator[None]:
        """These are there for as long as threads work, whatever is thrown."""
        try:
            yield
        except BaseException:
            ended = False
            try:
                ended = self._wait()
            finally:
                if not (ended and self._can_sleep):
                    # For good: nobody knows when they could go.
                    ctypes.pythonapi.Py_IncRef(ctypes.py_object(objects))
            raise

    def _wait(self) -> bool:
        """Whether all threads came to rest."""
        looks, before, end = 0, None, time.monotonic() + _LONGEST
        while looks < _LOOKS:
            found = {thread: _state(thread) for thread in self._threads}
            rests = found == before and all(state is None or state[0] == "S" for state in found.values())
            looks, before = looks + 1 if rests else 0, found
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        return True


def _tasks() -> set[str]:
    return set(os.listdir(_TASKS)) if _TASKS.is_dir() else set()


def _state(thread: str) -> tuple[str, str, str] | None:
    """State of a thread and the time of the CPU that it took; None where it has ended."""
    try:
        words = (_TASKS / thread / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return words[0], words[11], words[12]
