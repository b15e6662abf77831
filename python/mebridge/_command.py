"""Where the command is."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence

from ._library import Error, library_path


def command() -> pathlib.Path:
    """The command ``mebridge`` of this package.

    ``MEBRIDGE_COMMAND`` names another one. Raises :class:`mebridge.Error` where there is none.
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
    """On stderr, where there is one."""
    if sys.stderr is not None:
        sys.stderr.write(text)


def run(*arguments: str, environment: Mapping[str, str] | None = None, warns: bool = True) -> str:
    """What the command prints, with these variables. Raises :class:`mebridge.Error` with its message where it fails.

    Args:
        warns: whether its warnings are repeated.
    """
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run([str(command()), *arguments], capture_output=True, text=True, env=variables)
    if done.returncode != 0:
        raise Error(done.stderr.strip().removeprefix("mebridge: "))
    if warns:
        say(done.stderr)
    return done.stdout


def count(process: str, environment: Mapping[str, str]) -> int:
    """How many matrix elements a process stands for."""
    return len(json.loads(run("info", "--json", "--", process, environment=environment)))


def umami(
    processes: Sequence[str],
    output: pathlib.Path,
    card: str | None,
    parameters: Mapping[str, float],
    backend: str,
    environment: Mapping[str, str],
) -> None:
    """Writes a library that carries processes, and its JSON; these parameters have other values than in the card."""
    options = [f"--output={output}", f"--library={library_path()}", f"--backend={backend}"]
    if card is not None:
        options.append(f"--card={card}")
    options += [f"--set={name}={value!r}" for name, value in parameters.items()]
    # Names that begin with a dash are names.
    run("umami", *options, "--", *processes, environment=environment)
