"""Particles whose width is none, or lost in rounding."""

from __future__ import annotations

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
