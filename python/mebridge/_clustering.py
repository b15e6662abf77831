"""The scales of ``dynamical_scale_choice = -1``: an event is clustered to 2 -> 2 along diagrams of its process.

What MadEvent does in ``cluster.f`` and ``setclscales`` of ``reweight.f`` (kT clustering of arXiv:hep-ph/0208156 and
arXiv:0810.5350, by the diagrams that the process has), for many events at once: those that are clustered in the same
order go together. Legs and what they are combined to are sets of bits, 1 and 2 being the beams.

An event belongs to a channel there. The diagrams that it may be clustered by are those with as many strong vertices as
its channel has, and with the resonances that are on their mass shells in its channel; and it has as many jets as its
channel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _matching
from ._matching import Clustered, Given, Matching, Weighing
from ._output import Config, Directory, Line, colors
from ._traces import Mixed, Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Initial-state clusterings against the direction of the beam come after those along it.
_AGAINST = 1.0 + 1e-6
# GeV^2: of a system that is boosted to its rest frame; of scales of factorisation; of what is left of the partons.
_BOOSTED, _LEAST, _LEFT = 100.0, 4.0, 1.0
# What cannot be, as pyjb has it: a momentum transfer that is timelike, and nothing left of the partons.
_TIMELIKE, _NOTHING = 1e30, 1e20
_CUTS = Matching(False, 0.0, 0.0, 1.0, 5, False)


@dataclass(frozen=True)
class Settings:
    """What of the run card matters."""

    hadrons: bool
    maxjetflavor: int
    bwcutoff: float
    small_width: float
    distance: float
    """The entry d."""
    denominators: bool = False
    """Whether channels have their shares by propagators (``sde_strategy = 2``), not by squared diagrams."""
    scheme: int = 1
    """``ktscheme``: 1, transverse momenta, or 2, those of Pythia's shower."""
    alone: bool = False
    """``chcluster``: whether events are clustered along the diagram of their channel alone."""


@dataclass(frozen=True)
class Scales:
    """In GeV; 0 where MadEvent drops the event."""

    renormalisation: Array
    factorisation: tuple[Array, Array]
    matched: NDArray[Any] | None = None
    """Where events are weighted by matching, :func:`mebridge._matching.layout`."""


