"""Masses, widths and topologies of the propagators that a directory lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _checks
from ._elements import Element
from ._topologies import legs_of
from ._output import Directory, Line, colors


def line_masses(
    element: Element, directory: Directory, number: int
) -> Callable[[Line], tuple[float, float]]:
    """Masses and widths of the propagators of a matrix element, which is this one of its directory."""
    known = _known(element, directory, number, "masses")

    def found(line: Line) -> tuple[float, float]:
        mass, width = known(line) or (0.0, 0.0)
        return abs(mass), abs(width)

    return found


def clustered(element: Element, directory: Directory, number: int, denominators: bool) -> dict[str, Any]:
    """What the engine clusters events of a matrix element by, which is this one of its directory.

    Args:
        denominators: whether channels have their shares by propagators.
    """
    masses = line_masses(element, directory, number)
    diagrams = []
    for config in directory.configs:
        if not config.diagrams[number]:
            continue
        lines = [
            {
                "legs": line.legs,
                "daughters": line.daughters,
                "code": line.codes[number],
                "spacelike": line.spacelike,
                "forced": line.forced,
                "mass": masses(line)[0],
                "width": masses(line)[1],
            }
            for line in config.lines
        ]
        diagrams.append({"diagram": config.diagrams[number], "nqcd": config.nqcd, "lines": lines})
    shares = list(topologies(element, directory, number).values()) if denominators else []
    return {"diagrams": diagrams, "colors": dict(colors(directory)), "topologies": shares}


def topologies(element: Element, directory: Directory, number: int) -> dict[int, dict[str, Any]]:
    """The diagrams that a directory lists of a matrix element as :meth:`mebridge.Process.channel_weights` takes them, by
    their numbers there."""
    known = _known(element, directory, number, "parameters")
    legs = len(element.flavor["options"][0])
    found = {}
    for config in directory.configs:
        if not config.diagrams[number]:
            continue
        open_ = {1 << leg: f"i{leg}" if leg < 2 else f"o{leg - 2}" for leg in range(legs)}
        vertices, parameters = [], []
        # A line more has the momentum of the second beam.
        for place, line in enumerate(config.lines[: legs - 3]):
            vertices.append([*(open_.pop(daughter) for daughter in line.daughters), f"p{place}"])
            open_[line.legs] = f"p{place}"
            parameters.append(known(line) or ("", ""))
        vertices.append(list(open_.values()))
        found[config.number] = {"vertices": vertices, "parameters": parameters}
    return found


def _known(
    element: Element, directory: Directory, number: int, name: str
) -> Callable[[Line], tuple[Any, Any] | None]:
    """What channels of a matrix element, which is this one of its directory, have under a name for each propagator."""
    # By legs, code, and whether it lies between the beams, where legs may be those of another line.
    known: dict[tuple[int, int, bool], tuple[Any, Any]] = {}
    channels = sorted(element.channels, key=lambda channel: int(channel["diagrams"][0]["diagram"]))
    of_channels = []
    for channel in channels:
        own = {}
        for line, (code, pair) in enumerate(zip(channel["propagators"], channel[name])):
            legs = sum(1 << leg for leg in legs_of(channel["vertices"], f"p{line}"))
            between = _checks.outgoing(channel["vertices"], f"p{line}")[1] == 1
            own[legs, between] = known[legs, abs(code), between] = tuple(pair)
        of_channels.append(own)
    everything = (1 << len(element.flavor["options"][0])) - 1

    def sides(line: Line) -> tuple[int, int]:
        """Legs on both sides; of a line between beams those that go out."""
        both = (line.legs, everything - line.legs)
        return (both[0] & ~3, both[1] & ~3) if line.spacelike else both

    # Particles of several generations may share a mass, and with it the code that a library knows: lines of a diagram are
    # those of its channel.
    configs = sorted((c for c in directory.configs if c.diagrams[number]), key=lambda config: config.diagrams[number])
    for config, own in zip(configs, of_channels if len(configs) == len(of_channels) else ()):
        for one in config.lines:
            for legs in sides(one):
                if (legs, one.spacelike) in own:
                    known.setdefault((legs, abs(one.codes[number]), one.spacelike), own[legs, one.spacelike])

    def found(line: Line) -> tuple[Any, Any] | None:
        # A code may be missing there.
        for legs in sides(line):
            for code in (abs(line.codes[number]), 0):
                if (legs, code, line.spacelike) in known:
                    return known[legs, code, line.spacelike]
        return None

    return found


def name(element: Element, directory: Directory, number: int) -> bool:
    """Gives propagators whose PDG code a library does not know the one that the directory lists for their legs.

    Returns:
        Whether there were any.
    """
    everything = (1 << len(element.flavor["options"][0])) - 1
    listed: dict[int, set[int]] = {}
    for config in directory.configs:
        for line in config.lines if config.diagrams[number] else ():
            for legs in (line.legs, everything - line.legs):
                listed.setdefault(legs, set()).add(line.codes[number])
    known: dict[int, set[int]] = {}
    unknown = []
    for channel in element.channels:
        for place, code in enumerate(channel["propagators"]):
            legs = sum(1 << leg for leg in legs_of(channel["vertices"], f"p{place}"))
            known.setdefault(legs, set()).add(abs(code))
            if code == 0:
                unknown.append((channel, place, legs))
    for channel, place, legs in unknown:
        left = {code for code in listed.get(legs, ()) if abs(code) not in known[legs]}
        if len(left) == 1:
            (channel["propagators"][place],) = left
            for diagram in channel["diagrams"]:
                (diagram["propagator_pdgs"][place],) = left
    return bool(unknown)
