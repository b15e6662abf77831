"""From a process and what is asked of its events to integrands of MadSpace."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import pathlib
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _arguments, _channels, _checks, _command, _cuts, _flavors, _photons, _single, _survey, _topologies
from ._called import first
from ._densities import ANTI, Coupling, Densities, Grid, Other
from ._library import Error
from ._scales import as_mapping

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Particles that cuts are about, by the letter in their names: jets, charged leptons, photons. PDG codes.
_CLASSES = {"j": (21, 1, 2, 3, 4, 5), "l": (11, 13, 15), "a": (22,)}
_PAIRS = ("jj", "ll", "aa", "jl", "aj", "al")
# Cuts: observable, of how many particles, and whether the number is the least or the largest one. GeV.
_SINGLE = {"pt": ("obs_pt", "min"), "eta": ("obs_eta_abs", "max")}
_PAIR = {"dr": ("obs_delta_r", "min"), "mass": ("obs_pair_mass", "min")}
# How many points of a channel are tried, at first, each time after that and at most, until this many pass the cuts. A
# channel in which fewer than _FEW do is left out, and the others take its share: their weights add up to one without it.
_FIRST_TRIED, _TRIED, _MOST, _PASSED, _FEW = 1000, 10_000, 300_000, 100, 10
# Points of a channel in the first part of a survey: this many that pass are wanted, within these limits.
_WANTED, _LARGEST = 100, 100_000
# A massless propagator with momentum p is sampled by 1 / (p^2)^power. 1 is what a cross section has whose soft and
# collinear ends are cut off; with MadSpace's 0.8 of p p > t t~ j 4 of 5 events are kept of as many points.
_POWER = 1.0
# Phase space begins so near the least energy that cuts leave: what rounding takes must not be missing.
_BELOW = 1.0 - 1e-9
# Of a grid, in each direction.
_BINS = 64
# Widths about the mass of a particle of a decay chain: bwcutoff of MG5aMC's run card.
BW_CUTOFF = 15.0
# Before the name of a width that is not below ``small_width_treatment``.
_RAISED = "FK_"
# Names of scales, as MadSpace has them.
SCALES = {
    "et": "transverse_energy",
    "ht": "transverse_mass",
    "ht/2": "half_transverse_mass",
    "shat": "partonic_energy",
}


# x f(x, Q) of partons by their PDG codes, x and scales in GeV, arrays of one length.
Density = Callable[["NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"], "NDArray[np.float64]"]


@dataclass(frozen=True)
class Element:
    """A matrix element: what the flavour index of a library stands for."""

    library: pathlib.Path
    entry: dict[str, Any]
    """Of the JSON beside the library."""
    flavor: dict[str, Any]

    @property
    def options(self) -> dict[tuple[int, int], list[list[int]]]:
        """PDG codes of its processes by those that come in."""
        found: dict[tuple[int, int], list[list[int]]] = {}
        for pdg in self.flavor["options"]:
            found.setdefault((pdg[0], pdg[1]), []).append(pdg)
        return found

    @property
    def qcd_power(self) -> int | None:
        """Of alpha_s in |M|^2; None where diagrams have different ones."""
        found = int(self.entry["qcd_power"])
        return found if found >= 0 else None

    @property
    def channels(self) -> list[dict[str, Any]]:
        index = self.flavor["index"]
        return [c for c in self.entry["channels"] if index in c["diagrams"][0]["active_flavors"]]


def elements(
    sources: Sequence[str],
    card: str | None,
    parameters: Mapping[str, float],
    backend: str,
    environment: Mapping[str, str],
    folder: str,
    apart: bool = False,
) -> list[Element]:
    """The matrix elements that processes stand for, in libraries that are written into a folder.

    On a CPU one library holds all of a process, unless their masses are different parameters. On a GPU those that may
    share channels have one, because it computes all that it holds for every event there.

    Args:
        apart: whether libraries are those of a GPU on a CPU as well.
    """

    def write(name: str, *sources: str) -> list[Element]:
        library = pathlib.Path(folder) / f"{name}.so"
        _command.umami(sources, library, card, parameters, backend, environment)
        return read(library)

    def write_each(name: str, source: str) -> list[Element]:
        found: list[Element] = []
        for i in itertools.count(1):
            try:
                found += write(f"{name}.{i}", f"{source}#{i}")
            except Error as error:
                if found and f"and no number {i}" in str(error):
                    return found
                raise
        raise AssertionError

    every = []
    prefix = "apart" if apart else "process"
    for number, source in enumerate(sources):
        try:
            found = write(f"{prefix}{number}", source)
        except Error as error:
            # Such as u u~ and c c~ of a model in which both quarks have masses of their own.
            if "cannot share a library" not in str(error):
                raise
            every += write_each(f"{prefix}{number}", source)
            continue
        if (apart or backend != "cpu") and len(found) > 1:
            keys = [_trees(element) for element in found]
            parts = _flavors.groups(keys, [element.flavor["options"] for element in found])
            tasks = [(f"{prefix}{number}.{part[0] + 1}", *(f"{source}#{i + 1}" for i in part)) for part in parts]
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                for part, some in zip(parts, pool.map(lambda task: write(*task), tasks)):
                    for i, element in zip(part, some):
                        found[i] = element
        every += found
    return every


def libraries(elements: Sequence[Element]) -> list[str]:
    """Which they are in."""
    return list(dict.fromkeys(str(element.library) for element in elements))


def follow(elements: Sequence[Element], others: Sequence[Element]) -> None:
    """Writes the JSON beside other libraries that hold the same matrix elements in the same way, as it is here."""
    for library, element, other in {o.library: (o.library, e, o) for e, o in zip(elements, others)}.values():
        rewrite(library, [{**element.entry, "me_path": other.entry["me_path"]}])


def same(one: Sequence[Element], other: Sequence[Element]) -> bool:
    """Whether libraries hold the same matrix elements, with the same numbers of diagrams, flows and helicities."""
    return [_content(element) for element in one] == [_content(element) for element in other]


def _content(element: Element) -> dict[str, Any]:
    return {**element.entry, "me_path": ""}


def read(library: pathlib.Path) -> list[Element]:
    """The matrix elements of a library, by the JSON beside it."""
    entries = json.loads(library.with_suffix(".json").read_text())
    return [Element(library, entry, flavor) for entry in entries for flavor in entry["flavors"]]


def rewrite(library: pathlib.Path, entries: Sequence[dict[str, Any]]) -> None:
    """Writes the JSON beside a library anew; an entry that stands for several matrix elements comes as often."""
    once = {id(entry): entry for entry in entries}
    library.with_suffix(".json").write_text(json.dumps(list(once.values())))


@contextlib.contextmanager
def what_is_read(elements: Sequence[Element]) -> Iterator[None]:
    """While libraries are first used: they give squared diagrams where weights of channels follow from them alone.

    Those of p p > e+ e- j j j are 3008 numbers for each point.
    """
    name = "CUDACPP_RUNTIME_AMP2"
    before = os.environ.get(name)
    os.environ[name] = "on" if any(map(_may_be_narrow, elements)) else "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@functools.cache
def masses(library: pathlib.Path, legs: int) -> tuple[float, ...]:
    """Masses of the legs, as the library itself has them."""
    import ctypes

    functions = ctypes.CDLL(str(library))
    handle, found = ctypes.c_void_p(), (ctypes.c_double * legs)()
    # A library knows them once it was initialized; on a GPU that takes a while, and is done already.
    if functions.umami_get_meta(5, found):
        wrong = functions.umami_initialize(ctypes.byref(handle), b"") or functions.umami_get_meta(5, found)
        functions.umami_free(handle)
        if wrong:
            raise Error("the masses of the process are not known")
    return tuple(found)


@functools.cache
def _parameters(library: pathlib.Path, names: tuple[str, ...]) -> Mapping[str, float]:
    """Those of these parameters of the card that a library knows; none where it cannot begin."""
    import ctypes

    functions = ctypes.CDLL(str(library))
    handle, found, values = ctypes.c_void_p(), (ctypes.c_double * 2)(), {}
    second = ctypes.byref(found, ctypes.sizeof(ctypes.c_double))
    if not names or functions.umami_initialize(ctypes.byref(handle), b""):
        return {}
    for name in names:
        if not functions.umami_get_parameter(handle, name.encode(), found, second):
            values[name] = found[0]
    functions.umami_free(handle)
    return values


def alpha_qed(libraries: Sequence[pathlib.Path]) -> float:
    """By aEWM1 of the first library that knows it; 0 where none does."""
    for library in libraries:
        if inverse := _parameters(library, ("aEWM1",)).get("aEWM1"):
            return 1.0 / abs(inverse)
    return 0.0


def raised_widths(library: pathlib.Path, channels: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    """By their own names, widths of the card that |M|^2 may have larger than they are."""
    names = {name for channel in channels for _, name in channel["parameters"] if name.startswith(_RAISED)}
    return _parameters(library, tuple(sorted(name.removeprefix(_RAISED) for name in names)))


def raised_by(widths: Mapping[str, float], name: str, width: float) -> float:
    """How much larger than in the card this width is, whose name a channel has."""
    own = abs(widths.get(name.removeprefix(_RAISED), 0.0)) if name.startswith(_RAISED) else 0.0
    return abs(width) / own if 0.0 < own < abs(width) * (1.0 - 1e-9) else 1.0


def _narrow(
    widths: Mapping[str, float],
    channel: Mapping[str, Any],
    masses: Sequence[float],
    windows: Sequence[_cuts.Window] = (),
) -> float:
    """What a channel is multiplied by for widths that |M|^2 has larger than they are.

    MG5aMC's matrix elements take ``small_width_treatment`` times the mass for a smaller width. MadEvent's
    ``transpole.f`` multiplies by the ratio of both for each resonance of its channel, which is what an integral over it
    loses.

    Args:
        widths: of the card, by their own names.
        masses: of the legs.
    """
    least = {frozenset(w.legs[0]): w.least for w in windows if w.observable == "mass" and not w.outside}
    found = 1.0
    for line, ((_, name), (mass, width)) in enumerate(zip(channel["parameters"], channel["masses"])):
        ratio = raised_by(widths, name, width)
        if ratio == 1.0 or _checks.outgoing(channel["vertices"], f"p{line}")[1] == 1:
            continue
        # Where it cannot be on its mass shell its width does not matter.
        legs = _topologies.legs_of(channel["vertices"], f"p{line}")
        if max(sum(masses[leg] for leg in legs), least.get(legs, 0.0)) >= abs(mass):
            continue
        found *= ratio
    return found


def _selected(letter: str, pdg: list[int]) -> list[int]:
    return [code for code in sorted(set(pdg[2:])) if abs(code) in _CLASSES[letter]]


def _class(code: int) -> str | None:
    """Which cuts are about a particle."""
    return next((letter for letter, codes in _CLASSES.items() if abs(code) in codes), None)


def _check_poles(elements: list[Element], legs: list[tuple[float, ...]], cuts: Mapping[str, float]) -> None:
    """That no massless line makes the cross section infinite: MadSpace would adapt its mappings to it for ever."""
    there, where = _checks.Cuts(cuts, _cut_names()), ""
    missing: list[str] = []
    for element, masses in zip(elements, legs):
        pdg = element.flavor["options"][0]
        classes = [_class(code) for code in pdg[2:]]
        poles = {pole for channel in element.channels for pole in _checks.poles(channel, pdg, masses)}
        for pole in sorted(poles, key=lambda pole: (len(pole.legs), pole.legs)):
            found = there.missing(pole, classes)
            if found and not missing:
                where = _said(pdg, pole)
            missing += found
    if missing:
        raise Error(
            f"the cross section is infinite without a cut: {where}; give {' and '.join(sorted(set(missing)))}, such as "
            f"cuts={_checks.proposal(missing)}"
        )


def _check_windows(
    elements: list[Element], legs: list[tuple[float, ...]], windows: Sequence[Sequence[_cuts.Window]]
) -> None:
    """The same by the cuts of a run card."""
    for element, masses, some in zip(elements, legs, windows):
        pdg = element.flavor["options"][0]
        poles = {pole for channel in element.channels for pole in _checks.poles(channel, pdg, masses)}
        for pole in sorted(poles, key=lambda pole: (len(pole.legs), pole.legs)):
            place = tuple(leg + 2 for leg in pole.legs)
            words = _cuts.missing(some, len(pdg), place, tuple(leg + 2 for leg in pole.vectors), pole.meeting)
            if words:
                said = " and ".join(
                    f"the least {'transverse momentum' if word[:2] == 'pt' else 'distance'} of "
                    + " and ".join(str(pdg[int(leg)]) for leg in word.split()[1:])
                    for word in sorted(words)
                )
                raise Error(
                    f"the cross section is infinite without a cut: {_said(pdg, pole)}; set {said} in the run card"
                )


def _larger_masses(pdg: list[int], mass: float, cuts: Mapping[str, float]) -> str:
    """Which cut leaves no events below a mass."""
    letters = [letter for letter in map(_class, pdg[2:]) if letter is not None]
    if not letters:
        return "take densities that go down to smaller x, or a lower energy"
    names = _checks.Cuts(cuts, _cut_names())
    of_pair = len(letters) == 2
    name = names.name("obs_pair_mass", "".join(letters)) if of_pair else names.name("obs_pt", letters[0])
    digits = 10.0 ** (math.floor(math.log10(mass)) - 1)
    value = math.ceil((mass if of_pair else mass / letters.count(letters[0])) / digits) * digits
    return f"cut small masses, such as by cuts={{\"{name}\": {value:g}}}"


def _said(pdg: list[int], pole: _checks.Pole) -> str:
    process = f"{' '.join(map(str, pdg[:2]))} > {' '.join(map(str, pdg[2:]))} (PDG codes)"
    codes = [str(pdg[2 + leg]) for leg in pole.legs]
    if len(codes) == 1:
        return f"in {process} the particle {codes[0]} may go along a beam"
    return f"in {process} the particles {' and '.join(codes)} may " + (
        "go the same way" if pole.meeting else "meet, one of them without energy"
    )


def _cut_names() -> dict[str, tuple[str, str, str]]:
    """Observable, limit and classes of each cut."""
    names: dict[str, tuple[str, str, str]] = {}
    for name, kind in _SINGLE.items():
        names |= {name: (*kind, "j")} | {f"{name}{letter}": (*kind, letter) for letter in _CLASSES}
    for name, kind in _PAIR.items():
        names |= {name: (*kind, "jj")} | {f"{name}{pair}": (*kind, pair) for pair in _PAIRS}
    return names


def check_cuts(cuts: Mapping[str, float]) -> dict[str, float]:
    """Cuts that there are, as plain numbers."""
    if not isinstance(cuts, Mapping):
        raise TypeError(f'cuts is {cuts!r}; it must be a dict such as {{"pt": 20}}')
    names, found = _cut_names(), {}
    for name, value in cuts.items():
        if name not in names:
            raise ValueError(f"there is no cut {name!r}; there are {', '.join(names)}")
        found[name] = _arguments.real(f"the cut {name}", value)
        if not 0.0 <= found[name] < math.inf:
            raise ValueError(f"the cut {name} is {value}; it must be a number that is not negative")
    return found


def _on_shell(element: Element) -> list[_cuts.Window]:
    """Windows about the masses of particles of a decay chain, as wide as MG5aMC's run card has them."""
    found: dict[frozenset[int], _cuts.Window] = {}
    for channel in element.channels:
        for propagator in channel["on_shell_propagators"]:
            legs = _topologies.legs_of(channel["vertices"], f"p{propagator}")
            mass, width = channel["masses"][propagator]
            found[legs] = _cuts.resonance(sorted(legs), mass, BW_CUTOFF * width)
    return list(found.values())


