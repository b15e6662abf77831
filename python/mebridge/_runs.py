"""Runs of a directory that MG5aMC wrote, by its own cards."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import math
import os
import pathlib
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import (
    _arguments,
    _benchmarks,
    _command,
    _cut_function,
    _cuts,
    _decays,
    _densities,
    _elements,
    _events,
    _lhe,
    _lines,
    _meta,
    _output,
    _pack,
    _pdfdata,
    _photons,
    _run_card,
    _running,
    _scratch,
    _single,
    _spectra,
    _state,
    _written,
)
from ._banner import Cards, Head
from ._densities import Coupling, Densities
from ._events import Events, Made, Order, Progress
from ._library import Error, version
from ._named import Named
from ._output import Directory, Output
from ._process import Path, Process
from ._run_card import RunCard
from ._slha import Card, open_widths, with_widths
from ._systematics import DYNAMICAL, Systematics

if TYPE_CHECKING:
    import argparse

_EVENTS = "unweighted_events.lhe.gz"
_STATE = "state"


@dataclass(frozen=True)
class RunEvents(Events):
    """What :meth:`Run.generate` made."""

    folder: pathlib.Path
    """``Events/run_NN`` of the output."""


class Run:
    """A directory that MG5aMC's ``output madevent`` wrote (2.9 to 3.7, with or without the plugin), and its cards; or a
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
        folder: Path | None = None,
        pdf_data: Path | None = None,
    ) -> None:
        self.output = _found(_arguments.text("output", output), model, folder, pdf_data)
        changed = run_card if isinstance(run_card, Mapping) else {}
        given = run_card if isinstance(run_card, (str, os.PathLike)) else self.output.card("run_card.dat")
        self._card_file = pathlib.Path(os.fspath(given))
        self._changed = _run_card.of_both(changed)
        self.run_card = RunCard.read(self._card_file, self._changed)
        self.run_card.check()
        for name, (last, before) in self.run_card.repeated.items():
            _command.say(f"mebridge: {given} has {name} twice, {before} and {last}; the last holds\n")
        card = self.output.card("param_card.dat") if param_card is None else _arguments.text("param_card", param_card)
        self.param_card = pathlib.Path(os.path.abspath(card))
        self.directories = [] if self.output.decays else self.output.read()
        if isinstance(self.output, Output) and not changed_files:
            _written.check(self.output.path, self.output.directories)
        if self.output.version.startswith("2.") and self.run_card["ickkw"] == 1 and self.run_card["fixed_fac_scale1"]:
            raise Error(
                f"{self.run_card.source}: fixed_fac_scale with ickkw = 1 means what it does in MG5aMC 3, and the output is of "
                f"{self.output.version}; set one of them to False or 0"
            )
        self._beams = (0, 0) if self.output.decays else _beams(self.run_card)
        if isinstance(self.output, Named):
            _unpolarised(self.run_card)
        else:
            _polarised(self.run_card, self.output.card("run_card.dat"))
        self._card_of_elements = self.param_card
        self._scales_of_blocks: dict[str, float] = {}
        if any(_running.may_run(source, self.output.model) for source in self.output.sources):
            given, environment = str(self.param_card), self.output.environment
            self._scales_of_blocks = _running.scales(self.output.sources, given, environment)

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
            executor: as there; where scales are clustered or matrix elements mix powers of alpha_s, workers read the
                directory, under the same path.
            systematics: as there; otherwise the run card says which further weights events have.
            reweight: parameter cards, or a dict of them by the names of their weights: events have these weights as
                :func:`mebridge.reweight_events` makes them, for the helicities of each event.
            cut: as of :func:`mebridge.generate_events`, besides the run card's.
            progress: as there.
        """
        cards, names = _benchmarks.chosen(reweight)
        _cut_function.check(cut)
        if importlib.util.find_spec("madspace") is None:
            raise Error("events need MadSpace: pip install madspace")
        card, events_folder = self.run_card, self.output.path / "Events"
        if card["gridpack"]:
            raise Error(
                f"{card.source}: gridpack = True asks for a pack, which `mebridge pack` (Run.pack) makes; set it to False for events"
            )
        events = _arguments.whole("nevents", card["nevents"] if nevents is None else nevents, 1)
        number = _arguments.whole("seed", card["iseed"] if seed is None else seed, 0, _events.LARGEST_SEED)
        threads = _arguments.whole("threads", threads, 1, _arguments.MOST_THREADS)
        _arguments.one_of("backend", backend, {"cpu": "", "cuda": "", "hip": ""})
        _arguments.one_of("sampler", sampler, dict.fromkeys(_events.SAMPLERS, ""))
        if precision is not None:
            precision = _arguments.between("precision", precision, _events.FINEST, 1.0)
        overweight = _arguments.between("overweight", overweight, 0.0, 1.0)
        fresh = name is None
        name = name or _output.next_run(events_folder)
        if pathlib.Path(name).name != name or name == os.pardir:
            raise ValueError(f"the name of a run is {name!r}; it must be that of a folder in {events_folder}")
        folder = events_folder / name
        if (folder / _EVENTS).exists():
            raise Error(f"{folder} holds the events of a run; take another name, or none")
        number = number or _drawn(folder)
        if self.output.decays:
            asked = {"backend": backend, "sampler": sampler, "executor": executor, "systematics": systematics or None}
            asked |= {"reweight": cards or None, "cut": cut}
            _of_decays(asked)
            return self._decay(folder, fresh, events, number, threads, precision, overweight, progress)
        with _scratch.folder() as scratch:
            order = self._order(
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
            if benchmarks and self._runs_along:
                raise Error(
                    "reweight: parameters of the model run, and weights of other cards would not have theirs; leave it out, or fix "
                    "their scale (fixed_extra_scale of the run card)"
                )
            if benchmarks:
                benchmarks.check(f"<slha>\n{self._parameters()}\n</slha>\n")
            _made_folder(folder, fresh)

            def write(made: Made) -> None:
                head = order.head(made.elements)
                summed = self._describe(folder, name, made, head, number)
                of = made.cross_section[0], number, made.asked, threads
                told = benchmarks.write(
                    folder / _EVENTS, executor, lambda file: head.write(file, made.rounds, made.listed, *of)
                )
                if told:
                    (folder / "summary.txt").write_text(f"{summed}\n{told}")

            try:
                made = _events.make(order, progress, write)
            except (Error, ValueError):
                _forget(folder)
                raise
            except KeyboardInterrupt:
                _forget(folder)
                raise KeyboardInterrupt(f"run {name} goes on with this name" if folder.exists() else "") from None
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
        fresh: bool,
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
            elements = _elements.write(self.output.sources, card, {}, "cpu", environment, scratch)
            places = self.output.places([element.entry["path"] for element in elements])
            options: dict[str, Any] = {"card": self.param_card, "model": self.output.model, "threads": threads}
            decays = []
            for element, place in zip(elements, places):
                listed = None
                if isinstance(self.output, Output):
                    listed = Directory.read(self.output.directories[place.directory]), place.number
                process = Process(place.source, **options)
                decays.append(_decays.Decay(element, process, self.run_card, parameters, listed))
            _made_folder(folder, fresh)
            asked = events, seed, precision, overweight, self._alpha_qed(), scratch
            try:
                made = _decays.make(decays, *asked, report)
                ready = time.monotonic() - begun
                beams = _lhe.Beams((decays[0].pdg[0], 0), (decays[0].masses[0], 0.0), (0, 0))
                head = Head(beams, self.run_card["event_norm"].lower(), self._generator, "", self._cards({"use_syst": False}))
                named = dict(zip(_events.names(elements), made.by_element))
                said = {"output": str(self.output.path), **self.output.asked, "seed": seed, "events": events}
                self._banner(folder, head, events, seed, made.width[0])
                rows = [(name, *of) for name, of in named.items()]
                efficiency = made.events / made.points
                text = _decays.summary(folder.name, made, named)
                (folder / "summary.txt").write_text(text + _spectra.text(made.rounds))
                head.write(folder / _EVENTS, made.rounds, rows, made.width[0], seed, said, threads)
            except BaseException:
                for left in (*folder.glob(f"{folder.name}_*_banner.txt"), folder / "summary.txt"):
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
            "events": _arguments.whole("nevents", nevents, 1),
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
        if importlib.util.find_spec("madspace") is None:
            raise Error("events need MadSpace: pip install madspace")
        with _scratch.folder() as scratch:
            order = self._order(scratch, systematics, "cpu", state=None, **asked)
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

    def _order(
        self, scratch: str, systematics: Sequence[Path] | bool | None, backend: str, **asked: Any
    ) -> Order:
        """A run by the cards; its densities may be written into this folder.

        Args:
            asked: what :class:`Order` has besides.
        """
        card = self.run_card
        densities, coupling = self._densities(scratch)
        self._card_of_elements = self._with_running(scratch, coupling)
        varied = self._varied(systematics, densities, backend)
        return Order(
            sources=self.output.sources,
            card=str(self._card_of_elements),
            parameters={},
            environment=self.output.environment,
            backend=backend,
            devices=[backend],
            energy=self._energy,
            densities=densities,
            coupling=coupling,
            scale=self._scale(),
            scale_factor=card["scalefact"],
            cuts={},
            asked={
                "output": str(self.output.path),
                **self.output.asked,
                "run_card": {entry: card[entry] for entry in card},
                "param_card": _events.file_digest(self.param_card),
                "pdf": None if densities is None else _events.file_digest(densities.file),
                "systematics": {
                    "weights": varied.names,
                    "files": [_events.file_digest(file) for file in varied.files],
                },
            },
            files=[*varied.files, *self.output.files(self._card_of_elements)],
            more=lambda elements: {
                **self._more(elements),
                **({"systematics": varied.asked()} if varied.groups else {}),
                "alpha_qed": self._alpha_qed(),
                "scales": bool(self._powers(elements)),
                "energies": self._energies,
                "anti": [self.run_card[f"lpp{beam + 1}"] == -1 or beam == self._other_beam for beam in (0, 1)],
                "other_beam": self._other_beam,
                "photons": 0 if self._other_beam is None else self.run_card[f"lpp{self._other_beam + 1}"],
            },
            head=lambda elements: self._head(densities, varied, elements),
            **asked,
        )

    def _with_running(self, folder: str, coupling: Coupling) -> pathlib.Path:
        """The parameter card, with what the run says of parameters that run."""
        if not self._scales_of_blocks:
            return self.param_card
        card = self.run_card
        fixed = card["mue_ref_fixed"] if card["fixed_extra_scale"] else None
        found = _running.entries(self._scales_of_blocks, coupling, folder, fixed, card["maxjetflavor"])
        text = self.param_card.read_text(encoding="utf-8", errors="replace")
        file = pathlib.Path(folder) / "param_card.dat"
        file.write_text(_running.with_entries(text, found), encoding="utf-8")
        return file

    @property
    def _runs_along(self) -> bool:
        """Whether parameters of the model follow alpha_s of the event."""
        return bool(self._scales_of_blocks) and not self.run_card["fixed_extra_scale"]

    @property
    def _radiated(self) -> bool:
        """Whether both beams radiate photons."""
        return all(abs(self.run_card[name]) in _photons.BEAMS for name in ("lpp1", "lpp2"))

    @property
    def _other_beam(self) -> int | None:
        """Which one, 0 or 1, is no hadron, beside one that is: a parton itself, or what radiates photons."""
        hadrons = [abs(self.run_card[name]) == 1 for name in ("lpp1", "lpp2")]
        return hadrons.index(False) if sum(hadrons) == 1 else None

    @property
    def _reweightable(self) -> bool:
        """Whether ``<mgrwt>`` can say what an event has of densities and alpha_s."""
        return not self._radiated and self._other_beam is None

    @property
    def _resting(self) -> bool:
        """Whether both beams are partons themselves."""
        return not any(self._beams)

    @property
    def _energies(self) -> tuple[float, float]:
        """Of the beams."""
        return float(self.run_card["ebeam1"]), float(self.run_card["ebeam2"])

    @property
    def _energy(self) -> float:
        """Of both beams together, in the frame in which they have the same."""
        first, second = self._energies
        return 2.0 * math.sqrt(first * second) if first != second else 2.0 * first

    def _scale(self) -> Mapping[str, Any]:
        """What :func:`mebridge._integrands.build` takes."""
        card = self.run_card
        fixed = card["fixed_fac_scale1"], card["fixed_fac_scale2"]
        factorisation = [card["dsqrt_q2fact1"], card["dsqrt_q2fact2"]] if all(fixed) else None
        renormalisation = card["scale"] if card["fixed_ren_scale"] else None
        # That of a particle alone, by which it is clustered, is its mass.
        alone = all(len(legs) == _single.LEGS for directory in self.directories for legs in directory.legs)
        return {
            "dynamical": DYNAMICAL.get(card["dynamical_scale_choice"], "ht" if alone else "ht/2"),
            "renormalisation": renormalisation,
            "factorisation": factorisation,
        }

    def _densities(self, folder: str) -> tuple[Densities | None, Coupling]:
        """Densities and alpha_s, as ``setrun.f`` chooses them."""
        card = self.run_card
        if self._resting:
            return None, _pdfdata.coupling(Card.read(self.param_card).value("SMINPUTS", 3, 0.118))
        label = card["pdlabel2" if self._other_beam == 0 else "pdlabel1"]
        if label == _photons.LABEL:
            coupling = _pdfdata.coupling(Card.read(self.param_card).value("SMINPUTS", 3, 0.118))
            return _photons.densities(card["lpp1"], coupling, folder), coupling
        if label in _pdfdata.SETS:
            found = _pdfdata.densities(self.output.data, label, folder)
            return found, _with_coupling(found)
        found = Densities.read(_densities.by_number(card["lhaid"]))
        return found, _with_coupling(found)

    def _more(self, elements: Sequence[_elements.Element]) -> Mapping[str, Any]:
        """The cuts of each matrix element, and what is left of the run card then."""
        found, left = [], []
        changed: set[pathlib.Path] = set()
        for element, place in zip(elements, self.output.places([element.entry["path"] for element in elements])):
            directory, number = self.directories[place.directory], place.number
            pdg = tuple(element.flavor["options"][0])
            _output.matching(directory, {number: pdg})
            if _lines.name(element, directory, number):
                changed.add(element.library)
            masses = _masses(element)
            legs = _cuts.Legs(pdg, masses, directory.decayed, self.run_card)
            nothing = _cuts.empty(legs)
            if nothing is not None:
                raise Error(f"{nothing} of the run card leaves nothing of {directory.path.name}: set it to 0")
            rules, implied = _cuts.rules(legs, self._energy)
            windows = _cuts.windows(legs) + implied
            windows += _resonances(directory, element, number, self.run_card)
            resting = self._resting
            boost = _cuts.rapidity(self._energies)
            exact = [_cuts.exact(window, masses, resting, boost) for window in windows]
            some = [window for window, takes in zip(windows, exact) if takes] + _cuts.wider(windows, boost)
            rest = [window for window, takes in zip(windows, exact) if not takes]
            found.append([dataclasses.asdict(window) for window in some])
            left.append(
                {
                    "directory": place.described,
                    "number": number,
                    "windows": [dataclasses.asdict(one) for one in rest],
                    "rules": [dataclasses.asdict(rule) for rule in rules],
                    "helicities": not resting and _turning(element, masses),
                    "source": place.source,
                    "model": self.output.model,
                    "turning": not resting and _radiates(element, [directory]),
                }
            )
        for library in changed:
            _elements.rewrite(library, [element.entry for element in elements if element.library == library])
        if self.run_card["use_syst"] and not self._powers(elements) and self._reweightable:
            why = "parameters of the model run" if self._runs_along else "matrix elements have several powers of alpha_s"
            _command.say(f"mebridge: events have no <mgrwt> (use_syst): {why}\n")
        massive = any(mass > 0.0 for element in elements for mass in _masses(element)[2:])
        scaled = self._scaled(massive)
        lines = [line for directory in self.directories for config in directory.configs for line in config.lines]
        chained = sorted({abs(code) for line in lines if line.forced == 1 for code in line.codes})
        shown = {"bwcutoff": self.run_card["bwcutoff"], "forced": chained}
        excluded = any(line.forced == 2 for line in lines)
        matching = self._matching(elements, scaled)
        clustering = self._clustering() if scaled == "clustering" or excluded or matching is not None else None
        more = any(of["windows"] or of["rules"] or of["helicities"] or of["turning"] for of in left)
        if not scaled and clustering is None and not more:
            return {"windows": found, **shown}
        refine = {
            "elements": left,
            "clustering": clustering,
            "matching": matching,
            "scaled": scaled,
            "card": str(self._card_of_elements),
        }
        return {"windows": found, "refine": refine, **shown}

    def _scaled(self, massive: bool) -> str:
        """By what scales are that MadSpace has not: it has transverse energies in the frame of the beams."""
        card = self.run_card
        if card["fixed_ren_scale"] and (self._resting or card["fixed_fac_scale1"]):
            return ""
        moving = massive and not self._resting
        return {-1: "clustering", 1: "et" if moving else ""}.get(card["dynamical_scale_choice"], "")

    def _clustering(self) -> Mapping[str, Any]:
        """What :class:`mebridge._clustering.Settings` takes."""
        card = self.run_card
        return {
            "hadrons": not self._resting,
            "maxjetflavor": card["maxjetflavor"],
            "bwcutoff": card["bwcutoff"],
            "small_width": card["small_width_treatment"],
            "distance": card["d"],
            "denominators": card["sde_strategy"] == 2,
            "scheme": card["ktscheme"],
            "alone": card["chcluster"],
        }

    def _matching(self, elements: Sequence[_elements.Element], scaled: str) -> Mapping[str, Any] | None:
        """What :class:`mebridge._matching.Matching` takes; none where nothing is asked of clustered events.

        Args:
            scaled: what :meth:`_scaled` gives.
        """
        card = self.run_card
        # Events are clustered for xmtcentral no more than MadEvent does.
        central = card["xmtcentral"] if scaled == "clustering" else 0.0
        if card["ickkw"] == 0 and card["xqcut"] == 0.0 and central == 0.0:
            return None
        for element in elements if card["ickkw"] == 1 else ():
            _check_flavors(element.flavor["options"], card)
        return {
            "reweighted": card["ickkw"] == 1,
            "xqcut": card["xqcut"],
            "xmtcentral": card["xmtcentral"],
            "alpsfact": card["alpsfact"],
            "asrwgtflavor": card["asrwgtflavor"],
            "pdfwgt": card["ickkw"] == 1 and card["pdfwgt"],
        }

    def _describe(self, folder: pathlib.Path, name: str, made: Made, head: Head, seed: int) -> str:
        """Writes the banner and the summary, which is given."""
        self._banner(folder, head, made.events, seed, made.cross_section[0])
        text = summary(name, made) + _spectra.text(made.rounds)
        (folder / "summary.txt").write_text(text)
        return text

    def _banner(self, folder: pathlib.Path, head: Head, events: int, seed: int, cross_section: float) -> None:
        """Writes the banner alone."""
        banner = head.banner(events, seed, cross_section)
        (folder / f"{folder.name}_{self.run_card['run_tag']}_banner.txt").write_text(
            f'<LesHouchesEvents version="3.0">\n<header>\n{banner}</header>\n</LesHouchesEvents>\n'
        )

    @property
    def _generator(self) -> str:
        """A line of event files."""
        return f"<generator name='mebridge' version='{version()}'>{self.output.by}</generator>"

    def _head(
        self, densities: Densities | None, varied: Systematics, elements: Sequence[_elements.Element]
    ) -> Head:
        """What stands in its event files besides the events."""
        first, second = (code or own for code, own in zip(self._beams, elements[0].entry["incoming"]))
        numbers = [0 if densities is None or beam == self._other_beam else densities.number for beam in (0, 1)]
        beams = _lhe.Beams((first, second), self._energies, (numbers[0], numbers[1]))
        header = varied.header() + "\n" if varied.groups else ""
        powers = tuple(self._powers(elements))
        # What MG5aMC's systematics reads before it looks for <mgrwt>.
        cards = self._cards({} if powers else {"use_syst": False})
        matched = self.run_card["ickkw"] == 1
        norm, steps = self.run_card["event_norm"].lower(), matched and self.run_card["clusinfo"]
        return Head(beams, norm, self._generator, header, cards, varied.names, powers, matched, steps)

    def _varied(
        self, asked: Sequence[Path] | bool | None, densities: Densities | None, backend: str
    ) -> Systematics:
        """Which further weights events have."""
        card = self.run_card
        if asked is not None:
            found = Systematics.choose(asked, densities, True)
            if found.groups and self._runs_along:
                raise Error(_running.NO_SYSTEMATICS)
            if found.groups and self._other_beam is not None:
                raise Error("weights for systematics are for densities of both beams, or of none; ask for none")
            if found.groups and backend != "cpu":
                raise Error('weights for systematics are made on a CPU; set backend to "cpu"')
            return found
        program = card["systematics_program"].lower()
        unfit = self._other_beam is not None or card["pdlabel1"] != "lhapdf"
        if not card["use_syst"] or program == "none" or densities is None or unfit:
            return Systematics((), ())
        if program not in ("systematics", "auto") or not card["systematics_arguments"]:
            said = f"systematics_program = {program}" if card["systematics_arguments"] else "sys_scalefact"
            _command.say(f"mebridge: {said} of the run card is not followed: events have no weights for systematics\n")
            return Systematics((), ())
        if self._runs_along:
            _command.say(f"mebridge: {_running.NO_SYSTEMATICS}\n")
            return Systematics((), ())
        if backend != "cpu":
            _command.say("mebridge: events have no weights for systematics, which are made on a CPU\n")
            return Systematics((), ())
        return Systematics.of_arguments(card["systematics_arguments"], densities, card["ickkw"] == 1)

    def _powers(self, elements: Sequence[_elements.Element]) -> list[int]:
        """Of alpha_s in each matrix element; none where ``<mgrwt>`` is not asked for, or cannot be written."""
        powers = [element.qcd_power for element in elements]
        found = [power for power in powers if power is not None]
        if not self.run_card["use_syst"] or len(found) < len(powers) or not self._reweightable:
            return []
        return found

    def _alpha_qed(self) -> float:
        """alpha of events whose matrix elements do not know it."""
        left = self.output.path / "bin" / "internal" / "ufomodel"
        model = str(left) if self.output.model is None and left.is_dir() else self.output.model
        return _events.alpha_qed(self.param_card, model)

    def _computed_widths(self) -> dict[str, float]:
        """Widths that matrix elements have, by the codes of the particles."""
        found = {}
        for source in self.output.sources:
            options = "--json", f"--card={self.param_card}", "--", source
            told = _command.run("info", *options, environment=self.output.environment, warns=False)
            for element in json.loads(told):
                rows = (row for row in element.get("card", ()) if row["block"] == "decay")
                found.update({str(code): abs(row["value"]) for row in rows for code in row["index"]})
        return found

    def _parameters(self) -> str:
        """The parameter card of event files, with widths that were left to be computed."""
        parameters = self._card_of_elements.read_text(encoding="utf-8", errors="replace")
        # MG5aMC would compute all of them for the header.
        return with_widths(parameters, self._computed_widths()) if open_widths(parameters) else parameters

    def _cards(self, changed: Mapping[str, Any]) -> Cards:
        run_card = self._card_file.read_text(encoding="utf-8", errors="replace")
        parameters = self._parameters()
        if codes := open_widths(parameters):
            _command.say(
                f"mebridge: {self.param_card}: the widths of {', '.join(codes)} are Auto, in the header of the event file too; "
                "no matrix element needs them, but put numbers there if a shower does\n"
            )
        # What MG5aMC writes is whole; other cards are for readers that know no defaults, such as Pythia.
        added = _run_card.missing(self.run_card.given) if isinstance(self.output, Named) else {}
        whole = _run_card.changed(run_card, {**added, **self._changed, **changed})
        return Cards(self.output.version, self.output.steps, whole, parameters)


def _found(output: str, model: Path | None, folder: Path | None, pdf_data: Path | None) -> Output | Named:
    """An output, or a process by its name."""
    path = pathlib.Path(os.path.abspath(output))
    if ">" in output and not path.is_dir():
        return Named(output, model, folder or os.curdir, pdf_data)
    for name, given in (("model", model), ("folder", folder), ("pdf_data", pdf_data)):
        if given is not None:
            raise ValueError(f"{name} is for a process by its name, and {output} is taken for an output of MG5aMC")
    return Output(path)


def _beams(card: RunCard) -> tuple[int, int]:
    """PDG codes of the beams; 0 where the partons themselves are one."""
    where, lpp = card.source, (card["lpp1"], card["lpp2"])
    known = {0: 0, 1: _lhe.PROTON, **{entry: code for entry, (code, _) in _photons.BEAMS.items()}}
    kinds = abs(lpp[0]), abs(lpp[1])
    if not known.keys() >= set(kinds) or (kinds[0] != kinds[1] and 1 not in kinds):
        raise Error(
            f"{where}: lpp1 = {lpp[0]} and lpp2 = {lpp[1]} cannot be honoured; one has to be 1 (proton) or -1 (antiproton), "
            "and the other that, 0 (a parton), or 2, 3 or 4 (photons of protons, electrons, muons); or both are the same"
        )
    beams = tuple(known[kind] if entry >= 0 else -known[kind] for kind, entry in zip(kinds, lpp))
    for name in ("ebeam1", "ebeam2"):
        if not 0.0 < card[name] < math.inf:
            raise Error(f"{where}: {name} = {card[name]:g}; it must be an energy in GeV")
    choice = card["dynamical_scale_choice"]
    fixed = [card[name] for name in ("fixed_ren_scale", "fixed_fac_scale1", "fixed_fac_scale2")]
    if any(beams):
        if card["pdlabel1"] != card["pdlabel2"] and kinds[0] == kinds[1]:
            raise Error(f"{where}: pdlabel1 and pdlabel2 are not the same; give both one value")
        for beam, kind in enumerate(kinds):
            label = card[f"pdlabel{beam + 1}"]
            if kind in _photons.BEAMS and label != _photons.LABEL:
                raise Error(
                    f"{where}: pdlabel = {label} cannot be honoured for lpp{beam + 1} = {lpp[beam]}; set it to "
                    f"{_photons.LABEL}, which has photons of beams that are left whole, or lpp{beam + 1} to 0 for a beam "
                    "without radiation"
                )
            if kind == 1 and label != "lhapdf" and not label in _pdfdata.SETS:
                sets = ", ".join(_pdfdata.SETS)
                raise Error(f"{where}: pdlabel = {label} cannot be honoured; set it to lhapdf, or to one of {sets}")
        if fixed[1] != fixed[2]:
            raise Error(f"{where}: fixed_fac_scale1 and fixed_fac_scale2 are not the same; give both one value")
    if choice not in (-1, *DYNAMICAL) and not (fixed[0] and (not any(beams) or fixed[1])):
        raise Error(f"{where}: dynamical_scale_choice = {choice} cannot be honoured; set it to 1, 2, 3, 4 or -1")
    return beams[0], beams[1]


def _unpolarised(card: RunCard) -> None:
    """That the beams of a process by its name are not polarised by the run card."""
    for name in ("polbeam1", "polbeam2"):
        if card[name] != 0.0:
            raise Error(
                f"{card.source}: {name} = {card[name]:g}, and only matrix elements of an output of MG5aMC are polarised by a run "
                f"card; take one, or set {name} to 0"
            )


def _polarised(card: RunCard, own: pathlib.Path) -> None:
    """That beams are polarised as matrix elements have them, which take it from the run card of their output."""
    known = RunCard.read(own)
    for beam in "12":
        name = f"polbeam{beam}"
        if card[name] != known[name]:
            raise Error(
                f"{card.source}: {name} = {card[name]:g}, and {own} has {known[name]:g}: matrix elements are polarised as "
                "that file says; change it there"
            )
        if card[name] != 0.0 and card[f"lpp{beam}"] != 0:
            raise Error(f"{card.source}: {name} = {card[name]:g} needs lpp{beam} = 0; set {name} to 0")


def _with_coupling(densities: Densities) -> Coupling:
    if densities.coupling is None:
        raise Error(f"the set of {densities.file} has no table of alpha_s (AlphaS_Qs and AlphaS_Vals)")
    return densities.coupling


def _resonances(
    directory: Directory, element: _elements.Element, number: int, card: RunCard
) -> list[_cuts.Window]:
    """Masses of the particles of decay chains, which all diagrams have."""
    found: dict[int, _cuts.Window] = {}
    masses = _lines.line_masses(element, directory, number)
    count = len(directory.legs[0])
    for config in directory.configs:
        if not config.diagrams[number]:
            continue
        for line in config.lines:
            if line.spacelike or line.forced != 1:
                continue
            legs = tuple(leg for leg in range(count) if line.legs >> leg & 1)
            mass, width = masses(line)
            if width == 0.0:
                code = abs(line.codes[number])
                raise Error(
                    f"particle {code} (PDG code) of a decay chain has no width, which makes the cross section infinite; give it "
                    f"one in the parameter card (DECAY {code}), or take a model that has a parameter for it"
                )
            width = max(width, mass * card["small_width_treatment"])
            found[line.legs] = _cuts.resonance(legs, mass, card["bwcutoff"] * width)
    return list(found.values())


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


def _check_flavors(processes: Sequence[Sequence[int]], card: RunCard) -> None:
    """That jets of one process of a matrix element are jets of all of them."""
    for leg, codes in enumerate(zip(*processes)):
        quarks = {abs(code) for code in codes if abs(code) <= 6}
        if len({code <= card["maxjetflavor"] for code in quarks}) > 1:
            names = " ".join(map(str, processes[0]))
            raise Error(
                f"{card.source}: maxjetflavor = {card['maxjetflavor']} divides the flavours of leg {leg + 1} of {names} (PDG "
                f"codes), {', '.join(map(str, sorted(quarks)))}, into jets and others; matching (ickkw = 1) needs all of "
                f"them as jets: set maxjetflavor to {max(quarks)}"
            )


def _masses(element: _elements.Element) -> tuple[float, ...]:
    return _meta.masses(element.library, len(element.flavor["options"][0]))


def _radiates(element: _elements.Element, directories: Sequence[Directory]) -> bool:
    """Whether a gluon or a photon goes out beside a decay chain, so that |M|^2 is not gauge invariant off its mass shell:
    what decays does not radiate them off its products, and their polarisation vectors are those of a frame."""
    chained = any(line.forced == 1 for of in directories for config in of.configs for line in config.lines)
    return chained and bool({21, 22} & set(element.flavor["options"][0][2:]))


def _turning(element: _elements.Element, masses: Sequence[float]) -> bool:
    """Whether helicities depend on the frame: of a particle with a mass that has several."""
    several = [len(set(column)) > 1 for column in zip(*element.entry["helicities"])]
    return any(mass > 0.0 and more for mass, more in zip(masses[2:], several[2:]))


def _drawn(folder: pathlib.Path) -> int:
    """A seed: that of the run that goes on, or a new one."""
    with contextlib.suppress(OSError, ValueError, LookupError):
        return int(json.loads((folder / _STATE / "run.json").read_text())["asked"]["seed"])
    return secrets.randbelow(2**31 - 1) + 1


def _made_folder(folder: pathlib.Path, fresh: bool) -> None:
    """Makes the folder of a run, which no other run has taken meanwhile if it is a new one."""
    try:
        folder.mkdir(parents=True, exist_ok=not fresh)
    except FileExistsError:
        raise Error(f"another run has begun in {folder}; begin again") from None
    except OSError as error:
        raise Error(f"{folder} cannot be made: {error.strerror}") from None


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


def main(arguments: Sequence[str]) -> int:
    """``mebridge events``."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="mebridge events",
        description="Makes events of a directory that MG5aMC wrote, by its own cards, or of a process by a run card, "
        "without MadEvent: Events/run_NN/unweighted_events.lhe.gz with MG5aMC's banner. docs/run_card.md says what of a "
        "run card is honoured.",
    )
    said = "what 'output madevent' wrote, MG5aMC 2.9 to 3.7; or a process such as 'p p > w+; add process p p > w+ j'"
    parser.add_argument("output", metavar="OUTPUT|PROCESS", help=said)
    parser.add_argument("--nevents", help="how many events (otherwise the run card's)")
    parser.add_argument("--seed", help="of the random numbers (otherwise the run card's iseed; 0: drawn anew)")
    parser.add_argument("--backend", choices=["cpu", "cuda", "hip"], default="cpu")
    parser.add_argument("--threads", default="1", help="threads (1)")
    parser.add_argument("--workers", default="1", help="processes that make parts of the run (1)")
    parser.add_argument("--name", help="of the run (run_NN with the next number); one that was interrupted goes on")
    said = "parameter card for a further weight of each event, as of 'mebridge reweight'; several give several weights"
    parser.add_argument("--reweight", action="append", default=[], metavar="CARD[=NAME]", help=said)
    add_cards(parser)
    asked = parser.parse_args(arguments)
    try:
        run = by_cards(parser, asked)
        events = run.generate(
            None if asked.nevents is None else whole("--nevents", asked.nevents),
            None if asked.seed is None else whole("--seed", asked.seed),
            threads=whole("--threads", asked.threads),
            backend=asked.backend,
            name=asked.name,
            executor=spread(asked.workers),
            reweight=_benchmarks.of_options(asked.reweight),
            progress=not asked.quiet,
        )
    except (Error, ValueError, TypeError) as error:
        sys.stderr.write(f"mebridge: {error}\n")
        return 1
    except KeyboardInterrupt as stopped:
        sys.stderr.write("; ".join(["mebridge: interrupted", *filter(None, [str(stopped)])]) + "\n")
        return 130
    sys.stdout.write((events.folder / "summary.txt").read_text())
    sys.stdout.write(f"\n{events.output}\n")
    return 0


