"""Event files of rounds, put together."""

from __future__ import annotations

import contextlib
import gzip
import os
import pathlib
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from ._library import Error

# The head of an event: how many particles, which process, its weight; and the lines of the particles that come in.
_EVENT = re.compile(
    rb"<event>\n( *\d+ +\d+ )([-+][\d.]+e[-+]\d+)([^\n]*\n)([^\n]*\n)([^\n]*\n)"
)
_CHUNK = 1 << 24


@dataclass(frozen=True)
class Beams:
    """Two beams: PDG code, energy in GeV each, and the number of their densities at LHAPDF."""

    codes: tuple[int, int]
    energy: float
    densities: int


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


def write(
    output: pathlib.Path,
    rounds: Iterable[tuple[pathlib.Path, float]],
    beams: Beams,
    processes: list[tuple[str, float, float]],
    header: str,
) -> None:
    """Writes one file of all events; the weights of each round are multiplied by the number beside it. It is compressed
    where its name ends with .gz.

    The weights average to the cross section (IDWTUP 4: some may be larger than the others, where the survey knew no
    larger ones). The particle that flies along +z comes first.
    """
    try:
        with _part(output) as part:
            with open(part, "xb") as file:
                with _compressed(file) if output.suffix == ".gz" else contextlib.nullcontext(file) as into:
                    into.write(_head(beams, processes, header))
                    for path, factor in rounds:
                        _events(path, factor, into)
                    into.write(b"</LesHouchesEvents>\n")
                file.flush()
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


def _compressed(file: IO[bytes]) -> gzip.GzipFile:
    """Neither a name nor a time is in it: the same run gives the same file."""
    return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)


def _unwritten(output: pathlib.Path, error: OSError) -> Error:
    return Error(f"{output} cannot be written: {error.strerror}")


def _head(beams: Beams, processes: list[tuple[str, float, float]], header: str) -> bytes:
    group = 0 if beams.densities else -1
    known = beams.densities or -1
    header = header.replace("&", "&amp;").replace("<", "&lt;")
    lines = ['<LesHouchesEvents version="3.0">', "<header>", "<mebridge>", header, "</mebridge>", "</header>", "<init>"]
    first, second = beams.codes
    energies = f"{beams.energy / 2:.10e} {beams.energy / 2:.10e}"
    lines.append(f"{first} {second} {energies} {group} {group} {known} {known} -4 {len(processes)}")
    for number, (_, cross_section, error) in enumerate(processes):
        lines.append(f"{cross_section:.10e} {error:.10e} {cross_section:.10e} {number + 1}")
    lines += ["</init>", ""]
    return "\n".join(lines).encode()


def _events(path: pathlib.Path, factor: float, file: Any) -> None:
    def event(found: re.Match[bytes]) -> bytes:
        begin, weight, rest, first, second = found.groups()
        if _pz(first) < 0.0 < _pz(second):
            first, second = second, first
        return b"<event>\n%s%+.10e%s%s%s" % (begin, float(weight) * factor, rest, first, second)

    with open(path, "rb") as events:
        text = events.read(_CHUNK)
        _, _, rest = text.partition(b"</init>\n")
        while True:
            more = events.read(_CHUNK)
            # Whole events at a time.
            text = rest + more
            end = text.rfind(b"</event>\n") + len(b"</event>\n") if b"</event>\n" in text else 0
            file.write(_EVENT.sub(event, text[:end]))
            rest = text[end:]
            if not more:
                break


def _pz(line: bytes) -> float:
    return float(line.split()[8])
