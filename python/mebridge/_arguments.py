"""What callers give, judged before anything starts."""

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

# As many as the library takes.
MOST_THREADS = 1024
# Of a run, some 10 TB: more rounds could hardly be listed.
MOST_EVENTS = 10**10
# Of a card, as the library takes it.
_MOST_BYTES = 1 << 26


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number: of Python, of NumPy, or such as 1e3."""
    span = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    given = value
    # Those of NumPy are no float where they are single ones.
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
    """A number, which may be infinite or none."""
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} cannot be taken as a number: {error}") from None


def reals(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """An array of real numbers."""
    if np.ma.is_masked(values):
        raise ValueError(f"some {name} are masked; leave their events out")
    array = np.asarray(values)
    # Fractions and the like are objects.
    if array.dtype.kind not in "iufO":
        raise TypeError(f"{name} must be real numbers, not {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be real numbers: {error}") from None


def judge(name: str, values: Any, integers: bool = False) -> None:
    """That numbers which another library converts are real: it would take the real part of complex ones, and the whole
    part of a row. They are told by the name of their type (``torch.float64``)."""
    dtype = getattr(values, "dtype", None)
    dtype = np.asarray(values).dtype if dtype is None else dtype
    kind = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if not kind.startswith(("int", "uint") if integers else ("float", "bfloat", "int", "uint", "object")):
        raise TypeError(f"{name} must be {'integers' if integers else 'real numbers'}, not {kind}")


def per_event(name: str, values: ArrayLike, events: int) -> NDArray[np.float64]:
    """One number for each event."""
    array = reals(name, values)
    if array.shape not in ((), (1,), (events,)):
        raise ValueError(f"{name} has the shape {array.shape}; it must be one number, or have the shape ({events},)")
    return np.require(np.broadcast_to(array, (events,)), requirements=["C", "A"])


def one_of(name: str, value: str, known: Mapping[str, str]) -> None:
    """One of some words, with what they mean."""
    if not isinstance(value, str) or value not in known:
        words = ", ".join(f'"{word}" ({meaning})' if meaning else f'"{word}"' for word, meaning in known.items())
        raise Error(f"{name} is {value!r}; it must be one of {words}")


def positive(name: str, value: SupportsFloat) -> float:
    """A number above 0."""
    number = real(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value}; it must be a positive number")
    return number


def between(name: str, value: SupportsFloat, least: float, below: float) -> float:
    """A number from the first limit on and below the second."""
    number = real(name, value)
    if not least <= number < below:
        raise ValueError(f"{name} is {value}; it must be a number from {least:g} on and below {below:g}")
    return number


def card(name: str, path: str | os.PathLike[str], what: str = "the parameter card") -> str:
    """A file that is read more than once, which a pipe is not for."""
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
    """A name or a path. In C it would end at a character NUL, and be another one."""
    string = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(string, str):
        raise TypeError(f"{name} is {string!r}; it must be a str or a path")
    if "\0" in string:
        raise ValueError(f"{name} is {string!r}; it must not hold a character NUL")
    return string