def add_cards(parser: argparse.ArgumentParser) -> None:
    """The options that :func:`by_cards` reads, and ``--quiet``."""
    parser.add_argument("--run-card", help="another one than Cards/run_card.dat")
    parser.add_argument("--param-card", help="another one than Cards/param_card.dat")
    parser.add_argument("--set", action="append", default=[], metavar="ENTRY=VALUE", help="an entry of the run card")
    said = "go on where Fortran of cuts or scales was changed"
    parser.add_argument("--changed-files", action="store_true", help=said)
    parser.add_argument("--model", help="of a process: a model file or a UFO folder (the Standard Model)")
    parser.add_argument("--folder", help="of a process, where Events is, or will be (the working directory)")
    said = "of a process, for pdlabel = nn23lo1 and others: an output, or the folder of MG5aMC"
    parser.add_argument("--pdf-data", metavar="FOLDER", help=said)
    parser.add_argument("--quiet", action="store_true", help="no lines about progress")


def by_cards(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> Run:
    """What makes events of an output with the cards that a command names."""
    changed = _pairs(asked.set)
    if asked.run_card is not None and changed:
        parser.error("--set is for the run card of the output, or for MG5aMC's defaults; change the file of --run-card")
    return Run(
        asked.output,
        run_card=asked.run_card or changed or None,
        param_card=asked.param_card,
        changed_files=asked.changed_files,
        model=asked.model,
        folder=asked.folder,
        pdf_data=asked.pdf_data,
    )


def spread(workers: str) -> Callable[[], Executor] | None:
    """What makes so many processes; none where one is enough."""
    import functools
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    count = _arguments.whole("--workers", whole("--workers", workers), 1, _arguments.MOST_THREADS)
    spawn = multiprocessing.get_context("spawn")
    return None if count == 1 else functools.partial(ProcessPoolExecutor, count, mp_context=spawn)


def _pairs(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair}: it must be ENTRY=VALUE")
        found[name.strip()] = value.strip()
    return found


def whole(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; it must be a whole number") from None
