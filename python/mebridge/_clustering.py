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
import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Error
from ._output import Config, Directory, Line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_GLUON, _PHOTON, _DUMMY = 21, 22, 7
# Initial-state clusterings against the direction of the beam come after those along it.
_AGAINST = 1.0 + 1e-6
# GeV^2: of a system that is boosted to its rest frame; of scales of factorisation; of the mass of the last pair.
_BOOSTED, _LEAST, _PAIR = 100.0, 4.0, 4.0
_FAR = 1e37


def colors(directory: pathlib.Path) -> dict[int, int]:
    """Dimensions of colour by PDG code, as ``get_color.f`` of a directory lists them."""
    file = directory / "get_color.f"
    try:
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise Error(f"{file} cannot be read: {error.strerror}") from None
    found = re.findall(r"IPDG\.EQ\.\s*(-?\d+)\)\s*THEN\n(?:[C!*].*\n)*\s*GET_COLOR\s*=\s*(-?\d+)", text, re.IGNORECASE)
    return {int(code): int(color) for code, color in found}


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


@dataclass(frozen=True)
class Scales:
    """In GeV; 0 where MadEvent drops the event."""

    renormalisation: Array
    factorisation: tuple[Array, Array]


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
    system: Array | None = None

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
            cut(self.system),
        )


class Clustering:
    """Of one matrix element of a directory.

    Args:
        element: its number in the directory, from 0.
        masses: gives mass and width of a propagator.
    """

    def __init__(
        self,
        directory: Directory,
        element: int,
        masses: Callable[[Line], tuple[float, float]],
        settings: Settings,
    ) -> None:
        self._settings, self._element = settings, element
        self._legs = directory.legs[element]
        self._colors = colors(directory.path)
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

    def drawn(self, momenta: Array, random: Array, energy: float) -> NDArray[np.int64]:
        """Channels of events by the propagators of their diagrams, as MadEvent has them with ``sde_strategy = 2``.

        Args:
            momenta: in the rest frame of the partons.
            random: numbers in [0, 1).
            energy: of both beams.
        """
        numbers = sorted(self._configs)
        shares = np.stack([self._denominators(self._configs[number], momenta, energy**2) for number in numbers])
        sums = np.cumsum(np.maximum(shares, 0.0), axis=0)
        chosen = (sums < random * sums[-1]).sum(axis=0)
        return np.asarray(np.array(numbers)[np.minimum(chosen, len(numbers) - 1)])

    def _denominators(self, config: Config, momenta: Array, total: float) -> Array:
        """What ``get_channel_cut`` of ``genps.f`` gives. Its propagators have p^4 - m^2."""
        found = np.ones(len(momenta))
        signs = np.where(np.arange(len(self._legs)) < 2, -1.0, 1.0)
        for line in config.lines[: len(self._legs) - 3]:
            legs = [leg for leg in range(len(self._legs)) if line.legs >> leg & 1]
            square = _square((momenta[:, legs] * signs[legs][None, :, None]).sum(axis=1))
            mass, width = self._mass(line)
            value = (square - mass) * (square + mass)
            if line.spacelike:
                found /= (value + total * 1e-10) ** 2
            else:
                both = value**2 + (mass * width) ** 2
                found *= (value**2 - (mass * width) ** 2) / both**2
        return found

    def scales(self, momenta: Array, channels: NDArray[np.integer[Any]]) -> Scales:
        """Scales of events in the rest frame of their partons.

        Args:
            momenta: shape (events, legs, 4).
            channels: of each event.
        """
        found = np.zeros((3, len(momenta)))
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
                self._cluster(config, momenta, places, resonances, found)
        return Scales(found[0], (found[1], found[2]))

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
        self, config: Config, momenta: Array, places: NDArray[np.intp], resonances: set[int], found: Array
    ) -> None:
        jets = self._stored.get(config.number)
        if jets is None:
            counts = [0] * (len(self._legs) + 1)
            for group in self._paths(config, momenta, places, resonances, alone=True):
                for some, traced in self._traced(group, momenta):
                    counts[traced.jets] += len(some.places)
            jets = self._stored[config.number] = int(np.argmax(counts))
        for group in self._paths(config, momenta, places, resonances, alone=False):
            for some, traced in self._traced(group, momenta):
                if traced.jets == jets:
                    self._fill(some, traced, found)
                    continue
                for again in self._paths(config, momenta, some.places, resonances, alone=True):
                    for one, retraced in self._traced(again, momenta):
                        self._fill(one, retraced, found)

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
            return self._between(p, group.masses[one], q, group.masses[other])
        against = np.sign(_signed(p[:, 3])) != np.sign(_signed(q[:, 3]))
        return np.asarray(self._beam(p) * np.where(against, _AGAINST, 1.0))

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
        group.system = system
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
        if config.number in group.graphs:
            group.graphs = [config.number]

    # Scales.

    def _traced(self, group: _Events, momenta: Array) -> list[tuple[_Events, _Trace]]:
        """Which steps the scales come from; events are split where it depends on which particle is harder."""
        groups, done = [group], []
        while groups:
            some = groups.pop()
            squares = momenta[some.places][:, :, 1] ** 2 + momenta[some.places][:, :, 2] ** 2
            try:
                done.append((some, _Trace(some, self._code(some.graphs[0]), self._colors, self._settings, squares)))
            except _Mixed as mixed:
                groups += [some.chosen(mixed.mask), some.chosen(~mixed.mask)]
        return done

    def _code(self, graph: int) -> Callable[[int], int]:
        return lambda legs: self._codes.get((graph, legs), 0)

    def _fill(self, group: _Events, traced: _Trace, found: Array) -> None:
        """Scales of the events of a group: geometric means of those of the first and of the central vertices."""
        squares = [d.copy() for d in group.distances]
        transverse = [t.copy() for t in group.transverse]
        count = len(squares)
        first, last, central = traced.first, traced.last, traced.central
        if traced.paired and group.last is not None:
            for step in (count - 1, count - 2):
                transverse[step] = np.where(group.last > _PAIR, group.last, transverse[step])
        for step in dict.fromkeys(central):
            if step:
                squares[step - 1] = np.where(transverse[step - 1] > 0.0, transverse[step - 1], squares[step - 1])
        for beam in (0, 1):
            if last[beam]:
                squares[last[beam] - 1] = np.maximum(squares[last[beam] - 1], squares[first[beam] - 1])

        def of(step: int) -> Array:
            return np.asarray(squares[step - 1])

        factorisation = [np.zeros(len(group.places)) for _ in (0, 1)]
        for beam in (0, 1):
            if last[beam]:
                factorisation[beam] = np.sqrt(of(last[beam]) * of(central[beam]))
        if central[0] and central[0] == central[1]:
            factorisation = [np.maximum(*factorisation)] * 2
        if last[0] and last[1]:
            renormalisation = (of(last[0]) * of(central[0]) * of(last[1]) * of(central[1])) ** 0.125
        elif last[0] or last[1]:
            beam = 0 if last[0] else 1
            renormalisation = (of(last[beam]) * of(central[beam])) ** 0.25
        elif central[0] and central[1]:
            renormalisation = (of(central[0]) * of(central[1])) ** 0.25
        else:
            renormalisation = np.sqrt(of(central[0] or central[1] or count))
        if not central[0] and not central[1]:
            factorisation = [of(count)] * 2
        elif not central[0] or not central[1]:
            beam = 0 if not central[0] else 1
            factorisation[beam] = of(first[beam])
        found[0, group.places] = renormalisation
        for beam in (0, 1):
            found[1 + beam, group.places] = np.sqrt(factorisation[beam])


