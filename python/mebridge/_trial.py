"""Some events of particles, by which it is seen what is so of all: what vanishes, what a function gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import _cuts

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Events by which it is seen that |M|^2 vanishes, and how much of it may change where it does not.
_TURNED, _CHANGE = 32, 0.01


def events(masses: Sequence[float], count: int) -> NDArray[np.float64]:
    """Some events of particles with these masses."""
    random, outgoing = np.random.default_rng(1), len(masses) - 2
    first, second = masses[:2]
    out = random.normal(scale=100.0 + 10.0 * (first + second), size=(count, outgoing, 3))
    out -= out.mean(axis=1, keepdims=True)
    energies = np.sqrt((out**2).sum(axis=2) + np.array(masses[2:]) ** 2)
    found = np.zeros((count, outgoing + 2, 4))
    found[:, 2:, 0], found[:, 2:, 1:] = energies, out
    total = energies.sum(axis=1)
    found[:, 0, 0] = 0.5 * (total + (first**2 - second**2) / total)
    found[:, 1, 0] = total - found[:, 0, 0]
    along = np.sqrt(np.maximum(found[:, 0, 0] ** 2 - first**2, 0.0))
    found[:, 0, 3], found[:, 1, 3] = along, -along
    return _cuts.boosted(found, random.normal(size=count))


def vanishes(squared: Callable[[NDArray[np.float64]], NDArray[np.float64]], momenta: NDArray[np.float64]) -> bool:
    """Whether |M|^2 is nothing but rounding: a turn about the z axis, which changes nothing of a number, changes it."""
    x, y = momenta[..., 1], momenta[..., 2]
    turned = momenta.copy()
    turned[..., 1], turned[..., 2] = 0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y
    one, other = squared(momenta), squared(turned)
    changed = np.abs(one - other) >= _CHANGE * np.maximum(np.abs(one), np.abs(other))
    return bool(np.mean(changed) > 0.5)


def is_zero(squared: Callable[[NDArray[np.float64]], NDArray[np.float64]], masses: Sequence[float]) -> bool:
    """The same for some events of particles with these masses."""
    return vanishes(squared, events(masses, _TURNED))
