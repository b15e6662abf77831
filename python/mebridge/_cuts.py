"""Cuts of a run card on the legs of one matrix element, as MadEvent's ``setcuts.f`` and ``cuts.f`` have them.

They are kept as a list of windows in observables of single legs, and rules, which the library takes.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEPTONS, _NEUTRINOS = (11, 13, 15), (12, 14, 16)
_GLUON, _PHOTON = 21, 22
# GeV: above the first MadEvent cuts on nothing but by PDG code, above the second a particle is heavy.
_NO_CUTS, _HEAVY = 20.0, 10.0
# Entries by PDG code.
_BY_CODE = (
    *(f"{name}_{limit}_pdg" for name in ("pt", "e", "eta") for limit in ("min", "max")),
    "mxx_min_pdg",
    "mxx_only_part_antipart",
)


@dataclass(frozen=True)
class Window:
    """An observable that lies between two numbers."""

    observable: str
    """``pt``, ``rapidity`` (its absolute value), ``energy`` (in the rest frame of the partons), ``distance`` (in
    rapidity and angle), ``mass``."""
    legs: tuple[tuple[int, ...], ...]
    """Legs, from 0 and with those that come in, whose momenta are added: one sum for each group; ``distance`` has two
    of one leg."""
    least: float = -math.inf
    largest: float = math.inf
    take: str = "all"
    """``all`` of the groups, ``any`` of them, their ``sum``, or ``0``, ``1``, ...: the first, second, ... in falling
    order; ``+2``: the sum of the first two."""
    outside: bool = False
    """The observable lies outside the window instead."""
    entries: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)
    """What of a run card asks for it, such as ``ptj = 20``."""


@dataclass(frozen=True)
class Rule:
    """A cut that is no window."""

    kind: str
    """``some`` of the jets in falling order lie in their windows; the two hardest are ``opposite``; photons are
    ``isolated``."""
    legs: tuple[tuple[int, ...], ...]
    """Jets; for photons these, jets, and what is electromagnetic besides."""
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class Legs:
    """What the legs that go out are to a run card."""

    pdg: tuple[int, ...]
    masses: tuple[float, ...]
    decayed: frozenset[int]
    """Those that come from a decay chain."""
    card: Mapping[str, Any]

    @property
    def outgoing(self) -> range:
        return range(2, len(self.pdg))

    def kind(self, leg: int) -> str:
        """``j``, ``b``, ``l``, ``a``, ``n`` (neutrino), or nothing."""
        code = abs(self.pdg[leg])
        flavors = self.card["maxjetflavor"]
        if code == _GLUON or code <= min(flavors, 6):
            return "j"
        if code <= 5:
            return "b"
        if code in _LEPTONS:
            return "l"
        if code in _NEUTRINOS:
            return "n"
        return "a" if code == _PHOTON else ""

    def of(self, kind: str) -> list[int]:
        return [leg for leg in self.outgoing if self.kind(leg) == kind]

    def free(self, leg: int) -> bool:
        """Whether no cuts are about it, as it comes from a decay."""
        return leg in self.decayed and not self.card["cut_decays"]

    def cut(self, leg: int) -> bool:
        """Whether the cuts of its kind are about it."""
        return not self.free(leg) and self.masses[leg] <= _NO_CUTS and self.kind(leg) != "n"


def windows(legs: Legs) -> list[Window]:
    """The cuts that say something."""
    found = [*_single(legs), *_pairs(legs), *_global(legs)]
    return [window for window in found if window.least > -math.inf or window.largest < math.inf]


def rules(legs: Legs, energy: float) -> tuple[list[Rule], list[Window]]:
    """The cuts that are no windows, and windows that they imply.

    Args:
        energy: of both beams, in GeV.
    """
    card, found, implied = legs.card, [], []
    jets, photons = tuple(legs.of("j")), tuple(legs.of("a"))
    if card["cutuse"] != 0 and jets:
        limits = [(card[f"ptj{i}min"], card[f"ptj{i}max"]) for i in range(1, min(len(jets), 4) + 1)]
        numbers = tuple(number for least, largest in limits for number in (_least(least), _largest(largest)))
        found.append(Rule("some", (jets,), numbers))
    if (card["xetamin"] > 0.0 or card["deltaeta"] > 0.0) and len(jets) > 1:
        found.append(Rule("opposite", (jets,), (card["xetamin"], card["deltaeta"])))
    if card["ptgmin"] > 0.0 and photons:
        others = tuple(legs.of("l")) if card["isoem"] else ()
        radius, power, share = card["r0gamma"], abs(card["xn"]), card["epsgamma"]
        together = (photons, jets, others if card["isoem"] else ())
        numbers = (card["ptgmin"], radius, power, share, float(card["isoem"]))
        found.append(Rule("isolated", together, numbers))
        for photon in photons:
            for jet in jets:
                closest = _closest(card["ptj"] if legs.cut(jet) else 0.0, energy / 2.0, radius, power, share)
                implied.append(Window("distance", ((photon,), (jet,)), _least(closest)))
    return found, implied


def _closest(least: float, largest: float, radius: float, power: float, share: float) -> float:
    """How near to the hardest photon a jet of this transverse momentum may come: Frixione's condition."""
    if least >= share * largest or power == 0.0:
        return radius if least >= share * largest else 0.0
    return math.acos(1.0 - (1.0 - math.cos(radius)) * (least / (share * largest)) ** (1.0 / power))


