"""What several files of tests share."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import pathlib
import py_compile
import sys
import tempfile
import unittest
from unittest import mock

import mebridge
from mebridge import _engine, _worker


class Folder(unittest.TestCase):
    """Each test has a folder of its own, and another one for temporary files, also of processes that it starts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.temporary = (pathlib.Path(folder.name) / name for name in ("here", "tmp"))
        self.folder.mkdir()
        self.temporary.mkdir()
        self.enterContext(mock.patch.object(tempfile, "tempdir", str(self.temporary)))
        self.enterContext(mock.patch.dict(os.environ, TMPDIR=str(self.temporary)))


class Here(_worker.Worker):
    """What stands for the process that makes events where a test looks into it, or begins so many runs that to start their
    processes is most of its time: the same calls, in this process."""

    def __init__(self, environment, on_message=_worker.show_message, backend="cpu"):
        self._on_message = on_message
        self._variables = mock.patch.dict(os.environ, environment)

    def __enter__(self):
        self._variables.start()
        self._generator = None
        return self

    def __exit__(self, *raised):
        self._variables.stop()

    def end(self):
        pass

    def call(self, name, **arguments):
        arguments = json.loads(json.dumps(arguments))
        try:
            if self._generator is None:
                self._generator = _engine.Generator()
            return json.loads(json.dumps(getattr(self._generator, name)(**arguments)))
        except (RuntimeError, OSError) as error:
            # As they arrive from another process.
            raise mebridge.Error(str(error)) from error


def here():
    return mock.patch("mebridge._events.Worker", Here)


class FolderHere(Folder):
    """The same, and runs make their events in this process."""

    def setUp(self):
        super().setUp()
        self.enterContext(here())


def compiled_once():
    """While packs are made: each of their some 850 modules is compiled once in this process, whose bytecode is that of its
    text and name alone."""
    return mock.patch.object(py_compile, "compile", functools.partial(_compiled, py_compile.compile))


_BYTECODE = {}


def _compiled(compile_, file, place, name, **options):
    key = hashlib.sha256(pathlib.Path(file).read_bytes()).digest(), name, *options.items()
    place = pathlib.Path(place)
    if key not in _BYTECODE:
        compile_(file, str(place), name, **options)
        _BYTECODE[key] = place.read_bytes() if place.exists() else None
    elif _BYTECODE[key] is not None:
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(_BYTECODE[key])


def need(what, *names):
    """Says loudly which packages are missing that these tests are about."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            print(f"SKIPPED: {what}: {name} is not installed", file=sys.stderr)
            raise unittest.SkipTest(f"{name} is not installed")
