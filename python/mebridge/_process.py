"""Processes."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arguments, _command, _device, _host, _jax, _scheme
from ._arguments import Path
from ._library import Error, Options, check, last_error, lib

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# alpha_s of a process without the parameter aS.
_ALPHA_S = 0.118
_PRECISIONS = {"d": "double", "m": "mixed", "f": "single"}
_LEVELS = dict.fromkeys(("auto", "none", "sse4", "avx2", "512y", "512z"), "")


@dataclass(frozen=True)
class Evaluation:
    """Result of :meth:`Process.evaluate` if more than matrix elements is requested. All indices count from 0."""

    matrix_elements: NDArray[np.float64]
    """|M|^2 in GeV^(4-2n) for n outgoing particles; shape (events,)."""
    helicity: NDArray[np.int32] | None = None
    """Row of :attr:`Process.helicities` chosen for each event; shape (events,)."""
    color: NDArray[np.int32] | None = None
    """Row of :attr:`Process.color_flows` chosen for each event; shape (events,)."""
    diagram: NDArray[np.int32] | None = None
    """Diagram from which the colour flow was chosen; shape (events,)."""
    amp2: NDArray[np.float64] | None = None
    """Squared diagrams as fractions of their sum; shape (events, diagrams)."""


class Parameters(MutableMapping[str, float]):
    """Card parameters by name, such as ``"MDL_MT"``; case and the prefix ``MDL_`` are ignored.

    Masses and widths are in GeV. A new value takes effect, with everything derived from it, at the next evaluation.
    Widths are independent parameters and are not recomputed.

    >>> import mebridge
    >>> process = mebridge.Process("g g > t t~")
    >>> process.parameters["mt"]
    173.0
    >>> process.parameters["mt"] = 172.5
    >>> process.parameters["nothing"]
    Traceback (most recent call last):
        ...
    KeyError: 'mebridge_parameter: there is no parameter nothing; there are MDL_AS, MDL_MT, MDL_WT'
    """

    def __init__(self, process: Process) -> None:
        self._process = process

    def __getitem__(self, name: str) -> float:
        value = ctypes.c_double()
        if not isinstance(name, str) or "\0" in name:
            raise KeyError(name)
        if lib.mebridge_parameter(self._process._bridge, name.encode(), ctypes.byref(value)) != 0:
            raise KeyError(last_error())
        return value.value

    def __setitem__(self, name: str, value: float) -> None:
        process, number = self._process, _arguments.real(f"the parameter {name}", value)
        done: list[int | None] = []
        # Without the lock, a GPU bridge created meanwhile would copy the old value from the CPU bridge and keep it.
        with process._lock:
            before = self[name]
            for bridge in (process._bridge, *process._devices.values()):
                if lib.mebridge_set_parameter(bridge, name.encode(), number) != 0:
                    error = Error(last_error())
                    for other in done:
                        check(lib.mebridge_set_parameter(other, name.encode(), before))
                    raise error
                done.append(bridge)
            # The description holds masses and widths, so it is out of date.
            process._description = None

    def __delitem__(self, name: str) -> None:
        raise TypeError("parameters cannot be removed; set them to 0")

    def __iter__(self) -> Iterator[str]:
        bridge = self._process._bridge
        return (lib.mebridge_parameter_name(bridge, i).decode() for i in range(len(self)))

    def __len__(self) -> int:
        return self._process._count("parameters")

    def __repr__(self) -> str:
        return repr(dict(self))

    @property
    def alpha_s(self) -> float:
        """The strong coupling in the card, or 0.118 if the card has none."""
        return self.get("aS", _ALPHA_S)

    @property
    def alpha_s_changed(self) -> bool:
        """Whether ``alpha_s`` differs from the value in the card."""
        return self.alpha_s != self._process._alpha_s

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


class Process:
    """A squared matrix element.

    Args:
        process: a process in MG5aMC's syntax such as ``"g g > t t~ g"``, followed by ``#n`` for the n-th matrix
            element if it stands for several; a process file (``mebridge import``); or a directory, as for
            :meth:`from_directory`.
        card: a parameter card (SLHA). Default: the card of the MG5aMC output, or the values stored with the process.
        threads: number of threads for one evaluation.
        simd: ``"none"``, ``"sse4"``, ``"avx2"``, ``"512y"`` or ``"512z"``. Default: the best level of the CPU.
        precision: ``"d"``, ``"m"`` or ``"f"``: double, mixed (colour sum in single) or single precision.
        cache: a directory for data that later starts reuse, or ``"off"``. Default: the user's cache.
        model: for a process given by name: a model file (``mebridge model``) or a UFO folder, followed by ``-X`` for
            its ``restrict_X.dat`` or ``-full`` for no restriction. Default: the Standard Model.
        complex_masses: for a process given by name: whether to use the complex-mass scheme, like MG5aMC after
            ``set complex_mass_scheme True``.
        gauge: for a process given by name: ``"unitary"`` or ``"feynman"``.

    Raises:
        Error: if there is no such process; the message gives the reason and a remedy.
    """

    def __init__(
        self,
        process: Path,
        *,
        card: Path | None = None,
        threads: int = 1,
        simd: str | None = None,
        precision: str = "d",
        cache: Path | None = None,
        model: Path | None = None,
        complex_masses: bool = False,
        gauge: str | None = None,
    ) -> None:
        text = _arguments.text("process", process)
        if not text:
            raise Error("which process? Name one such as 'g g > t t~', a process file or a SubProcesses/P* directory")
        _arguments.one_of("precision", precision, _PRECISIONS)
        if simd is not None:
            _arguments.one_of("simd", simd, _LEVELS)
        # Absolute, so that it stays valid if the working directory changes.
        self._source = absolute(text)
        self._card = None if card is None else os.path.abspath(_arguments.text("card", card))
        threads = _arguments.whole("threads", threads, 1, _arguments.MAX_THREADS)
        model = model_path(_scheme.named(model, complex_masses, gauge))

        # Arguments with which a copy is created.
        self._options: dict[str, Any] = {
            "card": self._card,
            "threads": threads,
            "simd": simd,
            "precision": precision,
            "cache": _cache(cache),
            "model": model,
        }

        def encoded(name: str, value: Path | None) -> bytes | None:
            return None if value is None else os.fsencode(_arguments.text(name, value))

        def create(backend: bytes) -> int | None:
            options = Options(
                process=encoded("process", text),
                param_card=encoded("card", card),
                backend=backend,
                simd=encoded("simd", simd) if backend == b"cpu" else None,
                fptype=encoded("precision", precision),
                threads=threads,
                cache=encoded("cache", cache),
                model=encoded("model", model),
            )
            bridge = ctypes.c_void_p()
            with _command.patient(text):
                check(lib.mebridge_create(ctypes.byref(options), 1, ctypes.byref(bridge)))
            return bridge.value

        self._create = create
        self._bridge = create(b"cpu")
        self._delete = weakref.finalize(self, lib.mebridge_delete, self._bridge)
        # Bridges for GPUs by ordinal, created at the first evaluation on each.
        self._devices: dict[int, int | None] = {}
        self._lock = threading.Lock()
        self._description: dict[str, Any] | None = None
        self._alpha_s = self.parameters.alpha_s

    def _values(self) -> dict[str, float]:
        """Returns all parameters: the card's values when the process was created, with later changes."""
        with self._lock:
            return dict(self.parameters)

    def _environment(self) -> dict[str, str]:
        """Returns environment variables that make other programs evaluate this process in the same way."""
        options = {"FPTYPE": "precision", "SIMD": "simd", "CACHE": "cache"}
        switches = {switch: self._options[name] for switch, name in options.items()}
        found = {f"CUDACPP_RUNTIME_{name}": value for name, value in switches.items() if value is not None}
        return {**found, **model_environment(self._options["model"])}

    def _on_device(self, ordinal: int) -> int | None:
        """Returns the bridge for this GPU, with the parameters of this process."""
        with self._lock:
            if ordinal not in self._devices:
                bridge = self._create(f"cuda:{ordinal}".encode())
                weakref.finalize(self, lib.mebridge_delete, bridge)
                for name, value in self.parameters.items():
                    check(lib.mebridge_set_parameter(bridge, name.encode(), value))
                self._devices[ordinal] = bridge
            return self._devices[ordinal]

    def __reduce__(self) -> tuple[Any, ...]:
        """Recreates a copy, also in another Python process, from the same source, options and parameters. Files must
        exist under the same paths."""
        return _recreate, (type(self), self._source, self._options, self._values())

    @classmethod
    def all(cls, process: Path, **options: Any) -> list[Process]:
        """Returns all matrix elements of a process such as ``"p p > t t~ j"``, or of a directory.

        Args:
            process: as for :class:`Process`.
            options: further arguments of :class:`Process`.

        >>> import mebridge
        >>> [process.name for process in mebridge.Process.all("p p > t t~")]
        ['g g > t t~ WEIGHTED<=2', 'u u~ > t t~ WEIGHTED<=2']
        """
        text = _arguments.text("process", process)
        scheme = (options.get("model"), options.get("complex_masses", False), options.get("gauge"))
        environment = model_environment(model_path(_scheme.named(*scheme)))
        count = _command.count(text, environment)
        return [cls(f"{text}#{number + 1}" if count > 1 else text, **options) for number in range(count)]

    @classmethod
    def from_directory(cls, path: Path, element: int | None = None, **options: Any) -> Process:
        """Creates the process of a ``SubProcesses/P*`` directory written by MG5aMC.

        Args:
            path: the directory.
            element: number of the matrix element, from 1, if the directory has several.
            options: further arguments of :class:`Process`.
        """
        text = _arguments.text("path", path)
        if not pathlib.Path(text).is_dir():
            raise Error(f"{text} is no directory; name a SubProcesses/P* directory that MG5aMC wrote")
        if element is not None:
            text += f"#{_arguments.whole('element', element, 1)}"
        return cls(text, **options)

    def __repr__(self) -> str:
        return (
            f"<mebridge.Process {self.name}: {self.legs} legs, {self.diagram_count} diagrams, "
            f"{self._count('helicities')} helicities, {self._count('colors')} colour flows>"
        )

    @property
    def name(self) -> str:
        """Name of the process in MG5aMC."""
        name = lib.mebridge_process_name(self._bridge)
        if name is None:
            raise Error(last_error())
        return str(name.decode())

    def _count(self, what: str) -> int:
        """Returns the number of ``what``: ``legs``, ``diagrams``, ``helicities``, ``colors`` or ``parameters``."""
        count = int(getattr(lib, f"mebridge_{what}")(self._bridge))
        # Negative if the call failed, perhaps after a fork.
        if count < 0:
            raise Error(last_error())
        return count

    @property
    def legs(self) -> int:
        """Number of external legs, incoming ones included."""
        return self._count("legs")

    @property
    def diagram_count(self) -> int:
        """Number of diagrams."""
        return self._count("diagrams")

    @property
    def description(self) -> dict[str, Any]:
        """Everything a sampler needs, in the form of an entry of MadGraph7's ``subprocesses.json``."""
        # A description read while a parameter is being set must not be kept.
        with self._lock:
            if self._description is None:
                text = lib.mebridge_description(self._bridge)
                if text is None:
                    raise Error(last_error())
                self._description = json.loads(text)
            return self._description

    @property
    def pdg(self) -> list[int]:
        """PDG codes of the legs.

        >>> import mebridge
        >>> mebridge.Process("g g > t t~").pdg
        [21, 21, 6, -6]
        """
        return [*self.description["incoming"], *self.description["outgoing"]]

    @property
    def diagrams(self) -> list[dict[str, Any]]:
        """Topologies of the diagrams with a channel: ``propagators`` (PDG codes), ``vertices`` (names of the lines that
        meet: i0, i1, o0, ..., p0, ...) and ``diagrams`` (their numbers, from 0, and the colour flows they allow)."""
        return list(self.description["channels"])

    @functools.cached_property
    def helicities(self) -> NDArray[np.int8]:
        """Helicities of the legs in each helicity combination; shape (helicities, legs)."""
        return _read_only(self.description["helicities"], np.int8)

    @functools.cached_property
    def color_flows(self) -> NDArray[np.int32]:
        """Colour and anticolour tags of the legs in each flow, as in event files; shape (flows, legs, 2)."""
        return _read_only(self.description["color_flows"], np.int32)

    @property
    def parameters(self) -> Parameters:
        """Parameters of the card, which can be read and set by name."""
        return Parameters(self)

    def evaluate(
        self,
        momenta: ArrayLike,
        alpha_s: ArrayLike | None = None,
        *,
        helicities: bool | ArrayLike | None = False,
        colors: bool | ArrayLike | None = False,
        diagrams: bool | ArrayLike | None = False,
        amp2: bool = False,
        helicity: ArrayLike | None = None,
        color_flow: ArrayLike | None = None,
        bad: str = "raise",
    ) -> Any:
        """Evaluates |M|^2 for events: summed over helicities and colours, averaged over those of the initial state and
        with the factor for identical particles, in GeV^(4-2n) for n outgoing particles.

        The GIL is released: other Python threads run meanwhile and may evaluate other processes. Calls for the same
        process wait for each other.

        Args:
            momenta: (E, px, py, pz) in GeV, shape (events, legs, 4) or (legs, 4) for one event; incoming legs first,
                with positive energy. Arrays of doubles are read in place, whatever their strides.
            alpha_s: the strong coupling, one number or shape (events,). Default: the parameter ``aS`` of the card, or
                0.118 if the process has none.
            helicities: whether to choose a helicity for each event: ``True``, or random numbers in [0, 1), one or shape
                (events,). ``True`` draws them from NumPy's ``default_rng()``.
            colors: the same for colour flows.
            diagrams: the same for diagrams; the colour flow is chosen from the diagram.
            amp2: whether to return the squared diagrams.
            helicity: rows of :attr:`helicities`, one or shape (events,): return only the contribution of this helicity
                to the sum.
            color_flow: rows of :attr:`color_flows`, one or shape (events,): return the square of this flow alone, summed
                over helicities, at leading colour (its entry on the diagonal of the colour matrix times the square of its
                amplitude). Flows that differ by a permutation of gluons cost the same small part of their sum; events
                may have different ones. For NumPy arrays, and without choices.
            bad: treatment of events without a matrix element: ``"raise"`` :class:`BadEvents`, or return ``"nan"``.

        Returns:
            The matrix elements, shape (events,), or one number for one event; an :class:`Evaluation` if anything else
            is requested.

        Raises:
            BadEvents: if an event has no matrix element and ``bad`` is ``"raise"``.
            ValueError: if an argument has a wrong shape or value.

        CuPy, PyTorch or JAX momenta in the memory of an NVIDIA GPU are evaluated there, on the library's current
        stream, and the results are arrays of the same library. CuPy or PyTorch converts other GPU arrays with
        ``__dlpack__`` or ``__cuda_array_interface__``. Doubles are read in place; all other arguments are copied there.
        ``bad="raise"`` waits for the GPU; ``bad="nan"`` does not, except with JAX. A negative alpha_s or a row that
        :attr:`helicities` does not have makes an event bad.

        Within ``jax.jit`` and ``jax.vmap`` an evaluation becomes part of the compiled program, on the CPU or an NVIDIA
        GPU, without waiting for the GPU. It needs ``bad="nan"`` and explicit random numbers for choices, and this
        object must outlive the program.

        >>> import mebridge, numpy as np
        >>> process = mebridge.Process("e+ e- > mu+ mu-")
        >>> beam = np.array([[45.0, 0, 0, 45.0], [45.0, 0, 0, -45.0], [45.0, 45.0, 0, 0], [45.0, -45.0, 0, 0]])
        >>> found = process.evaluate(np.stack([beam, beam]), helicities=[0.1, 0.9], amp2=True)
        >>> found.matrix_elements.shape, found.amp2.shape
        ((2,), (2, 2))
        >>> bool(np.allclose(found.amp2.sum(axis=1), 1))
        True
        >>> process.evaluate(1.1 * beam[:3])
        Traceback (most recent call last):
            ...
        ValueError: momenta have the shape (3, 4); this process needs (events, 4, 4)
        """
        alpha_s = self.parameters.alpha_s if alpha_s is None else alpha_s
        traced = _jax.traced(momenta, alpha_s, helicities, colors, diagrams, helicity)
        gpu, momenta = (None, momenta) if traced else _device.library_of(momenta)
        p: Any = momenta if gpu is not None or traced else _arguments.reals("momenta", momenta)
        one = p.ndim == 2
        if one:
            p = p[None]
        if p.ndim != 3 or tuple(p.shape[1:]) != (self.legs, 4):
            shape = tuple(p.shape[1:] if one else p.shape)
            raise ValueError(f"momenta have the shape {shape}; this process needs (events, {self.legs}, 4)")
        if bad not in ("raise", "nan"):
            raise ValueError('bad is "raise" or "nan"')
        choices = {
            name: bool(requested) if requested is None or isinstance(requested, np.bool_) else requested
            for name, requested in (("helicities", helicities), ("colors", colors), ("diagrams", diagrams))
        }
        if color_flow is not None:
            if traced or gpu is not None:
                raise ValueError("color_flow needs momenta in NumPy arrays")
            if amp2 or helicity is not None or any(requested is not False for requested in choices.values()):
                raise ValueError("with color_flow there are no choices, no amp2 and no helicity")
        if traced:
            found, chosen, rows = _jax.evaluate(self, p, alpha_s, choices, amp2, helicity, bad)
        elif gpu is not None:
            found, chosen, rows = _device.evaluate(self, gpu, p, alpha_s, choices, amp2, helicity, bad)
        else:
            found, chosen, rows = _host.evaluate(self, p, alpha_s, choices, amp2, helicity, color_flow, bad)
        if not chosen and rows is None:
            if not one:
                return found
            return float(found[0]) if isinstance(found, np.ndarray) else found[0]
        row, flow, diagram = (chosen.get(name) for name in choices)
        return Evaluation(found, row, flow, diagram, None if rows is None else rows.T)

    def channel_weights(
        self, momenta: ArrayLike, energy: float, channels: Sequence[Mapping[str, Any]] | None = None
    ) -> NDArray[np.float64]:
        """Returns channel weights from products of propagators, as in MG5aMC's ``sde_strategy = 2``; shape (events,
        channels). The weights of an event add up to 1.

        Args:
            momenta: (E, px, py, pz) in GeV, shape (events, legs, 4).
            energy: total energy of both beams in GeV.
            channels: ``vertices`` and ``parameters`` of each channel, in the form of :attr:`diagrams`, the default.

        >>> import mebridge, numpy as np
        >>> process = mebridge.Process("e+ e- > mu+ mu-")
        >>> event = np.array([[45.6, 0, 0, 45.6], [45.6, 0, 0, -45.6], [45.6, 45.6, 0, 0], [45.6, -45.6, 0, 0]])
        >>> [line["propagators"] for line in process.diagrams]
        [[22], [23]]
        >>> process.channel_weights(event[None], 91.2).round(3)
        array([[0.001, 0.999]])
        """
        p = np.ascontiguousarray(_arguments.reals("momenta", momenta), dtype=np.float64)
        if p.ndim != 3 or p.shape[1:] != (self.legs, 4):
            raise ValueError(f"momenta have the shape {p.shape}; this process needs (events, {self.legs}, 4)")
        chosen = self.diagrams if channels is None else channels
        stated = json.dumps(
            [{name: channel[name] for name in ("vertices", "parameters")} for channel in chosen]
        ).encode()
        found = np.empty((len(p), len(chosen)))
        s = _arguments.real("energy", energy) ** 2
        with self._lock:
            status = lib.mebridge_channel_weights(self._bridge, stated, s, len(p), p.ctypes.data, found.ctypes.data)
            check(status)
        return found

    def library(self, path: Path | None = None, *, backend: str = "cpu") -> pathlib.Path:
        """Writes a shared library of this process for MadSpace and MadGraph7 (UMAMI), with the current parameters. A
        card given by the user of that library replaces all of them.

        Args:
            path: the library file; its JSON file is written beside it. Default: a file in a directory that is removed
                with this object.
            backend: ``"cpu"``, or ``"cuda"`` (NVIDIA) or ``"hip"`` (AMD) for arrays in GPU memory.

        Returns:
            The path of the library.
        """
        if backend not in ("cpu", "cuda", "hip"):
            raise ValueError('backend is "cpu", "cuda" or "hip"')
        parameters = self._values()
        with self._lock:
            if path is not None:
                target = pathlib.Path(_arguments.text("path", path))
                _command.umami([self._source], target, self._card, parameters, backend, self._environment())
                return target
            if not hasattr(self, "_folder"):
                self._folder = pathlib.Path(tempfile.mkdtemp(prefix="mebridge-"))
                weakref.finalize(self, shutil.rmtree, str(self._folder), ignore_errors=True)
                self._libraries: dict[Any, pathlib.Path] = {}
            key = backend, tuple(parameters.items())
            if key not in self._libraries:
                target = self._folder / f"{backend}{len(self._libraries)}.so"
                _command.umami([self._source], target, self._card, parameters, backend, self._environment())
                self._libraries[key] = target
            return self._libraries[key]


