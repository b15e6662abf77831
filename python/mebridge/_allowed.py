"""What a run leaves of the phase space of each matrix element, judged before a point is drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _cuts, _finite, _meta, _photons, _scales
from ._densities import Coupling, Knots
from ._elements import Element
from ._library import Error

# Legs of a process of one particle that goes out.
ALONE = 3
# Where x begins, less a little for rounding.
BELOW = 1.0 - 1e-9


@dataclass(frozen=True)
class Judge:
    """What all matrix elements of a run have in common."""

    energy: float
    """Of both beams in their centre of mass, GeV."""
    knots: Knots | None
    """Where densities are."""
    coupling: Coupling
    scale: float | str | Mapping[str, Any]
    cuts: Mapping[str, float] | None
    """By name; none of a run card."""

    def windows(
        self, element: Element, legs: Sequence[float], windows: Sequence[_cuts.Window], partons: Collection[int]
    ) -> list[_cuts.Window]:
        """The windows in which its events lie, with the least mass of those that densities have an x for.

        Args:
            partons: PDG codes that the densities must have.

        Raises:
            Error: there would be no events, or infinitely many, or some that densities or alpha_s say nothing of.
        """
        pdg, found = element.flavor["options"][0], list(windows)
        _finite.resonances(element, tuple(legs), found, self.energy, self.knots is not None)
        least = _cuts.least(found, legs)
        floor = 0.0 if self.knots is None else self.energy * math.sqrt(self.knots.least_x)
        if self.knots is not None and len(pdg) != ALONE:
            begin = floor / BELOW**2
            if least < begin and _finite.vanishes_below(element, begin):
                warnings.warn(f"{said([element])}: masses below {begin:.3g} GeV are left out, for which the densities have no x", stacklevel=4)
                least = begin
                found.append(_cuts.Window("mass", (tuple(range(2, len(pdg))),), least=begin))
        if self.energy <= least:
            raise ValueError(f"the cuts leave nothing below {least:g} GeV, and the energy is {self.energy:g} GeV")
        scale = _scales.as_mapping(self.scale)
        if scale.get("renormalisation") is not None and element.qcd_power != 0:
            self.coupling.check_scale(scale["renormalisation"], "the scale of renormalisation (scale)")
        if self.knots is not None:
            # x1 * x2 is the square of the mass, each of them at most 1.
            self.knots.check(partons, (least / self.energy) ** 2, _finite.larger_masses(pdg, floor, self.cuts))
            for beam, one in enumerate(scale.get("factorisation") or (), 1):
                entry = "scale" if self.cuts is not None else f"dsqrt_q2fact{beam}"
                self.knots.check_scale(one, f"the scale of factorisation ({entry})")
        return found


def masses(element: Element, energy: float) -> tuple[float, ...]:
    """Masses of the legs of a matrix element that events can be made of."""
    pdg = element.flavor["options"][0]
    if len(element.entry["incoming"]) != 2 or len(pdg) < 3:
        raise ValueError(
            "events are generated for two particles that come in and one or more that go out; mebridge.Run(NAME) makes those of "
            "decays (t > b w+)"
        )
    if not element.channels:
        raise Error("the process has no channels; take it from a MadEvent output")
    legs = _meta.masses(element.library, len(pdg))
    if energy <= sum(legs[2:]):
        raise ValueError(
            f"{energy} GeV are less than the masses of the process need; raise the energy (of a run card ebeam1 and ebeam2)"
        )
    return legs


def center(energies: Sequence[float], masses: Sequence[float]) -> tuple[float, float]:
    """The energy of both beams in their centre of mass, as ``genps.f`` has it, and the rapidity of that.

    Args:
        energies: in the frame of the detector.
        masses: of beams that are particles themselves; hadrons count as massless.
    """
    for number, (energy, mass) in enumerate(zip(energies, masses), 1):
        if energy < mass:
            raise Error(f"beam {number} has {energy:g} GeV, and a mass of {mass:g} GeV; raise its energy (ebeam{number})")
    first, second = (math.sqrt((energy - mass) * (energy + mass)) for energy, mass in zip(energies, masses))
    total, along = sum(energies), first - second
    return math.sqrt((total - along) * (total + along)), math.atanh(along / total)


def check_beams(elements: Sequence[Element], legs: Sequence[Sequence[float]], densities: bool) -> None:
    """That beams without densities are one pair of partons, which do not become a single particle."""
    incoming = {pair for element in elements for pair in element.options}
    if not densities:
        if len(incoming) > 1 or any(element.flavor["mirror"] for element in elements):
            raise Error("a process with several partons that come in needs parton densities: pdf=")
        if any(len(of) == ALONE for of in legs):
            raise Error("a particle that goes out alone has the energy of its mass: its events need parton densities")


def check_other_beam(elements: Sequence[Element], beam: int, photons: int) -> int:
    """That a beam beside one of hadrons is one particle, or radiates photons that come in; the PDG code.

    Args:
        beam: which one, 0 or 1.
        photons: what it is (the entry lpp of a run card) where it radiates photons.
    """
    codes = {pair[beam] for element in elements for pair in element.options}
    if len(codes) > 1 or any(element.flavor["mirror"] for element in elements):
        raise Error(
            f"beam {beam + 1} is one particle (lpp{beam + 1}), and the process has several there, or in both "
            f"beams: {', '.join(map(str, sorted(codes)))} (PDG codes); name one particle"
        )
    if photons and codes != {_photons.PHOTON}:
        raise Error(f"beam {beam + 1} radiates photons (lpp{beam + 1} = {photons}), and the process has none there")
    return codes.pop()


def said(elements: Sequence[Element]) -> str:
    """Matrix elements by their first processes."""
    return ", ".join(" ".join(map(str, element.flavor["options"][0])) for element in elements) + " (PDG codes)"
