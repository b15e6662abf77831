"""Parameters that run with alpha_s (``running.py`` of a UFO model): what only a run knows of them.

A process has their equation, from the scale of their block in the parameter card to that of the event. alpha_s at the
first is the run's; matrix elements take it from a block ``RUNNING_<block>`` of the card.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from . import _command
from ._densities import Coupling, alpha_s

_PREFIX = "running_"
# Indices in such a block, and the ends of names.
_ALPHA_S, _FIXED, _QUARKS, _SCALE = 1, 2, 3, 4
_NAMES = {_ALPHA_S: "ALPHA_S", _FIXED: "FIXED", _QUARKS: "QUARKS", _SCALE: "SCALE"}

NO_SYSTEMATICS = (
    "events have no weights for systematics, in which parameters of the model that run would have to stay; ask for none, or "
    "fix their scale (fixed_extra_scale of a run card)"
)


def may_run(source: str, model: str | None) -> bool:
    """Whether parameters of a process may run; False is certain."""
    path = pathlib.Path(source.rpartition("#")[0] or source)
    if path.is_dir():
        return (path / ".." / ".." / "Source" / "RUNNING").is_dir()
    if ">" not in source:
        return True
    if model is None:
        return False
    of = pathlib.Path(model)
    if of.is_file():
        return "[[running]]" in of.read_text(encoding="utf-8", errors="replace")
    # A restriction may stand after the folder's name.
    folders = [of, *(pathlib.Path(model[: found.start()]) for found in re.finditer("-", model))]
    return any((folder / "running.py").is_file() for folder in folders)


def scales(sources: Sequence[str], card: str | None, environment: Mapping[str, str]) -> dict[str, float]:
    """The scales of the blocks whose parameters run in some of these processes, in GeV."""
    found: dict[str, float] = {}
    options = () if card is None else (f"--card={card}",)
    for source in sources:
        told = _command.run("info", "--json", *options, "--", source, environment=environment, warns=False)
        for element in json.loads(told):
            for row in element.get("card", ()):
                block = row["block"].removeprefix(_PREFIX)
                if row["index"] == [_SCALE] and row["name"] == _name(block, _SCALE):
                    found[block] = row["value"]
    return found


def scales_of(parameters: Mapping[str, float]) -> dict[str, float]:
    """The same of the parameters of one process."""
    names = {name: re.fullmatch(_name("(.*)", _SCALE), name) for name in parameters}
    return {match[1].lower(): parameters[name] for name, match in names.items() if match}


def entries(
    scales: Mapping[str, float], coupling: Coupling, fixed: float | None = None, quarks: int | None = None
) -> dict[str, dict[int, float]]:
    """What the blocks of a card have to say, by index.

    Args:
        scales: of the blocks whose parameters run.
        coupling: of the run.
        fixed: the scale of these parameters in all events; otherwise that of the event.
        quarks: flavours in the running of alpha_s; otherwise what the process says.
    """
    if not scales:
        return {}
    running = alpha_s(coupling)

    def at(scale: float) -> float:
        coupling.check_scale(scale)
        return float(running(np.array([scale]))[0])

    found: dict[str, dict[int, float]] = {}
    for block, scale in scales.items():
        of = found[block] = {_ALPHA_S: at(scale), _SCALE: scale}
        if fixed is not None:
            of[_FIXED] = at(fixed)
        if quarks is not None:
            of[_QUARKS] = float(quarks)
    return found


def parameters(found: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """The same by the names of parameters."""
    return {_name(block, index): value for block, of in found.items() for index, value in of.items()}


def with_entries(card: str, found: Mapping[str, Mapping[int, float]]) -> str:
    """A card with these blocks, in the place of such that it has."""
    kept, skipped = [], False
    for line in card.splitlines():
        words = line.split("#")[0].lower().split()
        if words and words[0] in ("block", "decay"):
            skipped = words[0] == "block" and words[1:2] in [[f"{_PREFIX}{block}"] for block in found]
        if not skipped:
            kept.append(line)
    for block, of in found.items():
        kept.append(f"BLOCK {_PREFIX}{block}".upper())
        kept += [f"  {index} {value!r} # {_NAMES[index]}" for index, value in sorted(of.items())]
    return "\n".join(kept) + "\n"


def _name(block: str, index: int) -> str:
    return f"{_PREFIX}{block}_{_NAMES[index]}".upper()
