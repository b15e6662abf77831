"""Generation of events: the arguments of a run, and the run itself."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np

from . import _arguments, _benchmarks, _command, _cut_function, _decays, _files, _scheme, _scratch, _target
from ._arguments import MAX_EVENTS, MAX_THREADS, Path
from ._arrays import EventArrays
from ._engine import NETWORKS
from ._library import Error
from ._process import Process, absolute, model_environment, model_path
from ._read import read_events
from ._tasks import Spread
from ._worker import Worker

# Width of the progress bar in characters.
_BAR = 20
# Samplers of phase-space points. On a CPU, training never took less time than it saved; GPUs were not measured.
SAMPLERS = {"auto": "", "vegas": "", NETWORKS: ""}
# Scales given by name.
_SCALES = ("et", "ht", "ht/2", "shat")
# Seeds have 64 bits, as elsewhere; a survey with a smaller target precision would never end.
MAX_SEED, FINEST = 2**64 - 1, 1e-6
# Treatments of overweight events, and the default limit on their excess as a fraction of the cross section.
OVERWEIGHTS = {"keep": "", "truncate": "", "unweight": ""}
# Ways to sum over colours.
COLORS = {"auto": "", "full": "", "leading-first": "", "leading": ""}
SHARE = 0.01
# In the folder of a run by cards: the folder with its state, and the files that it holds before any part is done.
_STATE, _UNWRITTEN = "state", {"lock", "run.json.part"}


@dataclass(frozen=True)
class Events:
    """Result of :func:`generate_events`."""

    cross_section: float
    """Cross section in pb; for the decay of a single particle, its partial width in GeV."""
    error: float
    """Statistical error of the cross section, in the same unit."""
    events: int
    """Number of unweighted events."""
    output: pathlib.Path | None
    """The event file, if one was requested."""
    processes: dict[str, tuple[float, float]]
    """Cross section and error of each matrix element, by the PDG codes of its first process."""
    restarts: int
    """How often part of the run was restarted because a worker failed or was late."""
    efficiency: float
    """Events per phase-space point, after the survey."""
    seconds: Mapping[str, float]
    """Elapsed time in seconds of ``"start"``, ``"survey"`` (with training) and ``"events"``; for a resumed run, since
    it was resumed."""
    decayed: pathlib.Path | None
    """The event file with decays, if decays were requested."""
    _arrays: EventArrays | None = field(repr=False)

    @functools.cached_property
    def arrays(self) -> EventArrays:
        """The events as arrays; an event file is read at the first access."""
        if self._arrays is not None:
            return self._arrays
        assert self.output is not None
        return read_events(self.output)


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    stage: str
    """``"survey"`` (adapts the mappings and trains networks), ``"events"``, or ``"packing"`` for a pack."""
    events: int
    """Number of events made so far."""
    target: int
    """Number of events requested."""
    cross_section: float
    """Estimate so far, in ``unit``; NaN before the first events."""
    error: float
    """Statistical error of the estimate, in ``unit``."""
    seconds: float
    """Elapsed time since the run was started or resumed."""
    unit: str = "pb"
    """Unit of the cross section: pb, or GeV for the width of a decay."""


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
    bias: _cut_function.Function | None = None,
    seed: SupportsIndex | float = 1,
    threads: SupportsIndex | float = 1,
    precision: float | None = None,
    overweight: float | str = SHARE,
    color: str = "auto",
    sampler: str = "auto",
    device: str | Sequence[str] = "cpu",
    card: Path | None = None,
    model: Path | None = None,
    complex_masses: bool = False,
    gauge: str | None = None,
    state: Path | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    systematics: bool | Sequence[Path] = False,
    reweight: _benchmarks.Cards = None,
    decays: Sequence[str] = (),
    progress: bool | Callable[[Progress], None] = False,
) -> Events:
    """Generates unweighted events.

    The library has its own phase space, cuts, scales, densities, grids and unweighting (docs/engine.md). Channels are
    the diagrams of the process; diagrams that differ by a permutation of equal particles share one channel.

    Args:
        process: a :class:`Process`, whose parameters, precision and SIMD level are used; or a name, a process file or a
            directory. Particles of decay chains (``"p p > t t~, t > b w+, t~ > b~ w-"``) lie within 15 widths of their
            masses, like with MG5aMC's default ``bwcutoff``. With ``pdf`` it may stand for several matrix elements, such
            as ``"p p > t t~ j"``.
        energy: total energy of both beams in their centre-of-mass frame, in GeV.
        pdf: parton densities of two protons: a member of an LHAPDF set (``NAME/NAME_0000.dat``), the set's folder, or
            its name below ``LHAPDF_DATA_PATH``. Without it, the incoming particles of the process are the beams.
        alpha_s: the strong coupling, one number for all scales. Default: that of the densities at the scale, or without
            densities the parameter ``aS`` of the process or of the card.
        scale: renormalisation and factorisation scale: a number in GeV, ``"et"`` (sum of transverse energies), ``"ht"``
            (sum of transverse masses), ``"ht/2"`` or ``"shat"`` (energy of the partons). Default: ``"ht/2"`` with
            densities, the total energy without.
        scale_factor: factor applied to a scale that is not a number.
        events: number of events.
        output: the event file; the suffix selects the format: ``.hdf5`` or ``.h5`` LHEH5 2.0 for Pythia and Sherpa
            (needs ``h5py``), ``.parquet`` Parquet (``pyarrow``), ``.hepmc`` or ``.hepmc.gz`` HepMC3 (``pyhepmc``), any
            other LHE, compressed if it is ``.gz``. ``arrays`` of the result has the events with or without a file.
        cuts: for outgoing gluons and light quarks (up to b): minimum ``"pt"`` (GeV), maximum ``"eta"``, and for pairs
            minimum ``"dr"`` and ``"mass"`` (GeV). ``"ptl"`` and ``"etal"`` are for charged leptons, ``"pta"`` and
            ``"etaa"`` for photons; ``"ptj"`` and ``"etaj"`` mean the same as ``"pt"`` and ``"eta"``. Names for pairs:
            ``"drjj"``, ``"drll"``, ``"draa"``, ``"drjl"``, ``"draj"``, ``"dral"``, and the same with ``"mass"``.
        cut: a further cut: a function that takes momenta, an array (events, legs, 4) of (E, px, py, pz) in GeV in the
            detector frame with legs as in the event file (the two incoming ones first), and returns an array of bool,
            True for events to keep. It is called in other processes with events of one matrix element at a time, and
            must give the same answer for the same event.
        bias: a function of the same momenta that returns a positive number for each event. Events are more frequent by
            this factor and their weights are divided by it, so histograms must be filled with weights. Weights average
            to the cross section within statistical errors.
        seed: seed of the random numbers, from 0 to 2**64 - 1. With one thread, the same seed gives the same cross
            section and events.
        threads: number of threads.
        precision: relative error of the cross section to which the mappings are adapted first, at least 1e-6.
        overweight: limit on the excess of weights above the common weight, as a fraction of the cross section; for one
            channel five times this. 0 gives all events the largest weight found. The header of the file reports the
            excess. Or, with a limit of 0.01, the treatment of overweight events, like ``--overweight`` of the command:
            ``"keep"`` their weights, ``"truncate"`` them, or ``"unweight"`` by making more events, for an LHE file
            (docs/run_card.md).
        color: how colour is summed: ``"full"``: all of it, for each point; ``"leading-first"``: at leading colour for each
            point, and all of it for what becomes an event, which gives the same events on average; ``"leading"``: at
            leading colour, an approximation; ``"auto"``: leading colour first where that is less work (docs/events.md).
        sampler: ``"vegas"`` for grids; ``"madnis"`` for networks trained after the survey, which need fewer points per
            event but time for the training and more time per point; ``"auto"`` for the faster one as far as measured,
            currently grids.
        device: ``"cpu"``; ``"cuda"`` for phase space and matrix elements on an NVIDIA GPU, ``["cuda:0", "cuda:1"]`` on
            several; or ``"hip"`` for an AMD GPU, which is untested.
        card: a parameter card (SLHA), for a process given by name.
        model: for a process given by name: a model file or a UFO folder, as for :class:`Process`.
        complex_masses: for a process given by name: whether to use the complex-mass scheme, as for :class:`Process`.
        gauge: for a process given by name, as for :class:`Process`.
        state: a folder that keeps finished parts. An interrupted run resumes there when called again with the same
            arguments and gives the result of an uninterrupted one (bit for bit with one thread). With more ``events``
            existing events are kept.
        executor: an executor of ``concurrent.futures``, Dask (``Client.get_executor()``) or MPI (``MPIPoolExecutor``)
            whose workers do the survey and the rounds; or a function that creates one, called again if an executor
            breaks. With one thread the events do not depend on the number of workers, bit for bit.
        systematics: further weights of events: a list of ``"scale"`` (both scales times 0.5, 1 and 2, seven points),
            ``"pdf"`` (the other members of the set), and members or sets of other densities. True means
            ``["scale", "pdf"]``, or ``["scale"]`` without densities.
        reweight: parameter cards, or a dict from names of weights to cards, for a process given by name and an LHE
            file. Events get these weights as from :func:`mebridge.reweight_events`; with densities the weights are
            summed over helicities, because helicities of events are then defined in the frame of the beams.
        decays: decays of outgoing particles, as for :func:`mebridge.decay_events`, for a process given by name and an
            LHE file. The decayed events are written to a second file, ``decayed`` of the result.
        progress: whether to print lines on stderr: the alpha_s, scales and cuts used, and the progress after each part
            of the run; or a function to call with a :class:`Progress` instead.

    Returns:
        Cross section, events and further results of the run.

    Raises:
        Error: if there is no such process, or a file is not as expected.

    >>> run = mebridge.generate_events("g g > t t~", energy=1000, events=1000)      # doctest: +SKIP
    >>> run.arrays.momenta.shape                                                    # doctest: +SKIP
    (1000, 4, 4)
    """
    # All arguments, before other local names are defined.
    given = dict(locals())
    of_output = ("progress", "reweight", "output", "state", "decays")
    order = stated(**{name: value for name, value in given.items() if name not in of_output})
    check_progress(progress)
    reads = [order.spec["process"], order.spec["param_card"], order.spec["conditions"]["stated"]["pdf"]]
    target = None if output is None else _target.target(_arguments.text("output", output), reads)
    if target is not None:
        _files.check(target)
    place = None if state is None else _arguments.text("state", state)
    if target is not None and place is not None and os.path.realpath(place) in map(str, [target, *target.parents]):
        raise Error(f"{target} lies in the folder of the run's state; name another file for the events")
    lhe = target is not None and _files.kind(target) is None
    lines = _decays.lines(decays)
    if lines and order.spec["parameters"]:
        raise ValueError(
            "decays are for a process by its name, with the parameters of its card; use decay_events(param_card=)"
        )
    if lines and not lhe:
        raise ValueError("decays are for LHE files; name one with output=")
    if isinstance(overweight, str) and overweight != "keep" and not lhe:
        raise ValueError(f'overweight="{overweight}" is for LHE files; name one with output=')
    with contextlib.ExitStack() as stack:
        scratch = pathlib.Path(stack.enter_context(_scratch.folder()))
        benchmarks = _of_order(order, reweight, lhe, scratch) if reweight else None
        plain = _plain(target) if target is not None and benchmarks else target
        to = {
            "state": place or str(scratch / _STATE),
            "lasting": place is not None,
            "output": str(plain) if lhe else None,
        }
        try:
            made = make(order, {"stated": to}, progress)
            if benchmarks is not None and target is not None and plain is not None:
                benchmarks.write(plain, target, order.executor)
        finally:
            if benchmarks is not None and plain is not None:
                plain.unlink(missing_ok=True)
        arrays = None
        if target is None:
            arrays = _files.joined(made.found)
        elif not lhe:
            _files.write(target, made.found, order.spec["threads"])
        decayed = None
        if lines and target is not None:
            decayed = _decays.of_run(target, lines, order.spec, order.environment)
        return Events(**made.fields(), output=target, decayed=decayed, _arrays=arrays)


def _plain(target: pathlib.Path) -> pathlib.Path:
    """Returns the path for the events of a file before weights of other cards are added."""
    name = target.name
    # The end stays, which says whether the file is packed.
    while len(os.fsencode(f".plain-{name}")) > _LONGEST_NAME:
        name = name[1:]
    return target.with_name(f".plain-{name}")


# The limit of file systems, in bytes.
_LONGEST_NAME = 255

# Default arguments of :func:`stated`.
DEFAULTS = dict(generate_events.__kwdefaults__ or {})
for _name in ("progress", "reweight", "output", "state", "decays"):
    del DEFAULTS[_name]


def check_progress(progress: bool | Callable[[Progress], None]) -> None:
    if not (isinstance(progress, (bool, np.bool_)) or callable(progress)):
        raise TypeError(f"progress is {progress!r}; it must be True, False or what to call after each part of the run")


def _of_order(order: Order, reweight: _benchmarks.Cards, lhe: bool, folder: pathlib.Path) -> _benchmarks.Benchmarks:
    """Returns the object that adds weights of other cards to the events of :func:`generate_events`."""
    cards, names = _benchmarks.chosen(reweight)
    if not lhe:
        raise ValueError("reweight is for LHE files; name one with output=, and read it with read_events")
    spec = order.spec
    if spec["parameters"]:
        raise ValueError(
            "reweight is for a process by its name, whose parameters do not run; make the events without, and add "
            "weights by reweight_events(original=)"
        )
    original = _benchmarks.of_name(spec["process"], spec["param_card"], order.environment, folder)
    # Helicities of events are drawn in the frame of the beams, but weights belong to that of the partons.
    helicity = "event" if spec["conditions"]["stated"]["pdf"] is None else "sum"
    benchmarks = _benchmarks.Benchmarks(
        cards, names, [spec["process"]], order.environment, spec["threads"], original, helicity
    )
    benchmarks.check()
    return benchmarks


def stated(
    process: Process | Path,
    *,
    energy: float,
    pdf: Path | None,
    alpha_s: float | None,
    scale: float | str | None,
    scale_factor: float,
    events: SupportsIndex | float,
    cuts: Mapping[str, float] | None,
    cut: _cut_function.Function | None,
    bias: _cut_function.Function | None,
    seed: SupportsIndex | float,
    threads: SupportsIndex | float,
    precision: float | None,
    overweight: float | str,
    color: str,
    sampler: str,
    device: str | Sequence[str],
    card: Path | None,
    model: Path | None,
    complex_masses: bool,
    gauge: str | None,
    executor: Executor | Callable[[], Executor] | None,
    systematics: bool | Sequence[Path],
) -> Order:
    """Validates arguments of :func:`generate_events` and returns the run that they describe."""
    parameters: dict[str, float] = {}
    if isinstance(process, Process):
        if card is not None:
            raise ValueError("the process has its card; give card= with the name of a process alone")
        if model is not None or complex_masses or gauge is not None:
            raise ValueError(
                "the process has its model; give model=, complex_masses= and gauge= with the name of a process alone"
            )
        source, card, named = process._source, process._card, process._options["model"]
        parameters, environment = process._values(), process._environment()
    else:
        source = absolute(_arguments.text("process", process))
        card = None if card is None else os.path.abspath(_arguments.card("card", card))
        default = os.environ.get("CUDACPP_RUNTIME_MODEL") or None
        named = model_path(_scheme.named(model or None, complex_masses, gauge, default=default) or default)
        environment = model_environment(named)
    conditions = {
        "energy": _arguments.positive("energy", energy),
        "pdf": None if pdf is None else _arguments.text("pdf", pdf),
        "alpha_s": None if alpha_s is None else _arguments.positive("alpha_s", alpha_s),
        "scale": _scale(scale),
        "scale_factor": _arguments.positive("scale_factor", scale_factor),
        "cuts": _cuts(cuts or {}),
    }
    if isinstance(conditions["scale"], float) and conditions["scale_factor"] != 1.0:
        raise ValueError("scale_factor multiplies a scale that is not a number")
    if isinstance(process, Process) and pdf is not None and alpha_s is None and process.parameters.alpha_s_changed:
        raise Error(
            f"alpha_s of events with densities is that of the densities, and the process was given {process.parameters.alpha_s:g} "
            f"(its parameter aS); give alpha_s={process.parameters.alpha_s:g} for this one, or a process as it was"
        )
    words: bool | Sequence[Path] = ["scale", "pdf"] if pdf is not None and systematics is True else systematics
    spec = {
        "process": source,
        "conditions": {"stated": conditions},
        "model": named,
        "param_card": card,
        "parameters": parameters,
        "events": _arguments.whole("events", events, 1, MAX_EVENTS),
        "seed": _arguments.whole("seed", seed, 0, MAX_SEED),
        **judged(threads, precision, overweight, color, words),
    }
    return ordered(spec, environment, device, {"cut": cut, "bias": bias}, sampler, executor)


def _scale(scale: float | str | None) -> float | str | None:
    if scale is None:
        return None
    if not isinstance(scale, str):
        return _arguments.positive("scale", scale)
    if scale not in _SCALES:
        raise ValueError(f"there is no scale {scale!r}; there are {', '.join(_SCALES)}, or a number in GeV")
    return scale


def _cuts(cuts: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(cuts, Mapping):
        raise TypeError(f'cuts is {cuts!r}; it must be a dict such as {{"pt": 20}}')
    found = {_arguments.text("a cut", name): _arguments.real(f"the cut {name}", value) for name, value in cuts.items()}
    for name, value in found.items():
        if not 0.0 <= value < math.inf:
            raise ValueError(f"the cut {name} is {cuts[name]}; it must be a number that is not negative")
    return found


def judged(
    threads: SupportsIndex | float,
    precision: float | None,
    overweight: float | str,
    color: str,
    systematics: bool | Sequence[Path] | None,
) -> dict[str, Any]:
    """Validates arguments shared with runs by cards and returns them in the library's form."""
    if isinstance(systematics, (str, bytes)):
        raise TypeError(f"systematics is {systematics!r}; it must be True or a list, such as ['scale', 'pdf']")
    words = ["scale"] if systematics is True else systematics or []
    _arguments.one_of("color", color, COLORS)
    return {
        "threads": _arguments.whole("threads", threads, 1, MAX_THREADS),
        "precision": None if precision is None else _arguments.between("precision", precision, FINEST, 1.0),
        **overweights(overweight),
        "color": color,
        "systematics": None if systematics is None else [_arguments.text("systematics", word) for word in words],
    }


