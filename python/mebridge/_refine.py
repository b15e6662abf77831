"""What MadSpace cannot take of a run card: scales by clustering, and cuts that it has not.

Its events, made with other scales and with the cuts that it has, are weighted by what the run card makes of them, and
unweighted again: each is kept with a probability in proportion to the new weight over the old one.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _clustering, _cuts, _lines, _matching, _named, _output, _records, _single
from ._densities import ANTI
from ._elements import Element
from ._library import Error
from ._process import Process
from ._scales import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Events by which it is told how large weights are, of each number of legs about.
TRIAL = 2000
# A round asks for so many times the events that it needs by the trial, and so many standard deviations of them.
_MARGIN, _DEVIATIONS = 1.05, 4.0


@dataclass(frozen=True)
class Asked:
    """What of the run card is left, for one matrix element."""

    directory: str | Mapping[str, Any]
    """Its path; or what :mod:`mebridge._named` makes one of."""
    number: int
    """Of the matrix element in the directory, from 0."""
    windows: Sequence[Mapping[str, Any]]
    """Cuts that MadSpace has not."""
    rules: Sequence[Mapping[str, Any]]
    """Further ones."""
    helicities: bool
    """Whether they depend on the frame. MadSpace draws them in that of the beams, MadEvent in that of the partons."""
    source: str
    """The process, which may be elsewhere than in the directory."""
    model: str | None = None
    """Of a process by its name."""
    turning: bool = False
    """Whether |M|^2 depends on the frame. MadSpace has that of the beams, MadEvent that of the partons."""


class Refiner:
    """Weights of events by the run card.

    Args:
        elements: the matrix elements.
        asked: of each of them.
        scale: how MadSpace has the scales.
        clustering: what channels need, where events are clustered or resonances are excluded.
        matching: what :class:`mebridge._matching.Matching` takes, where events are clustered.
        scaled: by what scales are that MadSpace has not: ``clustering``, or ``et`` in the rest frame of the partons.
        card: the parameter card.
        energies: of the beams in the frame of the detector; MadSpace's events have beams of the same energy.
        densities: x f(x, Q) by PDG code, or none.
        alpha_s: by the scale.
        parton_beam: which one is a parton itself, beside one of hadrons.
        mirrored: numbers, from 1, of the matrix elements that have both orders of their beams.
        anti: which beams have codes of antiprotons.
        cut: which events stay by a function of the momenta as event files have them.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        asked: Sequence[Mapping[str, Any]],
        scale: Mapping[str, Any],
        factor: float,
        clustering: Mapping[str, Any] | None,
        matching: Mapping[str, Any] | None,
        scaled: str,
        card: str,
        energies: tuple[float, float],
        densities: Any,
        alpha_s: Any,
        parton_beam: int | None = None,
        mirrored: Collection[int] = (),
        anti: tuple[bool, bool] = (False, False),
        cut: Callable[[Array], NDArray[np.bool_]] | None = None,
    ) -> None:
        self._mirrored, self._anti, self._cut = mirrored, anti, cut
        self.counts = [0, 0]
        """Of the last round, how many events the function was asked about, and how many it kept."""
        self._scale = Scale.asked(scale, factor)
        self._energy = energy = 2.0 * math.sqrt(energies[0] * energies[1])
        self._boost = boost = _cuts.rapidity(energies)
        self._densities, self._alpha_s = densities, alpha_s
        frame = _Frame(clustering, matching, scaled, card, energy, boost, densities, alpha_s, parton_beam)
        self._elements = [_Element(element, Asked(**of), frame) for element, of in zip(elements, asked)]
        self._matched = None
        if matching is not None and matching["reweighted"]:
            self._matched = _matching.layout(max(element.legs for element in self._elements))
        # Matching gives those of more legs larger weights.
        self.trial = TRIAL * len({element.legs for element in self._elements})
        self.ceiling, self.share = 1.0, 1.0

    def try_(self, file: pathlib.Path, seed: int, overweight: float) -> None:
        """Tells by so many events as :attr:`trial` how large weights are, and what share of events is kept."""
        events = _Events.read(file, self.trial)
        ratios, *_ = self._ratios(events, np.random.default_rng(seed))
        if not ratios.sum() > 0.0:
            of = "the run card" if self._cut is None else f"the run, among which is {self._cut}"
            raise Error(f"none of {len(ratios)} events passes the cuts of {of}")
        legs = np.array([element.legs for element in self._elements])[events.elements]
        parts = [ratios[legs == count] for count in np.unique(legs)]
        self.ceiling = max(_ceiling(part, overweight) for part in parts if part.sum() > 0.0)
        self.share = float(np.minimum(ratios / self.ceiling, 1.0).mean())

    def needed(self, events: int) -> int:
        """How many of MadSpace's events give so many."""
        return math.ceil(_MARGIN * events / self.share + _DEVIATIONS * math.sqrt(events) / self.share) + 10

    def refine(self, file: pathlib.Path, made: int, wanted: int, seed: int) -> dict[str, list[float]] | None:
        """Puts so many refined events in the place of those that were made.

        Returns:
            By the number of the matrix element: events before, and the sums of old weights, of new ones and of the
            squares of their ratios; none where there are too few.
        """
        events, self.counts = _Events.read(file, made), [0, 0]
        random = np.random.default_rng(seed)
        ratios, scales, matched = self._ratios(events, random)
        kept = np.flatnonzero(random.random(len(ratios)) * self.ceiling < ratios)
        if len(kept) < wanted:
            return None
        kept = np.sort(random.choice(kept, size=wanted, replace=False))
        found = {}
        for number in range(len(self._elements)):
            some = events.elements == number
            old, ratio = events.weights[some], ratios[some]
            sums = some.sum(), old.sum(), (old * ratio).sum(), (ratio**2).sum()
            found[str(number)] = [float(value) for value in sums]
        spins = self._helicities(events, kept, scales[4], random)
        events.write(file, kept, np.maximum(ratios / self.ceiling, 1.0), scales, spins)
        if matched is not None:
            np.save(_records.matched(file), matched[kept])
        return found

    def _helicities(
        self, events: _Events, kept: NDArray[np.int64], alpha_s: Array, random: np.random.Generator
    ) -> dict[int, Sequence[int]]:
        """Of those of the events whose helicities depend on the frame."""
        found: dict[int, Sequence[int]] = {}
        for number, element in enumerate(self._elements):
            places = kept[events.elements[kept] == number]
            drawn = random.random(len(places))
            if element.redrawn and len(places):
                momenta = events.momenta[places, : element.legs]
                rows = element.helicities(momenta, alpha_s[places], drawn)
                if element.legs == _single.LEGS:
                    # It rests, and its helicity is its spin along z.
                    rows[events.turned[places], 2] *= -1
                found |= dict(zip(places.tolist(), rows.tolist()))
        return found

    def _ratios(
        self, events: _Events, random: np.random.Generator
    ) -> tuple[Array, Array, NDArray[Any] | None]:
        """New weights over old ones; and, of each event, the scales of renormalisation and of factorisation for both
        beams, the one that is shown, and alpha_s; and what matching found, where there is some."""
        count = len(events.weights)
        ratios, found = np.zeros(count), np.zeros((5, count))
        matched = None if self._matched is None else np.zeros(count, self._matched)
        for number, element in enumerate(self._elements):
            places = np.flatnonzero(events.elements == number)
            if not len(places):
                continue
            momenta, codes = events.momenta[places, : element.legs], events.codes[places, : element.legs]
            drawn = random.random(len(places))
            before = self._scale.of(momenta)
            old = self._alpha_s(before[0])
            # Others that were turned stay so in the event file (:func:`mebridge._records.orient`).
            turned = events.turned[places] & (number + 1 in self._mirrored)
            turned |= _records.against_beams(codes, self._anti)
            after, good, weighted = element.scales(momenta, codes, old, drawn, before, self._scale, turned)
            if self._cut is not None:
                seen = _cuts.seen(momenta, self._boost, turned)
                asked = int(good.sum())
                good[good] = self._cut(as_written(seen[good], turned[good]))
                self.counts = [self.counts[0] + asked, self.counts[1] + int(good.sum())]
            new = self._alpha_s(np.where(good, after[0], before[0]))
            ratio = element.coupling(momenta, old, new) * good
            if self._densities is not None and after is not before:
                for beam in (0, 1):
                    x = 2.0 * momenta[:, beam, 0] / self._energy
                    ratio *= self._densities(codes[:, beam], x, np.where(good, after[1 + beam], before[1 + beam]))
                    ratio /= self._densities(codes[:, beam], x, before[1 + beam])
            shown = np.maximum(after[1], after[2]) if self._densities is not None else after[0]
            if weighted is not None and matched is not None:
                ratio *= weighted["weight"]
                shown = np.sqrt(weighted["start"])
                _matching.put(matched, places, weighted)
            ratios[places] = np.where(np.isfinite(ratio), np.maximum(ratio, 0.0), 0.0)
            found[:, places] = (*after, shown, new)
        return ratios, found, matched


