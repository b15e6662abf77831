"""The event engine in a process of its own, which can be ended at any time and takes nobody with it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import pathlib
import select
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any

from ._library import Error, Refused

# What the child runs: modules lie where they lie here, and this package is the one of its parent. Until the path is set,
# which begins with the working directory, nothing is imported that is no part of the interpreter. A GPU's driver begins
# while modules are read; what is wrong with it is said when it is used.
_PROGRAM = """
import sys
parent, package, library, function, *sys.path[:] = sys.argv[1:]
import ctypes, importlib.util, threading
def begin():
    try:
        getattr(ctypes.CDLL(library), function)(0)
    except (OSError, AttributeError):
        pass
if library:
    threading.Thread(target=begin, daemon=True).start()
spec = importlib.util.spec_from_file_location("mebridge", package + "/__init__.py")
sys.modules["mebridge"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["mebridge"])
from mebridge._worker import serve
serve(int(parent))
"""
# What begins a GPU's driver, and which library has it.
_DRIVERS = {"cuda": ("libcuda.so.1", "cuInit"), "hip": ("libamdhip64.so.6", "hipInit")}
# The engine has threads of its own; 16 more of OpenBLAS take a second of a run.
_THREADS = {} if "OMP_NUM_THREADS" in os.environ else {"OPENBLAS_NUM_THREADS": "1"}
# Of prctl.
_PR_SET_PDEATHSIG = 1
# Seconds for which a run waits for an answer of any worker of an executor, or for a process of its own that takes no time of a
# CPU, unless the variable says otherwise; and how often it looks in that time. Where all processes are stopped for a while, as
# batch systems do, that is one look.
PATIENCE, SWITCH = 6 * 3600.0, "MEBRIDGE_WORKER_SECONDS"
_LOOKS = 100

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


class Ended(Error):
    """The process has ended."""


# Errors that are the caller's, by the names under which they are sent; others are sent by their codes.
KINDS: dict[str, type[Exception]] = {"ValueError": ValueError, "TypeError": TypeError, "Refused": Refused}


def kind_of(error: Exception) -> str:
    """The name under which an error is sent."""
    return next((kind for kind, type in KINDS.items() if isinstance(error, type)), getattr(error, "code", "python"))


def sent(kind: str, message: str) -> Exception:
    """An error that was sent."""
    return KINDS[kind](message) if kind in KINDS else Error(message, kind)


def patience() -> float:
    """Seconds."""
    given = os.environ.get(SWITCH)
    try:
        found = PATIENCE if not given else float(given)
    except ValueError:
        found = math.nan
    if not found > 0.0:
        raise Error(f"{SWITCH} is {given!r}; it must be a number of seconds above 0")
    return found


def show_message(text: str) -> None:
    """A warning of the process, as one of whoever called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


