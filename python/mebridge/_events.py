"""Events by MadSpace."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arguments, _gpu, _integrands, _lhe
from ._alive import Workers
from ._arguments import MOST_THREADS
from ._densities import Coupling, Densities
from ._library import Error, version
from ._process import Path, Process
from ._state import State

# Into how many rounds a run is divided, and how many events each has at least.
_ROUNDS, _LEAST = 20, 500
# Seeds fit into 64 bits, as elsewhere; no survey ends that is to be finer than this.
_LARGEST_SEED, _FINEST = 2**64 - 1, 1e-6
# Protons.
_PROTON = 2212


@dataclass(frozen=True)
class Events:
    """What :func:`generate_events` found."""

    cross_section: float
    """In pb."""
    error: float
    """Its statistical error in pb."""
    events: int
    """Unweighted events that were made."""
    output: pathlib.Path | None
    """The event file."""
    processes: dict[str, tuple[float, float]]
    """Cross section and error of each matrix element, by the PDG codes of its first process."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    stage: str
    """``"survey"``, which adapts the mappings, or ``"events"``."""
    events: int
    """Events that are there."""
    target: int
    """Events that are asked for."""
    cross_section: float
    """So far, in pb; NaN before the first events."""
    error: float
    """In pb."""
    seconds: float
    """Since the start, or since the run went on."""


