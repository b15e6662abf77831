"""What a library that was written for one process says of it, through UMAMI's C functions."""

from __future__ import annotations

import ctypes
import functools
import pathlib
from collections.abc import Mapping, Sequence

from ._library import Error


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
