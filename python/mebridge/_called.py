"""What a function of MadSpace gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def first(found: Any) -> NDArray[np.float64]:
    """The first array of a call, which gives it alone where the function has one; a number for each point."""
    array = found[0] if isinstance(found, (list, tuple)) else found
    return np.asarray(array.numpy(), dtype=np.float64).ravel()
