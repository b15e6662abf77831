"""Events: what a run is, and how it is made."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, SupportsIndex

import numpy as np

from . import _arguments, _benchmarks, _command, _conditions, _cut_function, _elements, _files, _lhe, _named_cuts, _networks, _pdfdata, _running, _scales, _scheme, _scratch, _text
from ._arguments import MOST_EVENTS, MOST_THREADS
from ._arrays import EventArrays
from ._banner import Head
from ._densities import Coupling, Densities
from ._library import Error, version
from ._process import Path, Process, absolute, model_environment, model_path
from ._read import read_events
from ._rounds import Rounds
from ._slha import Card
from ._state import State, digest
from ._systematics import Systematics
from ._tasks import Local, Spread
from ._worker import Worker

# Characters of the bar that shows how far a run is.
_BAR = 20
# What draws points. On a CPU no training was over before it had saved its time; a GPU was not measured.
SAMPLERS = {"auto": "grids", "vegas": "grids", "madnis": "networks"}
# Seeds fit into 64 bits, as elsewhere; no survey ends that is to be finer than this.
LARGEST_SEED, FINEST = 2**64 - 1, 1e-6


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
    again: int
    """How often a part of the run was begun again, because a worker failed or was late."""
    efficiency: float
    """Events a phase-space point, after the survey."""
    seconds: Mapping[str, float]
    """How long the parts took by the clock: ``"start"``, ``"survey"`` (with training) and ``"events"``; of a run that
    went on since then."""
    _arrays: EventArrays | None = field(repr=False)

    @functools.cached_property
    def arrays(self) -> EventArrays:
        """The events; those of a file are read from it when they are first asked for."""
        if self._arrays is not None:
            return self._arrays
        assert self.output is not None
        return read_events(self.output)


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    stage: str
    """``"survey"``, which adapts the mappings, ``"training"`` of networks, or ``"events"``."""
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
    unit: str = "pb"
    """Of the cross section; of a decay's width GeV."""


