"""The engine in a process of :mod:`mebridge._worker`: runs, or parts of runs, by the library (docs/engine.md)."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

# No module that imports NumPy: that takes longer than a short run, and only functions of a user and networks need it.
from ._library import BIAS, CUT, PERFORM, TAKE, TELL, Hooks, check, lib

if TYPE_CHECKING:
    import numpy as np

# Files in the folder of a survey: the survey, and temporarily the parameters of networks.
_SURVEY, _PARAMETERS = "survey", "parameters"
# Name of the sampler with networks.
NETWORKS = "madnis"

# User functions as they are sent: for `cut` and `bias` the serialised function and its name.
Functions = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Part:
    """A part of a run."""

    number: int
    """Number of the round; 0 for the survey."""
    settings: Mapping[str, Any]
    folder: str
    """Folder for its files."""
    survey: str | None
    """Folder with the mappings for a round; ``None`` for the survey."""


def parts(wanted: Mapping[str, Any]) -> list[Part]:
    """Returns the parts requested by the callback `perform` of `mebridge_make_events`."""
    if "part" in wanted:
        return [Part(0, wanted["part"]["survey"], wanted["folder"], None)]
    return [Part(of["number"], of["settings"], of["folder"], wanted["survey"]) for of in wanted["rounds"]]


class _Calls:
    """Library calls with Python callbacks. Exceptions of callbacks must not pass through the library, so they are kept
    and raised after the call."""

    def __init__(self, functions: Functions) -> None:
        self._failed: BaseException | None = None
        self._functions: dict[str, Callable[..., Any]] = {}
        if functions:
            from ._cut_function import Called, unpacked

            for what, (text, name) in functions.items():
                self._functions[what] = Called(unpacked(text, name, what), name, what)
        self.cut = CUT(self.guarded(self._passes)) if "cut" in functions else CUT()
        self.bias = BIAS(self.guarded(self._biases)) if "bias" in functions else BIAS()

    def guarded(self, function: Callable[..., None]) -> Callable[..., int]:
        """Wraps a function as a callback that returns 0 on success and 1 after an exception."""

        def called(*arguments: Any) -> int:
            try:
                function(*arguments)
            except BaseException as error:
                self._failed = error
                return 1
            return 0

        return called

    def check(self, status: int) -> None:
        """Raises the exception of a callback, or the library's error."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
        check(status)

    def answer(self, function: Callable[..., int], *arguments: Any) -> str:
        """Calls a library function and returns its answer, JSON."""
        found: list[bytes] = []
        self.check(function(*arguments, TAKE(lambda _, answer: found.append(bytes(answer))), None))
        return found[0].decode()

    def _passes(self, _: Any, element: int, events: int, legs: int, momenta: Any, passes: Any) -> None:
        """Applies the user's cut to events."""
        import numpy as np

        given = np.ctypeslib.as_array(momenta, (events, legs, 4)).copy()
        np.ctypeslib.as_array(passes, (events,))[:] = self._functions["cut"](given)

    def _biases(self, _: Any, element: int, events: int, legs: int, momenta: Any, biases: Any) -> None:
        """Applies the user's bias to events."""
        import numpy as np

        given = np.ctypeslib.as_array(momenta, (events, legs, 4)).copy()
        np.ctypeslib.as_array(biases, (events,))[:] = self._functions["bias"](given)


