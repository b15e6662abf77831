"""Poles that no cut keeps away, found before anything starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._library import Error

_MASSLESS_VECTORS = (21, 22)


@dataclass(frozen=True)
class Pole:
    """Where a propagator has no bound."""

    legs: tuple[int, ...]
    """Of the particles that go out, from 0: one that goes along a beam, or two that meet."""
    vectors: tuple[int, ...]
    """Those of them that may have no energy there."""
    meeting: bool
    """Whether two particles without mass go the same way."""


def outgoing(vertices: list[list[str]], line: str) -> tuple[list[int], int]:
    """The particles that go out on one side of a line, and how many that come in are on that side."""
    seen, found, lines = {line}, [], [name for name in _vertices(vertices, line)[0] if name != line]
    while lines:
        name = lines.pop()
        if name in seen:
            continue
        seen.add(name)
        if name[0] == "p":
            lines += [other for vertex in _vertices(vertices, name) for other in vertex]
        else:
            found.append(name)
    return [int(name[1:]) for name in found if name[0] == "o"], sum(name[0] == "i" for name in found)


def _vertices(vertices: list[list[str]], line: str) -> list[list[str]]:
    return [vertex for vertex in vertices if line in vertex]


def poles(channel: Mapping[str, Any], codes: Sequence[int], masses: Sequence[float]) -> Iterator[Pole]:
    """The poles of a diagram that its particles reach. The first two codes and masses are those of the beams."""
    codes, masses = codes[2:], masses[2:]
    everything = set(range(len(codes)))
    for number, (mass, width) in enumerate(channel["masses"]):
        side, incoming = outgoing(channel["vertices"], f"p{number}")
        other = sorted(everything - set(side))
        if incoming == 1:
            if mass == 0.0:
                for alone in (side, other):
                    if len(alone) == 1 and masses[alone[0]] == 0.0:
                        yield Pole((alone[0],), (), False)
            continue
        legs = tuple(sorted(other if incoming else side))
        if len(legs) != 2 or len(legs) == len(codes) or width != 0.0:
            continue
        if not math.isclose(sum(masses[leg] for leg in legs), abs(mass), rel_tol=1e-9):
            continue
        vectors = tuple(leg for leg in legs if codes[leg] in _MASSLESS_VECTORS and masses[leg] == 0.0)
        meeting = all(masses[leg] == 0.0 for leg in legs)
        if meeting or vectors:
            yield Pole(legs, vectors, meeting)


class Cuts:
    """Cuts that bound something, by what they are about: the observable and the classes of its particles."""

    def __init__(self, cuts: Mapping[str, float], names: Mapping[str, tuple[str, str, str]]) -> None:
        self._names = names
        self._there = {
            (names[name][0], names[name][2]) for name, value in cuts.items() if value > 0 or names[name][1] == "max"
        }

    def has(self, observable: str, classes: str) -> bool:
        return bool({(observable, classes), (observable, classes[::-1])} & self._there)

    def name(self, observable: str, classes: str) -> str:
        """The shortest name of a cut."""
        wanted = {(observable, classes), (observable, classes[::-1])}
        return min((n for n, (kind, _, of) in self._names.items() if (kind, of) in wanted), key=len)

    def missing(self, pole: Pole, classes: list[str | None]) -> list[str]:
        """Names of the cuts that would keep this pole away; none where there are, or where no cut is about it."""
        letters = [classes[leg] for leg in pole.legs]
        known = "".join(letter for letter in letters if letter is not None)
        if len(known) < len(letters):
            return []
        if len(letters) == 1:
            return [] if self._off_the_beam(known, classes) else [self.name("pt", known)]
        if self.has("mass", known):
            return []
        apart = self.has("distance", known) or not pole.meeting
        soft = {letter for letter in (classes[leg] for leg in pole.vectors) if letter is not None}
        found = [] if apart else [self.name("distance", known)]
        return found + [self.name("pt", letter) for letter in sorted(soft) if not self.has("pt", letter)]

    def _off_the_beam(self, letter: str, classes: list[str | None]) -> bool:
        """Whether a particle of this class is kept away from the beams, and from having no energy."""
        others = {other for other in classes if other is not None}
        if len(classes) == 2:
            # They are back to back.
            return any(self.has("pt", one) or self.has("rapidity", one) for one in {letter, *others})
        hard = any(self.has("mass", letter + other) for other in others)
        return self.has("pt", letter) or (self.has("rapidity", letter) and hard)


# What an error proposes, by the letters that a name of a cut begins with.
_EXAMPLES = {"pt": 20.0, "dr": 0.4}


def proposal(missing: list[str]) -> str:
    """Cuts, as they are written."""
    return "{" + ", ".join(f'"{name}": {_EXAMPLES[name[:2]]:g}' for name in sorted(set(missing))) + "}"
