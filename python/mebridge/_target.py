"""Files that a run writes: where they can be, and how they come there whole."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import stat
from collections.abc import Iterable, Iterator

from ._library import Error


def target(output: str, inputs: Iterable[str | os.PathLike[str] | None]) -> pathlib.Path:
    """The file that events go to, where it can be written and is none of those that a run reads.

    A link is followed: the file that it names is replaced, not the link.
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
    """A name for a file that takes the place of another one once it is whole."""
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
    """A name beside a file that no other run has, and that nothing bears afterwards."""
    # Short, whatever the name of the file: names have 255 bytes.
    part = output.with_name(f".mebridge-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _like(former: pathlib.Path, descriptor: int) -> None:
    """Owner and permissions of the file that is replaced stay; a link has none of its own."""
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
