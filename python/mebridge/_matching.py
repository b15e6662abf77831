"""MLM matching (arXiv:0706.2569) as MadEvent has it: the cut ``xqcut``, weights of alpha_s and of densities along the
tree of a clustered event, and what Pythia reads of it.

``setclscales`` and ``rewgt`` of ``reweight.f``. They are called one after the other, and the second calls the first once
more, with the scales that it gave; what is written down is what the second call leaves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._densities import ANTI
from ._traces import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# f(x) below which MadEvent drops an event.
_LEAST = 1e-10
# GeV^2: of the mass of the last pair.
_PAIR = 4.0


@dataclass(frozen=True)
class Matching:
    """What of the run card matters."""

    reweighted: bool
    """``ickkw = 1``; otherwise there are cuts alone."""
    xqcut: float
    xmtcentral: float
    alpsfact: float
    asrwgtflavor: int
    pdfwgt: bool


@dataclass
class Clustered:
    """Events that were clustered in the same order, into two beams and one particle."""

    distances: list[Array]
    """Squared, of each step, GeV^2."""
    transverse: list[Array]
    """Squared transverse masses of what was emitted from a beam; 0 otherwise."""
    last: Array | None
    """Product of transverse masses of the last pair."""
    fractions: list[Array]
    """What of the momentum of a beam is left."""
    numbers: list[tuple[int, int, int]]
    """Legs that a step is said to combine, from 1: first, second, and the other beam, 0 for none."""


@dataclass(frozen=True)
class Given:
    """Scales that events have before they are clustered, GeV; 0 where clustering gives them."""

    renormalisation: Array
    factorisation: tuple[Array, Array]
    fixed: bool
    """Whether those of factorisation are, which are not multiplied then."""
    factor: float = 1.0

    @classmethod
    def nothing(cls, events: int) -> Given:
        return cls(np.zeros(events), (np.zeros(events), np.zeros(events)), False)

    def chosen(self, places: NDArray[np.intp]) -> Given:
        first, second = self.factorisation
        return dataclasses.replace(
            self, renormalisation=self.renormalisation[places], factorisation=(first[places], second[places])
        )


@dataclass(frozen=True)
class Found:
    """Scales of events, GeV or GeV^2."""

    renormalisation: Array
    factorisation: tuple[Array, Array]
    """Squared, of the densities."""
    central: tuple[Array, Array]
    """Squared, of the central process."""


def vertices(events: Clustered, traced: Trace) -> list[Array]:
    """Squared scales of the steps; central ones are transverse masses."""
    squares, transverse = list(events.distances), list(events.transverse)
    count = len(squares)
    if traced.paired and events.last is not None:
        for step in (count - 1, count - 2):
            transverse[step] = np.where(events.last > _PAIR, events.last, transverse[step])
    for step in dict.fromkeys(traced.central):
        if step:
            squares[step - 1] = np.where(transverse[step - 1] > 0.0, transverse[step - 1], squares[step - 1])
    return squares


def passed(squares: Sequence[Array], traced: Trace, matching: Matching) -> NDArray[np.bool_]:
    """Which events lie in the cuts."""
    good = np.ones(len(squares[0]), dtype=bool)
    if matching.xqcut > 0.0:
        for step in traced.jet_steps():
            good &= np.sqrt(squares[step - 1]) >= matching.xqcut
    if matching.xmtcentral != 0.0:
        for step in traced.central:
            if step:
                good &= squares[step - 1] >= matching.xmtcentral**2
    return good


def scales(squares: list[Array], traced: Trace, given: Given, matching: Matching) -> Found:
    """Geometric means of those of the first and of the central vertices, where they are not given. Squares become those
    that densities and alpha_s are weighted with."""
    first, last, central = traced.first, traced.last, traced.central

    def of(step: int) -> Array:
        return squares[step - 1]

    factor = given.factor**2
    if not matching.reweighted and all((scale > 0.0).all() for scale in (given.renormalisation, *given.factorisation)):
        # They stay as they are.
        kept = given.factorisation[0] ** 2, given.factorisation[1] ** 2
        return Found(given.renormalisation, kept, kept)
    for beam in (0, 1):
        if last[beam]:
            squares[last[beam] - 1] = np.maximum(of(last[beam]), of(first[beam]))
    of_beams = [scale**2 for scale in given.factorisation]
    if all((square > 0.0).all() for square in of_beams):
        if matching.reweighted:
            for beam in (1, 0):
                if central[beam]:
                    squares[central[beam] - 1] = of_beams[beam]
    elif traced.single:
        of_beams = [of(1), of(1)]
    else:
        for beam in (0, 1):
            if last[beam]:
                of_beams[beam] = np.sqrt(of(last[beam]) * of(central[beam]))
        if central[0] and central[0] == central[1]:
            of_beams = [np.maximum(*of_beams)] * 2
    if not given.fixed:
        of_beams = [square * factor for square in of_beams]
    middle = of_beams[0], of_beams[1]
    renormalisation = given.renormalisation
    if not (renormalisation > 0.0).all():
        renormalisation = given.factor * _renormalisation(squares, traced)
    if not central[0] and not central[1]:
        if (of_beams[0] > 0.0).all() and not given.fixed:
            squares[-2:] = [of_beams[0]] * len(squares[-2:])
        elif not given.fixed:
            of_beams = [factor * of(len(squares))] * 2
    elif not central[0] or not central[1]:
        beam = 0 if not central[0] else 1
        if not given.fixed:
            of_beams[beam] = factor * of(first[beam])
    elif matching.reweighted and matching.pdfwgt:
        for beam in (0, 1):
            if last[beam] and first[beam] <= last[beam] and not given.fixed:
                of_beams[beam] = factor * np.minimum(of(first[beam]), of_beams[beam])
    return Found(renormalisation, (of_beams[0], of_beams[1]), middle)


def _renormalisation(squares: Sequence[Array], traced: Trace) -> Array:
    last, central = traced.last, traced.central
    if last[0] and last[1]:
        steps, power = [last[0], central[0], last[1], central[1]], 0.125
    elif last[0] or last[1]:
        beam = 0 if last[0] else 1
        steps, power = [last[beam], central[beam]], 0.25
    elif central[0] and central[1]:
        steps, power = [central[0], central[1]], 0.25
    else:
        steps, power = [central[0] or central[1] or len(squares)], 0.5
    product: Array = np.prod([squares[step - 1] for step in steps], axis=0)
    return np.asarray(product**power)


@dataclass(frozen=True)
class Weighing:
    """What events are weighted with.

    Args:
        alpha_s: by the scale.
        density: x f(x, Q) of PDG codes, or none.
        codes: of what comes in, with those of antiprotons as densities have them; (events, 2).
        x: fractions of both beams' momenta, (events, 2).
        energy: of both beams, which is the scale of what is no jet.
    """

    alpha_s: Callable[[Array], Array]
    density: Callable[[NDArray[np.int64], Array, Array], Array] | None
    codes: NDArray[np.int64]
    x: Array
    energy: float

    def chosen(self, places: NDArray[np.intp]) -> Weighing:
        return dataclasses.replace(self, codes=self.codes[places], x=self.x[places])


def layout(legs: int) -> np.dtype[Any]:
    """Of :class:`Matched` as records, for so many legs."""
    inner, densities = max(legs - 2, 1), max(legs, 2)
    return np.dtype(
        [
            ("weight", "<f8"),
            # Largest of the squared scales that a shower may begin with, GeV^2.
            ("start", "<f8"),
            # Of what goes out, GeV; 0 behind the last.
            ("pt", "<f8", (inner,)),
            # Of the steps, with the legs that they combine; 0 behind the last.
            ("steps", "<f8", (inner,)),
            ("legs", "<i4", (inner, 3)),
            # Scales of further alpha_s, GeV; 0 behind the last.
            ("emissions", "<f8", (inner,)),
            # Of both beams densities that the event is weighted with; 0 behind the last.
            ("pdg", "<i4", (2, densities)),
            ("x", "<f8", (2, densities)),
            ("q", "<f8", (2, densities)),
        ]
    )


def put(records: NDArray[Any], places: NDArray[np.intp], some: NDArray[Any]) -> None:
    """Puts records of fewer legs among those of more."""
    for name in records.dtype.names or ():
        target, given = records[name], some[name]
        # Of several columns the first ones.
        found = target[places]
        found[tuple(slice(0, size) for size in given.shape)] = given
        target[places] = found


def weigh(
    events: Clustered,
    traced: Trace,
    before: Found,
    given: Given,
    matching: Matching,
    by: Weighing,
    legs: int,
) -> NDArray[Any]:
    """Weights of events, and what their file says of them, as records (:func:`layout`).

    Args:
        before: what :func:`scales` gave.
    """
    count = len(before.renormalisation)
    found = np.zeros(count, layout(legs))
    squares = vertices(events, traced)
    again = Given(
        before.renormalisation,
        (np.sqrt(before.factorisation[0]), np.sqrt(before.factorisation[1])),
        given.fixed,
        given.factor,
    )
    after = scales(squares, traced, again, matching)
    found["weight"] = 1.0
    reference = by.alpha_s(before.renormalisation)
    most = max(matching.asrwgtflavor, traced.maxjetflavor)
    for i, step in enumerate(traced.emissions(most)):
        scale = np.sqrt(squares[step - 1])
        found["emissions"][:, i] = scale
        found["weight"] *= by.alpha_s(matching.alpsfact * scale) / reference
    codes = by.codes - np.where(by.codes > ANTI // 2, ANTI, 0)
    for beam in (0, 1):
        found["pdg"][:, beam, 0], found["x"][:, beam, 0] = codes[:, beam], by.x[:, beam]
        found["q"][:, beam, 0] = np.sqrt(after.factorisation[beam])
    if matching.pdfwgt and by.density is not None:
        _weigh_densities(events, traced, squares, before, by, most, found)
    start = before.central if matching.pdfwgt else after.factorisation
    found["start"] = np.maximum(*start)
    for leg, steps in traced.clustered().items():
        of = [np.sqrt(squares[step - 1]) for step in steps]
        found["pt"][:, leg - 3] = np.maximum.reduce(of) if of else by.energy
    for i, (square, numbers) in enumerate(zip(squares, events.numbers)):
        found["steps"][:, i], found["legs"][:, i] = np.sqrt(square), numbers
    return found


def _weigh_densities(
    events: Clustered,
    traced: Trace,
    squares: Sequence[Array],
    before: Found,
    by: Weighing,
    most: int,
    found: NDArray[Any],
) -> None:
    """The density at the scale of the first vertex becomes that of the last one, step by step."""
    assert by.density is not None
    count = len(found)
    x = [by.x[:, 0].copy(), by.x[:, 1].copy()]
    shifts = np.where(by.codes > ANTI // 2, ANTI, 0)
    reached: dict[int, Array] = {}
    used = np.ones((2, count), dtype=np.int64)
    for piece in traced.beams(most):
        beam, z = piece.beam, events.fractions[piece.step - 1]
        inside = (z > 0.0) & (z < 1.0)
        z = np.where(inside, z, 1.0)
        x[beam] = x[beam] * z
        central = before.central[beam]
        final = piece.step == traced.last[beam]
        square = central if final else np.minimum(squares[piece.step - 1], central)
        old = reached.get(piece.line)
        if old is None:
            reached[piece.mother] = square
            continue
        reached[piece.mother] = np.maximum(old, square)
        some = np.flatnonzero((old < square) & (found["weight"] != 0.0))
        if piece.step > traced.last[beam] or not len(some):
            continue
        codes = piece.code + shifts[some, beam]
        new, former = (
            by.density(codes, x[beam][some], np.sqrt(scale[some])) for scale in (square, old)
        )
        low = former / x[beam][some] < _LEAST
        ratio = np.where(low, 0.0, new / np.where(low, 1.0, former))
        found["weight"][some] *= ratio
        places = used[beam, some]
        found["pdg"][some, beam, places] = piece.code
        found["x"][some, beam, places] = x[beam][some] / z[some]
        found["q"][some, beam, places] = np.sqrt(square[some])
        used[beam, some] += 1