def overweights(overweight: float | str) -> dict[str, Any]:
    """Validates ``overweight``, a fraction or the name of a treatment, and returns it in the library's form."""
    if isinstance(overweight, str):
        _arguments.one_of("overweight", overweight, OVERWEIGHTS)
        return {"overweight": SHARE, "overweights": overweight}
    return {"overweight": _arguments.between("overweight", overweight, 0.0, 1.0)}


def ordered(
    spec: dict[str, Any],
    environment: Mapping[str, str],
    device: str | Sequence[str],
    functions: Mapping[str, _cut_function.Function | None],
    sampler: str,
    executor: Executor | Callable[[], Executor] | None,
) -> Order:
    """Returns a run from validated arguments.

    Args:
        spec: the run in the library's form, without devices.
        functions: ``cut`` and ``bias``.
    """
    _arguments.one_of("sampler", sampler, SAMPLERS)
    if not (executor is None or callable(executor) or hasattr(executor, "submit")):
        raise TypeError(f"executor is {executor!r}; it must be an Executor of concurrent.futures, or what makes one")
    try:
        devices = [device] if isinstance(device, str) else [_arguments.text("device", name) for name in device]
    except TypeError:
        raise TypeError(f'device is {device!r}; it must be a name such as "cpu", or a list of names') from None
    backend = _backend(devices)
    if sampler == NETWORKS and backend != "cpu":
        _command.say("mebridge: GPUs have no networks: threads of the CPU weigh points\n")
        devices, backend = ["cpu"], "cpu"
    for what, function in functions.items():
        _cut_function.check(function, what)
    there = {what: function for what, function in functions.items() if function is not None}
    numbers = [name.partition(":")[2] for name in devices]
    on_devices = {"CUDACPP_RUNTIME_DEVICE": ",".join(numbers)} if all(numbers) else {}
    return Order({**spec, "devices": devices}, {**environment, **on_devices}, backend, there, sampler, executor)


