"""Parton densities that MG5aMC puts into an output, ``lib/Pdfdata``, and alpha_s that goes with them.

The grids are those of NNPDF 2.3 with QED (arXiv:1308.0598), and the tables of CTEQ6 (:mod:`mebridge._cteq`). The former
are interpolated as ``NNPDFDriver.f`` of the output does: polynomials of degree 3 in ln x (in x from 0.1 on) through the
four nodes about a point, straight lines in ln Q^2. alpha_s runs from its value at 91.188 GeV by one or two loops, as
``alfas_functions.f`` has it (R. K. Ellis), with five flavours above 4.7 GeV, four above 1.42 GeV and three below.
"""

from __future__ import annotations

import functools
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _cteq
from ._densities import Coupling, Densities
from ._library import Error
from ._slha import Card

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
# Columns of a grid by PDG code; its last one is the photon.
_CODES = (-6, -5, -4, -3, -2, -1, 21, 1, 2, 3, 4, 5, 6, 22)
# Below this x lines are drawn in ln x, from it on in x.
_LINEAR = 0.1
# Knots of the grid that MadSpace gets: for each interval of x, and of the scale.
_FINER_X, _FINER_Q = 4, 3
_Z, _B, _C = 91.188, 4.7, 1.42
# alpha_s there, where a card does not say it.
_AT_Z = 0.118
# Scales of alpha_s, in GeV.
_SCALES = (1.0, 1e5)


@dataclass(frozen=True)
class Grid:
    """A grid of ``lib/Pdfdata``."""

    x: NDArray[np.float64]
    q2: NDArray[np.float64]
    values: NDArray[np.float64]
    """x f(x, Q), shape (codes, x, Q^2)."""

    @classmethod
    def read(cls, file: pathlib.Path) -> Grid:
        try:
            _, _, text = file.read_text(encoding="ascii").partition("NNPDF20int")
            words = text.split("\n", 2)[2].split()
            count = int(words[0])
            x = np.array(words[1 : 1 + count], dtype=float)
            scales = int(words[1 + count])
            # A line with the least scale is between.
            q2 = np.array(words[3 + count : 3 + count + scales], dtype=float)
            # As is one before the densities.
            rest = np.array(words[4 + count + scales :], dtype=float)
        except (OSError, ValueError, IndexError) as error:
            raise Error(f"{file} cannot be read as a grid of NNPDF: {error}") from None
        if rest.size % (count * scales) or rest.size // (count * scales) != len(_CODES):
            raise Error(f"{file} does not hold {len(_CODES)} densities at {count} x and {scales} scales")
        return cls(x, q2, rest.reshape(count, scales, len(_CODES)).transpose(2, 0, 1))

    @property
    def codes(self) -> list[int]:
        """PDG codes of the partons."""
        return [code for code in _CODES if abs(code) != 6]

    def xf(self, code: int, x: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
        """x f(x, Q) of a parton by its PDG code; outside of the grid the value at its end."""
        x = np.clip(np.asarray(x, dtype=float), max(self.x[0], 0.0), self.x[-1])
        q2 = np.clip(np.asarray(q, dtype=float) ** 2, self.q2[0], self.q2[-1])
        x, q2 = np.broadcast_arrays(x, q2)
        values = self.values[_CODES.index(code)]
        column = np.clip(np.searchsorted(self.q2, q2, side="right") - 1, 0, len(self.q2) - 2)
        low, high = np.log(self.q2[column]), np.log(self.q2[column + 1])
        share = (np.log(q2) - low) / (high - low)
        first = np.clip(np.searchsorted(self.x, x, side="right") - 2, 0, len(self.x) - 4)
        logarithmic = x < _LINEAR
        at = np.where(logarithmic, np.log(x), x)
        nodes = [np.where(logarithmic, np.log(self.x[first + i]), self.x[first + i]) for i in range(4)]
        before, after = ([values[first + i, column + side] for i in range(4)] for side in (0, 1))
        return _cteq.cubic(at, nodes, [one * (1.0 - share) + other * share for one, other in zip(before, after)])


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


def densities(output: pathlib.Path, label: str, folder: str) -> Densities:
    """A set of the output as a file of LHAPDF, which is written into a folder.

    Between two scales of the original the file has a part of its own, in which densities are straight lines in ln Q^2
    as they are there; between two x it has further knots.
    """
    found, source = SETS[label], locate(output, label)
    file = pathlib.Path(folder) / f"{label}_0000.dat"
    file.write_text(_text(source, source.stat().st_mtime_ns))
    return Densities(file, coupling(found.at_z, found.loops), found.number)


@functools.lru_cache(maxsize=1)
def _text(source: pathlib.Path, _: int) -> str:
    grid = (_cteq.Table if source.suffix == ".tbl" else Grid).read(source)
    knots, codes = _finer(grid.x), grid.codes
    scales = np.sqrt(grid.q2)
    parts = ["PdfType: central\nFormat: lhagrid1\n---\n"]
    for low, high in zip(scales, scales[1:]):
        between = np.geomspace(low, high, _FINER_Q + 1)
        x, q = (values.ravel() for values in np.meshgrid(knots, between, indexing="ij"))
        # The last scale belongs to this part here, although the next one begins with it.
        rows = np.stack([grid.xf(code, x, np.minimum(q, high)) for code in codes], axis=1)
        head = "\n".join(" ".join(map(repr, map(float, values))) for values in (knots, between))
        body = "\n".join(" ".join("%.9e" % number for number in row) for row in rows.tolist())
        parts.append(f"{head}\n{' '.join(map(str, codes))}\n{body}\n---\n")
    return "".join(parts)


def _finer(x: NDArray[np.float64]) -> NDArray[np.float64]:
    found = [x[:1]]
    for low, high in zip(x, x[1:]):
        spaced = np.geomspace if high <= _LINEAR * 1.0000001 else np.linspace
        found.append(spaced(low, high, _FINER_X + 1)[1:])
    return np.concatenate(found)