def empty(legs: Legs) -> str | None:
    """The name of a cut that no event of these legs passes: on a jet or lepton that is not there."""
    for kind, total in (("j", "htj"), ("l", "")):
        count = len(legs.of(kind))
        for number in range(1, 5):
            if count < number and legs.card[f"pt{kind}{number}min"] > 0.0:
                return f"pt{kind}{number}min"
        if total and not count and legs.card[f"{total}min"] > 0.0:
            return f"{total}min"
    return None


def nowhere(windows: Sequence[Window], energy: float) -> Window | None:
    """One that no event of this energy lies in."""
    for window in windows:
        if window.outside:
            continue
        together = window.take == "sum" or window.take.startswith("+")
        most = {"pt": energy if together else energy / 2.0, "mass": energy}.get(window.observable, math.inf)
        if window.least > min(window.largest, most):
            return window
    return None


def said(windows: Sequence[Window], pdg: Sequence[int]) -> str:
    """What these windows are, by PDG codes, without the signs."""
    found: dict[str, None] = {}
    for window in windows:
        of = ", ".join(" ".join(str(abs(pdg[leg])) for leg in group) for group in window.legs)
        low = "" if window.least == -math.inf else f" from {window.least:g}"
        high = "" if window.largest == math.inf else f" to {window.largest:g}"
        which = {"all": "", "any": "one of "}.get(window.take, f"({window.take}) of ")
        found[f"{window.observable} of {which}{of}{low}{high}{' left out' if window.outside else ''}"] = None
    return "; ".join(found)


def named(window: Window, legs: Legs) -> str:
    """A window by the entries of the card that ask for it, or else by the particles that it is of."""
    return " with ".join(window.entries) or said([window], legs.pdg)


def _window(
    card: Mapping[str, Any],
    observable: str,
    legs: tuple[tuple[int, ...], ...],
    least: str,
    largest: str = "",
    take: str = "all",
    code: int | None = None,
    turned: bool = False,
) -> Window:
    """The window of these entries.

    Args:
        code: the PDG code where they are dicts.
        turned: whether a least number above the largest one leaves out what is between them, and not everything.
    """

    def value(name: str, default: float) -> float:
        found = card[name] if name else default
        return float(found.get(code, default) if isinstance(found, Mapping) else found)

    def named(name: str) -> str:
        return f"{name} = {value(name, 0.0):g}" if code is None else f"{name} = {{{code}: {value(name, 0.0):g}}}"

    low, high = _least(value(least, 0.0)), _largest(value(largest, -1.0))
    entries = [named(name) for name, there in ((least, low > -math.inf), (largest, high < math.inf)) if name and there]
    if turned and low > high:
        return Window(observable, legs, high, low, take, outside=True, entries=tuple(entries))
    return Window(observable, legs, low, high, take, entries=tuple(entries))