class Worker:
    """A process that makes events, or parts of a run, for as long as the context is open.

    Args:
        environment: variables that it has besides those of its parent.
        on_message: is given the text of each warning.
        backend: whose driver it begins with.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        on_message: Callable[[str], None] = show_message,
        backend: str = "cpu",
    ) -> None:
        self._patience = patience()
        self._handlers: dict[str, Callable[[Any], None]] = {"warning": on_message, "notice": on_message}
        if not sys.executable:
            raise Error("events need an interpreter of their own, and sys.executable names none")
        arguments = [sys.executable, "-c", _PROGRAM, str(os.getpid()), _PACKAGE, *_DRIVERS.get(backend, ("", ""))]
        arguments += _path()
        # SIGINT of a terminal is for the caller, who ends the child.
        self._child = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**_THREADS, **os.environ, **environment},
            start_new_session=True,
        )
        # What was read of an answer.
        self._read = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()

    def on(self, **handlers: Callable[[Any], None]) -> None:
        """What is called with messages of these kinds while a call is under way."""
        self._handlers |= handlers

    def call(self, name: str, **arguments: Any) -> Any:
        """What a function of :class:`mebridge._engine.Engine` gives."""
        check_names(arguments)
        self.give([name, arguments])
        return self.heard("done")

    def give(self, given: Any) -> None:
        """Sends a call, or an answer to a message."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(given).encode() + b"\n")
            self._child.stdin.flush()

    def heard(self, wanted: str) -> Any:
        """What the next message of this kind says; those before it are handled."""
        while line := self._line():
            kind, told = json.loads(line)
            if kind == wanted:
                return told
            if kind == "error":
                raise sent(*told)
            if kind in self._handlers:
                self._handlers[kind](told)
        status = self._child.wait()
        how = f"status {status}"
        if status < 0:
            how = f"signal {-status} ({signal.strsignal(-status)})"
            if -status == signal.SIGKILL:
                how += ", perhaps for want of memory"
        raise Ended(f"the process that makes events ended with {how}; what it said is on stderr")

    def end(self) -> None:
        """Ends the process, and does not wait until it has given back what it holds of a GPU."""
        self._child.kill()

    def _line(self) -> bytes:
        """What it says next; nothing where it has ended, be it within its words."""
        assert self._child.stdout is not None
        while b"\n" not in self._read:
            self._wait(self._child.stdout)
            more = os.read(self._child.stdout.fileno(), 1 << 16)
            if not more:
                return b""
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _wait(self, answers: IO[bytes]) -> None:
        """Until it says something. One that hangs is ended."""
        poll = select.poll()
        poll.register(answers, select.POLLIN)
        looks, before = 0, self._seconds()
        while not poll.poll(min(1e3 * self._patience / _LOOKS, 1e9)):
            now = self._seconds()
            looks, before = looks + 1 if now == before else 0, now
            if looks >= _LOOKS:
                self.end()
                raise Ended(
                    f"the process that makes events hangs: it has taken no time of a CPU for {self._patience:g} s, for which {SWITCH} names "
                    "another limit; what is done is kept where the run has a folder"
                )

    def _seconds(self) -> float:
        """Of a CPU that it has taken; NaN, which is no number twice, where the system does not say."""
        try:
            found = pathlib.Path(f"/proc/{self._child.pid}/stat").read_text()
        except OSError:
            return math.nan
        user, system = found.rpartition(")")[2].split()[11:13]
        return float(user) + float(system)


def check_names(given: Any) -> None:
    """Names of files are sent as texts."""
    if isinstance(given, str):
        try:
            given.encode()
        except UnicodeEncodeError:
            raise Error(
                f"{given!r} is no UTF-8, and events are made in folders with no other names; take another folder"
            ) from None
    elif isinstance(given, (list, tuple, dict)):
        for one in given.values() if isinstance(given, dict) else given:
            check_names(one)


def _path() -> list[str]:
    """Where the child finds modules: as here, but for the working directory, of which nothing may hide what is installed.
    What a user's function needs is found there all the same."""
    here = os.path.realpath(os.curdir)
    return sorted((str(place) for place in sys.path), key=lambda place: os.path.realpath(place) == here)


def serve(parent: int) -> None:
    """What the child does: calls that come on stdin, one a line, until there are no more."""
    # With its parent, however that ends.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What libraries print is no answer. A caller may have closed its stderr.
    try:
        os.dup2(2, 1)
    except OSError:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 2)
        os.dup2(nothing, 1)
    lock = threading.Lock()

    def answer(kind: str, said: Any) -> None:
        with lock:
            answers.write(json.dumps([kind, said]) + "\n")
            answers.flush()

    def warn(message: Warning | str, *_: Any) -> None:
        answer("warning", str(message))

    warnings.simplefilter("always")
    warnings.showwarning = warn  # type: ignore[assignment]
    _serve(sys.stdin, answer)
    # Nothing is torn down, whatever other threads do.
    os._exit(0)


def _serve(calls: IO[str], answer: Callable[[str, Any], None]) -> None:
    engine = None
    for line in calls:
        name, arguments = json.loads(line)
        try:
            if engine is None:
                from . import _engine

                engine = _engine.Engine(answer, calls)
            answer("done", getattr(engine, name)(**arguments))
        except Exception as error:
            if not isinstance(error, (Error, *KINDS.values(), RuntimeError, OSError)):
                # A defect, of which everything matters.
                import traceback

                traceback.print_exc()
            answer("error", [kind_of(error), str(error) or type(error).__name__])
