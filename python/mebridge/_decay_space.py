"""Phase space of one particle that decays, at rest: a channel for each diagram, of decays into two."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _widths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Two masses are the same to this accuracy.
_EQUAL = 1e-9
# A pole at this distance, in units of the range, is reached.
_NEAR = 1e-9


@dataclass(frozen=True)
class Line:
    """A line of a diagram: a particle that goes out, or a propagator with what it becomes."""

    legs: tuple[int, ...]
    """That go out behind it, from 0."""
    number: int | None = None
    """Of the propagator; none of a particle that goes out, and of a line that makes two vertices of one."""
    mass: float = 0.0
    width: float = 0.0
    daughters: tuple[Line, ...] = ()
    least: float = 0.0
    """The least mass of its legs together."""

    def all(self) -> list[Line]:
        """The propagators behind it, itself included, the outer ones last."""
        return [self, *(one for of in self.daughters for one in of.all())] if self.daughters else []

    def orders(self) -> list[Line]:
        """The same line with either of two propagators first wherever two meet: the mass of the second lies in what the
        first leaves, so that of h > z z the Z boson on its mass shell is the first."""
        if not self.daughters:
            return [self]
        one, other = (of.orders() for of in self.daughters)
        pairs = list(itertools.product(one, other))
        if all(of.daughters for of in self.daughters):
            pairs += [(second, first) for first, second in pairs]
        return [dataclasses.replace(self, daughters=pair) for pair in pairs]

    def even(self) -> Line:
        """The same line with all masses drawn evenly, for what lies off the mass shells of several propagators."""
        return dataclasses.replace(self, number=None, daughters=tuple(of.even() for of in self.daughters))


def tree(channel: Mapping[str, Any], masses: Sequence[float], least: Mapping[frozenset[int], float]) -> Line:
    """The lines of a channel of a library, from the particle that decays on.

    Args:
        masses: of all legs, the one that decays first.
        least: masses that cuts leave at least, by legs.
    """
    vertices = [list(vertex) for vertex in channel["vertices"]]

    def behind(name: str, before: int | None) -> Line:
        if name.startswith("o"):
            leg = int(name[1:])
            return Line((leg,), least=masses[1 + leg])
        (place,) = (i for i, vertex in enumerate(vertices) if name in vertex and i != before)
        others = [behind(other, place) for other in vertices[place] if other != name]
        while len(others) > 2:
            others = [*others[:-2], made(Line((), None), others[-2:])]
        if name == "i0":
            return made(Line((), None, masses[0]), others)
        number = int(name[1:])
        mass, width = map(abs, channel["masses"][number])
        return made(Line((), number, mass, width if width >= _widths.NARROWEST * mass else 0.0), others)

    def made(line: Line, daughters: Sequence[Line]) -> Line:
        legs = tuple(sorted(leg for of in daughters for leg in of.legs))
        smallest = max(sum(of.least for of in daughters), least.get(frozenset(legs), 0.0))
        return dataclasses.replace(line, legs=legs, daughters=tuple(daughters), least=smallest)

    return behind("i0", None)


@dataclass(frozen=True)
class Space:
    """Momenta by a channel."""

    root: Line
    masses: tuple[float, ...]
    """Of all legs, the one that decays first."""

    def draw(self, random: np.random.Generator, points: int) -> Array:
        """Momenta (points, legs, 4); points that cannot be are NaN."""
        momenta = np.zeros((points, len(self.masses), 4))
        momenta[:, 0, 0] = self.masses[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            self._decay(self.root, momenta[:, 0], np.full(points, self.masses[0] ** 2), momenta, random)
        return momenta

    def _decay(self, line: Line, momentum: Array, square: Array, momenta: Array, random: np.random.Generator) -> None:
        squares = self._squares(line, square, lambda low, high, of: _drawn(random.random(len(low)), low, high, of))
        cosine, phi = random.uniform(-1.0, 1.0, len(square)), random.uniform(0.0, 2.0 * math.pi, len(square))
        size = np.sqrt(_kallen(square, *squares)) / (2.0 * np.sqrt(square))
        sine = np.sqrt(1.0 - cosine**2)
        direction = np.stack([sine * np.cos(phi), sine * np.sin(phi), cosine], axis=1)
        for daughter, own, sign in zip(line.daughters, squares, (1.0, -1.0)):
            rest = np.concatenate([np.sqrt(size**2 + own)[:, None], sign * size[:, None] * direction], axis=1)
            found = _boosted(rest, momentum, square)
            if daughter.daughters:
                self._decay(daughter, found, own, momenta, random)
            else:
                momenta[:, 1 + daughter.legs[0]] = found

    def density(self, momenta: Array) -> Array:
        """Of points in phase space, where its volume is that of the cross section's formula."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = self._density(self.root, np.full(len(momenta), self.masses[0] ** 2), momenta)
        return np.asarray(np.where(np.isfinite(found), found, 0.0))

    def _density(self, line: Line, square: Array, momenta: Array) -> Array:
        found = np.ones(len(momenta))

        def seen(low: Array, high: Array, of: Line) -> Array:
            nonlocal found
            own = _square(momenta[:, [1 + leg for leg in of.legs]].sum(axis=1))
            inside = (own >= low * (1.0 - _EQUAL)) & (own <= high * (1.0 + _EQUAL))
            found = found * np.where(inside, 2.0 * math.pi * _drawn_density(own, low, high, of), 0.0)
            return own

        squares = self._squares(line, square, seen)
        found = found * 8.0 * math.pi * square / np.sqrt(_kallen(square, *squares))
        for daughter, own in zip(line.daughters, squares):
            if daughter.daughters:
                found = found * self._density(daughter, own, momenta)
        return np.asarray(found)

    def _squares(self, line: Line, square: Array, take: Any) -> list[Array]:
        """Squared masses of both daughters, one after the other, within what is left for them."""
        first, second = line.daughters
        energy = np.sqrt(square)
        found: list[Array] = []
        for of, rest in ((first, np.full(len(square), second.least)), (second, None)):
            rest = np.sqrt(np.maximum(found[0], 0.0)) if rest is None else rest
            if of.daughters:
                high = np.maximum(energy - rest, 0.0) ** 2
                found.append(take(np.full(len(square), of.least**2), high, of))
            else:
                found.append(np.full(len(square), self.masses[1 + of.legs[0]] ** 2))
        return found