def generate_events(
    process: Process | str,
    *,
    energy: float,
    pdf: Path | None = None,
    alpha_s: float | None = None,
    scale: float | str | None = None,
    scale_factor: float = 1.0,
    events: int = 10_000,
    output: Path | None = None,
    cuts: Mapping[str, float] | None = None,
    seed: int = 1,
    threads: int = 1,
    precision: float | None = None,
    device: str | Sequence[str] = "cpu",
    card: Path | None = None,
    state: Path | None = None,
    progress: bool | Callable[[Progress], None] = False,
) -> Events:
    """Generates unweighted events.

    Phase space, densities, VEGAS and unweighting are MadSpace's (``pip install "./python[events]"`` from a checkout);
    there is a channel for each diagram of the process that has one.

    Args:
        process: a process, or its name, a process file or a directory. With ``pdf`` it may stand for several matrix
            elements, as ``"p p > t t~ j"`` does.
        energy: of both beams together in their rest frame, in GeV.
        pdf: parton densities of two protons: a member of a set of LHAPDF (``NAME/NAME_0000.dat``), the set's folder, or
            its name below ``LHAPDF_DATA_PATH``. Without it the particles of the process are the beams.
        alpha_s: the strong coupling, one number for all scales. Otherwise that of the densities at the scale, and 0.118
            without densities.
        scale: of renormalisation and factorisation: a number in GeV, ``"et"`` (the sum of transverse energies),
            ``"ht"`` (of transverse masses), ``"ht/2"`` or ``"shat"`` (the energy of the partons). Otherwise ``"ht/2"`` with
            densities, and the energy without.
        scale_factor: multiplies a scale that is not a number.
        events: how many to make.
        output: event file (LHE), compressed where its name ends with ``.gz``; none where it is not given.
        cuts: the least ``"pt"`` (GeV), the largest ``"eta"``, and of two of them the least ``"dr"`` and ``"mass"``
            (GeV) of gluons and light quarks (up to b) that come out. ``"ptl"``, ``"etal"`` are for charged leptons,
            ``"pta"``, ``"etaa"`` for photons, ``"ptj"``, ``"etaj"`` are the same as ``"pt"``, ``"eta"``; pairs are
            ``"drjj"``, ``"drll"``, ``"draa"``, ``"drjl"``, ``"draj"``, ``"dral"``, and so with ``"mass"``.
        seed: of the random numbers, from 0 to 2**64 - 1. The same seed gives the same cross section and events with one thread.
        threads: how many.
        precision: relative error of the cross section to which the mappings are adapted first, from 1e-6 on.
        device: ``"cpu"``, or ``"cuda"`` for an NVIDIA GPU, on which phase space and matrix elements are computed then;
            ``["cuda:0", "cuda:1"]`` for several.
        card: a parameter card (SLHA), where the process is a name.
        state: a folder for what is done. A run that was interrupted goes on there when it is called again with the same
            arguments, and ends as if it had not been (with one thread, the same in every bit).
        progress: whether to print a line on stderr after each part of the run, or what to call then.

    Raises:
        Error: where MadSpace is missing, or there is no such process, or a file is not what it should be.
    """
    try:
        import madspace
    except ImportError as missing:
        raise Error("events need MadSpace: pip install madspace") from missing
    if isinstance(process, Process):
        if card is not None:
            raise ValueError("the process has its card; give card= with the name of a process alone")
        process._unchanged()
        source, card = process._source, process._card
    else:
        source, card = _arguments.text("process", process), None if card is None else _arguments.text("card", card)
    energy, scale_factor = _arguments.positive("energy", energy), _arguments.positive("scale_factor", scale_factor)
    events, threads = _arguments.whole("events", events, 1), _arguments.whole("threads", threads, 1, MOST_THREADS)
    seed = _arguments.whole("seed", seed, 0, _LARGEST_SEED)
    if precision is not None:
        precision = _arguments.between("precision", precision, _FINEST, 1.0)
    devices = [device] if isinstance(device, str) else list(device)
    backend = _backend(devices)
    if backend == "cuda":
        _gpu.check(madspace, devices)
    target = None if output is None else _lhe.target(_arguments.text("output", output), [source, card, pdf])
    densities = None if pdf is None else Densities.read(madspace, _arguments.text("pdf", pdf))
    if alpha_s is not None:
        coupling = Coupling.constant(alpha_s)
    elif densities is None:
        coupling = Coupling.constant(0.118)
    elif densities.coupling is not None:
        coupling = densities.coupling
    else:
        raise Error(f"the set of {densities.file} has no table of alpha_s (AlphaS_Qs and AlphaS_Vals); give alpha_s=")
    if scale is None:
        scale = energy if densities is None else "ht/2"
    if not isinstance(scale, str):
        scale = _arguments.positive("scale", scale)
        if scale_factor != 1.0:
            raise ValueError("scale_factor multiplies a scale that is not a number")
    state = None if state is None else _arguments.text("state", state)
    begun = time.monotonic()
    asked = {
        "process": source,
        "card": None if card is None else _digest(card),
        "energy": energy,
        "pdf": None if densities is None else _digest(densities.file),
        "alpha_s": [coupling.scales, coupling.values],
        "scale": scale,
        "scale_factor": scale_factor,
        "events": events,
        "cuts": {name: float(value) for name, value in sorted((cuts or {}).items())},
        "seed": seed,
        "precision": precision,
        "threads": threads,
        "device": devices,
        "versions": [version(), getattr(madspace, "__version__", "0.2.1")],
    }
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mebridge-"))
        stack.enter_context(_quiet(madspace))
        elements = _integrands.elements(source, card, backend, folder)
        workers = Workers(can_sleep=backend == "cpu")
        contexts = [
            workers.start(functools.partial(madspace.Context, _device(madspace, name), threads)) for name in devices
        ]
        built = _integrands.build(
            madspace,
            contexts,
            elements,
            energy=energy,
            densities=densities,
            coupling=coupling,
            scale=scale,
            scale_factor=scale_factor,
            cuts=cuts or {},
        )
        kept = State(pathlib.Path(folder) / "state" if state is None else pathlib.Path(state), asked)
        stack.callback(kept.close)
        run = _Run(madspace, contexts, workers, built, kept, events, seed, precision)

        def report(stage: str) -> None:
            if not progress:
                return
            cross_section, error = run.cross_section()
            done = sum(part["events"] for part in kept.rounds)
            found = Progress(stage, done, events, cross_section, error, time.monotonic() - begun)
            _show(found) if progress is True else progress(found)

        run.survey()
        report("survey")
        while run.round(len(kept.rounds)):
            report("events")
        cross_section, error = run.cross_section()
        of_elements = [run.cross_section(number) for number in range(len(elements))]
        names = [" ".join(map(str, element.flavor["options"][0])) for element in elements]
        if target is not None:
            codes = (_PROTON, _PROTON) if densities is not None else tuple(elements[0].entry["incoming"])
            beams = _lhe.Beams(codes, energy, 0 if densities is None else densities.number)
            rounds = [(kept.folder / part["file"], cross_section / part["cross_section"]) for part in kept.rounds]
            processes = [(name, *found) for name, found in zip(names, of_elements)]
            _lhe.write(target, rounds, beams, processes, json.dumps(asked, indent=1))
        made = sum(part["events"] for part in kept.rounds)
    return Events(cross_section, error, made, target, dict(zip(names, of_elements)))


