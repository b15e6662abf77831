"""Decays of one particle, from its directory or its name: partial widths and events.

MadSpace has phase space of two particles that come in. Decays have few particles that go out and no densities, so points
are drawn here, by one channel for each diagram (:mod:`mebridge._decay_space`), and events are written by the same
functions as all others. Widths are in GeV.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _cuts, _elements, _lhe, _meta, _pdfdata, _records, _topologies, _trial, _widths
from ._decay_space import Line, Space, tree
from ._library import Error
from ._output import Directory
from ._process import Process
from ._run_card import RunCard
from ._slha import Card

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Points of each channel in a step of the adaption, and steps; points that measure a width at least, and at a time.
_TRIED, _STEPS, _MEASURED, _AT_A_TIME = 2000, 5, 100_000, 50_000
# Points by which it is seen whether |M|^2 vanishes.
_TURNED = 32
# The least share of a channel.
_LEAST_SHARE = 0.02
# Of the share that weights may have above the others: points cost little, and weights are nearly all the same.
_OVERWEIGHT = 0.1
# Events of a file of records.
_ROUND = 50_000
# Two masses are the same to this accuracy.
_EQUAL = 1e-9
# What MG5aMC writes into the run card of a decay, where defaults are others.
_NO_CUTS = {
    **dict.fromkeys(("ptj", "pta", "ptl", "drjj", "drll", "draa", "draj", "drjl", "dral"), 0.0),
    **dict.fromkeys(("etaj", "etaa", "etal"), -1.0),
}
# What a directory asks of a propagator, as a library has it.
_ASKED = {1: "on_shell_propagators", 2: "off_shell_propagators"}
# A run gives up where fewer of its points become events.
_HOPELESS = 1e-7


@dataclass(frozen=True)
class _Listed:
    """A propagator that is in an event file where it is near its mass."""

    code: int
    legs: tuple[int, ...]
    """Behind it, from 0 among those that go out."""
    mass: float
    width: float
    """How far from its mass it may be."""


@dataclass(frozen=True)
class Made:
    """What was made of a decay."""

    width: tuple[float, float]
    """GeV, with its error."""
    by_element: list[tuple[float, float]]
    rounds: list[tuple[pathlib.Path, int, _lhe.Weights]]
    events: int
    points: int
    """That were drawn for the events."""


class Decay:
    """One matrix element of a decay.

    Args:
        element: it.
        process: the same, to be evaluated.
        card: the run card.
        parameters: the parameter card.
        place: the directory, where there is one, and the number of the matrix element in it, from 0.
    """

    def __init__(
        self,
        element: _elements.Element,
        process: Process,
        card: RunCard,
        parameters: Card,
        place: tuple[Directory, int] | None = None,
    ) -> None:
        self.options = [list(pdg) for pdg in element.flavor["options"]]
        self.pdg = self.options[0]
        self._process = process
        self.masses = _meta.masses(element.library, len(self.pdg))
        self._channels = _own(element, process)
        if place is not None:
            _name(self._channels, *place)
        self.name = f"{self.pdg[0]} > {' '.join(map(str, self.pdg[1:]))} (PDG codes)"
        if not self._channels:
            raise Error(f"{self.name}: no diagram of it has vertices of three particles alone; take other coupling orders")
        if self.masses[0] <= sum(self.masses[1:]):
            raise Error(
                f"{self.name}: it has the masses of what goes out or less; change the parameter card, or take another decay"
            )
        small = card["small_width_treatment"]
        self._windows, self._rules = self._cuts(card)
        least = {
            frozenset(leg - 2 for leg in window.legs[0]): window.least
            for window in self._windows
            if window.observable == "mass" and window.least > 0.0 and not window.outside
        }
        roots = [tree(channel, self.masses, least) for channel in self._channels]
        orders = [order for root in roots for order in root.orders()]
        orders += [root.even() for root in roots if sum(line.width > 0.0 for line in root.all()[1:]) > 1]
        self._spaces = [Space(order, self.masses) for order in orders]
        for root, channel in zip(roots, self._channels):
            self._check(root, channel)
        self._narrow = self._factor(element, roots)
        self._excluded = _forbidden(self._channels, card["bwcutoff"], small)
        self._denominators = card["sde_strategy"] == 2
        self._shown = self._resonances(card["bwcutoff"], small, roots)
        self.scale = _scale(card, self.masses[0])
        known = _pdfdata.coupling_of(parameters)
        # Where no coupling is strong, the scale may be one at which there is no alpha_s.
        self._strong = element.qcd_power != 0
        if self._strong:
            known.check_scale(self.scale, f"{self.name}: the scale of renormalisation (the mass; scale with fixed_ren_scale = True)")
        there = known.scales[0] <= self.scale <= known.scales[-1]
        self.alpha_s = _pdfdata.alpha_s(self.scale, _pdfdata.at_z(parameters)) if there else 0.0
        self.scalup = card["dsqrt_q2fact1"]
        some = self._spaces[0].draw(np.random.default_rng(1), _TURNED)
        if _trial.vanishes(lambda momenta: np.asarray(process.evaluate(momenta, self.alpha_s, bad="nan")), some):
            raise Error(
                f"|M|^2 of {self.name} vanishes identically: the width is 0; are coupling orders and polarisations those that are meant?"
            )
        self._shares = np.full(len(self._spaces), 1.0 / len(self._spaces))
        self.ceiling = self.kept = 0.0
        self.width = self.error = 0.0

    def _cuts(self, card: RunCard) -> tuple[list[_cuts.Window], list[_cuts.Rule]]:
        """Cuts of the run card in the rest frame of what decays, whose legs count as if two came in."""
        own = {**{name: card[name] for name in card}, "dsqrt_shat": 0.0, "dsqrt_shatmax": -1.0}
        own |= {name: value for name, value in _NO_CUTS.items() if name not in card.given}
        windows: list[_cuts.Window] = []
        decayed: frozenset[int] = frozenset()
        for channel in self._channels:
            for number in channel["on_shell_propagators"]:
                behind = _topologies.legs_of(channel["vertices"], f"p{number}")
                mass, width = (abs(value) for value in channel["masses"][number])
                width = max(width, mass * card["small_width_treatment"])
                window = _cuts.resonance(sorted(behind), mass, card["bwcutoff"] * width)
                if window not in windows:
                    windows.append(window)
                decayed |= behind
        legs = _cuts.Legs((self.pdg[0], 0, *self.pdg[1:]), (self.masses[0], 0.0, *self.masses[1:]), decayed, own)
        divided = _cuts.divided(legs, [(pdg[0], 0, *pdg[1:]) for pdg in self.options])
        if divided is not None:
            raise Error(f"{divided} in the run card, which are one matrix element, {self.name}; give all of them the same")
        nothing = _cuts.empty(legs)
        if nothing is not None:
            raise Error(f"{nothing} of the run card leaves nothing of {self.name}: set it to 0")
        rules, implied = _cuts.rules(legs, self.masses[0])
        asked = _cuts.windows(legs) + implied
        outside = _cuts.nowhere(asked, self.masses[0])
        if outside is not None:
            named = _cuts.named(outside, legs)
            raise Error(f"{named} of the run card leaves nothing of {self.name}, which has {self.masses[0]:g} GeV")
        return windows + asked, rules

    def _check(self, root: Line, channel: Mapping[str, Any]) -> None:
        """That no propagator without a width is reached on its mass shell."""
        for line in root.all()[1:]:
            if line.number is None or line.width > 0.0:
                continue
            code, width = channel["propagators"][line.number], abs(channel["masses"][line.number][1])
            largest = self.masses[0] - sum(self.masses[1:]) + sum(self.masses[1 + leg] for leg in line.legs)
            if line.least * (1.0 + _EQUAL) < line.mass < largest * (1.0 - _EQUAL):
                raise Error(f"{self.name}: {_widths.without(code, line.mass, width)}")
            behind, beside = line.legs, tuple(leg for leg in range(len(self.masses) - 1) if leg not in line.legs)
            for legs, mass in ((behind, line.least), (beside, largest)):
                free = [self.pdg[1 + leg] for leg in legs if self.masses[1 + leg] == 0.0 and not self._bounded(leg, legs)]
                if free and math.isclose(mass, line.mass, rel_tol=_EQUAL):
                    raise Error(
                        f"{self.name}: the width is infinite without a cut on {' and '.join(map(str, free))} (PDG codes), which "
                        "may have no energy or go the way of others; set a least mass of the pair in the run card, or least pt and "
                        "distances"
                    )

    def _bounded(self, leg: int, legs: Sequence[int]) -> bool:
        """Whether cuts keep a leg from having no energy, and from going the way of others."""
        found = {
            window.observable
            for window in self._windows
            for group in window.legs
            if window.least > 0.0 and leg + 2 in group and window.take == "all"
        }
        return "pt" in found and ("distance" in found or len(legs) == 1)

    def _factor(self, element: _elements.Element, roots: Sequence[Line]) -> float:
        """What |M|^2 is multiplied by for narrow particles, whose widths it has larger than they are
        (``small_width_treatment``), as MadEvent's ``transpole.f``."""
        widths = _widths.raised(element.library, self._channels)
        found = set()
        for root, channel in zip(roots, self._channels):
            factor = 1.0
            for line in root.all()[1:]:
                if line.number is None or line.least >= line.mass:
                    continue
                factor *= _widths.ratio(widths, channel["parameters"][line.number][1], line.width)
            found.add(factor)
        if len(found) > 1:
            raise Error(
                f"{self.name}: some of its diagrams have a width below small_width_treatment and others have none; set "
                "small_width_treatment of the output to a smaller number"
            )
        return found.pop()

    def _resonances(self, cutoff: float, small: float, roots: Sequence[Line]) -> dict[int, list[_Listed]]:
        """Of each diagram with a channel the propagators that may be in an event file."""
        found: dict[int, list[_Listed]] = {}
        for root, channel in zip(roots, self._channels):
            diagram = channel["diagrams"][0]
            codes: list[int] = diagram["propagator_pdgs"]
            some: list[_Listed] = []
            for line in root.all()[1:]:
                if line.number is None or line.number in channel["off_shell_propagators"]:
                    continue
                width = max(line.width, small * line.mass) if line.width > 0.0 else 0.0
                forced = line.number in channel["on_shell_propagators"]
                if 0.0 < width and (forced or width < _records.BROAD * line.mass):
                    some.append(_Listed(codes[line.number], line.legs, line.mass, cutoff * width))
            found[diagram["diagram"]] = some
        return found

    def _left(self, momenta: Array, padded: Array) -> Array:
        """What of |M|^2 a $ leaves: the shares of the channels in which nothing is on its mass shell that must not be."""
        if not any(self._excluded):
            return np.ones(len(momenta))
        if self._denominators:
            shares = self._process.channel_weights(momenta, self.masses[0], self._channels)
        else:
            squares = self._process.evaluate(momenta, self.alpha_s, amp2=True).amp2
            shares = squares[:, [channel["diagrams"][0]["diagram"] for channel in self._channels]]
            shares /= shares.sum(axis=1, keepdims=True)
        kept = np.stack([_cuts.passed(windows, padded) for windows in self._excluded], axis=1)
        return np.asarray((shares * kept).sum(axis=1))

    def _weighted(self, random: np.random.Generator, counts: Sequence[int]) -> tuple[Array, Array, Array]:
        """Momenta, their weights, whose mean is the width, and the densities of all channels there."""
        momenta = np.concatenate([space.draw(random, count) for space, count in zip(self._spaces, counts)])
        good = np.isfinite(momenta).all(axis=(1, 2))
        padded = np.zeros((len(momenta), len(self.pdg) + 1, 4))
        padded[:, 0], padded[:, 2:] = momenta[:, 0], np.where(good[:, None, None], momenta[:, 1:], 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            good &= _cuts.passed(self._windows, padded) & _cuts.obeyed(self._rules, padded)
        densities = np.zeros((len(self._spaces), len(momenta)))
        weights = np.zeros(len(momenta))
        some = momenta[good]
        if len(some):
            densities[:, good] = np.stack([space.density(some) for space in self._spaces])
            values = np.asarray(self._process.evaluate(some, self.alpha_s)) * self._left(some, padded[good])
            if (values < 0.0).any():
                raise Error(f"{self.name}: |M|^2 is negative at some points, and a decay has no events of both signs")
            together = np.asarray(self._shares) @ densities[:, good]
            volume = np.divide(1.0, together, out=np.zeros_like(together), where=together > 0.0)
            weights[good] = values * volume * len(self.options) * self._narrow / (2.0 * self.masses[0])
        return momenta, weights, densities

    def _counts(self, random: np.random.Generator, points: int) -> list[int]:
        return [int(count) for count in random.multinomial(points, self._shares)]

    def survey(self, random: np.random.Generator, points: int, precision: float | None, overweight: float) -> None:
        """Adapts the shares of channels, measures the width and tells how large weights are."""
        for _ in range(_STEPS if len(self._spaces) > 1 else 0):
            _, weights, densities = self._weighted(random, self._counts(random, _TRIED * len(self._spaces)))
            together = np.asarray(self._shares) @ densities
            ratio = np.divide(densities, together, out=np.zeros_like(densities), where=together > 0.0)
            shares = self._shares * np.sqrt((ratio * weights**2).mean(axis=1))
            if not shares.sum() > 0.0:
                continue
            shares = np.maximum(shares / shares.sum(), _LEAST_SHARE / len(shares))
            self._shares = shares / shares.sum()
        found: list[Array] = []
        count = max(points, _MEASURED)
        while True:
            while len(found) * _AT_A_TIME < count:
                found.append(self._weighted(random, self._counts(random, _AT_A_TIME))[1])
            weights = np.concatenate(found)
            self.width = float(weights.mean())
            self.error = float(weights.std() / math.sqrt(len(weights)))
            if not self.width > 0.0:
                raise Error(f"{self.name}: none of {len(weights)} points passes the cuts; do they leave anything?")
            if precision is None or self.error <= precision * self.width:
                break
            count *= 2
        self.ceiling = _ceiling(weights[weights > 0.0], _OVERWEIGHT * overweight)
        self.kept = float(np.minimum(weights / self.ceiling, 1.0).mean())

    def events(self, random: np.random.Generator, wanted: int) -> tuple[Array, Array, int]:
        """So many momenta, their weights in units of the ceiling, and how many points were drawn."""
        momenta: list[Array] = []
        weights: list[Array] = []
        there, drawn = 0, 0
        while there < wanted:
            left = wanted - there
            points = min(_AT_A_TIME, math.ceil(1.2 * left / max(self.kept, 1e-9)) + 100)
            p, w, _ = self._weighted(random, self._counts(random, points))
            # Channels come one after the other: what is left over would be the last ones'.
            order = random.permutation(len(w))
            p, w = p[order], w[order]
            drawn += points
            some = random.random(len(w)) * self.ceiling < w
            momenta.append(p[some])
            weights.append(np.maximum(w[some] / self.ceiling, 1.0))
            there += int(some.sum())
            if drawn * _HOPELESS > there + 1:
                raise Error(f"{self.name}: hardly any of {drawn} points becomes an event; loosen the cuts")
        return np.concatenate(momenta)[:wanted], np.concatenate(weights)[:wanted], drawn

    def fill(self, particles: np.ndarray[Any, Any], momenta: Array, random: np.random.Generator) -> None:
        """Puts events into records."""
        count, legs = len(momenta), len(self.pdg)
        draws = random.random((4, count))
        chosen = self._process.evaluate(momenta, self.alpha_s, helicities=draws[0], colors=draws[1], diagrams=draws[2])
        helicities, colors = self._process.helicities[chosen.helicity], self._process.color_flows[chosen.color]
        codes = np.array(self.options)[(draws[3] * len(self.options)).astype(int)]
        listed = np.zeros(count, dtype=int)
        mothers = np.ones((count, legs), dtype=int)
        for diagram, some in self._shown.items():
            of = np.flatnonzero(chosen.diagram == diagram)
            for one in some:
                columns = [1 + leg for leg in one.legs]
                total = momenta[of][:, columns].sum(axis=1)
                mass = np.sqrt(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1))
                inside = abs(mass - one.mass) < one.width
                rows = of[inside]
                place = 1 + listed[rows]
                into = particles[rows, place]
                into["pdg_id"], into["status_code"], into["mother1"] = one.code, 2, mothers[rows, columns[0]]
                into["mother2"] = np.where(into["mother1"] == 1, 0, into["mother1"])
                into["color"], into["anti_color"] = _net(colors[rows][:, columns])
                for name, axis in (("energy", 0), ("px", 1), ("py", 2), ("pz", 3)):
                    into[name] = total[inside, axis]
                into["mass"] = mass[inside]
                particles[rows, place] = into
                listed[rows] += 1
                for column in columns:
                    mothers[rows, column] = place + 1
        events = np.arange(count)
        for leg in range(legs):
            place = np.zeros(count, dtype=int) if leg == 0 else listed + leg
            into = particles[events, place]
            into["pdg_id"], into["status_code"] = codes[:, leg], -1 if leg == 0 else 1
            into["mother1"] = 0 if leg == 0 else mothers[:, leg]
            into["mother2"] = np.where(into["mother1"] <= 1, 0, into["mother1"])
            into["color"], into["anti_color"] = colors[:, leg, 0], colors[:, leg, 1]
            for name, axis in (("energy", 0), ("px", 1), ("py", 2), ("pz", 3)):
                into[name] = momenta[:, leg, axis]
            into["mass"], into["spin"] = self.masses[leg], helicities[:, leg]
            particles[events, place] = into

    @property
    def conditions(self) -> str:
        """Which alpha_s and cuts hold."""
        alpha_s = f"alpha_s = {self.alpha_s:.4g} at {self.scale:g} GeV (the parameter card)" if self._strong else "no alpha_s"
        cuts = dict.fromkeys(entry for window in self._windows for entry in window.entries)
        return f"{alpha_s}; cuts: {', '.join(cuts) or 'none'}"

    @property
    def most(self) -> int:
        """Particles of an event at most."""
        return len(self.pdg) + max(map(len, self._shown.values()), default=0)


