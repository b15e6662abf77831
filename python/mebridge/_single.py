"""One particle that goes out of two: MadSpace 0.2.1 has no phase space for it.

The particle is on its mass shell. The phase space, 2 pi delta(x1 x2 s - M^2), leaves its rapidity to be drawn, as
MadEvent has it in ``genps.f``. A channel is made with a second particle, which has neither mass nor energy, and the
functions that MadSpace writes of it lose this particle before they are evaluated. Their grids do not follow what a
survey finds: without them a third to a half of the points become events.
"""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._called import first

LEGS = 3
# Points by which it is seen what passes the cuts.
_TRIED = 1000
# Of the phase space of n particles, MadSpace has (2 pi)^(4 - 3 n).
_TWO, _ONE = (2.0 * math.pi) ** -2, 2.0 * math.pi


def topology(madspace: Any, masses: Sequence[float]) -> Any:
    """Of the process with the second particle, whose mass stands in the masses."""
    propagator = madspace.Propagator(mass=masses[2], width=0.0, pdg_id=0)
    vertices = [["i0", "i1", "p0"], ["p0", "o0", "o1"]]
    return madspace.Topology(madspace.Diagram(list(masses[:2]), list(masses[2:]), [propagator], vertices))


def completed(madspace: Any, masses: Sequence[float]) -> Any:
    """What stands for the process where events are completed: nothing decays."""
    propagator = madspace.Propagator(mass=0.0, width=0.0, pdg_id=0)
    vertices = [["i0", "o0", "p0"], ["p0", "i1", "o1"]]
    return madspace.Topology(madspace.Diagram(list(masses[:2]), list(masses[2:]), [propagator], vertices))


def passing(madspace: Any, masses: Sequence[float], energy: float, cuts: Any) -> tuple[int, int]:
    """Of how many rapidities how many pass the cuts, which know of the second particle."""
    if cuts is None:
        return _TRIED, _TRIED
    mass = masses[2]
    momenta = np.zeros((_TRIED, len(masses), 4))
    rapidity = np.linspace(-1.0, 1.0, _TRIED) * math.log(energy / mass)
    for leg, momentum in ((0, 0.5 * mass * np.exp(rapidity)), (1, -0.5 * mass * np.exp(-rapidity))):
        momenta[:, leg, 0], momenta[:, leg, 3] = np.abs(momentum), momentum
    momenta[:, 2] = momenta[:, 0] + momenta[:, 1]
    function = madspace.FunctionRuntime(cuts.function(), madspace.Context(madspace.cpu_device(), 1))
    return _TRIED, int(np.count_nonzero(first(function.call([momenta]))))


def rewrite(path: pathlib.Path, mass: float) -> None:
    """Takes the second particle out of a channel that MadSpace wrote.

    Args:
        mass: of the first, GeV.
    """
    channel = json.loads(path.read_text())
    channel["particle_count"] = LEGS
    for function in (of for of in channel.values() if isinstance(of, dict) and "instructions" in of):
        for value in (*function["inputs"], *function["outputs"]):
            if "momenta" in value["name"]:
                value["shape"] = [LEGS, 4]
    function = channel["integrand_channel_function"]
    function["instructions"] = _one(function["instructions"], function["inputs"][0]["local"], mass)
    path.write_text(json.dumps(channel))


def _one(instructions: list[dict[str, Any]], batch: int, mass: float) -> list[dict[str, Any]]:
    """What draws the momenta of one particle in the place of two."""
    first: dict[str, dict[str, Any]] = {}
    for instruction in instructions:
        first.setdefault(instruction["name"], instruction)
    energy, decay, boost = (first[name] for name in ("stable_invariant", "two_body_decay_com", "boost_beam"))
    (squared, jacobian), (one, other, volume) = energy["outputs"], decay["outputs"]
    energy.update(name="full", inputs=[_number(mass**2), batch], outputs=[squared])
    decay.update(name="add", inputs=first["com_p_in"]["outputs"], outputs=[one])
    boost["inputs"][1] = {"data": [0.0, 0.0, mass], "dtype": "float", "shape": [LEGS]}
    for stack in (of for of in instructions if of["name"] == "stack"):
        kept = [value for value in stack["inputs"] if value not in (jacobian, other, volume)]
        of_two = [isinstance(value, dict) and math.isclose(value["data"], _TWO) for value in kept]
        stack["inputs"] = [_number(_ONE) if factor else value for value, factor in zip(kept, of_two)]
    return instructions


def _number(value: float) -> dict[str, Any]:
    return {"data": value, "dtype": "float", "shape": []}
