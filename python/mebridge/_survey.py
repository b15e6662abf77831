"""How MadSpace surveys and unweights: its settings, by how many events are wanted.

A survey has parts, each with twice as many points of a channel as the one before, and after each the grids follow what
it found. A round draws a share of the points that it needs of a channel by the survey, and then more until it has its
events.

What counts for the cross section are the last part of a survey and the first points of a round, whose numbers are known
before they are drawn. Points that are drawn until there are enough events do not count: there are fewer of them where
weights come out low, and their mean is too small. For the same reason nothing that counts decides by how much it
counts, nor whether there is more of it: the first parts of a survey do, the trial, which do not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The file of a survey that says what it found.
POINTS = "points.json"
# Its folder of grids.
GLOBALS = "globals"
# So many channels are surveyed at a time, on one worker or another. With a GPU it is all of them: it writes the grids of
# all channels to files.
TOGETHER = 16
# Points of each channel in the first part, where no more are needed for some to pass the cuts; and at most in the trial
# and the part after it, when more of them pass than did first.
FIRST, _MOST = 1000, 8000
# Parts of the trial, by which it is decided what follows.
_TRIAL = 2
# The part after the trial has no more points than the run needs of the channel over the first number: it counts for the
# cross section, and so is not small where the channel matters. Others are there where the run needs the second number
# times as many points, up to the third: a part saves a third of what follows at best.
_ENOUGH, _WORTH, _LARGEST = 2, 15, 64_000
# How far a grid follows what a part found. In three parts it hardly moves with MadSpace's 0.2: four times as many
# points are needed for an event then.
_DAMPING = 0.7
# A call of a GPU takes so many seconds, however few its points are. A point takes so many on a core of its host, and so
# many more for each diagram: p p > t t~ j and p p > e+ e- j j 1.8 and 2.4e-6, g g > t t~ g g and g g > t t~ g g g (123
# and 945 diagrams) 4.8 and 37e-6.
_CALL_SECONDS, _POINT_SECONDS, _DIAGRAM_SECONDS = 0.01, 2e-6, 3.5e-8
# A part of a host's cores has at most so many points: a round has one call for all of them.
_HOST_LARGEST = 16_000
# A round plans this share of the points that it needs of a channel. A survey tells what is needed to a quarter or so, and
# what is planned beyond it is in vain: of g g > t t~ g g 0.6, 0.8 and 1 are 5, 14 and 24 % more points than needed. On a
# GPU points cost less than the calls that are spared.
_PLANNED = {"cpu": 0.6, "cuda": 1.0}
# Points of a call, on a CPU and on a GPU, at most; and at least, where a round plans fewer of a channel: below that a
# call costs as much as its points. A round has a call of each channel, however few of its events are wanted.
_CPU_CALL, _GPU_CALL = (200, 500), (1000, 64_000)


def needed(rows: Sequence[Sequence[float]], events: int) -> list[float]:
    """Points of each channel for so many events of all of them, by the rows that a survey gives; infinite where none of
    the points became an event."""
    # Some may be negative, as interferences are.
    total = sum(abs(row[1]) for row in rows)
    if not total > 0.0:
        return [math.inf] * len(rows)
    return [
        events * abs(mean) / total * count / unweighted if unweighted > 0.0 else (math.inf if mean != 0.0 else 0.0)
        for count, mean, _, _, unweighted in rows
    ]


def on_host(points: float, diagrams: int, threads: int) -> bool:
    """Whether so many points of a channel are sooner ready on so many cores of the host than in a call of its GPU."""
    seconds = points * (_POINT_SECONDS + diagrams * _DIAGRAM_SECONDS)
    return points <= _HOST_LARGEST and seconds < threads * _CALL_SECONDS


@dataclass(frozen=True)
class Parts:
    """Parts of a channel in a survey, one after the other."""

    points: int
    """In the first of them; in the others twice as many as before, up to ``most``."""
    most: int
    count: int

    @property
    def largest(self) -> int:
        """Points of the last of them."""
        return min(self.points << (self.count - 1), self.most)


def trial(first: int) -> Parts:
    """Of a channel, by how many points are needed at first."""
    return Parts(first, max(_MOST, first // 4), _TRIAL)


def further(first: int, row: Sequence[float], need: float, precision: float | None = None) -> Parts:
    """Those after the trial, at least one.

    Args:
        row: what the last part of the trial found.
        need: how many points of the channel the run needs.
        precision: relative error above which the channel has a part more; what the trial found says it.
    """
    before = trial(first)
    points = min(first << _TRIAL, before.most)
    if not math.isfinite(need):
        # No point became an event; nothing says that more of them are worth their time.
        need = 0.0
    if need < _ENOUGH * points:
        found = Parts(max(min(FIRST, points), math.floor(need / _ENOUGH)), points, 1)
    else:
        largest = min(_LARGEST, need / _WORTH)
        more = 1
        while points << more <= largest:
            more += 1
        found = Parts(points, max(points, _LARGEST), more)
    if precision is None:
        return found
    count, mean, error = row[:3]
    enough = error * math.sqrt(count / found.largest) <= precision * abs(mean)
    return found if enough else Parts(found.points, found.points << found.count, found.count + 1)


def last(first: int) -> Parts:
    """One that shows how good points of a channel are, as large as those of a survey."""
    most = trial(first).most
    return Parts(most, most, 1)


def calls(points: float) -> dict[str, int]:
    """Of MadSpace's GeneratorConfig: points of a call where a round plans so many of the channel."""
    return {"cpu_batch_size": _call(points, *_CPU_CALL), "gpu_batch_size": _call(points, *_GPU_CALL)}


def planned(need: float, backend: str, on_cpu: bool) -> int:
    """Points of a channel that a round draws before it looks how many events they are, where so many are needed.

    Args:
        backend: of the run.
        on_cpu: whether the channel is evaluated there, as those of few points of a GPU's run are.
    """
    least, most = _CPU_CALL if on_cpu else _GPU_CALL
    return max(least, math.ceil(_PLANNED[backend] * need)) if math.isfinite(need) else min(most, FIRST)


def _call(points: float, least: int, most: int) -> int:
    if not points < most:
        # Equal ones: a small last one is as many points as the others.
        return most if not math.isfinite(points) else math.ceil(points / math.ceil(points / most))
    return max(least, math.ceil(points))


def settings(events: int, overweight: float) -> dict[str, float]:
    """Of MadSpace's GeneratorConfig, but for the points of a survey and of the calls of each channel.

    Args:
        events: how many are wanted.
        overweight: the share of the events of a channel that may have larger weights than the others.
    """
    return {
        "target_count": events,
        "max_overweight_truncation": overweight,
        "vegas_damping": _DAMPING,
        "cpu_batch_size": _CPU_CALL[1],
        "gpu_batch_size": _GPU_CALL[1],
        # Each batch is taken as it is. Where too few of its points pass the cuts MadSpace 0.2.1 would draw another one,
        # without an end if none ever passes; and whenever none of a batch does it forgets the batches before, so that a
        # channel with one such point in a batch comes out a fifth too large.
        "cut_efficiency_threshold": 0.0,
    }