def _named_cuts(madspace: Any, pdg: list[int], cuts: Mapping[str, float]) -> tuple[list[Any], list[_cuts.Window]]:
    """The cuts that this process has particles for, as MadSpace has them and as windows of legs."""
    names = _cut_names()
    items: list[Any] = []
    windows: list[_cuts.Window] = []
    for name, value in cuts.items():
        function, limit, classes = names[name]
        select = [_selected(letter, pdg) for letter in classes]
        counts = [sum(code in codes for code in pdg[2:]) for codes in select]
        if min(counts) == 0 or (len(set(classes)) < len(classes) and counts[0] < len(classes)):
            continue
        observable = madspace.Observable(pdg, getattr(madspace.Observable, function), select)
        items.append(madspace.CutItem(observable, **{limit: float(value)}))
        legs = [[leg for leg, code in enumerate(pdg) if leg > 1 and code in codes] for codes in select]
        if function == "obs_pt":
            windows += [_cuts.Window("pt", ((leg,),), least=value) for leg in legs[0]]
        for pair in {tuple(sorted(pair)) for pair in itertools.product(*legs) if len(set(pair)) == 2}:
            if function == "obs_pair_mass":
                windows.append(_cuts.Window("mass", (pair,), least=value))
            elif function == "obs_delta_r":
                windows.append(_cuts.Window("distance", tuple((leg,) for leg in pair), least=value))
    return items, windows


