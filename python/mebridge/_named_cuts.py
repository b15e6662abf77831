"""Cuts by name, ``pt``, ``drjl``, ...: of which particles, as MadSpace has them and as windows of legs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from . import _arguments, _cuts, _topologies, _widths
from ._library import Error

if TYPE_CHECKING:
    from ._elements import Element

# Particles that cuts are about, by the letter in their names: jets, charged leptons, photons. PDG codes.
_CLASSES = {"j": (21, 1, 2, 3, 4, 5), "l": (11, 13, 15), "a": (22,)}
_PAIRS = ("jj", "ll", "aa", "jl", "aj", "al")
# Cuts: observable, of how many particles, and whether the number is the least or the largest one. GeV.
_SINGLE = {"pt": ("obs_pt", "min"), "eta": ("obs_eta_abs", "max")}
_PAIR = {"dr": ("obs_delta_r", "min"), "mass": ("obs_pair_mass", "min")}
# Widths about the mass of a particle of a decay chain: bwcutoff of MG5aMC's run card.
BW_CUTOFF = 15.0


def names() -> dict[str, tuple[str, str, str]]:
    """Observable, limit and classes of each cut."""
    found: dict[str, tuple[str, str, str]] = {}
    for name, kind in _SINGLE.items():
        found |= {name: (*kind, "j")} | {f"{name}{letter}": (*kind, letter) for letter in _CLASSES}
    for name, kind in _PAIR.items():
        found |= {name: (*kind, "jj")} | {f"{name}{pair}": (*kind, pair) for pair in _PAIRS}
    return found


def check(cuts: Mapping[str, float]) -> dict[str, float]:
    """Cuts that there are, as plain numbers."""
    if not isinstance(cuts, Mapping):
        raise TypeError(f'cuts is {cuts!r}; it must be a dict such as {{"pt": 20}}')
    known, found = names(), {}
    for name, value in cuts.items():
        if name not in known:
            raise ValueError(f"there is no cut {name!r}; there are {', '.join(known)}")
        found[name] = _arguments.real(f"the cut {name}", value)
        if not 0.0 <= found[name] < math.inf:
            raise ValueError(f"the cut {name} is {value}; it must be a number that is not negative")
    return found


def class_of(code: int) -> str | None:
    """Which cuts are about a particle."""
    return next((letter for letter, codes in _CLASSES.items() if abs(code) in codes), None)


def _selected(letter: str, pdg: list[int]) -> list[int]:
    return [code for code in sorted(set(pdg[2:])) if abs(code) in _CLASSES[letter]]


def _is_about(name: str, pdg: list[int]) -> bool:
    """Whether a process has particles for a cut."""
    classes = names()[name][2]
    counts = [sum(code in _selected(letter, pdg) for code in pdg[2:]) for letter in classes]
    return min(counts) > 0 and (len(set(classes)) == len(classes) or counts[0] >= len(classes))


def used(elements: Sequence[Element], cuts: Mapping[str, float]) -> list[str]:
    """The cuts that some matrix element has particles for."""
    return [name for name in cuts if any(_is_about(name, element.flavor["options"][0]) for element in elements)]


def windows(pdg: Sequence[int], cuts: Mapping[str, float]) -> list[_cuts.Window]:
    """The cuts that this process has particles for."""
    known, found = names(), []
    observables = {"obs_pt": "pt", "obs_eta_abs": "rapidity", "obs_delta_r": "distance", "obs_pair_mass": "mass"}
    for name, value in cuts.items():
        function, limit, classes = known[name]
        legs = [[leg for leg in range(2, len(pdg)) if abs(pdg[leg]) in _CLASSES[letter]] for letter in classes]
        observable = observables[function]
        least, largest = (value, math.inf) if limit == "min" else (-math.inf, value)
        if len(classes) == 1:
            found += [_cuts.Window(observable, ((leg,),), least, largest) for leg in legs[0]]
            continue
        pairs = {tuple(sorted(pair)) for pair in itertools.product(*legs) if len(set(pair)) == 2}
        for one, other in sorted(pairs):
            groups = ((one, other),) if observable == "mass" else ((one,), (other,))
            found.append(_cuts.Window(observable, groups, least, largest))
    return found


def on_shell(element: Element) -> list[_cuts.Window]:
    """Windows about the masses of particles of a decay chain, as wide as MG5aMC's run card has them."""
    found: dict[frozenset[int], _cuts.Window] = {}
    for channel in element.channels:
        for propagator in channel["on_shell_propagators"]:
            legs = _topologies.legs_of(channel["vertices"], f"p{propagator}")
            mass, width = map(abs, channel["masses"][propagator])
            if width < _widths.NARROWEST * mass:
                raise Error(f"decay chain: {_widths.without(channel['propagators'][propagator], mass, width)}")
            found[legs] = _cuts.resonance(sorted(legs), mass, BW_CUTOFF * width)
    return list(found.values())
