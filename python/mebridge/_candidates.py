"""Channels that matrix elements have in common, before a survey: which there are, and which of them stay.

Random points of each are tried. One in which few of them pass the cuts is left out, and so are those that
others can stand for (:mod:`mebridge._shares`): weights of channels add up to one without them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _channels, _cuts, _flavors, _shares, _single, _topologies, _trial
from ._elements import Element

if TYPE_CHECKING:
    from numpy.typing import NDArray

# In a run, at most: with more MadSpace 0.2.1 waits without an end.
MOST = 4096
# A channel in which fewer of the points that are tried pass the cuts is left out.
_FEW = 10
# A massless propagator with momentum p is sampled by 1 / (p^2)^power. 1 is what a cross section has whose soft and
# collinear ends are cut off; with MadSpace's 0.8 of p p > t t~ j 4 of 5 events are kept of as many points.
_POWER = 1.0


class Beams(NamedTuple):
    """What is added to codes of what comes from both beams."""

    first: int
    second: int

    @property
    def different(self) -> bool:
        return self.first != self.second

    @property
    def exchanged(self) -> Beams:
        return Beams(self.second, self.first)

    def codes(self, pair: Sequence[int]) -> tuple[int, int]:
        return pair[0] + self.first, pair[1] + self.second

    def processes(self, some: Sequence[Sequence[int]]) -> list[list[int]]:
        return [[*self.codes(pdg), *pdg[2:]] for pdg in some]


class Prepared(NamedTuple):
    """A matrix element with what is asked of its events."""

    element: Element
    legs: tuple[float, ...]
    """Their masses."""
    selection: Any
    """MadSpace's cuts."""
    scales: Any
    windows: Sequence[_cuts.Window]
    """All cuts of it."""


@dataclass
class Candidates:
    """Matrix elements that have their channels in common, and what random points say of these."""

    members: Mapping[int, Prepared]
    options: list[_flavors.Option]
    groups: list[_channels.Group]
    """Of channels; each has a topology and what makes its mapping."""
    topologies: list[Any]
    makes: Sequence[Callable[[], Any]]
    counts: list[tuple[int, int]]
    """Of how many points how many pass the cuts."""
    chances: list[tuple[float, ...]]
    kept: list[int]
    """Which groups of channels have points enough."""
    fewer: Sequence[list[int]]
    """Which of these need not be left out, for each of :data:`mebridge._shares.GROWTHS`."""

    def nothing(self) -> None:
        """Leaves out all channels."""
        self.kept, self.fewer = [], [[]] * len(_shares.GROWTHS)

    @property
    def first(self) -> Prepared:
        return next(iter(self.members.values()))

    @property
    def single(self) -> bool:
        return len(self.first.element.flavor["options"][0]) == _single.LEGS

    def columns(self) -> dict[int, int]:
        """Where the weight of each channel stands."""
        return {m: column for column, m in enumerate(m for i in self.kept for m in self.groups[i].members)}

    def weights(self, madspace: Any, one_energy: bool) -> Any:
        """Weights of channels by propagators, in the order of :meth:`columns`."""
        element, legs, _, _, windows = self.first
        channels = element.channels
        of = [channels[member] for member in self.columns()]
        return _topologies.weights(madspace, legs, of, windows, one_energy)

    def peaks(self) -> list[frozenset[frozenset[Any]]]:
        """Of each group of channels that is kept, of each of them, the resonances."""
        element, legs, _, _, windows = self.first
        found = [_topologies.resonances(legs, channel, windows) for channel in element.channels]
        return [frozenset(found[member] for member in self.groups[i].members) for i in self.kept]


