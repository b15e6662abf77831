"""The event engine in a separate process, which can be killed at any time without harm to the caller."""

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

# Program of the child. It takes its module path, and this package, from the parent. Before the path is set, the working
# directory comes first, so only built-in modules are imported. Public names of this package, which only functions of a
# user need, are imported when the first of them is used, with NumPy: that takes longer than a short run. A GPU's driver
# is initialised while modules are loaded; its errors are reported when it is used.
_PROGRAM = """
import sys
parent, package, library, function, *sys.path[:] = sys.argv[1:]
import ctypes, importlib.util, threading, types
def begin():
    try:
        getattr(ctypes.CDLL(library), function)(0)
    except (OSError, AttributeError):
        pass
if library:
    threading.Thread(target=begin, daemon=True).start()
class Package(types.ModuleType):
    lock, is_loaded = threading.RLock(), False
    def __getattr__(self, name):
        if name.startswith("_") and name not in ("__all__", "__version__"):
            raise AttributeError(name)
        with Package.lock:
            if not Package.is_loaded:
                Package.is_loaded = True
                self.__spec__.loader.exec_module(self)
        return super().__getattribute__(name)
spec = importlib.util.spec_from_file_location("mebridge", package + "/__init__.py")
sys.modules["mebridge"] = importlib.util.module_from_spec(spec)
sys.modules["mebridge"].__class__ = Package
from mebridge._worker import serve
serve(int(parent))
"""
# Libraries of GPU drivers, and their functions for initialisation.
_DRIVERS = {"cuda": ("libcuda.so.1", "cuInit"), "hip": ("libamdhip64.so.6", "hipInit")}
# The engine has its own threads; starting 16 more for OpenBLAS would take a second of a run.
_THREADS = {} if "OMP_NUM_THREADS" in os.environ else {"OPENBLAS_NUM_THREADS": "1"}
# Option of prctl: the signal sent to the child when the parent ends.
_PR_SET_PDEATHSIG = 1
# Seconds for which a run waits for an answer of any worker of an executor, or for its own process if that uses no CPU
# time; the environment variable that overrides it; and the number of checks in that time. If a batch system suspends
# all processes, the suspension counts as one check.
PATIENCE, SWITCH = 6 * 3600.0, "MEBRIDGE_WORKER_SECONDS"
_LOOKS = 100

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


class Ended(Error):
    """The engine process has ended."""


# Errors caused by the caller, by the names under which they are sent; others are sent by their codes.
KINDS: dict[str, type[Exception]] = {"ValueError": ValueError, "TypeError": TypeError, "Refused": Refused}


def kind_of(error: Exception) -> str:
    """Returns the name or code under which an error is sent."""
    return next((kind for kind, type in KINDS.items() if isinstance(error, type)), getattr(error, "code", "python"))


def sent(kind: str, message: str) -> Exception:
    """Restores an error that was sent."""
    return KINDS[kind](message) if kind in KINDS else Error(message, kind)


def patience() -> float:
    """Returns the limit in seconds for processes that do not answer."""
    given = os.environ.get(SWITCH)
    try:
        found = PATIENCE if not given else float(given)
    except ValueError:
        found = math.nan
    if not found > 0.0:
        raise Error(f"{SWITCH} is {given!r}; it must be a number of seconds above 0")
    return found