@dataclass
class _Events:
    """Events that were clustered in the same order so far."""

    places: NDArray[np.intp]
    """Which of all they are."""
    momenta: dict[int, Array]
    """Of what is there, shape (events, 4)."""
    masses: dict[int, Array]
    """Squared masses as the measure has them."""
    order: list[int]
    """What is left, the beams first."""
    graphs: list[int]
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    """First, second, and what they became."""
    distances: list[Array] = field(default_factory=list)
    """Squared, of each step."""
    transverse: list[Array] = field(default_factory=list)
    """Squared transverse masses of what was emitted from a beam; 0 otherwise."""
    last: Array | None = None
    """Product of transverse masses of the last pair."""
    boost: tuple[Array, Array] | None = None
    """Boost and rotation of the last clustering with a beam."""
    fractions: list[Array] = field(default_factory=list)
    """What of a beam's momentum is left, of each step."""
    labels: list[int] = field(default_factory=list)
    """Of what is left, the leg that it began with, from 1."""
    numbers: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each step, the labels of first and second, and of the other beam; 0 for none."""

    def chosen(self, mask: NDArray[Any]) -> _Events:
        def cut(array: Array | None) -> Array | None:
            return None if array is None else array[mask]

        return _Events(
            self.places[mask],
            {name: p[mask] for name, p in self.momenta.items()},
            {name: m[mask] for name, m in self.masses.items()},
            list(self.order),
            list(self.graphs),
            list(self.steps),
            [d[mask] for d in self.distances],
            [t[mask] for t in self.transverse],
            cut(self.last),
            None if self.boost is None else (self.boost[0][mask], self.boost[1][mask]),
            [z[mask] for z in self.fractions],
            list(self.labels),
            list(self.numbers),
        )

    @property
    def clustered(self) -> Clustered:
        return Clustered(self.distances, self.transverse, self.last, self.fractions, self.numbers)


@dataclass
class _Filled:
    """What is found of events, in their places."""

    renormalisation: Array
    factorisation: Array
    matched: NDArray[Any] | None


class Clustering:
    """Of one matrix element of a directory.

    Args:
        element: its number in the directory, from 0.
        masses: gives mass and width of a propagator.
        matching: what events are cut and weighted by besides.
    """

    def __init__(
        self,
        directory: Directory,
        element: int,
        masses: Callable[[Line], tuple[float, float]],
        settings: Settings,
        matching: Matching = _CUTS,
    ) -> None:
        self._settings, self._element, self._matching = settings, element, matching
        self._legs = directory.legs[element]
        self._colors = colors(directory)
        self._everything = (1 << len(self._legs)) - 1
        self._configs = {config.number: config for config in directory.configs if config.diagrams[element]}
        self._mass = functools.lru_cache(maxsize=None)(masses)
        # Diagrams by a propagator, from either side; codes of propagators; those that may be on their mass shells.
        self._graphs: dict[int, list[int]] = {}
        self._codes: dict[tuple[int, int], int] = {}
        self._resonant: dict[int, set[int]] = {}
        for config in self._configs.values():
            for leg, code in enumerate(self._legs):
                self._codes[config.number, 1 << leg] = code
            resonant = self._resonant.setdefault(config.number, set())
            for line in config.lines:
                for legs in (line.legs, self._everything - line.legs):
                    self._graphs.setdefault(legs, []).append(config.number)
                    self._codes[config.number, legs] = line.codes[element]
                    if self._mass(line)[1] > 0.0:
                        resonant.add(legs)
        self._stored: dict[int, int] = {}

    def diagrams(self) -> dict[int, int]:
        """Channels by diagrams of the matrix element, both from 1."""
        return {config.diagrams[self._element]: config.number for config in self._configs.values()}

    def scales(
        self,
        momenta: Array,
        channels: NDArray[np.integer[Any]],
        given: Given | None = None,
        weighing: Weighing | None = None,
        codes: NDArray[np.int64] | None = None,
    ) -> Scales:
        """Scales of events in the rest frame of their partons.

        Args:
            momenta: shape (events, legs, 4).
            channels: of each event.
            given: scales that they have before.
            weighing: what weights of matching are made with, where they are wanted.
            codes: PDG codes of all legs, (events, legs), which the weights depend on; not those of antiprotons.
        """
        count = len(momenta)
        given = given or Given.nothing(count)
        wanted = weighing is not None and self._matching.reweighted
        matched = np.zeros(count, _matching.layout(len(self._legs))) if wanted else None
        found = _Filled(np.zeros(count), np.zeros((2, count)), matched)
        asked = _Asked(momenta, given, weighing, codes if wanted else None)
        for channel in np.unique(channels):
            config = self._configs[int(channel)]
            every = np.flatnonzero(channels == channel)
            shells, dropped = self._on_shell(config, momenta[every])
            kept = every[~dropped]
            shells = [shell[~dropped] for shell in shells]
            names = [line.legs for line in config.lines]
            keys = sum((shell.astype(np.int64) << i for i, shell in enumerate(shells)), np.zeros(len(kept), np.int64))
            for key in np.unique(keys):
                places = kept[keys == key]
                resonances = {legs for i, legs in enumerate(names) if int(key) >> i & 1}
                self._cluster(config, asked, places, resonances, found)
        return Scales(found.renormalisation, (found.factorisation[0], found.factorisation[1]), matched)

    def excluded(self, momenta: Array, channels: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Events that MadEvent drops in their channels: a resonance of a decay chain is off its mass shell, or one
        behind a $ is on it."""
        found = np.zeros(len(momenta), dtype=bool)
        for channel in np.unique(channels):
            places = np.flatnonzero(channels == channel)
            found[places] = self._on_shell(self._configs[int(channel)], momenta[places])[1]
        return found

    def _on_shell(self, config: Config, momenta: Array) -> tuple[list[NDArray[np.bool_]], NDArray[np.bool_]]:
        """Of each propagator whether it is on its mass shell; and which events are dropped."""
        settings, events = self._settings, len(momenta)
        found: list[NDArray[np.bool_]] = []
        dropped = np.zeros(events, dtype=bool)
        masses: list[Array] = []
        index = {line.legs: i for i, line in enumerate(config.lines)}
        beyond = False
        for line in config.lines:
            off = np.zeros(events, dtype=bool)
            beyond |= line.spacelike or bool(line.legs & 3)
            legs = [leg for leg in range(len(self._legs)) if line.legs >> leg & 1]
            masses.append(_invariant(momenta[:, legs].sum(axis=1)) if not beyond else np.zeros(events))
            mass, width = self._mass(line)
            if beyond or width <= 0.0:
                found.append(off)
                continue
            width = max(width, mass * settings.small_width)
            near = np.abs(masses[-1] - mass) < settings.bwcutoff * width
            shell = near & (width / mass < 0.1 or line.forced == 1)
            if line.forced == 2:
                dropped |= shell
            elif line.forced == 1:
                dropped |= ~shell
            self._identical(config, line, index, shell, found, masses, mass)
            found.append(shell)
        return found, dropped

    def _identical(
        self,
        config: Config,
        line: Line,
        index: Mapping[int, int],
        shell: NDArray[np.bool_],
        found: list[NDArray[np.bool_]],
        masses: list[Array],
        mass: float,
    ) -> None:
        """Of a particle that becomes the same particle and another one, one of the two is on its mass shell."""
        same = 0
        for daughter in line.daughters:
            code = self._codes.get((config.number, daughter), 0)
            if code == line.codes[self._element]:
                same = daughter
        if not same:
            return
        if same not in index:
            shell[:] = False
            return
        other = index[same]
        if config.lines[other].forced == 1:
            shell[:] = False
        elif line.forced == 1:
            found[other] &= ~shell
        else:
            farther = np.abs(masses[-1] - mass) > np.abs(masses[other] - mass)
            found[other] &= ~(shell & ~farther)
            shell &= ~farther

    # Clustering.

    def _cluster(
        self, config: Config, asked: _Asked, places: NDArray[np.intp], resonances: set[int], found: _Filled
    ) -> None:
        jets, momenta = self._stored.get(config.number), asked.momenta
        if jets is None:
            counts = [0] * (len(self._legs) + 1)
            for group in self._paths(config, momenta, places, resonances, alone=True):
                for some, traced in self._traced(group, momenta, None):
                    counts[traced.jets] += len(some.places)
            jets = self._stored[config.number] = int(np.argmax(counts))
        for group in self._paths(config, momenta, places, resonances, alone=self._settings.alone):
            for some, traced in self._traced(group, momenta, asked.codes):
                if traced.jets == jets:
                    self._fill(some, traced, asked, found)
                    continue
                for again in self._paths(config, momenta, some.places, resonances, alone=True):
                    for one, retraced in self._traced(again, momenta, asked.codes):
                        self._fill(one, retraced, asked, found)

    def _allowed(self, config: Config, resonances: set[int], alone: bool) -> Callable[[int], list[int]]:
        """Diagrams that a first clustering may be of."""

        @functools.lru_cache(maxsize=None)
        def allowed(legs: int) -> list[int]:
            return [
                number
                for number in self._graphs.get(legs, ())
                if self._configs[number].nqcd == config.nqcd
                and (not alone or number == config.number)
                and resonances <= self._resonant[number]
            ]

        return allowed

    def _paths(
        self, config: Config, momenta: Array, places: NDArray[np.intp], resonances: set[int], alone: bool
    ) -> list[_Events]:
        """Groups of events by the order in which they are clustered."""
        count = len(self._legs)
        p = momenta[places]
        start = _Events(
            places,
            {1 << leg: p[:, leg] for leg in range(count)},
            {1 << leg: _square(p[:, leg]) for leg in range(count)},
            [1 << leg for leg in range(count)],
            [],
            labels=list(range(1, count + 1)),
        )
        allowed = self._allowed(config, resonances, alone)
        groups, done = [start], []
        while groups:
            group = groups.pop()
            if len(group.order) == 3:
                self._ended(group, config)
                done.append(group)
                continue
            groups += self._step(group, allowed, resonances)
        return done

    def _step(
        self, group: _Events, allowed: Callable[[int], list[int]], resonances: set[int]
    ) -> list[_Events]:
        """Combines the two that are nearest."""
        pairs, measures = [], []
        for i in range(2, len(group.order)):
            for j in range(i):
                together = group.order[i] + group.order[j]
                graphs = allowed(together) if not group.steps else self._common(group.graphs, together)
                if graphs:
                    pairs.append((j, i, graphs))
                    measures.append(self._measure(group, j, i, resonances))
        if not pairs:
            # MadEvent drops what it cannot cluster.
            return []
        distances = np.stack(measures)
        nearest = np.argmin(distances, axis=0)
        found = []
        for number in np.unique(nearest):
            mask = nearest == number
            j, i, graphs = pairs[number]
            found.append(self._combined(group.chosen(mask), j, i, graphs, distances[number][mask], resonances))
        return found

    def _common(self, graphs: list[int], together: int) -> list[int]:
        there = set(self._graphs.get(together, ()))
        return [graph for graph in graphs if graph in there]

    def _measure(self, group: _Events, j: int, i: int, resonances: set[int]) -> Array:
        one, other = group.order[i], group.order[j]
        p, q = group.momenta[one], group.momenta[other]
        if j >= 2:
            if one + other in resonances:
                return _square(p + q)
            if self._settings.scheme == 2:
                return np.asarray(p[:, 0] * q[:, 0] / (p[:, 0] + q[:, 0]) ** 2 * _square(p + q))
            return self._between(p, group.masses[one], q, group.masses[other])
        against = np.sign(_signed(p[:, 3])) != np.sign(_signed(q[:, 3]))
        distance = self._beam(p) if self._settings.scheme != 2 else self._evolution(group, j, i)
        return np.asarray(distance * np.where(against, _AGAINST, 1.0))

    def _evolution(self, group: _Events, j: int, i: int) -> Array:
        """Of an emission from a beam, by Pythia's shower."""
        beam, out = group.order[j], group.order[i]
        left = group.momenta[beam] - group.momenta[out]
        transfer = -_square(left) + np.maximum(np.maximum(group.masses[beam], group.masses[out]), 0.0)
        part, fraction = self._fraction(group, j, i)
        found = np.where(part < _LEFT, _NOTHING, (1.0 - fraction) * transfer)
        return np.where(transfer < 0.0, _TIMELIKE, found)

    def _fraction(self, group: _Events, j: int, i: int) -> tuple[Array, Array]:
        """What is left of the partons' squared energy if a beam emits, GeV^2, and what share of it that is."""
        beam, out, other = (group.momenta[group.order[place]] for place in (j, i, 1 - j))
        before, after = _square(beam + other), _square(beam - out + other)
        return after, np.where(after < _LEFT, 0.0, after / np.where(after < _LEFT, 1.0, before))

    def _beam(self, p: Array) -> Array:
        """Of an emission from a beam."""
        if self._settings.hadrons:
            return (p[:, 0] - p[:, 3]) * (p[:, 0] + p[:, 3])
        return np.maximum(p[:, 0], 0.0) ** 2

    def _between(self, p: Array, p_mass: Array, q: Array, q_mass: Array) -> Array:
        """Of two that go out: Durham's measure, or that of hadrons."""
        momenta = [np.linalg.norm(v[:, 1:], axis=1) for v in (p, q)]
        if not self._settings.hadrons:
            cosine = (p[:, 1:] * q[:, 1:]).sum(axis=1) / (momenta[0] * momenta[1])
            return np.asarray(2.0 * np.minimum(p[:, 0] ** 2, q[:, 0] ** 2) * (1.0 - cosine))
        first, second = (v[:, 1] ** 2 + v[:, 2] ** 2 for v in (p, q))
        with np.errstate(divide="ignore", invalid="ignore"):
            eta = [0.5 * np.log((m + v[:, 3]) / (m - v[:, 3])) for m, v in zip(momenta, (p, q))]
            cosine = (p[:, 1] * q[:, 1] + p[:, 2] * q[:, 2]) / np.sqrt(first * second)
            angle = 2.0 * (np.cosh(eta[0] - eta[1]) - cosine) / self._settings.distance**2
        found = np.maximum(p_mass, q_mass) + np.minimum(first, second) * angle
        for light, heavy, v in ((p_mass, q_mass, p), (q_mass, p_mass, q)):
            flavors = self._settings.maxjetflavor
            mixed = (light < 1.0) & ((heavy >= 3.0) & (flavors > 4) | (heavy >= 1.0) & (flavors > 3))
            found = np.where(mixed, self._beam(v) * _AGAINST, found)
        return np.asarray(found)

    def _combined(
        self, group: _Events, j: int, i: int, graphs: list[int], distance: Array, resonances: set[int]
    ) -> _Events:
        one, other = group.order[j], group.order[i]
        mother, left = one + other, len(group.order)
        group.graphs = graphs
        group.steps.append((one, other, mother))
        group.distances.append(distance)
        p, q = group.momenta[one], group.momenta[other]
        heavier = np.maximum(group.masses[one], group.masses[other])
        unknown = self._settings.scheme == 2 and not group.fractions
        still = j >= 2 or unknown
        group.fractions.append(np.zeros(len(distance)) if still else self._fraction(group, j, i)[1])
        group.numbers.append((group.labels[j], group.labels[i], group.labels[1 - j] if j < 2 else 0))
        del group.labels[i]
        if j < 2:
            group.transverse.append(self._beam(q))
            group.momenta[mother] = p - q
            group.masses[mother] = np.maximum(heavier, 0.0)
            partner = group.order[1 - j]
            self._rest(group, mother, partner, boosted=left > 4)
        else:
            group.transverse.append(np.zeros(len(distance)))
            group.momenta[mother] = p + q
            group.masses[mother] = distance if mother in resonances else np.maximum(heavier, 0.0)
        group.order[j] = mother
        del group.order[i]
        if len(group.order) == 3 and j >= 2:
            group.last = np.sqrt(self._beam(p) * self._beam(q))
            self._back(group)
        return group

    def _rest(self, group: _Events, mother: int, partner: int, boosted: bool) -> None:
        """Takes what is left to its rest frame, with the new parton along z."""
        system = group.momenta[mother] + group.momenta[partner]
        if not boosted:
            group.boost = None
            return
        heavy = _square(system) > _BOOSTED
        against = system * np.array([1.0, -1.0, -1.0, -1.0])
        axis = _boosted(group.momenta[mother], against)
        turn = _rotation(axis)
        names = {mother, *group.order}
        for name in names:
            moved = np.einsum("eij,ej->ei", turn, _boosted(group.momenta[name], against))
            group.momenta[name] = np.where(heavy[:, None], moved, group.momenta[name])
        group.boost = (system, turn)

    def _back(self, group: _Events) -> None:
        """Takes the last particle back to the frame before the last boost."""
        if group.boost is None:
            return
        system, turn = group.boost
        heavy = _square(system) > _BOOSTED
        name = group.order[2]
        moved = _boosted(np.einsum("eji,ej->ei", turn, group.momenta[name]), system)
        group.momenta[name] = np.where(heavy[:, None], moved, group.momenta[name])

    def _ended(self, group: _Events, config: Config) -> None:
        first, second, last = group.order
        group.steps.append((first, second, last))
        group.distances.append(self._beam(group.momenta[last]))
        group.transverse.append(np.zeros(len(group.places)))
        group.fractions.append(np.full(len(group.places), 0.0 if len(self._legs) == 3 else 1.0))
        # As MadEvent writes it.
        group.numbers.append((1, 3, 2))
        if config.number in group.graphs or not group.graphs:
            group.graphs = [config.number]

    # Scales.

    def _traced(
        self, group: _Events, momenta: Array, codes: NDArray[np.int64] | None
    ) -> list[tuple[_Events, Trace]]:
        """Which steps the scales come from; events are split where it depends on which particle is harder, and by their
        flavours."""
        groups, done = [(group, dict[int, int]())], []
        if codes is not None:
            groups = []
            for row in np.unique(codes[group.places], axis=0):
                some = (codes[group.places] == row).all(axis=1)
                groups.append((group.chosen(some), {1 << leg: int(code) for leg, code in enumerate(row)}))
        while groups:
            some, legs = groups.pop()
            squares = momenta[some.places][:, :, 1] ** 2 + momenta[some.places][:, :, 2] ** 2
            code = self._code(some.graphs[0], legs)
            try:
                traced = Trace(some.steps, code, self._colors, self._settings.maxjetflavor, squares)
                done.append((some, traced))
            except Mixed as mixed:
                groups += [(some.chosen(mixed.mask), legs), (some.chosen(~mixed.mask), legs)]
        return done

    def _code(self, graph: int, own: Mapping[int, int]) -> Callable[[int], int]:
        """PDG codes of lines; those of legs may be others than the diagram's."""
        return lambda legs: own.get(legs, self._codes.get((graph, legs), 0))

    def _fill(self, group: _Events, traced: Trace, asked: _Asked, found: _Filled) -> None:
        """Scales of the events of a group."""
        matching = self._matching
        group = group.chosen(_matching.passed(_matching.vertices(group.clustered, traced), traced, matching))
        events, given = group.clustered, asked.given.chosen(group.places)
        scales = _matching.scales(_matching.vertices(events, traced), traced, given, matching)
        found.renormalisation[group.places] = scales.renormalisation
        for beam in (0, 1):
            found.factorisation[beam, group.places] = np.sqrt(scales.factorisation[beam])
        if found.matched is not None and asked.weighing is not None:
            by = asked.weighing.chosen(group.places)
            legs = len(self._legs)
            found.matched[group.places] = _matching.weigh(events, traced, scales, given, matching, by, legs)


