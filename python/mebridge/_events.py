"""Events by MadSpace."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._library import Error
from ._process import Path, Process

if TYPE_CHECKING:
    import madspace as _madspace

# Scales in GeV between which alpha_s is the same.
_SCALES = (1e-3, 1.0, 1e3, 1e6, 1e9, 1e12)
# Observables of cuts: of one particle, or of two (the flag). Energies in GeV.
_MINIMA = {"pt": ("obs_pt", False), "dr": ("obs_delta_r", True), "mass": ("obs_mass", True)}
_MAXIMA = {"eta": ("obs_eta_abs", False)}


@dataclass(frozen=True)
class Events:
    """What :func:`generate_events` found."""

    cross_section: float
    """In pb."""
    error: float
    """Its statistical error in pb."""
    events: int
    """Unweighted events that were made."""
    output: pathlib.Path | None
    """The event file."""


def _cuts(madspace: Any, pdg: list[int], cuts: Mapping[str, float]) -> Any:
    observable = madspace.Observable
    # Massless coloured particles, as they are in jets.
    jets = [code for code in sorted(set(pdg[2:])) if code == 21 or abs(code) <= 5]
    items = []
    for name, value in cuts.items():
        kind = _MINIMA.get(name) or _MAXIMA.get(name)
        if kind is None:
            known = ", ".join([*_MINIMA, *_MAXIMA])
            raise ValueError(f"there is no cut {name!r}; there are {known}")
        function, pairs = kind
        count = sum(code in jets for code in pdg[2:])
        if count < 1 + pairs:
            continue
        select = [jets, jets] if pairs else [jets]
        limit = {"min" if name in _MINIMA else "max": float(value)}
        items.append(madspace.CutItem(observable(pdg, getattr(observable, function), select), **limit))
    return madspace.Cuts(items) if items else None


def generate_events(
    process: Process | str,
    *,
    energy: float,
    alpha_s: float = 0.118,
    events: int = 10_000,
    output: Path | None = None,
    cuts: Mapping[str, float] | None = None,
    seed: int = 1,
    threads: int = 1,
    precision: float | None = None,
    device: str = "cpu",
) -> Events:
    """Generates unweighted events at beams of fixed energy, without parton densities, at one alpha_s.

    Phase space, VEGAS and unweighting are MadSpace's (``pip install "./python[events]"`` from a checkout); there is a
    channel for each diagram of the process that has one.

    Args:
        process: a process, or its name. One matrix element; parameters that were set in it do not count.
        energy: of both beams together in their rest frame, in GeV.
        alpha_s: the strong coupling.
        events: how many to make.
        output: event file (LHE); none where it is not given.
        cuts: least ``"pt"`` in GeV, largest ``"eta"`` of gluons and light quarks that come out, least ``"dr"`` and
            ``"mass"`` (GeV) of two of them.
        seed: of the random numbers. The same seed gives the same cross section and events with one thread.
        threads: how many.
        precision: relative error of the cross section to which the mappings are adapted first.
        device: ``"cpu"``, or ``"cuda"`` for an NVIDIA GPU, on which phase space and matrix elements are computed then.

    Raises:
        Error: where MadSpace is missing, or there is no such process.
    """
    try:
        import madspace
    except ImportError as missing:
        raise Error("events need MadSpace: pip install madspace") from missing
    if not isinstance(process, Process):
        process = Process(process)
    if events < 1 or threads < 1:
        raise ValueError("events and threads must be at least 1")
    if device not in ("cpu", "cuda"):
        raise ValueError('device is "cpu" or "cuda"')
    data = process.description
    pdg = process.pdg
    if len(data["incoming"]) != 2 or len(data["outgoing"]) < 2:
        raise ValueError("events are generated for two particles that come in and two or more that go out")
    if not data["channels"]:
        raise Error(f"{process.name} has no channels; take it from a MadEvent output")

    library = process.library(backend=device)
    context = madspace.Context(madspace.cuda_device() if device == "cuda" else madspace.cpu_device(), threads)
    api = context.load_matrix_element(str(library), "")
    inputs, outputs = madspace.Integrand.matrix_element_inputs, madspace.Integrand.matrix_element_outputs
    masses = _masses(library, len(pdg))
    if energy <= sum(masses[2:]) or energy <= sum(masses[:2]):
        raise ValueError(f"{energy} GeV are less than the masses of the process need")
    selection = _cuts(madspace, pdg, cuts or {})
    generator_config = madspace.GeneratorConfig()
    generator_config.target_count = events
    if precision is not None:
        generator_config.survey_target_precision = precision
    generator_config.verbosity = madspace.Verbosity.silent

    count = len(data["channels"])
    remap = [count] * data["diagram_count"]
    topologies = []
    for number, channel in enumerate(data["channels"]):
        remap[channel["diagrams"][0]["diagram"]] = number
        propagators = [
            madspace.Propagator(
                mass=abs(mass), width=abs(width), pdg_id=code
            )
            for code, (mass, width) in zip(channel["propagators"], channel["masses"])
        ]
        diagram = madspace.Diagram(masses[:2], masses[2:], propagators, channel["vertices"])
        topologies.append(madspace.Topology(diagram))
    order = list(range(len(pdg)))
    beams = [data["incoming"]]
    with tempfile.TemporaryDirectory(prefix="mebridge-") as folder:
        coupling = _constant_coupling(madspace, context, alpha_s, folder)
        channels = []
        for number, topology in enumerate(topologies):
            mapping = madspace.PhaseSpaceMapping(
                topology, energy, cuts=selection, permutations=[order], leptonic=True
            )
            vegas = madspace.VegasMapping(mapping.random_dim(), 64, f"channel{number}")
            vegas.initialize_globals(context)
            matrix_element = madspace.MatrixElement(api, inputs, outputs, True)
            rate = madspace.DifferentialCrossSection(matrix_element, energy, None, madspace.CachedScale(), beams)
            integrand = madspace.Integrand(
                mapping,
                [rate],
                vegas,
                pid_options=beams,
                running_coupling=coupling,
                energy_scale=madspace.EnergyScale(len(pdg), fixed_scale=energy),
                first_chan_weight_remap=[remap],
                first_remapped_chan_count=count,
                channel_indices=[number],
                active_flavors=[[0]],
            )
            files = [os.path.join(folder, f"{kind}{number}.npy") for kind in ("events", "weights")]
            channels.append(
                madspace.ChannelEventGenerator(
                    [context], integrand, *files, generator_config, 0, str(number), None
                )
            )
        generator = madspace.EventGenerator([context], channels, seed, None, generator_config)
        generator.survey()
        generator.generate()
        status = generator.status()
        if output is not None:
            completer = madspace.LHECompleter([_bookkeeping(madspace, data, topologies, pdg)], 15.0)
            meta = madspace.LHEMeta(data["incoming"][0], data["incoming"][1], energy / 2, energy / 2)
            generator.combine_to_lhe(os.fspath(output), completer, meta)
    return Events(
        cross_section=status.mean,
        error=status.error,
        events=int(status.count_unweighted),
        output=None if output is None else pathlib.Path(os.fspath(output)),
    )


def _constant_coupling(madspace: Any, context: Any, alpha_s: float, folder: str) -> Any:
    """A running coupling that does not run: MadSpace takes it from a table of LHAPDF's."""
    table = os.path.join(folder, "alpha_s.info")
    with open(table, "w", encoding="ascii") as file:
        file.write(f"AlphaS_Qs: {list(_SCALES)}\nAlphaS_Vals: {[float(alpha_s)] * len(_SCALES)}\n")
    grid = madspace.AlphaSGrid(table)
    grid.initialize_globals(context)
    return madspace.RunningCoupling(grid)


