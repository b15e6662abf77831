"""Evaluation within compiled JAX programs, by XLA's foreign-function interface; the library has the handlers."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from . import _arguments
from ._library import Error, lib

_TARGET = "mebridge_evaluate"
# Flags for results besides matrix elements, as in crates/capi/src/xla.rs.
_HELICITIES, _COLORS, _DIAGRAMS, _AMP2 = 1, 2, 4, 8


def traced(*arrays: Any) -> bool:
    """Returns whether one of the arrays is a tracer of a JAX program that is being compiled."""
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(array, jax.core.Tracer) for array in arrays)


@functools.cache
def _register() -> None:
    import jax

    if not hasattr(jax, "ffi"):
        raise Error(f"JAX {jax.__version__} has no jax.ffi; install 0.5 or later")
    for platform, function in (("cpu", lib.mebridge_xla), ("CUDA", lib.mebridge_xla_cuda)):
        handler = jax.ffi.pycapsule(ctypes.cast(function, ctypes.c_void_p).value)
        jax.ffi.register_ffi_target(_TARGET, handler, platform=platform)


def _devices(process: Any) -> tuple[list[int], str]:
    """Returns bridges by GPU ordinal, 0 for GPUs without one, and the reason for missing ones. While tracing it is not
    known whether the program will run on a GPU, so a GPU that cannot evaluate this process is no error here."""
    import jax

    bridges: list[int] = []
    try:
        for device in jax.local_devices(backend="cuda"):
            ordinal = int(device.local_hardware_id or 0)
            bridges += [0] * (ordinal + 1 - len(bridges))
            bridges[ordinal] = process._on_device(ordinal)
    except (RuntimeError, Error) as refused:
        # JAX raises RuntimeError if it has no CUDA.
        return bridges, str(refused)
    return bridges, "JAX did not have it when the program was traced"


def evaluate(
    process: Any, momenta: Any, alpha_s: Any, choices: dict[str, Any], amp2: bool, helicity: Any, bad: str
) -> tuple[Any, dict[str, Any], Any]:
    """Adds an evaluation to the program; returns matrix elements (events,), choices by name (events,) and squared
    diagrams (diagrams, events) or ``None``.

    Args:
        momenta: (events, legs, 4) in GeV.
        alpha_s: one number or (events,).
        choices: random numbers, one or (events,), or ``False``, for ``helicities``, ``colors`` and ``diagrams``.
    """
    import jax
    import jax.numpy as jnp

    _register()
    if not jax.config.jax_enable_x64:
        raise TypeError('matrix elements are doubles: jax.config.update("jax_enable_x64", True) before any array')
    if bad != "nan":
        raise ValueError('a program of JAX cannot raise BadEvents; give bad="nan"')
    if helicity is not None:
        raise TypeError("helicity= is not there in a program of JAX")
    if any(requested is True for requested in choices.values()):
        raise TypeError("give random numbers: those of NumPy would be the same in each run of a program of JAX")
    if choices["colors"] is not False and choices["diagrams"] is False:
        raise TypeError("give diagrams=, random numbers, with colors=: flows are chosen by the diagram")
    events = momenta.shape[0]
    arguments = [_doubles(jnp, "momenta", momenta), _each(jnp, "alpha_s", alpha_s, events)]
    results = [jax.ShapeDtypeStruct((events,), jnp.float64)]
    requested = 0
    for flag, (name, random) in zip((_HELICITIES, _COLORS, _DIAGRAMS), choices.items()):
        if random is not False:
            requested |= flag
            arguments.append(_each(jnp, name, random, events))
            results.append(jax.ShapeDtypeStruct((events,), jnp.int32))
    if amp2:
        requested |= _AMP2
        results.append(jax.ShapeDtypeStruct((process.diagram_count, events), jnp.float64))
    import numpy as np

    call = jax.ffi.ffi_call(_TARGET, results, vmap_method="broadcast_all")
    bridges, refused = _devices(process)
    attributes = {
        "requested": np.int64(requested),
        "bridge": np.int64(process._bridge),
        "devices": np.array(bridges, dtype=np.int64),
        "refused": refused,
    }
    found = list(call(*arguments, **attributes))
    rows = found.pop() if amp2 else None
    names = [name for name, random in choices.items() if random is not False]
    return found[0], dict(zip(names, found[1:])), rows


def _doubles(jnp: Any, name: str, values: Any) -> Any:
    taken = jnp.asarray(values)
    _arguments.judge(name, taken)
    return taken.astype(jnp.float64)


def _each(jnp: Any, name: str, values: Any, events: int) -> Any:
    return jnp.broadcast_to(_doubles(jnp, name, values), (events,))