class _Run:
    """A survey, and rounds of events. Each round begins where the survey ended, with random numbers of its own, so that
    it can be made again."""

    def __init__(
        self,
        madspace: Any,
        contexts: list[Any],
        workers: Workers,
        built: _integrands.Integrands,
        state: State,
        events: int,
        seed: int,
        precision: float | None,
    ) -> None:
        self._madspace, self._contexts, self._built, self._state = madspace, contexts, built, state
        self._workers = workers
        self._seed, self._precision = seed, precision
        count = max(1, min(_ROUNDS, events // _LEAST))
        self._sizes = [events // count + (i < events % count) for i in range(count)]
        self._completer = madspace.LHECompleter(built.bookkeeping, 15.0)

    def _random(self, part: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._seed} {part}".encode()).digest()[:7], "big")

    @contextlib.contextmanager
    def _working(self, *objects: Any) -> Iterator[None]:
        """While MadSpace works with these: they stay until it has ended, and its errors are ours."""
        try:
            with self._workers.keeping(self._contexts, self._built, *objects):
                yield
        except RuntimeError as error:
            raise Error(f"MadSpace ended the run: {error}") from error

    def survey(self) -> None:
        """Adapts the mappings, unless that is done."""
        survey = self._state.survey
        if survey is None:
            part, target = self._state.part("survey"), sum(self._sizes)
            channels = [
                self._madspace.ChannelEventGenerator(
                    self._contexts,
                    integrand,
                    *_files(part, i),
                    _config(self._madspace, target, self._precision, first),
                    number,
                    str(i),
                    None,
                )
                for i, ((integrand, number), first) in enumerate(zip(self._built.integrands, self._built.first))
            ]
            config = _config(self._madspace, target, self._precision)
            generator = self._madspace.EventGenerator(self._contexts, channels, self._random("survey"), None, config)
            with self._working(generator, channels):
                generator.survey()
            for i, channel in enumerate(channels):
                channel.save(str(part / f"channel{i}.json"))
            self._contexts[0].save_globals(str(part / "globals"))
            del generator, channels
            for i in range(len(self._built.integrands)):
                for path in _files(part, i):
                    pathlib.Path(path).unlink(missing_ok=True)
            survey = self._state.keep_survey(part)
        self._survey = survey
        surveyed = self._madspace.Context(self._madspace.cpu_device(), 1)
        surveyed.load_globals(str(survey / "globals"))
        for context in self._contexts:
            context.copy_globals_from(surveyed)

    def round(self, number: int) -> bool:
        """Makes this round, if there is one."""
        if number >= len(self._sizes):
            return False
        size = self._sizes[number]
        part, config = self._state.part("round"), _config(self._madspace, size, self._precision)
        channels = [
            self._madspace.ChannelEventGenerator.load(
                str(self._survey / f"channel{i}.json"), self._contexts, *_files(part, i), config
            )
            for i in range(len(self._built.integrands))
        ]
        generator = self._madspace.EventGenerator(
            self._contexts, channels, self._random(f"round {number}"), None, config
        )
        with self._working(generator, channels):
            generator.generate()
        status = generator.status()
        if not status.count_unweighted >= size or not status.mean > 0.0:
            raise Error(
                f"MadSpace made {status.count_unweighted:.0f} of {size} events, at {status.mean} pb; "
                "do the cuts leave any?"
            )
        with self._working(generator, channels):
            generator.combine_to_lhe(str(part / "events.lhe"), self._completer, self._madspace.LHEMeta())
        found = [[part.count, part.mean, part.error] for part in generator.channel_status()]
        del generator, channels
        done = {"events": size, "cross_section": status.mean, "channels": found}
        self._state.keep_round(part, done)
        return True

    def cross_section(self, element: int | None = None) -> tuple[float, float]:
        """Of all rounds, in pb, with its error; of one matrix element or all."""
        total, square = 0.0, 0.0
        rounds = [part["channels"] for part in self._state.rounds]
        if not rounds:
            return math.nan, math.nan
        for i, (_, number) in enumerate(self._built.integrands):
            if element is not None and element != number:
                continue
            points = sum(channels[i][0] for channels in rounds)
            if points > 0:
                total += sum(channels[i][0] * channels[i][1] for channels in rounds) / points
                square += sum((channels[i][0] * channels[i][2]) ** 2 for channels in rounds) / points**2
        return total, math.sqrt(square)


def _config(madspace: Any, events: int, precision: float | None, first: int = _integrands.FIRST) -> Any:
    """How MadSpace makes events, with so many points in the first part of a survey."""
    config = madspace.GeneratorConfig()
    config.target_count = events
    config.start_batch_size = first
    config.max_batch_size = max(config.max_batch_size, 4 * first)
    # Each batch is taken as it is. Where too few of its points pass the cuts MadSpace 0.2.1 would draw another one,
    # without an end if none ever passes; and whenever none of a batch does it forgets the batches before, so that a
    # channel with one such point in a batch comes out a fifth too large.
    config.cut_efficiency_threshold = 0.0
    if precision is not None:
        config.survey_target_precision = precision
    config.verbosity = madspace.Verbosity.silent
    return config


def _files(folder: pathlib.Path, channel: int) -> tuple[str, str]:
    return str(folder / f"events{channel}.npy"), str(folder / f"weights{channel}.npy")


def _backend(devices: list[str]) -> str:
    kinds = {name.split(":")[0] for name in devices}
    numbers = [name.partition(":")[2] for name in devices]
    if kinds not in ({"cpu"}, {"cuda"}) or not all(n.isdecimal() or not n for n in numbers):
        raise ValueError('device is "cpu", "cuda", "cuda:1", or a list of several GPUs')
    if len(set(devices)) != len(devices) or (kinds == {"cpu"} and devices != ["cpu"]):
        raise ValueError("a device is named twice; threads= says how many a CPU has")
    return kinds.pop()


def _device(madspace: Any, name: str) -> Any:
    kind, _, number = name.partition(":")
    return madspace.cpu_device() if kind == "cpu" else madspace.cuda_device(int(number or 0))


def _digest(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise Error(f"{os.fspath(path)} cannot be read: {error.strerror}") from None


@contextlib.contextmanager
def _quiet(madspace: Any) -> Iterator[None]:
    """MadSpace's warnings go to stderr, and what it is doing nowhere."""
    levels = madspace.Logger.LogLevel

    def handle(level: Any, message: str) -> None:
        if level in (levels.level_warning, levels.level_error):
            print(f"madspace: {message}", file=sys.stderr)

    madspace.Logger.set_log_handler(handle)
    try:
        yield
    finally:
        madspace.Logger.clear_log_handler()


def _show(progress: Progress) -> None:
    found = "" if math.isnan(progress.cross_section) else f", {progress.cross_section:.6g} +- {progress.error:.2g} pb"
    done = f"{progress.events} of {progress.target} events"
    print(f"mebridge: {progress.stage}: {done}{found}, {progress.seconds:.1f} s", file=sys.stderr)
