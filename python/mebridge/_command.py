"""Where the command is."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

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


def run(*arguments: str) -> str:
    """What the command prints. Raises :class:`mebridge.Error` with its message where it fails."""
    done = subprocess.run([str(command()), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Error(done.stderr.strip().removeprefix("mebridge: "))
    # What it warns of.
    sys.stderr.write(done.stderr)
    return done.stdout


def umami(process: str, output: pathlib.Path, card: "str | None", backend: str) -> None:
    """Writes a library that carries a process, and its JSON."""
    options = [f"--output={output}", f"--library={library_path()}", f"--backend={backend}"]
    if card is not None:
        options.append(f"--card={card}")
    # Names that begin with a dash are names.
    run("umami", *options, "--", process)
