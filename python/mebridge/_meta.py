"""What a library that was written for one process says of it, through UMAMI's C functions."""

from __future__ import annotations

import ctypes
import functools
import pathlib
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray


@functools.cache
def masses(library: pathlib.Path, legs: int) -> tuple[float, ...]:
    """Masses of the legs, as the library itself has them."""
    return opened(library).masses(legs)


def alpha_qed(libraries: Sequence[pathlib.Path]) -> float:
    """By aEWM1 of the first library that knows it; 0 where none does."""
    for library in libraries:
        if inverse := opened(library).parameter("aEWM1"):
            return 1.0 / abs(inverse)
    return 0.0


class Instance:
    """A library whose matrix elements can be evaluated, or that knows its masses."""

    # Keys of UMAMI.
    _MOMENTA, _ALPHA_S, _FLAVOR, _MATRIX_ELEMENT, _MASSES = 0, 1, 2, 0, 5

    def __init__(self, library: pathlib.Path) -> None:
        self._library, self._handle = ctypes.CDLL(str(library)), ctypes.c_void_p()
        if self._library.umami_initialize(ctypes.byref(self._handle), b""):
            raise Error(f"the matrix elements of {library} cannot be evaluated")
        weakref.finalize(self, self._library.umami_free, self._handle)

    def masses(self, legs: int) -> tuple[float, ...]:
        """Of the legs, GeV."""
        found = (ctypes.c_double * legs)()
        if self._library.umami_get_meta(self._MASSES, found):
            raise Error("the masses of the process are not known")
        return tuple(found)

    def parameter(self, name: str) -> float | None:
        """Of the card, where the library knows it."""
        found = ctypes.c_double()
        if self._library.umami_get_parameter(self._handle, name.encode(), ctypes.byref(found), None):
            return None
        return found.value

    def squared(
        self, flavor: int, momenta: NDArray[np.float64], alpha_s: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """|M|^2 of events.

        Args:
            flavor: which matrix element.
            momenta: (events, legs, 4).
            alpha_s: that of the card otherwise.
        """
        events = len(momenta)
        found, flavors = np.empty(events), np.full(events, flavor, np.int32)
        rows = [np.ascontiguousarray(momenta.transpose(2, 1, 0)), flavors]
        keys = [self._MOMENTA, self._FLAVOR]
        if alpha_s is not None:
            rows.append(np.ascontiguousarray(alpha_s, dtype=np.float64))
            keys.append(self._ALPHA_S)
        inputs = (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))
        of = ctypes.c_int(self._MATRIX_ELEMENT), ctypes.c_void_p(found.ctypes.data)
        sizes = (ctypes.c_size_t(number) for number in (events, events, 0, len(rows)))
        given = (ctypes.c_int * len(rows))(*keys), inputs
        wrong = self._library.umami_matrix_element(self._handle, *sizes, *given, ctypes.c_size_t(1), *map(ctypes.byref, of))
        if wrong:
            raise Error("matrix elements cannot be evaluated")
        return found


@functools.lru_cache(maxsize=4)
def opened(library: pathlib.Path) -> Instance:
    """It stays open, for the next question."""
    return Instance(library)
