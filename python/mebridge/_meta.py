"""What a library that was written for one process says of it, through UMAMI's C functions."""

from __future__ import annotations

import ctypes
import functools
import pathlib
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray


@functools.cache
def masses(library: pathlib.Path, legs: int) -> tuple[float, ...]:
    """Masses of the legs, as the library itself has them."""
    functions = ctypes.CDLL(str(library))
    handle, found = ctypes.c_void_p(), (ctypes.c_double * legs)()
    # A library knows them once it was initialized; on a GPU that takes a while, and is done already.
    if functions.umami_get_meta(5, found):
        wrong = functions.umami_initialize(ctypes.byref(handle), b"") or functions.umami_get_meta(5, found)
        functions.umami_free(handle)
        if wrong:
            raise Error("the masses of the process are not known")
    return tuple(found)


@functools.cache
def parameters(library: pathlib.Path, names: tuple[str, ...]) -> Mapping[str, float]:
    """Those of these parameters of the card that a library knows; none where it cannot begin."""
    functions = ctypes.CDLL(str(library))
    handle, found, values = ctypes.c_void_p(), (ctypes.c_double * 2)(), {}
    second = ctypes.byref(found, ctypes.sizeof(ctypes.c_double))
    if not names or functions.umami_initialize(ctypes.byref(handle), b""):
        return {}
    for name in names:
        if not functions.umami_get_parameter(handle, name.encode(), found, second):
            values[name] = found[0]
    functions.umami_free(handle)
    return values


def alpha_qed(libraries: Sequence[pathlib.Path]) -> float:
    """By aEWM1 of the first library that knows it; 0 where none does."""
    for library in libraries:
        if inverse := parameters(library, ("aEWM1",)).get("aEWM1"):
            return 1.0 / abs(inverse)
    return 0.0


class Squared:
    """|M|^2 of a library's matrix elements."""

    # Keys of UMAMI.
    _MOMENTA, _ALPHA_S, _FLAVOR, _MATRIX_ELEMENT = 0, 1, 2, 0

    def __init__(self, library: pathlib.Path) -> None:
        self._library, self._handle = ctypes.CDLL(str(library)), ctypes.c_void_p()
        if self._library.umami_initialize(ctypes.byref(self._handle), b""):
            raise Error(f"the matrix elements of {library} cannot be evaluated")
        weakref.finalize(self, self._library.umami_free, self._handle)

    def __call__(
        self, flavor: int, momenta: NDArray[np.float64], alpha_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Of events.

        Args:
            flavor: which matrix element.
            momenta: (events, legs, 4).
        """
        events = len(momenta)
        found, flavors = np.empty(events), np.full(events, flavor, np.int32)
        rows = np.ascontiguousarray(momenta.transpose(2, 1, 0)), np.ascontiguousarray(alpha_s, dtype=np.float64), flavors
        keys = (ctypes.c_int * 3)(self._MOMENTA, self._ALPHA_S, self._FLAVOR)
        inputs = (ctypes.c_void_p * 3)(*(row.ctypes.data for row in rows))
        outputs = ctypes.c_int(self._MATRIX_ELEMENT), ctypes.c_void_p(found.ctypes.data)
        sizes = (ctypes.c_size_t(number) for number in (events, events, 0, 3))
        wrong = self._library.umami_matrix_element(
            self._handle, *sizes, keys, inputs, ctypes.c_size_t(1), *map(ctypes.byref, outputs)
        )
        if wrong:
            raise Error("matrix elements cannot be evaluated")
        return found
