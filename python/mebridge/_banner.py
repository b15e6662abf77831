"""What stands in an event file besides its events."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _lhe, _run_card


@dataclass(frozen=True)
class Cards:
    """The cards of a directory that MG5aMC wrote, as texts, which its banner repeats."""

    version: str
    """Of MG5aMC."""
    process: str
    run: str
    parameters: str

    def banner(self, events: int, seed: int, cross_section: float) -> str:
        """The blocks of MG5aMC's banner."""
        run_card = _run_card.changed(self.run, {"nevents": events, "iseed": seed})
        blocks = [
            f"<MGVersion>\n#{self.version}\n</MGVersion>\n",
            f"<MG5ProcCard>\n<![CDATA[\n{self.process.rstrip()}\n]]>\n</MG5ProcCard>\n",
            f"<MGRunCard>\n<![CDATA[\n{run_card.rstrip()}\n]]>\n</MGRunCard>\n",
            f"<slha>\n{self.parameters.rstrip()}\n</slha>\n",
            "<MGGenerationInfo>\n"
            f"#  Number of Events        :       {events}\n"
            f"#  Integrated weight (pb)  :       {cross_section!r}\n"
            "</MGGenerationInfo>\n",
        ]
        return "".join(blocks)


@dataclass(frozen=True)
class Head:
    """What all event files of a process and its cards have in common."""

    beams: _lhe.Beams
    norm: str = "average"
    """What weights are: they average to the cross section (``"average"``) or to 1 (``"unity"``), or are its parts
    (``"sum"``)."""
    generator: str = ""
    header: str = ""
    """Blocks of the header, but for the banner."""
    cards: Cards | None = None
    names: tuple[str, ...] = ()
    """Of further weights."""
    powers: tuple[int, ...] = ()
    """Of alpha_s by process, where events have MadEvent's ``<mgrwt>``."""
    matched: bool = False
    """Whether events have the scales that jets were clustered at."""
    clustering: bool = False
    """Whether they have all steps of the clustering as well."""

    def banner(self, events: int, seed: int, cross_section: float) -> str:
        """The blocks of the header, MG5aMC's first."""
        return ("" if self.cards is None else self.cards.banner(events, seed, cross_section)) + self.header

    def write(
        self,
        output: pathlib.Path,
        rounds: Sequence[tuple[pathlib.Path, int, _lhe.Weights]],
        processes: list[tuple[str, float, float]],
        cross_section: float,
        seed: int,
        asked: Mapping[str, Any],
        threads: int,
    ) -> None:
        """Writes the events of these rounds.

        Args:
            processes: cross section and error of each matrix element.
            asked: what makes the run, as JSON.
        """
        events = sum(count for _, count, _ in rounds)
        mean = {"sum": cross_section / events, "unity": 1.0}.get(self.norm, cross_section)
        larger = _lhe.overweights([weights for *_, weights in rounds], events)
        said = json.dumps({**asked, "overweights": larger}, indent=1)
        header = self.banner(events, seed, cross_section)
        banner = _lhe.Banner(header, self.generator, -3 if self.norm == "sum" else -4)
        beside = _lhe.Beside(self.beams, self.powers, self.matched, self.clustering)
        _lhe.write(output, rounds, mean, self.beams, processes, said, threads, banner, self.names, beside)