class Engine:
    """Functions that the parent process calls.

    Args:
        say: sends a message to the parent.
        heard: stream of the parent's answers, one per line.
    """

    def __init__(self, say: Callable[[str, Any], None], heard: IO[str]) -> None:
        self._say, self._heard = say, heard
        self._parts: Parts | None = None

    def check(self, spec: Mapping[str, Any]) -> Any:
        """Returns the answer of `mebridge_check_events` for a run by cards."""
        return json.loads(_Calls({}).answer(lib.mebridge_check_events, _json(spec)))

    def run(self, request: Mapping[str, Any], functions: Functions, sampler: str, elsewhere: bool) -> Any:
        """Makes events and returns the answer of `mebridge_make_events`.

        Args:
            request: the request for `mebridge_make_events`.
            functions: user functions.
            sampler: sampler of phase-space points.
            elsewhere: whether the parent performs the parts.
        """
        calls = _Calls(functions)

        def tell(_: Any, text: bytes) -> None:
            ((kind, content),) = json.loads(text).items()
            self._say(kind, content)
            if kind in ("check_weights", "weigh"):
                self._hear()

        def perform(_: Any, text: bytes, done: Callable[[Any, int, bytes], int], context: Any) -> None:
            wanted = json.loads(text)
            here = self._here(wanted, request, functions, sampler)
            for number, answer in self._elsewhere(wanted) if elsewhere else here:
                taken = done(context, number, answer.encode())
                if elsewhere:
                    self._say("taken", taken)
                if taken:
                    return

        hooks = Hooks(tell=TELL(calls.guarded(tell)), cut=calls.cut, bias=calls.bias)
        if elsewhere or sampler == NETWORKS:
            hooks.perform = PERFORM(calls.guarded(perform))
        return json.loads(calls.answer(lib.mebridge_make_events, _json(request), ctypes.byref(hooks)))

    def _elsewhere(self, wanted: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
        self._say("perform", wanted)
        while (given := self._hear()) is not None:
            yield given

    def _here(
        self, wanted: Mapping[str, Any], request: Mapping[str, Any], functions: Functions, sampler: str
    ) -> Iterator[tuple[int, str]]:
        if self._parts is None:
            self.open(wanted["plan"], request["spec"]["threads"], functions, sampler)
        for part in parts(wanted):
            yield part.number, self.perform(part.settings, part.folder, part.survey)

    def _hear(self) -> Any:
        line = self._heard.readline()
        if not line:
            # The parent has closed the stream.
            os._exit(1)
        return json.loads(line)

    def open(self, plan: str, threads: int, functions: Functions, sampler: str) -> None:
        """Opens a plan; :meth:`perform` performs its parts."""
        self._parts = Parts(plan, threads, functions, sampler)

    def perform(self, settings: Mapping[str, Any], folder: str, survey: str | None) -> str:
        """Performs a part; see :meth:`Parts.perform`."""
        assert self._parts is not None
        return self._parts.perform(settings, folder, survey)


class Parts:
    """An open plan, whose parts can be performed.

    Args:
        plan: the plan file written by `mebridge_make_events`.
    """

    def __init__(self, plan: str, threads: int, functions: Functions, sampler: str) -> None:
        self._calls, self._threads, self._sampler = _Calls(functions), threads, sampler
        self._handle = ctypes.c_void_p()
        if sampler == NETWORKS:
            from . import _networks

            _networks.check()
        opening = {"plan": plan, "threads": threads, "cut": functions["cut"][1] if "cut" in functions else None}
        hooks = Hooks(cut=self._calls.cut, bias=self._calls.bias)
        opened = lib.mebridge_events_open_with(_json(opening), ctypes.byref(hooks), ctypes.byref(self._handle))
        self._calls.check(opened)

    def perform(self, settings: Mapping[str, Any], folder: str, survey: str | None) -> str:
        """Makes the survey, or a round with the survey in a folder; returns the argument for `done` of
        `mebridge_make_events`."""
        if survey is not None:
            return self._call(part={"round": settings, "folder": folder, "survey": survey})
        found = self._call(part={"survey": settings, "folder": folder})
        if self._sampler == NETWORKS:
            return self._trained(settings, pathlib.Path(folder), json.loads(found))
        return found

    def _call(self, **call: Any) -> str:
        return self._calls.answer(lib.mebridge_events_call, self._handle, _json(call))

    def _trained(self, settings: Mapping[str, Any], folder: pathlib.Path, surveyed: dict[str, Any]) -> str:
        """Trains networks after a survey. A channel uses its network if it is better than the grid alone. The result
        replaces the survey file; the cross section remains that of the survey's points."""
        from . import _networks

        loaded = json.loads(self._call(load={"file": str(folder / _SURVEY)}))
        channels = [(float(source["share"]), int(source["dimensions"])) for source in loaded["sources"]]
        trained = _networks.train(self._weights, channels, settings["events"], settings["seed"], self._threads)
        parameters = folder / _PARAMETERS
        parameters.write_bytes(trained.parameters.astype("<f4").tobytes())
        call = {"settings": settings, "networks": trained.of, "shapes": trained.shapes, "parameters": str(parameters)}
        found = json.loads(self._call(networks={**call, "folder": str(folder)}))
        parameters.unlink()
        tried = [i for i, of in enumerate(trained.of) if of is not None]
        if grids := sum(not found["sources"][i]["network"] for i in tried):
            surveyed["notices"].append(f"{grids} of {len(tried)} channels keep their grids: no network is better")
        return json.dumps(surveyed)

    def _weights(self, channel: int, first: int, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns the weights of points with these random numbers; shape (points,)."""
        import numpy as np

        numbers = np.ascontiguousarray(numbers, dtype="f8")
        count, each = numbers.shape
        weights = np.empty(count)
        of = channel, first, count, each - 1, numbers.ctypes.data, weights.ctypes.data
        self._calls.check(lib.mebridge_events_weigh(self._handle, *of))
        return weights


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()