@dataclass(frozen=True)
class _Asked:
    """Events of a matrix element."""

    momenta: Array
    given: Given
    weighing: Weighing | None
    codes: NDArray[np.int64] | None
    """PDG codes of their legs, where it depends on them."""


def _signed(values: Array) -> Array:
    """Fortran's sign of 0 is positive."""
    return np.where(values >= 0.0, 1.0, -1.0)


def _square(p: Array) -> Array:
    return p[:, 0] ** 2 - p[:, 1] ** 2 - p[:, 2] ** 2 - p[:, 3] ** 2


def _invariant(p: Array) -> Array:
    return np.sqrt(np.maximum(_square(p), 0.0))


def _boosted(p: Array, q: Array) -> Array:
    """Momenta given in the rest frame of q, in the frame where q is given."""
    square = (q[:, 1:] ** 2).sum(axis=1)
    still = square == 0.0
    product = (p[:, 1:] * q[:, 1:]).sum(axis=1)
    mass = np.sqrt(np.maximum(q[:, 0] ** 2 - square, 1e-99))
    factor = ((q[:, 0] - mass) * product / np.where(still, 1.0, square) + p[:, 0]) / mass
    moved = np.empty_like(p)
    moved[:, 0] = (p[:, 0] * q[:, 0] + product) / mass
    moved[:, 1:] = p[:, 1:] + q[:, 1:] * factor[:, None]
    return np.where(still[:, None], p, moved)


