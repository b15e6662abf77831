"""A run by the cards of an output."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

from . import _asked, _command, _conditions, _densities, _elements, _events, _pdfdata, _photons, _running, _text
from ._densities import Coupling, Densities
from ._events import Order
from ._heads import Heads, powers
from ._inputs import Inputs
from ._library import Error
from ._process import Path
from ._slha import Card
from ._systematics import Systematics


def order(
    inputs: Inputs, scratch: str, systematics: Sequence[Path] | bool | None, backend: str, **asked: Any
) -> tuple[Order, Heads]:
    """A run by the cards; its densities may be written into this folder.

    Args:
        asked: what :class:`Order` has besides.
    """
    card = inputs.run_card
    densities, coupling = _chosen_densities(inputs, scratch)
    param_card = _with_running(inputs, scratch, coupling)
    heads = Heads(inputs, param_card)
    varied = _varied(inputs, systematics, densities, backend)
    found = Order(
        sources=inputs.output.sources,
        card=str(param_card),
        parameters={},
        environment=inputs.output.environment,
        backend=backend,
        devices=[backend],
        energy=inputs.energy,
        densities=densities,
        coupling=coupling,
        scale=_asked.scale(inputs),
        scale_factor=card["scalefact"],
        cuts={},
        asked={
            "output": str(inputs.output.path),
            **inputs.output.asked,
            "run_card": {entry: card[entry] for entry in card},
            "param_card": _events.file_digest(inputs.param_card),
            "pdf": None if densities is None else _events.file_digest(densities.file),
            "systematics": {
                "weights": varied.names,
                "files": [_events.file_digest(file) for file in varied.files],
            },
        },
        files=varied.files,
        windows=True,
        more=lambda elements: {
            **_asked.build_arguments(inputs, elements),
            **({"systematics": varied.asked()} if varied.groups else {}),
            "alpha_qed": inputs.alpha_qed(),
            "scales": _weighable(inputs, elements),
            "energies": inputs.energies,
            "anti": [inputs.run_card[f"lpp{beam + 1}"] == -1 or beam == inputs.other_beam for beam in (0, 1)],
            "other_beam": inputs.other_beam,
            "photons": 0 if inputs.other_beam is None else inputs.run_card[f"lpp{inputs.other_beam + 1}"],
        },
        head=lambda elements: heads.head(densities, varied, elements),
        conditions=lambda elements, build: _conditions.line(
            elements,
            coupling,
            _source(inputs),
            _conditions.by_run_card(card, not inputs.resting),
            _conditions.cuts_of_run_card(list(_conditions.windows_of(build)), card),
        ),
        **asked,
    )
    return found, heads


def _with_running(inputs: Inputs, folder: str, coupling: Coupling) -> pathlib.Path:
    """The parameter card, with what the run says of parameters that run."""
    if not inputs.scales_of_blocks:
        return inputs.param_card
    card = inputs.run_card
    fixed = card["mue_ref_fixed"] if card["fixed_extra_scale"] else None
    found = _running.entries(inputs.scales_of_blocks, coupling, fixed, card["maxjetflavor"])
    text = _text.read(inputs.param_card, "the parameter card")
    file = pathlib.Path(folder) / "param_card.dat"
    file.write_text(_running.with_entries(text, found), encoding="utf-8")
    return file


def _chosen_densities(inputs: Inputs, folder: str) -> tuple[Densities | None, Coupling]:
    """Densities and alpha_s, as ``setrun.f`` chooses them."""
    card = inputs.run_card
    if inputs.resting:
        return None, _pdfdata.coupling_of(Card.read(inputs.param_card))
    label = card["pdlabel2" if inputs.other_beam == 0 else "pdlabel1"]
    if label == _photons.LABEL:
        coupling = _pdfdata.coupling_of(Card.read(inputs.param_card))
        return _photons.densities(card["lpp1"], coupling, folder), coupling
    if label in _pdfdata.SETS:
        found = _pdfdata.densities(_pdfdata.locate(inputs.output.data, label))
        return found, _with_coupling(found)
    found = Densities.read(_densities.by_number(card["lhaid"]))
    return found, _with_coupling(found)


def _source(inputs: Inputs) -> str:
    """What alpha_s is of."""
    label = inputs.run_card["pdlabel2" if inputs.other_beam == 0 else "pdlabel1"]
    if inputs.resting or label == _photons.LABEL:
        return "the parameter card"
    return str(label if label in _pdfdata.SETS else f"lhaid {inputs.run_card['lhaid']}")


def _with_coupling(densities: Densities) -> Coupling:
    if densities.coupling is None:
        raise Error(f"the set of {densities.file} has no table of alpha_s (AlphaS_Qs and AlphaS_Vals)")
    return densities.coupling


def _varied(
    inputs: Inputs, asked: Sequence[Path] | bool | None, densities: Densities | None, backend: str
) -> Systematics:
    """Which further weights events have."""
    card = inputs.run_card
    if asked is not None:
        found = Systematics.choose(asked, densities, True)
        if found.groups and inputs.runs_along:
            raise Error(_running.NO_SYSTEMATICS)
        if found.groups and inputs.other_beam is not None:
            raise Error("weights for systematics are for densities of both beams, or of none; ask for none")
        if found.groups and backend != "cpu":
            raise Error('weights for systematics are made on a CPU; set backend to "cpu"')
        return found
    program = card["systematics_program"].lower()
    unfit = inputs.other_beam is not None or card["pdlabel1"] != "lhapdf"
    if not card["use_syst"] or program == "none" or densities is None or unfit:
        return Systematics((), ())
    if program not in ("systematics", "auto") or not card["systematics_arguments"]:
        said = f"systematics_program = {program}" if card["systematics_arguments"] else "sys_scalefact"
        _command.say(f"mebridge: {said} of the run card is not followed: events have no weights for systematics\n")
        return Systematics((), ())
    if inputs.runs_along:
        _command.say(f"mebridge: {_running.NO_SYSTEMATICS}\n")
        return Systematics((), ())
    if backend != "cpu":
        _command.say("mebridge: events have no weights for systematics, which are made on a CPU\n")
        return Systematics((), ())
    return Systematics.of_arguments(card["systematics_arguments"], densities, card["ickkw"] == 1)


def _weighable(inputs: Inputs, elements: Sequence[_elements.Element]) -> bool:
    """Whether events have ``<mgrwt>``; says why, where they are asked for it and have none."""
    there = bool(powers(inputs, elements))
    if inputs.run_card["use_syst"] and not there and inputs.reweightable:
        why = "parameters of the model run" if inputs.runs_along else "matrix elements have several powers of alpha_s"
        _command.say(f"mebridge: events have no <mgrwt> (use_syst): {why}\n")
    return there
