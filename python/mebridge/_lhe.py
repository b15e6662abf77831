"""Event files of rounds, put together."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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


def write(
    output: pathlib.Path,
    rounds: Iterable[tuple[pathlib.Path, float]],
    beams: Beams,
    processes: list[tuple[str, float, float]],
    header: str,
) -> None:
    """Writes one file of all events; the weights of each round are multiplied by the number beside it.

    The weights average to the cross section (IDWTUP 4: some may be larger than the others, where the survey knew no
    larger ones). The particle that flies along +z comes first.
    """
    part = output.with_name(f".{output.name}.part")
    try:
        with open(part, "wb") as file:
            file.write(_head(beams, processes, header))
            for path, factor in rounds:
                _events(path, factor, file)
            file.write(b"</LesHouchesEvents>\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, output)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Error(f"{output} cannot be written: {error.strerror}") from None


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