def _masses(library: pathlib.Path, legs: int) -> list[float]:
    """Masses of the legs, as the library itself has them."""
    import ctypes

    functions = ctypes.CDLL(str(library))
    handle, masses = ctypes.c_void_p(), (ctypes.c_double * legs)()
    wrong = functions.umami_initialize(ctypes.byref(handle), b"") or functions.umami_get_meta(5, masses)
    functions.umami_free(handle)
    if wrong:
        raise Error("the masses of the process are not known")
    return list(masses)


def _bookkeeping(madspace: Any, data: dict[str, Any], topologies: list[Any], pdg: list[int]) -> Any:
    diagrams = [channel["diagrams"][0] for channel in data["channels"]]
    return madspace.SubprocArgs(
        process_id=0,
        topologies=topologies,
        permutations=[[diagram["permutation"]] for diagram in diagrams],
        diagram_indices=[[diagram["diagram"]] for diagram in diagrams],
        diagram_color_indices=[[diagram["active_colors"]] for diagram in diagrams],
        diagram_propagator_pdgs=[[diagram["propagator_pdgs"]] for diagram in diagrams],
        color_flows=[[tuple(tags) for tags in flow] for flow in data["color_flows"]],
        pdg_color_types={int(code): color for code, color in data["pdg_color_types"].items()},
        helicities=[[float(h) for h in row] for row in data["helicities"]],
        pdg_ids=[[pdg]],
    )
