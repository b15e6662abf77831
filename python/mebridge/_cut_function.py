"""Cuts and biases given as functions of momenta: sending them to workers, identifying them, checking their results."""

from __future__ import annotations

import base64
import functools
import hashlib
import inspect
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Error, Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Takes momenta (events, legs, 4) and returns which events to keep, or the bias of each event.
Function = Callable[..., Any]


def name(function: Function) -> str:
    """Returns the name of a function for messages."""
    if isinstance(function, functools.partial):
        return name(function.func)
    of = function if hasattr(function, "__qualname__") else type(function)
    module = _module(of)
    return f"{module}.{of.__qualname__}" if module else str(of.__qualname__)


def check(function: Function | None, what: str = "cut") -> None:
    if function is not None and not callable(function):
        gives = {"cut": "tells what events stay", "bias": "gives the bias of each event"}[what]
        raise TypeError(f"{what} is {function!r}; it must be a function of momenta, which {gives}")


def packed(function: Function, what: str = "cut") -> str:
    """Serialises a function for workers.

    Functions of importable modules are sent by name. Others (of a script, a notebook or another function) are sent by
    value, which needs cloudpickle.
    """
    try:
        if any(_module(of) == "__main__" or "<" in of.__qualname__ for of in _parts(function)):
            raise pickle.PicklingError("it is not of a module that workers can import")
        found = pickle.dumps(function)
    except Exception as error:
        try:
            import cloudpickle
        except ImportError:
            raise Error(
                f"the {what} {name(function)} cannot be sent to workers: {error}; put it into a module of its own, or pip install "
                "cloudpickle"
            ) from None
        try:
            found = cloudpickle.dumps(function)
        except Exception as also:
            raise Error(f"the {what} {name(function)} cannot be sent to workers: {also}; it must be pickled") from None
    return base64.b64encode(found).decode()


def unpacked(text: str, name: str, what: str = "cut") -> Function:
    """Restores a function serialised by :func:`packed`.

    Args:
        name: its name, for messages.
        what: ``"cut"`` or ``"bias"``.
    """
    try:
        found: Function = pickle.loads(base64.b64decode(text))
    except Exception as error:
        raise Refused(
            f"the {what} {name} cannot be made anew on a worker: {type(error).__name__}: {error}; its module must be there, and "
            "cloudpickle where it is of a script"
        ) from None
    return found


def identity(function: Function) -> dict[str, str]:
    """Returns what identifies a function when a run is resumed: its name, and digests of its source and of the values
    that it uses. Code that it calls in other modules is not considered."""
    source, values = hashlib.sha256(), hashlib.sha256()
    for part in _parts(function):
        source.update(f"{name(part)}\n{_source(part)}\n".encode())
    for value in _values(function):
        values.update(_frozen(function, value))
    return {"name": name(function), "source": source.hexdigest(), "values": values.hexdigest()}


def _parts(function: Any) -> list[Any]:
    """Returns the functions and classes whose source defines a function: its own, and those of the same module that it
    refers to, recursively."""
    found: list[Any] = []
    waiting = [function]
    while waiting:
        of = waiting.pop(0)
        if isinstance(of, functools.partial):
            waiting.append(of.func)
        elif isinstance(of, types.MethodType):
            waiting += [of.__func__, type(of.__self__)]
        elif not hasattr(of, "__qualname__"):
            waiting.append(type(of))
        elif of not in found:
            found.append(of)
            waiting += [other for other in _named(of) if _is_code(other) and _module(other) == _module(of)]
    return found


def _module(value: Any) -> Any:
    return getattr(value, "__module__", None)


def _is_code(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, type))


def _values(function: Any) -> Iterator[Any]:
    """Yields the values that a function uses besides code, in a reproducible order."""
    if isinstance(function, functools.partial):
        yield function.args, sorted(function.keywords.items())
    elif isinstance(function, types.MethodType):
        yield function.__self__
    elif not hasattr(function, "__qualname__"):
        yield function
    for part in _parts(function):
        if isinstance(part, types.FunctionType):
            yield part.__defaults__, sorted((part.__kwdefaults__ or {}).items())
        yield from (
            value for value in _named(part) if not isinstance(value, (types.ModuleType, types.FunctionType, type))
        )


def _named(function: Any) -> list[Any]:
    """Returns the globals and closure variables that a function refers to, without builtins."""
    found: list[Any] = []
    methods = list(vars(function).values()) if isinstance(function, type) else [function]
    for of in methods:
        if not isinstance(of, types.FunctionType):
            continue
        names = sorted({name for code in _codes(of.__code__) for name in code.co_names})
        found += [of.__globals__[name] for name in names if name in of.__globals__]
        for cell in of.__closure__ or ():
            found += [] if _empty(cell) else [cell.cell_contents]
    return found


def _empty(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _source(part: Any) -> str:
    try:
        return inspect.getsource(part)
    except (OSError, TypeError):
        if not isinstance(part, types.FunctionType):
            return ""
        codes = [
            (of.co_code, [one for one in of.co_consts if not isinstance(one, types.CodeType)])
            for of in _codes(part.__code__)
        ]
        # Byte code depends on the Python version.
        return repr((sys.version_info[:2], codes))


def _frozen(function: Any, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:
        try:
            import cloudpickle

            return bytes(cloudpickle.dumps(value))
        except Exception as error:
            raise Error(
                f"{name(function)} uses {type(value).__name__}, which cannot be sent to workers: {error}"
            ) from None


class Called:
    """A user function in a worker.

    Args:
        name: its name, for messages.
        what: ``"cut"`` (which events to keep) or ``"bias"`` (a positive number for each event).
    """

    def __init__(self, function: Function, name: str, what: str = "cut") -> None:
        self._function, self.name, self._what = function, name, what

    def __str__(self) -> str:
        return self.name

    def __call__(self, momenta: Array) -> NDArray[Any]:
        """Calls the function and checks its result.

        Args:
            momenta: as in the event file; shape (events, legs, 4).

        Raises:
            Refused: if the function fails, or its result has a wrong type or shape.
        """
        name = f"the {self._what} {self.name}"
        try:
            found = self._function(momenta.copy())
        except Exception as error:
            raise Refused(f"{name} failed: {type(error).__name__}: {error}") from None
        gives = {
            "cut": "of bool with the shape {}, True for the events that stay",
            "bias": "of numbers with the shape {}",
        }
        wanted = f"it must give an array {gives[self._what].format(f'({len(momenta)},)')}"
        if isinstance(found, np.ma.MaskedArray):
            raise Refused(f"{name} gave a masked array; {wanted}")
        array = np.asarray(found)
        if array.dtype != np.bool_ if self._what == "cut" else array.dtype.kind not in "fiu":
            nothing = " with NaN" if array.dtype.kind == "f" and np.isnan(array).any() else ""
            raise Refused(f"{name} gave {array.dtype}{nothing}; {wanted}")
        if array.shape != (len(momenta),):
            raise Refused(f"{name} gave the shape {array.shape}; {wanted}")
        return np.array(array)