@dataclass(frozen=True)
class _Frame:
    """What all matrix elements have in common."""

    clustering: Mapping[str, Any] | None
    matching: Mapping[str, Any] | None
    scaled: str
    card: str
    energy: float
    """Of both beams."""
    boost: float
    """The rapidity of the frame of MadSpace's events in the one of the detector."""
    densities: Any
    alpha_s: Any
    parton_beam: int | None = None


class _Element:
    """One matrix element."""

    def __init__(self, element: Element, asked: Asked, frame: _Frame) -> None:
        self._frame = frame
        self._windows = [_cuts.Window(**window) for window in asked.windows]
        rules = [(rule["kind"], tuple(map(tuple, rule["legs"])), rule["numbers"]) for rule in asked.rules]
        self._rules = [_cuts.Rule(*rule) for rule in rules]
        self._power = element.qcd_power
        self.legs = len(element.flavor["options"][0])
        self._source = asked.source
        # In a pack it is a file.
        self._model = asked.model if ">" in asked.source else None
        self.redrawn, self._turning = asked.helicities, asked.turning
        self._made: Process | None = None
        self.clustering, self._channels = None, {}
        if frame.clustering is not None:
            of = asked.directory
            directory = _output.Directory.read(pathlib.Path(of)) if isinstance(of, str) else _named.directory(of)
            masses = _lines.line_masses(element, directory, asked.number)
            settings = self._settings = _clustering.Settings(**frame.clustering)
            matching = {} if frame.matching is None else {"matching": _matching.Matching(**frame.matching)}
            self.clustering = _clustering.Clustering(directory, asked.number, masses, settings, **matching)
            self._channels = self.clustering.diagrams()
            self._topologies = _lines.topologies(element, directory, asked.number)
            first, second = (settings.hadrons and beam != frame.parton_beam for beam in (0, 1))
            self._hadrons = first, second

    @property
    def _process(self) -> Process:
        if self._made is None:
            self._made = Process(self._source, card=self._frame.card, model=self._model)
        return self._made

    def scales(
        self,
        momenta: Array,
        codes: NDArray[np.int64],
        alpha_s: Array,
        drawn: Array,
        before: tuple[Array, Array, Array],
        scale: Scale,
        turned: NDArray[np.bool_],
    ) -> tuple[tuple[Array, Array, Array], NDArray[np.bool_], NDArray[Any] | None]:
        """Scales of the run card, which events it keeps, and what matching found of them."""
        seen = _cuts.seen(momenta, self._frame.boost, turned)
        good = _cuts.passed(self._windows, seen) & _cuts.obeyed(self._rules, seen)
        rest, scaled = resting(momenta), self._frame.scaled
        if scaled == "et":
            before = scale.of(rest)
        if self.clustering is None:
            return before, good, None
        channels = self._drawn(rest, alpha_s, drawn)
        good &= channels > 0
        some = np.flatnonzero(good)
        if self._frame.matching is None and scaled != "clustering":
            good[some] = ~self.clustering.excluded(rest[some], channels[some])
            return before, good, None
        given = self._given(rest[some], scaled, scale)
        weighing = self._weighing(momenta[some], codes[some])
        plain = np.where(_records.from_anti(codes[some]), codes[some] - ANTI, codes[some])
        of = self.clustering.scales(rest[some], channels[some], given, weighing, plain)
        hadrons = (False, False) if given.fixed else self._hadrons
        good[some[_clustering.drops(of, hadrons)]] = False
        found = np.zeros((3, len(momenta)))
        found[0, some] = of.renormalisation
        found[1, some], found[2, some] = of.factorisation
        matched = None
        if of.matched is not None:
            matched = np.zeros(len(momenta), of.matched.dtype)
            matched[some] = of.matched
        return (found[0], found[1], found[2]), good, matched

    def _drawn(self, resting: Array, alpha_s: Array, drawn: Array) -> NDArray[np.int64]:
        """Channels of events, 0 for none."""
        assert self.clustering is not None
        if len(self._channels) == 1:
            return np.full(len(resting), next(iter(self._channels.values())))
        if self._settings.denominators:
            numbers = np.array(list(self._topologies))
            weights = self._process.channel_weights(resting, self._frame.energy, list(self._topologies.values()))
            chosen = (np.cumsum(weights, axis=1) <= drawn[:, None]).sum(axis=1)
            return np.asarray(numbers[np.minimum(chosen, len(numbers) - 1)])
        evaluated = self._process.evaluate(resting, alpha_s=alpha_s, diagrams=drawn).diagram
        assert evaluated is not None
        table = np.zeros(int(evaluated.max()) + 2, dtype=np.int64)
        for diagram, channel in self._channels.items():
            if diagram < len(table):
                table[diagram] = channel
        return np.asarray(table[evaluated + 1])

    @staticmethod
    def _given(resting: Array, scaled: str, scale: Scale) -> _matching.Given:
        """Scales before events are clustered."""
        fixed = scale.factorisation is not None
        if scaled != "clustering":
            first, second, third = scale.of(resting)
            return _matching.Given(first, (second, third), fixed, scale.factor)
        numbers = (scale.renormalisation, *(scale.factorisation or (None, None)))
        first, second, third = (np.full(len(resting), number or 0.0) for number in numbers)
        return _matching.Given(first, (second, third), fixed, scale.factor)

    def _weighing(self, momenta: Array, codes: NDArray[np.int64]) -> _matching.Weighing:
        """What matching weighs events with; momenta are those of beams with the same energy."""
        frame = self._frame
        x = 2.0 * momenta[:, :2, 0] / frame.energy
        return _matching.Weighing(frame.alpha_s, frame.densities, codes[:, :2], x, frame.energy)

    def helicities(self, momenta: Array, alpha_s: Array, drawn: Array) -> NDArray[np.int8]:
        """Of the legs, by their shares."""
        found = self._process.evaluate(resting(momenta), alpha_s=alpha_s, helicities=drawn).helicity
        assert found is not None
        return np.asarray(self._process.helicities[found])

    def coupling(self, momenta: Array, before: Array, after: Array) -> Array:
        """|M|^2 at another alpha_s, in the rest frame of the partons, over what it was."""
        if self._turning:
            one = np.asarray(self._process.evaluate(resting(momenta), alpha_s=after))
            return np.asarray(one / np.asarray(self._process.evaluate(momenta, alpha_s=before)))
        if np.array_equal(before, after):
            return np.ones(len(momenta))
        if self._power is not None:
            return np.asarray((after / before) ** self._power)
        momenta = resting(momenta)
        one, other = (np.asarray(self._process.evaluate(momenta, alpha_s=value)) for value in (after, before))
        return np.asarray(one / other)