def _least(value: float) -> float:
    return value if value > 0.0 else -math.inf


def _largest(value: float) -> float:
    return value if value >= 0.0 else math.inf


def _single(legs: Legs) -> list[Window]:
    card, found = legs.card, []
    by_code = _by_code(card)
    for leg in legs.outgoing:
        kind, code = legs.kind(leg), abs(legs.pdg[leg])
        if code in by_code and not legs.free(leg):
            for observable, name in (("pt", "pt"), ("energy", "e"), ("rapidity", "eta")):
                found.append(_window(card, observable, ((leg,),), f"{name}_min_pdg", f"{name}_max_pdg", code=code))
        elif legs.cut(leg) and kind in ("j", "b", "l", "a"):
            isolated = kind == "a" and card["ptgmin"] > card["pta"]
            found.append(_window(card, "pt", ((leg,),), "ptgmin" if isolated else f"pt{kind}", f"pt{kind}max"))
            found.append(_window(card, "energy", ((leg,),), f"e{kind}", f"e{kind}max"))
            found.append(_window(card, "rapidity", ((leg,),), f"eta{kind}min", f"eta{kind}"))
    return found


def _by_code(card: Mapping[str, Any]) -> set[int]:
    """PDG codes that have cuts of their own."""
    return {code for name in _BY_CODE for code in card[name] if code != "default"}


def divided(legs: Legs, processes: Sequence[Sequence[int]]) -> str | None:
    """Which entries by PDG code are not the same for all processes of a matrix element, which have one set of cuts."""
    for leg in (leg for leg in legs.outgoing if not legs.free(leg)):
        codes = sorted({abs(pdg[leg]) for pdg in processes})
        for name in _BY_CODE:
            if len({legs.card[name].get(code) for code in codes}) > 1:
                return f"{name} is not the same for {', '.join(map(str, codes))} (PDG codes)"
    return None


def unused(card: Mapping[str, Any], there: Collection[int]) -> str | None:
    """What is to be said of entries by PDG code where none of these particles is there."""
    found = [f"{name} ({code})" for name in _BY_CODE for code in card[name] if code != "default" and code not in there]
    if not found:
        return None
    return (
        f"mebridge: {', '.join(found)} of the run card cuts nothing: no such particle goes out, but from a decay chain where "
        "cut_decays is False\n"
    )


def _pairs(legs: Legs) -> list[Window]:
    card, found = legs.card, []
    for first, second in itertools.combinations(legs.outgoing, 2):
        one, other = legs.pdg[first], legs.pdg[second]
        kinds = "".join(sorted((legs.kind(first), legs.kind(second))))
        opposite = kinds == "ll" and one == -other
        both = ((first, second),)
        if legs.cut(first) and legs.cut(second):
            name = {"bj": "bj", "aj": "aj", "jl": "jl", "ab": "ab", "bl": "bl", "al": "al"}.get(kinds)
            if kinds in ("jj", "bb", "ll", "aa"):
                name = kinds
            if name is not None and len(kinds) == 2:
                found.append(_window(card, "distance", ((first,), (second,)), f"dr{name}", f"dr{name}max"))
            if opposite or kinds in ("jj", "bb", "aa"):
                found.append(_window(card, "mass", both, f"mm{kinds}", f"mm{kinds}max", turned=True))
        leptonic = opposite or kinds in ("ln", "nn")
        if leptonic:
            found.append(_window(card, "pt", both, "ptllmin", "ptllmax"))
        if abs(one) == abs(other) and abs(one) in card["mxx_min_pdg"]:
            only = card["mxx_only_part_antipart"]
            alone = only.get(abs(one), only.get("default", False))
            if not (legs.free(first) or legs.free(second)) and (not alone or one == -other):
                found.append(_window(card, "mass", both, "mxx_min_pdg", code=abs(one)))
    return found


