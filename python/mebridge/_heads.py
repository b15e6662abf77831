"""What stands in the event files of a run by cards besides its events."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import _command, _elements, _lhe, _run_card, _text
from ._banner import Cards, Head
from ._densities import Densities
from ._inputs import Inputs
from ._library import version
from ._named import Named
from ._slha import open_widths, with_widths
from ._systematics import Systematics


class Heads:
    """Heads of event files.

    Args:
        param_card: that of the matrix elements.
    """

    def __init__(self, inputs: Inputs, param_card: pathlib.Path) -> None:
        self._inputs, self._param_card = inputs, param_card

    @property
    def generator(self) -> str:
        """A line of event files."""
        return f"<generator name='mebridge' version='{version()}'>{self._inputs.output.by}</generator>"

    def head(
        self, densities: Densities | None, varied: Systematics, elements: Sequence[_elements.Element]
    ) -> Head:
        """What stands in its event files besides the events."""
        first, second = (code or own for code, own in zip(self._inputs.beams, elements[0].entry["incoming"]))
        numbers = [0 if densities is None or beam == self._inputs.other_beam else densities.number for beam in (0, 1)]
        beams = _lhe.Beams((first, second), self._inputs.energies, (numbers[0], numbers[1]))
        header = varied.header() + "\n" if varied.groups else ""
        found = tuple(powers(self._inputs, elements))
        # What MG5aMC's systematics reads before it looks for <mgrwt>.
        cards = self.cards({} if found else {"use_syst": False})
        matched = self._inputs.run_card["ickkw"] == 1
        norm, steps = self._inputs.run_card["event_norm"].lower(), matched and self._inputs.run_card["clusinfo"]
        return Head(beams, norm, self.generator, header, cards, varied.names, found, matched, steps)

    def _computed_widths(self) -> dict[str, float]:
        """Widths that matrix elements have, by the codes of the particles."""
        found = {}
        for source in self._inputs.output.sources:
            options = "--json", f"--card={self._inputs.param_card}", "--", source
            told = _command.run("info", *options, environment=self._inputs.output.environment, warns=False)
            for element in json.loads(told):
                rows = (row for row in element.get("card", ()) if row["block"] == "decay")
                found.update({str(code): abs(row["value"]) for row in rows for code in row["index"]})
        return found

    def parameters(self) -> str:
        """The parameter card of event files, with widths that were left to be computed."""
        parameters = _text.read(self._param_card, "the parameter card")
        # MG5aMC would compute all of them for the header.
        return with_widths(parameters, self._computed_widths()) if open_widths(parameters) else parameters

    def cards(self, changed: Mapping[str, Any]) -> Cards:
        run_card = _text.read(self._inputs.run_card_file, "the run card")
        parameters = self.parameters()
        if codes := open_widths(parameters):
            _command.say(
                f"mebridge: {self._inputs.param_card}: the widths of {', '.join(codes)} are Auto, in the header of the event file too; "
                "no matrix element needs them, but put numbers there if a shower does\n"
            )
        # What MG5aMC writes is whole; other cards are for readers that know no defaults, such as Pythia.
        added = _run_card.missing(self._inputs.run_card.given) if isinstance(self._inputs.output, Named) else {}
        whole = _run_card.changed(run_card, {**added, **self._inputs.changed, **changed})
        return Cards(self._inputs.output.version, self._inputs.output.steps, whole, parameters)


def powers(inputs: Inputs, elements: Sequence[_elements.Element]) -> list[int]:
    """Of alpha_s in each matrix element; none where ``<mgrwt>`` is not asked for, or cannot be written."""
    found = [element.qcd_power for element in elements if element.qcd_power is not None]
    if not inputs.run_card["use_syst"] or len(found) < len(elements) or not inputs.reweightable:
        return []
    return found
