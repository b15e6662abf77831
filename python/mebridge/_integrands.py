"""From a process and what is asked of its events to integrands of MadSpace."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import (
    _allowed,
    _bookkeeping,
    _candidates,
    _checks,
    _cuts,
    _elements,
    _finite,
    _flavors,
    _named_cuts,
    _photons,
    _scales,
    _single,
    _survey,
    _topologies,
    _trial,
    _widths,
)
from ._candidates import Beams, Candidates, Prepared
from ._densities import ANTI, Coupling, Densities, Density, Grid, Other, coupling_of, density_of
from ._elements import Element
from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Points of a channel in the first part of a survey: this many that pass are wanted, within these limits.
_WANTED, _LARGEST = 100, 100_000
# Of a grid, in each direction.
_BINS = 64


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
        apis = _elements.load(contexts, elements)
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
    legs = [_allowed.masses(element, energy) for element in elements]
    for element, masses in zip(elements, legs):
        _checks.beams(element.flavor["options"][0], masses)
    _allowed.check_beams(elements, legs, densities is not None)
    if windows is None:
        _finite.by_name(elements, legs, cuts)
    else:
        allowed = [[_cuts.Window(**window) for window in some] for some in windows]
        _finite.by_run_card(elements, legs, allowed)
    alpha_s = coupling.grid(madspace, folder)
    grid = None if densities is None else _grid(madspace, folder, densities, elements, anti, other_beam, photons)
    knots = None if grid is None else grid.knots
    judge = _allowed.Judge(energy, knots, coupling, scale, cuts if windows is None else None)
    beams = Beams(*(ANTI if one and grid is not None else 0 for one in anti))
    tables = [alpha_s] if grid is None else [alpha_s, grid.grid]
    for context in contexts:
        for table in tables:
            table.initialize_globals(context)
    running = madspace.RunningCoupling(alpha_s)
    apis = _elements.load(contexts, elements)
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
        items, by_name = _named_cuts.of_process(madspace, pdg, cuts) if windows is None else ([], [])
        of = _named_cuts.on_shell(element) if windows is None else allowed[number]
        items += [_cuts.item(madspace, len(pdg), window) for window in of]
        of = [*by_name, *of]
        least = _cuts.least(of, of_legs)
        if grid is not None and len(element.flavor["options"][0]) != _single.LEGS:
            # Phase space begins there.
            every = _cuts.Window("mass", (tuple(range(2, len(pdg))),), least=least * _allowed.BELOW)
            items.append(_cuts.item(madspace, len(pdg), every))
        partons = {code for pair in element.options for code in beams.codes(pair)}
        of, before = judge.windows(element, legs[number], of, partons), len(of)
        items += [_cuts.item(madspace, len(pdg), window) for window in of[before:]]
        selection = madspace.Cuts(items) if items else None
        scales = _scales.of_madspace(madspace, len(pdg), scale, scale_factor)
        prepared.append(Prepared(element, of_legs, selection, scales, of))
    # MadSpace 0.2.1 chooses flavours by their densities; without those a matrix element has its own channels.
    zero = {number for number in range(len(elements)) if squared.is_zero(number, legs[number])}
    if len(zero) == len(elements):
        raise Error(
            f"|M|^2 of {_allowed.said(elements)} vanishes identically: the cross section is 0, and there are no events; are coupling "
            "orders and polarisations those that are meant?"
        )
    for number in zero:
        warnings.warn(f"|M|^2 of {_allowed.said([elements[number]])} vanishes identically: it counts as 0", stacklevel=3)
    alike = [None if grid is None or number in zero else _alike(one) for number, one in enumerate(prepared)]
    together = _flavors.groups(alike, [element.flavor["options"] for element in elements])
    tried = [
        _candidates.try_(madspace, threads, {one: prepared[one] for one in members}, squared, energy, grid is not None, beams)
        for members in together
    ]
    for of_group in tried:
        if zero.issuperset(of_group.members):
            of_group.nothing()
    _candidates.leave_out(tried)
    for of_group in tried:
        api = apis[str(of_group.first.element.library)]
        _add(madspace, found, of_group, api, energy, grid, running)
    begin(madspace, contexts, found.channels)
    said = ", ".join(f"{name} = {value:g}" for name, value in cuts.items())
    if windows is not None:
        said = _cuts.said(prepared[0].windows, prepared[0].element.flavor["options"][0])
    if not found.channels:
        raise Error(f"none of {_trial.MOST} points in each channel passes the cuts ({said}); do they leave anything?")
    for number in set(range(len(found.groups))) - {channel.group for channel in found.channels}:
        for member in set(found.groups[number].members) - zero:
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
    code = _allowed.check_other_beam(elements, other_beam, photons)
    flux = functools.partial(_photons.flux, photons) if photons else None
    return densities.grid(madspace, folder, anti[1 - other_beam], Other(code, flux))


def _alike(of: Prepared) -> Hashable:
    """What matrix elements have in common whose channels may be one; ``None`` for one that has its own."""
    trees = _elements.trees(of.element)
    own = str(of.element.library), id(of.element.entry), of.legs, tuple(sorted(map(repr, of.windows)))
    return None if trees is None else (own, trees)


def _add(
    madspace: Any,
    found: Integrands,
    tried: Candidates,
    api: Any,
    energy: float,
    grid: Grid | None,
    running: Any,
) -> None:
    """Adds the channels of a group of matrix elements."""
    members, options, groups, kept = tried.members, tried.options, tried.groups, tried.kept
    number, (first_element, (element, legs, _, scales, windows)) = len(found.groups), next(iter(members.items()))
    found.groups.append(_flavors.Group(tuple(members), options))
    pairs = [list(option.pair) for option in options]
    channels, single, columns = element.channels, tried.single, tried.columns()
    cached = None if grid is None else madspace.CachedPdf()
    rate = _Rate(energy, pairs if grid is None else [], cached, len(legs))
    found.rates.append(rate)
    widths = _widths.raised(element.library, channels)
    narrow = {i: _widths.factor(widths, channels[groups[i].members[0]], legs, windows) for i in kept}
    # What a narrow resonance is multiplied by is its diagram's: by propagators it would be that of others beside the peak.
    weights: dict[str, Any] = {}
    if set(narrow.values()) - {1.0}:
        weights = _by_diagrams(element, columns)
    elif single:
        # One channel, whatever the library says of its diagrams.
        weights["prop_chan_weights"] = _topologies.weights_of(madspace, len(legs), tried.topologies)
    elif columns:
        weights["prop_chan_weights"] = tried.weights(madspace, grid is None)
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
        leaves, (count, passed), make = groups[i].members, tried.counts[i], tried.makes[i]
        first = min(max(_survey.FIRST, math.ceil(_WANTED * count / passed)), _LARGEST)
        name = f"element{first_element}.channel{leaves[0]}"
        places = tuple(columns[member] for member in leaves)
        dimension, diagrams = make().random_dim(), int(element.entry["diagram_count"])
        mass = legs[2] if single else None
        factors = [narrow[i] * float(len(option.processes)) for option in options]
        own = {**shared, "flavor_factors": factors}
        channel = Channel(number, name, make, dimension, places, first, tried.chances[i], diagrams, own, mass)
        found.channels.append(channel)
    of_diagrams = {}
    for member, of in members.items():
        every = of.element.channels
        completed = [_single.completed(madspace, legs)] * len(every) if single else []
        of_diagrams[member] = completed or [_topologies.of_events(madspace, legs, one) for one in every]
    found.bookkeeping.append(_bookkeeping.of_group(madspace, number, [of.element for of in members.values()], of_diagrams, options))


def _by_diagrams(element: Element, columns: Mapping[int, int]) -> dict[str, Any]:
    """Weights of channels are squared diagrams, as by sde_strategy 1; those of channels that are left out come last.

    They are for narrow resonances.
    """
    remap = [len(columns)] * element.entry["diagram_count"]
    for member, column in columns.items():
        remap[element.channels[member]["diagrams"][0]["diagram"]] = column
    return {"first_chan_weight_remap": [remap]}
