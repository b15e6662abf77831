"""Output files of runs: checking their paths, and replacing them atomically."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import stat
from collections.abc import Iterable, Iterator

from ._library import Error


def target(output: str, inputs: Iterable[str | os.PathLike[str] | None]) -> pathlib.Path:
    """Returns the path of an output file after checking that it can be written and is none of the inputs.

    A link is followed: its target is replaced, not the link.
    """
    path = pathlib.Path(os.path.realpath(output))
    try:
        with _part(path) as part:
            part.touch(exist_ok=False)
        kind = path.stat().st_mode if path.exists() else stat.S_IFREG
    except OSError as error:
        raise _unwritten(path, error) from None
    if not stat.S_ISREG(kind):
        raise Error(f"{output} is a folder, a device or a pipe, no file; name a file for the events")
    for given in inputs:
        if given is not None and path.exists() and os.path.exists(given) and os.path.samefile(path, given):
            raise Error(f"{output} is read by this run; name another file for the events")
    return path


@contextlib.contextmanager
def replaced(output: pathlib.Path) -> Iterator[pathlib.Path]:
    """Context with a path to write to; at the end the file written there replaces ``output`` atomically."""
    try:
        with _part(output) as part:
            yield part
            with open(part, "rb") as file:
                _like(output, file.fileno())
                os.fsync(file.fileno())
            os.replace(part, output)
    except OSError as error:
        raise _unwritten(output, error) from None


@contextlib.contextmanager
def _part(output: pathlib.Path) -> Iterator[pathlib.Path]:
    """Context with a unique path in the folder of a file; a file left there is removed at the end."""
    # Independent of the file's name, which may be as long as the limit of 255 bytes.
    part = output.with_name(f".mebridge-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _like(former: pathlib.Path, descriptor: int) -> None:
    """Gives a file the owner and permissions of the file that it replaces, unless that is a link."""
    try:
        before = former.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(before.st_mode):
        return
    here = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (here.st_uid, here.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _unwritten(output: pathlib.Path, error: OSError) -> Error:
    return Error(f"{output} cannot be written: {error.strerror or error}")
