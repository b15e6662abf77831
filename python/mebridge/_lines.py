"""Masses and widths of the propagators that a directory lists."""

from __future__ import annotations

from collections.abc import Callable

from ._integrands import Element, legs_of
from ._output import Directory, Line


def line_masses(element: Element, number: int) -> Callable[[Line], tuple[float, float]]:
    """Masses and widths of the propagators of a matrix element, which is this one of its directory."""
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for channel in element.channels:
        for line, (code, (mass, width)) in enumerate(zip(channel["propagators"], channel["masses"])):
            legs = sum(1 << leg for leg in legs_of(channel["vertices"], f"p{line}"))
            known[legs, abs(code)] = abs(mass), abs(width)
    everything = (1 << len(element.flavor["options"][0])) - 1

    def found(line: Line) -> tuple[float, float]:
        # A code may be missing there. Of a line between beams those beyond it are told.
        for legs in (line.legs, everything - line.legs):
            for code in (abs(line.codes[number]), 0):
                if (legs, code) in known:
                    return known[legs, code]
        return 0.0, 0.0

    return found


def name(element: Element, directory: Directory, number: int) -> bool:
    """Gives propagators whose PDG code a library does not know the one that the directory lists for their legs.

    Returns:
        Whether there were any.
    """
    everything = (1 << len(element.flavor["options"][0])) - 1
    listed: dict[int, set[int]] = {}
    for config in directory.configs:
        for line in config.lines if config.diagrams[number] else ():
            for legs in (line.legs, everything - line.legs):
                listed.setdefault(legs, set()).add(line.codes[number])
    known: dict[int, set[int]] = {}
    unknown = []
    for channel in element.channels:
        for place, code in enumerate(channel["propagators"]):
            legs = sum(1 << leg for leg in legs_of(channel["vertices"], f"p{place}"))
            known.setdefault(legs, set()).add(abs(code))
            if code == 0:
                unknown.append((channel, place, legs))
    for channel, place, legs in unknown:
        left = {code for code in listed.get(legs, ()) if abs(code) not in known[legs]}
        if len(left) == 1:
            (channel["propagators"][place],) = left
            for diagram in channel["diagrams"]:
                (diagram["propagator_pdgs"][place],) = left
    return bool(unknown)
