"""Decays of one particle, from its directory or its name: partial widths and events.

Points are the engine's (docs/engine.md), in this process. Widths are in GeV.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import _cuts, _elements, _engine, _lhe, _meta, _pdfdata, _topologies, _trial, _widths
from ._library import Error, lib
from ._output import Directory
from ._process import Process
from ._rounds import Rounds
from ._run_card import RunCard
from ._slha import Card
from ._state import State
from ._tasks import Here

# The relative error of a width, where no other is asked for.
_PRECISION = 3e-3
# Two masses are the same to this accuracy.
_EQUAL = 1e-9
# What MG5aMC writes into the run card of a decay, where defaults are others.
_NO_CUTS = {
    **dict.fromkeys(("ptj", "pta", "ptl", "drjj", "drll", "draa", "draj", "drjl", "dral"), 0.0),
    **dict.fromkeys(("etaj", "etaa", "etal"), -1.0),
}
# What a directory asks of a propagator, as a library has it.
_ASKED = {1: "on_shell_propagators", 2: "off_shell_propagators"}


@dataclass(frozen=True)
class Made:
    """What was made of decays."""

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
        card: the run card.
        parameters: the parameter card.
        place: the directory, where there is one, the number of the matrix element in it, from 0, and its process.
    """

    def __init__(
        self,
        element: _elements.Element,
        card: RunCard,
        parameters: Card,
        place: tuple[Directory, int, Process] | None = None,
    ) -> None:
        self.element = element
        self.options = [list(pdg) for pdg in element.flavor["options"]]
        self.pdg = self.options[0]
        self.masses = _meta.masses(element.library, len(self.pdg))
        self.channels = [
            {**channel, **{name: list(channel[name]) for name in ("propagators", *_ASKED.values())}}
            for channel in element.channels
        ]
        if place is not None:
            _name(self.channels, *place)
        self.name = f"{self.pdg[0]} > {' '.join(map(str, self.pdg[1:]))} (PDG codes)"
        if not self.channels:
            raise Error(f"{self.name}: no diagram of it has vertices of three particles alone; take other coupling orders")
        if self.masses[0] <= sum(self.masses[1:]):
            raise Error(
                f"{self.name}: it has the masses of what goes out or less; change the parameter card, or take another decay"
            )
        self.windows, self.rules = self._cuts(card)
        for channel in self.channels:
            self._check(channel)
        self.scale = _scale(card, self.masses[0])
        known = _pdfdata.coupling_of(parameters)
        # Where no coupling is strong, the scale may be one at which there is no alpha_s.
        self._strong = element.qcd_power != 0
        if self._strong:
            known.check_scale(self.scale, f"{self.name}: the scale of renormalisation (the mass; scale with fixed_ren_scale = True)")
        # Otherwise that of the nearest scale.
        self.alpha_s = _pdfdata.alpha_s(min(max(self.scale, known.scales[0]), known.scales[-1]), _pdfdata.at_z(parameters))
        squared, some = _meta.opened(element.library).squared, _trial.at_rest(self.masses)
        if _trial.vanishes(lambda momenta: np.abs(squared(element.flavor["index"], momenta)), some):
            raise Error(
                f"|M|^2 of {self.name} vanishes identically: the width is 0; are coupling orders and polarisations those that are meant?"
            )

    def _cuts(self, card: RunCard) -> tuple[list[_cuts.Window], list[_cuts.Rule]]:
        """Cuts of the run card in the rest frame of what decays, whose legs count as if two came in."""
        own = {**{name: card[name] for name in card}, "dsqrt_shat": 0.0, "dsqrt_shatmax": -1.0}
        own |= {name: value for name, value in _NO_CUTS.items() if name not in card.given}
        windows: list[_cuts.Window] = []
        decayed: frozenset[int] = frozenset()
        for channel in self.channels:
            for number in channel["on_shell_propagators"]:
                beyond = _topologies.legs_of(channel["vertices"], f"p{number}")
                mass, width = (abs(value) for value in channel["masses"][number])
                width = max(width, mass * card["small_width_treatment"])
                window = _cuts.resonance(sorted(beyond), mass, card["bwcutoff"] * width)
                if window not in windows:
                    windows.append(window)
                decayed |= beyond
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

    def _check(self, channel: Mapping[str, Any]) -> None:
        """That a cut keeps each propagator without a width from the end of its masses, where particles without mass have no
        energy, or go the way of others."""
        masses = (0.0, *self.masses)
        every = frozenset(range(2, len(masses)))
        for number, (mass, width) in enumerate((abs(mass), abs(width)) for mass, width in channel["masses"]):
            if 0.0 < width >= _widths.NARROWEST * mass:
                continue
            beyond = _topologies.legs_of(channel["vertices"], f"p{number}")
            beside = every - beyond
            largest = self.masses[0] - sum(masses[leg] for leg in beside)
            for legs, limit in ((beyond, _cuts.least_mass(self.windows, masses, sorted(beyond))), (beside, largest)):
                free = [self.pdg[leg - 1] for leg in sorted(legs) if masses[leg] == 0.0 and not self._bounded(leg, legs)]
                if free and math.isclose(limit, mass, rel_tol=_EQUAL):
                    raise Error(
                        f"{self.name}: the width is infinite without a cut on {' and '.join(map(str, free))} (PDG codes), which "
                        "may have no energy or go the way of others; set a least mass of the pair in the run card, or least pt and "
                        "distances"
                    )

    def _bounded(self, leg: int, legs: frozenset[int]) -> bool:
        """Whether cuts keep a leg from having no energy, and from going the way of others."""
        found = {
            window.observable
            for window in self.windows
            for group in window.legs
            if window.least > 0.0 and leg in group and window.take == "all"
        }
        return "pt" in found and ("distance" in found or len(legs) == 1)

    @property
    def asked(self) -> Mapping[str, Any]:
        """What the engine is asked of it."""
        return {
            "windows": [_engine.as_json(window) for window in self.windows],
            "rules": [_engine.rule_as_json(asdict(rule)) for rule in self.rules],
            "propagators": [channel["propagators"] for channel in self.channels],
            "off_shell": [channel["off_shell_propagators"] for channel in self.channels],
        }

    def codes(self, name: str) -> set[int]:
        """Of the propagators that its channels have under a name; of those under none without one."""
        return {
            code
            for channel in self.channels
            for number, code in enumerate(channel["propagators"])
            if (number in channel[name] if name else not any(number in channel[of] for of in _ASKED.values()))
        }

    @property
    def conditions(self) -> str:
        """Which alpha_s and cuts hold."""
        alpha_s = f"alpha_s = {self.alpha_s:.4g} at {self.scale:g} GeV (the parameter card)" if self._strong else "no alpha_s"
        cuts = dict.fromkeys(entry for window in self.windows for entry in window.entries)
        return f"{alpha_s}; cuts: {', '.join(cuts) or 'none'}"


