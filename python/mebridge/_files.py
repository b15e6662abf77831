"""Events of a run as arrays, or as files other than LHE."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _arguments, _arrays, _hdf5, _hepmc, _parquet, _records, _target
from ._arguments import Path
from ._arrays import EventArrays
from ._library import Error

# Modules that write files, by suffix.
_SUFFIXES = {".hdf5": _hdf5, ".h5": _hdf5, ".parquet": _parquet, ".hepmc": _hepmc, ".hepmc.gz": _hepmc}

# Answer of `mebridge_make_events` for a run that keeps its records.
Made = Mapping[str, Any]


def kind(target: pathlib.Path) -> Any:
    """Returns the module that writes such a file, or ``None`` for LHE."""
    return next((module for suffix, module in _SUFFIXES.items() if target.name.endswith(suffix)), None)


def check(target: pathlib.Path) -> None:
    """Checks, before events are made, that the package for this kind of file is installed."""
    if (module := kind(target)) is not None:
        module.needed()


def _head(made: Made) -> EventArrays:
    """Returns the data that precedes the events of a file, as arrays without events."""
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
    """Yields the events of each round, with the weights of an LHE file."""
    for part in made["rounds"]:
        path, count = pathlib.Path(part["file"]), part["events"]
        records = _arrays.of_records(_records.read(path, count), made["nominal"] / part["weights"]["nominal"])
        events, particles = _arrays.joined([records])
        weights = np.zeros((count, 0))
        if head.weight_names:
            weights = np.load(_records.ratios(path)) * events["weight"][:, None]
        yield dataclasses.replace(head, events=events, particles=particles, weights=weights)


def joined(made: Made) -> EventArrays:
    """Returns all events of a run, with further weights."""
    head = _head(made)
    parts = list(_parts(made, head))
    heads, particles, weights = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("events", "particles", "weights")
    )
    return dataclasses.replace(head, events=_arrays.events(heads, heads["count"]), particles=particles, weights=weights)


def write(target: pathlib.Path, made: Made, threads: int) -> None:
    """Writes the event file of a run in a format other than LHE."""
    head, rounds = _head(made), made["rounds"]
    room = max(_records.particles(_records.read(pathlib.Path(of["file"]), of["events"])) for of in rounds)
    _write(target, head, _parts(made, head), sum(of["events"] for of in rounds), room, threads)


def write_events(path: Path, events: EventArrays) -> None:
    """Writes events with all weights as HepMC3, LHEH5 or Parquet.

    Args:
        path: the file to write. Its suffix selects the format: ``.hdf5`` or ``.h5``, ``.parquet``, ``.hepmc`` or
            ``.hepmc.gz``, as for :func:`mebridge.generate_events`.
        events: events of a run, or of a file read by :func:`mebridge.read_events`.

    Raises:
        Error: if the suffix is another one, there are no events, or a package is missing.

    >>> mebridge.write_events("events.hepmc.gz", mebridge.read_events("events.lhe.gz"))     # doctest: +SKIP
    """
    target = _target.target(_arguments.text("path", path), [])
    if kind(target) is None:
        raise Error(f"{target} ends with none of {', '.join(_SUFFIXES)}")
    check(target)
    if not len(events):
        raise Error("there are no events to write")
    none = slice(0, 0)
    head = dataclasses.replace(
        events, events=events.events[none], particles=events.particles[none], weights=events.weights[none]
    )
    _write(target, head, iter([events]), len(events), int(events.events["count"].max()), 1)


def _write(
    target: pathlib.Path, head: EventArrays, parts: Iterator[EventArrays], events: int, room: int, threads: int
) -> None:
    with _target.replaced(target) as part:
        if kind(target) is _hdf5:
            _hdf5.write(part, head, parts, events, room, threads)
        elif kind(target) is _hepmc:
            _hepmc.write(part, head, parts, packed=target.suffix == ".gz")
        else:
            _parquet.write(part, head, parts)
