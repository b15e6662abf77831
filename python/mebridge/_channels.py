"""Channels that are one but for a permutation of the legs.

A diagram is a tree: its ends are the legs, its edges the propagators. Two diagrams are the same tree where legs take
each other's places, and have the same mapping of phase space then. Such channels are sampled as one, each permutation
being chosen as often as the others: what is learned of one holds for all, and so many more points teach it. Nothing is
asked of the matrix element: each permutation keeps its own weight. Points are as good in all of them where legs that
take each other's places are the same particle, or particle and antiparticle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Channels with one tree."""

    members: tuple[int, ...]
    """Which channels; the first has the mapping."""
    permutations: tuple[tuple[int, ...], ...]
    """For each of them, which leg of the first stands where its own legs stand."""


def groups(channels: Sequence[Mapping[str, Any]], labels: Sequence[Hashable]) -> list[Group]:
    """Channels of one matrix element by their trees.

    Args:
        channels: as the JSON of a library has them.
        labels: of the legs, the two that come in first; those with the same label may take each other's places.
    """
    found: dict[str, list[tuple[int, list[int]]]] = {}
    for number, channel in enumerate(channels):
        name, order = _canonical(channel, labels)
        found.setdefault(name, []).append((number, order))
    return [
        Group(
            tuple(number for number, _ in members),
            tuple(_permutation(members[0][1], order) for _, order in members),
        )
        for members in found.values()
    ]


def _permutation(first: list[int], order: list[int]) -> tuple[int, ...]:
    """Legs stand at the same places of a tree in these orders."""
    places = dict(zip(order, first))
    return tuple(places[leg] for leg in range(len(order)))


def name(channel: Mapping[str, Any], labels: Sequence[Hashable], kind: Callable[[int], int] = abs) -> str:
    """Of a tree, which those have in common that differ by a permutation of legs with one label.

    Args:
        kind: what counts of the PDG code of a propagator, besides its mass and its width.
    """
    return _canonical(channel, labels, kind)[0]


def _canonical(
    channel: Mapping[str, Any], labels: Sequence[Hashable], kind: Callable[[int], int] = abs
) -> tuple[str, list[int]]:
    """The name of a tree, and the legs in the order of that name."""
    vertices = channel["vertices"]
    at = {line: [v for v, lines in enumerate(vertices) if line in lines] for lines in vertices for line in lines}

    def number(line: str) -> int:
        return int(line[1:]) + (2 if line[0] == "o" else 0)

    def below(line: str, vertex: int) -> tuple[str, list[int]]:
        """Of what hangs on a line, away from a vertex."""
        if line[0] != "p":
            return f"{line[0]}{labels[number(line)]!r}", [number(line)]
        propagator = int(line[1:])
        (other,) = (v for v in at[line] if v != vertex)
        name, legs = around(line, other)
        return f"p{kind(channel['propagators'][propagator])} {channel['masses'][propagator]}{name}", legs

    def around(line: str, vertex: int) -> tuple[str, list[int]]:
        others = sorted(below(other, vertex) for other in vertices[vertex] if other != line)
        return f"({' '.join(name for name, _ in others)})", [leg for _, legs in others for leg in legs]

    def seen_from(leg: str) -> tuple[str, list[int]]:
        (vertex,) = at[leg]
        name, legs = around(leg, vertex)
        return name, [number(leg), *legs]

    roots = ["i0", "i1"] if labels[0] == labels[1] else ["i0"]
    return min(seen_from(root) for root in roots)