def _name(channels: Sequence[dict[str, Any]], directory: Directory, number: int, process: Process) -> None:
    """Gives propagators whose PDG code a library does not know the one that the directory lists for their legs, and tells
    which ones are of a decay chain or after a $.

    Args:
        number: of the matrix element in the directory, from 0.
        process: the matrix element, which counts its diagrams as the directory does; a library may hold several.
    """
    for channel, own in zip(channels, process.description["channels"], strict=True):
        diagram = own["diagrams"][0]["diagram"] + 1
        lines = (of.lines for of in directory.configs if of.diagrams[number] == diagram)
        listed = {line.legs: line for some in lines for line in some}
        for place, code in enumerate(channel["propagators"]):
            # There the particle that decays is leg 1, here two come in.
            legs = sum(1 << (leg - 1) for leg in _topologies.legs_of(channel["vertices"], f"p{place}"))
            if legs not in listed:
                continue
            if code == 0:
                channel["propagators"][place] = listed[legs].codes[number]
            asked = _ASKED.get(listed[legs].forced)
            if asked is not None and place not in channel[asked]:
                channel[asked].append(place)


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


class _Generator(_engine.Generator):
    """Events of decays."""

    def __init__(self, decays: Sequence[Decay], card: RunCard, alpha_qed: float, threads: int) -> None:
        super().__init__()
        first = decays[0]
        self._said = _cuts.said(first.windows, (first.pdg[0], 0, *first.pdg[1:]))
        # Events have one of these scales each. A table has two.
        alpha_s = sorted({decay.scale: decay.alpha_s for decay in decays}.items())
        alpha_s.append((2.0 * alpha_s[-1][0], alpha_s[-1][1]))
        off = {code for decay in decays for code in decay.codes("off_shell_propagators")}
        on = {code for decay in decays for code in decay.codes("on_shell_propagators")}
        run = {
            "energy": first.masses[0],
            "alpha_s": list(zip(*alpha_s)),
            # The energy of what decays is its mass.
            "scale": {
                "dynamical": "shat",
                "factor": card["scalefact"],
                "renormalisation": card["scale"] if card["fixed_ren_scale"] else None,
                "factorisation": [card["dsqrt_q2fact1"]] * 2,
            },
            "elements": [decay.asked for decay in decays],
            "threads": threads,
            "backend": "cpu",
            "widths": card["bwcutoff"],
            "by_propagators": card["sde_strategy"] == 2,
            "alpha_qed": alpha_qed,
            "forced": sorted(map(abs, on)),
            "excluded": sorted(off - on - {code for decay in decays for code in decay.codes("")}),
        }
        self._open([decay.element for decay in decays], run)

    def close(self) -> None:
        lib.mebridge_events_close(self._handle)
        self._handle = ctypes.c_void_p()


