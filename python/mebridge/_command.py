"""The command ``mebridge``: finding and running it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from ._library import Error, library_path

TOO_MANY_FILES = "this system allows too few open files; raise the limit (ulimit -n)"
# Seconds after which a line on stderr reports a slow step.
_PATIENCE = 10.0
# End of the command's own line about a slow step.
_SO_FAR = ", for ten seconds so far"
# Subcommands that generate matrix elements from a name.
_MAKES = ("generate", "info", "umami")
# Maximum length of a name in such a line.
_SHOWN = 60


def command() -> pathlib.Path:
    """Returns the path of this package's command ``mebridge``; ``MEBRIDGE_COMMAND`` overrides it.

    Raises:
        Error: if there is no such command.
    """
    given = os.environ.get("MEBRIDGE_COMMAND")
    if given:
        return pathlib.Path(given)
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    folders = [pathlib.Path(sys.executable).parent, *(pathlib.Path(folder) for folder in schemes if folder)]
    for folder in folders:
        if (folder / "mebridge").is_file():
            return folder / "mebridge"
    found = shutil.which("mebridge")
    if found is None:
        raise Error("the command mebridge is missing; install the package again, or name it in MEBRIDGE_COMMAND")
    return pathlib.Path(found)


def say(text: str) -> None:
    """Writes to stderr, if there is one; errors of writing are ignored."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            abandon(sys.stderr)


def abandon(stream: IO[str]) -> None:
    """Redirects a stream that cannot be written to the null device, so that Python's flush at exit does not fail."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


@contextlib.contextmanager
def patient(process: str) -> Iterator[None]:
    """Context in which matrix elements are generated; prints a line on stderr after ten seconds."""
    name = "; ".join(line.strip() for line in process.splitlines())
    name = name if len(name) <= _SHOWN else name[:_SHOWN] + "..."
    timer = threading.Timer(_PATIENCE, say, [f"mebridge: making {name}{_SO_FAR}\n"])
    timer.daemon = True
    # If no thread can be started, no line is printed.
    with contextlib.suppress(RuntimeError):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # A later fork must find one thread only.
        if timer.ident is not None:
            timer.join()


def run(*arguments: str, environment: Mapping[str, str] | None = None, warns: bool = True) -> str:
    """Runs the command with additional environment variables and returns its output.

    Args:
        warns: whether to print its warnings on stderr.

    Raises:
        Error: if the command fails, with its message.
    """
    variables = {**os.environ, **(environment or {})}
    with patient(arguments[-1]) if arguments[0] in _MAKES else contextlib.nullcontext():
        done = _called(command(), arguments, variables)
    lines = done.stderr.splitlines(keepends=True)
    messages = "".join(line for line in lines if not line.rstrip().endswith(_SO_FAR))
    if done.returncode < 0:
        messages += f"the command `mebridge {arguments[0]}` was ended by signal {-done.returncode} ({signal.strsignal(-done.returncode)})"
    if done.returncode != 0:
        raise Error(messages.strip().removeprefix("mebridge: "))
    if warns:
        say(messages)
    return done.stdout


def _called(
    program: pathlib.Path, arguments: Sequence[str], variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    try:
        # The command writes UTF-8 in any locale.
        return subprocess.run(
            [str(program), *arguments], capture_output=True, env=variables, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        if error.errno == errno.EMFILE:
            raise Error(TOO_MANY_FILES) from None
        cure = (
            "correct MEBRIDGE_COMMAND" if os.environ.get("MEBRIDGE_COMMAND") else "is the package installed as a whole?"
        )
        raise Error(f"the command {program} cannot be run: {error.strerror}; {cure}") from None


def count(process: str, environment: Mapping[str, str]) -> int:
    """Returns the number of matrix elements that a process stands for."""
    return len(json.loads(run("info", "--json", "--", process, environment=environment)))


def umami(
    processes: Sequence[str],
    output: pathlib.Path,
    card: str | None,
    parameters: Mapping[str, float],
    backend: str,
    environment: Mapping[str, str],
) -> None:
    """Writes a library of processes and its JSON file.

    Args:
        parameters: values that replace those of the card.
    """
    options = [f"--output={output}", f"--library={library_path()}", f"--backend={backend}"]
    if card is not None:
        options.append(f"--card={card}")
    options += [f"--set={name}={value!r}" for name, value in parameters.items()]
    # After "--", names that begin with a dash are not options.
    run("umami", *options, "--", *processes, environment=environment)