def generate_events(
    process: Process | Path,
    *,
    energy: float,
    pdf: Path | None = None,
    alpha_s: float | None = None,
    scale: float | str | None = None,
    scale_factor: float = 1.0,
    events: SupportsIndex | float = 10_000,
    output: Path | None = None,
    cuts: Mapping[str, float] | None = None,
    cut: _cut_function.Function | None = None,
    seed: SupportsIndex | float = 1,
    threads: SupportsIndex | float = 1,
    precision: float | None = None,
    overweight: float = 0.01,
    sampler: str = "auto",
    device: str | Sequence[str] = "cpu",
    card: Path | None = None,
    model: Path | None = None,
    complex_masses: bool = False,
    gauge: str | None = None,
    state: Path | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    systematics: bool | Sequence[Path] = False,
    reweight: _benchmarks.Asked = None,
    progress: bool | Callable[[Progress], None] = False,
) -> Events:
    """Generates unweighted events.

    Phase space, cuts, scales, densities, grids and unweighting are the library's own (docs/engine.md); channels are the
    process's diagrams, those that differ by a permutation of equal particles being one.

    Args:
        process: a process, with the parameters, precision and SIMD level that it has; or its name, a process file or a
            directory. Particles of decay chains (``"p p > t t~, t > b w+, t~ > b~ w-"``) lie within 15 widths of their
            masses, as MG5aMC's ``bwcutoff`` has it. With ``pdf`` it may stand for several matrix elements, as
            ``"p p > t t~ j"`` does.
        energy: of both beams together in their rest frame, in GeV.
        pdf: parton densities of two protons: a member of a set of LHAPDF (``NAME/NAME_0000.dat``), the set's folder, or
            its name below ``LHAPDF_DATA_PATH``. Without it the particles of the process are the beams.
        alpha_s: the strong coupling, one number for all scales. Otherwise that of the densities at the scale, and without
            densities the parameter ``aS`` of the process, or of the card.
        scale: of renormalisation and factorisation: a number in GeV, ``"et"`` (the sum of transverse energies),
            ``"ht"`` (of transverse masses), ``"ht/2"`` or ``"shat"`` (the energy of the partons). Otherwise ``"ht/2"``
            with densities, and the energy without.
        scale_factor: multiplies a scale that is not a number.
        events: how many to make.
        output: event file: LHE, compressed where its name ends with ``.gz``; LHEH5 2.0, which Pythia and Sherpa read,
            where it ends with ``.hdf5`` or ``.h5`` (it takes ``h5py``); Parquet where it ends with ``.parquet``
            (``pyarrow``). ``arrays`` of what is returned has the events, with a file and without.
        cuts: the least ``"pt"`` (GeV), the largest ``"eta"``, and of two of them the least ``"dr"`` and ``"mass"``
            (GeV) of gluons and light quarks (up to b) that come out. ``"ptl"``, ``"etal"`` are for charged leptons,
            ``"pta"``, ``"etaa"`` for photons, ``"ptj"``, ``"etaj"`` are the same as ``"pt"``, ``"eta"``; pairs are
            ``"drjj"``, ``"drll"``, ``"draa"``, ``"drjl"``, ``"draj"``, ``"dral"``, and so with ``"mass"``.
        cut: which events stay, besides: a function of their momenta, an array (events, legs, 4) of (E, px, py, pz) in GeV in
            the frame of the detector, legs as in the event file (the two that come in first), that gives an array of
            bool. It is called in other processes with events of one matrix element at a time, and has to give the same
            answer for the same event.
        seed: of the random numbers, from 0 to 2**64 - 1. The same seed gives the same cross section and events with one
            thread.
        threads: how many.
        precision: relative error of the cross section to which the mappings are adapted first, from 1e-6 on.
        overweight: the share of the cross section, at most, by which weights of events may be larger than those of the
            others, and five times that of one channel; for 0 the largest weight that is found is that of all. The file says in its header what
            became of it.
        sampler: what draws points: ``"vegas"``, grids; ``"madnis"``, networks that are trained after the survey, which
            makes an event of fewer points, for more time a point and the training; ``"auto"``, the one that is sooner
            ready as far as it was measured, which are grids so far.
        device: ``"cpu"``, or ``"cuda"`` for an NVIDIA GPU, on which phase space and matrix elements are computed then;
            ``["cuda:0", "cuda:1"]`` for several. ``"hip"`` is an AMD GPU, on which nothing of it has been run.
        card: a parameter card (SLHA), where the process is a name.
        model: of a process that is generated, where it is a name: a model file or a UFO folder, as of :class:`Process`.
        complex_masses: whether such a process has the complex-mass scheme, as of :class:`Process`.
        gauge: of such a process, as of :class:`Process`.
        state: a folder for what is done. A run that was interrupted goes on there when it is called again with the same
            arguments, and ends as if it had not been (with one thread, the same in every bit). With more ``events`` it
            keeps those that it has.
        executor: of ``concurrent.futures``, Dask (``Client.get_executor()``) or MPI (``MPIPoolExecutor``), whose
            workers make survey and rounds; or what makes one, which is called again where one breaks. With one thread
            the events are the same in every bit, however many workers there are.
        systematics: which further weights events have: a list of ``"scale"`` (both scales times 0.5, 1 and 2, seven
            points), ``"pdf"`` (the other members of the set), and members or sets of other densities. True is
            ``["scale", "pdf"]``, or ``["scale"]`` without densities.
        reweight: parameter cards, or a dict of them by the names of their weights, for a process by its name and an LHE
            file: events have these weights as :func:`mebridge.reweight_events` makes them, with densities summed over
            helicities, which are drawn in the frame of the beams here.
        progress: whether to print lines on stderr: which alpha_s, scales and cuts hold, and how far the run is after each part
            of it; or what to call then.

    Raises:
        Error: where there is no such process, or a file is not what it should be.
    """
    # All arguments, before there are other names.
    given = dict(locals())
    if not (isinstance(progress, (bool, np.bool_)) or callable(progress)):
        raise TypeError(f"progress is {progress!r}; it must be True, False or what to call after each part of the run")
    own = ("progress", "reweight")
    order, target = ordered(**{name: value for name, value in given.items() if name not in own})
    found: list[EventArrays] = []

    def write(made: Made) -> None:
        head = order.head(made.elements)
        of = made.rounds, made.cross_section[0], head.beams, made.listed, head.names
        if target is None:
            found.append(_files.joined(*of))
        elif target.suffix in _files.SUFFIXES:
            _files.write(target, *of, order.threads)
        else:
            write_lhe(made, target)

    def write_lhe(made: Made, path: pathlib.Path) -> None:
        of = made.cross_section[0], order.seed, made.asked, order.threads
        order.head(made.elements).write(path, made.rounds, made.listed, *of)

    if reweight:
        made = _with_benchmarks(order, target, reweight, progress, write_lhe)
    else:
        made = make(order, progress, write)
    arrays = found[0] if found else None
    return Events(
        *made.cross_section, made.events, target, made.processes, made.again, made.efficiency, made.seconds, arrays
    )