@dataclass(frozen=True)
class Channel:
    """Where points of a matrix element come from: a mapping, with what is random in it besides."""

    group: int
    """The number of the group of matrix elements."""
    name: str
    """Of its grids and networks."""
    make_mapping: Callable[[], Any]
    """Its mapping. A run keeps none of them: rounds need none, and 1704 channels of p p > e+ e- j j j take 55 MB."""
    dimension: int
    """How many random numbers the mapping takes."""
    columns: tuple[int, ...]
    """Of each permutation, where its weight stands among those of the element's channels."""
    first: int
    """Points in the first part of a survey: the more, the fewer pass the cuts."""
    chances: tuple[float, ...]
    """How often each pair of partons is chosen, besides its densities."""
    diagrams: int
    """Of the matrix elements."""
    shared: Mapping[str, Any]
    """What integrands of this group have in common."""
    mass: float | None = None
    """Of the particle that goes out alone, GeV (:mod:`mebridge._single`)."""

    def grid(self, madspace: Any) -> Any:
        return madspace.VegasMapping(self.dimension, _BINS, self.name)

    def chosen_flavors(self, madspace: Any) -> Any:
        """How often each pair of partons is chosen, besides its densities; ``None`` where there is one."""
        if len(self.chances) == 1:
            return None
        return madspace.DiscreteSampler([len(self.chances)], f"{self.name}.flavors", [0])

    def integrand(self, madspace: Any, adaptive: Any, flavors: Any, **more: Any) -> Any:
        """The integrand with these samplers."""
        return madspace.Integrand(
            self.make_mapping(),
            adaptive_map=adaptive,
            discrete_flavor=flavors,
            channel_indices=list(self.columns),
            active_flavors=[list(range(len(self.chances)))] * len(self.columns),
            **self.shared,
            **more,
        )


