"""Polarised particles that go out (``w+{0}``), and gluons or photons beside a decay chain, which does not radiate them off
its products: |M|^2 depends on the frame, and is that of the rest frame of the partons.

So it is in MadEvent (``me_frame``). MadSpace evaluates matrix elements in the frame of the beams; the functions that it
writes of a channel boost the momenta back before.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _command, _single
from ._library import Error

if TYPE_CHECKING:
    from ._elements import Element


NEUTRINOS = (12, 14, 16)
"""PDG codes."""


def names(source: str) -> bool:
    """Whether a process (a name, a directory or a file) has such particles, which have braces in its name alone."""
    place = source.rpartition("#")[0] or source
    if os.path.isdir(place):
        files = pathlib.Path(place).glob("auto_dsig*.f")
        return any("{" in file.read_text(encoding="ascii", errors="replace") for file in files)
    if os.path.exists(place):
        return any("{" in of["process"] for of in json.loads(_command.run("info", "--json", "--", source)))
    return "{" in source


def radiates(element: Element) -> bool:
    """Whether a gluon or a photon goes out beside a decay chain."""
    chained = any(channel["on_shell_propagators"] for channel in element.channels)
    return chained and bool({21, 22} & set(element.flavor["options"][0][2:]))


def check(entry: Mapping[str, Any]) -> None:
    """That a particle that goes out alone has no polarisation of one sign: it is not boosted, but rests or moves along z.

    Args:
        entry: of the matrix element, in the JSON beside its library.
    """
    alone = {row[-1] for row in entry["helicities"]}
    if len(entry["outgoing"]) == _single.LEGS - 2 and alone != {-helicity for helicity in alone}:
        raise Error(
            f"{entry['path']}: a particle that goes out alone cannot have helicity {min(alone)} without {-min(alone)}; "
            "generate it with both, or with what comes in beside it"
        )


def neutrinos(entry: Mapping[str, Any], masses: Sequence[float]) -> None:
    """That a neutrino without mass comes in with the one helicity that it has: |M|^2 is the average over those of the
    process, and events would have half of their cross section. MG5aMC's run cards have ``polbeam1 = -100`` there.

    A directory has what its own run card says.
    """
    if os.path.isdir(entry["path"].rpartition("#")[0] or entry["path"]):
        return
    for beam, (code, mass) in enumerate(zip(entry["incoming"], masses)):
        if abs(code) in NEUTRINOS and mass == 0.0 and len({row[beam] for row in entry["helicities"]}) > 1:
            hand = "L" if code > 0 else "R"
            raise Error(
                f"{entry['path']}: particle {beam + 1} that comes in ({code}, PDG code) has two helicities there, over which "
                f"|M|^2 is averaged, and neutrinos have one; write {{{hand}}} after its name, as in `vm{{L}} e- > mu- ve`"
            )


def rewrite(path: pathlib.Path) -> None:
    """Has a channel that MadSpace wrote evaluate |M|^2 in the rest frame of the partons."""
    channel = json.loads(path.read_text())
    boosts = [of for of in channel["integrand_channel_function"]["instructions"] if of["name"] == "boost_beam"]
    if not boosts:
        return  # Beams are partons.
    function = channel["integrand_common_function"]
    instructions: list[dict[str, Any]] = function["instructions"]
    places = {value["name"]: value["local"] for value in function["inputs"]}
    (number,) = (i for i, of in enumerate(instructions) if of["name"] == "matrix_element")
    inputs = instructions[number]["inputs"]
    boosted = 1 + max([*places.values(), *(place for of in instructions for place in of["outputs"])])
    (argument,) = (i for i, value in enumerate(inputs) if value == places["momenta_acc"])
    inputs[argument] = boosted
    boost = {
        **boosts[0],
        "name": "boost_beam_inverse",
        "inputs": [places["momenta_acc"], boosts[0]["inputs"][1], places["x1_acc"], places["x2_acc"]],
        "outputs": [boosted],
    }
    instructions.insert(number, boost)
    path.write_text(json.dumps(channel))