# Of :func:`ordered`.
DEFAULTS = dict(generate_events.__kwdefaults__ or {})
del DEFAULTS["progress"], DEFAULTS["reweight"]


def _with_benchmarks(
    order: Order,
    target: pathlib.Path | None,
    asked: _benchmarks.Asked,
    progress: bool | Callable[[Progress], None],
    write: Callable[[Made, pathlib.Path], None],
) -> Made:
    """Makes events whose file has weights of other cards."""
    cards, names = _benchmarks.chosen(asked)
    if target is None or target.suffix in _files.SUFFIXES:
        raise ValueError("reweight is for LHE files; name one with output=, and read it with read_events")
    if order.parameters:
        raise ValueError(
            "reweight is for a process by its name, whose parameters do not run; make the events without, and add weights by "
            "reweight_events(original=)"
        )
    with _scratch.folder() as folder:
        (source,) = order.sources
        original = _benchmarks.of_name(source, order.card, order.environment, pathlib.Path(folder))
        # Those of the events are drawn in the frame of the beams, and weights are of that of the partons.
        helicity = "event" if order.densities is None else "sum"
        more = order.environment, order.threads, original, helicity
        benchmarks = _benchmarks.Benchmarks(cards, names, [source], *more)
        benchmarks.check()

        def written(made: Made) -> None:
            benchmarks.write(target, order.executor, lambda path: write(made, path))

        return make(order, progress, written)


