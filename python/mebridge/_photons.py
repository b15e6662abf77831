"""Photons of beams that are left whole: equivalent photons of a proton (V. M. Budnev et al., Phys. Rept. 15 (1975) 181),
and the improved Weizsaecker-Williams formula of an electron or muon (S. Frixione et al., hep-ph/9310350).

The numbers are those of MG5aMC's ``PhotonFlux.f``.
"""

from __future__ import annotations

import math
import pathlib
from typing import TYPE_CHECKING

import numpy as np

from ._densities import Coupling, Densities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PHOTON, LABEL = 22, "iww"
# PDG code and mass (GeV) by the entry lpp without its sign.
BEAMS = {2: (2212, 0.938), 3: (11, 0.511e-3), 4: (13, 0.105658)}
_ALPHA = 0.0072992701
# Of the form factors of the proton, GeV^2.
_DIPOLE, _A, _B, _C = 0.71, 7.16, -3.96, 0.028
# Knots of the grid, and its scales, GeV.
_LEAST, _KNOTS, _SCALES, _PER_DECADE = 1e-8, 600, (0.5, 1e5), 24


def flux(beam: int, x: Array, q2: Array) -> Array:
    """x f(x) of photons with virtualities up to this one, GeV^2, of a beam by its entry lpp."""
    kind = abs(beam)
    mass = BEAMS[kind][1]
    inside = x < 1.0
    x = np.where(inside, x, 0.5)
    least = mass**2 * x**2 / (1.0 - x)
    open_ = inside & (least < q2)
    least = np.where(open_, least, 0.5 * q2)
    if kind == 2:
        found = _ALPHA / math.pi * (_proton(x, q2 / _DIPOLE) - _proton(x, least / _DIPOLE)) * (1.0 - x)
    else:
        found = 2.0 * mass**2 * x**2 * (1.0 / q2 - 1.0 / least) + (2.0 - 2.0 * x + x**2) * np.log(q2 / least)
        found *= _ALPHA / (2.0 * math.pi)
    return np.where(open_, np.maximum(found, 0.0), 0.0)


def _proton(x: Array, q: Array) -> Array:
    more, y = 1.0 + q, x**2 / (1.0 - x)
    found = (1.0 + _A * y) * (-np.log(more / q) + 1.0 / more + 1.0 / (2.0 * more**2) + 1.0 / (3.0 * more**3))
    found += (1.0 - _B) * y / (4.0 * q * more**3)
    last = np.log((more - _B) / more) + _B / more + _B**2 / (2.0 * more**2) + _B**3 / (3.0 * more**3)
    return np.asarray(found + _C * (1.0 + y / 4.0) * last)


def densities(beam: int, coupling: Coupling, folder: str) -> Densities:
    """The flux as a file of LHAPDF, which is written into a folder."""
    # As dense towards x = 1, where the proton's flux ends, as towards 0.
    half = np.geomspace(_LEAST, 0.5, _KNOTS)
    x = np.concatenate([half, 1.0 - np.geomspace(0.5, 1e-6, _KNOTS)[1:], [1.0]])
    decades = math.log10(_SCALES[1] / _SCALES[0])
    q = np.geomspace(*_SCALES, math.ceil(_PER_DECADE * decades) + 1)
    values = flux(beam, np.repeat(x, len(q)), np.tile(q, len(x)) ** 2)
    lines = ["PdfType: central", "Format: lhagrid1", "---"]
    lines += [" ".join(repr(float(value)) for value in row) for row in (x, q)]
    lines += [str(PHOTON), *("%.12e" % value for value in values.tolist()), "---", ""]
    file = pathlib.Path(folder) / f"{LABEL}{abs(beam)}_0000.dat"
    file.write_text("\n".join(lines))
    return Densities(file, coupling, 0)