@dataclass
class _Events:
    """Events of a round."""

    records: NDArray[Any]
    elements: NDArray[np.int64]
    """Numbers of the matrix elements, from 0."""
    codes: NDArray[np.int64]
    """PDG codes of the legs, in the order of the process; zeros behind the last."""
    momenta: Array
    """(E, px, py, pz) of the legs, the first that comes in along +z; zeros behind the last."""
    legs: NDArray[np.int64]
    """Which particles they are, from 0; behind them the others."""
    turned: NDArray[np.bool_]
    """Which have been turned for that by half a turn about the x axis."""

    @classmethod
    def read(cls, file: pathlib.Path, events: int) -> _Events:
        # They are written into the same file.
        records = np.array(_records.read(file, events))
        particles = _records.nested(records)["particles"]
        legs = np.isin(particles["status_code"], (-1, 1))
        # Legs first, in their order; others are propagators.
        order = np.argsort(~legs, axis=1, kind="stable")
        momenta = np.stack([particles[name] for name in ("energy", "px", "py", "pz")], axis=2)
        momenta[~legs] = 0.0
        momenta = np.take_along_axis(momenta, order[..., None], axis=1)
        turned = momenta[:, 0, 3] < 0.0
        momenta[turned, :, 2:] *= -1.0
        codes = np.where(legs, particles["pdg_id"], 0).astype(np.int64)
        codes = np.take_along_axis(codes, order, axis=1)
        return cls(records, records["process_id"].astype(np.int64) - 1, codes, momenta, order, turned)

    @property
    def weights(self) -> Array:
        found: Array = self.records["weight"]
        return found

    def write(
        self,
        file: pathlib.Path,
        kept: NDArray[np.int64],
        factors: Array,
        scales: Array,
        spins: Mapping[int, Sequence[int]],
    ) -> None:
        """Some of the events with other weights, scales and helicities; propagators have none."""
        records = self.records[kept]
        records["weight"] *= factors[kept]
        records["scale"], records["alpha_qcd"] = scales[3:, kept]
        particles = _records.nested(records)["particles"]
        for row, event in enumerate(kept.tolist()):
            if event in spins:
                legs = self.legs[event, : len(spins[event])]
                particles["spin"][row, legs] = spins[event]
        with open(file, "wb") as out:
            np.save(out, records)
        np.save(_records.scales(file), scales[:3, kept].T)


