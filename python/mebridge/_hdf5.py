"""Event files in HDF5 (LHEH5 2.0, E. Bothmann et al., arXiv:2309.13154), as Pythia (LHAHDF5v2.h) and Sherpa read."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from . import _arrays, _records
from ._arrays import EventArrays
from ._library import Error

# 2.0.0 has weights in GeV^-2 for Sherpa; from 2.0.1 on they are in pb.
_VERSION = (2, 0, 1)
_INIT = [
    "beamA",
    "beamB",
    "energyA",
    "energyB",
    "PDFgroupA",
    "PDFgroupB",
    "PDFsetA",
    "PDFsetB",
    "weightingStrategy",
    "numProcesses",
]
_PROCESS = ["procId", "npLO", "npNLO", "xSection", "error", "unitWeight"]
_EVENT = ["pid", "nparticles", "start", "trials", "scale", "fscale", "rscale", "aqed", "aqcd"]
_PARTICLE = ["id", "status", "mother1", "mother2", "color1", "color2", "px", "py", "pz", "e", "m", "lifetime", "spin"]
# Events in a chunk of a dataset; chunks are compressed separately.
_PIECE = 1000
# Compression level of gzip: a higher one makes files a few per cent smaller and takes several times as long.
_LEVEL = 1
# Chunks per thread that are compressed ahead of writing.
_AHEAD = 2


def needed() -> Any:
    try:
        import h5py
    except ImportError:
        raise Error("HDF5 files need h5py: pip install h5py") from None
    return h5py


def write(
    path: pathlib.Path, head: EventArrays, parts: Iterable[EventArrays], events: int, slots: int, threads: int
) -> None:
    """Writes events. The file does not depend on the number of threads, which are used for compression.

    Args:
        head: data common to all parts.
        events: total number of events.
        slots: number of particle slots per event; readers expect this many for each event.
    """
    h5py = needed()
    # LHEH5 numbers processes by position, from 1.
    places = {int(number): place + 1 for place, number in enumerate(head.processes["process_id"])}
    group = [-1 if number < 0 else 0 for number in head.densities]
    init = [*head.beams[0], *head.beams[1], *group, *head.densities, head.strategy, len(head.processes)]
    procs = [[p["process_id"], slots, -1, p["cross_section"], p["error"], p["largest"]] for p in head.processes]
    names = ["NOMINAL", *head.weight_names]
    width = len(_EVENT) + len(names)
    with h5py.File(path, "w-") as file, ThreadPoolExecutor(threads) as pool:
        file.create_dataset("version", data=np.array(_VERSION, np.int32))
        file.create_dataset("init", data=np.array(init, float)).attrs["properties"] = _INIT
        file.create_dataset("procInfo", data=np.array(procs, float)).attrs["properties"] = _PROCESS
        packed = {"compression": "gzip", "compression_opts": _LEVEL, "shuffle": True}
        piece = min(_PIECE, events)
        heads = file.create_dataset("events", (events, width), "<f8", chunks=(piece, width), **packed)
        # Readers take the names of columns from the first attribute.
        heads.attrs["properties"] = [*_EVENT, *names]
        shape, chunks = (events * slots, len(_PARTICLE)), (piece * slots, len(_PARTICLE))
        legs = file.create_dataset("particles", shape, "<f8", chunks=chunks, **packed)
        legs.attrs["properties"] = _PARTICLE
        waiting: collections.deque[tuple[Any, int, Future[bytes]]] = collections.deque()

        def store(most: int) -> None:
            while len(waiting) > most:
                dataset, first, made = waiting.popleft()
                dataset.id.write_direct_chunk((first, 0), made.result())

        for first, some in _pieces(parts, piece):
            waiting.append((heads, first, pool.submit(_heads, some, first, slots, places, piece)))
            waiting.append((legs, first * slots, pool.submit(_particles, some, slots, piece)))
            store(2 * _AHEAD * threads)
        store(0)


def _pieces(parts: Iterable[EventArrays], piece: int) -> Iterator[tuple[int, list[EventArrays]]]:
    """Yields all events in chunks, with the number of the first event; a chunk may consist of several parts."""
    waiting: list[EventArrays] = []
    first = count = 0
    for part in parts:
        begin = 0
        while begin < len(part):
            end = min(len(part), begin + piece - count)
            waiting.append(_some(part, slice(begin, end)))
            count, begin = count + end - begin, end
            if count == piece:
                yield first, waiting
                waiting, first, count = [], first + piece, 0
    if waiting:
        yield first, waiting


def _some(part: EventArrays, some: slice) -> EventArrays:
    events = part.events[some]
    lines = slice(int(events["first"][0]), int(events["first"][-1] + events["count"][-1]))
    return dataclasses.replace(part, events=events, particles=part.particles[lines], weights=part.weights[some])


def _heads(some: list[EventArrays], first: int, slots: int, places: dict[int, int], piece: int) -> bytes:
    """Returns a compressed chunk of the dataset of events."""
    events = np.concatenate([part.events for part in some])
    weights = np.concatenate([part.weights for part in some])
    rows = np.zeros((piece, len(_EVENT) + 1 + weights.shape[1]))
    there = rows[: len(events)]
    there[:, 0] = [places[int(number)] for number in events["process_id"]]
    there[:, 1] = events["count"]
    there[:, 2] = np.arange(first, first + len(events)) * slots
    there[:, 3] = 1.0
    there[:, 4:7] = events["scale"][:, None]
    there[:, 7], there[:, 8] = events["alpha_qed"], events["alpha_qcd"]
    there[:, 9] = events["weight"]
    there[:, 10:] = weights
    return _packed(rows)


def _particles(some: list[EventArrays], slots: int, piece: int) -> bytes:
    """Returns a compressed chunk of the dataset of particles."""
    counts = np.concatenate([part.events["count"] for part in some])
    particles = np.concatenate([part.particles for part in some])
    rows = np.zeros((piece, slots, len(_PARTICLE)))
    there = rows[: len(counts)]
    flat = np.stack([particles[name] for name in particles.dtype.names or ()], axis=-1)
    there[np.arange(slots) < counts[:, None]] = flat
    return _packed(rows)


def _packed(rows: Any) -> bytes:
    """Returns rows as HDF5 stores a chunk: shuffled (the first bytes of all numbers, then the second ones, ...) and
    compressed."""
    shuffled = rows.astype("<f8", copy=False).view("u1").reshape(-1, 8).T
    return zlib.compress(shuffled.tobytes(), _LEVEL)


def read(path: pathlib.Path) -> EventArrays:
    """Reads all events of a file."""
    h5py = needed()
    try:
        with h5py.File(path, "r") as file:
            version = tuple(int(part) for part in file["version"][:]) if "version" in file else ()
            if not version or version[0] != 2:
                number = ".".join(map(str, version)) or "without a version"
                raise Error(f"{path} is LHEH5 {number}; 2.0 can be read")
            tables = [_Table(path, file, name) for name in ("init", "procInfo", "events", "particles")]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise Error(f"{path} is no file of LHEH5: {error}") from None
    except MemoryError:
        raise Error(f"{path} has more events than memory") from None
    init, procs, rows, legs = tables
    factor = 3.89379656e8 if version == (2, 0, 0) else 1.0
    unit = procs["unitWeight"] * factor
    numbers = _arrays.integers(path, "procId", procs["procId"], of="process")
    processes = _arrays.processes(list(zip(numbers.tolist(), procs["xSection"], procs["error"], unit)))
    heads = np.zeros(len(rows), _records.HEAD)
    heads["process_id"] = processes["process_id"][_places(path, rows, len(processes))]
    names = [name for name in rows.names if name not in _EVENT]
    if not names:
        raise Error(f"{path} has no weights of its events (NOMINAL)")
    nominal = "NOMINAL" if "NOMINAL" in names else names[0]
    names.remove(nominal)
    heads["weight"] = _arrays.finite(path, nominal, rows[nominal])
    heads["scale"], heads["alpha_qed"], heads["alpha_qcd"] = rows["scale"], rows["aqed"], rows["aqcd"]
    counts, where = _lines(path, rows, len(legs))
    events = _arrays.events(heads, counts)
    particles = np.zeros(len(where), _records.PARTICLE)
    for (name, kind), column in zip(_records.PARTICLE, _PARTICLE):
        values = legs[column][where]
        if kind == "<i4":
            values = _arrays.integers(path, column, values, counts)
        elif column not in ("lifetime", "spin"):
            values = _arrays.finite(path, column, values, counts)
        particles[name] = values
    empty = particles["pdg_id"] == 0
    if empty.any():
        event = _arrays.event_of(int(empty.argmax()), counts)
        _arrays.refuse(path, event, "'id' of a particle is 0: 'start' or 'nparticles' is wrong")
    integers = {}
    for name in ("beamA", "beamB", "PDFsetA", "PDFsetB", "weightingStrategy"):
        integers[name] = int(_arrays.integers(path, name, init[name], of="init")[0])
    return EventArrays(
        events,
        particles,
        processes,
        ((integers["beamA"], integers["beamB"]), (float(init["energyA"][0]), float(init["energyB"][0]))),
        (integers["PDFsetA"], integers["PDFsetB"]),
        integers["weightingStrategy"],
        tuple(names),
        np.stack([rows[name] for name in names], axis=-1) if names else np.zeros((len(rows), 0)),
    )


class _Table:
    """A dataset with named columns."""

    def __init__(self, path: pathlib.Path, file: Any, name: str) -> None:
        of = file[name]
        # Without "properties" the first attribute, like other readers.
        names = of.attrs["properties"] if "properties" in of.attrs else next(iter(of.attrs.values()), ())
        self.names = [one.decode() if isinstance(one, bytes) else str(one) for one in names]
        self._said = f"{path}: '{name}' of LHEH5"
        self._rows = np.atleast_2d(of[:]) if name == "init" else of[:]
        if self._rows.dtype.kind not in "iuf" or self._rows.ndim != 2 or self._rows.shape[1] != len(self.names):
            shape = f"is {self._rows.dtype} of the shape {self._rows.shape}"
            raise Error(f"{self._said} {shape}, and its attribute names {len(self.names)} columns")
        twice = {one for one in self.names if self.names.count(one) > 1}
        if twice:
            raise Error(f"{self._said} has the column '{min(twice)}' twice")

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise Error(f"{self._said} has no column '{name}'; it has {', '.join(self.names) or 'none'}")
        return self._rows[:, self.names.index(name)].astype(float)


def _places(path: pathlib.Path, rows: _Table, processes: int) -> Any:
    """Returns the position of each event's process, from 0."""
    places = _arrays.integers(path, "pid", rows["pid"])
    # Sherpa numbers from 0 if there is only one process.
    first = 0 if processes == 1 else 1
    wrong = (places < first) | (places > processes)
    if wrong.any():
        event = int(np.argmax(wrong))
        _arrays.refuse(path, event, f"'pid' is {places[event]}, and there are {processes} processes, from 1")
    return np.maximum(places - 1, 0)


