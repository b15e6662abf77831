"""One beam that is a parton itself beside one of hadrons (e- p): it has the whole momentum of its beam.

MadSpace has fractions of the momentum for both beams or for none. A channel is made with both, and the functions that
MadSpace writes of it get 1 for the one of this beam. Its density is 1, in a column of the grid.
"""

from __future__ import annotations

import json
import math
import pathlib

# At 1 itself MadSpace may take a density for 0.
_WHOLE = math.nextafter(1.0, 0.0)


def rewrite(path: pathlib.Path, beam: int) -> None:
    """Gives a beam, 0 or 1, of a channel that MadSpace wrote all of its momentum."""
    channel = json.loads(path.read_text())
    function = channel["integrand_channel_function"]
    instructions, batch = function["instructions"], function["inputs"][0]["local"]
    (place,) = (i for i, of in enumerate(instructions) if of["name"] == "r_to_x1x2")
    drawn = instructions[place]
    _, squared, total = drawn["inputs"]
    *fractions, jacobian = drawn["outputs"]
    share = {**total, "data": 1.0 / total["data"]}

    def instruction(name: str, inputs: list[object], output: int) -> dict[str, object]:
        return {**drawn, "name": name, "inputs": inputs, "outputs": [output]}

    # x s is what the squared energy of the partons is.
    instructions[place : place + 1] = [
        instruction("full", [{**total, "data": _WHOLE}, batch], fractions[beam]),
        instruction("mul", [squared, share], fractions[1 - beam]),
        instruction("full", [share, batch], jacobian),
    ]
    path.write_text(json.dumps(channel))