class _Mixed(Exception):
    """Some events of a group go one way, others another."""

    def __init__(self, mask: NDArray[np.bool_]) -> None:
        self.mask = mask


class _Trace:
    """Lines of partons through a clustering. Steps count from 1; 0 is none."""

    def __init__(
        self,
        group: _Events,
        code: Callable[[int], int],
        colors: Mapping[int, int],
        settings: Settings,
        squares: Array,
    ) -> None:
        self._steps, self._colors, self._squares = group.steps, colors, squares
        self._most = settings.maxjetflavor
        self._code = code
        self._changed: dict[int, int] = {}
        count = squares.shape[1]
        self._count = count
        # The particle, or beam, that a line leads to, and a second one where a gluon became two quarks.
        self._ends = {1 << leg: (leg + 1, 0) for leg in range(count)}
        for step in group.steps[:-1]:
            self._follow(*step)
        self._jets = [0] * (count + 1)
        self._good: dict[int, bool] = {}
        self.first, self.last, self.central = [0, 0], [0, 0], [0, 0]
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
        return abs(code) <= self._most or abs(code) == _GLUON

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
        raise _Mixed(mask)

    def _emitting(self, one: int, other: int) -> bool:
        """Whether the first is a quark and the second a gluon or photon."""
        code = self._pdg(one)
        return code < _GLUON and self._light(code) and self._pdg(other) in (_GLUON, _PHOTON)

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

        if code == _GLUON and first == second == _GLUON:
            return harder()
        if code == _GLUON and abs(first) <= 6 and abs(second) <= 6:
            return both()
        if self._color(mother) == 8 and colors[1:] == (3, 3):
            return both()
        if code == _GLUON and _GLUON in (first, second):
            gluon, rest = (one, other) if first == _GLUON else (other, one)
            return harder() if self._strong(rest) else self._ends[gluon]
        if code == _GLUON:
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
                        sure = partons[beam] or self._pdg(emitted) == _GLUON
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
                    if ends == before and line >= number:
                        self._ends[line] = self._ends[soft]

    def _paired(self) -> bool:
        """Whether the last step but one is a strong decay into two along a colour line through the event."""
        count = self._count
        if count <= 3 or self.last != [count - 2, count - 2]:
            return False
        return all(self._strong(line) for line in self._steps[count - 4])


def _sign(code: int) -> int:
    return 1 if code >= 0 else -1


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


def drops(scales: Scales, hadrons: bool, factor: float) -> NDArray[np.bool_]:
    """Events that MadEvent drops: not clustered, or with a scale of factorisation below 2 GeV."""
    found = scales.renormalisation <= 0.0
    if hadrons:
        for scale in scales.factorisation:
            found |= (factor * scale) ** 2 < _LEAST
    return found
