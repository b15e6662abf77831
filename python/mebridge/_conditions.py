"""Which alpha_s, scales and cuts hold in a run, as it says when it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _cuts, _scales
from ._densities import Coupling
from ._elements import Element
from ._run_card import RunCard

# Where alpha_s is told, GeV.
_Z = 91.188
# Entries of rules that are no windows, by what switches them on.
_RULES = {
    "xetamin": ("xetamin",),
    "deltaeta": ("deltaeta",),
    "ptgmin": ("ptgmin", "r0gamma", "xn", "epsgamma", "isoem"),
    "xqcut": ("ickkw", "xqcut"),
    "xmtcentral": ("xmtcentral",),
}


def line(elements: Sequence[Element], coupling: Coupling, source: str, scales: str, cuts: Sequence[str]) -> str:
    """What is said.

    Args:
        source: what alpha_s is of.
    """
    strong = any(element.qcd_power != 0 for element in elements)
    alpha_s = f"alpha_s = {coupling.at(_Z):.4g} at {_Z} GeV ({source})" if strong else "no alpha_s"
    return f"{alpha_s}; {scales}; cuts: {', '.join(cuts) or 'none'}"


def by_name(scale: float | str | Mapping[str, Any], factor: float) -> str:
    """Scales of :func:`mebridge.generate_events`."""
    if isinstance(scale, str):
        return f"scale = {scale}" + ("" if factor == 1.0 else f" times {factor:g}")
    return f"scale = {float(_scales.as_mapping(scale)['renormalisation']):g} GeV"


def by_run_card(card: RunCard, densities: bool) -> str:
    """Scales of a run card."""
    fixed = [("scale", card["fixed_ren_scale"])]
    fixed += [(f"dsqrt_q2fact{beam}", card[f"fixed_fac_scale{beam}"]) for beam in "12" if densities]
    names = [name for name, there in fixed if there]
    if len(names) < len(fixed):
        names += ["dynamical_scale_choice", "scalefact"]
    return ", ".join(f"{name} = {card[name]:g}" for name in names)


def cuts_of_run_card(windows: Sequence[_cuts.Window], card: RunCard) -> list[str]:
    """Entries by which something is cut.

    Args:
        windows: of all matrix elements.
    """
    found = dict.fromkeys(entry for window in windows for entry in window.entries)
    for name, names in _RULES.items():
        if card[name] > 0.0:
            found |= dict.fromkeys(f"{entry} = {_shown(card[entry])}" for entry in names)
    return list(found)


def _shown(value: bool | float) -> str:
    return str(value) if isinstance(value, bool) else f"{value:g}"


def windows_of(build: Mapping[str, Any]) -> Iterator[_cuts.Window]:
    """Cuts among the arguments of :meth:`mebridge._engine.Generator.build`."""
    for element in build["whole"]:
        for window in element["windows"]:
            yield _cuts.Window(**{**window, "entries": tuple(window["entries"])})
