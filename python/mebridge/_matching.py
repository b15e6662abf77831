"""What the library finds of matched events (MLM, arXiv:0706.2569), for their files."""

from __future__ import annotations

from typing import Any

import numpy as np


def layout(legs: int) -> np.dtype[Any]:
    """Of a record for this many legs."""
    inner, densities = max(legs - 2, 1), max(legs, 2)
    return np.dtype(
        [
            ("weight", "<f8"),
            # Largest of the squared scales that a shower may begin with, GeV^2.
            ("start", "<f8"),
            # Of what goes out, GeV; 0 after the last.
            ("pt", "<f8", (inner,)),
            # Of the steps, with the legs that they combine; 0 after the last.
            ("steps", "<f8", (inner,)),
            ("legs", "<i4", (inner, 3)),
            # Scales of further alpha_s, GeV; 0 after the last.
            ("emissions", "<f8", (inner,)),
            # Of both beams densities that the event is weighted with; 0 after the last.
            ("pdg", "<i4", (2, densities)),
            ("x", "<f8", (2, densities)),
            ("q", "<f8", (2, densities)),
        ]
    )
