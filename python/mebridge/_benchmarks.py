"""Weights of other parameter cards, which a run gives its events as it writes them: those of `mebridge reweight`."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from . import _arguments, _command, _reweight, _scratch
from ._arguments import Path
from ._library import Error

# What callers give: cards, or cards by the names of their weights.
Cards = Mapping[str, Path] | Sequence[Path] | None


@dataclass(frozen=True)
class Benchmarks:
    """The cards of a run, and what they are compared with.

    Args:
        sources: processes, as of :func:`mebridge.reweight_events`.
        original: the card of the events, where it is not in the header of their file.
        helicity: as of :func:`mebridge.reweight_events`.
    """

    cards: Sequence[str]
    names: Sequence[str] | None
    sources: Sequence[str]
    environment: Mapping[str, str]
    threads: int
    original: str | None = None
    helicity: str = "event"

    def check(self, card: str | None = None) -> None:
        """That the cards can be used, before there are events.

        Args:
            card: the text of that of the events, where it is to come into the header of their file.

        Raises:
            Error: what the command says.
        """
        with _scratch.folder() as folder:
            file = pathlib.Path(folder) / "param_card.dat"
            if card is not None:
                file.write_text(card, encoding="utf-8")
            # There are no events yet, so none are read.
            given = self if card is None else replace(self, original=str(file))
            try:
                given._reweight(pathlib.Path("events.lhe"), pathlib.Path("reweighted.lhe"), None, "--check")
            except Error as error:
                raise Error(str(error).replace(str(file), "reweight: the card of the run")) from None

    def write(
        self, events: pathlib.Path, output: pathlib.Path, executor: Executor | Callable[[], Executor] | None
    ) -> str:
        """Writes events of a file with the weights into another one, and gives a table of what they are, if one process
        makes them."""
        # After the name of the file.
        return self._reweight(events, output, executor).partition("\n")[2]

    def _reweight(
        self,
        events: pathlib.Path,
        output: pathlib.Path,
        executor: Executor | Callable[[], Executor] | None,
        *options: str,
    ) -> str:
        return _reweight.reweight(
            events,
            self.sources,
            output,
            self.cards,
            self.names,
            self.original,
            [f"--helicity={self.helicity}", f"--threads={self.threads}", "--backend=cpu", *options],
            executor,
            self.environment,
        )


def chosen(given: Cards) -> tuple[list[str], list[str] | None]:
    """The cards and, where they are given by name, the names of their weights."""
    if isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"reweight is {given!r}; it must be a list of parameter cards, or a dict of them by name")
    if isinstance(given, Mapping):
        names = [_arguments.text("reweight: a name", name) for name in given]
        cards = list(given.values())
    else:
        names, cards = [], list(given or [])
    found = [os.path.abspath(_arguments.text("reweight: a card", card)) for card in cards]
    for card in found:
        if not os.path.isfile(card):
            raise Error(f"reweight: there is no parameter card {card}")
    return found, names or None


def of_name(
    process: str,
    card: Path | None,
    environment: Mapping[str, str],
    folder: pathlib.Path,
) -> str:
    """The card of a process by its name, written into this folder where it is the model's own."""
    if card is not None:
        return os.path.abspath(card)
    rows: dict[tuple[str, ...], float] = {}
    for element in json.loads(_command.run("info", "--json", "--", process, environment=environment, warns=False)):
        for row in element.get("card", ()):
            place = (row["block"].lower(), *map(str, row["index"]))
            rows[place] = row["value"]
    blocks: dict[str, list[str]] = {}
    for (block, *index), value in rows.items():
        blocks.setdefault(block, []).append(f"{' '.join(index)} {value!r}\n")
    widths = blocks.pop("decay", [])
    text = "".join(f"Block {block}\n" + "".join(f"  {line}" for line in lines) for block, lines in blocks.items())
    file = folder / "param_card.dat"
    file.write_text(text + "".join(f"DECAY {line}" for line in widths))
    return str(file)