def begin(madspace: Any, contexts: Sequence[Any], channels: Sequence[Channel]) -> None:
    """Grids that know nothing yet, and how often flavours are chosen, in these contexts."""
    samplers = []
    for channel in channels:
        for context in contexts:
            channel.grid(madspace).initialize_globals(context)
        if (flavors := channel.chosen_flavors(madspace)) is not None:
            samplers.append((flavors, channel.chances))
    # MadSpace 0.2.1 never adapts them.
    _flavors.set_chances(madspace, contexts, samplers)


@dataclass(frozen=True)
class _Rate:
    """How a matrix element becomes a cross section."""

    energy: float
    pairs: Sequence[Sequence[int]]
    """Of partons; none without densities."""
    cached: Any
    """Where densities are found; ``None`` without them."""
    legs: int
    """Of its phase space."""

    def of(self, madspace: Any, api: Any) -> Any:
        inputs, outputs = madspace.Integrand.matrix_element_inputs, madspace.Integrand.matrix_element_outputs
        element = madspace.MatrixElement(api.index(), self.legs, inputs, outputs, api.diagram_count(), True)
        scale = madspace.CachedScale()
        return madspace.DifferentialCrossSection(
            element, self.energy, None, scale, self.pairs, self.cached, self.cached
        )


@dataclass
class Integrands:
    """All channels, and what completes their events."""

    channels: list[Channel]
    groups: list[_flavors.Group]
    """Of matrix elements that have their channels in common."""
    bookkeeping: list[Any]
    """For each group."""
    alpha_s: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    """By the scale in GeV."""
    density: Density | None
    """x f(x, Q) by PDG code."""
    tables: list[Any]
    """What interpolates densities and alpha_s."""
    rates: list[_Rate]
    """For each group."""

    def elsewhere(self, madspace: Any, contexts: list[Any], elements: Sequence[Element]) -> Integrands:
        """The same channels, evaluated in other contexts by other libraries of the same matrix elements."""
        for context in contexts:
            for table in self.tables:
                table.initialize_globals(context)
        apis = _load(contexts, elements)
        shared = []
        for rate, group in zip(self.rates, self.groups):
            of = [elements[option.element] for option in group.options]
            rates = [rate.of(madspace, apis[str(of[0].library)])]
            shared.append({"diff_xs": rates, "flavor_remap": [element.flavor["index"] for element in of]})
        channels = []
        for channel in self.channels:
            channels.append(replace(channel, shared={**channel.shared, **shared[channel.group]}))
        begin(madspace, contexts, channels)
        return replace(self, channels=channels)


