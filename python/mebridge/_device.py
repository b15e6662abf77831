"""GPU arrays of CuPy, PyTorch and JAX, evaluated without copies.

Results are arrays of the library of the momenta. A library is imported only if an array needs it.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import sys
from typing import Any

from . import _arguments
from ._library import BadEvents, Sample, check, lib


class _Torch:
    """PyTorch tensors on a CUDA device."""

    def __init__(self, array: Any) -> None:
        self.torch = sys.modules["torch"]
        self.device = array.device
        self.ordinal = array.device.index or 0

    def array(self, values: Any, kind: str) -> Any:
        dtype = self.torch.float64 if kind == "double" else self.torch.int32
        return self.torch.as_tensor(values, dtype=dtype, device=self.device)

    def empty(self, shape: tuple[int, ...], kind: str) -> Any:
        dtype = self.torch.float64 if kind == "double" else self.torch.int32
        return self.torch.empty(shape, dtype=dtype, device=self.device)

    def random(self, events: int) -> Any:
        return self.torch.rand(events, dtype=self.torch.float64, device=self.device)

    def expand(self, array: Any, events: int) -> Any:
        return array.expand(events).contiguous()

    def strides(self, array: Any) -> tuple[int, ...]:
        return tuple(array.stride())

    def pointer(self, array: Any) -> int:
        return int(array.data_ptr())

    def stream(self) -> int:
        return int(self.torch.cuda.current_stream(self.device).cuda_stream)

    # The stream orders the work, so no wait is needed.
    waits = False


class _Cupy:
    """CuPy arrays."""

    def __init__(self, array: Any) -> None:
        self.cupy = sys.modules["cupy"]
        self.ordinal = int(array.device.id)

    def _here(self) -> Any:
        return self.cupy.cuda.Device(self.ordinal)

    def array(self, values: Any, kind: str) -> Any:
        with self._here():
            return self.cupy.asarray(values, dtype="f8" if kind == "double" else "i4")

    def empty(self, shape: tuple[int, ...], kind: str) -> Any:
        with self._here():
            return self.cupy.empty(shape, dtype="f8" if kind == "double" else "i4")

    def random(self, events: int) -> Any:
        with self._here():
            return self.cupy.random.random(events)

    def expand(self, array: Any, events: int) -> Any:
        with self._here():
            return self.cupy.ascontiguousarray(self.cupy.broadcast_to(array, (events,)))

    def strides(self, array: Any) -> tuple[int, ...]:
        return tuple(stride // array.itemsize for stride in array.strides)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def stream(self) -> int:
        with self._here():
            return int(self.cupy.cuda.get_current_stream().ptr)

    waits = False


class _Jax:
    """JAX arrays. JAX does not expose its stream, so each call waits for arrays before and after."""

    def __init__(self, array: Any) -> None:
        self.jax = sys.modules["jax"]
        (self.device,) = array.devices()
        self.ordinal = int(self.device.local_hardware_id or 0)
        if not self.jax.config.jax_enable_x64:
            raise TypeError('matrix elements are doubles: jax.config.update("jax_enable_x64", True) before any array')

    def _here(self) -> Any:
        return self.jax.default_device(self.device)

    def array(self, values: Any, kind: str) -> Any:
        with self._here():
            return self.jax.numpy.asarray(values, dtype="f8" if kind == "double" else "i4")

    def empty(self, shape: tuple[int, ...], kind: str) -> Any:
        # A new buffer without other references, which is written before any code can read it.
        with self._here():
            return self.jax.numpy.zeros(shape, dtype="f8" if kind == "double" else "i4")

    def random(self, events: int) -> Any:
        import numpy as np

        key = self.jax.random.key(int(np.random.default_rng().integers(1 << 63)))
        with self._here():
            return self.jax.random.uniform(key, (events,), dtype="f8")

    def expand(self, array: Any, events: int) -> Any:
        with self._here():
            return self.jax.numpy.broadcast_to(array, (events,))

    def strides(self, array: Any) -> tuple[int, ...]:
        # JAX arrays have no strides: they are contiguous.
        shape = array.shape
        return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))

    def pointer(self, array: Any) -> int:
        array.block_until_ready()
        return int(array.unsafe_buffer_pointer())

    def stream(self) -> int:
        return 0

    waits = True


# DLPack's code for CUDA devices.
_DLPACK_CUDA = 2


def library_of(array: Any) -> tuple[Any, Any]:
    """Returns the library of a GPU array and the array in that library's type; ``None`` and the array for all others.

    Other GPU arrays with ``__dlpack__`` or ``__cuda_array_interface__`` are wrapped without a copy by CuPy or PyTorch,
    preferably one that is already imported.
    """
    module = type(array).__module__.partition(".")[0]
    if module == "torch":
        return (_Torch(array) if array.is_cuda else None), array
    if module == "cupy":
        return _Cupy(array), array
    if module in ("jax", "jaxlib"):
        platforms = {device.platform for device in array.devices()}
        if not platforms & {"gpu", "cuda"}:
            return None, array
        if len(array.devices()) != 1:
            raise TypeError("momenta are spread over several devices; evaluate each part by itself")
        return _Jax(array), array
    device = getattr(array, "__dlpack_device__", None)
    dlpack = device is not None and device()[0] == _DLPACK_CUDA
    if not dlpack and not hasattr(array, "__cuda_array_interface__"):
        return None, array
    for name in sorted(("cupy", "torch"), key=lambda name: name not in sys.modules):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        if dlpack:
            taken = library.from_dlpack(array)
        else:
            taken = library.asarray(array) if name == "cupy" else library.as_tensor(array, device="cuda")
        return (_Cupy if name == "cupy" else _Torch)(taken), taken
    raise TypeError(f"{type(array).__name__} lies in the memory of a GPU; CuPy or PyTorch is needed to take it")


def evaluate(
    process: Any,
    gpu: Any,
    momenta: Any,
    alpha_s: Any,
    choices: dict[str, Any],
    amp2: bool,
    helicity: Any,
    bad: str,
) -> tuple[Any, dict[str, Any], Any]:
    """Implements :meth:`Process.evaluate` in GPU memory; returns matrix elements, choices and squared diagrams."""
    _arguments.judge("momenta", momenta)
    p = gpu.array(momenta, "double")
    events = int(p.shape[0])

    def per_event(name: str, values: Any, kind: str) -> Any:
        _arguments.judge(name, values, kind == "int")
        array = gpu.array(values, kind)
        return array if array.ndim == 1 and array.shape[0] == events and is_dense(array) else gpu.expand(array, events)

    def is_dense(array: Any) -> bool:
        return bool(gpu.strides(array) == (1,))

    couplings = per_event("alpha_s", alpha_s, "double")
    fixed = None if helicity is None else per_event("helicity", helicity, "int")
    random, chosen = {}, {}
    for name, requested in choices.items():
        if requested is False:
            continue
        random[name] = gpu.random(events) if requested is True else per_event(name, requested, "double")
        chosen[name] = gpu.empty((events,), "int")
    if "colors" in chosen and "diagrams" not in chosen:
        random["diagrams"] = gpu.random(events)
    found = gpu.empty((events,), "double")
    rows = gpu.empty((process.diagram_count, events), "double") if amp2 else None

    def at(array: Any) -> int | None:
        return None if array is None or events == 0 else gpu.pointer(array)

    sample = Sample.of(at, events, p, gpu.strides(p), couplings, random, chosen, fixed, found, rows)
    bridge = process._on_device(gpu.ordinal)
    check(lib.mebridge_evaluate_on_device(bridge, ctypes.byref(sample), gpu.stream()))
    if gpu.waits:
        check(lib.mebridge_wait_for_device(bridge))
    if bad == "raise" and (count := int((found != found).sum())):
        raise BadEvents(
            f"{count} of {events} events have no matrix element: check momenta, masses in the card, alpha_s and rows "
            'of helicities; bad="nan" gives NaN for them'
        )
    return found, chosen, rows
