"""Matrix elements of a process: the libraries that hold them, and what the JSON beside each says."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import pathlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from . import _command, _flavors, _single, _widths
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

    @property
    def may_be_raised(self) -> bool:
        """Whether a width of it may be below ``small_width_treatment``, so that weights of channels are by diagrams."""
        return _widths.may_be_raised(self.channels)


def write(
    sources: Sequence[str],
    card: str | None,
    parameters: Mapping[str, float],
    backend: str,
    environment: Mapping[str, str],
    folder: str,
    apart: bool = False,
    windows: bool = False,
) -> list[Element]:
    """The matrix elements that processes stand for, in libraries that are written into a folder.

    On a CPU one library holds all of a process, unless their masses are different parameters. On a GPU those that may
    share channels have one, because it computes all that it holds for every event there.

    Args:
        apart: whether libraries are those of a GPU on a CPU as well.
        windows: as of :func:`mebridge._command.umami`.
    """

    def write_one(name: str, *sources: str) -> list[Element]:
        library = pathlib.Path(folder) / f"{name}.so"
        _command.umami(sources, library, card, parameters, backend, environment, windows)
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
    prefix = "apart" if apart else "process"
    for number, source in enumerate(sources):
        try:
            found = write_one(f"{prefix}{number}", source)
        except Error as error:
            # Such as u u~ and c c~ of a model in which both quarks have masses of their own.
            if "cannot share a library" not in str(error):
                raise
            every += write_each(f"{prefix}{number}", source)
            continue
        if (apart or backend != "cpu") and len(found) > 1:
            keys = [trees(element) for element in found]
            parts = _flavors.groups(keys, [element.flavor["options"] for element in found])
            tasks = [(f"{prefix}{number}.{part[0] + 1}", *(f"{source}#{i + 1}" for i in part)) for part in parts]
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                for part, some in zip(parts, pool.map(lambda task: write_one(*task), tasks)):
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
def what_is_read(elements: Sequence[Element], flows: bool = True) -> Iterator[None]:
    """While libraries are first used: they give squared diagrams where weights of channels follow from them alone, and
    colour flows and diagrams unless these are drawn for events (:mod:`mebridge._flows`).

    Squared diagrams of p p > e+ e- j j j are 3008 numbers for each point.
    """
    asked = {"AMP2": any(element.may_be_raised for element in elements), "FLOWS": flows}
    switches = {f"CUDACPP_RUNTIME_{name}": "on" if value else "off" for name, value in asked.items()}
    before = {name: os.environ[name] for name in switches if name in os.environ}
    os.environ.update(switches)
    try:
        yield
    finally:
        for name in switches:
            del os.environ[name]
        os.environ.update(before)


def load(contexts: Sequence[Any], elements: Sequence[Element]) -> dict[str, Any]:
    """Libraries of matrix elements in all contexts, by their names."""
    # Each load costs as much memory as the whole library, however many matrix elements it has (p p > e+ e- j j j: 44).
    return {
        library: [context.load_matrix_element(library, "") for context in contexts][0]
        for library in libraries(elements)
    }


def trees(element: Element) -> Hashable:
    """What matrix elements have in common whose diagrams are the same trees; ``None`` for one that has its own channels."""
    # Weights by squared diagrams are those of one matrix element.
    options = element.flavor["options"]
    if len(options[0]) == _single.LEGS or element.may_be_raised:
        return None
    return _flavors.legs(options, element.flavor["mirror"]), _flavors.trees(element.channels, len(options[0]))
