"""Spectra of the particles that go out, as text for a terminal."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _records

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Events that are looked at, bins, and characters of the longest bar.
_MOST, _BINS, _LONGEST = 200_000, 12, 24
# Kinds of particles that are shown, the most frequent first.
_KINDS = 4
# Gluons and quarks but for the top, by PDG code, are one kind.
_PARTONS = (1, 2, 3, 4, 5, 21)
_SAID = "21, 1 to 5"


def text(rounds: Sequence[tuple[pathlib.Path, int, Any]]) -> str:
    """Transverse momentum and rapidity of each kind of particle that goes out.

    Args:
        rounds: files of records, with how many events each has.
    """
    found: dict[int, list[NDArray[np.float64]]] = {}
    events = 0
    for path, count, *_ in rounds:
        taken = min(count, _MOST - events)
        if taken <= 0:
            break
        for kind, rows in _outgoing(_records.read(path, count)[:taken]):
            found.setdefault(kind, []).append(rows)
        events += taken
    lines: list[str] = []
    kinds = {kind: np.concatenate(rows, axis=1) for kind, rows in found.items()}
    for kind in sorted(kinds, key=lambda kind: (-kinds[kind].shape[1], kind))[:_KINDS]:
        momenta, rapidities, weights = kinds[kind]
        said = _SAID if kind == _PARTONS[-1] else f"{kind}, -{kind}"
        lines += ["", f"{f'pt of {said} (PDG codes), GeV':47}rapidity", ""]
        lines += _beside(_bars(momenta, weights, *_transverse(momenta)), _bars(rapidities, weights, *_both(rapidities)))
    head = f"\nspectra of {events} events, % of the particles\n" if lines else ""
    return head + "".join(f"{line.rstrip()}\n" for line in lines)


def _outgoing(records: np.ndarray[Any, Any]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Transverse momenta, rapidities and weights of particles that go out, by their kind."""
    particles = _records.nested(records)["particles"]
    there = particles["status_code"] == 1
    weights = np.broadcast_to(records["weight"][:, None], there.shape)[there]
    outgoing = particles[there]
    codes = np.abs(outgoing["pdg_id"])
    codes = np.where(np.isin(codes, _PARTONS), _PARTONS[-1], codes)
    momenta = np.hypot(outgoing["px"], outgoing["py"])
    # The smaller one of E + pz and E - pz has lost its digits where a particle goes along a beam.
    squared = np.maximum(momenta**2 + outgoing["mass"] ** 2, np.finfo(float).tiny)
    along = np.abs(outgoing["pz"])
    rapidities = np.copysign(np.log((outgoing["energy"] + along) / np.sqrt(squared)), outgoing["pz"])
    for kind in np.unique(codes).tolist():
        some = codes == kind
        yield kind, np.stack([momenta[some], rapidities[some], weights[some]])


def _transverse(values: NDArray[np.float64]) -> tuple[float, float]:
    """A range from 0 on that holds nearly all, with round bins."""
    least = float(np.quantile(values, 0.99)) / _BINS
    return 0.0, _BINS * _round(least)


def _both(values: NDArray[np.float64]) -> tuple[float, float]:
    half = _BINS / 2 * _round(float(np.quantile(np.abs(values), 0.995)) / (_BINS / 2))
    return -half, half


def _round(width: float) -> float:
    """The next larger of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(width, 1e-6)))
    return next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= width * (1.0 - 1e-9))


def _bars(values: NDArray[np.float64], weights: NDArray[np.float64], low: float, high: float) -> list[str]:
    counts, edges = np.histogram(values, _BINS, (low, high), weights=weights)
    total = float(weights.sum()) or 1.0
    # Without the sign of a zero.
    shares = np.round(100.0 * counts / total, 2) + 0.0
    largest = float(np.abs(shares).max()) or 1.0
    return [
        f"{before:8.4g} {share:6.2f} {'#' * round(_LONGEST * max(share, 0.0) / largest)}"
        for before, share in zip(edges[:-1].tolist(), shares.tolist())
    ]


def _beside(left: Sequence[str], right: Sequence[str]) -> list[str]:
    return [f"{one:47}{other}" for one, other in zip(left, right)]
