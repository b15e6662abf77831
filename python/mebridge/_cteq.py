"""Parton densities CTEQ6 (hep-ph/0201195) of the tables ``cteq6*.tbl`` in ``lib/Pdfdata`` of an output.

They are interpolated as ``Ctq6Pdf.f`` of the output does: in x^0.3 and in ln ln (Q / Lambda), through the four nodes
about a point.
"""

from __future__ import annotations

import functools
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

_POWER = 0.3
# Rows of a table by PDG code; quarks from s on are what their antiquarks are.
_ROWS = {-5: 0, -4: 1, -3: 2, -1: 3, -2: 4, 21: 5, 2: 6, 1: 7, 3: 2, 4: 1, 5: 0}
# Knots below the first one and above the last scale, where the table is extrapolated.
_SMALL_X, _HIGH_Q = (1e-9, 1e-8, 1e-7), (3e4, 1e5)


@dataclass(frozen=True)
class Table:
    """A table of ``lib/Pdfdata``."""

    nodes: Array
    """x, the first of which is 0."""
    scales: Array
    scale: float
    """Lambda, GeV."""
    values: Array
    """f(x, Q), shape (rows, scales, x)."""

    @classmethod
    def read(cls, file: pathlib.Path) -> Table:
        try:
            lines = file.read_text(encoding="ascii").splitlines()
            scale = float(lines[2].split()[2])
            last_x, last_q, flavors = map(int, lines[4].split())
            words = [line.split() for line in lines[6:]]
            numbers = [float(word) for of in words if of[:1] and of[0][0] not in "XP" for word in of]
        except (OSError, ValueError, IndexError) as error:
            raise Error(f"{file} cannot be read as a table of CTEQ6: {error}; take it from a new output of MG5aMC") from None
        scales, rest = np.array(numbers[2 : 3 + last_q]), numbers[3 + last_q :]
        nodes, values = np.array(rest[1 : 2 + last_x]), np.array(rest[2 + last_x :])
        shape = flavors + 3, last_q + 1, last_x + 1
        if values.size != shape[0] * shape[1] * shape[2] or flavors != 5:
            raise Error(
                f"{file} does not hold {' x '.join(map(str, shape))} densities of five flavours; take it from a new output "
                "of MG5aMC"
            )
        return cls(nodes, scales, scale, values.reshape(shape))

    @property
    def codes(self) -> list[int]:
        """PDG codes of the partons."""
        return sorted(_ROWS)

    @property
    def x(self) -> Array:
        """Knots of x."""
        return np.concatenate([_SMALL_X, self.nodes[1:]])

    @property
    def q2(self) -> Array:
        """Knots of the squared scale."""
        return np.concatenate([self.scales, _HIGH_Q]) ** 2

    @functools.cached_property
    def _places(self) -> tuple[Array, Array]:
        """Nodes in the variables of the interpolation."""
        return self.nodes**_POWER, np.log(np.log(self.scales / self.scale))

    def xf(self, code: int, x: ArrayLike, q: ArrayLike) -> Array:
        """x f(x, Q) of a parton by its PDG code."""
        x, q = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(q, dtype=float))
        in_x, in_q = self._places
        s, t = x**_POWER, np.log(np.log(q / self.scale))
        # The interval about a point, and the first of four nodes.
        of_x = np.clip(np.searchsorted(self.nodes, x, side="right") - 1, 0, len(in_x) - 2)
        of_q = np.clip(np.searchsorted(in_q, t, side="right") - 1, 0, len(in_q) - 2)
        first_x, first_q = (np.clip(of - 1, 0, count - 4) for of, count in ((of_x, len(in_x)), (of_q, len(in_q))))
        nodes, scales = ([of[first + i] for i in range(4)] for of, first in ((in_x, first_x), (in_q, first_q)))
        # Towards x = 0 what is interpolated is x^2 f.
        low = first_x == 0
        rows = []
        for k in range(4):
            values = [self.values[_ROWS[code], first_q + k, first_x + i] for i in range(4)]
            values = [np.where(low, value * self.nodes[first_x + i] ** 2, value) for i, value in enumerate(values)]
            outer = low | (of_x == len(in_x) - 2)
            row = np.where(outer, cubic(s, nodes, values), _smooth(s, nodes, values))
            rows.append(np.where(low, row / x**2, row))
        outer = (of_q == 0) | (of_q == len(in_q) - 2)
        found = np.where(outer, cubic(t, scales, rows), _smooth(t, scales, rows))
        return np.asarray(np.where(x < 1.0, np.maximum(x * found, 0.0), 0.0))


def cubic(at: Array, nodes: list[Array], values: list[Array]) -> Array:
    """The polynomial of degree 3 through four points."""
    found = np.zeros(at.shape)
    for i in range(4):
        weight = np.ones(at.shape)
        for j in range(4):
            if j != i:
                weight = weight * (at - nodes[j]) / (nodes[i] - nodes[j])
        found += weight * values[i]
    return found


def _smooth(at: Array, nodes: list[Array], values: list[Array]) -> Array:
    """The line through the two inner points, bent by how far the outer ones lie off it."""
    one, two, three, four = nodes
    slope = (values[2] - values[1]) / (three - two)
    first = values[0] - values[1] - slope * (one - two)
    last = values[3] - values[1] - slope * (four - two)
    before, after = (one - two) + (one - three), (two - four) + (three - four)
    from_two, from_three = at - two, at - three
    bend = ((three - four) * from_two - after * from_three) * first / (one - two)
    bend += (before * from_two - (one - two) * from_three) * last / (three - four)
    bend /= ((one - two) * (three - four) - before * after) * (two - three)
    return values[1] + slope * from_two + bend * from_two * from_three
