"""How MadSpace surveys and unweights: its settings, by how many events are wanted.

A survey has parts, each with twice as many points of a channel as the one before, and after each the grids follow what
it found. All channels have as many parts: one that a channel is given for what it gave (a large error) would take its
largest weights away, and the cross section with them.
"""

from __future__ import annotations

# The file of a survey that says what it found.
POINTS = "points.json"
# Points of each channel in the first part, where no more are needed for some to pass the cuts; and at most in later
# parts, when more of them pass than did first.
FIRST, _MOST = 1000, 8000
# Parts, and events from which on there is one more: it costs as much as all before it, and saves a third of the points.
_PARTS, _MORE_PARTS = 3, (20_000, 500_000)
# How far a grid follows what a part found. In three parts it hardly moves with MadSpace's 0.2: four times as many
# points are needed for an event then.
_DAMPING = 0.7
# Points of a call on a CPU. A round has that many of each channel at least, however few of its events are wanted: with
# MadSpace's 1000 p p > e+ e- j j takes a fourth longer, with 250 each call costs as much as that saves.
_BATCH = 500


def points(first: int) -> tuple[int, int]:
    """Of a channel in the first part of a survey, and at most in a later one, by how many are needed at first."""
    return first, max(_MOST, first // 4)


def settings(events: int, precision: float | None, overweight: float) -> dict[str, float]:
    """Of MadSpace's GeneratorConfig, but for the points of a survey.

    Args:
        events: how many are wanted.
        precision: relative error of a channel's cross section above which it has a part more, or ``None``.
        overweight: the share of the events of a channel that may have larger weights than the others.
    """
    parts = _PARTS + sum(events >= enough for enough in _MORE_PARTS)
    found = {
        "target_count": events,
        "max_overweight_truncation": overweight,
        "vegas_damping": _DAMPING,
        "survey_min_iters": parts,
        "survey_max_iters": parts,
        "cpu_batch_size": _BATCH,
        # Each batch is taken as it is. Where too few of its points pass the cuts MadSpace 0.2.1 would draw another one,
        # without an end if none ever passes; and whenever none of a batch does it forgets the batches before, so that a
        # channel with one such point in a batch comes out a fifth too large.
        "cut_efficiency_threshold": 0.0,
    }
    if precision is not None:
        found |= {"survey_max_iters": parts + 1, "survey_target_precision": precision}
    return found
