"""How MadSpace surveys and unweights: its settings, by how many events are wanted.

A survey has parts, each with twice as many points of a channel as the one before, and after each the grids follow what
it found. The last part counts for the cross section. So what decides how many parts a channel has is what the first
ones found, which do not count: a channel that ended for what its last part gave would have that too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The file of a survey that says what it found.
POINTS = "points.json"
# Its folder of grids.
GLOBALS = "globals"
# So many channels are surveyed at a time, on one worker or another. On a GPU it is all of them: with each part of a survey
# the grids of all channels are written to files there.
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
# Points of a call, on a CPU and on a GPU, at most; and at least, where a round needs fewer of a channel: below that a
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


@dataclass(frozen=True)
class Parts:
    """Parts of a channel in a survey, one after the other."""

    points: int
    """In the first of them; in the others twice as many as before, up to ``most``."""
    most: int
    count: int


def trial(first: int) -> Parts:
    """Of a channel, by how many points are needed at first."""
    return Parts(first, max(_MOST, first // 4), _TRIAL)


def further(first: int, need: float) -> Parts:
    """Those after the trial, at least one, by how many points of the channel the run needs."""
    before = trial(first)
    points = min(first << _TRIAL, before.most)
    if not math.isfinite(need):
        # No point became an event; nothing says that more of them are worth their time.
        need = 0.0
    if need < _ENOUGH * points:
        return Parts(max(min(FIRST, points), math.floor(need / _ENOUGH)), points, 1)
    largest = min(_LARGEST, need / _WORTH)
    count = 1
    while points << count <= largest:
        count += 1
    return Parts(points, max(points, _LARGEST), count)


def last(first: int) -> Parts:
    """One that shows how good points of a channel are, as large as those of a survey."""
    most = trial(first).most
    return Parts(most, most, 1)


def calls(need: float) -> dict[str, int]:
    """Of MadSpace's GeneratorConfig: points of a call where so many are needed of the channel in a round."""
    return {"cpu_batch_size": _call(need, *_CPU_CALL), "gpu_batch_size": _call(need, *_GPU_CALL)}


def _call(need: float, least: int, most: int) -> int:
    if not need < most:
        # Equal ones: a small last one is as many points as the others.
        return most if not math.isfinite(need) else math.ceil(need / math.ceil(need / most))
    return max(least, math.ceil(need))


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
