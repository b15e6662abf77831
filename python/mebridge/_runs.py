"""Runs controlled by cards, for an MG5aMC output directory or a process given by name."""

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
    """Result of :meth:`Run.generate`."""

    folder: pathlib.Path
    """Folder of the run, ``Events/run_NN``."""


class Run:
    """A directory written by MG5aMC's ``output madevent`` (2.8.3 to 3.7, with or without the plugin) with its cards, or
    a process given by name with a run card.

    >>> run = mebridge.Run("pp_tt")                             # doctest: +SKIP
    >>> run.generate(nevents=10_000, seed=1).cross_section      # doctest: +SKIP
    505.9
    >>> run = mebridge.Run("p p > w+; add process p p > w+ j", run_card="run_card.dat")     # doctest: +SKIP

    Args:
        output: the directory, or the name of one or several processes.
        run_card: a run card, or a dict of entries to change. Default: ``Cards/run_card.dat``, or MG5aMC's defaults for
            a process given by name.
        param_card: a parameter card. Default: ``Cards/param_card.dat``, or the values of the model.
        changed_files: whether to continue if Fortran files for cuts or scales were edited. The edits are ignored.
        model: for a process given by name: a model file or a UFO folder, as for :class:`mebridge.Process`.
        complex_masses: whether to use the complex-mass scheme, as for :class:`mebridge.Process`.
        gauge: for a process given by name, as for :class:`mebridge.Process`.
        folder: for a process given by name: the parent folder of ``Events``. Default: the working directory.
        pdf_data: for a process given by name: an MG5aMC output or MG5aMC's folder, with the grids of ``nn23lo1`` and
            others.

    Raises:
        Error: if ``output`` is not such a directory, or a card has an entry that is not supported (docs/run_card.md).
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
        """The MG5aMC output, or the parent folder of ``Events``."""
        self.param_card: str = found["param_card"]
        """Text of the parameter card."""
        self.run_card: dict[str, Any] = {name: _value(value) for name, value in found["run_card"].items()}
        """All entries of the run card, including defaults of entries that the card omits."""
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
        color: str = "auto",
        sampler: str = "auto",
        executor: Executor | Callable[[], Executor] | None = None,
        systematics: Sequence[Path] | bool | None = None,
        reweight: _benchmarks.Cards = None,
        cut: _cut_function.Function | None = None,
        bias: _cut_function.Function | None = None,
        decays: Sequence[str] = (),
        progress: bool | Callable[[Progress], None] = False,
    ) -> RunEvents:
        """Generates events and writes ``Events/NAME/unweighted_events.lhe.gz`` with MG5aMC's banner.

        Args:
            nevents: number of events. Default: that of the run card.
            seed: seed of the random numbers, 0 for a random one. Default: ``iseed`` of the run card.
            threads: number of threads.
            backend: ``"cpu"``, ``"cuda"`` or ``"hip"``.
            name: name of the run; the name of an interrupted run resumes it. Default: the next ``run_NN``.
            precision: as for :func:`mebridge.generate_events`.
            overweight, color: as for :func:`mebridge.generate_events`.
            sampler: as for :func:`mebridge.generate_events`.
            executor: as for :func:`mebridge.generate_events`.
            systematics: as for :func:`mebridge.generate_events`. Default: the further weights set in the run card.
            reweight: parameter cards, or a dict from names of weights to cards. Events get these weights as from
                :func:`mebridge.reweight_events`, for the helicities of each event.
            cut: as for :func:`mebridge.generate_events`, in addition to the cuts of the run card.
            bias: as for :func:`mebridge.generate_events`, instead of ``bias_module``. The cross section in ``<init>``
                is the mean of the weights, as in MadEvent.
            decays: as for :func:`mebridge.generate_events`; written to ``unweighted_events_decayed.lhe.gz``.
            progress: as for :func:`mebridge.generate_events`.

        Returns:
            Cross section, event file and further results of the run.

        Raises:
            Error: if the run fails; finished parts are kept for a run that is resumed by name.
        """
        _events.check_progress(progress)
        lines = _decays.lines(decays)
        cards, names = _benchmarks.chosen(reweight)
        _arguments.one_of("backend", backend, {"cpu": "", "cuda": "", "hip": ""})
        if name is not None and (pathlib.Path(name).name != name or name == os.pardir):
            raise ValueError(f"the name of a run is {name!r}; it must be that of a folder in {self.folder / 'Events'}")
        spec = {
            **self._spec,
            "events": None if nevents is None else _arguments.whole("nevents", nevents, 1, _arguments.MAX_EVENTS),
            "seed": None if seed is None else _arguments.whole("seed", seed, 0, _events.MAX_SEED),
            **_events.judged(threads, precision, overweight, color, systematics),
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
        color: str = "auto",
        sampler: str = "auto",
        executor: Executor | Callable[[], Executor] | None = None,
        simd: str = _pack.SIMD,
        measured: SupportsIndex | float = _pack.MEASURED,
        systematics: Sequence[Path] | bool | None = None,
        cms: bool = False,
        progress: bool | Callable[[Progress], None] = False,
    ) -> pathlib.Path:
        """Surveys the process and packs it for jobs that generate events (docs/pack.md).

        Args:
            output: the pack: ``.tar``, ``.tar.gz`` or ``.tar.xz``.
            nevents: number of events of all jobs together, to which the survey is adapted.
            seed: seed of the survey. Default: ``iseed`` of the run card, or 1 if that is 0.
            threads: number of threads of the survey.
            precision: as for :func:`mebridge.generate_events`.
            overweight, color: as for :func:`mebridge.generate_events`.
            sampler: as for :func:`mebridge.generate_events`.
            executor: as for :meth:`generate`, for the survey.
            simd: as for :func:`mebridge.pack_events`.
            measured: as for :func:`mebridge.pack_events`.
            systematics: as for :meth:`generate`.
            cms: as for :func:`mebridge.pack_events`.
            progress: as for :func:`mebridge.generate_events`.

        Returns:
            The path of the pack.
        """
        spec = {
            **self._spec,
            "events": _arguments.whole("nevents", nevents, 1, _arguments.MAX_EVENTS),
            "seed": None if seed is None else _arguments.whole("seed", seed, 1, _events.MAX_SEED),
            **_events.judged(threads, precision, overweight, color, systematics),
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
        """Packs an existing run with its survey and its run card.

        Args:
            folder: ``Events/run_NN`` of an output or of a process given by name.
            output: the pack: ``.tar``, ``.tar.gz`` or ``.tar.xz``.
            changed_files: as for :class:`Run`.
            pdf_data: as for :class:`Run`.
            simd: as for :func:`mebridge.pack_events`.
            cms: as for :func:`mebridge.pack_events`.
            overweight: treatment of overweight events of jobs, as for :func:`mebridge.generate_events`. Default: that
                of the run.
            progress: as for :func:`mebridge.generate_events`.

        Returns:
            The path of the pack.
        """
        return _pack.of_run(folder, output, changed_files, pdf_data, simd, cms, overweight, progress)


def _entries(changed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns entries of a run card with values in the syntax of cards."""
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
    """Returns the value of an entry, with PDG codes as integer keys."""
    if isinstance(value, Mapping):
        return {int(key) if key.isdecimal() else key: one for key, one in value.items()}
    return value
