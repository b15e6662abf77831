"""Events of a run as arrays, and as files other than LHE."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _arrays, _hdf5, _parquet, _records, _target
from ._arrays import EventArrays

# Files by the end of their names.
SUFFIXES = {".hdf5": "hdf5", ".h5": "hdf5", ".parquet": "parquet"}

# What `mebridge_make_events` gives, where records stay.
Made = Mapping[str, Any]


def check(target: pathlib.Path) -> None:
    """That the package is there which writes the file, before the events are made."""
    if target.suffix in SUFFIXES:
        _hdf5.needed() if SUFFIXES[target.suffix] == "hdf5" else _parquet.needed()


def _head(made: Made) -> EventArrays:
    """What stands before the events, as arrays without any."""
    beams, names = made["beams"], tuple(made["weight_names"])
    first, second = (number or -1 for number in beams["densities"])
    return EventArrays(
        np.zeros(0, _arrays.EVENT),
        np.zeros(0, _records.PARTICLE),
        _arrays.processes([(i + 1, *of, made["nominal"]) for i, (_, of) in enumerate(made["processes"])]),
        (tuple(beams["codes"]), tuple(beams["energies"])),
        (first, second),
        weight_names=names,
        weights=np.zeros((0, len(names))),
    )


def _parts(made: Made, head: EventArrays) -> Iterator[EventArrays]:
    """The events of each round, with the weights that they have in an LHE file."""
    for part in made["rounds"]:
        path, count = pathlib.Path(part["file"]), part["events"]
        records = _arrays.of_records(_records.read(path, count), made["nominal"] / part["weights"]["nominal"])
        events, particles = _arrays.joined([records])
        weights = np.zeros((count, 0))
        if head.weight_names:
            weights = np.load(_records.ratios(path)) * events["weight"][:, None]
        yield dataclasses.replace(head, events=events, particles=particles, weights=weights)


def joined(made: Made) -> EventArrays:
    """All events of a run, with further weights."""
    head = _head(made)
    parts = list(_parts(made, head))
    heads, particles, weights = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("events", "particles", "weights")
    )
    return dataclasses.replace(head, events=_arrays.events(heads, heads["count"]), particles=particles, weights=weights)


def write(target: pathlib.Path, made: Made, threads: int) -> None:
    """Writes the file whose name ends as one of :data:`SUFFIXES`."""
    head = _head(made)
    parts = _parts(made, head)
    with _target.replaced(target) as part:
        if SUFFIXES[target.suffix] == "parquet":
            _parquet.write(part, head, parts)
        else:
            rounds = made["rounds"]
            room = max(_records.particles(_records.read(pathlib.Path(of["file"]), of["events"])) for of in rounds)
            _hdf5.write(part, head, parts, sum(of["events"] for of in rounds), room, threads)
