"""Matrix elements of a process: the libraries that hold them, and what the JSON beside each says."""

from __future__ import annotations

import functools
import itertools
import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _command
from ._library import Error


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

    @functools.cached_property
    def channels(self) -> list[dict[str, Any]]:
        index = self.flavor["index"]
        return [c for c in self.entry["channels"] if index in c["diagrams"][0]["active_flavors"]]

def write(
    sources: Sequence[str],
    card: str | None,
    parameters: Mapping[str, float],
    environment: Mapping[str, str],
    folder: str,
    windows: bool = False,
) -> list[Element]:
    """The matrix elements that processes stand for, in libraries that are written into a folder.

    One library holds all of a process, unless their masses are different parameters.

    Args:
        windows: as of :func:`mebridge._command.umami`.
    """

    def write_one(name: str, *sources: str) -> list[Element]:
        library = pathlib.Path(folder) / f"{name}.so"
        _command.umami(sources, library, card, parameters, "cpu", environment, windows)
        return read(library)

    def write_each(name: str, source: str) -> list[Element]:
        found: list[Element] = []
        for i in itertools.count(1):
            try:
                found += write_one(f"{name}.{i}", f"{source}#{i}")
            except Error as error:
                if found and f"and no number {i}" in str(error):
                    return found
                raise
        raise AssertionError

    every = []
    for number, source in enumerate(sources):
        try:
            every += write_one(f"process{number}", source)
        except Error as error:
            # Such as u u~ and c c~ of a model in which both quarks have masses of their own.
            if "cannot share a library" not in str(error):
                raise
            every += write_each(f"process{number}", source)
    return every


def libraries(elements: Sequence[Element]) -> list[str]:
    """Which they are in."""
    return list(dict.fromkeys(str(element.library) for element in elements))


def read(library: pathlib.Path) -> list[Element]:
    """The matrix elements of a library, by the JSON beside it."""
    entries = json.loads(library.with_suffix(".json").read_text())
    return [Element(library, entry, flavor) for entry in entries for flavor in entry["flavors"]]


def rewrite(library: pathlib.Path, entries: Sequence[dict[str, Any]]) -> None:
    """Writes the JSON beside a library anew; an entry that stands for several matrix elements comes as often."""
    once = {id(entry): entry for entry in entries}
    library.with_suffix(".json").write_text(json.dumps(list(once.values())))