class _Beams(NamedTuple):
    """What is added to codes of what comes from both beams."""

    first: int
    second: int

    @property
    def different(self) -> bool:
        return self.first != self.second

    @property
    def exchanged(self) -> _Beams:
        return _Beams(self.second, self.first)

    def codes(self, pair: Sequence[int]) -> tuple[int, int]:
        return pair[0] + self.first, pair[1] + self.second

    def processes(self, some: Sequence[Sequence[int]]) -> list[list[int]]:
        return [[*self.codes(pdg), *pdg[2:]] for pdg in some]


def build(
    madspace: Any,
    contexts: list[Any],
    elements: list[Element],
    *,
    energy: float,
    densities: Densities | None,
    coupling: Coupling,
    scale: float | str | Mapping[str, Any],
    scale_factor: float,
    cuts: Mapping[str, float],
    folder: str,
    windows: Sequence[Sequence[Mapping[str, Any]]] | None = None,
    anti: Sequence[bool] = (False, False),
    other_beam: int | None = None,
    photons: int = 0,
    threads: int = 1,
    host: Sequence[Element] = (),
) -> Integrands:
    """The channels of all matrix elements, their grids in the contexts; tables are written into a folder.

    Args:
        scale: a number, a name, or ``dynamical`` (a name) with what is fixed of ``renormalisation`` and
            ``factorisation`` (two numbers).
        windows: of each matrix element, in the place of cuts, which say then alone whether the cross section is finite.
        anti: of both beams, whether densities are those of the antiparticle. Codes of what comes in are larger by
            ``ANTI`` then, in densities and in records.
        other_beam: which one, 0 or 1, is no hadron, beside one that is: a parton itself (:mod:`mebridge._parton_beam`),
            or what radiates photons; codes are larger by ``ANTI`` as well.
        photons: what that beam is (the entry lpp of a run card) where it radiates a photon instead.
        threads: for phase space that is tried.
        host: the same matrix elements in libraries for a CPU, where these are for a GPU, by which it is seen how often
            flavours are to be chosen.
    """
    incoming = {pair for element in elements for pair in element.options}
    if densities is None:
        if len(incoming) > 1 or any(element.flavor["mirror"] for element in elements):
            raise Error("a process with several partons that come in needs parton densities: pdf=")
    legs = [_legs(element, energy) for element in elements]
    if densities is None and any(len(masses) == _single.LEGS for masses in legs):
        raise Error("a particle that goes out alone has the energy of its mass: its events need parton densities")
    if windows is None:
        _check_poles(elements, legs, cuts)
    else:
        allowed = [[_cuts.Window(**window) for window in some] for some in windows]
        _check_windows(elements, legs, allowed)
    alpha_s = coupling.grid(madspace, folder)
    grid = None if densities is None else _grid(madspace, folder, densities, elements, anti, other_beam, photons)
    beams = _Beams(*(ANTI if one and grid is not None else 0 for one in anti))
    tables = [alpha_s] if grid is None else [alpha_s, grid.grid]
    for context in contexts:
        for table in tables:
            table.initialize_globals(context)
    running = madspace.RunningCoupling(alpha_s)
    apis = _load(contexts, elements)
    cpu = madspace.cpu_device()
    if contexts[0].device() == cpu:
        squared = _flavors.Squared(madspace, contexts[0], elements, apis)
    else:
        squared = _flavors.Squared(madspace, madspace.Context(cpu, 1), host, {})
    found = Integrands([], [], [], coupling_of(madspace, alpha_s), density_of(madspace, grid), tables, [])
    prepared = []
    for number, element in enumerate(elements):
        pdg, of_legs = element.flavor["options"][0], legs[number]
        if len(pdg) == _single.LEGS:
            pdg, of_legs = [*pdg, 0], (*of_legs, 0.0)
        items, by_name = _named_cuts(madspace, pdg, cuts) if windows is None else ([], [])
        of = _on_shell(element) if windows is None else allowed[number]
        items += [_cuts.item(madspace, len(pdg), window) for window in of]
        of = [*by_name, *of]
        least = _cuts.least(of, of_legs)
        if grid is not None and len(element.flavor["options"][0]) != _single.LEGS:
            # Phase space begins there.
            every = _cuts.Window("mass", (tuple(range(2, len(pdg))),), least=least * _BELOW)
            items.append(_cuts.item(madspace, len(pdg), every))
        selection = madspace.Cuts(items) if items else None
        if energy <= least:
            raise ValueError(f"the cuts leave nothing below {least:g} GeV, and the energy is {energy:g} GeV")
        scales, fixed = _scales(madspace, len(pdg), scale, scale_factor)
        if fixed[0] is not None:
            coupling.check_scale(fixed[0])
        if grid is not None:
            partons = {code for pair in element.options for code in beams.codes(pair)}
            # x1 * x2 is the square of the mass, each of them at most 1.
            grid.check(partons, (least / energy) ** 2, _larger_masses(pdg, energy * math.sqrt(grid.grid.x[0]), cuts))
            for one in fixed[1:]:
                if one is not None:
                    grid.check_scale(one)
        prepared.append(_Prepared(element, of_legs, selection, scales, of))
    for members in _flavors.groups([_alike(one) for one in prepared], [element.flavor["options"] for element in elements]):
        api = apis[str(elements[members[0]].library)]
        some = {number: prepared[number] for number in members}
        _group(madspace, contexts, threads, found, some, api, squared, energy, grid, running, beams)
    begin(madspace, contexts, found.channels)
    said = ", ".join(f"{name} = {value:g}" for name, value in cuts.items())
    if not found.channels:
        raise Error(f"none of {_MOST} points in each channel passes the cuts ({said}); do they leave anything?")
    for number in set(range(len(found.groups))) - {channel.group for channel in found.channels}:
        for member in found.groups[number].members:
            codes = " ".join(map(str, elements[member].flavor["options"][0]))
            warnings.warn(f"no point of {codes} passes the cuts ({said}): it counts as 0", stacklevel=3)
    return found


