"""What a diagram is to MadSpace: to its phase space, to its weights of channels, and to its event files.

Phase space draws the invariant mass of a line where no beam comes in between the least and the most that it can have. A
line on its mass shell has a Breit-Wigner, and any other 1 / s^p: a massive one that cannot be on its mass shell, as the
top in t* > t g, falls as slowly. Cuts say what a line has at least.

Weights of channels are products of squared propagators, as by MG5aMC's ``sde_strategy = 2``. They do not follow what
cancels in the sum of the diagrams, as it does with gluons and with vector bosons. Far above its mass a resonance has the
same propagator as a massless line, and its phase space none of the points: where all energies are reached, as with
beams of one energy, such a channel has a small factor besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _checks, _cuts

Channel = Mapping[str, Any]
# Above the mass of a resonance by so many widths nothing is left of it.
_WIDTHS = 5.0


def legs_of(vertices: list[list[str]], line: str) -> frozenset[int]:
    """The legs that go out on that side of a line where none comes in, from 0 with those that come in; of a line
    between both beams those beyond it."""
    side, incoming = _checks.outgoing(vertices, line)
    count = sum(name[0] == "o" for vertex in vertices for name in vertex)
    chosen = set(side) if not incoming else set(range(count)) - set(side)
    return frozenset(leg + 2 for leg in chosen)


def of_events(madspace: Any, masses: Sequence[float], channel: Channel) -> Any:
    """The diagram as it is, by which events have their resonances.

    Args:
        masses: of the legs.
    """
    widths = [abs(width) for _, width in channel["masses"]]
    return _topology(madspace, masses, channel, widths, [0.0] * len(widths))


def of_mapping(
    madspace: Any,
    masses: Sequence[float],
    channel: Channel,
    windows: Sequence[_cuts.Window] = (),
    permutations: Sequence[Sequence[int]] = (),
) -> Any:
    """The diagram as phase space has it.

    Args:
        windows: the cuts.
        permutations: under which it stands for other channels, whose cuts hold as well.
    """
    lines = _lines(masses, channel, windows, permutations)
    least = [0.0 if line.floor is None else line.floor for line in lines]
    return _topology(madspace, masses, channel, [line.width for line in lines], least)


def resonances(
    masses: Sequence[float], channel: Channel, windows: Sequence[_cuts.Window] = ()
) -> frozenset[tuple[frozenset[int], float]]:
    """The lines of a diagram that can be on their mass shells: the legs behind them, and their masses."""
    lines = zip(_lines(masses, channel, windows, ()), channel["masses"])
    return frozenset((line.legs, abs(mass)) for line, (mass, _) in lines if line.floor is not None and line.width)


def weights(
    madspace: Any,
    masses: Sequence[float],
    channels: Sequence[Channel],
    windows: Sequence[_cuts.Window] = (),
    one_energy: bool = False,
) -> Any:
    """MadSpace's weights of channels.

    Args:
        channels: in the order of the weights.
        one_energy: whether all partons have the same energy.
    """
    made = []
    for channel in channels:
        lines = _lines(masses, channel, windows, ())
        factor = _factor(len(masses), channel, lines) if one_energy else 1.0
        made.append(_topology(madspace, masses, channel, [line.width for line in lines], [0.0] * len(lines), factor))
    return weights_of(madspace, len(masses), made)


def weights_of(madspace: Any, legs: int, topologies: Sequence[Any]) -> Any:
    """The same of topologies of MadSpace's, which have so many legs."""
    same, each = [[list(range(legs))]] * len(topologies), [[i] for i in range(len(topologies))]
    return madspace.PropagatorChannelWeights(topologies, same, each)


class _Line(NamedTuple):
    """A propagator."""

    legs: frozenset[int]
    """Behind it."""
    floor: float | None
    """The least invariant mass that it can have; ``None`` where one beam alone comes in on either side."""
    width: float
    """0 where it cannot be on its mass shell."""


def _lines(
    masses: Sequence[float],
    channel: Channel,
    windows: Sequence[_cuts.Window],
    permutations: Sequence[Sequence[int]],
) -> list[_Line]:
    found = []
    for line, (mass, width) in enumerate((abs(mass), abs(width)) for mass, width in channel["masses"]):
        legs = legs_of(channel["vertices"], f"p{line}")
        if _checks.outgoing(channel["vertices"], f"p{line}")[1] == 1:
            found.append(_Line(legs, None, width))
            continue
        groups = [[leg for leg, other in enumerate(one) if other in legs] for one in permutations] or [sorted(legs)]
        floor = min(_cuts.least_mass(windows, masses, group) for group in groups)
        above = sum(masses[leg] for leg in legs) >= mass or floor >= mass + _WIDTHS * width
        found.append(_Line(legs, floor, 0.0 if above else width))
    return found


def _factor(legs: int, channel: Channel, lines: Sequence[_Line]) -> float:
    """What a weight is multiplied by for its resonances; one of all legs has the energy of the beams."""
    found = 1.0
    for line, (mass, _) in zip(lines, channel["masses"]):
        if line.floor is not None and line.width and len(line.legs) < legs - 2:
            # Of equal areas are 1 / s and M G / ((s - M^2)^2 + (M G)^2); weights are 1 / s^2 and this over M G.
            found *= min(1.0, line.width / abs(mass))
    return found


def _topology(
    madspace: Any,
    masses: Sequence[float],
    channel: Channel,
    widths: Sequence[float],
    least: Sequence[float],
    factor: float = 1.0,
) -> Any:
    """A diagram whose product of squared propagators has a factor besides."""
    propagators = [
        madspace.Propagator(mass=abs(mass), width=width, pdg_id=code, e_min=floor)
        for code, (mass, _), width, floor in zip(channel["propagators"], channel["masses"], widths, least)
    ]
    vertices = channel["vertices"]
    if factor != 1.0:
        # A line that becomes a leg has the propagator 1 / (M^2 - m^2), squared.
        leg = min(range(2, len(masses)), key=lambda leg: masses[leg])
        outside, inside = f"o{leg - 2}", f"p{len(propagators)}"
        propagators.append(madspace.Propagator(mass=(masses[leg] ** 2 + factor**-0.5) ** 0.5))
        vertices = [[inside if line == outside else line for line in vertex] for vertex in vertices]
        vertices.append([inside, outside])
    return madspace.Topology(madspace.Diagram(list(masses[:2]), list(masses[2:]), propagators, vertices))