def try_(
    madspace: Any,
    threads: int,
    members: Mapping[int, Prepared],
    squared: _flavors.Squared,
    energy: float,
    densities: bool,
    beams: Beams,
) -> Candidates:
    """Tries the channels that these matrix elements have in common."""
    element, legs, selection, _, windows = next(iter(members.values()))
    options = _options(members, beams)
    equal = tuple(float(len(of.processes)) for of in options)
    channels = element.channels
    single = len(element.flavor["options"][0]) == _single.LEGS
    if single:
        # All diagrams are one channel: nothing is mapped.
        topologies = [_single.topology(madspace, legs)]
        groups = [_channels.Group((0,), (tuple(range(len(legs))),))]
    else:
        of_legs = zip(*(labels(of.element, densities, beams) for of in members.values()))
        groups = _channels.groups(channels, list(of_legs))
        topologies = [
            _topologies.of_mapping(madspace, legs, channels[group.members[0]], windows, group.permutations)
            for group in groups
        ]
    makes = [
        functools.partial(
            madspace.PhaseSpaceMapping,
            topology,
            energy,
            cuts=selection,
            permutations=[list(permutation) for permutation in group.permutations],
            leptonic=not densities,
            invariant_power=_POWER,
        )
        for group, topology in zip(groups, topologies)
    ]
    if single:
        count = _single.passing(madspace, legs, energy, selection)
        kept = [0] if count[1] else []
        stay = [kept] * len(_shares.GROWTHS)
        return Candidates(members, options, groups, topologies, makes, [count], [equal], kept, stay)
    # MadSpace does not hold the interpreter's lock here.
    with ThreadPoolExecutor(threads) as pool:
        points = list(pool.map(lambda make: _trial.points(madspace, make()), makes))
    if densities:
        points = [of._replace(weights=of.weights * _luminosity(of.momenta, energy)) for of in points]
    counts = [(of.tried, of.passed) for of in points]
    chances = squared.chances(options, points if len(members) > 1 else []) or [equal] * len(makes)
    least = min(_FEW, max(passed for _, passed in counts))
    kept = [i for i, (_, passed) in enumerate(counts) if passed >= max(1, least)]
    found = Candidates(members, options, groups, topologies, makes, counts, chances, kept, [kept] * len(_shares.GROWTHS))
    if len(kept) > 1:
        columns = found.columns()
        places = [[columns[member] for member in groups[i].members] for i in kept]
        weights, values = found.weights(madspace, not densities), squared.of(next(iter(members)))
        stay = _shares.kept(madspace, weights, [points[i] for i in kept], places, found.peaks(), values)
        found.fewer = [[kept[i] for i in some] for some in stay]
    return found


def _options(members: Mapping[int, Prepared], beams: Beams) -> list[_flavors.Option]:
    """What may come in: in the order of the beams, and in the other one where that is not the same, seen from the other
    side."""
    found = []
    for member, of in members.items():
        mirror = bool(of.element.flavor["mirror"])
        ways = [beams, beams.exchanged] if mirror and beams.different else [beams]
        for way in ways:
            for pair, some in of.element.options.items():
                mirrored = mirror and not beams.different
                found.append(_flavors.Option(member, way.codes(pair), way.processes(some), mirrored))
    return found


def _luminosity(momenta: NDArray[np.float64], energy: float) -> NDArray[np.float64]:
    """Roughly what densities and the flux make of a point: x f(x) falls as (1 - x)^4."""
    incoming = momenta[:, 0] + momenta[:, 1]
    squared = incoming[:, 0] ** 2 - (incoming[:, 1:] ** 2).sum(axis=1)
    found: NDArray[np.float64] = np.maximum(0.0, 1.0 - np.sqrt(squared) / energy) ** 8 / squared**2
    return found


def leave_out(tried: Sequence[Candidates]) -> None:
    """Leaves out the channels that others can stand for, and more of all matrix elements where MadSpace could not have as
    many."""
    for stay in zip(*(of.fewer for of in tried)):
        for of, kept in zip(tried, stay):
            of.kept = kept
        if sum(map(len, stay)) <= MOST:
            break


def labels(element: Element, densities: bool, of: Beams) -> list[Any]:
    """Of the legs: those with the same one may take each other's places. Beams have densities of their partons."""
    codes = list(zip(*element.flavor["options"]))
    beams = list(zip(of, codes[:2])) if densities else [tuple(map(abs, codes[leg])) for leg in (0, 1)]
    return [*beams, *(tuple(map(abs, leg)) for leg in codes[2:])]
