"""Widths that |M|^2 has larger than they are.

MG5aMC's matrix elements take ``small_width_treatment`` times the mass for a smaller width. MadEvent's ``transpole.f``
multiplies by the ratio of both for each resonance of its channel, which is what an integral over it loses.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import _checks, _cuts, _meta, _topologies

# Before the name of a width that is not below ``small_width_treatment``.
_RAISED = "FK_"
# A width below this share of the mass is lost where invariant masses are rounded.
NARROWEST = 1e-14


def without(code: int, mass: float, width: float) -> str:
    """What is said of a particle that can be on its mass shell, and has no width, or one below :data:`NARROWEST`."""
    infinite = "no width, which makes the cross section infinite"
    has = f"a width of {width:g} GeV, which is lost in rounding" if width else infinite
    return (
        f"particle {abs(code)} (PDG code) can be on its mass shell, at {mass:g} GeV, and has {has}; give it one of at least "
        f"{NARROWEST * mass:.0e} GeV in the parameter card (DECAY {abs(code)})"
    )


def raised(library: pathlib.Path, channels: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    """By their own names, widths of the card that |M|^2 may have larger than they are."""
    names = {name for channel in channels for _, name in channel["parameters"] if name.startswith(_RAISED)}
    return _meta.parameters(library, tuple(sorted(name.removeprefix(_RAISED) for name in names)))


def ratio(widths: Mapping[str, float], name: str, width: float) -> float:
    """How much larger than in the card this width is, whose name a channel has."""
    own = abs(widths.get(name.removeprefix(_RAISED), 0.0)) if name.startswith(_RAISED) else 0.0
    return abs(width) / own if 0.0 < own < abs(width) * (1.0 - 1e-9) else 1.0


def factor(
    widths: Mapping[str, float],
    channel: Mapping[str, Any],
    masses: Sequence[float],
    windows: Sequence[_cuts.Window] = (),
) -> float:
    """What a channel is multiplied by, for all its resonances.

    Args:
        widths: of the card, by their own names.
        masses: of the legs.
    """
    least = {frozenset(w.legs[0]): w.least for w in windows if w.observable == "mass" and not w.outside}
    found = 1.0
    for line, ((_, name), (mass, width)) in enumerate(zip(channel["parameters"], channel["masses"])):
        larger = ratio(widths, name, width)
        if larger == 1.0 or _checks.outgoing(channel["vertices"], f"p{line}")[1] == 1:
            continue
        # Where it cannot be on its mass shell its width does not matter.
        legs = _topologies.legs_of(channel["vertices"], f"p{line}")
        if max(sum(masses[leg] for leg in legs), least.get(legs, 0.0)) >= abs(mass):
            continue
        found *= larger
    return found
