"""Events of a round as records, in the fields of the Les Houches Accord (hep-ph/0109068): what MadSpace's
`combine_to_lhe_npy` writes, and `mebridge_lhe_events` reads."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _cuts
from ._densities import ANTI
from ._library import Error

HEAD = [("process_id", "<i4"), *((name, "<f8") for name in ("weight", "scale", "alpha_qed", "alpha_qcd"))]
_INTEGERS = ("pdg_id", "status_code", "mother1", "mother2", "color", "anti_color")
_DOUBLES = ("px", "py", "pz", "energy", "mass", "lifetime", "spin")
# Status of a propagator on its mass shell.
_RESONANCE = 2
# Width in units of the mass from which on a propagator is no resonance.
BROAD = 0.1
# Records that are changed at a time: some 2 MB, which a core's cache holds.
_AT_A_TIME = 4096
# Of a particle.
FIELDS = (*_INTEGERS, *_DOUBLES)
PARTICLE = [*((name, "<i4") for name in _INTEGERS), *((name, "<f8") for name in _DOUBLES)]


def layout(particles: int) -> np.dtype[Any]:
    """Of a record with room for so many particles, without gaps."""
    numbered = [(f"part{i + 1}_{name}", kind) for i in range(particles) for name, kind in PARTICLE]
    return np.dtype([*HEAD, *numbered])


def particles(records: np.ndarray[Any, Any]) -> int:
    """For how many particles a record has room."""
    return (len(records.dtype) - len(HEAD)) // len(PARTICLE)


def ratios(path: pathlib.Path) -> pathlib.Path:
    """The file with further weights of the records in a file, in units of their weight, (events, weights)."""
    return path.with_suffix(".weights.npy")


def scales(path: pathlib.Path) -> pathlib.Path:
    """The file with the scales of the records in a file, (events, 3): of renormalisation, and of factorisation for both
    beams, GeV; where they are kept for the file of events, with a column more, the product of both densities f(x)."""
    return path.with_suffix(".scales.npy")


def matched(path: pathlib.Path) -> pathlib.Path:
    """The file with what matching found of the records in a file, where there is some: :func:`mebridge._matching.layout`,
    legs in the order of the process, beams as they are in the records."""
    return path.with_suffix(".matched.npy")


def nested(records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory, with an array of particles in each record."""
    return records.view([*HEAD, ("particles", PARTICLE, (particles(records),))])


@dataclass(frozen=True)
class Slice:
    """Some of the records in a file, and what is kept beside them; all of it can be written."""

    records: np.ndarray[Any, Any]
    """As :func:`nested` has them."""
    scales: np.ndarray[Any, Any] | None
    matched: np.ndarray[Any, Any] | None


def change(path: pathlib.Path, events: int, *steps: Callable[[Slice], None]) -> np.ndarray[Any, Any]:
    """Takes all records of a file through these steps, in the file, so few at a time that they stay in a core's cache.

    Returns:
        Their weights.
    """
    # NumPy takes its time for each part of an array that it knows to be a file's.
    records = nested(read(path, events, mode="r+")).view(np.ndarray)
    beside = [np.load(kept, mmap_mode="r+") if kept.exists() else None for kept in (scales(path), matched(path))]
    weights = np.empty(events)
    for first in range(0, events, _AT_A_TIME):
        some = slice(first, first + _AT_A_TIME)
        of = Slice(records[some], *(None if kept is None else kept[some] for kept in beside))
        for step in steps:
            step(of)
        weights[some] = of.records["weight"]
    return weights


def orient(of: Slice, mirrored: Collection[int]) -> None:
    """Puts the particle along +z first.

    Where the first one that comes in goes along -z, it is exchanged with the second if the process has both orders of its
    beams. If not, it is an event of a channel that another one stands for with its beams exchanged
    (:mod:`mebridge._channels`): weights of channels are those of a first particle along +z, so the event is turned, by
    half a turn about the x axis.

    Scales of the records, where they are kept, go with their beams.

    Args:
        mirrored: numbers of the processes (IDPRUP) that have both orders of their beams.
    """
    particles = of.records["particles"]
    if particles.shape[1] < 2:
        return
    first, second = particles[:, 0], particles[:, 1]
    behind = (first["status_code"] == -1) & (second["status_code"] == -1) & (first["pz"] < 0.0) & (second["pz"] > 0.0)
    exchanged = behind & np.isin(of.records["process_id"], list(mirrored))
    _exchange(of, exchanged)
    _turn(particles, behind & ~exchanged)


def _exchange(of: Slice, events: np.ndarray[Any, Any]) -> None:
    """Exchanges the beams of these events."""
    particles = of.records["particles"]
    # As bytes, since NumPy copies records field by field.
    whole = particles.view(f"V{particles.dtype.itemsize}")
    first = whole[events, 0]
    whole[events, 0] = whole[events, 1]
    whole[events, 1] = first
    if of.scales is not None:
        of.scales[events, 1:3] = of.scales[events, 2:0:-1]
    if of.matched is not None:
        _exchange_matched(of.matched, events)


def _turn(particles: np.ndarray[Any, Any], events: np.ndarray[Any, Any]) -> None:
    """Turns these events by half a turn about the x axis."""
    for name in ("py", "pz"):
        particles[name][events] *= -1.0


def _exchange_matched(of: np.ndarray[Any, Any], events: np.ndarray[Any, Any]) -> None:
    """Exchanges the beams of these events in what matching found."""
    for name in ("pdg", "x", "q"):
        of[name][events] = of[name][events][:, ::-1]
    legs = of["legs"]
    beams = (legs == 1) | (legs == 2)
    legs[...] = np.where(beams & events[:, None, None], 3 - legs, legs)


