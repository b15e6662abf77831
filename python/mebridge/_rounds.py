"""A survey, and rounds of events: what does not depend on each other is given to workers together."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _command, _survey
from ._state import State
from ._survey import GLOBALS, POINTS
from ._tasks import Here, Local, Spread, Task

# Into how many rounds a run is divided, and how many events each has at least: in each MadSpace finds anew how large
# weights are, and every channel has a thousand points. At most as many as memory has room for: larger runs have more
# rounds, and work for more machines. On a GPU a round of few events takes as long as one of many.
_ROUNDS = 20
_LEAST = {"cpu": 5000, "cuda": 250_000, "hip": 250_000}
_MOST = {"cpu": 50_000, "cuda": 250_000, "hip": 250_000}
# Processes at most, and cores for each.
_WORKERS, _CORES = 4, 4


def sizes(events: int, backend: str) -> list[int]:
    """Events of each round, on a CPU or a GPU."""
    count = max(1, min(_ROUNDS, events // _LEAST[backend]), -(-events // _MOST[backend]))
    return [events // count + (i < events % count) for i in range(count)]


def workers(rounds: int, backend: str, threads: int) -> int:
    """How many processes of MadSpace make so many rounds on this machine, with so many threads on a CPU. A GPU is done with
    a round's points long before a core is done with their events; threads of a CPU wait for the one that makes channels
    and puts events together."""
    cores = threads if backend == "cpu" else len(os.sched_getaffinity(0))
    return max(1, min(_WORKERS, rounds // 2, cores // _CORES))


class Rounds:
    """A survey, and rounds of events. Each round begins where the survey ended, with random numbers of its own, so that
    it can be made again, anywhere.

    Args:
        tasks: what does the work.
        elements: of each channel the numbers of its matrix elements, and how many points it needs at first.
        seed: what random numbers follow from.
        backend: "cpu", "cuda" or "hip".
        folder: for what is not kept.
    """

    def __init__(
        self,
        tasks: Here | Local | Spread,
        state: State,
        elements: Sequence[tuple[Sequence[int], int]],
        events: int,
        seed: int | str,
        overweight: float,
        backend: str,
        folder: str,
    ) -> None:
        self._tasks, self._state = tasks, state
        self.elements: Sequence[tuple[Sequence[int], int]] = elements
        self._events, self._seed, self._overweight = events, seed, overweight
        self._backend, self._folder, self._survey = backend, folder, pathlib.Path()
        # Of each channel: what the trial found, and what counts of the survey.
        self._trial, self._surveyed = np.zeros((len(elements), 5)), np.zeros((len(elements), 3))
        # Of other runs from the same survey on.
        self._before: list[dict[str, Any]] = []
        # A run that goes on with more events keeps the rounds that it has.
        begun = state.sizes
        state.plan([*begun, *sizes(events - sum(begun), backend)] if events > sum(begun) else begun)

    def _random(self, part: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._seed} {part}".encode()).digest()[:7], "big")

    def survey(self, precision: float | None) -> None:
        """Adapts the mappings, unless that is done."""
        if self._state.kept("survey") is None:
            part = self._state.part("survey")
            self._adapt(part, precision)
            self._state.keep("survey", part)
        self._load("survey")

    def _adapt(self, part: pathlib.Path, precision: float | None) -> None:
        """A trial of each channel, and what is needed after that; it is written into a folder."""
        firsts = [first for _, first in self.elements]
        seed = self._random("survey")
        trials = self._surveys("survey", [_survey.trial(first) for first in firsts], seed, [None] * len(firsts))
        rows = [row for _, row, _ in trials]
        needs = _survey.needed(rows, self._events)
        parts = [_survey.further(*one, precision) for one in zip(firsts, rows, needs)]
        before = [folder for *_, folder in trials]
        found = self._surveys("rest of the survey", parts, seed + 1, before)
        (part / GLOBALS).mkdir()
        for folder in dict.fromkeys(folder for *_, folder in found):
            for path in folder.rglob("*"):
                if path.is_file():
                    # The state may lie on another disk than what is temporary.
                    shutil.move(path, part / path.relative_to(folder))
        points = sum(count for count, *_ in trials) + sum(count for count, *_ in found)
        last = [row for _, row, _ in found]
        written = {"points": points, "trial": rows, "measured": [row[:3] for row in last], "channels": last}
        (part / POINTS).write_text(json.dumps(written))

    def _surveys(
        self,
        said: str,
        parts: Sequence[_survey.Parts],
        seed: int,
        before: Sequence[pathlib.Path | None],
    ) -> list[tuple[float, list[float], pathlib.Path]]:
        """Of each channel its points, what the last part of them found, and the folder of its mappings."""
        tasks = []
        together = _survey.TOGETHER if self._backend == "cpu" else len(parts)
        for first in range(0, len(parts), together):
            channels = list(range(len(parts)))[first : first + together]
            arguments = {
                "channels": channels,
                "parts": [dataclasses.astuple(parts[i]) for i in channels],
                "fresh": before[first] is None,
                "events": self._events,
                "overweight": self._overweight,
                "seed": seed,
            }
            name = f"{said} of channels {channels[0]} to {channels[-1]}"
            tasks.append(Task("survey", arguments, self._temporary, name, before[first]))
        found: dict[int, tuple[float, list[float], pathlib.Path]] = {}
        with contextlib.closing(self._tasks.run(tasks)) as done:
            for number, rows, folder in done:
                for i, (count, *row) in zip(tasks[number].arguments["channels"], rows):
                    found[i] = count, row, folder
        return [found[i] for i in range(len(parts))]

    def _temporary(self) -> pathlib.Path:
        return pathlib.Path(tempfile.mkdtemp(dir=self._folder))

    def train(self) -> None:
        """Trains networks from what the survey found, unless that is done."""
        if self._state.kept("train") is None:
            asked = {"events": self._events, "overweight": self._overweight, "seed": self._random("train")}
            task = Task("train", asked, lambda: self._state.part("train"), "the training", self._survey)
            ((_, _, part),) = self._tasks.run([task])
            self._state.keep("train", part)
        found = self._load("train")
        if grids := found.get("grids"):
            channels = len(found["channels"])
            _command.say(f"mebridge: {grids} of {channels} channels keep their grids: no network is better\n")

    @property
    def surveyed(self) -> pathlib.Path:
        """The folder of the mappings that rounds begin with."""
        return self._survey

    def _load(self, name: str) -> dict[str, Any]:
        """Takes what a survey, or a training, of this run wrote."""
        folder = self._state.kept(name)
        assert folder is not None
        return self.take(folder)

    def take(self, folder: pathlib.Path) -> dict[str, Any]:
        """Begins rounds where the survey, or the training, of this folder ended."""
        self._survey = folder
        found: dict[str, Any] = json.loads((folder / POINTS).read_text())
        self._trial, self._surveyed = (np.array(found[name], dtype=float) for name in ("trial", "measured"))
        return found

    def count(self, rounds: Sequence[Mapping[str, Any]]) -> None:
        """Takes points of other rounds from the same survey on, with other random numbers, for the cross section."""
        self._before = [{**one, "measured": np.array(one["measured"], dtype=float)} for one in rounds]

    def counted(self) -> list[dict[str, Any]]:
        """What :meth:`count` takes of the rounds of this run, as JSON."""
        kept = ("events", "measured", "drawn", "refined")
        rounds = [self._state.rounds[number] for number in sorted(self._state.rounds)]
        return [{name: _plain(one[name]) for name in kept if name in one} for one in rounds]

    def _counting(self) -> list[dict[str, Any]]:
        """What counts for the cross section besides the survey, in the order of their numbers, whichever came first."""
        return [*self._before, *(self._state.rounds[number] for number in sorted(self._state.rounds))]

    def run(self, report: Callable[[], None]) -> None:
        """Makes the rounds that are not done."""
        numbers = [number for number in range(len(self._state.sizes)) if number not in self._state.rounds]
        tasks = [self._round(number) for number in numbers]
        with contextlib.closing(self._tasks.run(tasks)) as made:
            for i, done, part in made:
                self._state.keep_round(numbers[i], part, done)
                report()

    def _round(self, number: int) -> Task:
        asked = {
            "events": self._state.sizes[number],
            "overweight": self._overweight,
            "seed": self._random(f"round {number}"),
        }
        return Task("round", asked, lambda: self._state.part(f"round{number:04}"), f"round {number}", self._survey)

    def cross_section(self, element: int | None = None) -> tuple[float, float]:
        """In pb, with its error; of one matrix element or all. It is that of the survey's last part and of those points
        of the rounds that were planned before they were drawn.
        """
        if not self._counting():
            return math.nan, math.nan
        groups = list(dict.fromkeys(tuple(of) for of, _ in self.elements))
        of = np.array([groups.index(tuple(members)) for members, _ in self.elements])
        values, variances = self._of_channels()
        total, square = [], []
        for number, members in enumerate(groups):
            if element is not None and element not in members:
                continue
            value, variance = math.fsum(values[of == number]), math.fsum(variances[of == number])
            if element is not None and len(members) > 1:
                share, spread = self._share(element, members)
                value, variance = value * share, variance * share**2 + value**2 * spread
                members = (element,)
            factor, spread = self._refined(members)
            total.append(value * factor)
            square.append(variance * factor**2 + value**2 * spread)
        return math.fsum(total), math.sqrt(math.fsum(square))

    def _share(self, element: int, members: Sequence[int]) -> tuple[float, float]:
        """Of a matrix element in the cross section of those that share its channels, by events; and its variance."""
        every = self._counting()
        rows = [[one["drawn"].get(str(number), (0.0,) * 3) for one in every if "drawn" in one] for number in members]
        counts, sums, squares = np.array([[math.fsum(of) for of in zip(*some)] or [0.0] * 3 for some in rows]).T
        own, total = list(members).index(element), math.fsum(sums)
        if not total:
            return 0.0, 0.0
        if not counts[own]:
            # None is as probable where one is expected.
            return 0.0, math.fsum(squares) / math.fsum(counts) / total**2
        share = float(sums[own]) / total
        others = math.fsum(squares) - float(squares[own])
        return share, (float(squares[own]) * (1.0 - share) ** 2 + others * share**2) / total**2

    def _of_channels(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The cross section of MadSpace's points, and its variance."""
        counted = [(self._surveyed[:, 0], self._surveyed)]
        # A round counts by the points that it would have by the trial. Those that it has follow from the last part of the
        # survey: one that came out low would have fewer beside it, and count for more.
        counted += [(self._weights(one["events"]), one["measured"]) for one in self._counting()]
        weights, sums, squares = np.zeros((3, len(self.elements)))
        for weight, measured in counted:
            _, mean, error = measured.T
            weights += weight
            sums += weight * mean
            squares += (weight * error) ** 2
        return sums / weights, squares / weights**2

    def _weights(self, events: int) -> np.ndarray[Any, Any]:
        needs = _survey.needed(self._trial.tolist(), events)
        return np.array([_survey.planned(need, self._backend, self._backend == "cpu") for need in needs], dtype=float)

    def _refined(self, members: Sequence[int]) -> tuple[float, float]:
        """By what the run card changes the cross section of matrix elements together, and the variance of that."""
        rounds = [one["refined"] for one in self._counting() if "refined" in one]
        there = [one[str(number)] for one in rounds for number in members]
        if not there:
            return 1.0, 0.0
        count, before, after, squares = (math.fsum(of[i] for of in there) for i in range(4))
        if not count > 1 or not before > 0.0:
            return 1.0, 0.0
        mean = after / before
        return mean, max(squares / count - mean**2, 0.0) / count


class EngineRounds(Rounds):
    """The same by the library's own engine, which surveys a run at once and says which channels stay."""

    def _adapt(self, part: pathlib.Path, precision: float | None) -> None:
        asked = {"events": self._events, "overweight": self._overweight, "precision": precision}
        task = Task("survey", {**asked, "seed": self._random("survey")}, lambda: part, "the survey")
        ((_, _, _),) = self._tasks.run([task])

    def take(self, folder: pathlib.Path) -> dict[str, Any]:
        self._survey = folder
        found: dict[str, Any] = json.loads((folder / POINTS).read_text())
        self.elements = [(members, 0) for members in found["elements"]]
        self._surveyed, self._shares = np.array(found["measured"], dtype=float), np.array(found["shares"])
        return found

    def _weights(self, events: int) -> np.ndarray[Any, Any]:
        # As registers have points.
        return 8.0 * np.ceil(np.ceil(self._shares * events) / 8.0)


def of_kind(build: Mapping[str, Any]) -> type[Rounds]:
    """What makes rounds of integrands that are built so."""
    return EngineRounds if build.get("engine") else Rounds


def _plain(found: Any) -> Any:
    return found.tolist() if isinstance(found, np.ndarray) else found
