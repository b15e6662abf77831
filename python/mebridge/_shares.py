"""Channels that have nearly nothing of a cross section, which are left out; the others take their share.

Weights of channels add up to one without them as well, so that the cross section is the same; each channel costs a grid,
points of a survey, and a call in each round. What a channel alone has is kept: resonances that no other one has would be
points of large weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._called import first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._trial import Points

# What those that are left out have together. p p > e+ e- j j j has half of its channels then, and events of the same
# efficiency; by 0.03 those of p p > w+ j j and of 10^6 events of p p > t t~ j need a quarter more points.
LEFT_OUT = 0.01


def shares(
    madspace: Any,
    weights: Any,
    points: Sequence[Points],
    columns: Sequence[Sequence[int]],
    squared: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> list[float]:
    """Of each mapping, what share of a cross section it has, by few points.

    Args:
        weights: MadSpace's weights of channels.
        points: of each mapping, some of which pass the cuts.
        columns: of each, where the weights of its channels stand.
        squared: |M|^2 of momenta.

    Returns:
        Shares, which add up to one, to so many digits that all machines have the same ones.
    """
    function = madspace.FunctionRuntime(weights.function(), madspace.Context(madspace.cpu_device(), 1))
    values = squared(np.ascontiguousarray(np.concatenate([of.momenta for of in points])))
    found, begun = [], 0
    for of, places in zip(points, columns):
        part = slice(begun, begun + len(of.momenta))
        begun = part.stop
        of_channels = first(function.call([of.momenta])).reshape(len(of.momenta), -1)
        found.append(float(np.nansum(of.weights * values[part] * of_channels[:, places].sum(axis=1))))
    total = sum(found)
    return [float(f"{one / total:.6e}") if total > 0.0 else 1.0 / len(found) for one in found]


def above(found: Sequence[float]) -> list[float]:
    """Of each mapping, what those have together that have more."""
    order = sorted(range(len(found)), key=lambda i: -found[i])
    ends, before = [0.0] * len(found), 0.0
    for i in order:
        ends[i] = before
        before += found[i]
    return ends


def kept(ends: Sequence[float], limit: float, peaks: Sequence[frozenset[frozenset[Any]]]) -> list[int]:
    """Which mappings stay: those above which there is less than this, and those with resonances that no other one has.

    Args:
        ends: what :func:`above` gives.
        peaks: of each mapping, of each of its channels, the resonances.
    """
    stay, has = [], set[frozenset[Any]]()
    for i in sorted(range(len(ends)), key=lambda i: ends[i]):
        if ends[i] < limit or not all(any(one <= other for other in has) for one in peaks[i]):
            stay.append(i)
            has |= peaks[i]
    return sorted(stay)