def ordered(
    process: Process | Path,
    *,
    energy: float,
    pdf: Path | None,
    alpha_s: float | None,
    scale: float | str | None,
    scale_factor: float,
    events: SupportsIndex | float,
    output: Path | None,
    cuts: Mapping[str, float] | None,
    cut: _cut_function.Function | None,
    seed: SupportsIndex | float,
    threads: SupportsIndex | float,
    precision: float | None,
    overweight: float,
    sampler: str,
    device: str | Sequence[str],
    card: Path | None,
    model: Path | None,
    complex_masses: bool,
    gauge: str | None,
    state: Path | None,
    executor: Executor | Callable[[], Executor] | None,
    systematics: bool | Sequence[Path],
) -> tuple[Order, pathlib.Path | None]:
    """A run of these arguments of :func:`generate_events`, and the event file."""
    parameters: dict[str, float] = {}
    environment: dict[str, str] = {}
    if isinstance(process, Process):
        if card is not None:
            raise ValueError("the process has its card; give card= with the name of a process alone")
        if model is not None or complex_masses or gauge is not None:
            raise ValueError("the process has its model; give model=, complex_masses= and gauge= with the name of a process alone")
        source, card = process._source, process._card
        named: str | None = process._options["model"]
        parameters, environment = process._values(), process._environment()
    else:
        source = absolute(_arguments.text("process", process))
        card = None if card is None else _arguments.text("card", card)
        default = os.environ.get("CUDACPP_RUNTIME_MODEL") or None
        named = model_path(_scheme.named(model or None, complex_masses, gauge, default=default) or default)
        environment = model_environment(named)
    energy, scale_factor = _arguments.positive("energy", energy), _arguments.positive("scale_factor", scale_factor)
    events, threads = _arguments.whole("events", events, 1, MOST_EVENTS), _arguments.whole("threads", threads, 1, MOST_THREADS)
    seed = _arguments.whole("seed", seed, 0, LARGEST_SEED)
    if precision is not None:
        precision = _arguments.between("precision", precision, FINEST, 1.0)
    overweight = _arguments.between("overweight", overweight, 0.0, 1.0)
    _arguments.one_of("sampler", sampler, SAMPLERS)
    if not (executor is None or callable(executor) or hasattr(executor, "submit")):
        raise TypeError(f"executor is {executor!r}; it must be an Executor of concurrent.futures, or what makes one")
    try:
        devices = [device] if isinstance(device, str) else [_arguments.text("device", name) for name in device]
    except TypeError:
        raise TypeError(f"device is {device!r}; it must be a name such as \"cpu\", or a list of names") from None
    backend = _backend(devices)
    target = None if output is None else _lhe.target(_arguments.text("output", output), [source, card, pdf])
    if target is not None:
        _files.check(target)
    densities = None if pdf is None else Densities.read(_arguments.text("pdf", pdf))
    if alpha_s is not None:
        coupling, of_alpha_s = Coupling.constant(alpha_s), "alpha_s="
    elif densities is None:
        own = process if isinstance(process, Process) else None
        coupling, of_alpha_s = Coupling.constant(_card_alpha_s(source, card, named, own)), "the process's parameter aS"
    elif isinstance(process, Process) and process.parameters.alpha_s_was_set:
        raise Error(
            f"alpha_s of events with densities is that of the densities, and the process was given {process.parameters.alpha_s:g} "
            f"(its parameter aS); give alpha_s={process.parameters.alpha_s:g} for this one, or a process as it was"
        )
    elif densities.coupling is not None:
        coupling, of_alpha_s = densities.coupling, densities.file.stem
    else:
        raise Error(f"the set of {densities.file} has no table of alpha_s (AlphaS_Qs and AlphaS_Vals); give alpha_s=")
    if scale is None:
        scale = energy if densities is None else "ht/2"
    if not isinstance(scale, str):
        scale = _arguments.positive("scale", scale)
        if scale_factor != 1.0:
            raise ValueError("scale_factor multiplies a scale that is not a number")
    elif scale not in _scales.NAMES:
        known = ", ".join(_scales.NAMES)
        raise ValueError(f"there is no scale {scale!r}; there are {known}, or a number in GeV")
    varied = Systematics.choose(systematics, densities, alpha_s is None)
    if varied.groups and backend != "cpu":
        raise Error("weights for systematics are made on a CPU; give device=\"cpu\"")
    if _running.may_run(source, named):
        given = None if isinstance(process, Process) else card
        scales = _running.scales_of(parameters) if parameters else _running.scales([source], given, environment)
        parameters.update(_running.parameters(_running.entries(scales, coupling)))
        if varied.groups and scales:
            raise Error(_running.NO_SYSTEMATICS)
    cuts = _named_cuts.check(cuts or {})
    _cut_function.check(cut)
    state = None if state is None else _arguments.text("state", state)
    if target is not None and state is not None and os.path.realpath(state) in map(str, [target, *target.parents]):
        raise Error(f"{target} lies in the folder of the run's state; name another file for the events")
    asked = {
        "process": source,
        # That of a process may have changed since it was read.
        "card": None if card is None or isinstance(process, Process) else file_digest(card),
        "model": None if named is None else model_digest(named),
        "energy": energy,
        "pdf": None if densities is None else file_digest(densities.file),
        "alpha_s": [coupling.scales, coupling.values],
        "scale": scale,
        "scale_factor": scale_factor,
        "cuts": dict(sorted(cuts.items())),
        "systematics": {"weights": varied.names, "files": [file_digest(file) for file in varied.files]},
    }

    def head(elements: Sequence[_elements.Element]) -> Head:
        incoming = elements[0].entry["incoming"]
        codes = (_lhe.PROTON, _lhe.PROTON) if densities is not None else (incoming[0], incoming[1])
        beams = _lhe.Beams.equal(codes, energy, 0 if densities is None else densities.number)
        return Head(beams, header=varied.header() if varied.groups else "", names=varied.names)

    def conditions(elements: Sequence[_elements.Element], _: Mapping[str, Any]) -> str:
        used = _named_cuts.used(elements, cuts)
        if unused := [name for name in cuts if name not in used]:
            _command.say(f"mebridge: the process has no particles that the cuts {', '.join(unused)} are about\n")
        said = _conditions.by_name(scale, scale_factor), [f"{name} = {cuts[name]:g}" for name in used]
        return _conditions.line(elements, coupling, of_alpha_s, *said)

    def more(elements: Sequence[_elements.Element]) -> Mapping[str, Any]:
        return {"systematics": varied.asked()} if varied.groups else {}

    order = Order(
        sources=[source],
        card=card,
        parameters=parameters,
        environment=environment,
        backend=backend,
        devices=devices,
        energy=energy,
        densities=densities,
        coupling=coupling,
        scale=scale,
        scale_factor=scale_factor,
        cuts=cuts,
        events=events,
        seed=seed,
        threads=threads,
        precision=precision,
        overweight=overweight,
        sampler=sampler,
        state=state,
        executor=executor,
        asked=asked,
        files=varied.files,
        more=more,
        head=head,
        conditions=conditions,
    )
    return (order if cut is None else with_cut(order, cut)), target


