"""Random points of a mapping: how many pass the cuts, before a survey knows anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many points of a channel are tried, at first, each time after that and at most, until this many pass the cuts.
_FIRST, _NEXT, MOST, ENOUGH = 1000, 10_000, 300_000, 100


class Points(NamedTuple):
    """What was tried."""

    tried: int
    passed: int
    momenta: NDArray[np.float64]
    """Of the first ones that pass, :data:`ENOUGH` at most."""
    weights: NDArray[np.float64]
    """Theirs, of which the sum is what all points that were tried have on average."""


def points(madspace: Any, mapping: Any) -> Points:
    """Tries random points."""
    runtime = madspace.FunctionRuntime(mapping.forward_function(), madspace.Context(madspace.cpu_device(), 1))
    rng, permutations = np.random.default_rng(1), mapping.channel_count()
    tried = 0
    found: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    while tried < MOST and sum(len(some) for _, some in found) < ENOUGH:
        count = _NEXT if tried else _FIRST
        arguments: list[Any] = [rng.random((count, mapping.random_dim()))]
        if permutations > 1:
            arguments.append(rng.integers(permutations, size=count, dtype=np.int32))
        momenta, *_, weights = (of.numpy() for of in runtime.call(arguments))
        some = np.flatnonzero(weights)
        found.append((momenta[some], weights[some]))
        tried += count
    momenta, weights = (np.concatenate(some) for some in zip(*found))
    passed = len(weights)
    momenta, weights = momenta[:ENOUGH], weights[:ENOUGH]
    return Points(tried, passed, momenta, weights * (passed / (max(len(weights), 1) * tried)))
