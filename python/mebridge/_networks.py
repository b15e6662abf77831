"""MadNIS: normalising flows in front of grids, trained with PyTorch on weights of the engine's points.

A grid adapts each random number separately; a normalising flow (T. Heimel et al., arXiv:2212.06172, 2311.01548) learns
their correlations. A channel's flow maps random numbers to those of its grid, and starts as the identity. It is trained
here, and the engine draws points with it (crates/sampler/src/flow.rs has the same formulas). The splines and networks
are those of the package madnis, whose version 1.0 omits the last layer in networks of several channels.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._library import Error

# Bins of a flow's splines; neurons per layer and number of layers of its networks.
_BINS, _UNITS, _LAYERS = 10, 32, 3
# Minimum width and height of bins, and minimum derivative at their edges.
_LEAST = 1e-3
# Training steps: longer training pays off for more events.
_LEAST_STEPS, _MOST_STEPS, _EVENTS_A_STEP = 200, 1000, 500
# Points of each channel in a step, a whole number of registers.
_POINTS = 256
# Initial learning rate; it decreases to 0 as a cosine.
_LEARNING_RATE = 0.01
# The channels that need most points, together this fraction of all, are trained; the others are not worth it.
_TRAINED = 0.99
# Number of channels trained together.
_TOGETHER = 32
# Distance of 1 from the next smaller number in single precision.
_NEAR = 2.0**-24

# Returns the weights of points from the channel, the number of the first point, and random numbers in (0, 1): for each
# point one per dimension, and one for the partons.
Weigh = Callable[[int, int, "np.ndarray[Any, Any]"], "np.ndarray[Any, Any]"]


def check() -> None:
    """Checks that PyTorch is installed."""
    if importlib.util.find_spec("torch") is None:
        raise Error(
            'networks are trained by PyTorch, which is not installed: pip install "mebridge[networks]", or give sampler="vegas"'
        )


@dataclass(frozen=True)
class Trained:
    """Trained flows of some channels."""

    shapes: list[dict[str, Any]]
    of: list[int | None]
    """Index into ``shapes`` for each channel, or ``None`` for channels without a flow."""
    parameters: np.ndarray[Any, Any]
    """Parameters of all flows, in the order of channels."""


def steps(events: int) -> int:
    """Returns the number of training steps for a number of events."""
    return min(_MOST_STEPS, max(_LEAST_STEPS, events // _EVENTS_A_STEP))


def chosen(shares: Sequence[float]) -> list[int]:
    """Returns the channels to train, given the points of each channel that an event takes."""
    order = sorted(range(len(shares)), key=lambda channel: -shares[channel])
    enough = int(np.searchsorted(np.cumsum([shares[channel] for channel in order]), _TRAINED * sum(shares)))
    return sorted(order[: enough + 1])


def shape(dimensions: int) -> dict[str, Any]:
    """Returns the shape of a flow in the engine's form, with the dimensions that each block leaves unchanged. There are
    two blocks for each binary digit of the dimensions' numbers, so that each dimension depends on each other one in
    some block."""
    conditions = []
    for digit in range((dimensions - 1).bit_length()):
        stay = [bool(number >> digit & 1) for number in range(dimensions)]
        conditions += [stay, [not one for one in stay]]
    return {"bins": _BINS, "units": _UNITS, "layers": _LAYERS, "conditions": conditions}


def train(weigh: Weigh, channels: Sequence[tuple[float, int]], events: int, seed: int, threads: int) -> Trained:
    """Trains flows for a run.

    Args:
        weigh: evaluates the weights of points.
        channels: for each channel the points that an event takes, and the number of dimensions.
        events: number of events of the run.
    """
    check()
    torch = importlib.import_module("torch")
    found: dict[int, np.ndarray[Any, Any]] = {}
    shapes: list[dict[str, Any]] = []
    of: list[int | None] = [None] * len(channels)
    by_dimensions: dict[int, list[int]] = {}
    for channel in chosen([share for share, _ in channels]):
        # With one dimension there are no correlations to learn.
        if (dimensions := channels[channel][1]) > 1:
            by_dimensions.setdefault(dimensions, []).append(channel)
    with _threads(torch, threads):
        for dimensions, every in by_dimensions.items():
            shapes.append(shape(dimensions))
            for first in range(0, len(every), _TOGETHER):
                some = every[first : first + _TOGETHER]
                flows = _learned(torch, weigh, some, shapes[-1]["conditions"], steps(events), seed + some[0])
                for place, channel in enumerate(some):
                    parameters = flows.of(place)
                    # Training may diverge.
                    if np.isfinite(parameters).all():
                        found[channel], of[channel] = parameters, len(shapes) - 1
    parts = [found[channel] for channel in sorted(found)]
    return Trained(shapes, of, np.concatenate(parts) if parts else np.zeros(0, dtype="f4"))


@contextlib.contextmanager
def _threads(torch: Any, count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _learned(
    torch: Any, weigh: Weigh, channels: Sequence[int], conditions: Sequence[Sequence[bool]], count: int, seed: int
) -> Flows:
    """Returns flows of these channels after ``count`` training steps."""
    flows, dimensions = Flows(torch, len(channels), conditions, seed), len(conditions[0])
    partons = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(flows.parameters, _LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, count)
    numbers = np.empty((len(channels), _POINTS, dimensions + 1))
    for step in range(count):
        x, drawn = flows.draw(_POINTS)
        numbers[:, :, :dimensions] = x.transpose(1, 2).numpy()
        numbers[:, :, dimensions] = partons.uniform(_NEAR, 1.0 - _NEAR, numbers.shape[:2])
        weights = [weigh(channel, step * _POINTS, one) for channel, one in zip(channels, numbers)]
        sizes = np.nan_to_num(np.abs(weights), posinf=0.0) / np.exp(drawn.numpy(), dtype="f8")
        means = sizes.mean(1, keepdims=True)
        sizes = torch.from_numpy(np.divide(sizes, means, out=np.zeros_like(sizes), where=means > 0.0).astype("f4"))
        density = flows.density(x)
        # The mean square of weights if points were drawn from `density`. Its logarithm is used because it varies by
        # orders of magnitude between channels and during training.
        loss = ((sizes.square() * (drawn - density).exp()).mean(1) + _LEAST).log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return flows


class Flows:
    """Flows of some channels with the same number of dimensions, which map the same number of points of each channel
    together. Arrays of points are [channel, dimension, point]."""

    def __init__(self, torch: Any, channels: int, conditions: Sequence[Sequence[bool]], seed: int) -> None:
        self._torch, self._channels, self._dimensions = torch, channels, len(conditions[0])
        self._random = torch.Generator().manual_seed(seed)
        self._blocks: list[tuple[list[int], list[int], list[tuple[Any, Any]]]] = []
        for block in conditions:
            stay, mapped = ([i for i, stays in enumerate(block) if stays is of] for of in (True, False))
            self._blocks.append((stay, mapped, self._network(len(stay), len(mapped) * (3 * _BINS + 1))))
        self.parameters = [one for *_, network in self._blocks for layer in network for one in layer]

    def _network(self, inputs: int, outputs: int) -> list[tuple[Any, Any]]:
        """Creates weights and biases of each layer; the last layer is zero, so that the flow is the identity."""
        widths, layers = [inputs, *[_UNITS] * (_LAYERS - 1), outputs], []
        for number, (before, after) in enumerate(itertools.pairwise(widths)):
            size = 0.0 if number == _LAYERS - 1 else 1.0 / math.sqrt(before)
            weights, biases = (size * (2.0 * self._rand(after, width) - 1.0) for width in (before, 1))
            layers.append((weights.requires_grad_(), biases.requires_grad_()))
        return layers

    def _rand(self, *sizes: int) -> Any:
        return self._torch.rand((self._channels, *sizes), generator=self._random)

    def _splines(self, network: Sequence[tuple[Any, Any]], x: Any) -> Any:
        """Returns the parameters of splines, [channel, dimension, parameter, point], from the unchanged dimensions."""
        for number, (weights, biases) in enumerate(network):
            x = self._torch.baddbmm(biases, weights, self._torch.nn.functional.leaky_relu(x) if number else x)
        return x.unflatten(1, (-1, 3 * _BINS + 1))

    def draw(self, points: int) -> tuple[Any, Any]:
        """Draws points of each channel; returns them and the logarithms of their densities."""
        with self._torch.no_grad():
            x, density = self._rand(self._dimensions, points), 0.0
            for stay, mapped, network in reversed(self._blocks):
                y, slope = _spline(self._torch, x[:, mapped], self._splines(network, x[:, stay]), inverse=True)
                x[:, mapped] = y.nan_to_num(0.5)
                density = density + slope.sum(1)
            return x.clamp(_NEAR, 1.0 - _NEAR), density

    def density(self, x: Any) -> Any:
        """Returns the logarithms of the densities at points."""
        rows, density = list(x.unbind(1)), 0.0
        for stay, mapped, network in self._blocks:
            made = self._splines(network, self._torch.stack([rows[i] for i in stay], 1))
            y, slope = _spline(self._torch, self._torch.stack([rows[i] for i in mapped], 1), made, inverse=False)
            for i, row in zip(mapped, y.unbind(1)):
                rows[i] = row
            density = density + slope.sum(1)
        return density

    def of(self, channel: int) -> np.ndarray[Any, Any]:
        """Returns the parameters of a channel in the engine's order."""
        found: np.ndarray[Any, Any] = self._torch.cat(
            [one[channel].detach().flatten() for one in self.parameters]
        ).numpy()
        return found