def show_message(text: str) -> None:
    """Issues a warning at the first caller outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


class Worker:
    """A process that makes events, or parts of a run, while the context is open.

    Args:
        environment: environment variables in addition to those of the parent.
        on_message: called with the text of each warning.
        backend: GPU driver to initialise at the start, ``"cuda"`` or ``"hip"``.
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
        # From 3.13 on an interpreter imports modules before the program; -P keeps those of the working directory out.
        safe = ["-P"] if sys.version_info >= (3, 11) else []
        arguments = [sys.executable, *safe, "-c", _PROGRAM, str(os.getpid()), _PACKAGE]
        arguments += [*_DRIVERS.get(backend, ("", "")), *_path()]
        # A new session: SIGINT from a terminal goes to the caller, which ends the child.
        self._child = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**_THREADS, **os.environ, **environment},
            start_new_session=True,
        )
        # Beginning of the next message, already read.
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
        """Sets handlers for kinds of messages that arrive during a call."""
        self._handlers |= handlers

    def call(self, name: str, **arguments: Any) -> Any:
        """Calls a method of :class:`mebridge._engine.Engine` in the process and returns its result."""
        check_names(arguments)
        self.give([name, arguments])
        return self.heard("done")

    def give(self, given: Any) -> None:
        """Sends a call, or the answer to a message."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(given).encode() + b"\n")
            self._child.stdin.flush()

    def heard(self, wanted: str) -> Any:
        """Returns the content of the next message of this kind, and handles messages before it.

        Raises:
            Ended: if the process ends.
        """
        while line := self._line():
            kind, content = json.loads(line)
            if kind == wanted:
                return content
            if kind == "error":
                raise sent(*content)
            if kind in self._handlers:
                self._handlers[kind](content)
        status = self._child.wait()
        how = f"status {status}"
        if status < 0:
            how = f"signal {-status} ({signal.strsignal(-status)})"
            if -status == signal.SIGKILL:
                how += ", perhaps for lack of memory"
        raise Ended(f"the process that makes events ended with {how}; its messages are on stderr")

    def end(self) -> None:
        """Kills the process without waiting until it has released its GPU memory."""
        self._child.kill()

    def _line(self) -> bytes:
        """Reads the next line; empty if the process has ended, even within a line."""
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
        """Waits for output of the process; kills a process that hangs."""
        poll = select.poll()
        poll.register(answers, select.POLLIN)
        looks, before = 0, self._seconds()
        while not poll.poll(min(1e3 * self._patience / _LOOKS, 1e9)):
            now = self._seconds()
            looks, before = looks + 1 if now == before else 0, now
            if looks >= _LOOKS:
                self.end()
                raise Ended(
                    f"the process that makes events hangs: it has used no CPU time for {self._patience:g} s ({SWITCH} sets "
                    "another limit); finished parts are kept if the run has a folder"
                )

    def _seconds(self) -> float:
        """Returns the CPU time of the process in clock ticks, or NaN, which never compares equal, if it is unknown."""
        try:
            found = pathlib.Path(f"/proc/{self._child.pid}/stat").read_text()
        except OSError:
            return math.nan
        user, system = found.rpartition(")")[2].split()[11:13]
        return float(user) + float(system)


def check_names(given: Any) -> None:
    """Checks that all strings are valid UTF-8, as file names are sent as text."""
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
    """Returns the child's module path: that of this process with the working directory moved to the end, so that its
    files do not hide installed modules but a user's function can still import them."""
    here = os.path.realpath(os.curdir)
    return sorted((str(place) for place in sys.path), key=lambda place: os.path.realpath(place) == here)


def serve(parent: int) -> None:
    """Main loop of the child: executes calls from stdin, one per line, until it is closed."""
    # The child is killed when its parent ends, for whatever reason.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Output of libraries goes to stderr, not among the answers. The caller may have closed stderr.
    try:
        os.dup2(2, 1)
    except OSError:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 2)
        os.dup2(nothing, 1)
    lock = threading.Lock()

    def answer(kind: str, content: Any) -> None:
        with lock:
            answers.write(json.dumps([kind, content]) + "\n")
            answers.flush()

    def warn(message: Warning | str, *_: Any) -> None:
        answer("warning", str(message))

    warnings.simplefilter("always")
    warnings.showwarning = warn  # type: ignore[assignment]
    _serve(sys.stdin, answer)
    # Exit without cleanup, whatever other threads do.
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
                # A bug: print the whole traceback.
                import traceback

                traceback.print_exc()
            answer("error", [kind_of(error), str(error) or type(error).__name__])