def _forbidden(channels: Sequence[Mapping[str, Any]], cutoff: float, small: float) -> list[list[_cuts.Window]]:
    """Of each channel the masses that a $ leaves it, where it has some."""
    found = []
    for channel in channels:
        windows = []
        for line in channel["off_shell_propagators"]:
            mass, width = (abs(value) for value in channel["masses"][line])
            width = max(width, small * mass) if width > 0.0 else 0.0
            if 0.0 < width < _records.BROAD * mass:
                legs = sorted(_topologies.legs_of(channel["vertices"], f"p{line}"))
                inside = _cuts.resonance(legs, mass, cutoff * width)
                windows.append(dataclasses.replace(inside, outside=True))
        found.append(windows)
    return found


def _own(element: _elements.Element, process: Process) -> list[dict[str, Any]]:
    """The channels of a matrix element, with diagrams as the process counts them; a library may hold several."""
    channels = []
    for channel, of in zip(element.channels, process.description["channels"], strict=True):
        diagram = {**channel["diagrams"][0], "diagram": of["diagrams"][0]["diagram"]}
        diagram["propagator_pdgs"] = list(diagram["propagator_pdgs"])
        lists = {name: list(channel[name]) for name in ("propagators", *_ASKED.values())}
        channels.append({**channel, **lists, "diagrams": [diagram]})
    return channels