def _grid(
    madspace: Any,
    folder: str,
    densities: Densities,
    elements: Sequence[Element],
    anti: Sequence[bool],
    other_beam: int | None,
    photons: int,
) -> Grid:
    if other_beam is None:
        return densities.grid(madspace, folder, any(anti))
    codes = {pair[other_beam] for element in elements for pair in element.options}
    if len(codes) > 1 or any(element.flavor["mirror"] for element in elements):
        raise Error(
            f"beam {other_beam + 1} is one particle (lpp{other_beam + 1}), and the process has several there, or in both "
            f"beams: {', '.join(map(str, sorted(codes)))} (PDG codes); name one particle"
        )
    flux = functools.partial(_photons.flux, photons) if photons else None
    if flux is not None and codes != {_photons.PHOTON}:
        raise Error(
            f"beam {other_beam + 1} radiates photons (lpp{other_beam + 1} = {photons}), and the process has none there"
        )
    return densities.grid(madspace, folder, anti[1 - other_beam], Other(codes.pop(), flux))


def _load(contexts: Sequence[Any], elements: Sequence[Element]) -> dict[str, Any]:
    """Libraries of matrix elements in all contexts, by their names."""
    # Each load costs as much memory as the whole library, however many matrix elements it has (p p > e+ e- j j j: 44).
    return {
        library: [context.load_matrix_element(library, "") for context in contexts][0]
        for library in libraries(elements)
    }


def coupling_of(madspace: Any, alpha_s: Any) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """alpha_s as MadSpace interpolates it, on the CPU."""
    context = madspace.Context(madspace.cpu_device(), 1)
    alpha_s.initialize_globals(context)
    function = madspace.FunctionRuntime(madspace.RunningCoupling(alpha_s).function(), context)
    return lambda scale: first(function.call([np.ascontiguousarray(scale)]))


