"""Event files in HDF5, LHEH5 2.0 (E. Bothmann et al., arXiv:2309.13154): what Pythia (LHAHDF5v2.h) and Sherpa read."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _arrays, _records
from ._arrays import EventArrays
from ._library import Error

# 2.0.0 has weights in GeV^-2 for Sherpa; from 2.0.1 on they are in pb.
_VERSION = (2, 0, 1)
_INIT = "beamA beamB energyA energyB PDFgroupA PDFgroupB PDFsetA PDFsetB weightingStrategy numProcesses".split()
_PROCESS = "procId npLO npNLO xSection error unitWeight".split()
_EVENT = "pid nparticles start trials scale fscale rscale aqed aqcd".split()
_PARTICLE = "id status mother1 mother2 color1 color2 px py pz e m lifetime spin".split()
# Events of a piece of a dataset, which is compressed by itself.
_PIECE = 1000


def needed() -> Any:
    try:
        import h5py
    except ImportError:
        raise Error("HDF5 files need h5py: pip install h5py") from None
    return h5py


def write(path: pathlib.Path, head: EventArrays, parts: Iterable[EventArrays], events: int, room: int) -> None:
    """Writes so many events.

    Args:
        head: what is the same for all parts.
        room: for how many particles each event has room: readers take that many for each.
    """
    h5py = needed()
    # Where a process stands is its number there.
    places = {int(number): place + 1 for place, number in enumerate(head.processes["process_id"])}
    group = [-1 if number < 0 else 0 for number in head.densities]
    init = [*head.beams[0], *head.beams[1], *group, *head.densities, head.strategy, len(head.processes)]
    procs = [[p["process_id"], room, -1, p["cross_section"], p["error"], p["largest"]] for p in head.processes]
    names = ["NOMINAL", *head.weight_names]
    width = len(_EVENT) + len(names)
    with h5py.File(path, "w-") as file:
        file.create_dataset("version", data=np.array(_VERSION, np.int32))
        file.create_dataset("init", data=np.array(init, float)).attrs["properties"] = _INIT
        file.create_dataset("procInfo", data=np.array(procs, float)).attrs["properties"] = _PROCESS
        packed = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
        piece = min(_PIECE, events)
        heads = file.create_dataset("events", (events, width), float, chunks=(piece, width), **packed)
        # Readers take the first attribute for the names of columns.
        heads.attrs["properties"] = [*_EVENT, *names]
        shape, chunks = (events * room, len(_PARTICLE)), (piece * room, len(_PARTICLE))
        legs = file.create_dataset("particles", shape, float, chunks=chunks, **packed)
        legs.attrs["properties"] = _PARTICLE
        first = 0
        for part in parts:
            last = first + len(part)
            rows = np.zeros((len(part), width))
            rows[:, 0] = [places[int(number)] for number in part.events["process_id"]]
            rows[:, 1] = part.events["count"]
            rows[:, 2] = np.arange(first, last) * room
            rows[:, 3] = 1.0
            rows[:, 4:7] = part.events["scale"][:, None]
            rows[:, 7], rows[:, 8] = part.events["alpha_qed"], part.events["alpha_qcd"]
            rows[:, 9] = part.events["weight"]
            rows[:, 10:] = part.weights
            heads[first:last] = rows
            there = np.zeros((len(part), room, len(_PARTICLE)))
            flat = np.stack([part.particles[name] for name in part.particles.dtype.names or ()], axis=-1)
            there[np.arange(room) < part.events["count"][:, None]] = flat
            legs[first * room : last * room] = there.reshape(-1, len(_PARTICLE))
            first = last


def read(path: pathlib.Path) -> EventArrays:
    """All events of a file."""
    h5py = needed()
    try:
        with h5py.File(path, "r") as file:
            version = tuple(file["version"][:]) if "version" in file else ()
            if not version or version[0] != 2:
                said = ".".join(map(str, version)) or "without a version"
                raise Error(f"{path} is LHEH5 {said}; 2.0 can be read")
            init, procs = file["init"][:], file["procInfo"][:]
            rows, legs = file["events"][:], file["particles"][:]
            names = [str(name) for name in file["events"].attrs["properties"]][len(_EVENT) :]
    except (OSError, KeyError) as error:
        raise Error(f"{path} is no file of LHEH5: {error}") from None
    factor = 3.89379656e8 if version == (2, 0, 0) else 1.0
    processes = _arrays.processes([(int(p[0]), p[3], p[4], p[5] * factor) for p in procs])
    heads = np.zeros(len(rows), _records.HEAD)
    # Sherpa's are numbered from 0 on where there is one.
    heads["process_id"] = processes["process_id"][np.maximum(rows[:, 0].astype(int) - 1, 0)]
    heads["weight"], heads["scale"] = rows[:, 9], rows[:, 6]
    heads["alpha_qed"], heads["alpha_qcd"] = rows[:, 7], rows[:, 8]
    counts, starts = rows[:, 1].astype(np.int64), rows[:, 2].astype(np.int64)
    events = _arrays.events(heads, counts)
    where = np.repeat(starts - events["first"], counts) + np.arange(counts.sum())
    particles = np.zeros(len(where), _records.PARTICLE)
    for name, column in zip(particles.dtype.names or (), legs[where].T):
        particles[name] = column
    return EventArrays(
        events,
        particles,
        processes,
        ((int(init[0]), int(init[1])), (float(init[2]), float(init[3]))),
        (int(init[6]), int(init[7])),
        int(init[8]),
        tuple(names[1:]),
        np.ascontiguousarray(rows[:, len(_EVENT) + 1 :]),
    )
