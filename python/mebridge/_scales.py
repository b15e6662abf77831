"""Scales of events from their momenta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


NAMES = ("et", "ht", "ht/2", "shat")


def as_mapping(scale: float | str | Mapping[str, Any]) -> Mapping[str, Any]:
    """``dynamical`` (a name) with what is fixed of ``renormalisation`` and ``factorisation`` (two numbers)."""
    if isinstance(scale, str):
        return {"dynamical": scale}
    if isinstance(scale, Mapping):
        return scale
    return {"dynamical": "ht/2", "renormalisation": float(scale), "factorisation": [float(scale)] * 2}


@dataclass(frozen=True)
class Scale:
    """Scales of events, from their momenta."""

    dynamical: str
    factor: float
    renormalisation: float | None
    factorisation: tuple[float, float] | None

    @classmethod
    def asked(cls, scale: float | str | Mapping[str, Any], factor: float) -> Scale:
        """From what a run is asked for, and what multiplies it."""
        found = as_mapping(scale)
        fixed = found.get("factorisation")
        return cls(found["dynamical"], factor, found.get("renormalisation"), tuple(fixed) if fixed else None)

    def of(self, momenta: Array) -> tuple[Array, Array, Array]:
        """Of renormalisation, and of factorisation for both beams."""
        out = momenta[:, 2:]
        transverse = np.sqrt(np.maximum((out[..., 0] - out[..., 3]) * (out[..., 0] + out[..., 3]), 0.0))
        if self.dynamical == "shat":
            total = momenta[:, :2].sum(axis=1)
            found = np.sqrt(np.maximum(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1), 0.0))
        elif self.dynamical == "et":
            pt, size = np.hypot(out[..., 1], out[..., 2]), np.linalg.norm(out[..., 1:], axis=2)
            found = (out[..., 0] * pt / size).sum(axis=1)
        else:
            found = transverse.sum(axis=1) * (0.5 if self.dynamical == "ht/2" else 1.0)
        found = found * self.factor
        fixed = (self.renormalisation, *(self.factorisation or (None, None)))
        first, second, third = (found if one is None else np.full(len(found), one) for one in fixed)
        return first, second, third

