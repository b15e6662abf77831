"""Neutrinos that come in, which have one helicity."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._library import Error


NEUTRINOS = (12, 14, 16)
"""PDG codes."""


def neutrinos(entry: Mapping[str, Any], masses: Sequence[float]) -> None:
    """That a neutrino without mass comes in with the one helicity that it has: |M|^2 is the average over those of the
    process, and events would have half of their cross section. MG5aMC's run cards have ``polbeam1 = -100`` there.

    A directory has what its own run card says.
    """
    if os.path.isdir(entry["path"].rpartition("#")[0] or entry["path"]):
        return
    for beam, (code, mass) in enumerate(zip(entry["incoming"], masses)):
        if abs(code) in NEUTRINOS and mass == 0.0 and len({row[beam] for row in entry["helicities"]}) > 1:
            hand = "L" if code > 0 else "R"
            raise Error(
                f"{entry['path']}: particle {beam + 1} that comes in ({code}, PDG code) has two helicities there, over which "
                f"|M|^2 is averaged, and neutrinos have one; write {{{hand}}} after its name, as in `vm{{L}} e- > mu- ve`"
            )

