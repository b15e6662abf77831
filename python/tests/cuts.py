"""Windows and rules of :mod:`mebridge._cuts` on arrays of momenta, by NumPy."""

import numpy as np
from numpy.typing import NDArray

from mebridge._cuts import Rule, Window


def passed(windows: list[Window], momenta: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which events lie in all windows; momenta (events, legs, 4)."""
    good = np.ones(len(momenta), dtype=bool)
    for window in windows:
        good &= _passed(window, momenta)
    return good


def _passed(window: Window, momenta: NDArray[np.float64]) -> NDArray[np.bool_]:
    groups = [momenta[:, list(group)].sum(axis=1) for group in window.legs]
    if window.observable == "distance":
        values = [_distance(*groups)]
    elif window.observable == "energy":
        together = momenta[:, :2].sum(axis=1)
        mass = np.sqrt(_square(together))
        values = [_product(group, together) / mass for group in groups]
    else:
        function = {"pt": _pt, "rapidity": lambda p: np.abs(_rapidity(p)), "mass": _invariant}[window.observable]
        values = [function(group) for group in groups]
    found = np.stack(values)
    if window.take == "sum":
        found = found.sum(axis=0, keepdims=True)
    elif window.take[0] in "0123456789+":
        found = -np.sort(-found, axis=0)
        number = int(window.take)
        found = found[:number].sum(axis=0, keepdims=True) if window.take[0] == "+" else found[number : number + 1]
    inside = (found >= window.least) & (found <= window.largest)
    if window.outside:
        inside = ~((found < window.largest) & (found > window.least))
    return np.asarray(inside.any(axis=0) if window.take == "any" else inside.all(axis=0))


def obeyed(rules: list[Rule], momenta: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which events keep all rules."""
    functions = {"some": _some, "opposite": _opposite, "isolated": _isolated}
    good = np.ones(len(momenta), dtype=bool)
    for rule in rules:
        good &= functions[rule.kind](rule, momenta)
    return good


def _some(rule: Rule, momenta: NDArray[np.float64]) -> NDArray[np.bool_]:
    falling = -np.sort(-np.hypot(momenta[:, rule.legs[0], 1], momenta[:, rule.legs[0], 2]), axis=1)
    limits = np.array(rule.numbers).reshape(-1, 2)
    first = falling[:, : len(limits)]
    return np.asarray(((first >= limits[:, 0]) & (first <= limits[:, 1])).any(axis=1))


def _opposite(rule: Rule, momenta: NDArray[np.float64]) -> NDArray[np.bool_]:
    jets = momenta[:, list(rule.legs[0])]
    order = np.argsort(-np.hypot(jets[..., 1], jets[..., 2]), axis=1, kind="stable")[:, :2]
    hardest = np.take_along_axis(jets, order[:, :, None], axis=1)
    first, second = _rapidity(hardest[:, 0]), _rapidity(hardest[:, 1])
    least, apart = rule.numbers
    far = (np.abs(first) >= least) & (np.abs(second) >= least)
    return np.asarray(far & (first * second <= 0.0) & (np.abs(first - second) >= apart))


def _isolated(rule: Rule, momenta: NDArray[np.float64]) -> NDArray[np.bool_]:
    photons, jets, leptons = rule.legs
    least, radius, power, share, electromagnetic = rule.numbers
    good = np.ones(len(momenta), dtype=bool)
    for photon in photons:
        pt = _pt(momenta[:, photon])
        good &= pt >= least
        others = tuple(other for other in photons if other != photon) + leptons
        for near in (jets, others if electromagnetic else ()):
            if not near:
                continue
            distances = np.stack([_apart(momenta[:, photon], momenta[:, leg]) for leg in near], axis=1)
            order = np.argsort(distances, axis=1)
            sorted_ = np.take_along_axis(distances, order, axis=1)
            energies = np.stack([_pt(momenta[:, leg]) for leg in near], axis=1)
            sums = np.cumsum(np.take_along_axis(energies, order, axis=1), axis=1)
            allowed = share * pt[:, None] * ((1.0 - np.cos(sorted_)) / (1.0 - np.cos(radius))) ** power
            good &= ((sorted_ > radius) | (sums <= allowed)).all(axis=1)
    return good


def _apart(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance in pseudorapidity and angle."""
    eta = [np.arcsinh(v[:, 3] / _pt(v)) for v in (p, q)]
    cosine = (p[:, 1] * q[:, 1] + p[:, 2] * q[:, 2]) / (_pt(p) * _pt(q))
    found = np.hypot(np.arccos(np.clip(cosine, -1.0, 1.0)), eta[0] - eta[1])
    return found


def _pt(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hypot(p[:, 1], p[:, 2])


def _rapidity(p: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return 0.5 * np.log((p[:, 0] + p[:, 3]) / (p[:, 0] - p[:, 3]))


def _product(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    return p[:, 0] * q[:, 0] - p[:, 1] * q[:, 1] - p[:, 2] * q[:, 2] - p[:, 3] * q[:, 3]


def _square(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(_product(p, p), 0.0)


def _invariant(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(_square(p))


def _distance(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    cosine = (p[:, 1] * q[:, 1] + p[:, 2] * q[:, 2]) / (_pt(p) * _pt(q))
    return np.hypot(np.arccos(np.clip(cosine, -1.0, 1.0)), _rapidity(p) - _rapidity(q))
