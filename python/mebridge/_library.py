"""libmebridge, through its C interface (include/mebridge.h)."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable, Sequence
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_bool,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any


class Error(Exception):
    """Base class of this package's errors; the message states the problem and how to fix it."""

    def __init__(self, message: str = "", code: str = "python") -> None:
        super().__init__(message)
        #: Kind of error, as given by ``mebridge_last_error_code`` of the C interface: ``"no_gpu"``, ``"io"``, ``"run"``
        #: and so on; ``"python"`` for errors detected in this package.
        self.code = code


class Refused(Error):
    """An error that every process would raise, so that trying again is useless."""


class Sized(ctypes.Structure):
    """A struct with its size as the first member; members not given are zero."""

    def __init__(self, **members: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **members)


class Options(Sized):
    """``struct mebridge_options``."""

    _fields_ = [
        ("size", c_size_t),
        ("process", c_char_p),
        ("param_card", c_char_p),
        ("backend", c_char_p),
        ("simd", c_char_p),
        ("fptype", c_char_p),
        ("threads", c_uint32),
        ("all_helicities", c_bool),
        ("cache", c_char_p),
        ("model", c_char_p),
    ]


class BadEvents(Error, ValueError):
    """Some events cannot be evaluated: momenta are not finite, not on their mass shells or not conserved.

    The message describes the first such event.
    """


class Sample(Sized):
    """``struct mebridge_sample``."""

    _fields_ = [
        ("size", c_size_t),
        ("events", c_size_t),
        ("momenta", c_void_p),
        ("momenta_strides", c_ssize_t * 3),
        ("alpha_s", c_void_p),
        ("random_helicity", c_void_p),
        ("random_color", c_void_p),
        ("random_diagram", c_void_p),
        ("fixed_helicity", c_void_p),
        ("fixed_diagram", c_void_p),
        ("matrix_elements", c_void_p),
        ("helicity", c_void_p),
        ("color", c_void_p),
        ("diagram", c_void_p),
        ("amp2", c_void_p),
        ("amp2_stride", c_size_t),
        ("bad_events", c_size_t),
        ("fixed_color", c_void_p),
    ]

    @classmethod
    def of(
        cls,
        address: Callable[[Any], int | None],
        events: int,
        momenta: Any,
        strides: Sequence[int],
        alpha_s: Any,
        random: dict[str, Any],
        chosen: dict[str, Any],
        helicity: Any,
        found: Any,
        rows: Any,
        color_flow: Any = None,
    ) -> Sample:
        """Creates a sample from arrays (or ``None``), given a function that returns their addresses. ``random`` and
        ``chosen`` have the keys ``helicities``, ``colors`` and ``diagrams``."""
        return cls(
            events=events,
            momenta=address(momenta),
            momenta_strides=(c_ssize_t * 3)(*strides),
            alpha_s=address(alpha_s),
            random_helicity=address(random.get("helicities")),
            random_color=address(random.get("colors")),
            random_diagram=address(random.get("diagrams")),
            fixed_helicity=address(helicity),
            matrix_elements=address(found),
            helicity=address(chosen.get("helicities")),
            color=address(chosen.get("colors")),
            diagram=address(chosen.get("diagrams")),
            amp2=address(rows),
            amp2_stride=events,
            fixed_color=address(color_flow),
        )


# Callbacks: take an answer, cut events, bias events, receive messages of a run, finish a part, and perform parts.
TAKE = CFUNCTYPE(None, c_void_p, c_char_p)
CUT = CFUNCTYPE(c_int32, c_void_p, c_uint32, c_size_t, c_size_t, POINTER(c_double), POINTER(c_bool))
BIAS = CFUNCTYPE(c_int32, c_void_p, c_uint32, c_size_t, c_size_t, POINTER(c_double), POINTER(c_double))
TELL = CFUNCTYPE(c_int32, c_void_p, c_char_p)
DONE = CFUNCTYPE(c_int32, c_void_p, c_uint64, c_char_p)
PERFORM = CFUNCTYPE(c_int32, c_void_p, c_char_p, DONE, c_void_p)


class Hooks(Sized):
    """``struct MebridgeRunHooks``."""

    _fields_ = [
        ("size", c_size_t),
        ("context", c_void_p),
        ("tell", TELL),
        ("cut", CUT),
        ("perform", PERFORM),
        ("bias", BIAS),
    ]


def library_path() -> pathlib.Path:
    """Returns the path of the shared library; ``MEBRIDGE_LIBRARY`` overrides it."""
    given = os.environ.get("MEBRIDGE_LIBRARY")
    return pathlib.Path(given) if given else pathlib.Path(__file__).with_name("libmebridge.so")


