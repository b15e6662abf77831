"""Evaluation of NumPy arrays on the CPU."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arguments
from ._library import BadEvents, Sample, check, last_error, lib

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def evaluate(
    process: Any,
    momenta: NDArray[np.float64],
    alpha_s: ArrayLike,
    choices: dict[str, Any],
    amp2: bool,
    helicity: ArrayLike | None,
    color_flow: ArrayLike | None,
    bad: str,
) -> tuple[NDArray[np.float64], dict[str, Any], Any]:
    """Implements :meth:`Process.evaluate` for NumPy; returns matrix elements, choices and squared diagrams."""
    p = momenta
    # Views of records and buffers of other processes may be unaligned, or have strides that are no multiple of 8 bytes.
    if not p.flags.aligned or any(stride % p.itemsize for stride in p.strides):
        p = p.copy()
    events: int = p.shape[0]
    couplings = _arguments.per_event("alpha_s", alpha_s, events)
    if events and not (np.min(couplings) >= 0.0 and np.max(couplings) < np.inf):
        raise ValueError("alpha_s must be a finite number that is not negative")
    rng: np.random.Generator | None = None

    def drawn() -> NDArray[np.float64]:
        nonlocal rng
        rng = rng or np.random.default_rng()
        return rng.random(events)

    random, chosen = {}, {}
    for name, requested in choices.items():
        if requested is not False:
            random[name] = drawn() if requested is True else _random(name, requested, events)
            chosen[name] = np.empty(events, dtype=np.int32)
    if "colors" in chosen and "diagrams" not in chosen:
        random["diagrams"] = drawn()
    fixed = _indices("helicity", helicity, events)
    flows = _indices("color_flow", color_flow, events)
    found = np.empty(events)
    rows = np.empty((process.diagram_count, events)) if amp2 else None
    strides = [stride // p.itemsize for stride in p.strides]
    sample = Sample.of(_address, events, p, strides, couplings, random, chosen, fixed, found, rows, flows)
    check(lib.mebridge_evaluate(process._bridge, ctypes.byref(sample)))
    if sample.bad_events and bad == "raise":
        raise BadEvents(f"{sample.bad_events} of {events} events have no matrix element: {last_error()}")
    return found, chosen, rows


def _random(what: str, given: ArrayLike, events: int) -> NDArray[np.float64]:
    numbers = _arguments.per_event(what, given, events)
    if events and not (np.min(numbers) >= 0.0 and np.max(numbers) < 1.0):
        raise ValueError(f"{what} must be numbers in [0, 1)")
    return numbers


def _indices(what: str, given: ArrayLike | None, events: int) -> NDArray[np.int32] | None:
    if given is None:
        return None
    numbers = np.asarray(given)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise TypeError(f"{what} must be integers")
    if numbers.size and (numbers.min() < 0 or numbers.max() > np.iinfo(np.int32).max):
        raise ValueError(f"{what} must count from 0")
    if numbers.shape not in ((), (1,), (events,)):
        raise ValueError(f"{what} has the shape {numbers.shape}; it must be one row, or have the shape ({events},)")
    return np.ascontiguousarray(np.broadcast_to(numbers.astype(np.int32), (events,)))


def _address(array: NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data
