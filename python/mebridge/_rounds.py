"""A survey, and rounds of events: what does not depend on each other is given to workers together."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _command
from ._state import State
from ._tasks import Here, Local, Spread, Task

# Into how many rounds a run is divided, and how many events each has at least. At most as many as memory has room for: larger
# runs have more rounds, and work for more machines. On a GPU a round of few events takes as long as one of many.
_ROUNDS = 20
_LEAST = {"cpu": 5000, "cuda": 250_000, "hip": 250_000}
_MOST = {"cpu": 50_000, "cuda": 500_000, "hip": 500_000}
# What a survey found of its points, in its folder.
POINTS = "points.json"


def sizes(events: int, backend: str) -> list[int]:
    """Events of each round, on a CPU or a GPU."""
    count = max(1, min(_ROUNDS, events // _LEAST[backend]), -(-events // _MOST[backend]))
    return [events // count + (i < events % count) for i in range(count)]


class Rounds:
    """A survey, and rounds of events. Each round begins where the survey ended, with random numbers of its own, so that
    it can be made again, anywhere.

    Args:
        tasks: what does the work.
        seed: what random numbers follow from.
        backend: "cpu", "cuda" or "hip".
    """

    def __init__(
        self,
        tasks: Here | Local | Spread,
        state: State,
        events: int,
        seed: int | str,
        overweight: float,
        backend: str,
    ) -> None:
        self._tasks, self._state = tasks, state
        self._events, self._seed, self._overweight = events, seed, overweight
        self._survey = pathlib.Path()
        # Of each channel that stays: its matrix elements, what counts of the survey, and its points for each event of a round.
        self._members: list[tuple[int, ...]] = []
        self._surveyed, self._shares = np.zeros((0, 3)), np.zeros(0)
        # Of other runs from the same survey on.
        self._before: list[dict[str, Any]] = []
        # A run that goes on with more events keeps the rounds that it has.
        begun = state.sizes
        state.plan([*begun, *sizes(events - sum(begun), backend)] if events > sum(begun) else begun)

    def _random(self, part: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._seed} {part}".encode()).digest()[:7], "big")

    def survey(self, precision: float | None) -> None:
        """Adapts the mappings, unless that is done."""
        self._adapt("survey", "the survey", precision=precision)

    def train(self) -> None:
        """Trains networks from what the survey found, unless that is done."""
        found = self._adapt("train", "the training", self._survey)
        if grids := found.get("grids"):
            channels = len(found["channels"])
            _command.say(f"mebridge: {grids} of {channels} channels keep their grids: no network is better\n")

    def _adapt(self, name: str, said: str, survey: pathlib.Path | None = None, **more: Any) -> dict[str, Any]:
        """Makes the survey, or the training, unless that is done, and takes what it wrote."""
        if self._state.kept(name) is None:
            asked = {"events": self._events, "overweight": self._overweight, "seed": self._random(name), **more}
            task = Task(name, asked, lambda: self._state.part(name), said, survey)
            ((_, _, part),) = self._tasks.run([task])
            self._state.keep(name, part)
        folder = self._state.kept(name)
        assert folder is not None
        return self.take(folder)

    @property
    def surveyed(self) -> pathlib.Path:
        """The folder of the mappings that rounds begin with."""
        return self._survey

    def take(self, folder: pathlib.Path) -> dict[str, Any]:
        """Begins rounds where the survey, or the training, of this folder ended."""
        self._survey = folder
        found: dict[str, Any] = json.loads((folder / POINTS).read_text())
        self._members = [tuple(members) for members in found["elements"]]
        self._surveyed, self._shares = np.array(found["measured"], dtype=float), np.array(found["shares"])
        return found

    def count(self, rounds: Sequence[Mapping[str, Any]]) -> None:
        """Takes points of other rounds from the same survey on, with other random numbers, for the cross section."""
        self._before = [{**one, "measured": np.array(one["measured"], dtype=float)} for one in rounds]

    def counted(self) -> list[dict[str, Any]]:
        """What :meth:`count` takes of the rounds of this run, as JSON."""
        kept = ("events", "measured", "drawn")
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
        groups = list(dict.fromkeys(self._members))
        of = np.array([groups.index(members) for members in self._members])
        values, variances = self._of_channels()
        total, square = [], []
        for number, members in enumerate(groups):
            if element is not None and element not in members:
                continue
            value, variance = math.fsum(values[of == number]), math.fsum(variances[of == number])
            if element is not None and len(members) > 1:
                share, spread = self._share(element, members)
                value, variance = value * share, variance * share**2 + value**2 * spread
            total.append(value)
            square.append(variance)
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
        """The cross section of the points of each channel, and its variance."""
        counted = [(self._surveyed[:, 0], self._surveyed)]
        # A round counts by the points that it would have by the trial. Those that it has follow from the last part of the
        # survey: one that came out low would have fewer beside it, and count for more.
        counted += [(self._weights(one["events"]), one["measured"]) for one in self._counting()]
        weights, sums, squares = np.zeros((3, len(self._members)))
        for weight, measured in counted:
            _, mean, error = measured.T
            weights += weight
            sums += weight * mean
            squares += (weight * error) ** 2
        return sums / weights, squares / weights**2

    def _weights(self, events: int) -> np.ndarray[Any, Any]:
        """How many points of each channel count in a round, which draws them in groups of eight."""
        found: np.ndarray[Any, Any] = 8.0 * np.ceil(np.ceil(self._shares * events) / 8.0)
        return found


def _plain(found: Any) -> Any:
    return found.tolist() if isinstance(found, np.ndarray) else found
