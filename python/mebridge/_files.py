"""Events of a run as arrays, and as files other than LHE."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np

from . import _arrays, _hdf5, _lhe, _parquet, _records
from ._arrays import Array, EventArrays

# Files by the end of their names.
SUFFIXES = {".hdf5": "hdf5", ".h5": "hdf5", ".parquet": "parquet"}

Rounds = Sequence[tuple[pathlib.Path, int, _lhe.Weights]]
Processes = Sequence[tuple[str, float, float]]


def check(target: pathlib.Path) -> None:
    """That the package is there which writes the file, before the events are made."""
    if target.suffix in SUFFIXES:
        _hdf5.needed() if SUFFIXES[target.suffix] == "hdf5" else _parquet.needed()


def _head(beams: _lhe.Beams, processes: Processes, names: tuple[str, ...]) -> EventArrays:
    """What stands before the events, as arrays without any."""
    first, second = (number or -1 for number in beams.densities)
    return EventArrays(
        np.zeros(0, _arrays.EVENT),
        np.zeros(0, _records.PARTICLE),
        _arrays.processes([(i + 1, of, error, of) for i, (_, of, error) in enumerate(processes)]),
        (beams.codes, beams.energies),
        (first, second),
        weight_names=names,
        weights=np.zeros((0, len(names))),
    )


def _parts(rounds: Rounds, mean: float, beams: _lhe.Beams, head: EventArrays) -> Iterator[EventArrays]:
    """The events of each round, with the weights that they have in an LHE file."""
    total = sum(count for _, count, _ in rounds)
    nominal = _lhe.nominal_weight([weights for *_, weights in rounds], mean, total)
    for path, count, weights in rounds:
        records = _records.read(path, count)
        made = _arrays.of_records(records, nominal / weights.nominal)
        events, particles = _arrays.joined([made])
        further = np.zeros((count, 0))
        if head.weight_names:
            further = np.load(_records.ratios(path)) * events["weight"][:, None]
        yield _with(head, events, particles, further)


def _with(head: EventArrays, events: Array, particles: Array, weights: Array) -> EventArrays:
    return dataclasses.replace(head, events=events, particles=particles, weights=weights)


def joined(
    rounds: Rounds, mean: float, beams: _lhe.Beams, processes: Processes, names: tuple[str, ...]
) -> EventArrays:
    """All events of a run, with further weights of these names."""
    head = _head(beams, processes, names)
    parts = list(_parts(rounds, mean, beams, head))
    heads = np.concatenate([part.events for part in parts])
    particles = np.concatenate([part.particles for part in parts])
    further = np.concatenate([part.weights for part in parts])
    return _with(head, _arrays.events(heads, heads["count"]), particles, further)


def write(
    target: pathlib.Path,
    rounds: Rounds,
    mean: float,
    beams: _lhe.Beams,
    processes: Processes,
    names: tuple[str, ...],
    threads: int,
) -> None:
    """Writes the file whose name ends as one of :data:`SUFFIXES`."""
    head = _head(beams, processes, names)
    parts = _parts(rounds, mean, beams, head)
    with _lhe.replaced(target) as part:
        if SUFFIXES[target.suffix] == "parquet":
            _parquet.write(part, head, parts)
        else:
            room = max(_records.particles(_records.read(path, count)) for path, count, _ in rounds)
            _hdf5.write(part, head, parts, sum(count for _, count, _ in rounds), room, threads)