def _rotation(axis: Array) -> Array:
    """Matrices that turn the momenta of this axis to z, about the axis that stands on both."""
    direction = axis[:, 1:] / np.linalg.norm(axis[:, 1:], axis=1)[:, None]
    cosine = direction[:, 2]
    normal = np.stack([direction[:, 1], -direction[:, 0], np.zeros(len(axis))], axis=1)
    sine = np.linalg.norm(normal, axis=1)
    small = sine < 1e-17
    normal = normal / np.where(small, 1.0, sine)[:, None]
    found = np.zeros((len(axis), 4, 4))
    found[:, 0, 0] = 1.0
    cross = np.zeros((len(axis), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -normal[:, 2], normal[:, 1], -normal[:, 0]
    cross -= cross.transpose(0, 2, 1)
    identity = np.broadcast_to(np.eye(3), cross.shape)
    turned = identity + sine[:, None, None] * cross + (1.0 - cosine)[:, None, None] * (cross @ cross)
    found[:, 1:, 1:] = np.where(small[:, None, None], identity, turned)
    return found


def drops(scales: Scales, densities: tuple[bool, bool]) -> NDArray[np.bool_]:
    """Events that MadEvent drops: not clustered or cut, or with a scale of densities, of beams that have some, below 2
    GeV."""
    found = scales.renormalisation <= 0.0
    for scale, there in zip(scales.factorisation, densities):
        if there:
            found |= scale**2 < _LEAST
    return found