def with_cut(order: Order, cut: _cut_function.Function) -> Order:
    """The same run with a function that cuts."""
    more, function = order.more, [_cut_function.packed(cut), _cut_function.name(cut)]
    return replace(
        order,
        asked={**order.asked, "cut": _cut_function.identity(cut)},
        more=lambda elements: {**more(elements), "cut": function},
    )


@dataclass(frozen=True)
class Order:
    """What a run is, once its arguments are judged."""

    sources: list[str]
    """Processes, each of which may stand for several matrix elements."""
    card: Path | None
    parameters: Mapping[str, float]
    environment: Mapping[str, str]
    backend: str
    devices: list[str]
    energy: float
    densities: Densities | None
    coupling: Coupling
    scale: float | str | Mapping[str, Any]
    scale_factor: float
    cuts: Mapping[str, float]
    events: int
    seed: int
    threads: int
    precision: float | None
    overweight: float
    sampler: str
    state: str | None
    executor: Executor | Callable[[], Executor] | None
    asked: Mapping[str, Any]
    """What makes this run another one than others, as JSON."""
    head: Callable[[Sequence[_elements.Element]], Head]
    """What its event files have in common, by the matrix elements."""
    conditions: Callable[[Sequence[_elements.Element], Mapping[str, Any]], str]
    """Which alpha_s, scales and cuts hold, by the matrix elements and what :attr:`Prepared.build` has."""
    files: Sequence[str] = ()
    """Which :meth:`mebridge._engine.Generator.build` reads besides libraries and densities."""
    more: Callable[[list[_elements.Element]], Mapping[str, Any]] = lambda _: {}
    """Further arguments of :meth:`mebridge._engine.Generator.build`, by the matrix elements."""
    windows: bool = False
    """Whether lines are kept near their masses, or away, as decay chains and ``$`` of an output ask."""

    @property
    def on_devices(self) -> Mapping[str, str]:
        """Variables by which workers know their GPUs."""
        numbers = [name.partition(":")[2] for name in self.devices]
        return {"CUDACPP_RUNTIME_DEVICE": ",".join(numbers)} if all(numbers) else {}


