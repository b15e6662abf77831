"""Packs: one self-contained file with a survey and everything needed to generate events from it (docs/pack.md)."""

from __future__ import annotations

import dataclasses
import pathlib
import platform
from collections.abc import Callable, Mapping
from typing import Any, SupportsIndex

from . import _arguments, _command, _cut_function, _events
from ._arguments import Path
from ._events import Order, Progress
from ._library import Error
from ._process import Process

# Default number of events of all jobs together, to which a survey is adapted.
EVENTS = 1_000_000
# Default number of events made while packing, to measure the cross section.
MEASURED = 10_000
# Default SIMD level: supported by all x86-64 processors in use; other architectures have one level.
SIMD = "avx2" if platform.machine() == "x86_64" else "auto"
_LEVELS = ("auto", "none", "sse4", "avx2", "512y", "512z")


def pack_events(
    process: Process | Path,
    output: Path,
    *,
    simd: str = SIMD,
    measured: SupportsIndex | float = MEASURED,
    cms: bool = False,
    progress: bool | Callable[[Progress], None] = False,
    **arguments: Any,
) -> pathlib.Path:
    """Surveys a process and packs it for jobs that generate events.

    Args:
        process: as for :func:`mebridge.generate_events`.
        output: the pack: ``.tar``, ``.tar.gz`` or ``.tar.xz``.
        simd: SIMD level of all jobs, so that a seed gives the same events on all machines; ``"auto"`` is the best level
            of each machine.
        measured: number of events made while packing, for the cross section that all jobs report.
        cms: whether to add ``runcmsgrid.sh``, the script that CMS's workflows call (docs/pack.md).
        progress: as for :func:`mebridge.generate_events`.
        arguments: further arguments of :func:`mebridge.generate_events`. ``events`` is the number of events of all jobs
            together, to which the survey is adapted (1 000 000); ``state`` is the folder of a run with the same
            arguments, whose survey is reused.

    Returns:
        The path of the pack.
    """
    if arguments.get("output") is not None:
        raise TypeError("jobs of a pack name their event files; output is the pack")
    if arguments.get("reweight"):
        raise TypeError("jobs of a pack have no weights of other cards; add them to their events by reweight_events")
    if arguments.get("decays"):
        raise TypeError("jobs of a pack have no decays; add them to their events by decay_events")
    state = arguments.pop("state", None)
    given = {name: value for name, value in arguments.items() if name not in ("output", "reweight", "decays")}
    if state is None:
        given.setdefault("events", EVENTS)
    order = _events.stated(process, **{**_events.DEFAULTS, **given})
    if state is not None:
        # None takes the value of that run.
        order.spec.update({name: None for name in ("events", "seed") if name not in given})
    return write(
        order, output, simd, measured, cms, progress, None if state is None else _arguments.text("state", state)
    )


def write(
    order: Order,
    output: Path,
    simd: str,
    measured: SupportsIndex | float,
    cms: bool,
    progress: bool | Callable[[Progress], None],
    state: str | None = None,
) -> pathlib.Path:
    """Surveys a run and packs it.

    Args:
        state: the folder of the same run if it is already surveyed.
    """
    for what, function in order.functions.items():
        cure = {"cut": "cut its events", "bias": "set bias_module of the run card"}[what]
        raise Error(
            f"a pack has no {what} that is a function ({_cut_function.name(function)}); leave it out, and {cure}"
        )
    # The treatment of overweight events belongs to the jobs; the survey does not depend on it.
    spec = {key: value for key, value in order.spec.items() if key != "overweights"}
    how = {
        "measured": _arguments.whole("measured", measured, 0, _arguments.MAX_EVENTS),
        "state": state,
        "cms": bool(cms),
        "overweights": order.spec.get("overweights"),
    }
    return _packed(dataclasses.replace(order, spec=spec), output, simd, progress, how)


def of_run(
    folder: Path,
    output: Path,
    changed_files: bool,
    pdf_data: Path | None,
    simd: str,
    cms: bool,
    overweight: str | None,
    progress: bool | Callable[[Progress], None],
) -> pathlib.Path:
    """Packs the survey of a run by cards."""
    data = None if pdf_data is None else _arguments.text("pdf_data", pdf_data)
    run = {"folder": _arguments.text("folder", folder), "changed_files": bool(changed_files), "pdf_data": data}
    if overweight is not None:
        _arguments.one_of("overweight", overweight, _events.OVERWEIGHTS)
    order = Order({"process": "", "conditions": {"run_card": {}}}, {}, "cpu", {}, "auto", None)
    return _packed(order, output, simd, progress, {"run": run, "cms": bool(cms), "overweights": overweight})


def _packed(
    order: Order,
    output: Path,
    simd: str,
    progress: bool | Callable[[Progress], None],
    how: Mapping[str, Any],
) -> pathlib.Path:
    _events.check_progress(progress)
    _arguments.one_of("simd", simd, dict.fromkeys(_LEVELS, ""))
    target = _arguments.text("output", output)
    pack = {"output": target, "program": str(_command.command()), "simd": simd, **how}
    return pathlib.Path(_events.make(order, {"pack": pack}, progress).found["output"])
