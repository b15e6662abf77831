"""GPUs of MadSpace: whether it can use them, which it does not ask and ends the interpreter where it cannot; and their
code, which it would have compiled one matrix element after the other."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import pathlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ._library import Error, Options, check as check_status, lib

# Any process that a GPU evaluates: its bridge says what is wrong with the GPU.
_PROCESS = b"e+ e- > mu+ mu-"


def check(madspace: Any, devices: list[str]) -> None:
    """That there are these GPUs, and what MadSpace needs for them."""
    for name in devices:
        kind, _, number = name.partition(":")
        bridge = ctypes.c_void_p()
        options = Options(process=_PROCESS, backend=f"{kind}:{number or 0}".encode())
        try:
            check_status(lib.mebridge_create(ctypes.byref(options), 1, ctypes.byref(bridge)))
        except Error as error:
            raise Error(f"{name} cannot be used (device=\"cpu\" needs no GPU): {error}") from None
        lib.mebridge_delete(bridge)
    needs = {"cuda": "cuBLAS 12 (pip install nvidia-cublas-cu12)", "hip": "the libraries of ROCm"}
    for kind in {name.partition(":")[0] for name in devices}:
        library = pathlib.Path(madspace.__file__).with_name("lib") / f"libmadspace_{kind}.so"
        if library.is_file():
            try:
                ctypes.CDLL(str(library))
            except OSError as error:
                raise Error(
                    f"MadSpace cannot use GPUs: {error}; {needs[kind]} must lie where the loader looks (LD_LIBRARY_PATH)"
                ) from None


@contextlib.contextmanager
def compiled(libraries: Sequence[str], devices: Sequence[str]) -> Iterator[None]:
    """The code of all matrix elements for all GPUs is there, compiled side by side on the cores that there are.

    MadSpace loads one library after the other. It finds the code of those that are loaded already.
    """
    tasks = list(itertools.product(libraries, devices))
    with ThreadPoolExecutor(min(len(tasks), len(os.sched_getaffinity(0)))) as pool:
        loaded = list(pool.map(lambda task: _initialize(*task), tasks))
    try:
        yield
    finally:
        for functions, handle in loaded:
            functions.umami_free(handle)


def _initialize(library: str, device: str) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    # A library takes the GPU that its caller works with: for MadSpace's thread that is the primary context of a GPU, with
    # HIP the current one.
    kind, _, number = device.partition(":")
    ordinal = int(number or "0")
    if kind == "hip":
        # The one that MadSpace's own library has loaded.
        if ctypes.CDLL("libamdhip64.so.6").hipSetDevice(ordinal):
            raise Error(f"{device} cannot be made current")
    else:
        driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        if driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal):
            raise Error(f"{device} cannot be used: it has no primary context")
        driver.cuCtxSetCurrent(context)
    functions, handle = ctypes.CDLL(library), ctypes.c_void_p()
    if functions.umami_initialize(ctypes.byref(handle), b""):
        functions.mebridge_last_error.restype = ctypes.c_char_p
        raise Error(f"{device} does not evaluate the process: {functions.mebridge_last_error().decode(errors='replace')}")
    return functions, handle