def _global(legs: Legs) -> list[Window]:
    card = legs.card
    everything = tuple(legs.outgoing)
    jets, bottoms, leptons, neutrinos = (legs.of(kind) for kind in "jbln")
    found = [_window(card, "mass", (everything,), "dsqrt_shat", "dsqrt_shatmax")]
    if neutrinos:
        found.append(_window(card, "pt", (tuple(neutrinos),), "misset", "missetmax"))
    if leptons or neutrinos:
        together = (tuple(sorted(leptons + neutrinos)),)
        found.append(_window(card, "mass", together, "mmnl", "mmnlmax"))
    heavy = [leg for leg in legs.outgoing if legs.masses[leg] > _HEAVY]
    for some, name in ((heavy, "ptheavy"), *((legs.of(kind), f"xpt{kind}") for kind in "jbal")):
        if some:
            found.append(_window(card, "pt", tuple((leg,) for leg in some), name, take="any"))
    for some, kind in ((jets, "j"), (leptons, "l")):
        if kind == "j" and card["cutuse"] != 0:
            continue
        each = tuple((leg,) for leg in some)
        for number in range(1, min(len(some), 4) + 1):
            names = f"pt{kind}{number}min", f"pt{kind}{number}max"
            found.append(_window(card, "pt", each, *names, take=str(number - 1)))
    each = tuple((leg,) for leg in jets)
    if jets:
        found.append(_window(card, "pt", each, "htjmin", "htjmax", take="sum"))
    for number in range(2, min(len(jets), 4) + 1):
        found.append(_window(card, "pt", each, f"ht{number}min", f"ht{number}max", take=f"+{number}"))
    each = tuple((leg,) for leg in (*jets, *bottoms))
    if each:
        found.append(_window(card, "pt", each, "ihtmin", "ihtmax", take="sum"))
    return found


def resonance(legs: Sequence[int], mass: float, width: float) -> Window:
    """That a particle of a decay chain lies within some widths of its mass."""
    return Window("mass", (tuple(legs),), max(mass - width, 0.0), mass + width)


def rapidity(energies: tuple[float, float]) -> float:
    """Of the frame in which two beams have the same energy, in the one where they have these."""
    return 0.5 * math.log(energies[0] / energies[1])