def _lines(path: pathlib.Path, rows: _Table, particles: int) -> tuple[Any, Any]:
    """Returns the number of particles of each event, and the rows of all particles in the order of events."""
    counts = _arrays.integers(path, "nparticles", rows["nparticles"]).astype(np.int64)
    starts = _whole(path, "start", rows["start"])
    wrong = (counts < 1) | (starts < 0) | (starts + counts > particles)
    if wrong.any():
        event = int(wrong.argmax())
        problem = f"'start' is {starts[event]} and 'nparticles' {counts[event]}, and there are {particles} particles"
        _arrays.refuse(path, event, problem)
    order = np.argsort(starts, kind="stable")
    shared = starts[order][1:] < (starts + counts)[order][:-1]
    if shared.any():
        place = int(shared.argmax())
        one, other = int(order[place]), int(order[place + 1])
        _arrays.refuse(path, other, f"'start' is {starts[other]}, where a particle of event {one + 1} is")
    ends = np.cumsum(counts)
    return counts, np.repeat(starts - (ends - counts), counts) + np.arange(counts.sum())


def _whole(path: pathlib.Path, name: str, values: Any) -> Any:
    """Converts to 64-bit integers."""
    wrong = ~(np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2.0**53))
    if wrong.any():
        event = int(wrong.argmax())
        _arrays.refuse(path, event, f"'{name}' is {values[event]}, no integer")
    return values.astype(np.int64)
