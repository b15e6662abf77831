"""A survey and rounds of events by the library's own engine (docs/engine.md), in the process that
:mod:`mebridge._worker` starts."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import pathlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _allowed, _cuts, _cut_function, _elements, _finite, _lhe, _meta, _named_cuts, _records, _scales
from ._densities import Coupling, Densities
from ._elements import Element
from ._library import Error, check, lib
from ._survey import POINTS

# What a survey found, beside its points.
_SURVEY = "survey"
_TAKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
_CUT = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_bool),
)


class Generator:
    """Events of a run. Arguments are those of :class:`mebridge._generator.Generator`, which has them by MadSpace."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._handle = ctypes.c_void_p()
        self._counts = [0, 0]

    def build(
        self,
        libraries: list[str],
        threads: int,
        pdf: str | None,
        coupling: tuple[list[float], list[float]],
        energy: float,
        scale: float | str | Mapping[str, Any],
        scale_factor: float,
        cuts: Mapping[str, float],
        alpha_qed: float = 0.0,
        whole: Sequence[Mapping[str, Any]] | None = None,
        cut: Sequence[str] | None = None,
        bwcutoff: float = _named_cuts.BW_CUTOFF,
        forced: Sequence[int] = (),
        excluded: Sequence[int] = (),
        **_: Any,
    ) -> list[tuple[list[int], int]]:
        """Opens the run.

        Args:
            whole: of each matrix element, ``windows`` and ``rules`` of a run card, in the place of cuts by name.
        """
        elements = self._read(libraries)
        densities = None if pdf is None else Densities.read(pdf)
        table = Coupling(*map(tuple, coupling))
        legs = [_allowed.masses(element, energy) for element in elements]
        _allowed.check_beams(elements, legs, pdf is not None)
        rules: list[Any] = [[] for _ in elements]
        if whole is None:
            _finite.by_name(elements, legs, cuts)
            windows = [
                [*_named_cuts.windows(element.flavor["options"][0], cuts), *_named_cuts.on_shell(element)]
                for element in elements
            ]
        else:
            windows = [[_cuts.Window(**window) for window in of["windows"]] for of in whole]
            rules = [of["rules"] for of in whole]
            _finite.by_run_card(elements, legs, windows)
        knots = None if densities is None else densities.knots()
        judge = _allowed.Judge(energy, knots, table, scale, cuts if whole is None else None)
        for i, (element, of) in enumerate(zip(elements, windows)):
            windows[i] = judge.windows(element, legs[i], of, {code for pair in element.options for code in pair})
        self._said = _said(elements[0], windows[0], cuts if whole is None else None)
        asked = _scales.as_mapping(scale)
        run = {
            "energy": energy,
            "densities": pdf,
            "alpha_s": [table.scales, table.values],
            "scale": {**asked, "factor": scale_factor},
            "elements": [
                {
                    "mirrored": bool(element.flavor["mirror"]),
                    "windows": [_window(window) for window in windows[i]],
                    "rules": rules[i],
                    "propagators": [channel["propagators"] for channel in element.channels],
                }
                for i, element in enumerate(elements)
            ],
            "threads": threads,
            "widths": bwcutoff,
            # On a GPU a library takes its time to begin.
            "alpha_qed": _meta.alpha_qed([pathlib.Path(library) for library in libraries]) or alpha_qed,
            "forced": [abs(code) for code in forced],
            "excluded": list(excluded),
        }
        opened = {
            "matrix_elements": [[str(element.library), element.flavor["index"]] for element in elements],
            "run": run,
        }
        self._function = None if cut is None else _cut_function.Cut(_cut_function.unpacked(*cut), cut[1])
        if self._function is not None:
            self._function.try_([list(of) for of in legs])
        self._failed: BaseException | None = None
        self._callback = _CUT(self._passes) if self._function is not None else _CUT()
        self._elements = elements
        text = json.dumps(opened, allow_nan=False).encode()
        check(lib.mebridge_events_open(text, self._callback, None, ctypes.byref(self._handle)))
        return []

    def _read(self, libraries: Iterable[str]) -> list[Element]:
        return [element for library in libraries for element in _elements.read(pathlib.Path(library))]

    def _passes(self, _: Any, element: int, events: int, legs: int, momenta: Any, passes: Any) -> int:
        """Which events pass the function of the caller. An error must not go through the library."""
        assert self._function is not None
        try:
            given = np.ctypeslib.as_array(momenta, (events, legs, 4)).copy()
            kept = self._function(given)
            self._counts[0] += events
            self._counts[1] += int(kept.sum())
            np.ctypeslib.as_array(passes, (events,))[:] = kept
        except BaseException as error:
            self._failed = error
            return 1
        return 0

    def _call(self, **call: Any) -> dict[str, Any]:
        found: list[bytes] = []
        take = _TAKE(lambda _, answer: found.append(bytes(answer)))
        status = lib.mebridge_events_call(self._handle, json.dumps(call).encode(), take, None)
        if (failed := self._failed) is not None:
            self._failed = None
            raise failed
        check(status)
        answer: dict[str, Any] = json.loads(found[0])
        return answer

    def survey(self, part: str, events: int, overweight: float, seed: int, precision: float | None) -> dict[str, Any]:
        """Surveys the whole run; what is found is written into a folder."""
        settings = {"events": events, "overweight": overweight, "seed": seed, "precision": precision}
        folder = pathlib.Path(part)
        found = self._call(survey={"settings": settings, "file": str(folder / _SURVEY)})
        self._warn(found)
        written = {
            "points": found["points"],
            "elements": [source["elements"] for source in found["sources"]],
            "shares": [source["share"] for source in found["sources"]],
            "measured": [source["sums"][:3] for source in found["sources"]],
        }
        (folder / POINTS).write_text(json.dumps(written))
        return {}

    def _warn(self, found: Mapping[str, Any]) -> None:
        """Says which matrix elements have no events."""
        there = {element for source in found["sources"] for element in source["elements"]}
        for number, element in enumerate(self._elements):
            if number not in there:
                codes = " ".join(map(str, element.flavor["options"][0]))
                warnings.warn(f"no point of {codes} passes the cuts ({self._said}): it counts as 0", stacklevel=3)

    def load(self, survey: str) -> None:
        """Takes what a survey wrote."""
        found = self._call(load={"file": str(pathlib.Path(survey) / _SURVEY)})
        self._particles = int(found["particles"])

    def round(self, part: str, events: int, overweight: float, seed: int) -> dict[str, Any]:
        """Makes so many events, in a file `events.npy` of a folder.

        Returns:
            What :meth:`mebridge._generator.Generator.round` gives.
        """
        output = pathlib.Path(part) / "events.npy"
        layout = _records.layout(self._particles)
        with open(output, "wb") as file:
            head = {"descr": np.lib.format.dtype_to_descr(layout), "fortran_order": False, "shape": (events,)}
            np.lib.format.write_array_header_2_0(file, head)
        settings = {"events": events, "overweight": overweight, "seed": seed}
        self._counts = [0, 0]
        made = self._call(round={"settings": settings, "file": str(output)})
        weights = np.array(_records.nested(_records.read(output, events))["weight"])
        return {
            "events": events,
            "weights": dataclasses.astuple(_lhe.weights(output, weights)),
            "measured": [source["sums"][:3] for source in made["sources"]],
            "channels": [[source["drawn"], *source["sums"][1:], 0] for source in made["sources"]],
            "drawn": made["elements"],
            "cut": self._counts,
        }


def _window(window: _cuts.Window) -> dict[str, Any]:
    """As the library takes it: a limit that is not there is infinite."""
    found: dict[str, Any] = {"observable": window.observable, "legs": window.legs, "take": window.take, "outside": window.outside}
    for name in ("least", "largest"):
        if np.isfinite(limit := getattr(window, name)):
            found[name] = limit
    return found


def _said(element: Element, windows: Sequence[_cuts.Window], cuts: Mapping[str, float] | None) -> str:
    if cuts is None:
        return _cuts.said(windows, element.flavor["options"][0])
    return ", ".join(f"{name} = {value:g}" for name, value in cuts.items())
