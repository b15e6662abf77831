"""Tasks in a worker of an executor: parts of a run, in a process that is kept for the next part.

A worker takes bytes and returns bytes. Data that all parts of a run need (plan, densities, mappings) are sent once: a
task names them by digest, and a worker that lacks them reports it and gets the task again with the data.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time
from multiprocessing import util
from typing import Any

from . import _bundle, _command, _scratch
from ._library import Error, Refused, version
from ._worker import Ended, Worker, kind_of

# File in a bundle that describes the task: a run, or a call of the command.
RECIPE = "recipe.json"
# Names of the command's input and output files.
EVENTS, REWEIGHTED, VALUES = "events.lhe.gz", "reweighted.lhe.gz", "values.npy"
# Seconds for which a process without a part is kept.
_IDLE = 300.0


class _Engine:
    """An engine process with an open run."""

    def __init__(self, digest: str, packed: bytes) -> None:
        self.digest = digest
        self.notices: list[str] = []
        self._survey = ""
        self._stack = contextlib.ExitStack()
        try:
            self._folder = pathlib.Path(self._stack.enter_context(_scratch.folder()))
            place = self._folder / "recipe"
            _bundle.unpack(packed, place)
            recipe = json.loads((place / RECIPE).read_text())
            worker = Worker(recipe["environment"], self.notices.append)
            self._worker = self._stack.enter_context(worker)
            try:
                worker.call("open", **{**recipe["run"], "plan": str(place / recipe["run"]["plan"])})
            except Ended:
                raise
            except Error as error:
                raise Refused(str(error)) from None
            # Closes the engine when this process exits, also in a child of multiprocessing.
            self._end = util.Finalize(self, self._stack.close, exitpriority=10)
        except BaseException:
            self._stack.close()
            raise

    def has(self, survey: str) -> bool:
        return survey == self._survey

    def keep(self, survey: str, packed: bytes) -> None:
        """Unpacks the mappings of the run's survey."""
        shutil.rmtree(self._folder / survey, ignore_errors=True)
        _bundle.unpack(packed, self._folder / survey)
        self._survey = survey

    def perform(self, settings: dict[str, Any], survey: str | None) -> tuple[Any, bytes]:
        part = pathlib.Path(tempfile.mkdtemp(prefix="part", dir=self._folder))
        try:
            before = None if survey is None else str(self._folder / survey)
            done = self._worker.call("perform", settings=settings, folder=str(part), survey=before)
            return done, _bundle.pack_folder(part)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def close(self) -> None:
        self._end()


class _Files:
    """Files for calls of the command."""

    def __init__(self, digest: str, packed: bytes) -> None:
        self.digest = digest
        self._stack = contextlib.ExitStack()
        try:
            self._folder = pathlib.Path(self._stack.enter_context(_scratch.folder()))
            _bundle.unpack(packed, self._folder / "recipe")
            recipe = json.loads((self._folder / "recipe" / RECIPE).read_text())
            self._arguments, self._made = recipe["command"], recipe["made"]
            self._environment = recipe["environment"]
            self._files = [str(self._folder / "recipe" / name) for name in recipe["files"]]
            self._end = util.Finalize(self, self._stack.close, exitpriority=10)
        except BaseException:
            self._stack.close()
            raise

    def perform(self, file: bytes) -> bytes:
        with tempfile.TemporaryDirectory(dir=self._folder) as part:
            given, made = pathlib.Path(part) / EVENTS, pathlib.Path(part) / self._made
            given.write_bytes(file)
            names = {"in": str(given), "out": str(made)}
            try:
                arguments = (argument.format(*self._files, **names) for argument in self._arguments)
                _command.run(*arguments, environment=self._environment)
            except Error as error:
                raise Refused(str(error)) from None
            return _bundle.pack({self._made: made})

    def close(self) -> None:
        self._end()


class _Local(threading.local):
    """Thread-local state of a worker: workers of executors may be threads or processes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.engine: _Engine | _Files | None = None
        self.timer: threading.Timer | None = None


_local = _Local()


def perform(message: dict[str, Any]) -> dict[str, Any]:
    """Performs a task.

    Returns:
        `done` (the answer) with `files`, their `digest`, `notices` and `seconds`; or `missing`, digests of bundles to
        send; or `error`, its kind, with `message` and `where`.
    """
    state = _local
    with state.lock:
        if state.timer is not None:
            state.timer.cancel()
        try:
            return _perform(state, message)
        except BaseException as error:
            _close(state)
            if not isinstance(error, Exception):
                raise
            where = f"process {os.getpid()} of {socket.gethostname()}"
            return {"error": kind_of(error), "message": str(error) or type(error).__name__, "where": where}
        finally:
            if state.engine is not None:
                state.timer = threading.Timer(_IDLE, _idle, (state, state.lock, state.engine))
                state.timer.daemon = True
                state.timer.start()


def _perform(state: _Local, message: dict[str, Any]) -> dict[str, Any]:
    begun = time.monotonic()
    if message["version"] != version():
        raise Error(f"this worker has mebridge {version()}, and the run is of {message['version']}")
    bundles, recipe, survey = message["bundles"], message["recipe"], message["survey"]
    for name, packed in bundles.items():
        if _bundle.digest(packed) != name:
            raise Error("what it was sent is damaged")
    engine = state.engine if state.engine is not None and state.engine.digest == recipe else None
    missing = [] if engine is not None or recipe in bundles else [recipe]
    if survey is not None and survey not in bundles and not (isinstance(engine, _Engine) and engine.has(survey)):
        missing.append(survey)
    if missing:
        return {"missing": missing}
    if engine is None:
        _close(state)
        kind = _Files if message["name"] == "command" else _Engine
        engine = state.engine = kind(recipe, bundles[recipe])
    if isinstance(engine, _Files):
        files = engine.perform(message["file"])
        return _done(None, files, [], begun)
    if survey is not None and not engine.has(survey):
        engine.keep(survey, bundles[survey])
    if message["name"] == "open":
        done, files = None, _bundle.pack({})
    else:
        # Notices from opening the run are reported only once.
        engine.notices.clear()
        done, files = engine.perform(message["settings"], survey)
    return _done(done, files, list(engine.notices), begun)


def _done(done: Any, files: bytes, notices: list[str], begun: float) -> dict[str, Any]:
    seconds = time.monotonic() - begun
    return {"done": done, "files": files, "digest": _bundle.digest(files), "notices": notices, "seconds": seconds}


def _close(state: _Local) -> None:
    engine, state.engine = state.engine, None
    if engine is not None:
        engine.close()


def _idle(state: Any, lock: threading.Lock, engine: _Engine | _Files) -> None:
    """Closes an idle engine. The timer's thread cannot reach the worker's `_Local`, so the digest is cleared; the
    worker then starts a new engine."""
    with lock:
        engine.close()
        engine.digest = ""