def _unusable(what: str) -> Error:
    if os.environ.get("MEBRIDGE_LIBRARY"):
        return Error(f"{what}; correct MEBRIDGE_LIBRARY, or unset it for the library of this package")
    return Error(f"{what}; install the package again, or name the library in MEBRIDGE_LIBRARY")


def _why(path: pathlib.Path, message: str) -> str:
    """Returns why a file cannot be loaded. The loader itself only reports files as too short or as having an invalid
    ELF header."""
    try:
        with open(path, "rb") as file, open("/proc/self/exe", "rb") as running:
            head, expected = file.read(20), running.read(20)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if not head.startswith(b"\x7fELF"):
        return f"{path} is no library" if head else f"{path} is empty"
    # Address width and byte order, and the machine.
    if (head[4:6], head[18:]) != (expected[4:6], expected[18:]):
        return f"{path} is a library for another kind of machine"
    return f"{path} cannot be loaded: {message.removeprefix(f'{os.path.abspath(path)}: ')}"


def _load() -> ctypes.CDLL:
    path = library_path()
    try:
        if not path.is_file():
            raise _unusable(f"{path} is {'no file' if path.exists() else 'missing'}")
        # By absolute path: the loader searches other folders for a bare name. CDLL releases the GIL during calls.
        library = ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        raise _unusable(_why(path, str(error))) from None
    functions = {
        "mebridge_last_error_code": (c_char_p, []),
        "mebridge_last_error": (c_char_p, []),
        "mebridge_version": (c_char_p, []),
        "mebridge_create": (c_int32, [POINTER(Options), c_size_t, POINTER(c_void_p)]),
        "mebridge_delete": (c_int32, [c_void_p]),
        "mebridge_evaluate": (c_int32, [c_void_p, POINTER(Sample)]),
        "mebridge_evaluate_on_device": (c_int32, [c_void_p, POINTER(Sample), c_void_p]),
        "mebridge_wait_for_device": (c_int32, [c_void_p]),
        "mebridge_xla": (c_void_p, [c_void_p]),
        "mebridge_xla_cuda": (c_void_p, [c_void_p]),
        "mebridge_read_lhe": (c_int32, [c_char_p, c_void_p, c_void_p, c_bool]),
        "mebridge_make_events": (c_int32, [c_char_p, POINTER(Hooks), TAKE, c_void_p]),
        "mebridge_check_events": (c_int32, [c_char_p, TAKE, c_void_p]),
        "mebridge_events_open_with": (c_int32, [c_char_p, POINTER(Hooks), POINTER(c_void_p)]),
        "mebridge_events_call": (c_int32, [c_void_p, c_char_p, TAKE, c_void_p]),
        "mebridge_events_weigh": (c_int32, [c_void_p, c_uint32, c_uint64, c_size_t, c_size_t, c_void_p, c_void_p]),
        "mebridge_description": (c_char_p, [c_void_p]),
        "mebridge_channel_weights": (c_int32, [c_void_p, c_char_p, c_double, c_size_t, c_void_p, c_void_p]),
        "mebridge_process_name": (c_char_p, [c_void_p]),
        "mebridge_legs": (c_int64, [c_void_p]),
        "mebridge_diagrams": (c_int64, [c_void_p]),
        "mebridge_helicities": (c_int64, [c_void_p]),
        "mebridge_colors": (c_int64, [c_void_p]),
        "mebridge_born_open": (c_int32, [c_char_p, c_char_p, c_char_p, POINTER(c_void_p)]),
        "mebridge_born_emissions": (c_char_p, [c_void_p, c_int32]),
        "mebridge_born_close": (None, [c_void_p]),
        "mebridge_born_description": (c_char_p, [c_void_p]),
        "mebridge_born_evaluate": (c_int32, [c_void_p, c_size_t] + 6 * [c_void_p]),
        "mebridge_parameters": (c_int64, [c_void_p]),
        "mebridge_parameter_name": (c_char_p, [c_void_p, c_size_t]),
        "mebridge_parameter": (c_int32, [c_void_p, c_char_p, POINTER(c_double)]),
        "mebridge_set_parameter": (c_int32, [c_void_p, c_char_p, c_double]),
    }
    for name, (result, arguments) in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise _unusable(f"{path} is no library of this version of mebridge, it has no {name}") from None
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def last_error() -> str:
    """Returns the message of the last call that failed in this thread."""
    return str(lib.mebridge_last_error().decode())


def check(status: int) -> None:
    """Raises the library's error unless ``status`` is 0."""
    if status != 0:
        raise Error(last_error(), lib.mebridge_last_error_code().decode())


def version() -> str:
    """Returns the version of the library."""
    return str(lib.mebridge_version().decode())