def absolute(process: str) -> str:
    """Returns a process source with an absolute path if it is a file or a directory; names stay as they are."""
    path, mark, number = process.rpartition("#")
    if not (mark and number.isdecimal()):
        path, mark, number = process, "", ""
    return os.path.abspath(path) + mark + number if os.path.exists(path) else process


def model_path(model: Path | None) -> str | None:
    """Returns the absolute path of a model file or UFO folder, keeping a suffix such as ``-full``."""
    if model is None:
        return None
    text, after = _scheme.apart(_arguments.text("model", model))
    there = os.path.exists(text) or os.path.exists(text.rpartition("-")[0])
    return (os.path.abspath(text) if there else text) + after


def model_environment(model: str | None) -> dict[str, str]:
    """Returns environment variables that give other programs the model, instead of that of this environment."""
    return {"CUDACPP_RUNTIME_MODEL": model or ""}


def _cache(cache: Path | None) -> str | None:
    """Returns the absolute path of a cache directory, or "off"."""
    text = None if cache is None else _arguments.text("cache", cache)
    return os.path.abspath(text) if text and text != "off" else text


def _recreate(cls: type[Process], source: str, options: dict[str, Any], parameters: dict[str, float]) -> Process:
    process = cls(source, **options)
    for name, value in parameters.items():
        if process.parameters[name] != value:
            process.parameters[name] = value
    return process


def _read_only(values: Any, kind: Any) -> NDArray[Any]:
    """Returns a read-only array, which all callers share."""
    array = np.array(values, dtype=kind)
    array.flags.writeable = False
    return array
