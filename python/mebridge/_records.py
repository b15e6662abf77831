"""Events of a round as records, with the fields of the Les Houches Accord (hep-ph/0109068), as `mebridge_lhe_events`
reads them."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from ._library import Error

HEAD = [("process_id", "<i4"), *((name, "<f8") for name in ("weight", "scale", "alpha_qed", "alpha_qcd"))]
_INTEGERS = ("pdg_id", "status_code", "mother1", "mother2", "color", "anti_color")
_DOUBLES = ("px", "py", "pz", "energy", "mass", "lifetime", "spin")
# Fields of a particle.
PARTICLE = [*((name, "<i4") for name in _INTEGERS), *((name, "<f8") for name in _DOUBLES)]


def layout(particles: int) -> np.dtype[Any]:
    """Returns the dtype of a record with room for this many particles, without padding."""
    numbered = [(f"part{i + 1}_{name}", kind) for i in range(particles) for name, kind in PARTICLE]
    return np.dtype([*HEAD, *numbered])


def particles(records: np.ndarray[Any, Any]) -> int:
    """Returns the number of particles that a record has room for."""
    return (len(records.dtype) - len(HEAD)) // len(PARTICLE)


def ratios(path: pathlib.Path) -> pathlib.Path:
    """Returns the path of the further weights for a file of records, as ratios to the event weight; shape (events,
    weights)."""
    return path.with_suffix(".weights.npy")


def nested(records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns a view of records with an array of particles in each."""
    return records.view([*HEAD, ("particles", PARTICLE, (particles(records),))])


def read(path: pathlib.Path, events: int) -> np.ndarray[Any, Any]:
    """Maps the records of a file into memory.

    Raises:
        Error: if the file does not hold this number of events, or was written by another version.
    """
    try:
        records = np.load(path, mmap_mode="r", allow_pickle=False)
        whole = records.shape == (events,) and path.stat().st_size == records.offset + records.nbytes
    except (ValueError, EOFError):
        whole = False
    if not whole:
        raise Error(f"{path} does not hold the {events} events that were made; is the disk full?")
    if records.dtype != layout(particles(records)):
        raise Error(f"{path} has other fields than those of this version; make the run again")
    found: np.ndarray[Any, Any] = records
    return found
