"""A directory that MG5aMC wrote: its cards, its matrix elements, and the trees of their diagrams."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._library import Error


@dataclass(frozen=True)
class Line:
    """A propagator of a diagram."""

    legs: int
    """The legs on one side of it, as bits; that of leg 1 is 1."""
    daughters: tuple[int, int]
    """The two lines that meet there, in the same way."""
    codes: tuple[int, ...]
    """PDG codes, for each matrix element of the directory."""
    spacelike: bool
    forced: int
    """1: of a decay chain, on its mass shell; 2: after a $, not on it; otherwise 0."""


@dataclass(frozen=True)
class Config:
    """A diagram with a channel."""

    number: int
    """Of MadEvent, from 1."""
    lines: tuple[Line, ...]
    """From the outer ones inwards."""
    diagrams: tuple[int, ...]
    """Of each matrix element, from 1; 0 where it has no such diagram."""
    nqcd: int
    """Powers of the strong coupling."""


@dataclass(frozen=True)
class Directory:
    """A directory P* of matrix elements."""

    path: pathlib.Path
    legs: tuple[tuple[int, ...], ...]
    """PDG codes of the first process of each matrix element."""
    configs: tuple[Config, ...]
    colors: Mapping[int, int] | None = None
    """Dimensions of colour by PDG code; otherwise ``get_color.f`` has them."""

    @classmethod
    def read(cls, path: pathlib.Path) -> Directory:
        # Of all processes of a matrix element the first.
        listed = _data(path / "leshouche.inc", "IDUP")
        if not listed or any(len(index) != 3 for index, _ in listed):
            raise Error(
                f"{path} is not of an output with grouped subprocesses; generate it with 'set group_subprocesses True'"
            )
        legs = [tuple(codes) for (_, process, _), codes in sorted(listed, key=lambda row: row[0][2]) if process == 1]
        return cls(path, tuple(legs), tuple(_configs(path, legs)))

    @property
    def decayed(self) -> frozenset[int]:
        """Legs that come from a decay chain, from 0, as MadEvent tells by its first diagram."""
        found = 0
        for line in self.configs[0].lines:
            if line.forced == 1 and not line.spacelike:
                found |= line.legs
        return frozenset(leg for leg in range(len(self.legs[0])) if found >> leg & 1)


def colors(directory: Directory) -> Mapping[int, int]:
    """Dimensions of colour by PDG code."""
    if directory.colors is not None:
        return directory.colors
    file = directory.path / "get_color.f"
    try:
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise Error(f"{file} cannot be read: {error.strerror}") from None
    found = re.findall(r"IPDG\.EQ\.\s*(-?\d+)\)\s*THEN\n(?:[C!*].*\n)*\s*GET_COLOR\s*=\s*(-?\d+)", text, re.IGNORECASE)
    return {int(code): int(color) for code, color in found}


def _data(file: pathlib.Path, array: str) -> list[tuple[tuple[Any, ...], list[int]]]:
    """DATA statements about an array: its indices, those of an implied loop left out by 0, and the values."""
    try:
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise Error(f"{file} cannot be read: {error.strerror}; does MG5aMC's output lack it?") from None
    text = re.sub(r"\n     [^ 0\n]", "", re.sub(r"^[cC!*].*\n", "", text, flags=re.MULTILINE))
    found = []
    for index, values in re.findall(rf"DATA\s*\(?\s*{array}\(([^)]*)\)[^/\n]*/([^/]*)/", text, re.IGNORECASE):
        numbers = [0 if word.strip().upper() == "I" else int(word) for word in index.split(",")]
        found.append((tuple(numbers), [int(value) for value in values.split(",")]))
    return found


def _configs(path: pathlib.Path, of_legs: Sequence[tuple[int, ...]]) -> list[Config]:
    elements, legs = len(of_legs), len(of_legs[0])
    file = path / "configs.inc"
    forest = {(index[1], index[2]): values for index, values in _data(file, "IFOREST")}
    timelike = {(index[1], index[2]): values for index, values in _data(file, "SPROP")}
    spacelike = {index: values[0] for index, values in _data(file, "TPRID")}
    diagrams = {index[1]: values for index, values in _data(path / "config_subproc_map.inc", "CONFSUB")}
    powers = {index[0]: values[0] for index, values in _data(path / "config_nqcd.inc", "NQCD")}
    forced = {index: values[0] for index, values in _data(path / "decayBW.inc", "GFORCEBW")}
    found = []
    # A diagram of two that become one has no propagators.
    listed = {index[0]: values[0] for index, values in _data(file, "MAPCONFIG")}
    numbers = sorted({number for number in listed if number} | {config for _, config in forest})
    if listed.get(0, len(numbers)) != len(numbers) or 0 not in listed:
        raise Error(f"{file} lists {len(numbers)} diagrams and ends before it says how many there are; write the output anew")
    for name, wanted, there in (
        ("config_subproc_map.inc", numbers, set(diagrams)),
        ("decayBW.inc", [number for (_, number), codes in timelike.items() if any(codes)], {number for _, number in forced}),
    ):
        if missing := sorted(set(wanted) - there):
            raise Error(f"{path / name} has nothing of diagram {missing[0]}, which configs.inc lists; write the output anew")
    for number in numbers:
        bits = {leg: 1 << (leg - 1) for leg in range(1, legs + 1)}
        lines = []
        for branch in range(-1, -legs, -1):
            if (branch, number) not in forest:
                break
            one, other = (bits[line] for line in forest[branch, number])
            bits[branch] = one + other
            codes = list(timelike.get((branch, number), [0] * elements))
            code = spacelike.get((branch, number), 0)
            # The beam that a line of the t channel begins with is on its side.
            between = bool(bits[branch] & 1) != bool(bits[branch] & 2)
            codes = [of or code for of in codes]
            if branch == 2 - legs:
                # MG5aMC until 2.9 lists no code of the line that ends the t channel; its clustering takes that of leg 2.
                codes = [of or own[1] for of, own in zip(codes, of_legs)]
            lines.append(
                Line(bits[branch], (one, other), tuple(codes), between, forced.get((branch, number), 0))
            )
        found.append(Config(number, tuple(lines), tuple(diagrams[number]), powers.get(number, 0)))
    return found


@dataclass(frozen=True)
class Place:
    """Where a matrix element is."""

    directory: int
    """Which one, from 0."""
    number: int
    """Of the matrix element there, from 0."""
    source: str
    """The process."""


class Output:
    """An output of ``output madevent``.

    Args:
        path: of the output, or of a folder in it.
    """

    def __init__(self, path: pathlib.Path) -> None:
        if not (path / "SubProcesses").is_dir() or not (path / "Cards").is_dir():
            raise Error(f"{path} is no output of MG5aMC's 'output madevent': it has no SubProcesses and Cards")
        self.path = path
        listed = path / "SubProcesses" / "subproc.mg"
        names = listed.read_text().split() if listed.is_file() else []
        self.directories = [path / "SubProcesses" / name for name in names]
        missing = [str(directory) for directory in self.directories if not directory.is_dir()]
        if not listed.is_file():
            raise Error(
                f"{path} is no output of MG5aMC's 'output madevent': it has no {listed.relative_to(path)}, and those of 'output "
                "standalone' and others make no events; take one of that, or the process itself by its name"
            )
        if not names:
            raise Error(f"{listed} lists no directories of matrix elements")
        if missing:
            raise Error(f"{listed} lists {', '.join(missing)}, and there is no such directory")

    model: str | None = None
    """Of a process by its name."""
    environment: Mapping[str, str] = {}
    """Variables of what makes events of it."""
    asked: Mapping[str, Any] = {}
    """What makes a run of it another one, besides matrix elements."""

    @property
    def decays(self) -> bool:
        """Whether one particle comes in."""
        files = [directory / "nexternal.inc" for directory in self.directories]
        texts = [file.read_text(encoding="ascii", errors="replace") for file in files if file.is_file()]
        return any(re.search(r"NINCOMING\s*=\s*1\b", text, re.IGNORECASE) for text in texts)

    def read(self) -> list[Directory]:
        """Its directories."""
        return [Directory.read(path) for path in self.directories]

    @property
    def sources(self) -> list[str]:
        """Its processes."""
        return [str(path) for path in self.directories]

    def places(self, sources: Sequence[str]) -> list[Place]:
        """Of matrix elements of these sources."""
        found: list[Place] = []
        own = self.sources
        numbers = dict.fromkeys(own, 0)
        for source in sources:
            number = numbers[source]
            numbers[source] += 1
            found.append(Place(own.index(source), number, f"{source}#{number + 1}"))
        return found

    @property
    def data(self) -> pathlib.Path:
        """Below which there is ``lib/Pdfdata``."""
        return self.path

    @property
    def steps(self) -> str:
        """How MG5aMC was asked for it."""
        process = self.path / "Cards" / "proc_card_mg5.dat"
        return process.read_text(encoding="utf-8", errors="replace") if process.is_file() else ""

    @property
    def by(self) -> str:
        """What event files say of it."""
        return f"by the cards of MG5aMC {self.version}"

    def card(self, name: str) -> pathlib.Path:
        """A card that has to be there."""
        file = self.path / "Cards" / name
        if not file.is_file():
            raise Error(f"{file} is missing; MG5aMC writes it with the output")
        return file

    @property
    def version(self) -> str:
        """Of MG5aMC."""
        for name in ("MGMEVersion.txt", "SubProcesses/MGVersion.txt"):
            file = self.path / name
            if file.is_file():
                return file.read_text().split()[0]
        return "unknown"


def next_run(events: pathlib.Path) -> str:
    """``run_NN`` with a number above all that there are."""
    numbers = [int(found[1]) for entry in _entries(events) if (found := re.match(r"run_(\d+)", entry))]
    return f"run_{max(numbers, default=0) + 1:02}"


def _entries(folder: pathlib.Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def matching(directory: Directory, elements: Mapping[int, tuple[int, ...]]) -> None:
    """That matrix elements, by their numbers from 0, are those of the directory in its order."""
    for number, codes in elements.items():
        if number >= len(directory.legs) or directory.legs[number] != codes:
            raise Error(f"matrix element {number + 1} of {directory.path} is not the one of leshouche.inc there")
