"""Scales of events from their momenta."""

from __future__ import annotations

from collections.abc import Mapping
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


def dynamical(name: str, momenta: Array) -> Array:
    """Scales of events by one of :data:`NAMES`, from their momenta."""
    out = momenta[:, 2:]
    if name == "shat":
        total = momenta[:, :2].sum(axis=1)
        found: Array = np.sqrt(np.maximum(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1), 0.0))
    elif name == "et":
        pt, size = np.hypot(out[..., 1], out[..., 2]), np.linalg.norm(out[..., 1:], axis=2)
        found = (out[..., 0] * pt / size).sum(axis=1)
    else:
        transverse = np.sqrt(np.maximum((out[..., 0] - out[..., 3]) * (out[..., 0] + out[..., 3]), 0.0))
        found = transverse.sum(axis=1) * (0.5 if name == "ht/2" else 1.0)
    return found
