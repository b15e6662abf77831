"""Which gauge a model is taken in, and whether its masses are complex: said by what stands after its name."""

from __future__ import annotations

import os

from . import _arguments
from ._arguments import Path

COMPLEX_MASSES, FEYNMAN = "+complex_masses", "+feynman"
STANDARD = "sm"


def named(model: Path | None, complex_masses: bool, gauge: str | None, *, default: str | None = None) -> Path | None:
    """The name of a model with what these arguments say beside what it says itself. ``default`` is the model where none
    is named, otherwise the Standard Model."""
    if not isinstance(complex_masses, bool):
        raise TypeError(f"complex_masses is {complex_masses!r}; it must be True or False")
    if gauge is not None:
        _arguments.one_of("gauge", gauge, {"unitary": "", "feynman": ""})
    if not complex_masses and gauge in (None, "unitary"):
        return model
    name = (default or STANDARD) if model is None else _arguments.text("model", model)
    plain, after = apart(name)
    complex_too = COMPLEX_MASSES if complex_masses or COMPLEX_MASSES in after else ""
    return f"{plain}{complex_too}{FEYNMAN if gauge == 'feynman' or FEYNMAN in after else ''}"


def apart(name: str) -> tuple[str, str]:
    """A name without what says a gauge and complex masses, and that."""
    plain = name
    while not os.path.exists(plain):
        ending = next((ending for ending in (COMPLEX_MASSES, FEYNMAN) if plain.endswith(ending)), "")
        if not ending:
            break
        plain = plain.removesuffix(ending)
    return plain, name[len(plain) :]
