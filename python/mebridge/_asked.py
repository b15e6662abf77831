"""What a run card asks of events."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import _allowed, _command, _cuts, _elements, _lines, _meta, _output, _widths
from ._inputs import Inputs
from ._library import Error
from ._output import Directory
from ._run_card import RunCard
from ._systematics import DYNAMICAL


def scale(inputs: Inputs) -> Mapping[str, Any]:
    """Of events, as :meth:`mebridge._engine.Generator.build` takes them."""
    card = inputs.run_card
    fixed = card["fixed_fac_scale1"], card["fixed_fac_scale2"]
    factorisation = [card["dsqrt_q2fact1"], card["dsqrt_q2fact2"]] if all(fixed) else None
    renormalisation = card["scale"] if card["fixed_ren_scale"] else None
    # That of a particle alone, by which it is clustered, is its mass.
    alone = all(len(legs) == _allowed.ALONE for directory in inputs.directories for legs in directory.legs)
    return {
        "dynamical": DYNAMICAL.get(card["dynamical_scale_choice"], "ht" if alone else "ht/2"),
        "renormalisation": renormalisation,
        "factorisation": factorisation,
    }


def build_arguments(inputs: Inputs, elements: Sequence[_elements.Element]) -> Mapping[str, Any]:
    """The cuts of each matrix element, and what else a run card asks of it: arguments of
    :meth:`mebridge._engine.Generator.build`."""
    whole = []
    nowhere: list[str | None] = []
    changed: set[pathlib.Path] = set()
    codes: set[int] = set()
    for element, place in zip(elements, inputs.output.places([element.entry["path"] for element in elements])):
        directory, number = inputs.directories[place.directory], place.number
        pdg = tuple(element.flavor["options"][0])
        _output.matching(directory, {number: pdg})
        if _lines.name(element, directory, number):
            changed.add(element.library)
        masses = _masses(element)
        legs = _cuts.Legs(pdg, masses, directory.decayed, inputs.run_card)
        processes = element.flavor["options"]
        divided = _cuts.divided(legs, processes)
        if divided is not None:
            raise Error(
                f"{inputs.run_card.source}: {divided}, which are one matrix element of {directory.path.name} with the same cuts; give "
                "all of them the same, or make events of one process after the other"
            )
        codes |= {abs(process[leg]) for process in processes for leg in legs.outgoing if not legs.free(leg)}
        nothing = _cuts.empty(legs)
        if nothing is not None:
            raise Error(f"{nothing} of the run card leaves nothing of {directory.path.name}: set it to 0")
        rules, implied = _cuts.rules(legs, inputs.energy)
        windows = _cuts.windows(legs) + implied
        nowhere.append(_nowhere(windows, legs, inputs, directory.path.name))
        windows += _resonances(directory, element, number, inputs.run_card)
        whole.append(
            {
                "windows": [dataclasses.asdict(window) for window in windows],
                "rules": [dataclasses.asdict(rule) for rule in rules],
                "clustered": _clustered(element, directory, number, inputs.run_card["sde_strategy"] == 2),
            }
        )
    if None not in nowhere:
        raise Error(f"{inputs.run_card.source}: {nowhere[0]}; no event passes: change what is named")
    unused = _cuts.unused(inputs.run_card, codes)
    if unused is not None:
        _command.say(unused)
    for library in changed:
        _elements.rewrite(library, [element.entry for element in elements if element.library == library])
    scaled = _scaled(inputs)
    lines = [line for directory in inputs.directories for config in directory.configs for line in config.lines]
    chained = sorted({abs(code) for line in lines if line.forced == 1 for code in line.codes})
    timelike = [line for line in lines if not line.spacelike]
    excluded = {code for line in timelike if line.forced == 2 for code in line.codes}
    elsewhere = {code for line in timelike if line.forced != 2 for code in line.codes}
    matching = _matching(inputs, elements, scaled)
    clustering = _clustering(inputs) if scaled or excluded or matching is not None else None
    shown: dict[str, Any] = {
        "whole": whole,
        "bwcutoff": inputs.run_card["bwcutoff"],
        "forced": chained,
        "excluded": sorted(excluded - elsewhere - {0}),
        "by_propagators": inputs.run_card["sde_strategy"] == 2,
    }
    if clustering is not None:
        # What radiates photons has densities.
        beam = inputs.other_beam
        whole_beam = beam if beam is not None and inputs.run_card[f"lpp{beam + 1}"] == 0 else None
        settings = {**clustering, "parton_beam": whole_beam}
        shown["clustering"] = {"settings": settings, "matching": matching, "scaled": scaled}
    return shown


def _nowhere(windows: Sequence[_cuts.Window], legs: _cuts.Legs, inputs: Inputs, name: str) -> str | None:
    """Which cut leaves nothing of a matrix element, whatever its momenta."""
    window = _cuts.nowhere(windows, inputs.energy)
    if window is None:
        return None
    above = f", at {inputs.energy:g} GeV," if window.least <= window.largest else ""
    return f"{_cuts.named(window, legs)}{above} leaves nothing of {name}"


def _scaled(inputs: Inputs) -> bool:
    """Whether scales are those of clustering."""
    card = inputs.run_card
    fixed = card["fixed_ren_scale"] and (inputs.resting or card["fixed_fac_scale1"])
    return not fixed and card["dynamical_scale_choice"] == -1


def _clustering(inputs: Inputs) -> Mapping[str, Any]:
    """What of the run card clustering depends on."""
    card = inputs.run_card
    return {
        "hadrons": not inputs.resting,
        "maxjetflavor": card["maxjetflavor"],
        "bwcutoff": card["bwcutoff"],
        "small_width": card["small_width_treatment"],
        "distance": card["d"],
        "denominators": card["sde_strategy"] == 2,
        "scheme": card["ktscheme"],
        "alone": card["chcluster"],
    }


def _clustered(
    element: _elements.Element, directory: Directory, number: int, denominators: bool
) -> Mapping[str, Any]:
    """What points of a matrix element, which is this one of its directory, are clustered by."""
    masses = _lines.line_masses(element, directory, number)
    diagrams = []
    for config in directory.configs:
        if not config.diagrams[number]:
            continue
        lines = []
        for line in config.lines:
            mass, width = masses(line)
            of = {"legs": line.legs, "daughters": line.daughters, "code": line.codes[number], "spacelike": line.spacelike}
            lines.append({**of, "forced": line.forced, "mass": mass, "width": width})
        diagrams.append({"diagram": config.diagrams[number], "lines": lines, "nqcd": config.nqcd})
    found: dict[str, Any] = {"diagrams": diagrams, "colors": dict(_output.colors(directory))}
    if denominators:
        found["topologies"] = list(_lines.topologies(element, directory, number).values())
    return found


def _matching(
    inputs: Inputs, elements: Sequence[_elements.Element], scaled: bool
) -> Mapping[str, Any] | None:
    """What is cut and weighted by besides; none where nothing is asked of clustered events.

    Args:
        scaled: what :func:`_scaled` gives.
    """
    card = inputs.run_card
    # Events are clustered for xmtcentral no more than MadEvent does.
    central = card["xmtcentral"] if scaled else 0.0
    if card["ickkw"] == 0 and card["xqcut"] == 0.0 and central == 0.0:
        return None
    for element in elements if card["ickkw"] == 1 else ():
        _check_flavors(element.flavor["options"], card)
    return {
        "reweighted": card["ickkw"] == 1,
        "xqcut": card["xqcut"],
        "xmtcentral": card["xmtcentral"],
        "alpsfact": card["alpsfact"],
        "asrwgtflavor": card["asrwgtflavor"],
        "pdfwgt": card["ickkw"] == 1 and card["pdfwgt"],
    }


def _resonances(
    directory: Directory, element: _elements.Element, number: int, card: RunCard
) -> list[_cuts.Window]:
    """Masses of the particles of decay chains, which all diagrams have."""
    found: dict[int, _cuts.Window] = {}
    masses = _lines.line_masses(element, directory, number)
    count = len(directory.legs[0])
    for config in directory.configs:
        if not config.diagrams[number]:
            continue
        for line in config.lines:
            if line.spacelike or line.forced != 1:
                continue
            legs = tuple(leg for leg in range(count) if line.legs >> leg & 1)
            mass, width = masses(line)
            if width < _widths.NARROWEST * mass:
                said = _widths.without(line.codes[number], mass, width)
                raise Error(f"decay chain: {said}, or take a model that has a parameter for it")
            width = max(width, mass * card["small_width_treatment"])
            found[line.legs] = _cuts.resonance(legs, mass, card["bwcutoff"] * width)
    return list(found.values())


def _check_flavors(processes: Sequence[Sequence[int]], card: RunCard) -> None:
    """That jets of one process of a matrix element are jets of all of them."""
    for leg, codes in enumerate(zip(*processes)):
        quarks = {abs(code) for code in codes if abs(code) <= 6}
        if len({code <= card["maxjetflavor"] for code in quarks}) > 1:
            names = " ".join(map(str, processes[0]))
            raise Error(
                f"{card.source}: maxjetflavor = {card['maxjetflavor']} divides the flavours of leg {leg + 1} of {names} (PDG "
                f"codes), {', '.join(map(str, sorted(quarks)))}, into jets and others; matching (ickkw = 1) needs all of "
                f"them as jets: set maxjetflavor to {max(quarks)}"
            )


def _masses(element: _elements.Element) -> tuple[float, ...]:
    return _meta.masses(element.library, len(element.flavor["options"][0]))

