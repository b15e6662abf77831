"""What several files of tests share."""

from __future__ import annotations

import fcntl
import importlib.util
import pathlib
import sys
import tempfile
import unittest


class Folder(unittest.TestCase):
    """Each test has a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


def need(what, *names):
    """Says loudly which packages are missing that these tests are about."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            print(f"SKIPPED: {what}: {name} is not installed", file=sys.stderr)
            raise unittest.SkipTest(f"{name} is not installed")


def taken(folder):
    """Whether a process that runs has a folder: other tests may be at work."""
    try:
        with open(folder / "lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
