"""A directory that MG5aMC wrote, or a process by its name, with the cards of a run."""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from . import _arguments, _beams, _command, _events, _photons, _run_card, _running, _written
from ._library import Error
from ._named import Named
from ._output import Output
from ._process import Path
from ._run_card import RunCard


class Inputs:
    """Arguments are those of :class:`mebridge.Run`."""

    def __init__(
        self,
        output: Path,
        run_card: Path | Mapping[str, Any] | None,
        param_card: Path | None,
        changed_files: bool,
        model: Path | None,
        folder: Path | None,
        pdf_data: Path | None,
    ) -> None:
        self.output = _found(_arguments.text("output", output), model, folder, pdf_data)
        changed = run_card if isinstance(run_card, Mapping) else {}
        given = run_card if isinstance(run_card, (str, os.PathLike)) else self.output.card("run_card.dat")
        self.run_card_file = pathlib.Path(os.fspath(given))
        self.changed = _run_card.of_both(changed)
        self.run_card = RunCard.read(self.run_card_file, self.changed)
        self.run_card.check()
        for name, (last, before) in self.run_card.repeated.items():
            _command.say(f"mebridge: {given} has {name} twice, {before} and {last}; the last holds\n")
        card = self.output.card("param_card.dat") if param_card is None else _arguments.text("param_card", param_card)
        self.param_card = pathlib.Path(os.path.abspath(card))
        self.directories = [] if self.output.decays else self.output.read()
        if isinstance(self.output, Output) and not changed_files:
            _written.check(self.output.path, self.output.directories)
        if self.output.version.startswith("2.") and self.run_card["ickkw"] == 1 and self.run_card["fixed_fac_scale1"]:
            raise Error(
                f"{self.run_card.source}: fixed_fac_scale with ickkw = 1 means what it does in MG5aMC 3, and the output is of "
                f"{self.output.version}; set one of them to False or 0"
            )
        self.beams = (0, 0) if self.output.decays else _beams.codes(self.run_card)
        if isinstance(self.output, Named):
            _beams.unpolarised(self.run_card)
        else:
            _beams.polarised(self.run_card, self.output.card("run_card.dat"))
        self.scales_of_blocks: dict[str, float] = {}
        if any(_running.may_run(source, self.output.model) for source in self.output.sources):
            given, environment = str(self.param_card), self.output.environment
            self.scales_of_blocks = _running.scales(self.output.sources, given, environment)

    @property
    def runs_along(self) -> bool:
        """Whether parameters of the model follow alpha_s of the event."""
        return bool(self.scales_of_blocks) and not self.run_card["fixed_extra_scale"]

    @property
    def radiated(self) -> bool:
        """Whether both beams radiate photons."""
        return all(abs(self.run_card[name]) in _photons.BEAMS for name in ("lpp1", "lpp2"))

    @property
    def other_beam(self) -> int | None:
        """Which one, 0 or 1, is no hadron, beside one that is: a parton itself, or what radiates photons."""
        hadrons = [abs(self.run_card[name]) == 1 for name in ("lpp1", "lpp2")]
        return hadrons.index(False) if sum(hadrons) == 1 else None

    @property
    def reweightable(self) -> bool:
        """Whether ``<mgrwt>`` can say what an event has of densities and alpha_s."""
        return not self.radiated and self.other_beam is None

    @property
    def resting(self) -> bool:
        """Whether both beams are partons themselves."""
        return not any(self.beams)

    @property
    def energies(self) -> tuple[float, float]:
        """Of the beams."""
        return float(self.run_card["ebeam1"]), float(self.run_card["ebeam2"])

    @property
    def energy(self) -> float:
        """Of both beams together, in the frame in which they have the same."""
        first, second = self.energies
        return 2.0 * math.sqrt(first * second) if first != second else 2.0 * first

    def alpha_qed(self) -> float:
        """alpha of events whose matrix elements do not know it."""
        left = self.output.path / "bin" / "internal" / "ufomodel"
        model = str(left) if self.output.model is None and left.is_dir() else self.output.model
        return _events.alpha_qed(self.param_card, model)


def _found(output: str, model: Path | None, folder: Path | None, pdf_data: Path | None) -> Output | Named:
    """An output, or a process by its name."""
    path = pathlib.Path(os.path.abspath(output))
    if ">" in output and not path.is_dir():
        return Named(output, model, folder or os.curdir, pdf_data)
    for name, given in (("model", model), ("folder", folder), ("pdf_data", pdf_data)):
        if given is not None:
            raise ValueError(f"{name} is for a process by its name, and {output} is taken for an output of MG5aMC")
    return Output(path)