@dataclass(frozen=True)
class Made:
    """What a run made."""

    asked: Mapping[str, Any]
    elements: list[_elements.Element]
    cross_section: tuple[float, float]
    """In pb, with its error."""
    by_element: list[tuple[float, float]]
    """The same of each matrix element."""
    rounds: list[tuple[pathlib.Path, int, _lhe.Weights]]
    """Files of records, there as long as the run is, how many events they hold, and their weights."""
    events: int
    rows: list[np.ndarray[Any, Any]]
    """Of each round and channel what :meth:`mebridge._engine.Generator.round` gives."""
    again: int
    """How often a part of the run was begun again."""
    seconds: Mapping[str, float]
    """How long its parts took."""
    cut: tuple[int, int] = (0, 0)
    """How many events a function of the momenta was asked about, and how many it kept."""

    @property
    def efficiency(self) -> float:
        """Events a phase-space point."""
        return self.events / sum(float(rows[:, 0].sum()) for rows in self.rows)

    @property
    def names(self) -> list[str]:
        """Of the matrix elements: PDG codes of their first processes, and a number where there are several of these."""
        return names(self.elements)

    @property
    def processes(self) -> dict[str, tuple[float, float]]:
        return dict(zip(self.names, self.by_element))

    @property
    def listed(self) -> list[tuple[str, float, float]]:
        """The same, as files of events have them."""
        return [(name, *of) for name, of in self.processes.items()]


def names(elements: Sequence[_elements.Element]) -> list[str]:
    """PDG codes of the first processes of matrix elements, and a number where there are several of these."""
    found: list[str] = []
    for element in elements:
        codes = " ".join(map(str, element.flavor["options"][0]))
        before = sum(name.partition(" #")[0] == codes for name in found)
        found.append(f"{codes} #{before + 1}" if before else codes)
    return found


@dataclass(frozen=True)
class Prepared:
    """A run that is opened."""

    asked: Mapping[str, Any]
    elements: list[_elements.Element]
    build: Mapping[str, Any]
    """Arguments of :meth:`mebridge._engine.Generator.build`."""
    files: list[str]
    """Those that the arguments name."""
    tasks: Local | Spread
    kept: State
    rounds: Rounds
    conditions: str
    """Which alpha_s, scales and cuts hold."""