@contextlib.contextmanager
def make(
    decays: Sequence[Decay],
    card: RunCard,
    alpha_qed: float,
    events: int,
    seed: int,
    threads: int,
    precision: float | None,
    overweight: float,
    folder: str,
    report: Callable[[str, int, tuple[float, float]], None],
) -> Iterator[Made]:
    """Makes events of all matrix elements together; records are in files of a folder as long as the context is open."""
    with contextlib.ExitStack() as stack:
        generator = _Generator(decays, card, alpha_qed, threads)
        stack.callback(generator.close)
        kept = State(pathlib.Path(folder) / "state", {}, lasting=False)
        stack.callback(kept.close)
        rounds = Rounds(Here(generator), kept, events, seed, overweight, "cpu")
        rounds.survey(_PRECISION if precision is None else precision)
        report("survey", 0, rounds.cross_section())
        rounds.run(lambda: report("events", sum(of["events"] for of in kept.rounds.values()), rounds.cross_section()))
        done = [kept.rounds[number] for number in sorted(kept.rounds)]
        yield Made(
            rounds.cross_section(),
            [rounds.cross_section(number) for number in range(len(decays))],
            [(kept.folder / of["file"], of["events"], _lhe.Weights(*of["weights"])) for of in done],
            events,
            round(sum(float(of["channels"][:, 0].sum()) for of in done)),
        )


def summary(name: str, made: Made, widths: Mapping[str, tuple[float, float]]) -> str:
    """Partial widths by decay."""
    column = max(len("decay (PDG codes)"), *map(len, widths))
    lines = [f"{name}: {made.events} events", "", f"{'decay (PDG codes)':{column}}  partial width, GeV", ""]
    rows = [*widths.items(), ("all", made.width)]
    lines += [f"{decay:{column}}  {value:.6g} +- {error:.2g}" for decay, (value, error) in rows]
    lines += ["", f"{made.points} points, {made.events / made.points:.2%} became events"]
    return "\n".join(lines) + "\n"
