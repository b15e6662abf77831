"""Helpers shared by several test files."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import subprocess
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
    """Replaces the worker process by calls in this process, for tests that inspect the worker, or that would spend most
    of their time starting processes."""

    def __init__(self, environment, on_message=_worker.show_message, backend="cpu"):
        self._handlers = {"notice": on_message, "warning": on_message}
        self._variables = mock.patch.dict(os.environ, environment)
        self._answers = io.StringIO()

    def __enter__(self):
        self._variables.start()
        return self

    def __exit__(self, *raised):
        self._variables.stop()

    def end(self):
        pass

    def give(self, given):
        self._answers = io.StringIO(json.dumps(given) + "\n")

    def call(self, name, **arguments):
        handled = {kind: lambda said: None for kind in ("begins", "conditions", "progress")} | self._handlers
        self._engine = _engine.Engine(lambda kind, said: handled[kind](said), self)
        try:
            return getattr(self._engine, name)(**json.loads(json.dumps(arguments)))
        except (RuntimeError, OSError) as error:
            # As they arrive from another process.
            raise mebridge.Error(str(error)) from error

    def readline(self):
        return self._answers.readline()


@contextlib.contextmanager
def here():
    with mock.patch("mebridge._events.Worker", Here), mock.patch("mebridge._runs.Worker", Here):
        yield


@contextlib.contextmanager
def in_worker():
    """Lets runs make their events in a worker process again, as those with an executor do; also a decorator."""
    with mock.patch("mebridge._events.Worker", _worker.Worker), mock.patch("mebridge._runs.Worker", _worker.Worker):
        yield


class FolderHere(Folder):
    """The same, and runs make their events in this process."""

    def setUp(self):
        super().setUp()
        self.enterContext(here())


def command(*arguments):
    """Runs the command; returns its status, stdout and stderr."""
    done = subprocess.run([str(mebridge.command()), *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def events_command(arguments):
    """Runs ``mebridge events`` with the stdout and stderr of this process; returns its status."""
    status, out, err = command("events", *arguments)
    sys.stdout.write(out)
    sys.stderr.write(err)
    return status


def need(what, *names):
    """Skips a test if packages that it needs are missing."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise unittest.SkipTest(f"{what}: {name} is not installed")