@contextlib.contextmanager
def prepared(order: Order) -> Iterator[Prepared]:
    """A run up to its survey. Its files are there as long as the context is open."""
    events, densities = order.events, order.densities
    asked = {
        **order.asked,
        "switches": switches(order.environment),
        "events": events,
        "seed": order.seed,
        "precision": order.precision,
        "overweight": order.overweight,
        "sampler": order.sampler,
        "threads": order.threads,
        "device": order.devices,
        "versions": [version()],
    }
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_scratch.folder())
        tasks: Local | Spread
        environment = {**order.environment, **order.on_devices}
        if order.executor is None:
            # It begins while the libraries are made.
            tasks = Local(stack.enter_context(Worker(environment, backend=order.backend)))
        else:
            tasks = Spread(order.executor, {**switches(order.environment), **environment})
        stack.callback(tasks.close)
        networks = SAMPLERS[order.sampler] == "networks"
        if networks and order.backend != "cpu":
            _command.say("mebridge: GPUs have no networks: threads of the CPU weigh points\n")
        card = None if order.card is None else os.fspath(order.card)
        elements = _elements.write(order.sources, card, order.parameters, order.environment, folder, order.windows)
        libraries = _elements.libraries(elements)
        # A library is its process with its parameters, and nothing of where or when it was made.
        asked["matrix_elements"] = [digest(library) for library in libraries]
        place = pathlib.Path(folder) / "state" if order.state is None else pathlib.Path(order.state)
        kept = State(place, asked, lasting=order.state is not None)
        stack.callback(kept.close)
        build = {
            "libraries": libraries,
            "devices": ["cpu"] if networks else order.devices,
            "threads": order.threads,
            "energy": order.energy,
            "pdf": None if densities is None else str(densities.file),
            "coupling": [order.coupling.scales, order.coupling.values],
            "scale": order.scale,
            "scale_factor": order.scale_factor,
            "cuts": order.cuts,
            "alpha_qed": _alpha_qed(order),
            **order.more(elements),
        }
        files = [*libraries, *(f"{library[:-3]}.json" for library in libraries)]
        files += [] if densities is None else [str(path) for path in densities.files]
        files += [file for file in order.files if file not in files]
        if networks and order.executor is None:
            _networks.check()
        tasks.build(build, files, folder)
        rounds = Rounds(tasks, kept, events, order.seed, order.overweight, order.backend)
        yield Prepared(asked, elements, build, files, tasks, kept, rounds, order.conditions(elements, build))


def make(order: Order, progress: bool | Callable[[Progress], None], write: Callable[[Made], None]) -> Made:
    """Makes the events, and writes them while they are there."""
    begun, events = time.monotonic(), order.events
    with prepared(order) as run:
        kept, rounds = run.kept, run.rounds

        def report(stage: str) -> None:
            done = sum(part["events"] for part in kept.rounds.values())
            tell(progress, Progress(stage, done, events, *rounds.cross_section(), time.monotonic() - begun))

        begin(progress, run)
        started = time.monotonic()
        adapt(run, order, report)
        adapted = time.monotonic()
        rounds.run(lambda: report("events"))
        times = {"start": started - begun, "survey": adapted - started, "events": time.monotonic() - adapted}
        done = [kept.rounds[number] for number in sorted(kept.rounds)]
        counts = [part.get("cut", (0, 0)) for part in done]
        made = Made(
            run.asked,
            run.elements,
            rounds.cross_section(),
            [rounds.cross_section(number) for number in range(len(run.elements))],
            [(kept.folder / part["file"], part["events"], _lhe.Weights(*part["weights"])) for part in done],
            sum(part["events"] for part in done),
            [part["channels"] for part in done],
            run.tasks.again,
            times,
            (sum(asked for asked, _ in counts), sum(kept for _, kept in counts)),
        )
        # A GPU is given back while the events are written.
        run.tasks.close()
        write(made)
    return made


def begin(progress: bool | Callable[[Progress], None], run: Prepared) -> None:
    """Says what holds, where lines about progress are wanted."""
    if progress and not callable(progress):
        _command.say(f"mebridge: {run.conditions}\n")


def adapt(run: Prepared, order: Order, report: Callable[[str], None]) -> None:
    """The survey, and the training of networks."""
    run.rounds.survey(order.precision)
    report("survey")
    if SAMPLERS[order.sampler] == "networks":
        run.rounds.train()
        report("training")


def tell(progress: bool | Callable[[Progress], None], found: Progress) -> None:
    """How far a run is."""
    if progress:
        progress(found) if callable(progress) else _show(found)


def _card_alpha_s(source: str, card: Path | None, model: str | None, process: Process | None) -> float:
    """alpha_s of a process, of its card, or the one that the model begins with."""
    path, mark, _ = source.rpartition("#")
    if card is not None:
        # A pipe would be waited for.
        _text.read(card, "the parameter card")
    if process is None:
        there = os.path.exists(path if mark else source)
        try:
            # A process that depends on it knows it. Not all models have gluons.
            process = Process((source if mark else f"{source}#1") if there else "g g > g g", card=card, model=model)
        except Error:
            return _pdfdata.at_z(Card.read(card) if card is not None else Card({}))
    return process.parameters.alpha_s


