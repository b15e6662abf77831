"""Lines of partons through a clustering: which steps scales come from, and which particles are jets.

What ``ipartupdate``, ``isjetvx`` and ``setclscales`` of MadEvent's ``reweight.f`` find in the tree of an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

GLUON, _PHOTON = 21, 22


class Mixed(Exception):
    """Some events of a group go one way, others another."""

    def __init__(self, mask: NDArray[np.bool_]) -> None:
        self.mask = mask


@dataclass(frozen=True)
class Piece:
    """A line from a beam on, up to a step."""

    step: int
    beam: int
    """0 or 1."""
    line: int
    """As bits."""
    mother: int
    """What it becomes there."""
    code: int
    """PDG."""


class Trace:
    """Lines of partons through a clustering. Steps count from 1; 0 is none.

    Args:
        steps: first, second, and what they became, the last one being that of both beams.
        code: PDG code of a line.
        colors: dimensions of colour by PDG code.
        maxjetflavor: quarks up to it are jets.
        squares: of the transverse momenta of all legs, by which the harder of two is told.
    """

    def __init__(
        self,
        steps: Sequence[tuple[int, int, int]],
        code: Callable[[int], int],
        colors: Mapping[int, int],
        maxjetflavor: int,
        squares: Array,
    ) -> None:
        self._steps, self._colors, self._squares = steps, colors, squares
        self.maxjetflavor = maxjetflavor
        self._code = code
        self._changed: dict[int, int] = {}
        count = squares.shape[1]
        self._count = count
        # The particle, or beam, that a line leads to, and a second one where a gluon became two quarks.
        self._ends = {1 << leg: (leg + 1, 0) for leg in range(count)}
        for step in steps[:-1]:
            self._follow(*step)
        self._followed = dict(self._ends)
        self._jets = [0] * (count + 1)
        self._good: dict[int, bool] = {}
        self.first, self.last, self.central = [0, 0], [0, 0], [0, 0]
        # Of two that become one nothing is traced.
        self.single = count == 3
        if not self.single:
            self._scan()
        self.jets = sum(found > 0 for found in self._jets)
        for beam in (0, 1):
            if self.first[beam] <= 0:
                self.first[beam] = self.last[beam]
        self.paired = self._paired()

    def _pdg(self, line: int) -> int:
        return self._changed.get(line, self._code(line))

    def _color(self, line: int) -> int:
        return self._colors.get(self._pdg(line), 0)

    def _strong(self, line: int) -> bool:
        return abs(self._color(line)) > 1

    def _octet(self, line: int) -> bool:
        return abs(self._color(line)) == 8

    def _light(self, code: int) -> bool:
        return abs(code) <= self.maxjetflavor or abs(code) == GLUON

    def _jet(self, line: int) -> bool:
        return self._light(self._pdg(line))

    def _final(self, line: int) -> int:
        """The particle that goes out, where the line is one itself."""
        end = self._ends[line][0]
        return end if end > 2 and line == 1 << (end - 1) else 0

    def _beam_line(self, line: int) -> bool:
        return 1 <= self._ends[line][0] <= 2

    def _harder(self, one: int, other: int) -> bool:
        """Whether the particle that the first line leads to has the larger transverse momentum."""
        mask = self._squares[:, self._ends[one][0] - 1] > self._squares[:, self._ends[other][0] - 1]
        if mask.all() or not mask.any():
            return bool(mask.all())
        raise Mixed(mask)

    def _emitting(self, one: int, other: int) -> bool:
        """Whether the first is a quark and the second a gluon or photon."""
        code = self._pdg(one)
        return code < GLUON and self._light(code) and self._pdg(other) in (GLUON, _PHOTON)

    def _follow(self, one: int, other: int, mother: int) -> None:
        """What a combined line leads to."""
        if self._beam_line(one) or self._beam_line(other):
            if self._beam_line(one) and self._beam_line(other):
                return
            beam, emitted = (other, one) if self._beam_line(other) else (one, other)
            self._ends[mother] = (self._ends[beam][0], 0)
            if self._jet(mother):
                if self._emitting(emitted, beam):
                    self._changed[mother] = -self._pdg(emitted)
                if self._emitting(beam, emitted):
                    self._changed[mother] = self._pdg(beam)
            return
        if self._jet(mother):
            if self._emitting(one, other):
                self._changed[mother] = self._pdg(one)
            if self._emitting(other, one):
                self._changed[mother] = self._pdg(other)
        self._ends[mother] = self._outgoing(one, other, mother)

    def _outgoing(self, one: int, other: int, mother: int) -> tuple[int, int]:
        code, first, second = self._pdg(mother), self._pdg(one), self._pdg(other)
        colors = tuple(abs(self._color(line)) for line in (mother, one, other))

        def harder() -> tuple[int, int]:
            return self._ends[one] if self._harder(one, other) else self._ends[other]

        def both() -> tuple[int, int]:
            ends = self._ends[one][0], self._ends[other][0]
            return ends if self._harder(one, other) else ends[::-1]

        if code == GLUON and first == second == GLUON:
            return harder()
        if code == GLUON and abs(first) <= 6 and abs(second) <= 6:
            return both()
        if self._color(mother) == 8 and colors[1:] == (3, 3):
            return both()
        if code == GLUON and GLUON in (first, second):
            gluon, rest = (one, other) if first == GLUON else (other, one)
            return harder() if self._strong(rest) else self._ends[gluon]
        if code == GLUON:
            return harder()
        if code in (first, first + _sign(second)):
            return self._ends[one][0], 0
        if code in (second, second + _sign(first)):
            return self._ends[other][0], 0
        if colors[:2] == (3, 3) and self._color(other) == 1:
            return self._ends[one][0], 0
        if (colors[0], colors[2]) == (3, 3) and self._color(one) == 1:
            return self._ends[other][0], 0
        if colors == (3, 3, 8):
            return self._ends[other][0], 0
        if (colors[0], colors[2]) == (3, 3) and self._color(one) == 8:
            return self._ends[one][0], 0
        if self._color(mother) in (1, 2) or 2 in (self._color(one), self._color(other)):
            return self._ends[one][0], self._ends[other][0]
        if colors == (3, 3, 3):
            return self._ends[one][0], 0
        if colors == (6, 3, 3):
            return both()
        if colors == (8, 1, 8):
            return self._ends[other]
        if colors == (8, 8, 1):
            return self._ends[one]
        raise Error(
            f"an event cannot be clustered: {code} becomes {first} and {second} (PDG codes); set "
            "dynamical_scale_choice to 3"
        )

    def _scan(self) -> None:
        """Which steps are the first, the last one of a parton and the last one of a colour along each beam; and which
        particles are jets."""
        count = self._count
        beams = [1, 2]
        colored = [self._strong(beam) for beam in beams]
        partons = list(colored)
        for beam in (0, 1):
            self._good[beams[beam]] = partons[beam]
        for leg in range(2, count):
            self._good[1 << leg] = self._jet(1 << leg)
        code, increase = 1, False
        for number, (one, other, mother) in enumerate(self._steps, 1):
            final = number == count - 2
            for child in (0, 1):
                for beam in (0, 1):
                    line = (one, other)[child]
                    if line != beams[beam]:
                        continue
                    beams[beam] = mother
                    rest = (other, one)[child]
                    emitted, parent = (mother, rest) if final else (rest, mother)
                    if partons[beam]:
                        self.first[beam] = self.first[beam] or number
                        self.last[beam] = number
                        partons[beam] = self._is_good(emitted) and self._jet(parent)
                    else:
                        self.first[beam] = self.first[beam] or number
                        self._good[parent] = False
                    if not self._is_good(emitted) or not self._jet(line) or not self._jet(parent):
                        code, increase = code + 1, True
                    elif increase:
                        code, increase = code + 1, False
                    if self._is_good(emitted):
                        sure = partons[beam] or self._pdg(emitted) == GLUON
                        self._jets[self._ends[emitted][0]] = 1 if sure else code
                    if colored[beam]:
                        self.central[beam] = number
                        colored[beam] = self._strong(parent)
            if mother not in beams:
                self._outer(number, one, other, mother)
        if not all(partons):
            code -= any(partons)
            for leg in range(3, count + 1):
                if 1 < self._jets[leg] <= code:
                    self._jets[leg] = 0

    def _is_good(self, line: int) -> bool:
        return self._good.get(line, False)

    def _jet_vertex(self, one: int, other: int, mother: int, final: bool) -> bool:
        if final or not all(self._strong(line) for line in (mother, one, other)):
            return False
        code, first, second = self._pdg(mother), self._pdg(one), self._pdg(other)
        return (self._jet(one) and (self._jet(mother) or code == second)) or (
            self._jet(other) and (self._jet(mother) or code == first)
        )

    def _outer(self, number: int, one: int, other: int, mother: int) -> None:
        """A step between two that go out."""
        strong = [self._strong(line) for line in (mother, one, other)]
        if not self._jet_vertex(one, other, mother, number == self._count - 2):
            first, second = self._ends[mother]
            if first > 2 and any(strong) and not all(strong):
                if self._octet(1 << (first - 1)):
                    lost = self._octet(mother)
                else:
                    lost = second == 0 or (self._jets[first] > 0 and self._jets[second] > 0)
                if lost:
                    self._jets[first] = 0
            if second > 2 and not self._octet(1 << (second - 1)) and not self._octet(mother):
                self._jets[second] = 0
            self._good[mother] = False
            return
        for line in (one, other):
            leg = self._final(line)
            if leg and self._jet(line):
                self._jets[leg] = 1
        self._good[mother] = self._jet(mother) and self._is_good(one) and self._is_good(other)
        if all(self._octet(line) for line in (mother, one, other)):
            hard, soft = (one, other) if self._ends[mother][0] == self._ends[one][0] else (other, one)
            if not self._is_good(hard) and self._is_good(soft):
                before = self._ends[mother]
                for line, ends in self._ends.items():
                    if ends == before and line >= mother:
                        self._ends[line] = self._ends[soft]

    def _paired(self) -> bool:
        """Whether the last step but one is a strong decay into two along a colour line through the event."""
        count = self._count
        if count <= 3 or self.last != [count - 2, count - 2]:
            return False
        return all(self._strong(line) for line in self._steps[count - 4])

    # Matching.

    def jet_steps(self) -> list[int]:
        """Steps at which a particle that is a jet is clustered, but for the last one."""
        return [
            number
            for number, (one, other, _) in enumerate(self._steps[:-1], 1)
            if any((leg := self._final(line)) and self._jets[leg] for line in (one, other))
        ]

    def clustered(self) -> dict[int, list[int]]:
        """By the number of a particle that goes out, from 3, the steps that it is clustered at as a jet; none of a
        particle that is no jet."""
        found: dict[int, list[int]] = {}
        good = dict(self._good)
        for number, (one, other, mother) in enumerate(self._steps, 1):
            final = number == len(self._steps)
            jet = self._jet_vertex(one, other, mother, final)
            for line in (one, mother if final else other):
                for end in self._ends.get(line, (0, 0)):
                    if end <= 2:
                        continue
                    if not self._jets[end]:
                        good[line] = False
                    if not (jet and good.get(line, False)):
                        found.setdefault(end, [])
                    elif end not in found or found[end]:
                        found.setdefault(end, []).append(number)
        return found

    def emissions(self, most: int) -> list[int]:
        """Steps that have an alpha_s of their own, where quarks up to this one are partons."""
        good = {1 << (leg - 1): self._of(1 << (leg - 1), most) for leg in (1, 2)}
        for leg in range(3, self._count + 1):
            line = 1 << (leg - 1)
            good[line] = self._jets[leg] > 0 or (self._of(line, most) and not self._jet(line))
        found = []
        for number, (one, other, mother) in enumerate(self._steps[:-1], 1):
            both = good.get(one, False), good.get(other, False)
            good[mother] = self._of(mother, most) and all(both)
            if self._followed[mother][0] <= 2:
                emitted = good[mother]
            else:
                strong = all(self._strong(line) for line in (mother, one, other))
                emitted = strong and (self._of(one, most) or self._of(other, most)) and any(both)
            if emitted:
                found.append(number)
        return found

    def beams(self, most: int) -> list[Piece]:
        """Lines of partons from the beams inwards, where quarks up to this one are partons."""
        lines, found = [1, 2], []
        for number, (one, other, mother) in enumerate(self._steps, 1):
            for line in (one, other):
                if line in lines and self._strong(line) and self._of(line, most):
                    beam = lines.index(line)
                    lines[beam] = mother
                    found.append(Piece(number, beam, line, mother, self._pdg(line)))
        return found

    def _of(self, line: int, most: int) -> bool:
        """Whether it is a gluon or a quark up to this one."""
        code = self._pdg(line)
        return abs(code) <= most or abs(code) == GLUON


def _sign(code: int) -> int:
    return 1 if code >= 0 else -1
