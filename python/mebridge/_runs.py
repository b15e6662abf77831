"""Runs by cards: of a directory that MG5aMC wrote, or of a process by its name."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, SupportsIndex

from . import _arguments, _benchmarks, _cut_function, _decays, _events, _pack, _scheme
from ._arguments import Path
from ._events import Events, Progress
from ._library import Error
from ._process import model_environment, model_path
from ._worker import Worker, show_message


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
        given = _arguments.text("output", output)
        default = os.environ.get("CUDACPP_RUNTIME_MODEL") or None
        named = model_path(_scheme.named(model or None, complex_masses, gauge, default=default))
        conditions = {
            "file": None
            if run_card is None or isinstance(run_card, Mapping)
            else _arguments.card("run_card", run_card, "the run card"),
            "changed": _entries(run_card) if isinstance(run_card, Mapping) else [],
            "changed_files": bool(changed_files),
            "pdf_data": None if pdf_data is None else _arguments.text("pdf_data", pdf_data),
            "folder": None if folder is None else _arguments.text("folder", folder),
        }
        by_name = ">" in given and not os.path.isdir(given)
        for name, value in (("model", named), ("folder", folder), ("pdf_data", pdf_data)):
            if value is not None and not by_name:
                raise ValueError(f"{name} is for a process by its name, and {given} is taken for an output of MG5aMC")
        self._environment = model_environment(named or default) if by_name else {}
        self._spec = {
            "process": given if by_name else os.path.abspath(given),
            "conditions": {"run_card": conditions},
            "model": named or default if by_name else None,
            "param_card": None if param_card is None else _arguments.card("param_card", param_card),
        }
        with Worker(self._environment) as worker:
            found = worker.call("check", spec=self._spec)
        for notice in found["notices"]:
            show_message(notice)
        self.folder = pathlib.Path(found["path"])
        """The output, or the folder where ``Events`` is."""
        self.param_card: str = found["param_card"]
        """The text of the parameter card."""
        self.run_card: dict[str, Any] = {name: _value(value) for name, value in found["run_card"].items()}
        """All entries of the run card, also those that it leaves out."""
        self._decays = found["decays"]

    def generate(
        self,
        nevents: SupportsIndex | float | None = None,
        seed: SupportsIndex | float | None = None,
        *,
        threads: SupportsIndex | float = 1,
        backend: str = "cpu",
        name: str | None = None,
        precision: float | None = None,
        overweight: float | str = _events.SHARE,
        sampler: str = "auto",
        executor: Executor | Callable[[], Executor] | None = None,
        systematics: Sequence[Path] | bool | None = None,
        reweight: _benchmarks.Cards = None,
        cut: _cut_function.Function | None = None,
        bias: _cut_function.Function | None = None,
        decays: Sequence[str] = (),
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
            bias: as there, in the place of ``bias_module``. ``<init>`` has what weights average to, as MadEvent's.
            decays: as there; they are in ``unweighted_events_decayed.lhe.gz``.
            progress: as there.
        """
        _events.check_progress(progress)
        lines = _decays.lines(decays)
        cards, names = _benchmarks.chosen(reweight)
        _arguments.one_of("backend", backend, {"cpu": "", "cuda": "", "hip": ""})
        if name is not None and (pathlib.Path(name).name != name or name == os.pardir):
            raise ValueError(f"the name of a run is {name!r}; it must be that of a folder in {self.folder / 'Events'}")
        spec = {
            **self._spec,
            "events": None if nevents is None else _arguments.whole("nevents", nevents, 1, _arguments.MOST_EVENTS),
            "seed": None if seed is None else _arguments.whole("seed", seed, 0, _events.LARGEST_SEED),
            **_events.judged(threads, precision, overweight, systematics),
        }
        functions = {"cut": cut, "bias": bias}
        order = _events.ordered(spec, self._environment, backend, functions, sampler, executor)
        if self._decays:
            for what, is_given, cure in (
                ("sampler", sampler not in ("auto", "vegas"), 'set it to "auto"'),
                ("executor", executor is not None, "leave it out"),
            ):
                if is_given:
                    raise Error(f"{what} is not for decays, whose events are made at once; {cure}")

        def benchmarks(message: Mapping[str, Any]) -> _benchmarks.Benchmarks:
            return _benchmarks.Benchmarks(cards, names, message["processes"], self._environment, spec["threads"])

        made = _events.make(order, {"cards": {"name": name}}, progress, benchmarks if cards else None)
        output, place = (pathlib.Path(made.found[name]) for name in ("output", "folder"))
        decayed = None
        if lines:
            decayed = _decays.of_run(output, lines, {**spec, "model": None, "param_card": None}, self._environment)
        return RunEvents(**made.fields(), output=output, decayed=decayed, _arrays=None, folder=place)

    def pack(
        self,
        output: Path,
        nevents: SupportsIndex | float = _pack.EVENTS,
        seed: SupportsIndex | float | None = None,
        *,
        threads: SupportsIndex | float = 1,
        precision: float | None = None,
        overweight: float | str = _events.SHARE,
        sampler: str = "auto",
        executor: Executor | Callable[[], Executor] | None = None,
        simd: str = _pack.SIMD,
        measured: SupportsIndex | float = _pack.MEASURED,
        systematics: Sequence[Path] | bool | None = None,
        cms: bool = False,
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
            cms: as of :func:`mebridge.pack_events`.
            progress: as of :func:`mebridge.generate_events`.
        """
        spec = {
            **self._spec,
            "events": _arguments.whole("nevents", nevents, 1, _arguments.MOST_EVENTS),
            "seed": None if seed is None else _arguments.whole("seed", seed, 1, _events.LARGEST_SEED),
            **_events.judged(threads, precision, overweight, systematics),
        }
        order = _events.ordered(spec, self._environment, "cpu", {}, sampler, executor)
        return _pack.write(order, output, simd, measured, cms, progress)

    @staticmethod
    def pack_run(
        folder: Path,
        output: Path,
        *,
        changed_files: bool = False,
        pdf_data: Path | None = None,
        simd: str = _pack.SIMD,
        cms: bool = False,
        overweight: str | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> pathlib.Path:
        """Packs what a run has surveyed, ``Events/run_NN`` of an output or of a process by its name, with the run card that
        it had.

        Args:
            overweight: what becomes of events of jobs that weigh more than the others, as of
                :func:`mebridge.generate_events`; otherwise what the run has.
        """
        return _pack.of_run(folder, output, changed_files, pdf_data, simd, cms, overweight, progress)


def _entries(changed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Entries of a run card with their values as cards have them."""
    found: dict[str, str] = {}
    for name, value in changed.items():
        if not isinstance(name, str):
            raise TypeError(f"an entry of a run card is {name!r}; its name must be a str")
        text = _as_card(value)
        if found.setdefault(name.lower(), text) != text:
            raise ValueError(
                f"{name.lower()} of the run card is to be {found[name.lower()]} and {text}; give one of them"
            )
    return list(found.items())


def _as_card(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {one}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(repr(one) if isinstance(one, str) else str(one) for one in value) + "]"
    return str(value)


def _value(value: Any) -> Any:
    """Of an entry; what is by PDG codes has these as numbers."""
    if isinstance(value, Mapping):
        return {int(key) if key.isdecimal() else key: one for key, one in value.items()}
    return value
