"""Beams of a run card."""

from __future__ import annotations

import math
import pathlib

from . import _lhe, _pdfdata, _photons
from ._library import Error
from ._run_card import RunCard
from ._systematics import DYNAMICAL


def codes(card: RunCard) -> tuple[int, int]:
    """PDG codes of the beams; 0 where the partons themselves are one."""
    where, lpp = card.source, (card["lpp1"], card["lpp2"])
    known = {0: 0, 1: _lhe.PROTON, **{entry: code for entry, (code, _) in _photons.BEAMS.items()}}
    kinds = abs(lpp[0]), abs(lpp[1])
    if not known.keys() >= set(kinds) or (kinds[0] != kinds[1] and 1 not in kinds):
        raise Error(
            f"{where}: lpp1 = {lpp[0]} and lpp2 = {lpp[1]} cannot be honoured; one has to be 1 (proton) or -1 (antiproton), "
            "and the other that, 0 (a parton), or 2, 3 or 4 (photons of protons, electrons, muons); or both are the same"
        )
    beams = tuple(known[kind] if entry >= 0 else -known[kind] for kind, entry in zip(kinds, lpp))
    for name in ("ebeam1", "ebeam2"):
        if not 0.0 < card[name] < math.inf:
            raise Error(f"{where}: {name} = {card[name]:g}; it must be an energy in GeV")
    choice = card["dynamical_scale_choice"]
    fixed = [card[name] for name in ("fixed_ren_scale", "fixed_fac_scale1", "fixed_fac_scale2")]
    if any(beams):
        if card["pdlabel1"] != card["pdlabel2"] and kinds[0] == kinds[1]:
            raise Error(f"{where}: pdlabel1 and pdlabel2 are not the same; give both one value")
        for beam, kind in enumerate(kinds):
            label = card[f"pdlabel{beam + 1}"]
            if kind in _photons.BEAMS and label != _photons.LABEL:
                raise Error(
                    f"{where}: pdlabel = {label} cannot be honoured for lpp{beam + 1} = {lpp[beam]}; set it to "
                    f"{_photons.LABEL}, which has photons of beams that are left whole, or lpp{beam + 1} to 0 for a beam "
                    "without radiation"
                )
            if kind == 1 and label != "lhapdf" and not label in _pdfdata.SETS:
                sets = ", ".join(_pdfdata.SETS)
                raise Error(f"{where}: pdlabel = {label} cannot be honoured; set it to lhapdf, or to one of {sets}")
        if fixed[1] != fixed[2]:
            raise Error(f"{where}: fixed_fac_scale1 and fixed_fac_scale2 are not the same; give both one value")
    if choice not in (-1, *DYNAMICAL) and not (fixed[0] and (not any(beams) or fixed[1])):
        raise Error(f"{where}: dynamical_scale_choice = {choice} cannot be honoured; set it to 1, 2, 3, 4 or -1")
    return beams[0], beams[1]


def unpolarised(card: RunCard) -> None:
    """That the beams of a process by its name are not polarised by the run card."""
    for name in ("polbeam1", "polbeam2"):
        if card[name] != 0.0:
            raise Error(
                f"{card.source}: {name} = {card[name]:g}, and only matrix elements of an output of MG5aMC are polarised by a run "
                f"card; take one, or set {name} to 0 and polarise the process (`e-{{L}} e+ > mu- mu+`, `vm{{L}} e- > mu- ve`)"
            )


def polarised(card: RunCard, own: pathlib.Path) -> None:
    """That beams are polarised as matrix elements have them, which take it from the run card of their output."""
    known = RunCard.read(own)
    for beam in "12":
        name = f"polbeam{beam}"
        if card[name] != known[name]:
            raise Error(
                f"{card.source}: {name} = {card[name]:g}, and {own} has {known[name]:g}: matrix elements are polarised as "
                "that file says; change it there"
            )
        if card[name] != 0.0 and card[f"lpp{beam}"] != 0:
            raise Error(f"{card.source}: {name} = {card[name]:g} needs lpp{beam} = 0; set {name} to 0")
