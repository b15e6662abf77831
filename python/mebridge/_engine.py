"""A survey and rounds of events by the library's own engine (docs/engine.md), in the process that
:mod:`mebridge._worker` starts."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import (
    _allowed,
    _command,
    _cut_function,
    _cuts,
    _densities,
    _elements,
    _finite,
    _lhe,
    _matching,
    _meta,
    _named_cuts,
    _networks,
    _photons,
    _polarised,
    _records,
    _scales,
    _scratch,
    _systematics,
    _trial,
)
from ._densities import ANTI, Coupling, Densities, Density
from ._elements import Element
from ._library import Error, check, lib
from ._rounds import POINTS

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
    """Events of a run."""

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        self._counts = [0, 0]
        self._zero: set[int] = set()
        self._function: _cut_function.Cut | None = None
        self._failed: BaseException | None = None
        self._callback = _CUT()
        self._keep_scales = False
        self._systematics: _systematics.Calculator | None = None
        self._matched: np.dtype[Any] | None = None

    def build(
        self,
        libraries: list[str],
        devices: list[str],
        threads: int,
        pdf: str | None,
        coupling: tuple[list[float], list[float]],
        energy: float,
        scale: float | str | Mapping[str, Any],
        scale_factor: float,
        cuts: Mapping[str, float],
        alpha_qed: float = 0.0,
        whole: Sequence[Mapping[str, Any]] | None = None,
        clustering: Mapping[str, Any] | None = None,
        energies: Sequence[float] | None = None,
        anti: Sequence[bool] = (False, False),
        other_beam: int | None = None,
        photons: int = 0,
        by_propagators: bool = False,
        systematics: Mapping[str, Any] | None = None,
        scales: bool = False,
        cut: Sequence[str] | None = None,
        bwcutoff: float = _named_cuts.BW_CUTOFF,
        forced: Sequence[int] = (),
        excluded: Sequence[int] = (),
    ) -> None:
        """Opens the run.

        Args:
            whole: of each matrix element, ``windows``, ``rules`` and what it is ``clustered`` by of a run card, in the place of
                cuts by name.
            clustering: how events are clustered; none where they are not.
            by_propagators: whether what channels count besides their weights goes by products of propagators.
        """
        elements = [element for library in libraries for element in _elements.read(pathlib.Path(library))]
        densities = None if pdf is None else Densities.read(pdf)
        table = Coupling(*map(tuple, coupling))
        legs = [_allowed.masses(element, energy) for element in elements]
        _allowed.check_beams(elements, legs, pdf is not None)
        parton = None if other_beam is None else _allowed.check_other_beam(elements, other_beam, photons)
        for element, masses in zip(elements, legs):
            _polarised.neutrinos(element.entry, masses)
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
        hadrons = [beam for beam in (0, 1) if beam != other_beam]
        for i, (element, of) in enumerate(zip(elements, windows)):
            windows[i] = judge.windows(element, legs[i], of, _partons(element, hadrons, anti))
        self._said = _said(elements[0], windows[0], cuts if whole is None else None)
        asked = _scales.as_mapping(scale)
        zero = self._vanishing(elements, legs)
        boost = 0.0 if energies is None else _cuts.rapidity((energies[0], energies[1]))
        alone = [pdf is None or beam == other_beam and not photons for beam in (0, 1)]
        massive = [mass if one else 0.0 for mass, one in zip(legs[0], alone)]
        if energies is not None and any(massive):
            energy, boost = _allowed.center(energies, massive)
        run = {
            "energy": energy,
            "rapidity": boost,
            "beams": None if pdf is None else [_beam(beam, pdf, anti, other_beam, photons) for beam in (0, 1)],
            "alpha_s": [table.scales, table.values],
            "scale": {**asked, "factor": scale_factor},
            "clustering": clustering,
            "elements": [
                {
                    "mirrored": bool(element.flavor["mirror"]),
                    "windows": [as_json(window) for window in windows[i]],
                    "rules": [rule_as_json(rule) for rule in rules[i]],
                    "propagators": [channel["propagators"] for channel in element.channels],
                    "off_shell": [channel["off_shell_propagators"] for channel in element.channels],
                    "vanishes": i in zero,
                    **({"clustered": whole[i]["clustered"]} if whole is not None and clustering is not None else {}),
                }
                for i, element in enumerate(elements)
            ],
            "threads": threads,
            "backend": devices[0].partition(":")[0],
            "widths": bwcutoff,
            "by_propagators": by_propagators,
            "alpha_qed": _meta.alpha_qed([pathlib.Path(library) for library in libraries]) or alpha_qed,
            "forced": list(forced),
            "excluded": list(excluded),
        }
        self._function = None if cut is None else _cut_function.Cut(_cut_function.unpacked(*cut), cut[1])
        if self._function is not None:
            self._function.try_([list(of) for of in legs])
            self._callback = _CUT(self._passes)
        self._energies = (energy / 2.0,) * 2 if energies is None else (energies[0], energies[1])
        self._shifts = [ANTI if one else 0 for one in anti]
        self._density = None if pdf is None else _density(pdf, parton, photons)
        self._keep_scales = scales
        if systematics is not None:
            coupled = _densities.alpha_s(table)
            given = systematics, elements, self._energies, coupled, self._density, self._shifts
            self._systematics = _systematics.calculator(*given)
        if clustering is not None and (clustering["matching"] or {}).get("reweighted"):
            self._matched = _matching.layout(max(len(of) for of in legs))
        # The engine has matrix elements of its own; of a hundred the others would take 0.14 GB beside them.
        _meta.opened.cache_clear()
        try:
            self._open(elements, run)
        except Error as error:
            if devices == ["cpu"]:
                raise
            raise Error(f"{', '.join(devices)} cannot be used (device=\"cpu\" needs no GPU): {error}") from None

    def _open(self, elements: list[Element], run: Mapping[str, Any]) -> None:
        self._elements, self._threads = elements, run["threads"]
        libraries = [[str(element.library), element.flavor["index"]] for element in elements]
        text = json.dumps({"matrix_elements": libraries, "run": run}, allow_nan=False).encode()
        check(lib.mebridge_events_open(text, self._callback, None, ctypes.byref(self._handle)))

    def _vanishing(self, elements: Sequence[Element], legs: Sequence[Sequence[float]]) -> set[int]:
        """The matrix elements that vanish identically."""
        found = set()
        for number, element in enumerate(elements):
            squared = _meta.opened(element.library).squared
            flavor = element.flavor["index"]
            if _trial.is_zero(lambda momenta: np.abs(squared(flavor, momenta)), legs[number]):
                found.add(number)
        if len(found) == len(elements):
            raise Error(
                f"|M|^2 of {_allowed.said(elements)} vanishes identically: the cross section is 0, and there are no events; are "
                "coupling orders and polarisations those that are meant?"
            )
        for number in found:
            warnings.warn(f"|M|^2 of {_allowed.said([elements[number]])} vanishes identically: it counts as 0", stacklevel=3)
        self._zero = found
        return found

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
        self._raise()
        check(status)
        answer: dict[str, Any] = json.loads(found[0])
        return answer

    def _raise(self) -> None:
        """An error of the function of the caller."""
        if (failed := self._failed) is not None:
            self._failed = None
            raise failed

    def survey(self, part: str, events: int, overweight: float, seed: int, precision: float | None) -> dict[str, Any]:
        """Surveys the whole run; what is found is written into a folder."""
        settings = {"events": events, "overweight": overweight, "seed": seed, "precision": precision}
        self._counts = [0, 0]
        folder = pathlib.Path(part)
        found = self._call(survey={"settings": settings, "file": str(folder / _SURVEY)})
        if (why := found["by_threads"]) is not None:
            _command.say(f"mebridge: GPUs weigh no points with {why}: {self._threads} threads of the CPU do\n")
        if found["nothing"] == "passes":
            raise Error(f"none of {found['points']} points passes the cuts ({self._said}); do they leave anything?")
        if found["nothing"] and self._function is not None and not self._counts[1]:
            raise Error(f"none of {self._counts[0]} points passes the cuts of the run, among which is {self._function}")
        if found["nothing"]:
            raise Error(
                "each point of the survey has the weight 0: are densities 0 for what comes in, or couplings of the process, or "
                "does |M|^2 vanish identically?"
            )
        self._warn(found)
        self._write(folder, found)
        return {"points": found["points"]}

    def _write(self, folder: pathlib.Path, found: Mapping[str, Any], **more: Any) -> None:
        """Writes what rounds, and the cross section, need of a survey."""
        written = {
            "points": found["points"],
            "elements": [source["elements"] for source in found["sources"]],
            "shares": [source["share"] for source in found["sources"]],
            "measured": [source["sums"][:3] for source in found["sources"]],
            **more,
        }
        (folder / POINTS).write_text(json.dumps(written))

    def train(self, part: str, events: int, overweight: float, seed: int) -> dict[str, Any]:
        """Trains networks for what is loaded. Channels have them where they are better than grids alone; what is found is
        written as a survey is, whose points stay those that count."""
        folder = pathlib.Path(part)
        channels = [(float(source["share"]), int(source["dimensions"])) for source in self._loaded["sources"]]
        trained = _networks.train(self._weights, channels, events, seed, self._threads)
        parameters = folder / "parameters"
        parameters.write_bytes(trained.parameters.astype("<f4").tobytes())
        asked = {
            "settings": {"events": events, "overweight": overweight, "seed": seed},
            "networks": trained.of,
            "shapes": trained.shapes,
            "parameters": str(parameters),
            "file": str(folder / _SURVEY),
        }
        found = self._call(networks=asked)
        parameters.unlink()
        tried = [i for i, of in enumerate(trained.of) if of is not None]
        grids = sum(not found["sources"][i]["network"] for i in tried)
        self._write(folder, found, channels=tried, grids=grids)
        return {"points": found["points"]}

    def _weights(self, channel: int, first: int, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What points with these numbers weigh."""
        numbers = np.ascontiguousarray(numbers, dtype="f8")
        count, each = numbers.shape
        weights = np.empty(count)
        status = lib.mebridge_events_weigh(
            self._handle, channel, first, count, each - 1, numbers.ctypes.data, weights.ctypes.data
        )
        self._raise()
        check(status)
        return weights

    def _warn(self, found: Mapping[str, Any]) -> None:
        """Says which matrix elements have no events."""
        there = {element for source in found["sources"] for element in source["elements"]}
        for number, element in enumerate(self._elements):
            if number not in there and number not in self._zero:
                codes = " ".join(map(str, element.flavor["options"][0]))
                warnings.warn(f"no point of {codes} passes the cuts ({self._said}): it counts as 0", stacklevel=3)

    def load(self, survey: str) -> None:
        """Takes what a survey wrote."""
        self._loaded = self._call(load={"file": str(pathlib.Path(survey) / _SURVEY)})
        self._particles = int(self._loaded["particles"])

    def round(self, part: str, events: int, overweight: float, seed: int) -> dict[str, Any]:
        """Makes events, in a file `events.npy` of a folder.

        Returns:
            How many events there are, what :func:`mebridge._lhe.weights` says of them, and of each channel the points that
            were drawn, their mean in pb and its error, how many of them passed the cuts, and how many became events;
            ``measured``: the first three of the points whose number was known before; ``drawn``: by the number of the matrix
            element its events, and the sums of their weights and of the squares; ``cut``: how many events a function of the
            momenta was asked about, and how many it kept.
        """
        output = pathlib.Path(part) / "events.npy"
        layout = _records.layout(self._particles)
        _scratch.check_room(output.parent, events)
        with open(output, "wb") as file:
            head = {"descr": np.lib.format.dtype_to_descr(layout), "fortran_order": False, "shape": (events,)}
            np.lib.format.write_array_header_2_0(file, head)
        settings = {"events": events, "overweight": overweight, "seed": seed}
        self._counts = [0, 0]
        asked: dict[str, Any] = {"settings": settings, "file": str(output)}
        wanted = self._keep_scales or self._systematics is not None
        raw = {name: output.with_name(f"{name}.raw") for name in ("scales", "matched")}
        if wanted:
            asked["scales"] = str(raw["scales"])
        if self._matched is not None:
            asked["matched"] = str(raw["matched"])
        made = self._call(round=asked)
        records = _records.read(output, events)
        matched = None if self._matched is None else np.fromfile(raw["matched"], dtype=self._matched)
        if matched is not None:
            np.save(_records.matched(output), matched)
        if wanted:
            self._weigh(output, np.array(records), np.fromfile(raw["scales"]).reshape(events, 3), matched)
        for path in raw.values():
            path.unlink(missing_ok=True)
        weights = np.array(_records.nested(records)["weight"])
        return {
            "events": events,
            "weights": dataclasses.astuple(_lhe.weights(output, weights)),
            "measured": [source["sums"][:3] for source in made["sources"]],
            "channels": [[source["drawn"], *source["sums"][1:], source["events"]] for source in made["sources"]],
            "drawn": made["elements"],
            "cut": self._counts,
        }

    def _weigh(
        self,
        output: pathlib.Path,
        records: np.ndarray[Any, Any],
        scales: np.ndarray[Any, Any],
        matched: np.ndarray[Any, Any] | None,
    ) -> None:
        """Writes what further weights of events need, or these."""
        if self._systematics is not None:
            np.save(_records.ratios(output), self._systematics.ratios(records, scales, matched))
        if self._keep_scales:
            of = scales if matched is None else np.column_stack([scales[:, 0], matched["q"][:, :, 0]])
            weight = 1.0 if matched is None else matched["weight"]
            factors = weight * _systematics.densities(self._density, records, of, self._energies, self._shifts)
            np.save(_records.scales(output), np.column_stack([scales, factors]))