@dataclass(frozen=True)
class Order:
    """A run with validated arguments."""

    spec: dict[str, Any]
    """The run in the library's form (crates/run/src/spec.rs)."""
    environment: Mapping[str, str]
    """Environment variables of its worker processes."""
    backend: str
    functions: Mapping[str, _cut_function.Function]
    """`cut` and `bias`, if given."""
    sampler: str
    executor: Executor | Callable[[], Executor] | None


@dataclass(frozen=True)
class Made:
    """Result of a run."""

    found: dict[str, Any]
    """Answer of `mebridge_make_events`."""
    restarts: int
    """How often part of the run was restarted."""

    def fields(self) -> dict[str, Any]:
        """Returns the fields of :class:`Events` other than files and arrays."""
        cross_section, error = self.found["cross_section"]
        return {
            "cross_section": cross_section,
            "error": error,
            "events": self.found["events"],
            "processes": {name: tuple(of) for name, of in self.found["processes"]},
            "restarts": self.restarts,
            "efficiency": self.found["efficiency"],
            "seconds": dict(zip(("start", "survey", "events"), self.found["seconds"])),
        }


def make(
    order: Order,
    to: Mapping[str, Any],
    progress: bool | Callable[[Progress], None],
    benchmarks: Callable[[Mapping[str, Any]], _benchmarks.Benchmarks] | None = None,
) -> Made:
    """Makes events.

    Args:
        to: further fields of the request to `mebridge_make_events`: state, output and so on.
        benchmarks: returns, for a message of the library, the object that makes weights of other cards.
    """
    request = {"spec": order.spec, **to, "reweights": benchmarks is not None}
    functions = {}
    for what, function in order.functions.items():
        name = _cut_function.name(function)
        functions[what] = [_cut_function.packed(function, what), name]
        request[what] = {"name": name, "identity": _cut_function.identity(function)}
    if order.sampler == NETWORKS:
        request["arguments"] = {"sampler": order.sampler}
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(Worker(order.environment, backend=order.backend))
        spread = None
        if order.executor is not None:
            spread = Spread(order.executor, {**_switches(order.environment), **order.environment})
            stack.callback(spread.close)
            part = {"threads": order.spec["threads"], "functions": functions, "sampler": order.sampler}
            worker.on(perform=functools.partial(_perform, worker, spread, part))
        if benchmarks is not None:
            worker.on(**_weighing(worker, benchmarks, order.executor))
        if progress:
            worker.on(progress=functools.partial(_tell, progress))
        if progress and not callable(progress):
            worker.on(conditions=lambda line: _command.say(f"mebridge: {line}\n"))
        stack.enter_context(_begun(worker))
        found = worker.call(
            "run", request=request, functions=functions, sampler=order.sampler, elsewhere=spread is not None
        )
    return Made(found, 0 if spread is None else spread.restarts)