def _alpha_qed(order: Order) -> float:
    """alpha of events whose matrix elements do not depend on it: the card's, or the one that the model begins with; 0
    where neither is known."""
    model = order.environment.get("CUDACPP_RUNTIME_MODEL")
    if order.card is not None:
        return alpha_qed(order.card, model)
    # Files and directories have models of their own, which are not told here.
    if any(os.path.exists(source.rpartition("#")[0] or source) for source in order.sources):
        return 0.0
    try:
        # A process that depends on it knows it. Not all models have these leptons.
        parameters = Process("e+ e- > mu+ mu-", model=model or None).parameters
    except Error:
        return 0.0
    inverse = next((value for name, value in parameters.items() if name.lower().removeprefix("mdl_") == "aewm1"), 0.0)
    return 1.0 / abs(inverse) if inverse else 0.0


def alpha_qed(card: Path, model: str | None) -> float:
    """alpha of a card; by the model's own aEWM1, as MG5aMC takes it, where that is a formula of others."""
    numbers = Card.read(card)
    if model and not numbers.value("sminputs", 1, 0.0):
        try:
            arguments = "--parameter=aEWM1", f"--card={os.fspath(card)}", "--", model
            inverse = float(_command.run("model", *arguments, warns=False).split()[0])
        except Error:
            inverse = 0.0
        if inverse:
            return 1.0 / abs(inverse)
    return numbers.alpha_qed


def switches(environment: Mapping[str, str]) -> dict[str, str]:
    """What matrix elements are evaluated with."""
    variables = {**os.environ, **environment}
    defaults = {"CUDACPP_RUNTIME_FPTYPE": "d", "CUDACPP_RUNTIME_SIMD": "auto"}
    return {name: variables.get(name) or default for name, default in defaults.items()}


def _backend(devices: list[str]) -> str:
    kinds = {name.split(":")[0] for name in devices}
    numbers = [name.partition(":")[2] for name in devices]
    if kinds not in ({"cpu"}, {"cuda"}, {"hip"}) or not all(n.isdecimal() or not n for n in numbers):
        raise ValueError('device is "cpu", "cuda", "cuda:1", "hip", or a list of several GPUs of one kind')
    if len(set(devices)) != len(devices) or (kinds == {"cpu"} and devices != ["cpu"]):
        raise ValueError("a device is named twice; threads= says how many a CPU has")
    return kinds.pop()


def model_digest(model: str) -> list[str]:
    """What a model is: the content of its file, or of the files of its folder."""
    given = model
    model, _ = _scheme.apart(model)
    folder = model if os.path.isdir(model) else model.rpartition("-")[0]
    if not os.path.isdir(folder):
        return [digest(model)] if os.path.exists(model) else [given]
    files = sorted(name for name in os.listdir(folder) if name.endswith((".py", ".dat")))
    return [os.path.basename(given), *(f"{name} {digest(os.path.join(folder, name))}" for name in files)]


def file_digest(path: Path) -> str:
    try:
        return digest(path)
    except OSError as error:
        raise Error(f"{os.fspath(path)} cannot be read: {error.strerror}") from None


def _show(progress: Progress) -> None:
    found = "" if math.isnan(progress.cross_section) else f", {progress.cross_section:.6g} +- {progress.error:.2g} {progress.unit}"
    done = f"{progress.events} of {progress.target} events"
    share = min(progress.events / progress.target, 1.0)
    bar = f"[{'#' * math.floor(_BAR * share):{_BAR}}] {math.floor(100.0 * share)} %"
    _command.say(f"mebridge: {progress.stage} {bar}: {done}{found}, {progress.seconds:.1f} s\n")
