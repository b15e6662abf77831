"""The legs of a diagram's lines."""

from __future__ import annotations

from . import _checks


def legs_of(vertices: list[list[str]], line: str) -> frozenset[int]:
    """The legs that go out on that side of a line where none comes in, from 0 with those that come in; of a line
    between both beams those beyond it."""
    side, incoming = _checks.outgoing(vertices, line)
    count = sum(name[0] == "o" for vertex in vertices for name in vertex)
    chosen = set(side) if not incoming else set(range(count)) - set(side)
    return frozenset(leg + 2 for leg in chosen)
