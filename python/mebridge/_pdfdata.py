"""Parton densities that MG5aMC puts into an output, ``lib/Pdfdata``, and alpha_s that goes with them.

The grids are those of NNPDF 2.3 with QED (arXiv:1308.0598), and the tables of CTEQ6 (hep-ph/0201195); the library
interpolates both as the Fortran of the output does. alpha_s runs from its value at 91.188 GeV by one or two loops, as
``alfas_functions.f`` has it (R. K. Ellis), with five flavours above 4.7 GeV, four above 1.42 GeV and three below.
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple

import numpy as np

from ._densities import Coupling, Densities
from ._library import Error
from ._slha import Card

class Set(NamedTuple):
    """Densities that an output has."""

    file: str
    at_z: float
    """alpha_s at the mass of the Z boson."""
    number: int
    """At LHAPDF."""
    loops: int = 2
    """By which alpha_s runs."""


# By the label in the run card.
SETS = {
    "nn23lo": Set("NNPDF23_lo_as_0119_qed_mem0.grid", 0.119, 246800),
    "nn23lo1": Set("NNPDF23_lo_as_0130_qed_mem0.grid", 0.130, 247000),
    "nn23nlo": Set("NNPDF23nlo_as_0119_qed_mem0.grid", 0.119, 244800),
    "cteq6_m": Set("cteq6m.tbl", 0.118, 10000),
    "cteq6_l": Set("cteq6l.tbl", 0.118, 10041),
    "cteq6l1": Set("cteq6l1.tbl", 0.130, 10042, loops=1),
}
_Z, _B, _C = 91.188, 4.7, 1.42
# alpha_s there, where a card does not say it.
_AT_Z = 0.118
# Scales of alpha_s, in GeV.
_SCALES = (1.0, 1e5)


def alpha_s(scale: float, at_z: float, loops: int = 2) -> float:
    """alpha_s at a scale in GeV, by its value at the mass of the Z boson."""
    if scale >= _B:
        return _evolved(2.0 * np.log(scale / _Z), at_z, 5, loops)
    at_b = _evolved(2.0 * np.log(_B / _Z), at_z, 5, loops)
    if scale >= _C:
        return _evolved(2.0 * np.log(scale / _B), at_b, 4, loops)
    at_c = _evolved(2.0 * np.log(_C / _B), at_b, 4, loops)
    return _evolved(2.0 * np.log(scale / _C), at_c, 3, loops)


def _evolved(t: float, start: float, flavors: int, loops: int) -> float:
    """Solves the equation for a change t of the logarithm of the squared scale, of two loops by Newton's method."""
    b = (11.0 - 2.0 / 3.0 * flavors) / (4.0 * np.pi)
    if loops == 1:
        return float(start / (1.0 + b * start * t))
    c = (102.0 - 38.0 / 3.0 * flavors) / (4.0 * np.pi * (11.0 - 2.0 / 3.0 * flavors))

    def function(a: float) -> float:
        return float(1.0 / a + c * np.log(c * a / (1.0 + c * a)))

    found = start / (1.0 + b * start * t + c * start * np.log(1.0 + start * b * t))
    for _ in range(50):
        step = (b * t + function(start) - function(found)) * found**2 * (1.0 + c * found)
        found -= step
        if abs(step) < 1e-14 * found:
            break
    return float(found)


def coupling(start: float, loops: int = 2) -> Coupling:
    """alpha_s between 1 GeV, or where it has its pole, and 100 TeV. Scales lie dense, as it is interpolated between them."""
    ends = [_SCALES[0], _C, _B, _SCALES[1]]
    scales = sorted({float(q) for low, high in zip(ends, ends[1:]) for q in np.geomspace(low, high, 60)})
    values: list[float] = []
    with np.errstate(all="ignore"):
        for scale in reversed(scales):
            value = alpha_s(scale, start, loops)
            if not (values or [0.0])[-1] < value < np.inf:
                break
            values.append(value)
    return Coupling(tuple(scales[-len(values) :]), tuple(reversed(values)))


def at_z(card: Card) -> float:
    """alpha_s at the mass of the Z boson, by a parameter card."""
    found = card.value("SMINPUTS", 3, _AT_Z)
    if not 0.0 < found < 1.0:
        raise Error(f"the parameter card has alpha_s = {found:g} (block SMINPUTS, 3); it must be a number above 0 and below 1")
    return found


def coupling_of(card: Card) -> Coupling:
    """That of a parameter card, as runs without densities have it."""
    return coupling(at_z(card))


def locate(output: pathlib.Path, label: str) -> pathlib.Path:
    """The grid of a label of the run card."""
    file = output / "lib" / "Pdfdata" / SETS[label].file
    if not file.is_file():
        raise Error(f"the densities {label} need {file}, which is missing; MG5aMC writes it with the output")
    return file


def densities(file: pathlib.Path) -> Densities:
    """A set of an output, by its file."""
    found = next((of for of in SETS.values() if of.file == file.name), None)
    if found is None:
        known = ", ".join(of.file for of in SETS.values())
        raise Error(f"{file} is no set that MG5aMC puts into outputs ({known}); take one of these, or a set of LHAPDF")
    return Densities(file, coupling(found.at_z, found.loops), found.number)
