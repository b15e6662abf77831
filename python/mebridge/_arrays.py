"""Events of a run or a file as arrays, with the fields of the Les Houches Accord (hep-ph/0109068)."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from . import _records
from ._library import Error

Array = np.ndarray[Any, Any]

EVENT = np.dtype([*_records.HEAD, ("first", "<i8"), ("count", "<i4")])
_PROCESS = np.dtype([("process_id", "<i4"), *((name, "<f8") for name in ("cross_section", "error", "largest"))])


@dataclass(frozen=True)
class EventArrays:
    """Events, and the particles of all events in one array. Energies are in GeV, cross sections in pb.

    The fields ``events``, ``particles`` and ``processes`` are structured NumPy arrays.
    """

    events: Array
    """For each event ``process_id``, ``weight``, ``scale``, ``alpha_qed``, ``alpha_qcd``, and the range of its
    particles: ``first`` (from 0) and ``count``; shape (events,)."""
    particles: Array
    """``pdg_id``, ``status_code`` (-1 incoming, 1 outgoing, 2 intermediate), ``mother1``, ``mother2`` (from 1 within
    the event), ``color``, ``anti_color``, ``px``, ``py``, ``pz``, ``energy``, ``mass``, ``lifetime`` (mm), ``spin``."""
    processes: Array
    """``process_id``, ``cross_section``, its ``error``, and the ``largest`` weight of each process."""
    beams: tuple[tuple[int, int], tuple[float, float]]
    """PDG codes and energies of the beams."""
    densities: tuple[int, int] = (-1, -1)
    """LHAPDF numbers of the beams' densities."""
    strategy: int = -4
    """IDWTUP: -4 if weights average to the cross section."""
    weight_names: tuple[str, ...] = ()
    """Names of the further weights."""
    weights: Array = field(default_factory=lambda: np.zeros((0, 0)))
    """Further weights; shape (events, names)."""

    def __post_init__(self) -> None:
        if not self.weight_names:
            object.__setattr__(self, "weights", np.zeros((len(self.events), 0)))

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        more = f", {len(self.weight_names)} further weights" if self.weight_names else ""
        return f"<mebridge.EventArrays: {len(self.events)} events, {len(self.particles)} particles{more}>"

    @property
    def momenta(self) -> Array:
        """Momenta (E, px, py, pz) in GeV of incoming and outgoing particles, for :meth:`mebridge.Process.evaluate`;
        shape (events, legs, 4).

        Raises:
            Error: if events have different numbers of legs.
        """
        outer = np.isin(self.particles["status_code"], (-1, 1))
        legs = self.particles[outer]
        ends = np.add.accumulate(outer)
        last = self.events["first"] + self.events["count"] - 1
        counts = np.diff(ends[last], prepend=0) if len(last) else np.zeros(0, int)
        if len(counts) and counts.min() != counts.max():
            raise Error(f"events have {counts.min()} to {counts.max()} legs; take those of one process at a time")
        of = np.stack([legs[name] for name in ("energy", "px", "py", "pz")], axis=-1)
        return of.reshape(len(self.events), -1, 4)

    def awkward(self) -> Any:
        """Returns the events as one Awkward Array with lists of particles (needs ``pip install awkward``)."""
        try:
            import awkward
        except ImportError:
            raise Error("awkward is missing: pip install awkward") from None
        fields = {name: awkward.from_numpy(_field(self.particles, name)) for name in self.particles.dtype.names or ()}
        lists = awkward.unflatten(awkward.zip(fields), self.events["count"])
        heads = {name: _field(self.events, name) for name, _ in _records.HEAD}
        found = awkward.zip({**heads, "particles": lists}, depth_limit=1)
        if self.weight_names:
            columns = {name: np.ascontiguousarray(self.weights[:, i]) for i, name in enumerate(self.weight_names)}
            found = awkward.with_field(found, awkward.zip(columns, depth_limit=1), "weights")
        return found


def _field(array: Array, name: str) -> Array:
    return np.ascontiguousarray(array[name])


def events(heads: Array, counts: Array) -> Array:
    """Returns events with these heads and numbers of particles, stored contiguously in the order of events."""
    found = np.zeros(len(heads), EVENT)
    for name, _ in _records.HEAD:
        found[name] = heads[name]
    found["count"] = counts
    found["first"] = np.cumsum(counts) - counts
    return found


def processes(rows: Sequence[tuple[int, float, float, float]]) -> Array:
    return np.array(list(rows), _PROCESS)


def of_records(records: Array, factor: float) -> tuple[Array, Array, Array]:
    """Returns heads, numbers of particles and particles of records, with weights multiplied by ``factor``."""
    room = _records.particles(records)
    nested = _records.nested(np.ascontiguousarray(records))
    particles = nested["particles"].reshape(len(records), room)
    there = particles["pdg_id"] != 0
    counts = np.where(there.any(axis=1), room - there[:, ::-1].argmax(axis=1), 0)
    heads = np.zeros(len(records), _records.HEAD)
    for name, _ in _records.HEAD:
        heads[name] = nested[name]
    heads["weight"] *= factor
    return heads, counts, particles[np.arange(room) < counts[:, None]]


def joined(parts: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array]:
    """Returns the events and particles of several rounds as one."""
    heads, counts, particles = (np.concatenate(list(some)) for some in zip(*parts))
    return events(heads, counts), particles


def integers(path: pathlib.Path, name: str, values: Array, counts: Array | None = None, of: str = "event") -> Array:
    """Converts numbers in a file to 32-bit integers.

    Args:
        name: name of the column, for messages.
        counts: number of values for each event. Default: one per event.
        of: what a row belongs to, for messages.

    Raises:
        Error: if a value is not an integer; the message names its event.
    """
    with np.errstate(invalid="ignore"):
        found = values.astype(np.int32)
    _refuse(path, name, values, found != values, "no integer", counts, of)
    return found


def finite(path: pathlib.Path, name: str, values: Array, counts: Array | None = None) -> Array:
    """Returns numbers in a file after checking that all are finite; arguments and errors as for :func:`integers`."""
    _refuse(path, name, values, ~np.isfinite(values), "no finite number", counts)
    return values


def refuse(path: pathlib.Path, number: int, what: str, of: str = "event") -> NoReturn:
    """Raises an error for event ``number`` (from 0) of a file."""
    raise Error(f"{path}: {of} {number + 1} (from 1): {what}")


def _refuse(
    path: pathlib.Path, name: str, values: Array, wrong: Array, what: str, counts: Array | None, of: str = "event"
) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        refuse(path, event_of(row, counts), f"'{name}' is {values[row]}, {what}", of)


def event_of(row: int, counts: Array | None) -> int:
    """Returns the event that a particle belongs to, given the number of particles of each event; or the row itself."""
    return row if counts is None else int(np.searchsorted(np.cumsum(counts), row, "right"))