def _density(pdf: str, code: int | None, photons: int) -> Density:
    """Of both beams; codes of what comes from one that is not as the other one are larger by ``ANTI``.

    Args:
        code: what :func:`mebridge._allowed.check_other_beam` gives, where it is called.
    """
    if code is None:
        return _densities.density(pdf)
    if not photons:
        return _densities.density(pdf, ANTI + code)
    hadron = _densities.density(pdf, ANTI + code)

    def density(codes: Any, x: Any, q: Any) -> Any:
        return np.where(codes == ANTI + code, _photons.flux(photons, x, q**2), hadron(codes, x, q))

    return density


def _partons(element: Element, hadrons: Sequence[int], anti: Sequence[bool]) -> set[int]:
    """PDG codes that densities must have."""
    pairs = list(element.options)
    if element.flavor["mirror"]:
        pairs += [(second, first) for first, second in pairs]
    found = {pair[beam] * (-1 if anti[beam] and pair[beam] not in _SELF else 1) for pair in pairs for beam in hadrons}
    return found


# Their own antiparticles, by PDG code.
_SELF = (21, 22)
# What radiates photons, by the entry lpp of a run card.
_RADIATORS = {2: "proton", 3: "electron", 4: "muon"}


def _beam(beam: int, pdf: str, anti: Sequence[bool], other_beam: int | None, photons: int) -> Any:
    """What a beam is, as the library takes it."""
    if beam != other_beam:
        return {"hadron": {"densities": pdf, "anti": bool(anti[beam])}}
    return {"photons": _RADIATORS[abs(photons)]} if photons else "parton"


def as_json(window: _cuts.Window) -> dict[str, Any]:
    """As the library takes it: a limit that is not there is infinite."""
    found: dict[str, Any] = {"observable": window.observable, "legs": window.legs, "take": window.take, "outside": window.outside}
    for name in ("least", "largest"):
        if np.isfinite(limit := getattr(window, name)):
            found[name] = limit
    return found


def rule_as_json(rule: Mapping[str, Any]) -> dict[str, Any]:
    """As the library takes it: a number that is infinite is null."""
    return {**rule, "numbers": [number if np.isfinite(number) else None for number in rule["numbers"]]}


def _said(element: Element, windows: Sequence[_cuts.Window], cuts: Mapping[str, float] | None) -> str:
    if cuts is None:
        return _cuts.said(windows, element.flavor["options"][0])
    return ", ".join(f"{name} = {value:g}" for name, value in cuts.items())