def scales(file: pathlib.Path, events: int, elements: Sequence[Element], scale: Scale) -> Array:
    """Those of events that MadSpace made, (events, 3): of renormalisation, and of factorisation for both beams."""
    made = _Events.read(file, events)
    found = np.zeros((events, 3))
    for number, element in enumerate(elements):
        places = np.flatnonzero(made.elements == number)
        legs = len(element.flavor["options"][0])
        found[places] = np.stack(scale.of(made.momenta[places, :legs]), axis=1)
    return found


def as_written(momenta: Array, turned: NDArray[np.bool_]) -> Array:
    """Momenta of legs as event files have them: these are turned back, and what goes along +z is first."""
    found: Array = momenta.copy()
    found[turned, :, 2:] *= -1.0
    found[turned, :2] = found[turned, 1::-1]
    return found


def unchanged(elements: Sequence[Element]) -> dict[str, Any]:
    """Of a run without a run card: what :class:`Refiner` takes where nothing but a function cuts."""
    nothing = Asked("", 0, (), (), False, "")
    asked = [dataclasses.asdict(nothing) for _ in elements]
    return {"elements": asked, "clustering": None, "scaled": "", "card": ""}


def resting(momenta: Array) -> Array:
    """In the rest frame of the partons, which go along z."""
    total = momenta[:, :2].sum(axis=1)
    rapidity = 0.5 * np.log((total[:, 0] + total[:, 3]) / (total[:, 0] - total[:, 3]))
    found: Array = momenta.copy()
    found[..., 0], found[..., 3] = _cuts.along_z(momenta[..., 0], momenta[..., 3], -rapidity[:, None])
    if momenta.shape[1] == _single.LEGS:
        # Helicities are about the direction in which it moves, which rounding would decide.
        found[:, 2, 1:] = 0.0
    return found


def _ceiling(ratios: Array, overweight: float) -> float:
    """The least number above which these ratios have at most this share of their sum."""
    falling = np.sort(ratios)[::-1]
    above = np.cumsum(falling) - falling * np.arange(1, len(falling) + 1)
    inside = np.flatnonzero(above <= overweight * falling.sum())
    return float(falling[inside[-1]]) if len(inside) and falling[inside[-1]] > 0.0 else float(falling[0])
