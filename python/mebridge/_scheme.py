"""Suffixes of model names for the gauge and for complex masses."""

from __future__ import annotations

import os

from . import _arguments
from ._arguments import Path

COMPLEX_MASSES, FEYNMAN = "+complex_masses", "+feynman"
STANDARD = "sm"


def named(model: Path | None, complex_masses: bool, gauge: str | None, *, default: str | None = None) -> Path | None:
    """Returns the name of a model with suffixes for these arguments, in addition to those that it already has.

    Args:
        default: the model if ``model`` is ``None``. Default: the Standard Model.
    """
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
    """Splits a name into the model and its suffixes for gauge and complex masses."""
    plain = name
    while not os.path.exists(plain):
        ending = next((ending for ending in (COMPLEX_MASSES, FEYNMAN) if plain.endswith(ending)), "")
        if not ending:
            break
        plain = plain.removesuffix(ending)
    return plain, name[len(plain) :]