def density_of(madspace: Any, grid: Grid | None) -> Density | None:
    """Densities as MadSpace interpolates them, on the CPU."""
    if grid is None:
        return None
    context = madspace.Context(madspace.cpu_device(), 1)
    grid.grid.initialize_globals(context)

    @functools.cache
    def of(code: int) -> Any:
        return madspace.FunctionRuntime(madspace.PartonDensity(grid.grid, [code]).function(), context)

    def density(
        codes: NDArray[np.int64], x: NDArray[np.float64], q: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        found = np.zeros(len(x))
        for code in np.unique(codes):
            some = codes == code
            # Rounding may take it beyond x = 1.
            found[some] = 1.0 if code == grid.parton else first(of(int(code)).call([x[some], q[some]]))
        return found

    return density


def _scales(
    madspace: Any, legs: int, scale: float | str | Mapping[str, Any], factor: float
) -> tuple[Any, tuple[float | None, float | None, float | None]]:
    """Scales of an event, and those that are fixed: of renormalisation, and of factorisation for both beams."""
    scale = as_mapping(scale)
    kind = getattr(madspace.EnergyScale, SCALES[scale["dynamical"]])
    first, others = scale.get("renormalisation"), scale.get("factorisation") or (None, None)
    numbers = (first or 0.0, others[0] or 0.0, others[1] or 0.0)
    made = madspace.EnergyScale(legs, kind, first is not None, others[0] is not None, *numbers, factor)
    return made, (first, *others)


def _legs(element: Element, energy: float) -> tuple[float, ...]:
    """Masses of the legs of a matrix element that events can be made of."""
    pdg = element.flavor["options"][0]
    if len(element.entry["incoming"]) != 2 or len(pdg) < 3:
        raise ValueError(
            "events are generated for two particles that come in and one or more that go out; mebridge.Run(NAME) makes those of "
            "decays (t > b w+)"
        )
    if not element.channels:
        raise Error("the process has no channels; take it from a MadEvent output")
    legs = masses(element.library, len(pdg))
    _checks.beams(pdg, legs)
    if energy <= sum(legs[2:]):
        raise ValueError(
            f"{energy} GeV are less than the masses of the process need; raise the energy (of a run card ebeam1 and ebeam2)"
        )
    return legs


class _Prepared(NamedTuple):
    """A matrix element with what is asked of its events."""

    element: Element
    legs: tuple[float, ...]
    """Their masses."""
    selection: Any
    """MadSpace's cuts."""
    scales: Any
    windows: Sequence[_cuts.Window]
    """All cuts of it."""


def _alike(of: _Prepared) -> Hashable:
    """What matrix elements have in common whose channels may be one; ``None`` for one that has its own."""
    trees = _trees(of.element)
    own = str(of.element.library), id(of.element.entry), of.legs, tuple(sorted(map(repr, of.windows)))
    return None if trees is None else (own, trees)


def _trees(element: Element) -> Hashable:
    """The same by the diagrams alone."""
    # Weights by squared diagrams are those of one matrix element.
    options = element.flavor["options"]
    if len(options[0]) == _single.LEGS or _may_be_narrow(element):
        return None
    return _flavors.legs(options, element.flavor["mirror"]), _flavors.trees(element.channels, len(options[0]))


def _may_be_narrow(element: Element) -> bool:
    """Whether a width of it may be below ``small_width_treatment``, so that weights of channels are by diagrams."""
    return any(name.startswith(_RAISED) for channel in element.channels for _, name in channel["parameters"])


def _group(
    madspace: Any,
    contexts: list[Any],
    threads: int,
    found: Integrands,
    members: Mapping[int, _Prepared],
    api: Any,
    squared: _flavors.Squared,
    energy: float,
    grid: Grid | None,
    running: Any,
    beams: _Beams,
) -> None:
    """Adds the channels that these matrix elements have in common."""
    number, (first_element, (element, legs, selection, scales, windows)) = len(found.groups), next(iter(members.items()))
    options = []
    for member, of in members.items():
        # In the order of the beams, and in the other one where that is not the same, seen from the other side.
        mirror = bool(of.element.flavor["mirror"])
        ways = [beams, beams.exchanged] if mirror and beams.different else [beams]
        for way in ways:
            for pair, some in of.element.options.items():
                mirrored = mirror and not beams.different
                options.append(_flavors.Option(member, way.codes(pair), way.processes(some), mirrored))
    found.groups.append(_flavors.Group(tuple(members), options))
    pairs = [list(option.pair) for option in options]
    channels = element.channels
    single = len(element.flavor["options"][0]) == _single.LEGS
    if single:
        # All diagrams are one channel: nothing is mapped.
        topologies = [_single.topology(madspace, legs)]
        groups = [_channels.Group((0,), (tuple(range(len(legs))),))]
    else:
        labels = zip(*(_labels(of.element, grid is not None, beams) for of in members.values()))
        groups = _channels.groups(channels, list(labels))
        topologies = [
            _topologies.of_mapping(madspace, legs, channels[group.members[0]], windows, group.permutations)
            for group in groups
        ]
    makes = [
        functools.partial(
            madspace.PhaseSpaceMapping,
            topology,
            energy,
            cuts=selection,
            permutations=[list(permutation) for permutation in group.permutations],
            leptonic=grid is None,
            invariant_power=_POWER,
        )
        for group, topology in zip(groups, topologies)
    ]
    # MadSpace does not hold the interpreter's lock here.
    with ThreadPoolExecutor(threads) as pool:
        counts = list(pool.map(lambda make: _passing(madspace, make()), [] if single else makes))
        of_members = makes if len(members) > 1 else []
        points = list(pool.map(lambda make: _points(madspace, make()), of_members))
    chances = squared.chances(options, points) or [tuple(float(len(of.processes)) for of in options)] * len(makes)
    if single:
        counts = [_single.passing(madspace, legs, energy, selection)] * len(makes)
    least = min(_FEW, max(passed for _, passed in counts))
    kept = [i for i, (_, passed) in enumerate(counts) if passed >= max(1, least)]
    columns = {member: column for column, member in enumerate(m for i in kept for m in groups[i].members)}
    cached = None if grid is None else madspace.CachedPdf()
    rate = _Rate(energy, pairs if grid is None else [], cached, len(legs))
    found.rates.append(rate)
    widths = raised_widths(element.library, channels)
    narrow = {i: _narrow(widths, channels[groups[i].members[0]], legs, windows) for i in kept}
    # What a narrow resonance is multiplied by is its diagram's: by propagators it would be that of others beside the peak.
    weights: dict[str, Any] = {}
    if set(narrow.values()) - {1.0}:
        weights = _by_diagrams(element, columns)
    elif single:
        # One channel, whatever the library says of its diagrams.
        weights["prop_chan_weights"] = _topologies.weights_of(madspace, len(legs), topologies)
    elif columns:
        of_columns = [channels[member] for member in columns]
        weights["prop_chan_weights"] = _topologies.weights(madspace, legs, of_columns, windows, grid is None)
    shared = {
        "diff_xs": [rate.of(madspace, api)],
        "pid_options": pairs,
        "pdf_grid": None if grid is None else grid.grid,
        "running_coupling": running,
        "energy_scale": scales,
        "first_remapped_chan_count": len(columns),
        **weights,
        "flavor_remap": [members[option.element].element.flavor["index"] for option in options],
        "flavor_mirror": [option.mirrored for option in options],
    }
    for i in kept:
        leaves, (tried, passed) = groups[i].members, counts[i]
        first = min(max(_survey.FIRST, math.ceil(_WANTED * tried / passed)), _LARGEST)
        name = f"element{first_element}.channel{leaves[0]}"
        places = tuple(columns[member] for member in leaves)
        dimension, diagrams = makes[i]().random_dim(), int(element.entry["diagram_count"])
        mass = legs[2] if single else None
        factors = [narrow[i] * float(len(option.processes)) for option in options]
        own = {**shared, "flavor_factors": factors}
        channel = Channel(number, name, makes[i], dimension, places, first, chances[i], diagrams, own, mass)
        found.channels.append(channel)
    of_diagrams = {}
    for member, of in members.items():
        every = of.element.channels
        completed = [_single.completed(madspace, legs)] * len(every) if single else []
        of_diagrams[member] = completed or [_topologies.of_events(madspace, legs, one) for one in every]
    found.bookkeeping.append(_bookkeeping(madspace, number, members, of_diagrams, options))


def _by_diagrams(element: Element, columns: Mapping[int, int]) -> dict[str, Any]:
    """Weights of channels are squared diagrams, as by sde_strategy 1; those of channels that are left out come last.

    They are for narrow resonances.
    """
    remap = [len(columns)] * element.entry["diagram_count"]
    for member, column in columns.items():
        remap[element.channels[member]["diagrams"][0]["diagram"]] = column
    return {"first_chan_weight_remap": [remap]}


def _labels(element: Element, densities: bool, of: _Beams) -> list[Any]:
    """Of the legs: those with the same one may take each other's places. Beams have densities of their partons."""
    codes = list(zip(*element.flavor["options"]))
    beams = list(zip(of, codes[:2])) if densities else [tuple(map(abs, codes[leg])) for leg in (0, 1)]
    return [*beams, *(tuple(map(abs, leg)) for leg in codes[2:])]


def _passing(madspace: Any, mapping: Any) -> tuple[int, int]:
    """Of how many random points how many pass the cuts."""
    draw, tried, passed = _drawn(madspace, mapping), 0, 0
    while tried < _MOST and passed < _PASSED:
        points = _TRIED if tried else _FIRST_TRIED
        *_, weights = draw(points)
        tried += points
        passed += int(np.count_nonzero(weights))
    return tried, passed


def _points(madspace: Any, mapping: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Momenta that pass the cuts, and their weights."""
    momenta, *_, weights = _drawn(madspace, mapping)(_FIRST_TRIED)
    some = np.flatnonzero(weights)[:_PASSED]
    return momenta[some], weights[some]


def _drawn(madspace: Any, mapping: Any) -> Callable[[int], list[NDArray[np.float64]]]:
    """What gives random points of a mapping: their momenta and, as the last, their weights."""
    runtime = madspace.FunctionRuntime(mapping.forward_function(), madspace.Context(madspace.cpu_device(), 1))
    rng, permutations = np.random.default_rng(1), mapping.channel_count()

    def draw(points: int) -> list[NDArray[np.float64]]:
        arguments: list[Any] = [rng.random((points, mapping.random_dim()))]
        if permutations > 1:
            arguments.append(rng.integers(permutations, size=points, dtype=np.int32))
        return [of.numpy() for of in runtime.call(arguments)]

    return draw


def _color_types(element: Element) -> dict[int, int]:
    """Colour representations by PDG code, those of a model's own resonances as well.

    The description knows external particles and the Standard Model. What else decays has the colours of all that it
    decays into; MadSpace takes what it does not find for a singlet, and refuses then products that have a colour.
    """
    types = {int(code): int(color) for code, color in element.entry["pdg_color_types"].items()}
    flows, incoming = element.entry["color_flows"], len(element.entry["incoming"])
    for channel in element.channels:
        behind: dict[str, list[int]] = {}
        for *lines, name in channel["vertices"]:
            if not name.startswith("p") or any(line.startswith("i") for line in lines):
                continue
            if any(line.startswith("p") and line not in behind for line in lines):
                continue  # A particle comes in behind it.
            behind[name] = [
                leg
                for line in lines
                for leg in (behind[line] if line.startswith("p") else [incoming + int(line[1:])])
            ]
            code = channel["propagators"][int(name[1:])]
            found = {_net_color([flows[flow][leg] for leg in behind[name]]) for flow in _active_flows(channel)}
            # An octet may have neither colour in one flow, as it may be of no colour exchange.
            if code not in types and len(found - {1}) == 1:
                (color,) = found - {1}
                types[code] = color
                types[-code] = -color if abs(color) == 3 else color
    return types


def _active_flows(channel: dict[str, Any]) -> set[int]:
    return {flow for diagram in channel["diagrams"] for flow in diagram["active_colors"]}


def _net_color(tags: list[list[int]]) -> int:
    """The representation of particles together that go out with these tags of colour and anticolour."""
    colors, anticolors = ({pair[side] for pair in tags} - {0} for side in (0, 1))
    return {(0, 0): 1, (1, 0): 3, (0, 1): -3, (1, 1): 8}.get(
        (len(colors - anticolors), len(anticolors - colors)), 0
    )


def _bookkeeping(
    madspace: Any,
    number: int,
    members: Mapping[int, _Prepared],
    topologies: Mapping[int, list[Any]],
    options: Sequence[_flavors.Option],
) -> Any:
    elements = [of.element for of in members.values()]
    entry = elements[0].entry
    # Diagrams are counted through all matrix elements of a library.
    diagrams = [channel["diagrams"][0] for element in elements for channel in element.channels]
    return madspace.SubprocArgs(
        process_id=number + 1,
        topologies=[topology for some in topologies.values() for topology in some],
        permutations=[[diagram["permutation"]] for diagram in diagrams],
        diagram_indices=[[diagram["diagram"]] for diagram in diagrams],
        diagram_color_indices=[[diagram["active_colors"]] for diagram in diagrams],
        diagram_propagator_pdgs=[[diagram["propagator_pdgs"]] for diagram in diagrams],
        color_flows=[[tuple(tags) for tags in flow] for flow in entry["color_flows"]],
        pdg_color_types={code: color for element in elements for code, color in _color_types(element).items()},
        helicities=[[float(h) for h in row] for row in entry["helicities"]],
        pdg_ids=[option.processes for option in options],
    )
