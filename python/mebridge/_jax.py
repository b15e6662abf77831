"""Evaluation within compiled programs of JAX, by XLA's foreign functions: the library has the handler."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from ._library import Error, lib

_TARGET = "mebridge_evaluate"
# What is asked beside matrix elements, as src/abi/xla.rs has it.
_HELICITIES, _COLORS, _DIAGRAMS, _AMP2 = 1, 2, 4, 8


def traced(*arrays: Any) -> bool:
    """Whether one of these is an array that a program of JAX, which is being compiled, will have."""
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(array, jax.core.Tracer) for array in arrays)


@functools.cache
def _register() -> None:
    import jax

    if not hasattr(jax, "ffi"):
        raise Error(f"JAX {jax.__version__} has no jax.ffi; install 0.5 or later")
    handler = jax.ffi.pycapsule(ctypes.cast(lib.mebridge_xla, ctypes.c_void_p).value)
    jax.ffi.register_ffi_target(_TARGET, handler, platform="cpu")


def evaluate(
    process: Any, momenta: Any, alpha_s: Any, choices: dict[str, Any], amp2: bool, helicity: Any, bad: str
) -> tuple[Any, dict[str, Any], Any]:
    """What :meth:`Process.evaluate` does, when the program runs: matrix elements, choices and squared diagrams."""
    import jax
    import jax.numpy as jnp

    _register()
    if not jax.config.jax_enable_x64:
        raise TypeError('matrix elements are doubles: jax.config.update("jax_enable_x64", True) before any array')
    if bad != "nan":
        raise ValueError('a program of JAX cannot raise BadEvents; give bad="nan"')
    if helicity is not None:
        raise TypeError("helicity= is not there in a program of JAX")
    if any(asked is True for asked in choices.values()):
        raise TypeError("give random numbers: those of NumPy would be the same in each run of a program of JAX")
    if choices["colors"] is not False and choices["diagrams"] is False:
        raise TypeError("give diagrams=, random numbers, with colors=: flows are chosen by the diagram")
    events = momenta.shape[0]
    arguments = [jnp.asarray(momenta, dtype=jnp.float64), _each(jnp, alpha_s, events)]
    results = [jax.ShapeDtypeStruct((events,), jnp.float64)]
    asked = 0
    for flag, random in zip((_HELICITIES, _COLORS, _DIAGRAMS), choices.values()):
        if random is not False:
            asked |= flag
            arguments.append(_each(jnp, random, events))
            results.append(jax.ShapeDtypeStruct((events,), jnp.int32))
    if amp2:
        asked |= _AMP2
        results.append(jax.ShapeDtypeStruct((process.diagram_count, events), jnp.float64))
    import numpy as np

    call = jax.ffi.ffi_call(_TARGET, results, vmap_method="broadcast_all")
    found = list(call(*arguments, bridge=np.int64(process._bridge), asked=np.int64(asked)))
    rows = found.pop() if amp2 else None
    names = [name for name, random in choices.items() if random is not False]
    return found[0], dict(zip(names, found[1:])), rows


def _each(jnp: Any, values: Any, events: int) -> Any:
    return jnp.broadcast_to(jnp.asarray(values, dtype=jnp.float64), (events,))
