"""What callers give, judged before anything starts."""

from __future__ import annotations

import math
import operator
import os
from typing import Any, SupportsFloat

# As many as the library takes.
MOST_THREADS = 1024


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number: of Python, of NumPy, or such as 1e3."""
    span = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise _kind(value)(f"{name} is {value!r}; it must be {span}") from None
    if number < least or (most is not None and number > most):
        raise ValueError(f"{name} is {_short(number)}; it must be {span}")
    return number


def _kind(value: Any) -> type[Exception]:
    return ValueError if isinstance(value, float) else TypeError


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**20 else f"{number:.3e}" if abs(number) < 10**300 else "far too large"


def _real(name: str, value: SupportsFloat) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} cannot be taken as a number: {error}") from None


def positive(name: str, value: SupportsFloat) -> float:
    """A number above 0."""
    number = _real(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value}; it must be a positive number")
    return number


def between(name: str, value: SupportsFloat, least: float, below: float) -> float:
    """A number from the first limit on and below the second."""
    number = _real(name, value)
    if not least <= number < below:
        raise ValueError(f"{name} is {value}; it must be a number from {least:g} on and below {below:g}")
    return number


def text(name: str, value: str | os.PathLike[str]) -> str:
    """A name or a path. In C it would end at a character NUL, and be another one."""
    string = os.fspath(value)
    if not isinstance(string, str):
        raise TypeError(f"{name} is {string!r}; it must be a str or a path")
    if "\0" in string:
        raise ValueError(f"{name} is {string!r}; it must not hold a character NUL")
    return string
