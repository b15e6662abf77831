"""Validation of arguments, before any work starts."""

from __future__ import annotations

import math
import operator
import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat, Union

import numpy as np

from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# A path as callers give it.
Path = Union[str, "os.PathLike[str]"]

# The limit of the library.
MAX_THREADS = 1024
# The limit for a run, about 10 TB: more rounds could hardly be listed.
MAX_EVENTS = 10**10
# The library's size limit for a card.
_MOST_BYTES = 1 << 26


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Returns a whole number; Python and NumPy integers and floats such as 1e3 are accepted."""
    span = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    given = value
    # np.float32 is not a subclass of float.
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise _kind(given)(f"{name} is {given!r}; it must be {span}") from None
    if number < least or (most is not None and number > most):
        raise ValueError(f"{name} is {_short(number)}; it must be {span}")
    return number


def _kind(value: Any) -> type[Exception]:
    return ValueError if isinstance(value, (float, np.floating)) else TypeError


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**20 else f"{number:.3e}" if abs(number) < 10**300 else "far too large"


def real(name: str, value: SupportsFloat) -> float:
    """Returns a number, which may be infinite or NaN."""
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} cannot be taken as a number: {error}") from None


def reals(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Returns an array of real numbers."""
    if np.ma.is_masked(values):
        raise ValueError(f"some {name} are masked; leave their events out")
    array = np.asarray(values)
    # Arrays of fractions.Fraction and the like have the dtype object.
    if array.dtype.kind not in "iufO":
        raise TypeError(f"{name} must be real numbers, not {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be real numbers: {error}") from None


def judge(name: str, values: Any, integers: bool = False) -> None:
    """Checks, by the name of their dtype (``torch.float64``), that numbers to be converted by another library are real,
    or integers. The library would silently drop imaginary parts, and fractional parts of rows."""
    dtype = getattr(values, "dtype", None)
    dtype = np.asarray(values).dtype if dtype is None else dtype
    kind = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if not kind.startswith(("int", "uint") if integers else ("float", "bfloat", "int", "uint", "object")):
        raise TypeError(f"{name} must be {'integers' if integers else 'real numbers'}, not {kind}")


def per_event(name: str, values: ArrayLike, events: int) -> NDArray[np.float64]:
    """Returns an array with one number for each event."""
    array = reals(name, values)
    if array.shape not in ((), (1,), (events,)):
        raise ValueError(f"{name} has the shape {array.shape}; it must be one number, or have the shape ({events},)")
    return np.require(np.broadcast_to(array, (events,)), requirements=["C", "A"])


def one_of(name: str, value: str, known: Mapping[str, str]) -> None:
    """Checks that a value is one of the known words, which are given with their meanings."""
    if not isinstance(value, str) or value not in known:
        words = ", ".join(f'"{word}" ({meaning})' if meaning else f'"{word}"' for word, meaning in known.items())
        raise Error(f"{name} is {value!r}; it must be one of {words}")


def positive(name: str, value: SupportsFloat) -> float:
    """Returns a finite number above 0."""
    number = real(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value}; it must be a positive number")
    return number


def between(name: str, value: SupportsFloat, least: float, below: float) -> float:
    """Returns a number with ``least <= number < below``."""
    number = real(name, value)
    if not least <= number < below:
        raise ValueError(f"{name} is {value}; it must be a number from {least:g} on and below {below:g}")
    return number


def card(name: str, path: str | os.PathLike[str], what: str = "the parameter card") -> str:
    """Returns the path of a card, which must be a regular file because it is read more than once."""
    place = text(name, path)
    try:
        found = os.stat(place)
    except OSError as error:
        raise Error(f"{what} {place} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file; copy what it gives into one"
        raise Error(f"{what} {place} cannot be read: it is {kind}")
    if found.st_size > _MOST_BYTES:
        raise Error(
            f"{what} {place} cannot be read: it has {found.st_size} bytes, more than a card can need ({_MOST_BYTES})"
        )
    return place


def text(name: str, value: str | os.PathLike[str]) -> str:
    """Returns a name or a path as a string. NUL characters are refused: C code would cut the string there."""
    string = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(string, str):
        raise TypeError(f"{name} is {string!r}; it must be a str or a path")
    if "\0" in string:
        raise ValueError(f"{name} is {string!r}; it must not hold a character NUL")
    return string
