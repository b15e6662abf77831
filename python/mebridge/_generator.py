"""A survey and rounds of events by MadSpace, in the process that :mod:`mebridge._worker` starts."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import pathlib
import re
import resource
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import madspace
import numpy as np

from . import (
    _candidates,
    _cut_function,
    _cuts,
    _densities,
    _elements,
    _flavors,
    _flows,
    _gpu,
    _integrands,
    _lhe,
    _madnis,
    _meta,
    _named_cuts,
    _parton_beam,
    _polarised,
    _records,
    _refine,
    _single,
    _survey,
)
from . import _systematics
from ._densities import ANTI, Coupling, Densities
from ._library import Error
from ._scales import Scale
from ._scratch import check_room
from ._survey import GLOBALS, POINTS

# So many channels are surveyed at a time: what MadSpace holds of each is some 0.5 MB.
_AT_A_TIME = 256
# Files that are open besides those of channels: libraries, pipes, an event file.
_OTHER_FILES = 100
# How often a round is made that has too few events.
_ATTEMPTS = 4


@dataclass(frozen=True)
class _Place:
    """Where channels are evaluated."""

    name: str
    """Of files of its channels."""
    contexts: list[Any]
    built: _integrands.Integrands
    on_cpu: bool


class Generator:
    """Integrands of all channels, and what makes events of them.

    Args:
        log: what is told MadSpace's warnings.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        levels = madspace.Logger.LogLevel

        def handle(level: Any, message: str) -> None:
            if level in (levels.level_warning, levels.level_error):
                log(message)

        madspace.Logger.set_log_handler(handle)
        self._prepared: tuple[list[str], int] | None = None

    def prepare(self, devices: list[str], threads: int) -> None:
        """Begins with these devices, before there are matrix elements: a GPU takes its time."""
        if self._prepared != (devices, threads):
            if devices != ["cpu"]:
                _gpu.check(madspace, devices)
            self._contexts = [madspace.Context(_device(name), threads) for name in devices]
            self._prepared = devices, threads

    def build(
        self,
        libraries: list[str],
        devices: list[str],
        threads: int,
        pdf: str | None,
        coupling: tuple[list[float], list[float]],
        folder: str,
        scratch: str,
        alpha_qed: float = 0.0,
        refine: dict[str, Any] | None = None,
        cut: Sequence[str] | None = None,
        systematics: dict[str, Any] | None = None,
        scales: bool = False,
        energies: Sequence[float] | None = None,
        anti: Sequence[bool] = (False, False),
        other_beam: int | None = None,
        photons: int = 0,
        bwcutoff: float = _named_cuts.BW_CUTOFF,
        forced: Sequence[int] = (),
        excluded: Sequence[int] = (),
        host: Sequence[str] = (),
        polarised: bool = False,
        whole: Any = None,
        clustering: Any = None,
        by_propagators: bool = False,
        **asked: Any,
    ) -> list[tuple[list[int], int]]:
        """Makes the integrands.

        Args:
            libraries: of the matrix elements.
            host: of the same ones for a CPU, where that of a GPU shall have channels of few points.
            pdf: a member of a set of parton densities.
            coupling: scales and values of alpha_s.
            folder: where tables are written.
            scratch: a folder for files that are not kept.
            alpha_qed: of the events, where no library says another one.
            refine: what of a run card MadSpace cannot take.
            cut: a function of the momenta, and its name.
            systematics: what :meth:`mebridge._systematics.Systematics.asked` gives.
            energies: of the beams, where they are not the same; MadSpace has beams of the same energy.
            anti: whether the beams are antiprotons, with the densities of protons; or the other beam.
            other_beam: which one, 0 or 1, is no hadron, beside one that is.
            photons: what that beam is (the entry lpp) where it radiates a photon instead.
            scales: whether those of events are kept beside their records.
            bwcutoff: how many widths about their masses propagators are on their mass shells, and in event files.
            forced: PDG codes of particles of decay chains.
            excluded: PDG codes of particles that are nowhere on their mass shells.
            polarised: whether |M|^2 depends on the frame (:mod:`mebridge._polarised`).
            whole: not used here.
            clustering: not used here.
            by_propagators: not used here.
            asked: energy, scale, scale_factor, cuts, windows.

        Returns:
            Of each channel the numbers of its matrix elements, and how many points it needs at first.
        """
        self.prepare(devices, threads)
        elements = [element for library in libraries for element in _elements.read(pathlib.Path(library))]
        self._scratch, self._threads = pathlib.Path(scratch), threads
        self._on_host = [element for library in host for element in _elements.read(pathlib.Path(library))]
        if not _elements.same(elements, self._on_host):
            self._on_host = []
        on_cpu = devices == ["cpu"]
        compiled = contextlib.nullcontext() if on_cpu else _gpu.compiled(libraries, devices)
        # A GPU's are drawn on the host. The others have integrands that are changed as they are written.
        drawn = elements if on_cpu else self._on_host
        later = bool(drawn) and not polarised and other_beam is None and _flows.pay(elements, on_cpu)
        with _elements.what_is_read(elements, not later), compiled:
            self._built = _integrands.build(
                madspace,
                self._contexts,
                elements,
                densities=None if pdf is None else Densities.read(pdf),
                coupling=Coupling(*map(tuple, coupling)),
                folder=folder,
                anti=anti,
                other_beam=other_beam,
                photons=photons,
                threads=threads,
                host=self._on_host,
                **asked,
            )
        self._device = _Place("channel", self._contexts, self._built, on_cpu)
        self._host: _Place | None = None
        self._flows = None
        if later:
            context = self._contexts[0] if on_cpu else madspace.Context(madspace.cpu_device(), threads)
            self._flows = _flows.Flows(madspace, context, drawn)
        self._survey: pathlib.Path | None = None
        self._folder = pathlib.Path(folder)
        self._polarised = polarised and pdf is not None
        for element in elements if self._polarised else []:
            _polarised.check(element.entry)
        self._anti, self._parton_beam = (anti[0], anti[1]), None if photons else other_beam
        self._shifts = shifts = [ANTI if one else 0 for one in anti]
        # On a GPU a library takes its time to begin.
        known = _meta.alpha_qed([pathlib.Path(library) for library in libraries]) if devices == ["cpu"] else 0.0
        self._alpha_qed = known or alpha_qed
        first, second = energies or (asked["energy"] / 2.0,) * 2
        self._energies = first, second
        # Where beams are different, MadSpace has both orders as different processes.
        mirror = anti[0] == anti[1]
        self._mirrored = {i for i, element in enumerate(elements, 1) if element.flavor["mirror"] and mirror}
        legs = [_meta.masses(element.library, len(element.flavor["options"][0])) for element in elements]
        for element, masses in zip(elements, legs):
            _polarised.neutrinos(element.entry, masses)
        function = None if cut is None else _cut_function.Cut(_cut_function.unpacked(*cut), cut[1])
        if function is not None:
            function.try_(legs)
            refine = refine or _refine.unchanged(elements)
        self._refiner = None
        if refine is not None:
            self._refiner = _refine.Refiner(
                elements,
                refine["elements"],
                asked["scale"],
                asked["scale_factor"],
                refine["clustering"],
                refine.get("matching"),
                refine["scaled"],
                refine["card"],
                self._energies,
                self._built.density,
                self._built.alpha_s,
                self._parton_beam,
                self._mirrored,
                self._anti,
                function,
            )
        self._scale = Scale.asked(asked["scale"], asked["scale_factor"])
        self._elements, self._keep_scales = elements, scales
        built = self._built
        self._systematics = None
        if systematics is not None:
            self._systematics = _systematics.calculator(
                systematics, elements, self._energies, built.alpha_s, built.density, shifts
            )
        channels = [channel for element in elements for channel in element.channels]
        lines = [line for of in channels for line in zip(of["propagators"], of["masses"])]
        self._poles = {abs(code): abs(mass) for code, (mass, _) in lines}
        self._forced = set(map(abs, forced))
        # As MadEvent has it, these are no resonances but in decay chains.
        broad = {abs(code) for code, (mass, width) in lines if abs(width) >= _records.BROAD * abs(mass) > 0.0}
        decayed = {abs(of["propagators"][line]) for of in channels for line in of["on_shell_propagators"]}
        broad -= self._forced | decayed
        self._left_out = {*excluded, *broad, *(-code for code in broad)}
        # Channels whose grids are no longer as they were made.
        self._adapted: set[int] = set()
        self._completer = madspace.LHECompleter(self._built.bookkeeping, bwcutoff)
        # Behind a process of a particle alone (:mod:`mebridge._single`) MadSpace takes masses of others, a leg too early.
        alone = any(len(of) == _single.LEGS for of in legs)
        self._masses = dict(enumerate(legs, 1)) if alone else {}
        self._processes = _flavors.Processes(self._built.groups)
        _check_channels(len(self._built.channels))
        groups = [list(group.members) for group in self._built.groups]
        return [(groups[channel.group], channel.first) for channel in self._built.channels]

    def survey(
        self,
        part: str,
        channels: list[int],
        parts: list[tuple[int, int, int]],
        fresh: bool,
        events: int,
        overweight: float,
        seed: int,
    ) -> list[list[float]]:
        """Adapts the mappings of some channels; they are written into a folder.

        Args:
            channels: their numbers.
            parts: of each of them, what makes :class:`mebridge._survey.Parts`.
            fresh: whether their grids begin anew, as a trial, and not with what is loaded.
            events: of the whole run.

        Returns:
            Of each channel the points of all its parts, and what :meth:`round` gives, of the last part.
        """
        folder = pathlib.Path(part)
        if fresh:
            self._begin(channels)
        self._adapted |= set(channels)
        of = {number: _survey.Parts(*one) for number, one in zip(channels, parts)}
        at = {number: self._place(number, one.largest).name for number, one in of.items()}
        found: dict[int, _Found] = {}
        with self._working(events, folder):
            # What a GPU writes of all channels is written over by what the host writes of its own.
            for place in self._places():
                some = {number: one for number, one in of.items() if at[number] == place.name}
                if some:
                    config, kept = _config(events, overweight), None if fresh else folder
                    found |= self._adapt(place, some, config, seed, kept)
                    self._save(place, list(some), folder)
        _check(folder)
        return [[found[number].points, *found[number].row] for number in channels]

    def _place(self, channel: int, points: float) -> _Place:
        """Where so many points of a channel are sooner ready."""
        diagrams = self._built.channels[channel].diagrams
        if not self._on_host or not _survey.on_host(points, diagrams, self._threads):
            return self._device
        if self._host is None:
            context = madspace.Context(madspace.cpu_device(), self._threads)
            with _elements.what_is_read(self._on_host, self._flows is None):
                built = self._built.elsewhere(madspace, [context], self._on_host)
            self._host = _Place("host", [context], built, True)
            if self._survey is not None:
                self._give([context])
        return self._host

    def _places(self) -> list[_Place]:
        return [self._device] if self._host is None else [self._device, self._host]

    def _globals(self, channels: Sequence[int]) -> set[str]:
        """Names of the grids of these channels."""
        wanted = {self._built.channels[channel].name for channel in channels}
        names = self._contexts[0].global_names()
        return {name for name in names if ".".join(name.split(".")[:2]) in wanted}

    def _begin(self, channels: Sequence[int]) -> None:
        """Grids of these channels as they are at first."""
        again = [channel for channel in channels if channel in self._adapted]
        names = self._globals(again)
        for place in self._places():
            for context in place.contexts:
                for name in names:
                    context.delete_global(name)
            _integrands.begin(madspace, place.contexts, [place.built.channels[channel] for channel in again])

    def _save(self, place: _Place, channels: Sequence[int], folder: pathlib.Path) -> None:
        """Writes the grids of these channels, and no others; on a GPU those of all."""
        some = place.contexts[0]
        # MadSpace 0.2.1 copies from a CPU to a GPU, and ends the process where it is to copy back.
        if place.on_cpu:
            some, names = madspace.Context(madspace.cpu_device(), 1), self._globals(channels)
            some.copy_globals_from(place.contexts[0])
            for name in set(some.global_names()) - names:
                some.delete_global(name)
        some.save_globals(str(folder / GLOBALS))

    def train(self, part: str, events: int, overweight: float, seed: int) -> dict[str, Any]:
        """Trains networks in the place of the grids that are loaded, for so many events; as :meth:`survey` otherwise.

        A channel keeps its grid where its network is worse: a training may have diverged.
        """
        folder, channels = pathlib.Path(part), self._built.channels
        if self._parton_beam is not None or any(channel.mass is not None for channel in channels):
            raise Error('no network draws a particle that goes out alone, nor e- p; give sampler="vegas"')
        if self._polarised:
            raise Error(
                "no network draws polarised particles, nor gluons and photons beside a decay chain; give "
                'sampler="vegas"'
            )
        assert self._survey is not None
        surveyed = json.loads((self._survey / POINTS).read_text())
        of_grids = surveyed["channels"]
        config = _config(events, overweight)
        with self._working(events, folder):
            trained = _madnis.train(madspace, self._contexts[0], channels, seed, self._threads, events, self._device.on_cpu)
            found = [_Found(0, [0, 0.0, 0.0, 0, 0.0])] * len(channels)
            if trained:
                for other in self._contexts[1:]:
                    other.copy_globals_from(self._contexts[0])
                flows = [_madnis.flow(madspace, channel) for channel in channels]
                last = [_survey.last(channel.first) for channel in channels]
                adapted = self._adapt(self._device, dict(enumerate(last)), config, seed, folder, flows=flows)
                found = [adapted[i] for i in range(len(channels))]
            worse = [i for i, of in enumerate(of_grids) if _deviation(found[i].row) >= _deviation(of)]
            for i in worse:
                found[i] = _Found(found[i].points, of_grids[i])
                shutil.copyfile(self._kept(self._device, i), folder / f"channel{i}.json")
            # What is taken is what has the smaller deviation, and therefore does not count.
            written = self._write(folder, found, trial=surveyed["trial"], measured=surveyed["measured"], grids=len(worse))
        _check(folder)
        return written

    def _adapt(
        self,
        place: _Place,
        parts: Mapping[int, _survey.Parts],
        config: Any,
        seed: int,
        folder: pathlib.Path | None,
        flows: Sequence[Any] | None = None,
    ) -> dict[int, _Found]:
        """Surveys channels with their grids, which follow, or with networks, which stay as they are.

        Args:
            parts: of each channel, by its number.
            folder: for what rounds begin with.
        """
        found: dict[int, _Found] = {}
        for count in sorted({of.count for of in parts.values()}):
            numbers = [i for i, of in parts.items() if of.count == count]
            config.survey_min_iters = config.survey_max_iters = count
            for first in range(0, len(numbers), _AT_A_TIME):
                some = numbers[first : first + _AT_A_TIME]
                generators = []
                for i in some:
                    config.start_batch_size, config.max_batch_size = parts[i].points, parts[i].most
                    generators.append(self._make(place, i, config, None if flows is None else flows[i]))
                # Random numbers are those of a channel's place among these.
                random = _derived(seed, some[0])
                generator = madspace.EventGenerator(place.contexts, generators, random, None, config)
                generator.survey()
                if folder is not None:
                    for i, one in zip(some, generators):
                        one.save(str(folder / f"{place.name}{i}.json"))
                status = generator.channel_status()
                found |= {i: _Found(part.count, row) for i, part, row in zip(some, status, _rows(generator))}
        return found

    def _make(self, place: _Place, i: int, config: Any, flow: Any | None = None) -> Any:
        """What makes points of a channel, and adapts its grid, or what is in the grid's place."""
        channel = place.built.channels[i]
        adaptive = channel.grid(madspace) if flow is None else flow
        integrand = channel.integrand(madspace, adaptive, channel.chosen_flavors(madspace))
        made = madspace.ChannelEventGenerator(
            place.contexts, integrand, *self._files(i), config, channel.group, str(i), None
        )
        if channel.mass is None and self._parton_beam is None and not self._polarised:
            return made
        path = self._scratch / f"{place.name}{i}.json"
        made.save(str(path))
        # It removes its files.
        del made
        if channel.mass is not None:
            _single.rewrite(path, channel.mass)
        elif self._polarised:
            _polarised.rewrite(path)
        if self._parton_beam is not None:
            _parton_beam.rewrite(path, self._parton_beam)
        return madspace.ChannelEventGenerator.load(str(path), place.contexts, *self._files(i), config)

    def _kept(self, place: _Place, i: int) -> pathlib.Path:
        """The file of what makes points of a channel there, with the mapping that it has after the survey."""
        name = f"{place.name}{i}.json"
        assert self._survey is not None
        if (self._survey / name).exists():
            return self._survey / name
        # The survey had it elsewhere. Grids have names, and are not in the file.
        path = self._folder / name
        if not path.exists():
            self._make(place, i, _config(1, 0.0)).save(str(path))
        return path

    def _write(self, folder: pathlib.Path, found: Sequence[_Found], **more: Any) -> dict[str, Any]:
        """Writes what came of a survey of all channels."""
        written = {"points": sum(one.points for one in found), "channels": [one.row for one in found], **more}
        self._contexts[0].save_globals(str(folder / GLOBALS))
        (folder / POINTS).write_text(json.dumps(written))
        return written

    def load(self, survey: str) -> None:
        """Takes the mappings that a survey adapted, as it wrote them."""
        self._survey = pathlib.Path(survey)
        named = (re.match(r"element\d+\.channel\d+", path.name) for path in (self._survey / GLOBALS).iterdir())
        if not {name[0] for name in named if name} <= {channel.name for channel in self._built.channels}:
            raise Error(
                "the survey has other channels than this machine finds in the process; they are chosen by points that "
                "pass the cuts, which rounding may decide: make the survey again, on machines of one kind"
            )
        for place in self._places():
            self._give(place.contexts)
        self._adapted |= set(range(len(self._built.channels)))
        self._tried = False

    def _give(self, contexts: Sequence[Any]) -> None:
        """Gives contexts what a survey, or a training, wrote."""
        assert self._survey is not None
        surveyed = madspace.Context(madspace.cpu_device(), 1)
        surveyed.load_globals(str(self._survey / GLOBALS))
        for context in contexts:
            context.copy_globals_from(surveyed)

    def round(self, part: str, events: int, overweight: float, seed: int) -> dict[str, Any]:
        """Makes so many events from the survey on, in a file `events.npy` of a folder, their further weights and scales
        beside.

        Returns:
            How many events there are, what :func:`mebridge._lhe.weights` says of them, and of each channel the points,
            their mean in pb and its error, how many of them passed the cuts, and how many became events;
            ``measured``: the first three of the points whose number was known before; ``refined``: what
            :meth:`mebridge._refine.Refiner.refine` gives; ``cut``: :attr:`mebridge._refine.Refiner.counts`.
        """
        output = pathlib.Path(part) / "events.npy"
        if self._refiner is None:
            made = self._made(output, events, overweight, seed)
        else:
            made = self._refined(self._refiner, output, events, overweight, seed)
        wanted = self._keep_scales or self._systematics is not None
        if wanted and self._refiner is None:
            np.save(_records.scales(output), _refine.scales(output, events, self._elements, self._scale))
        found = _records.change(output, events, *self._finished())
        weights = dataclasses.astuple(_lhe.weights(output, found))
        if wanted:
            records, scales = np.array(_records.read(output, events)), np.load(_records.scales(output))
            if self._systematics is not None:
                matched = np.load(_records.matched(output)) if _records.matched(output).exists() else None
                np.save(_records.ratios(output), self._systematics.ratios(records, scales, matched))
            if self._keep_scales:
                of, weight = scales, 1.0
                if _records.matched(output).exists():
                    matched = np.load(_records.matched(output))
                    of, weight = np.column_stack([scales[:, 0], matched["q"][:, :, 0]]), matched["weight"]
                factors = weight * _systematics.densities(
                    self._built.density, records, of, self._energies, self._shifts
                )
                np.save(_records.scales(output), np.column_stack([scales, factors]))
        if not self._keep_scales:
            _records.scales(output).unlink(missing_ok=True)
        return {**made, "events": events, "weights": weights}

    def _finished(self) -> list[Callable[[_records.Slice], None]]:
        """What MadSpace's records go through to be those of an event file."""
        steps = [
            lambda of: _records.set_masses(of, self._masses),
            lambda of: _records.leave_out(of, self._left_out),
            lambda of: _records.single_out(of, self._poles, self._forced),
            # Not before: until then legs are in the order of their process.
            lambda of: _records.orient(of, self._mirrored),
            lambda of: _records.couple(of, self._alpha_qed),
        ]
        if any(self._anti):
            steps.append(lambda of: _records.conjugate(of, self._anti))
        if self._energies[0] != self._energies[1]:
            rapidity = _cuts.rapidity(self._energies)
            steps.append(lambda of: _records.boost(of, rapidity))
        return steps

    def _refined(
        self, refiner: _refine.Refiner, output: pathlib.Path, events: int, overweight: float, seed: int
    ) -> dict[str, Any]:
        """A round of events by the run card."""
        if not self._tried:
            # The same for all rounds, wherever they are made.
            trial, random = self._scratch / "trial.npy", _derived(0, 0)
            self._made(trial, refiner.trial, 0.01, random)
            refiner.try_(trial, random, 0.01)
            self._tried = True
        wanted = refiner.needed(events)
        for attempt in range(_ATTEMPTS):
            made = self._made(output, wanted, overweight, _derived(seed, attempt))
            refined = refiner.refine(output, wanted, events, _derived(seed, -1 - attempt))
            if refined is not None:
                return {**made, "refined": refined, "cut": refiner.counts}
            wanted *= 2
        raise Error(f"too few of {wanted // 2} events are left by the run card for {events}")

    def _made(self, output: pathlib.Path, events: int, overweight: float, seed: int) -> dict[str, Any]:
        """A round of MadSpace."""
        assert self._survey is not None
        surveyed = json.loads((self._survey / POINTS).read_text())
        if all(row[1] == 0.0 for row in surveyed["channels"]):
            # MadSpace would draw points without an end.
            raise Error(
                "each point of the survey has the weight 0: are densities 0 for what comes in, or couplings of the "
                "process?"
            )
        # A network is where it was trained.
        fixed = "grids" in surveyed
        channels = []
        for i, need in enumerate(_survey.needed(surveyed["channels"], events)):
            place = self._device if fixed else self._place(i, need)
            points = _survey.planned(need, "cpu" if self._device.on_cpu else "cuda", place.on_cpu)
            config = _config(events, overweight, **_survey.calls(points if math.isfinite(need) else need))
            config.start_batch_size = config.max_batch_size = points
            if place is self._host and not self._device.on_cpu:
                # MadSpace divides what is planned by the calls of the GPU, for all channels.
                config.cpu_batch_size = points
            # A channel has a context for each of the generator's, of which it takes the one with the same number.
            contexts = place.contexts if place is self._device else place.contexts * len(self._contexts)
            name = str(self._kept(place, i))
            channels.append(madspace.ChannelEventGenerator.load(name, contexts, *self._files(i), config))
        config = _config(events, overweight, survey_min_iters=1, survey_max_iters=1)
        generator = madspace.EventGenerator(self._contexts, channels, seed, None, config)
        with self._working(events, output.parent):
            # A channel that was loaded has no grid that would follow: a part of a survey is so many points of it, whose
            # events stay, and what comes then are more of them until there are enough.
            generator.survey()
            measured = [row[:3] for row in _rows(generator)]
            generator.generate()
            status = generator.status()
            if not status.count_unweighted >= events or not 0.0 < abs(status.mean) < math.inf:
                raise Error(
                    f"MadSpace made {status.count_unweighted:.0f} of {events} events, at {status.mean} pb; "
                    "do the cuts leave any?"
                )
            drawn = [] if self._flows is None else self._draw(self._flows, generator, seed)
            generator.combine_to_lhe_npy(str(output), self._completer)
            if any(path.stat().st_size != size for path, size in drawn):
                raise Error("MadSpace wrote events after their colour flows were drawn; report this with its version")
        found = {"measured": measured, "channels": _rows(generator)}
        return found | {"drawn": self._sorted(output, events)} if self._processes.merged else found

    def _draw(self, flows: _flows.Flows, generator: Any, seed: int) -> list[tuple[pathlib.Path, int]]:
        """Gives the events of all channels their flows and diagrams; their files, and how many bytes these have."""
        # MadSpace has the last events of a channel in memory until it reads its file.
        written = self._scratch / "written.npy"
        generator.combine_to_compact_npy(str(written))
        written.unlink()
        files = [
            (pathlib.Path(self._files(i)[0]), channel, self._built.groups[channel.group].members[0])
            for i, channel in enumerate(self._built.channels)
        ]
        flows.draw(files, _derived(seed, 0))
        return [(path, path.stat().st_size) for path, *_ in files]

    def _sorted(self, output: pathlib.Path, events: int) -> dict[str, list[float]]:
        """Gives records the numbers of their matrix elements, where MadSpace wrote those of groups.

        Returns:
            By the number of the matrix element, as text: its events, and the sums of their weights and of the squares.
        """
        sums = np.zeros((len(self._elements), 3))

        def step(of: _records.Slice) -> None:
            groups = of.records["process_id"] - 1
            elements = self._processes.elements(groups, of.records["particles"])
            of.records["process_id"] = elements + 1
            weights = of.records["weight"]
            for column, power in enumerate((np.ones_like(weights), weights, weights**2)):
                sums[:, column] += np.bincount(elements, power, minlength=len(sums))

        _records.change(output, events, step)
        return {str(number): row.tolist() for number, row in enumerate(sums) if row[0]}

    def _files(self, channel: int) -> tuple[str, str]:
        """Names for the events and the weights of a channel; MadSpace removes the files with it."""
        return str(self._scratch / f"events{channel}.npy"), str(self._scratch / f"weights{channel}.npy")

    @contextlib.contextmanager
    def _working(self, events: int, folder: pathlib.Path) -> Iterator[None]:
        """While MadSpace works: its errors are ours. It does not look whether files can be written."""
        for place in (self._scratch, folder):
            check_room(place, events)
        try:
            yield
        except RuntimeError as error:
            raise Error(f"MadSpace ended the run: {error}") from error