def _kallen(a: Array, b: Array, c: Array) -> Array:
    return np.asarray((a - b - c) ** 2 - 4.0 * b * c)


def _square(p: Array) -> Array:
    return np.asarray(np.maximum(p[:, 0] ** 2 - (p[:, 1:] ** 2).sum(axis=1), 0.0))


def _boosted(rest: Array, momentum: Array, square: Array) -> Array:
    """From the rest frame of a momentum into the frame in which it is that."""
    mass = np.sqrt(square)
    along = (momentum[:, 1:] * rest[:, 1:]).sum(axis=1)
    energy = (momentum[:, 0] * rest[:, 0] + along) / mass
    factor = (rest[:, 0] + along / (momentum[:, 0] + mass)) / mass
    return np.concatenate([energy[:, None], rest[:, 1:] + factor[:, None] * momentum[:, 1:]], axis=1)


def _drawn(random: Array, low: Array, high: Array, of: Line) -> Array:
    """The squared mass of a propagator: about its pole, by its distance from the pole, or evenly."""
    pole = of.mass**2
    if of.number is None:
        return low + random * (high - low)
    if of.width > 0.0:
        first, last = _angles(low, high, of)
        return np.clip(pole + of.mass * of.width * np.tan(first + random * (last - first)), low, high)
    near, far, sign = _distances(low, high, of)
    by_ratio, by_root = near * (far / near) ** random, (np.sqrt(near) + random * (np.sqrt(far) - np.sqrt(near))) ** 2
    return np.clip(pole + sign * np.where(near > _NEAR * far, by_ratio, by_root), low, high)


def _drawn_density(square: Array, low: Array, high: Array, of: Line) -> Array:
    if of.number is None:
        return np.asarray(1.0 / (high - low))
    if of.width > 0.0:
        first, last = _angles(low, high, of)
        scale = of.mass * of.width
        return np.asarray(scale / ((square - of.mass**2) ** 2 + scale**2) / (last - first))
    near, far, _ = _distances(low, high, of)
    apart = np.abs(square - of.mass**2)
    by_ratio, by_root = apart * np.log(far / near), 2.0 * np.sqrt(apart) * (np.sqrt(far) - np.sqrt(near))
    return np.asarray(1.0 / np.where(near > _NEAR * far, by_ratio, by_root))


def _angles(low: Array, high: Array, of: Line) -> tuple[Array, Array]:
    scale = of.mass * of.width
    return np.arctan((low - of.mass**2) / scale), np.arctan((high - of.mass**2) / scale)


def _distances(low: Array, high: Array, of: Line) -> tuple[Array, Array, float]:
    """From the pole, the smaller one first, and on which side of it."""
    above = of.least >= of.mass * (1.0 - _EQUAL)
    ends = (low - of.mass**2, high - of.mass**2) if above else (of.mass**2 - high, of.mass**2 - low)
    return np.maximum(ends[0], 0.0), np.maximum(ends[1], 0.0), 1.0 if above else -1.0