def _spline(torch: Any, x: Any, made: Any, inverse: bool) -> tuple[Any, Any]:
    """Applies rational-quadratic splines (C. Durkan et al., arXiv:1906.04032), or their inverse; returns the values and
    the logarithms of the splines' derivatives."""
    sizes = made[:, :, : 2 * _BINS].unflatten(2, (2, _BINS)).softmax(3)
    sizes = _LEAST + (1.0 - _LEAST * _BINS) * sizes
    ends = sizes.cumsum(3)
    bins = (x[:, :, None] >= ends[:, :, int(inverse), : _BINS - 1]).sum(2, keepdim=True)
    both = bins[:, :, None].expand(-1, -1, 2, -1, -1)
    (width, height), (right, top) = (of.gather(3, both)[:, :, :, 0].unbind(2) for of in (sizes, ends))
    edges = made[:, :, 2 * _BINS :].gather(2, torch.cat((bins, bins + 1), 2))
    first, last = ((_LEAST + torch.nn.functional.softplus(edges)) / (_LEAST + math.log(2.0))).unbind(2)
    delta, left, bottom = height / width, right - width, top - height
    bend = first + last - 2.0 * delta
    if inverse:
        above = x - bottom
        a, b, c = above * bend + height * (delta - first), height * first - above * bend, -delta * above
        part = 2.0 * c / (-b - (b * b - 4.0 * a * c).clamp(min=0.0).sqrt())
    else:
        part = (x - left) / width
    part = part.clamp(0.0, 1.0)
    rest = 1.0 - part
    denominator = delta + bend * part * rest
    derivative = delta * delta * (last * part * part + 2.0 * delta * part * rest + first * rest * rest)
    y = left + part * width if inverse else bottom + height * (delta * part * part + first * part * rest) / denominator
    return y, derivative.log() - 2.0 * denominator.log()
