"""That a cross section is finite: which cut keeps each pole away, or the one that is missing, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from . import _checks, _cuts, _named_cuts, _topologies, _widths
from ._library import Error

if TYPE_CHECKING:
    from ._elements import Element

# What is far below a mass, in units of it: an integral over s / mass^4 has 1e-7 there.
_LIGHT = 0.02
# Two masses are the same to this accuracy.
_SAME = 1e-9


def by_name(elements: list[Element], legs: list[tuple[float, ...]], cuts: Mapping[str, float]) -> None:
    """That no massless line makes the cross section infinite."""
    there, where = _checks.Cuts(cuts, _named_cuts.names()), ""
    missing: list[str] = []
    for element, masses in zip(elements, legs):
        pdg = element.flavor["options"][0]
        classes = [_named_cuts.class_of(code) for code in pdg[2:]]
        poles = {pole for channel in element.channels for pole in _checks.poles(channel, pdg, masses)}
        for pole in sorted(poles, key=lambda pole: (len(pole.legs), pole.legs)):
            found = there.missing(pole, classes)
            if found and not missing:
                where = _said(pdg, pole)
            missing += found
    if missing:
        raise Error(
            f"the cross section is infinite without a cut: {where}; give {' and '.join(sorted(set(missing)))}, such as "
            f"cuts={_checks.proposal(missing)}"
        )


def by_run_card(
    elements: list[Element], legs: list[tuple[float, ...]], windows: Sequence[Sequence[_cuts.Window]]
) -> None:
    """The same, where cuts are those of a run card."""
    for element, masses, some in zip(elements, legs, windows):
        pdg = element.flavor["options"][0]
        poles = {pole for channel in element.channels for pole in _checks.poles(channel, pdg, masses)}
        for pole in sorted(poles, key=lambda pole: (len(pole.legs), pole.legs)):
            place = tuple(leg + 2 for leg in pole.legs)
            words = _cuts.missing(some, len(pdg), place, tuple(leg + 2 for leg in pole.vectors), pole.meeting)
            if words:
                said = " and ".join(
                    f"the least {'transverse momentum' if word[:2] == 'pt' else 'distance'} of "
                    + " and ".join(str(pdg[int(leg)]) for leg in word.split()[1:])
                    for word in sorted(words)
                )
                raise Error(
                    f"the cross section is infinite without a cut: {_said(pdg, pole)}; set {said} in the run card"
                )


def resonances(
    element: Element, masses: tuple[float, ...], windows: Sequence[_cuts.Window], energy: float, densities: bool
) -> None:
    """That particles have a width where they can be on their mass shells: a survey would never end, or be wrong."""
    pdg = element.flavor["options"][0]
    everything = frozenset(range(2, len(masses)))
    for channel in element.channels:
        for line, (code, (mass, width)) in enumerate(zip(channel["propagators"], channel["masses"])):
            mass, width = abs(mass), abs(width)
            if mass == 0.0 or width >= _widths.NARROWEST * mass or _checks.outgoing(channel["vertices"], f"p{line}")[1] == 1:
                continue
            legs = _topologies.legs_of(channel["vertices"], f"p{line}")
            least = _cuts.least_mass(windows, masses, sorted(legs))
            most = energy - sum(masses[leg] for leg in everything - legs)
            for window in windows:
                if window.observable == "mass" and frozenset(window.legs[0]) == legs and not window.outside:
                    most = min(most, window.largest)
            if legs == everything and not densities:
                least = energy
            if not least * (1.0 - _SAME) <= mass <= most * (1.0 + _SAME):
                continue
            # Where it becomes itself and a massless particle, cuts keep it away.
            if math.isclose(sum(masses[leg] for leg in legs), mass, rel_tol=_SAME):
                continue
            raise Error(f"{_process(pdg)}: {_widths.without(code, mass, width)}, or cut that mass away")


def vanishes_below(element: Element, floor: float) -> bool:
    """Whether events of smaller masses are of no account: all lines are far heavier, so that |M|^2 falls there."""
    return all(floor < _LIGHT * abs(mass) for channel in element.channels for mass, _ in channel["masses"])


def larger_masses(pdg: list[int], mass: float, cuts: Mapping[str, float] | None) -> str:
    """Which cut leaves no events below a mass: of a run card, or one of these."""
    digits = 10.0 ** (math.floor(math.log10(mass)) - 1)
    least = math.ceil(mass / digits) * digits
    if cuts is None:
        entry = "mmnl (or dsqrt_shat)" if all(abs(code) in range(11, 17) for code in pdg[2:]) else "dsqrt_shat"
        return f"set their least mass in the run card, {entry} = {least:g} or more, or take densities that go down to smaller x"
    letters = [letter for letter in map(_named_cuts.class_of, pdg[2:]) if letter is not None]
    if not letters:
        return "take densities that go down to smaller x, or a lower energy"
    names = _checks.Cuts(cuts, _named_cuts.names())
    of_pair = len(letters) == 2
    name = names.name("mass", "".join(letters)) if of_pair else names.name("pt", letters[0])
    value = math.ceil((mass if of_pair else mass / letters.count(letters[0])) / digits) * digits
    return f"cut small masses, such as by cuts={{\"{name}\": {value:g}}}"


def _process(pdg: list[int]) -> str:
    return f"{' '.join(map(str, pdg[:2]))} > {' '.join(map(str, pdg[2:]))} (PDG codes)"


def _said(pdg: list[int], pole: _checks.Pole) -> str:
    process = _process(pdg)
    codes = [str(pdg[2 + leg]) for leg in pole.legs]
    if len(codes) == 1:
        return f"in {process} the particle {codes[0]} may go along a beam"
    return f"in {process} the particles {' and '.join(codes)} may " + (
        "go the same way" if pole.meeting else "meet, one of them without energy"
    )
