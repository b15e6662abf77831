"""Channels that others can stand for, which are left out.

Weights of channels add up to one without them as well, so that the cross section is the same; each channel costs a grid,
points of a survey, and a call in each round. Points of the others must not have large weights where one that is left out
had its peaks. Mappings follow squared propagators, and so do weights of channels: at a point at which those that stay
have the part S of all weights, points are as rare, so that the square of their weights has on average a 1 / S as large.
Channels are left out from the least on, as long as that average, by the points that are tried before a survey, grows by
a hundredth at most. It is small for one that has a thousandth of a cross section beside others with the same peaks, and
a thousandfold for a photon of a few GeV that no other channel has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._called import first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._trial import Points

# By how much squared weights may grow: as much as the first of these, and more where a process would have too many
# channels.
GROWTHS = 0.01, 0.03, 0.1, 0.3, 1.0, 10.0
# So many points of a channel are looked at.
_POINTS = 50


def kept(
    madspace: Any,
    weights: Any,
    points: Sequence[Points],
    columns: Sequence[Sequence[int]],
    peaks: Sequence[frozenset[frozenset[Any]]],
    squared: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> list[list[int]]:
    """Which mappings stay, for each of :data:`GROWTHS`.

    Args:
        weights: MadSpace's weights of channels.
        points: of each mapping, some of which pass the cuts.
        columns: of each, where the weights of its channels stand, one behind the other.
        peaks: of each, of each of its channels, the resonances; those that no other one has stay.
        squared: |M|^2 of momenta.
    """
    momenta = np.ascontiguousarray(np.concatenate([of.momenta[:_POINTS] for of in points]))
    function = madspace.FunctionRuntime(weights.function(), madspace.Context(madspace.cpu_device(), 1))
    of_channels = first(function.call([momenta])).reshape(len(momenta), -1)
    of_mappings = np.asfortranarray(np.add.reduceat(of_channels, [places[0] for places in columns], axis=1))
    own = np.repeat(np.arange(len(points)), [len(of.momenta[:_POINTS]) for of in points])
    scaled = [of.weights[:_POINTS] * (len(of.weights) / max(len(of.weights[:_POINTS]), 1)) for of in points]
    values = np.nan_to_num(np.concatenate(scaled) * squared(momenta) * of_mappings[np.arange(len(own)), own])
    shares = np.bincount(own, values, minlength=len(points)).astype(np.float64)
    return [stay(of_mappings, values, shares, growth, peaks) for growth in GROWTHS]


def stay(
    of_mappings: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    growth: float,
    peaks: Sequence[frozenset[frozenset[Any]]],
) -> list[int]:
    """Which mappings stay.

    Args:
        of_mappings: at each point (row), the weight of each mapping.
        values: what each point has of the cross section.
        shares: what each mapping has of it.
        growth: of squared weights.
    """
    found, rest, most = set(range(len(shares))), of_mappings.sum(axis=1), (1.0 + growth) * values.sum()
    has = Counter(one for of in peaks for one in of)
    if not 0.0 < most < np.inf:
        return sorted(found)
    # To so many digits that all machines have the same order.
    for i in sorted(found, key=lambda i: (float(f"{shares[i]:.6e}"), -i)):
        without = rest - of_mappings[:, i]
        # Nothing is left but for rounding.
        gone = without < 1e-9 * rest
        if len(found) == 1 or np.any(gone & (values > 0.0)):
            continue
        if float((values[~gone] / without[~gone]).sum()) > most:
            continue
        others = has - Counter(peaks[i])
        if all(one in others or any(one < other for other in others) for one in peaks[i]):
            found.remove(i)
            rest, has = without, others
    return sorted(found)
