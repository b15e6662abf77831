"""Whether MadSpace can use GPUs: it does not ask, and ends the interpreter where it cannot."""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any

from ._library import Error, Options, check as check_status, lib

# Any process that a GPU evaluates: its bridge says what is wrong with the GPU.
_PROCESS = b"e+ e- > mu+ mu-"


def check(madspace: Any, devices: list[str]) -> None:
    """That there are these GPUs, and what MadSpace needs for them."""
    for name in devices:
        number = name.partition(":")[2] or "0"
        bridge = ctypes.c_void_p()
        options = Options(process=_PROCESS, backend=f"cuda:{number}".encode())
        try:
            check_status(lib.mebridge_create(ctypes.byref(options), 1, ctypes.byref(bridge)))
        except Error as error:
            raise Error(f"{name} cannot be used (device=\"cpu\" needs no GPU): {error}") from None
        lib.mebridge_delete(bridge)
    library = pathlib.Path(madspace.__file__).with_name("lib") / "libmadspace_cuda.so"
    if library.is_file():
        try:
            ctypes.CDLL(str(library))
        except OSError as error:
            raise Error(
                f"MadSpace cannot use GPUs: {error}; cuBLAS 12 (pip install nvidia-cublas-cu12) must lie where the "
                "loader looks (LD_LIBRARY_PATH)"
            ) from None
