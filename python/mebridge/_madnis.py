"""MadNIS: networks in the place of grids, trained on what the integrands give.

A grid knows each random number by itself; a normalising flow (T. Heimel et al., arXiv:2212.06172, 2311.01548) knows how
they depend on each other. Each channel has one, which begins as its grid. Weights of channels stay those of the
diagrams: they are what the flows are trained with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._integrands import Channel

# Steps of a training.
_LEAST_BATCHES, _MOST_BATCHES, _EVENTS_A_BATCH = 200, 1000, 500
# Points of a step for each channel. A step of a GPU takes its time for launches, however many points it has: with 128,
# MadSpace's number, p p > t t~ j has an efficiency of 0.39, with 1024 one of 0.46.
_CPU_POINTS, _GPU_POINTS = 256, 1024
# At first; it goes to 0 by a cosine. With MadSpace's constant 0.001 these are 0.38 of p p > t t~ j, and 0.09 instead of
# 0.12 of p p > t t~ j j.
_LEARNING_RATE = 0.01


def flow(madspace: Any, channel: Channel) -> Any:
    return madspace.Flow(channel.dimension, prefix=f"{channel.name}.flow")


def settings(events: int, on_cpu: bool) -> dict[str, float]:
    """Of MadSpace's MadnisConfig, for a run with so many events."""
    return {
        # More events pay for more learning.
        "batches": min(_MOST_BATCHES, max(_LEAST_BATCHES, events // _EVENTS_A_BATCH)),
        "batch_size_per_channel": _CPU_POINTS if on_cpu else _GPU_POINTS,
        "learning_rate": _LEARNING_RATE,
        # None is left out, and weights of channels are those of the diagrams, as they are without networks.
        "channel_dropping_threshold": 0.0,
        "fixed_cwnet_fraction": 1.0,
    }


def train(
    madspace: Any, context: Any, channels: Sequence[Channel], seed: int, threads: int, events: int, on_cpu: bool
) -> bool:
    """Trains the flows of all channels, whose globals are in the context then, and says whether it came to an end."""
    trainings = []
    for group in dict.fromkeys(channel.group for channel in channels):
        own = [channel for channel in channels if channel.group == group]
        # It is there for the training alone, which asks for one; its weights are not trained.
        columns, legs = own[0].shared["first_remapped_chan_count"], own[0].make_mapping().particle_count()
        weights = madspace.ChannelWeightNetwork(columns, legs, prefix=f"group{group}.weights")
        weights.initialize_globals(context, seed)
        integrands = []
        for number, channel in enumerate(own):
            sampler = flow(madspace, channel)
            sampler.initialize_from_vegas(context, channel.grid(madspace).grid_name(), seed + 1 + number)
            integrands.append(
                channel.integrand(
                    madspace,
                    sampler,
                    channel.chosen_flavors(madspace),
                    chan_weight_net=weights,
                    madnis_training=True,
                    drop_cuts_and_rescale=True,
                )
            )
        config = madspace.MadnisConfig()
        for name, value in settings(events, on_cpu).items():
            setattr(config, name, value)
        config.lr_schedule = type(config.lr_schedule).cosine
        trainings.append(madspace.TrainingArgs(config, integrands, weights))
    learning = madspace.Context(context.device(), threads)
    learning.copy_globals_from(context)
    try:
        madspace.MultiMadnisTraining(context, learning, trainings, madspace.Verbosity.silent, None, seed).train()
    except RuntimeError as error:
        if "diverged" not in str(error):
            raise
        return False
    # It samples with what it had learned some steps ago.
    context.copy_globals_from(learning)
    return True
