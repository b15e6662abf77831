"""Events as arrays, in the fields of the Les Houches Accord (hep-ph/0109068): of a run, or of a file."""

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
    """Events, and the particles of all of them one after the other. Energies are in GeV, cross sections in pb."""

    events: Array
    """For each event ``process_id``, ``weight``, ``scale``, ``alpha_qed``, ``alpha_qcd``, and which of the particles
    are its own: ``first``, ``count``."""
    particles: Array
    """``pdg_id``, ``status_code`` (-1 comes in, 1 goes out, 2 is in between), ``mother1``, ``mother2`` (from 1 on),
    ``color``, ``anti_color``, ``px``, ``py``, ``pz``, ``energy``, ``mass``, ``lifetime``, ``spin``."""
    processes: Array
    """``process_id``, ``cross_section``, its ``error``, and the ``largest`` weight."""
    beams: tuple[tuple[int, int], tuple[float, float]]
    """PDG codes and energies."""
    densities: tuple[int, int] = (-1, -1)
    """Their numbers at LHAPDF."""
    strategy: int = -4
    """IDWTUP: -4 where weights average to the cross section."""
    weight_names: tuple[str, ...] = ()
    """Of further weights."""
    weights: Array = field(default_factory=lambda: np.zeros((0, 0)))
    """Of each event those further ones, (events, names)."""

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
        """(events, legs, 4), (E, px, py, pz) in GeV of what comes in and goes out, as :meth:`mebridge.Process.evaluate`
        takes them.

        Raises:
            Error: where events do not have as many legs.
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
        """The events as one array of Awkward Array (``pip install awkward``), with lists of particles."""
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
    """The events with these heads and this many particles each, which lie one after the other."""
    found = np.zeros(len(heads), EVENT)
    for name, _ in _records.HEAD:
        found[name] = heads[name]
    found["count"] = counts
    found["first"] = np.cumsum(counts) - counts
    return found


def processes(rows: Sequence[tuple[int, float, float, float]]) -> Array:
    return np.array(list(rows), _PROCESS)


def of_records(records: Array, factor: float) -> tuple[Array, Array, Array]:
    """Heads, counts and particles of records, with weights times a factor."""
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
    """Events and particles of several rounds."""
    heads, counts, particles = (np.concatenate(list(some)) for some in zip(*parts))
    return events(heads, counts), particles


def integers(path: pathlib.Path, name: str, values: Array, counts: Array | None = None, of: str = "event") -> Array:
    """Numbers of a file as integers of 32 bits.

    Args:
        name: of their column, for messages.
        counts: how many there are of each event, otherwise one.
        of: what each is of.

    Raises:
        Error: where one is no integer, with its event.
    """
    with np.errstate(invalid="ignore"):
        found = values.astype(np.int32)
    _refuse(path, name, values, found != values, "no integer", counts, of)
    return found


def finite(path: pathlib.Path, name: str, values: Array, counts: Array | None = None) -> Array:
    """Numbers of a file, as :func:`integers` has them, all of which are finite."""
    _refuse(path, name, values, ~np.isfinite(values), "no finite number", counts)
    return values


def refuse(path: pathlib.Path, number: int, what: str, of: str = "event") -> NoReturn:
    """An event of a file, from 0, cannot be read."""
    raise Error(f"{path}: {of} {number + 1} (from 1): {what}")


def _refuse(
    path: pathlib.Path, name: str, values: Array, wrong: Array, what: str, counts: Array | None, of: str = "event"
) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        refuse(path, event_of(row, counts), f"'{name}' is {values[row]}, {what}", of)


def event_of(row: int, counts: Array | None) -> int:
    """The event of a particle where there are this many of each, or of a row."""
    return row if counts is None else int(np.searchsorted(np.cumsum(counts), row, "right"))
