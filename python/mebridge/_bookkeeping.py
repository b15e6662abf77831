"""What MadSpace completes events by: processes, colour flows, helicities and resonances of a group of matrix elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _flavors
    from ._elements import Element


def of_group(
    madspace: Any,
    number: int,
    elements: Sequence[Element],
    topologies: Mapping[int, list[Any]],
    options: Sequence[_flavors.Option],
) -> Any:
    """MadSpace's description of a group.

    Args:
        number: of the group, from 0.
        topologies: of each matrix element, one for each channel.
    """
    entry = elements[0].entry
    # Diagrams are counted through all matrix elements of a library.
    diagrams = [channel["diagrams"][0] for element in elements for channel in element.channels]
    return madspace.SubprocArgs(
        process_id=number + 1,
        topologies=[topology for some in topologies.values() for topology in some],
        permutations=[[diagram["permutation"]] for diagram in diagrams],
        diagram_indices=[[diagram["diagram"]] for diagram in diagrams],
        diagram_color_indices=[[diagram["active_colors"]] for diagram in diagrams],
        diagram_propagator_pdgs=[[diagram["propagator_pdgs"]] for diagram in diagrams],
        color_flows=[[tuple(tags) for tags in flow] for flow in entry["color_flows"]],
        pdg_color_types={code: color for element in elements for code, color in _color_types(element).items()},
        helicities=[[float(h) for h in row] for row in entry["helicities"]],
        pdg_ids=[option.processes for option in options],
    )


def _color_types(element: Element) -> dict[int, int]:
    """Colour representations by PDG code, those of a model's own resonances as well.

    The description knows external particles and the Standard Model. What else decays has the colours of all that it
    decays into; MadSpace takes what it does not find for a singlet, and refuses then products that have a colour.
    """
    types = {int(code): int(color) for code, color in element.entry["pdg_color_types"].items()}
    flows, incoming = element.entry["color_flows"], len(element.entry["incoming"])
    for channel in element.channels:
        if types.keys() >= set(channel["propagators"]):
            continue
        behind: dict[str, list[int]] = {}
        for *lines, name in channel["vertices"]:
            if not name.startswith("p") or any(line.startswith("i") for line in lines):
                continue
            if any(line.startswith("p") and line not in behind for line in lines):
                continue  # A particle comes in behind it.
            behind[name] = [
                leg
                for line in lines
                for leg in (behind[line] if line.startswith("p") else [incoming + int(line[1:])])
            ]
            code = channel["propagators"][int(name[1:])]
            found = {_net_color([flows[flow][leg] for leg in behind[name]]) for flow in _active_flows(channel)}
            # An octet may have neither colour in one flow, as it may be of no colour exchange.
            if code not in types and len(found - {1}) == 1:
                (color,) = found - {1}
                types[code] = color
                types[-code] = -color if abs(color) == 3 else color
    return types


def _active_flows(channel: dict[str, Any]) -> set[int]:
    return {flow for diagram in channel["diagrams"] for flow in diagram["active_colors"]}


def _net_color(tags: list[list[int]]) -> int:
    """The representation of particles together that go out with these tags of colour and anticolour."""
    colors, anticolors = ({pair[side] for pair in tags} - {0} for side in (0, 1))
    return {(0, 0): 1, (1, 0): 3, (0, 1): -3, (1, 1): 8}.get(
        (len(colors - anticolors), len(anticolors - colors)), 0
    )
