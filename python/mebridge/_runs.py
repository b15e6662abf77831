"""Runs of a directory that MG5aMC wrote, by its own cards."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, SupportsIndex

from . import (
    _arguments,
    _benchmarks,
    _command,
    _cut_function,
    _cuts,
    _decays,
    _elements,
    _events,
    _lhe,
    _orders,
    _output,
    _pack,
    _scheme,
    _scratch,
    _spectra,
    _state,
)
from ._banner import Head
from ._events import Events, Made, Progress
from ._heads import Heads
from ._inputs import Inputs
from ._library import Error
from ._output import Directory, Output
from ._process import Path, Process
from ._slha import Card

_EVENTS, _SUMMARY = "unweighted_events.lhe.gz", "summary.txt"
_STATE = "state"
# Bytes of the name of a file, and what of such a name messages have.
_LONGEST, _SHOWN = 255, 40


@dataclass(frozen=True)
class RunEvents(Events):
    """What :meth:`Run.generate` made."""

    folder: pathlib.Path
    """``Events/run_NN`` of the output."""


class Run:
    """A directory that MG5aMC's ``output madevent`` wrote (2.8.3 to 3.7, with or without the plugin), and its cards; or a
    process by its name, and a run card.

    >>> run = mebridge.Run("pp_tt")                             # doctest: +SKIP
    >>> run.generate(nevents=10_000, seed=1).cross_section      # doctest: +SKIP
    505.9
    >>> run = mebridge.Run("p p > w+; add process p p > w+ j", run_card="run_card.dat")     # doctest: +SKIP

    Args:
        output: the directory; or the name of a process, or of several.
        run_card: another one than ``Cards/run_card.dat``, or a dict of entries that are changed. A process by its name has
            MG5aMC's defaults otherwise.
        param_card: another one than ``Cards/param_card.dat``, or than the model's own.
        changed_files: whether to go on where Fortran that cuts or sets scales is not as MG5aMC wrote it. What was
            changed there is left out.
        model: of a process by its name: a model file or a UFO folder, as of :class:`mebridge.Process`.
        complex_masses: whether it has the complex-mass scheme, as of :class:`mebridge.Process`.
        gauge: of a process by its name, as of :class:`mebridge.Process`.
        folder: of a process by its name, where ``Events`` is, or will be; otherwise the working directory.
        pdf_data: of a process by its name, where grids of ``nn23lo1`` and others are: an output, or MG5aMC's folder.

    Raises:
        Error: where it is no such directory, or a card asks for what cannot be honoured (docs/run_card.md).
    """

    def __init__(
        self,
        output: Path,
        *,
        run_card: Path | Mapping[str, Any] | None = None,
        param_card: Path | None = None,
        changed_files: bool = False,
        model: Path | None = None,
        complex_masses: bool = False,
        gauge: str | None = None,
        folder: Path | None = None,
        pdf_data: Path | None = None,
    ) -> None:
        default = os.environ.get("CUDACPP_RUNTIME_MODEL") or None
        named = _scheme.named(model or None, complex_masses, gauge, default=default)
        self._inputs = Inputs(output, run_card, param_card, changed_files, named, folder, pdf_data)
        self.output, self.run_card = self._inputs.output, self._inputs.run_card
        self.param_card, self.directories = self._inputs.param_card, self._inputs.directories

    def generate(
        self,
        nevents: SupportsIndex | float | None = None,
        seed: SupportsIndex | float | None = None,
        *,
        threads: SupportsIndex | float = 1,
        backend: str = "cpu",
        name: str | None = None,
        precision: float | None = None,
        overweight: float = 0.01,
        sampler: str = "auto",
        executor: Executor | Callable[[], Executor] | None = None,
        systematics: Sequence[Path] | bool | None = None,
        reweight: _benchmarks.Asked = None,
        cut: _cut_function.Function | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> RunEvents:
        """Makes events and writes ``Events/NAME/unweighted_events.lhe.gz`` with MG5aMC's banner.

        Args:
            nevents: how many, otherwise the run card's.
            seed: of the random numbers, otherwise the run card's ``iseed``; 0 is drawn anew.
            threads: how many.
            backend: ``"cpu"``, ``"cuda"`` or ``"hip"``.
            name: of the run, otherwise ``run_NN`` with the next number. A run that was interrupted goes on where it
                stopped when its name is given.
            precision: as of :func:`mebridge.generate_events`.
            overweight: as there.
            sampler: as there.
            executor: as there.
            systematics: as there; otherwise the run card says which further weights events have.
            reweight: parameter cards, or a dict of them by the names of their weights: events have these weights as
                :func:`mebridge.reweight_events` makes them, for the helicities of each event.
            cut: as of :func:`mebridge.generate_events`, besides the run card's.
            progress: as there.
        """
        cards, names = _benchmarks.chosen(reweight)
        _cut_function.check(cut)
        card, events_folder = self.run_card, self.output.path / "Events"
        if card["gridpack"]:
            raise Error(
                f"{card.source}: gridpack = True asks for a pack, which `mebridge pack` (Run.pack) makes; set it to False for events"
            )
        events = _arguments.whole("nevents", card["nevents"] if nevents is None else nevents, 1, _arguments.MOST_EVENTS)
        number = _arguments.whole("iseed" if seed is None else "seed", card["iseed"] if seed is None else seed, 0, _events.LARGEST_SEED)
        threads = _arguments.whole("threads", threads, 1, _arguments.MOST_THREADS)
        _arguments.one_of("backend", backend, {"cpu": "", "cuda": "", "hip": ""})
        _arguments.one_of("sampler", sampler, dict.fromkeys(_events.SAMPLERS, ""))
        if precision is not None:
            precision = _arguments.between("precision", precision, _events.FINEST, 1.0)
        overweight = _arguments.between("overweight", overweight, 0.0, 1.0)
        if name is not None and (pathlib.Path(name).name != name or name == os.pardir):
            raise ValueError(f"the name of a run is {name!r}; it must be that of a folder in {events_folder}")
        with _claimed(events_folder, name) as folder:
            if len(os.fsencode(self._banner_name(folder.name))) > _LONGEST:
                tag = f"{card['run_tag'][:_SHOWN]}..."
                raise Error(f"{card.source}: run_tag = {tag} is part of a file's name, which has at most {_LONGEST} bytes; shorten it")
            if os.path.lexists(folder / _EVENTS):
                raise Error(f"{folder} holds the events of a run; take another name, or none")
            number = number or _drawn(folder)
            if self.output.decays:
                asked = {"backend": backend, "sampler": sampler, "executor": executor, "systematics": systematics or None}
                asked |= {"reweight": cards or None, "cut": cut}
                _of_decays(asked)
                return self._decay(folder, events, number, threads, precision, overweight, progress)
            with _scratch.folder() as scratch:
                order, heads = _orders.order(
                    self._inputs,
                    scratch,
                    systematics,
                    backend,
                    events=events,
                    seed=number,
                    threads=threads,
                    precision=precision,
                    overweight=overweight,
                    sampler=sampler,
                    state=str(folder / _STATE),
                    executor=executor,
                )
                if cut is not None:
                    order = _events.with_cut(order, cut)
                benchmarks = _benchmarks.Benchmarks(cards, names, self.output.sources, self.output.environment, threads)
                if benchmarks and self._inputs.runs_along:
                    raise Error(
                        "reweight: parameters of the model run, and weights of other cards would not have theirs; leave it out, or fix "
                        "their scale (fixed_extra_scale of the run card)"
                    )
                if benchmarks:
                    benchmarks.check(f"<slha>\n{heads.parameters()}\n</slha>\n")

                def write(made: Made) -> None:
                    head = order.head(made.elements)
                    summed = self._describe(folder, made, head, number)
                    of = made.cross_section[0], number, made.asked, threads
                    told = benchmarks.write(
                        folder / _EVENTS, executor, lambda file: head.write(file, made.rounds, made.listed, *of)
                    )
                    if told:
                        _lhe.write_text(folder / _SUMMARY, f"{summed}\n{told}")

                made = _events.make(order, progress, write)
            # What was surveyed stays, for a pack.
            try:
                _state.forget_rounds(folder / _STATE)
            except Error:
                shutil.rmtree(folder / _STATE, ignore_errors=True)
            return RunEvents(
                *made.cross_section,
                made.events,
                folder / _EVENTS,
                made.processes,
                made.again,
                made.efficiency,
                made.seconds,
                None,
                folder,
            )

    def _decay(
        self,
        folder: pathlib.Path,
        events: int,
        seed: int,
        threads: int,
        precision: float | None,
        overweight: float,
        progress: bool | Callable[[Progress], None],
    ) -> RunEvents:
        """Events of a decay: they are made so soon that nothing of them is kept for a run that goes on."""
        begun = time.monotonic()
        parameters = Card.read(self.param_card)
        seconds: dict[str, float] = {}

        def report(stage: str, done: int, width: tuple[float, float]) -> None:
            seconds.setdefault(stage, time.monotonic() - begun)
            _events.tell(progress, Progress(stage, done, events, *width, time.monotonic() - begun, "GeV"))

        with _scratch.folder() as scratch:
            card, environment = str(self.param_card), self.output.environment
            elements = _elements.write(self.output.sources, card, {}, environment, scratch, windows=True)
            places = self.output.places([element.entry["path"] for element in elements])
            decays, heads = [], Heads(self._inputs, self.param_card)
            for element, place in zip(elements, places):
                listed = None
                if isinstance(self.output, Output):
                    process = Process(place.source, card=self.param_card)
                    listed = Directory.read(self.output.directories[place.directory]), place.number, process
                decays.append(_decays.Decay(element, self.run_card, parameters, listed))
            unused = _cuts.unused(self.run_card, {abs(code) for of in decays for pdg in of.options for code in pdg[1:]})
            if unused is not None:
                _command.say(unused)
            if progress and not callable(progress):
                for line in dict.fromkeys(decay.conditions for decay in decays):
                    _command.say(f"mebridge: {line}\n")
            of = decays, self.run_card, self._inputs.alpha_qed()
            try:
                with _decays.make(*of, events, seed, threads, precision, overweight, scratch, report) as made:
                    ready = time.monotonic() - begun
                    beams = _lhe.Beams((decays[0].pdg[0], 0), (decays[0].masses[0], 0.0), (0, 0))
                    head = Head(beams, self.run_card["event_norm"].lower(), heads.generator, "", heads.cards({"use_syst": False}))
                    named = dict(zip(_events.names(elements), made.by_element))
                    said = {"output": str(self.output.path), **self.output.asked, "seed": seed, "events": events}
                    self._banner(folder, head, events, seed, made.width[0])
                    rows = [(name, *width) for name, width in named.items()]
                    efficiency = made.events / made.points
                    text = _decays.summary(folder.name, made, named)
                    _lhe.write_text(folder / _SUMMARY, text + _spectra.text(made.rounds))
                    head.write(folder / _EVENTS, made.rounds, rows, made.width[0], seed, said, threads)
            except BaseException:
                for left in (folder / self._banner_name(folder.name), folder / _SUMMARY):
                    left.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                raise
        times = {"start": 0.0, "survey": seconds["survey"], "events": ready - seconds["survey"]}
        return RunEvents(*made.width, events, folder / _EVENTS, named, 0, efficiency, times, None, folder)

    def pack(
        self,
        output: Path,
        nevents: SupportsIndex | float = _pack.EVENTS,
        seed: SupportsIndex | float | None = None,
        *,
        threads: SupportsIndex | float = 1,
        precision: float | None = None,
        overweight: float = 0.01,
        sampler: str = "auto",
        executor: Executor | Callable[[], Executor] | None = None,
        simd: str = _pack.SIMD,
        measured: SupportsIndex | float = _pack.MEASURED,
        systematics: Sequence[Path] | bool | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> pathlib.Path:
        """Surveys the process and packs it for jobs that make events of it (docs/pack.md).

        Args:
            output: the file, ``.tar``, ``.tar.gz`` or ``.tar.xz``.
            nevents: of all jobs together, to which the survey is adapted.
            seed: of the survey, otherwise the run card's ``iseed``, or 1 where that is 0.
            threads: of the survey.
            precision: as of :func:`mebridge.generate_events`.
            overweight: as there.
            sampler: as there.
            executor: as of :meth:`generate`, for the survey.
            simd: as of :func:`mebridge.pack_events`.
            measured: as there.
            systematics: as of :meth:`generate`.
            progress: as of :func:`mebridge.generate_events`.
        """
        if self.output.decays:
            raise Error(f"{self.output.sources[0]} is a decay, of which there are no packs; make its events by `mebridge events`")
        seed = self.run_card["iseed"] or 1 if seed is None else seed
        asked = {
            "events": _arguments.whole("nevents", nevents, 1, _arguments.MOST_EVENTS),
            "seed": _arguments.whole("seed", seed, 1, _events.LARGEST_SEED),
            "threads": _arguments.whole("threads", threads, 1, _arguments.MOST_THREADS),
            "precision": None if precision is None else _arguments.between("precision", precision, _events.FINEST, 1.0),
            "overweight": _arguments.between("overweight", overweight, 0.0, 1.0),
            "sampler": sampler,
            "executor": executor,
        }
        _arguments.one_of("sampler", sampler, dict.fromkeys(_events.SAMPLERS, ""))
        return self._packed(output, simd, measured, progress, None, systematics, asked)

    def _packed(
        self,
        output: Path,
        simd: str,
        measured: SupportsIndex | float,
        progress: bool | Callable[[Progress], None],
        state: pathlib.Path | None,
        systematics: Sequence[Path] | bool | None,
        asked: Mapping[str, Any],
    ) -> pathlib.Path:
        with _scratch.folder() as scratch:
            order, _ = _orders.order(self._inputs, scratch, systematics, "cpu", state=None, **asked)
            return _pack.write(order, output, simd, measured, progress, state)

    @classmethod
    def pack_run(
        cls,
        folder: Path,
        output: Path,
        *,
        changed_files: bool = False,
        pdf_data: Path | None = None,
        simd: str = _pack.SIMD,
        progress: bool | Callable[[Progress], None] = False,
    ) -> pathlib.Path:
        """Packs what a run has surveyed, ``Events/run_NN`` of an output or of a process by its name, with the run card that
        it had."""
        place = pathlib.Path(os.path.abspath(_arguments.text("folder", folder)))
        if not (place / _STATE).is_dir():
            raise Error(f"{place} is neither an output of MG5aMC (SubProcesses) nor a run of `mebridge events`")
        before = _state.surveyed(place / _STATE).asked
        if "run_card" not in before:
            raise Error(f"{place} is no run of an output; mebridge.pack_events(state=) takes those of generate_events")
        cards = {"run_card": before["run_card"], "changed_files": changed_files}
        if "process" in before:
            source = {"model": before["model"], "folder": place.parent.parent, "pdf_data": pdf_data}
            made = cls(before["process"], **cards, **source)
        else:
            made = cls(place.parent.parent, **cards)
        names = ("events", "seed", "precision", "overweight", "sampler", "threads")
        asked = {**{name: before[name] for name in names}, "executor": None}
        return made._packed(output, simd, 0, progress, place / _STATE, None, asked)

    def _describe(self, folder: pathlib.Path, made: Made, head: Head, seed: int) -> str:
        """Writes the banner and the summary, which is given."""
        self._banner(folder, head, made.events, seed, made.cross_section[0])
        text = summary(folder.name, made) + _spectra.text(made.rounds)
        _lhe.write_text(folder / _SUMMARY, text)
        return text

    def _banner(self, folder: pathlib.Path, head: Head, events: int, seed: int, cross_section: float) -> None:
        """Writes the banner alone."""
        banner = head.banner(events, seed, cross_section)
        text = f'<LesHouchesEvents version="3.0">\n<header>\n{banner}</header>\n</LesHouchesEvents>\n'
        _lhe.write_text(folder / self._banner_name(folder.name), text)

    def _banner_name(self, run: str) -> str:
        return f"{run}_{self.run_card['run_tag']}_banner.txt"


def _of_decays(asked: Mapping[str, Any]) -> None:
    """That nothing is asked for which events of a decay do not have."""
    for name, (known, cure) in {
        "backend": (("cpu",), 'set it to "cpu"'),
        "sampler": (("auto", "vegas"), 'set it to "auto"'),
        "executor": ((None,), "leave it out (--workers 1)"),
        "systematics": ((None,), "leave it out"),
        "reweight": ((None,), "leave it out"),
        "cut": ((None,), "leave it out"),
    }.items():
        if asked[name] not in known:
            raise Error(f"{name} = {asked[name]!r} is not for decays, whose events are made at once; {cure}")


def _drawn(folder: pathlib.Path) -> int:
    """A seed: that of the run that goes on, or a new one."""
    with contextlib.suppress(OSError, ValueError, LookupError):
        return int(json.loads((folder / _STATE / "run.json").read_text())["asked"]["seed"])
    return secrets.randbelow(2**31 - 1) + 1


@contextlib.contextmanager
def _claimed(events: pathlib.Path, name: str | None) -> Iterator[pathlib.Path]:
    """The folder of a run: of a new one, without a name, with the next number that no other run has taken. It goes where
    nothing was begun in it that could go on, and an interruption says where something was."""
    new = not events.exists()
    while True:
        folder = events / (name or _output.next_run(events))
        try:
            folder.mkdir(parents=True, exist_ok=name is not None)
            break
        except FileExistsError:
            # One of the same number has come meanwhile, or else there is something in the way.
            place = folder if events.is_dir() else events
            if name is not None or place is events:
                what = "a file" if place.exists() else "a link that leads nowhere"
                raise Error(f"{place} is {what}, where a folder is needed; take it away, or name another") from None
        except OSError as error:
            raise Error(f"{folder} cannot be made: {error.strerror}") from None
    try:
        yield folder
    except BaseException as error:
        _forget(folder)
        if new:
            with contextlib.suppress(OSError):
                events.rmdir()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"run {folder.name} goes on with this name" if folder.exists() else "") from None
        raise


def _forget(folder: pathlib.Path) -> None:
    """Removes the folder of a run where nothing was begun that could go on."""
    with contextlib.suppress(OSError):
        _state.forget_empty(folder / _STATE)
        folder.rmdir()


def summary(name: str, made: Made) -> str:
    """Cross sections by subprocess, and how the events were made."""
    total, error = made.cross_section
    width = max([len("all"), *(len(process) for process in made.processes)])
    lines = [f"{name}: {made.events} events", "", f"{'subprocess (PDG codes)':{width}}  cross section, pb", ""]
    for process, (value, deviation) in made.processes.items():
        lines.append(f"{process:{width}}  {value:.6g} +- {deviation:.2g}")
    lines += [f"{'all':{width}}  {total:.6g} +- {error:.2g}", ""]
    points = sum(row[0] for channels in made.rows for row in channels)
    passed = sum(row[3] for channels in made.rows for row in channels)
    chosen = sum(row[4] for channels in made.rows for row in channels)
    if points and passed:
        lines.append(
            f"{points:.0f} points, {passed / points:.1%} of them in all cuts, {chosen / points:.2%} became events"
        )
    asked, kept = made.cut
    if asked:
        lines.append(f"the cut {made.asked['cut']['name']} kept {kept / asked:.1%} of {asked} events")
    return "\n".join(lines) + "\n"
