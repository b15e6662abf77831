"""MadNIS: networks before grids, trained by PyTorch on weights of the engine's points.

A grid knows each random number by itself; a normalising flow (T. Heimel et al., arXiv:2212.06172, 2311.01548) knows how
they depend on each other. A channel's flow maps random numbers to those of its grid, and begins as the identity. It is
trained here, and the engine draws points with it (crates/sampler/src/flow.rs has the same formulas). The splines and
networks are those of the package madnis, whose version 1.0 leaves out the last layer of networks of several channels.
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

# Of a flow: bins of its splines; of its networks the neurons of a layer, and the layers.
_BINS, _UNITS, _LAYERS = 10, 32, 3
# Bins have at least this width and height, and derivatives at their edges this size.
_LEAST = 1e-3
# Steps of a training: more events pay for more learning.
_LEAST_STEPS, _MOST_STEPS, _EVENTS_A_STEP = 200, 1000, 500
# Points of each channel in a step, as many as registers have.
_POINTS = 256
# At first; it goes to 0 by a cosine.
_LEARNING_RATE = 0.01
# Channels that need this share of all points are trained: networks of the others are not worth it.
_TRAINED = 0.99
# Channels that are trained together.
_TOGETHER = 32
# Single precision has no number nearer to 1.
_NEAR = 2.0**-24

# What points of a channel weigh, by its number, the number of the first one, and the numbers of each in (0, 1): one for
# each dimension, and one for the partons.
Weigh = Callable[[int, int, "np.ndarray[Any, Any]"], "np.ndarray[Any, Any]"]


def check() -> None:
    """That networks can be trained here."""
    if importlib.util.find_spec("torch") is None:
        raise Error(
            'networks are trained by PyTorch, which is not installed: pip install "mebridge[networks]", or give sampler="vegas"'
        )


@dataclass(frozen=True)
class Trained:
    """Flows of some channels."""

    shapes: list[dict[str, Any]]
    of: list[int | None]
    """Of each channel the place of its shape, or none."""
    parameters: np.ndarray[Any, Any]
    """Of all flows, those of the first channel first."""


def steps(events: int) -> int:
    """Of the training for this many events."""
    return min(_MOST_STEPS, max(_LEAST_STEPS, events // _EVENTS_A_STEP))


def chosen(shares: Sequence[float]) -> list[int]:
    """Channels that are trained, by how many points of each an event takes."""
    order = sorted(range(len(shares)), key=lambda channel: -shares[channel])
    enough = int(np.searchsorted(np.cumsum([shares[channel] for channel in order]), _TRAINED * sum(shares)))
    return sorted(order[: enough + 1])


def shape(dimensions: int) -> dict[str, Any]:
    """Of a flow, as the engine takes it. Of each block: which dimensions stay. Each dimension depends on each other one
    in some block; there are two blocks for each binary digit of their numbers."""
    conditions = []
    for digit in range((dimensions - 1).bit_length()):
        stay = [bool(number >> digit & 1) for number in range(dimensions)]
        conditions += [stay, [not one for one in stay]]
    return {"bins": _BINS, "units": _UNITS, "layers": _LAYERS, "conditions": conditions}


def train(weigh: Weigh, channels: Sequence[tuple[float, int]], events: int, seed: int, threads: int) -> Trained:
    """Trains flows for this many events.

    Args:
        channels: of each one how many points an event takes, and its dimensions.
    """
    check()
    torch = importlib.import_module("torch")
    found: dict[int, np.ndarray[Any, Any]] = {}
    shapes: list[dict[str, Any]] = []
    of: list[int | None] = [None] * len(channels)
    by_dimensions: dict[int, list[int]] = {}
    for channel in chosen([share for share, _ in channels]):
        # What has one random number has no other that it could depend on.
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
                    # A training may diverge.
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
    """Flows of these channels after this many steps."""
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
        # The mean square of weights if the flow were that of `density`. It differs by orders of magnitude from channel to
        # channel and in a training, and its logarithm does not.
        loss = ((sizes.square() * (drawn - density).exp()).mean(1) + _LEAST).log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return flows


class Flows:
    """Flows of some channels, with as many random numbers each, that map as many points of each together. Points are
    [channel, number, point]."""

    def __init__(self, torch: Any, channels: int, conditions: Sequence[Sequence[bool]], seed: int) -> None:
        self._torch, self._channels, self._dimensions = torch, channels, len(conditions[0])
        self._random = torch.Generator().manual_seed(seed)
        self._blocks: list[tuple[list[int], list[int], list[tuple[Any, Any]]]] = []
        for block in conditions:
            stay, mapped = ([i for i, stays in enumerate(block) if stays is of] for of in (True, False))
            self._blocks.append((stay, mapped, self._network(len(stay), len(mapped) * (3 * _BINS + 1))))
        self.parameters = [one for *_, network in self._blocks for layer in network for one in layer]

    def _network(self, inputs: int, outputs: int) -> list[tuple[Any, Any]]:
        """Weights and biases of each layer; those of the last one are zero."""
        widths, layers = [inputs, *[_UNITS] * (_LAYERS - 1), outputs], []
        for number, (before, after) in enumerate(itertools.pairwise(widths)):
            size = 0.0 if number == _LAYERS - 1 else 1.0 / math.sqrt(before)
            weights, biases = (size * (2.0 * self._rand(after, width) - 1.0) for width in (before, 1))
            layers.append((weights.requires_grad_(), biases.requires_grad_()))
        return layers

    def _rand(self, *sizes: int) -> Any:
        return self._torch.rand((self._channels, *sizes), generator=self._random)

    def _splines(self, network: Sequence[tuple[Any, Any]], x: Any) -> Any:
        """What splines are made of, [channel, number, part, point], by the numbers that stay."""
        for number, (weights, biases) in enumerate(network):
            x = self._torch.baddbmm(biases, weights, self._torch.nn.functional.leaky_relu(x) if number else x)
        return x.unflatten(1, (-1, 3 * _BINS + 1))

    def draw(self, points: int) -> tuple[Any, Any]:
        """So many points of each channel, and the logarithms of their densities."""
        with self._torch.no_grad():
            x, density = self._rand(self._dimensions, points), 0.0
            for stay, mapped, network in reversed(self._blocks):
                y, slope = _spline(self._torch, x[:, mapped], self._splines(network, x[:, stay]), inverse=True)
                x[:, mapped] = y.nan_to_num(0.5)
                density = density + slope.sum(1)
            return x.clamp(_NEAR, 1.0 - _NEAR), density

    def density(self, x: Any) -> Any:
        """The logarithms of the densities of points."""
        rows, density = list(x.unbind(1)), 0.0
        for stay, mapped, network in self._blocks:
            made = self._splines(network, self._torch.stack([rows[i] for i in stay], 1))
            y, slope = _spline(self._torch, self._torch.stack([rows[i] for i in mapped], 1), made, inverse=False)
            for i, row in zip(mapped, y.unbind(1)):
                rows[i] = row
            density = density + slope.sum(1)
        return density

    def of(self, channel: int) -> np.ndarray[Any, Any]:
        """The parameters of a channel, as the engine takes them."""
        found: np.ndarray[Any, Any] = self._torch.cat(
            [one[channel].detach().flatten() for one in self.parameters]
        ).numpy()
        return found


def _spline(torch: Any, x: Any, made: Any, inverse: bool) -> tuple[Any, Any]:
    """Rational-quadratic splines (C. Durkan et al., arXiv:1906.04032), or their inverse, and the logarithms of the splines'
    derivatives."""
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
