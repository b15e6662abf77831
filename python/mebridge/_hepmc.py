"""Event files in the ASCII format of HepMC3 (A. Buckley et al., arXiv:1912.08005), for Rivet, Delphes and others."""

from __future__ import annotations

import gzip
import pathlib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._arrays import EventArrays
from ._library import Error, version

# HepMC3 status for ISTUP of the Les Houches Accord (hep-ph/0109068): 4 is incoming, 3 is for documentation only.
_STATUS = {-1: 4, -9: 4, -2: 3}
# Precision in HepMC3's counting that preserves every bit of a double.
_DIGITS = 16


def needed() -> Any:
    try:
        import pyhepmc
    except ImportError:
        raise Error("HepMC3 files need pyhepmc: pip install pyhepmc") from None
    return pyhepmc


def write(path: pathlib.Path, head: EventArrays, parts: Iterable[EventArrays], packed: bool) -> None:
    """Writes events, with the event weight as the first weight; all weights are in pb.

    Args:
        head: data common to all parts.
        packed: whether to compress the file.
    """
    pyhepmc = needed()
    run = pyhepmc.GenRunInfo()
    # Readers split names at spaces.
    run.weight_names = [re.sub(r"\s", "_", name) for name in ("NOMINAL", *head.weight_names)]
    run.tools = [pyhepmc.GenRunInfo.ToolInfo("mebridge", version(), "")]
    sums = head.processes["cross_section"].sum(), np.sqrt(np.square(head.processes["error"]).sum())
    first = 0
    with path.open("wb") as plain, _opened(plain, packed) as file:
        with pyhepmc.open(file, "w", precision=_DIGITS) as writer:
            for part in parts:
                _refuse_missing(part, first)
                for number in range(len(part)):
                    event = _event(pyhepmc, part, number, first + number)
                    event.run_info = run
                    event.weights = [part.events["weight"][number], *part.weights[number]]
                    cross_section = pyhepmc.GenCrossSection()
                    event.cross_section = cross_section
                    cross_section.set_cross_section(*sums)
                    writer.write(event)
                first += len(part)


def _refuse_missing(part: EventArrays, first: int) -> None:
    """Refuses events without some of the weights: HepMC3 cannot omit weights, and its readers stop at NaN."""
    missing = ~np.isfinite(part.weights)
    if missing.any():
        event, column = np.argwhere(missing)[0].tolist()
        problem = f"event {first + event + 1} (from 1) has no weight '{part.weight_names[column]}'"
        raise Error(f"{problem}, and in HepMC3 all events have all weights; leave that one out")


def _opened(file: Any, packed: bool) -> Any:
    # No time stamp: the same events give the same file.
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file


def _event(pyhepmc: Any, part: EventArrays, number: int, among_all: int) -> Any:
    """Returns an event without weights, in GeV and mm."""
    head = part.events[number]
    particles = part.particles[head["first"] : head["first"] + head["count"]]
    event = pyhepmc.GenEvent(pyhepmc.Units.GEV, pyhepmc.Units.MM)
    mothers = np.stack([particles["mother1"], particles["mother2"]], axis=-1)
    # A single mother is both the first and the last one.
    mothers[:, 1] = np.where(mothers[:, 1] == 0, mothers[:, 0], mothers[:, 1])
    mothers.sort(axis=1)
    status = [_STATUS.get(code, code) for code in particles["status_code"].tolist()]
    momenta = (np.ascontiguousarray(particles[name]) for name in ("px", "py", "pz", "energy", "mass"))
    codes = np.ascontiguousarray(particles["pdg_id"])
    event.from_hepevt(among_all, *momenta, codes, np.array(status, np.int32), mothers)
    event.event_number = among_all
    attributes = event.attributes
    attributes["signal_process_id"] = int(head["process_id"])
    for name, column in (("event_scale", "scale"), ("alphaQED", "alpha_qed"), ("alphaQCD", "alpha_qcd")):
        if np.isfinite(head[column]):
            attributes[name] = float(head[column])
    made = event.particles
    for one, color, anti in zip(made, particles["color"].tolist(), particles["anti_color"].tolist()):
        if color or anti:
            one.attributes["flow1"], one.attributes["flow2"] = color, anti
    return event
