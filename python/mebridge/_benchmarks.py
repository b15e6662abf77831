"""Weights for other parameter cards, added by `mebridge reweight` when a run writes its events."""

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

# Argument `reweight`: cards, or a mapping from names of weights to cards.
Cards = Mapping[str, Path] | Sequence[Path] | None


@dataclass(frozen=True)
class Benchmarks:
    """Cards for the weights of a run, and the processes and original card to reweight from.

    Args:
        cards: paths of the cards.
        names: names of the weights, or ``None`` for the defaults.
        sources: processes, as for :func:`mebridge.reweight_events`.
        original: the card of the events if the header of their file does not have it.
        helicity: as for :func:`mebridge.reweight_events`.
    """

    cards: Sequence[str]
    names: Sequence[str] | None
    sources: Sequence[str]
    environment: Mapping[str, str]
    threads: int
    original: str | None = None
    helicity: str = "event"

    def check(self, card: str | None = None) -> None:
        """Checks, before events are made, that the cards can be used.

        Args:
            card: text of the events' card if it will be in the header of their file.

        Raises:
            Error: if the command fails, with its message.
        """
        with _scratch.folder() as folder:
            file = pathlib.Path(folder) / "param_card.dat"
            if card is not None:
                file.write_text(card, encoding="utf-8")
            # With --check the command reads no events.
            given = self if card is None else replace(self, original=str(file))
            try:
                given._reweight(pathlib.Path("events.lhe"), pathlib.Path("reweighted.lhe"), None, "--check")
            except Error as error:
                raise Error(str(error).replace(str(file), "reweight: the card of the run")) from None

    def write(
        self, events: pathlib.Path, output: pathlib.Path, executor: Executor | Callable[[], Executor] | None
    ) -> str:
        """Writes the events of a file with the weights to another file, and returns a table of the weights (empty with
        an executor)."""
        # The first line is the name of the file.
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
    """Returns the paths of the cards and, if given in a mapping, the names of their weights."""
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
    """Returns the path of the card of a process given by name; without a card, writes the model's values to a card in
    ``folder``."""
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
