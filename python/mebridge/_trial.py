"""Random points of a mapping: how many pass the cuts, before a survey knows anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many points of a channel are tried, at first, each time after that and at most, until this many pass the cuts.
_FIRST, _NEXT, MOST, _ENOUGH = 1000, 10_000, 300_000, 100


def passing(madspace: Any, mapping: Any) -> tuple[int, int]:
    """Of how many random points how many pass the cuts."""
    draw, tried, passed = _drawn(madspace, mapping), 0, 0
    while tried < MOST and passed < _ENOUGH:
        count = _NEXT if tried else _FIRST
        *_, weights = draw(count)
        tried += count
        passed += int(np.count_nonzero(weights))
    return tried, passed


def points(madspace: Any, mapping: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Momenta that pass the cuts, and their weights."""
    momenta, *_, weights = _drawn(madspace, mapping)(_FIRST)
    some = np.flatnonzero(weights)[:_ENOUGH]
    return momenta[some], weights[some]


def _drawn(madspace: Any, mapping: Any) -> Callable[[int], list[NDArray[np.float64]]]:
    """What gives random points of a mapping: their momenta and, as the last, their weights."""
    runtime = madspace.FunctionRuntime(mapping.forward_function(), madspace.Context(madspace.cpu_device(), 1))
    rng, permutations = np.random.default_rng(1), mapping.channel_count()

    def draw(points: int) -> list[NDArray[np.float64]]:
        arguments: list[Any] = [rng.random((points, mapping.random_dim()))]
        if permutations > 1:
            arguments.append(rng.integers(permutations, size=points, dtype=np.int32))
        return [of.numpy() for of in runtime.call(arguments)]

    return draw