def boosted(momenta: NDArray[np.float64], boost: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Momenta (events, legs, 4) in a frame in which theirs has this rapidity, or one for each event."""
    if not np.any(boost):
        return momenta
    found: NDArray[np.float64] = momenta.copy()
    rapidity = boost[:, None] if isinstance(boost, np.ndarray) else boost
    energy, pz, cosh, sinh = momenta[..., 0], momenta[..., 3], np.cosh(rapidity), np.sinh(rapidity)
    found[..., 0], found[..., 3] = cosh * energy + sinh * pz, sinh * energy + cosh * pz
    return found


def least(windows: Sequence[Window], masses: Sequence[float]) -> float:
    """An energy of the partons below which no event lies in all windows."""
    momenta, found = _momenta(windows), least_mass(windows, masses, range(2, len(masses)))
    for window in windows:
        if window.observable == "mass" and window.least > 0.0 and not window.outside:
            others = sum(mass for leg, mass in enumerate(masses[2:], 2) if leg not in window.legs[0])
            found = max(found, window.least + others)
    return max(found, sum(math.hypot(mass, momenta.get(leg, 0.0)) for leg, mass in enumerate(masses[2:], 2)))


def least_mass(windows: Sequence[Window], masses: Sequence[float], legs: Sequence[int]) -> float:
    """An invariant mass of these legs below which no event lies in all windows.

    Of two without masses it is 2 pt pt' (cosh y - cos phi), squared; where y^2 + phi^2 is at least R^2, the bracket is
    at least 1 - cos R.
    """
    momenta, masses_of, distances = _momenta(windows), _pairwise(windows, "mass"), _pairwise(windows, "distance")
    squared = sum(masses[leg] ** 2 for leg in legs)
    for one, other in itertools.combinations(legs, 2):
        pair = frozenset((one, other))
        of_pair = 2.0 * masses[one] * masses[other]
        if masses[one] == masses[other] == 0.0:
            angle = min(distances.get(pair, 0.0), math.pi)
            of_pair = 2.0 * momenta.get(one, 0.0) * momenta.get(other, 0.0) * (1.0 - math.cos(angle))
        squared += max(of_pair, masses_of.get(pair, 0.0) ** 2 - masses[one] ** 2 - masses[other] ** 2)
    return max(math.sqrt(squared), masses_of.get(frozenset(legs), 0.0))


def _momenta(windows: Sequence[Window]) -> dict[int, float]:
    """The least transverse momenta of legs."""
    found: dict[int, float] = {}
    for window in windows:
        if window.observable == "pt" and window.least > 0.0 and not window.outside and window.take == "all":
            for leg in (group[0] for group in window.legs if len(group) == 1):
                found[leg] = max(found.get(leg, 0.0), window.least)
    return found


def _pairwise(windows: Sequence[Window], observable: str) -> dict[frozenset[int], float]:
    """The least masses of groups of legs, or distances of two."""
    found: dict[frozenset[int], float] = {}
    for window in windows:
        if window.observable != observable or window.least <= 0.0 or window.outside or window.take != "all":
            continue
        groups = window.legs if observable == "mass" else (tuple(leg for group in window.legs for leg in group),)
        for group in groups:
            found[frozenset(group)] = max(found.get(frozenset(group), 0.0), window.least)
    return found


def missing(
    windows: Sequence[Window], count: int, pole: tuple[int, ...], vectors: tuple[int, ...], meeting: bool
) -> set[str]:
    """Which observables of which legs have to be bounded so that a pole of the matrix element is not reached.

    Args:
        count: of all legs.
        pole: the leg that may go along a beam, or the two that may meet.
        vectors: those of them that may have no energy there.
        meeting: whether both may go the same way.

    Returns:
        Words such as ``pt 3`` and ``dr 3 4``.
    """

    def bounded(observable: str, *legs: int, largest: bool = False) -> bool:
        return any(
            window.observable == observable
            and (window.largest < math.inf if largest else window.least > 0.0)
            and not window.outside
            and sorted(leg for group in window.legs for leg in group) == sorted(legs)
            for window in windows
        )

    if len(pole) == 1:
        (leg,) = pole
        # Two are back to back.
        several = range(2, count) if count == 4 else [leg]
        if any(bounded("pt", one) for one in several):
            return set()
        if count == 4 and any(bounded("rapidity", one, largest=True) for one in several):
            return set()
        massive = any(bounded("mass", leg, other) for other in range(2, count) if other != leg)
        return set() if massive and bounded("rapidity", leg, largest=True) else {f"pt {leg}"}
    if bounded("mass", *pole):
        return set()
    found = {f"pt {leg}" for leg in vectors if not bounded("pt", leg)}
    if meeting and not bounded("distance", *pole):
        found.add(f"dr {pole[0]} {pole[1]}")
    return found


def resting(momenta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Momenta (events, legs, 4) in the rest frame of what comes in; a particle that goes out alone rests."""
    total = momenta[:, :2].sum(axis=1)
    rapidity = 0.5 * np.log((total[:, 0] + total[:, 3]) / (total[:, 0] - total[:, 3]))
    found: NDArray[np.float64] = boosted(momenta, -rapidity).copy()
    if momenta.shape[1] == 3:
        # Helicities are about the direction in which it moves, which rounding would decide.
        found[:, 2, 1:] = 0.0
    return found