def _perform(worker: Worker, spread: Spread, part: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Performs parts of a run on the workers of an executor and hands the results to the worker process."""
    if not spread.opened:
        spread.open(wanted["plan"], **part)
    with contextlib.closing(spread.perform(wanted)) as done:
        for answer in done:
            worker.give(answer)
            if worker.heard("taken"):
                # The worker process refused the result: the run ends with an error.
                return
    worker.give(None)


def _weighing(
    worker: Worker,
    benchmarks: Callable[[Mapping[str, Any]], _benchmarks.Benchmarks],
    executor: Executor | Callable[[], Executor] | None,
) -> dict[str, Callable[[Any], None]]:
    """Returns handlers for the library's requests for weights of other cards."""

    def check(message: Mapping[str, Any]) -> None:
        benchmarks(message).check(message["card"])
        worker.give(None)

    def weigh(message: Mapping[str, Any]) -> None:
        table = benchmarks(message).write(pathlib.Path(message["events"]), pathlib.Path(message["output"]), executor)
        pathlib.Path(message["table"]).write_text(table, encoding="utf-8")
        worker.give(None)

    return {"check_weights": check, "weigh": weigh}


@contextlib.contextmanager
def _begun(worker: Worker) -> Iterator[None]:
    """Context of a run by cards. If the run ends early, its folder is removed if no part was begun in it; otherwise an
    interruption names the run to resume."""
    begun: list[pathlib.Path] = []
    worker.on(begins=lambda of: begun.append(pathlib.Path(of["folder"])))
    try:
        yield
    except BaseException as error:
        # Ends the process before the folder is removed; it does not clean up itself.
        worker.end()
        for folder in begun:
            with contextlib.suppress(OSError):
                state = folder / _STATE
                if state.is_dir() and {path.name for path in state.iterdir()} <= _UNWRITTEN:
                    for path in state.iterdir():
                        path.unlink()
                    state.rmdir()
                folder.rmdir()
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(
                    f"run {folder.name} goes on with this name" if folder.exists() else ""
                ) from None
        raise


def _switches(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the switches for precision and SIMD level of the caller, which workers cannot know."""
    variables = {**os.environ, **environment}
    defaults = {"CUDACPP_RUNTIME_FPTYPE": "d", "CUDACPP_RUNTIME_SIMD": "auto"}
    return {name: variables.get(name) or default for name, default in defaults.items()}


def _backend(devices: list[str]) -> str:
    kinds = {name.split(":")[0] for name in devices}
    if kinds not in ({"cpu"}, {"cuda"}, {"hip"}) or not all(
        re.fullmatch("[a-z]+|(cuda|hip):[0-9]+", n) for n in devices
    ):
        raise ValueError('device is "cpu", "cuda", "cuda:1", "hip", or a list of several GPUs of one kind')
    if len(set(devices)) != len(devices):
        raise ValueError("a device is named twice; threads= says how many a CPU has")
    if len(devices) > 1 and not all(":" in name for name in devices):
        raise ValueError('device has several GPUs, one without its number; number all of them, "cuda:0", "cuda:1"')
    return kinds.pop()


def _tell(progress: bool | Callable[[Progress], None], state: Mapping[str, Any]) -> None:
    """Reports the progress of a run, to a function or on stderr."""
    unknown = {name: math.nan for name in ("cross_section", "error") if state[name] is None}
    found = Progress(**{**state, **unknown})
    progress(found) if callable(progress) else _show(found)


def _show(progress: Progress) -> None:
    found = (
        ""
        if math.isnan(progress.cross_section)
        else f", {progress.cross_section:.6g} +- {progress.error:.2g} {progress.unit}"
    )
    done = f"{progress.events} of {progress.target} events"
    share = min(progress.events / progress.target, 1.0)
    bar = f"[{'#' * math.floor(_BAR * share):{_BAR}}] {math.floor(100.0 * share)} %"
    _command.say(f"mebridge: {progress.stage} {bar}: {done}{found}, {progress.seconds:.1f} s\n")
