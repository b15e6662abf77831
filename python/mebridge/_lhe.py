"""Event files of rounds, put together."""

from __future__ import annotations

import contextlib
import gzip
import math
import os
import pathlib
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from ._library import Error

# The head of an event: how many particles, which process, its weight; and the lines of the particles that come in.
_EVENT = re.compile(
    rb"<event>\n( *\d+ +\d+ )([-+][\d.]+e[-+]\d+)([^\n]*\n)([^\n]*\n)([^\n]*\n)((?:[^<\n][^\n]*\n)*)"
)
# Of a particle what stands before its py and pz, and these.
_MOMENTUM = re.compile(rb"^((?: *\S+ +){6}\S+ +)([-+])(\S+ +)([-+])(?=\S)", re.MULTILINE)
_OTHER = {b"+": b"-", b"-": b"+"}
_CHUNK = 1 << 24
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Beams:
    """Two beams: PDG code, energy in GeV each, and the number of their densities at LHAPDF."""

    codes: tuple[int, int]
    energy: float
    densities: int


@dataclass(frozen=True)
class Banner:
    """What stands at the begin of a file besides beams and processes."""

    header: str = ""
    """Blocks of the header."""
    generator: str = ""
    """A line of the block of the beams."""
    strategy: int = -4
    """IDWTUP: what weights mean."""


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


@dataclass(frozen=True)
class Weights:
    """Of the events of a round."""

    nominal: float
    """The least one, which all have that are not larger than the round knew."""
    total: float
    above: int
    """How many are larger."""
    largest: float


def weights(path: pathlib.Path, events: int) -> Weights:
    """Those of a round, which holds all of its events: MadSpace does not look whether a disk is full."""
    found: list[float] = []
    whole = False
    with open(path, "rb") as file:
        for line in file:
            if line == b"<event>\n":
                found.append(float(next(file, b"nan nan nan").split()[2]))
            whole = line == b"</LesHouchesEvents>\n"
    if not whole or len(found) != events or not 0.0 < min(found) <= max(found) < math.inf:
        raise Error(f"{path} does not hold the {events} events that MadSpace made; is the disk full?")
    nominal = min(found)
    # Of one weight MadSpace writes different last digits.
    above = sum(weight > nominal * (1.0 + _ROUNDING) for weight in found)
    return Weights(nominal, math.fsum(found), above, max(found))


def overweights(rounds: Sequence[Weights], events: int) -> dict[str, float]:
    """What is above the nominal weight: events, their weights beyond it as a share of all, and the largest weight in
    units of it."""
    total = math.fsum(weights.total / weights.nominal for weights in rounds)
    return {
        "events": sum(weights.above for weights in rounds),
        "share": max(0.0, 1.0 - events / total),
        "largest": max(weights.largest / weights.nominal for weights in rounds),
    }


def write(
    output: pathlib.Path,
    rounds: list[tuple[pathlib.Path, Weights]],
    mean: float,
    events: int,
    beams: Beams,
    processes: list[tuple[str, float, float]],
    header: str,
    banner: Banner | None = None,
) -> None:
    """Writes one file of all events of these rounds. It is compressed where its name ends with .gz.

    The weights average to this mean, the cross section, and are the same but for those that are larger than the survey
    knew (IDWTUP 4). The particle that flies along +z comes first.
    """
    nominal = mean * events / math.fsum(weights.total / weights.nominal for _, weights in rounds)
    try:
        with _part(output) as part:
            with open(part, "xb") as file:
                with _compressed(file) if output.suffix == ".gz" else contextlib.nullcontext(file) as into:
                    into.write(_head(beams, processes, header, banner or Banner()))
                    for path, weights in rounds:
                        _events(path, weights.nominal, nominal, into, turned=not beams.densities)
                    into.write(b"</LesHouchesEvents>\n")
                file.flush()
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
    """Owner and permissions of the file that is replaced stay."""
    try:
        before = former.stat()
    except FileNotFoundError:
        return
    here = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (here.st_uid, here.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _compressed(file: IO[bytes]) -> gzip.GzipFile:
    """Neither a name nor a time is in it: the same run gives the same file."""
    return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)


def _unwritten(output: pathlib.Path, error: OSError) -> Error:
    return Error(f"{output} cannot be written: {error.strerror}")


def _head(beams: Beams, processes: list[tuple[str, float, float]], header: str, banner: Banner) -> bytes:
    group = 0 if beams.densities else -1
    known = beams.densities or -1
    header = header.replace("&", "&amp;").replace("<", "&lt;")
    lines = ['<LesHouchesEvents version="3.0">', "<header>"]
    lines += [banner.header.rstrip("\n")] if banner.header else []
    lines += ["<mebridge>", header, "</mebridge>", "</header>", "<init>"]
    first, second = beams.codes
    energies = f"{beams.energy / 2:.10e} {beams.energy / 2:.10e}"
    lines.append(f"{first} {second} {energies} {group} {group} {known} {known} {banner.strategy} {len(processes)}")
    for number, (_, cross_section, error) in enumerate(processes):
        lines.append(f"{cross_section:.10e} {error:.10e} {cross_section:.10e} {number + 1}")
    lines += [banner.generator] if banner.generator else []
    lines += ["</init>", ""]
    return "\n".join(lines).encode()


def _events(path: pathlib.Path, before: float, nominal: float, file: Any, turned: bool) -> None:
    """The events of a round, whose nominal weight was another one before.

    Where the first particle that comes in goes along -z, beams of partons as they are turn with the event; of hadrons,
    which are the same, the other one comes first.
    """

    def event(found: re.Match[bytes]) -> bytes:
        begin, weight, rest, first, second, others = found.groups()
        if _pz(first) < 0.0 < _pz(second):
            if turned:
                first, second, others = (_MOMENTUM.sub(_turn, lines) for lines in (first, second, others))
            else:
                first, second = second, first
        return b"<event>\n%s%+.10e%s%s%s%s" % (begin, float(weight) / before * nominal, rest, first, second, others)

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


def _turn(found: re.Match[bytes]) -> bytes:
    """A particle of an event that is turned about the x axis by half a turn."""
    before, *signs = found.groups()
    return before + b"".join(_OTHER.get(part, part) for part in signs)


def _pz(line: bytes) -> float:
    return float(line.split()[8])