def _name(channels: Sequence[dict[str, Any]], directory: Directory, number: int) -> None:
    """Gives propagators whose PDG code a library does not know the one that the directory lists for their legs, and tells
    which ones are of a decay chain or behind a $.

    Args:
        number: of the matrix element in the directory, from 0.
    """
    for channel in channels:
        diagram = channel["diagrams"][0]
        lines = (of.lines for of in directory.configs if of.diagrams[number] == diagram["diagram"] + 1)
        listed = {line.legs: line for some in lines for line in some}
        for place, code in enumerate(channel["propagators"]):
            # There the particle that decays is leg 1, here two come in.
            legs = sum(1 << (leg - 1) for leg in _topologies.legs_of(channel["vertices"], f"p{place}"))
            if legs not in listed:
                continue
            if code == 0:
                channel["propagators"][place] = diagram["propagator_pdgs"][place] = listed[legs].codes[number]
            asked = _ASKED.get(listed[legs].forced)
            if asked is not None and place not in channel[asked]:
                channel[asked].append(place)


def _net(colors: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Colour and anticolour of particles together (events, particles, 2)."""
    found = []
    for side in (0, 1):
        own, others = colors[:, :, side], colors[:, :, 1 - side]
        left = (own > 0) & ~(own[:, :, None] == others[:, None, :]).any(axis=2)
        found.append(np.where(left, own, 0).max(axis=1))
    return found[0], found[1]


def _scale(card: RunCard, mass: float) -> float:
    """The scale of renormalisation."""
    choice = card["dynamical_scale_choice"]
    if card["fixed_ren_scale"]:
        scale = card["scale"]
    elif choice in (-1, 5):
        # What is left of a decay when it is clustered is the particle itself.
        scale = card["scalefact"] * mass
    else:
        raise Error(
            f"{card.source}: dynamical_scale_choice = {choice} cannot be honoured for a decay; set it to -1 (the mass of the "
            "particle), or fixed_ren_scale to True"
        )
    return float(scale)


def make(
    decays: Sequence[Decay],
    events: int,
    seed: int,
    precision: float | None,
    overweight: float,
    alpha_qed: float,
    folder: str,
    report: Callable[[str, int, tuple[float, float]], None],
) -> Made:
    """Makes events of all matrix elements together; records are written into a folder."""
    random = np.random.default_rng(seed)
    for decay in decays:
        decay.survey(random, events, precision, overweight)
    width = sum(decay.width for decay in decays), math.hypot(*(decay.error for decay in decays))
    report("survey", 0, width)
    likely = np.array([decay.ceiling * decay.kept for decay in decays])
    room, done, points = max(decay.most for decay in decays), 0, 0
    rounds: list[tuple[pathlib.Path, int, _lhe.Weights]] = []
    while done < events:
        count = min(_ROUND, events - done)
        records = np.zeros(count, _records.layout(room))
        particles = _records.nested(records)["particles"]
        which = np.sort(random.choice(len(decays), size=count, p=likely / likely.sum()))
        for number, decay in enumerate(decays):
            some = np.flatnonzero(which == number)
            if not len(some):
                continue
            momenta, weights, drawn = decay.events(random, len(some))
            own = np.zeros((len(some), room), particles.dtype)
            decay.fill(own, momenta, random)
            particles[some] = own
            records["weight"][some] = weights
            for name, value in (
                ("process_id", number + 1),
                ("scale", decay.scalup),
                ("alpha_qed", alpha_qed),
                ("alpha_qcd", decay.alpha_s),
            ):
                records[name][some] = value
            points += drawn
        records = records[random.permutation(count)]
        path = pathlib.Path(folder) / f"decays{len(rounds)}.npy"
        np.save(path, records)
        rounds.append((path, count, _lhe.weights(path, records["weight"])))
        done += count
        report("events", done, width)
    return Made(width, [(decay.width, decay.error) for decay in decays], rounds, events, points)


def summary(name: str, made: Made, widths: Mapping[str, tuple[float, float]]) -> str:
    """Partial widths by decay."""
    column = max(len("decay (PDG codes)"), *map(len, widths))
    lines = [f"{name}: {made.events} events", "", f"{'decay (PDG codes)':{column}}  partial width, GeV", ""]
    rows = [*widths.items(), ("all", made.width)]
    lines += [f"{decay:{column}}  {value:.6g} +- {error:.2g}" for decay, (value, error) in rows]
    lines += ["", f"{made.points} points, {made.events / made.points:.2%} became events"]
    return "\n".join(lines) + "\n"


def _ceiling(ratios: np.ndarray[Any, Any], overweight: float) -> float:
    """The least number above which these ratios have at most this share of their sum."""
    falling = np.sort(ratios)[::-1]
    above = np.cumsum(falling) - falling * np.arange(1, len(falling) + 1)
    inside = np.flatnonzero(above <= overweight * falling.sum())
    return float(falling[inside[-1]]) if len(inside) and falling[inside[-1]] > 0.0 else float(falling[0])
