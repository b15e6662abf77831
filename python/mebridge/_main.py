"""How the programs of this package begin and end: whatever a user or a machine does to them is told in a line."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence

from ._command import TOO_MANY_FILES, abandon, say
from ._library import Error


def run(program: Callable[[Sequence[str]], None], arguments: Sequence[str], interrupted: str = "") -> int:
    """Runs a program; its status.

    Args:
        interrupted: what is said of an interruption that says nothing itself.
    """
    _streams()
    try:
        # The command has had it wait until here.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        with _told_warnings():
            program(arguments)
        return _flushed(0)
    except SystemExit as ended:
        # Of argparse, which has said why.
        return _flushed(int(ended.code or 0))
    except KeyboardInterrupt as stopped:
        said = "; ".join(["interrupted", *filter(None, [str(stopped) or interrupted])])
        return _failed(said, 130)
    except UnicodeEncodeError as error:
        return _failed(f"{error.object!r} is no UTF-8, which all names must be here; rename it")
    except MemoryError:
        return _failed("there is too little memory")
    except OSError as error:
        return _failed(_described(error))
    except (Error, ValueError, TypeError) as error:
        return _failed(str(error))


@contextlib.contextmanager
def _told_warnings() -> Iterator[None]:
    """Warnings are lines of their own, without a place in our sources."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"mebridge: {message}\n")
        yield


def tell(text: str) -> None:
    """Writes what was asked for. A reader who has seen enough (``| head``) is no error."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
    except OSError as error:
        abandon(sys.stdout)
        raise Error(f"stdout cannot be written: {error.strerror}") from None


def _streams() -> None:
    """Standard streams that are there, so that no file gets the number of one, and that take every text."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It gets the first number that is free.
            with contextlib.suppress(OSError):
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for stream in (sys.stdout, sys.stderr):
        # Whoever catches it in a test has one of another kind.
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flushed(status: int) -> int:
    try:
        tell("")
    except Error as error:
        return _failed(str(error))
    return status


def _failed(said: str, status: int = 1) -> int:
    say(f"mebridge: {said}\n")
    with contextlib.suppress(Error):
        tell("")
    return status


def _described(error: OSError) -> str:
    """What the system says, with the file that it is about."""
    if error.errno == errno.EMFILE:
        return TOO_MANY_FILES
    said = str(error.strerror or error)
    return f"{error.filename}: {said}" if error.filename else said