def set_masses(of: Slice, masses: Mapping[int, Sequence[float]]) -> None:
    """Gives legs, in the order of their process, their masses.

    Args:
        masses: by the number of the process (IDPRUP).
    """
    if not masses:
        return
    particles = of.records["particles"]
    legs = np.isin(particles["status_code"], (-1, 1))
    places = np.cumsum(legs, axis=1) - 1
    for number, some in masses.items():
        own = legs & (of.records["process_id"] == number)[:, None]
        particles["mass"][own] = np.array(some)[places[own]]


def leave_out(of: Slice, codes: Collection[int]) -> None:
    """Takes propagators of these PDG codes out of events."""
    if not codes:
        return
    particles = of.records["particles"]
    there = (particles["status_code"] == _RESONANCE) & np.isin(particles["pdg_id"], list(codes))
    for event in np.flatnonzero(there.any(axis=1)).tolist():
        # The later ones first: places behind one that is taken out are others then.
        for place in np.flatnonzero(there[event])[::-1].tolist():
            _drop(particles[event], place)


def single_out(of: Slice, poles: Mapping[int, float], forced: Collection[int]) -> None:
    """Where a particle on its mass shell became the same particle on its mass shell and another one, one of both is left,
    as MadEvent has it: the one that is nearer to its mass, or the later one where it belongs to a decay chain.

    Args:
        poles: masses by PDG code without sign.
        forced: PDG codes of particles of decay chains, without signs.
    """
    particles = of.records["particles"]
    resonant = particles["status_code"] == _RESONANCE
    if not resonant.any():
        return
    mothers = np.maximum(particles["mother1"] - 1, 0)
    same = np.take_along_axis(particles["pdg_id"], mothers, axis=1) == particles["pdg_id"]
    inner = resonant & same & np.take_along_axis(resonant, mothers, axis=1)
    for event in np.flatnonzero(inner.any(axis=1)).tolist():
        while (place := _extra(particles[event], poles, forced)) is not None:
            _drop(particles[event], place)


def _extra(particles: np.ndarray[Any, Any], poles: Mapping[int, float], forced: Collection[int]) -> int | None:
    """Which particle of an event is to go."""
    for place in np.flatnonzero(particles["status_code"] == _RESONANCE).tolist():
        mother = int(particles["mother1"][place]) - 1
        if mother < 0 or particles["status_code"][mother] != _RESONANCE:
            continue
        code = int(particles["pdg_id"][place])
        if particles["pdg_id"][mother] != code:
            continue
        pole = poles.get(abs(code), 0.0)
        farther = abs(particles["mass"][mother] - pole) >= abs(particles["mass"][place] - pole)
        return mother if abs(code) in forced or farther else place
    return None


def _drop(particles: np.ndarray[Any, Any], place: int) -> None:
    """Takes a particle out of an event; its daughters are those of its mothers."""
    for name in ("mother1", "mother2"):
        mothers = particles[name]
        mothers[mothers == place + 1] = particles[name][place]
        mothers[mothers > place + 1] -= 1
    particles[place:-1] = particles[place + 1 :]
    particles[-1] = 0


def from_anti(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whether partons with these codes, as MadSpace has them, come from antiprotons."""
    found: np.ndarray[Any, Any] = codes > ANTI // 2
    return found


def against_beams(codes: np.ndarray[Any, Any], anti: tuple[bool, bool]) -> np.ndarray[Any, Any]:
    """In which events the first particle comes from what the second beam is.

    Args:
        codes: of both particles that come in, (events, 2), as MadSpace has them.
        anti: whether the beams are antiprotons.
    """
    if anti[0] == anti[1]:
        return np.zeros(len(codes), dtype=bool)
    found: np.ndarray[Any, Any] = from_anti(codes[:, 0]) != anti[0]
    return found


def conjugate(of: Slice, anti: tuple[bool, bool]) -> None:
    """Gives what comes from antiprotons its PDG code. Where the second beam has the first particle's hadron, the event is
    turned by half a turn about the x axis, so that its particles go with their beams, and the one along +z is put first.

    Args:
        anti: whether the beams are antiprotons.
    """
    particles = of.records["particles"]
    codes = particles["pdg_id"][:, :2]
    turned = against_beams(codes, anti)
    codes -= np.where(from_anti(codes), ANTI, 0).astype(np.int32)
    _turn(particles, turned)
    _exchange(of, turned)


def boost(of: Slice, rapidity: float) -> None:
    """Gives the frame of the records this rapidity along z."""
    particles = of.records["particles"]
    particles["energy"], particles["pz"] = _cuts.along_z(particles["energy"], particles["pz"], rapidity)


def couple(of: Slice, alpha_qed: float) -> None:
    """Puts the electromagnetic coupling into the records."""
    of.records["alpha_qed"] = alpha_qed


def read(path: pathlib.Path, events: int, mode: Literal["r", "r+"] = "r") -> np.ndarray[Any, Any]:
    """The records of so many events; they are read from the file when they are used.

    Raises:
        Error: where the file is not whole: MadSpace does not look whether a disk is full.
    """
    try:
        records = np.load(path, mmap_mode="r", allow_pickle=False)
        whole = records.shape == (events,) and path.stat().st_size == records.offset + records.nbytes
    except (ValueError, EOFError):
        whole = False
    if not whole:
        raise Error(f"{path} does not hold the {events} events that MadSpace made; is the disk full?")
    if records.dtype != layout(particles(records)):
        raise Error(f"{path} has other fields than those of MadSpace 0.2.1; install that version")
    # Not before: NumPy fills a file that is too short with zeros, where it may write.
    found: np.ndarray[Any, Any] = records if mode == "r" else np.load(path, mmap_mode=mode, allow_pickle=False)
    return found