@dataclass(frozen=True)
class _Found:
    """What a survey found of a channel."""

    points: int
    """In all of its parts."""
    row: list[float]
    """What :meth:`Generator.round` gives, of the last part."""


def _check_channels(channels: int) -> None:
    """That MadSpace can have so many channels, and all of their files open."""
    if channels > _candidates.MOST:
        raise Error(
            f"the process has {channels} channels of which none can be left out, and MadSpace 0.2.1 makes events of at most "
            f"{_candidates.MOST}; make those of its parts one after the other (such as u u~ > e+ e- j j j j)"
        )
    count = 2 * channels
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != resource.RLIM_INFINITY and count + _OTHER_FILES > allowed:
        raise Error(
            f"the channels of the process have {count} files open, and this system allows {allowed}; raise that "
            f"(ulimit -n {count + _OTHER_FILES}), or ask for a part of the process"
        )


def _derived(seed: int, number: int) -> int:
    """Another seed for each number."""
    return int.from_bytes(hashlib.sha256(f"{seed} {number}".encode()).digest()[:7], "big")


def _deviation(row: Sequence[float]) -> float:
    """Of the weights of a channel, in units of its cross section; infinite where it cannot be told."""
    count, mean, error = row[:3]
    found = error * math.sqrt(count) / abs(mean) if mean else math.inf
    return found if math.isfinite(found) else math.inf


def _rows(generator: Any) -> list[list[float]]:
    """Of each channel. In a survey each part begins anew, as the mapping is another one."""
    return [
        [part.count_opt, part.mean, part.error, part.count_after_cuts_opt, part.count_unweighted]
        for part in generator.channel_status()
    ]


def _check(survey: pathlib.Path) -> None:
    """That all files of a survey are whole."""
    for path in survey.rglob("*"):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".npy":
                np.load(path)
        except (ValueError, EOFError):
            raise Error(f"MadSpace did not write all of {path}; is the disk full?") from None


def _config(events: int, overweight: float, **more: float) -> Any:
    """How MadSpace makes events."""
    config = madspace.GeneratorConfig()
    for name, value in (_survey.settings(events, overweight) | more).items():
        setattr(config, name, value)
    config.verbosity = madspace.Verbosity.silent
    return config


def _device(name: str) -> Any:
    kind, _, number = name.partition(":")
    if kind == "cpu":
        return madspace.cpu_device()
    return {"cuda": madspace.cuda_device, "hip": madspace.hip_device}[kind](int(number or 0))
