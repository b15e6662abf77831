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


def at_rest(masses: Sequence[float]) -> NDArray[np.float64]:
    """Some decays of a particle at rest, by the masses of all legs, that of the particle first."""
    out = events((0.0, 0.0, *masses[1:]), _TURNED)[:, 2:]
    out[..., 3] -= out[..., 3].mean(axis=1, keepdims=True)
    p, least = (out[..., 1:] ** 2).sum(axis=2), np.array(masses[1:]) ** 2
    low, high = np.zeros(_TURNED), masses[0] / np.sqrt(p.max(axis=1))
    # What momenta are multiplied by, so that energies are the mass together.
    for _ in range(100):
        middle = 0.5 * (low + high)
        above = np.sqrt(p * middle[:, None] ** 2 + least).sum(axis=1) > masses[0]
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found = np.zeros((_TURNED, len(masses), 4))
    found[:, 0, 0], found[:, 1:, 1:] = masses[0], out[..., 1:] * low[:, None, None]
    found[:, 1:, 0] = np.sqrt(p * low[:, None] ** 2 + least)
    return found


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
