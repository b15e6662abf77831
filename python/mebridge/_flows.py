"""Colour flows and diagrams of events, drawn when they are accepted.

Few points become events. So matrix elements give |M|^2 and a helicity at each point, which takes 0.14 (u g > e+ e- u g
g) to 0.85 (g g > t t~ g g) of the time (``CUDACPP_RUNTIME_FLOWS=off``), and a second instance of the same library draws
flows and diagrams at the momenta of events, as it would have done at once: by sums over helicities, which are the same
in all frames.

MadSpace keeps the events of a channel in a file of NumPy's format, whose header it does not end before it closes it.
"""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._elements import Element
    from ._integrands import Channel

# What goes out where few enough points become events: so many particles, or jets. (p p > t t~ j has one event of six
# points that pass the cuts, and loses a tenth; g g > t t~ g g one of eight, as much as it gains; p p > j j j one of 32.)
_PARTICLES, _JETS = 4, 3
# The same on a GPU, which takes little longer for flows: with so many jets |M|^2 alone has another form there, too.
_JETS_OF_GPU = 4
_PARTONS = (21, 1, 2, 3, 4, 5)
# Of a file of NumPy's: what it begins with, and the bytes before the text of its header.
_MAGIC, _BEGIN = b"\x93NUMPY\x01", 10


def pay(elements: Sequence[Element], on_cpu: bool = True) -> bool:
    """Whether flows of these matrix elements are sooner drawn for events alone."""
    outgoing = [element.flavor["options"][0][2:] for element in elements]
    jets = [sum(abs(code) in _PARTONS for code in codes) for codes in outgoing]
    if not on_cpu:
        return min(jets) >= _JETS_OF_GPU
    return all(len(codes) >= _PARTICLES or count >= _JETS for codes, count in zip(outgoing, jets))


class Flows:
    """What draws them.

    Args:
        context: of a CPU.
        elements: of the run, in libraries for a CPU.
    """

    def __init__(self, madspace: Any, context: Any, elements: Sequence[Element]) -> None:
        self._madspace, self._context, self._elements = madspace, context, elements
        self._functions: dict[str, Any] = {}

    def draw(self, files: Sequence[tuple[pathlib.Path, Channel, int]], seed: int) -> None:
        """Gives all events in the files of channels their flows and diagrams.

        Args:
            files: of each channel, with one of its matrix elements, all of which are in one library.
        """
        random = np.random.default_rng(seed)
        of_libraries: dict[str, list[tuple[np.ndarray[Any, Any], NDArray[np.int32]]]] = {}
        for path, channel, element in files:
            remap = np.array(channel.shared["flavor_remap"], dtype=np.int32)
            of_libraries.setdefault(str(self._elements[element].library), []).append((_read(path), remap))
        for library, parts in of_libraries.items():
            # A call takes as long as some hundred events.
            momenta = np.concatenate([events["momenta"] for events, _ in parts])
            alpha_s = np.concatenate([events["alpha_qcd"] for events, _ in parts])
            flavors = np.concatenate([remap[events["flavor_index"]] for events, remap in parts])
            if len(momenta) == 0:
                continue
            given = [momenta, alpha_s, flavors, *random.random((2, len(momenta)))]
            found = [array.numpy() for array in self._function(library, momenta.shape[1]).call(given)]
            last = 0
            for events, _ in parts:
                first, last = last, last + len(events)
                events["color_index"], events["diagram_index"] = (array[first:last] for array in found)

    def _function(self, library: str, legs: int) -> Any:
        if library in self._functions:
            return self._functions[library]
        madspace, kinds = self._madspace, self._madspace.MatrixElement
        # Another instance than the one with which flows are left out.
        api = self._context.load_matrix_element(library, "")
        inputs = [kinds.momenta_in, kinds.alpha_s_in, kinds.flavor_in, kinds.random_color_in, kinds.random_diagram_in]
        outputs = [kinds.color_index_out, kinds.diagram_index_out]
        function = kinds(api.index(), legs, inputs, outputs, api.diagram_count(), False).function()
        found = self._functions[library] = madspace.FunctionRuntime(function, self._context)
        return found


def _read(path: pathlib.Path) -> np.ndarray[Any, Any]:
    """The events in a file, which can be written, with their momenta (E, px, py, pz) as one field."""
    with open(path, "rb") as file:
        begin = file.read(_BEGIN)
        size = int.from_bytes(begin[8:], "little")
        text = file.read(size).decode("latin-1")
    first, last = text.find("["), text.find("]")
    if not begin.startswith(_MAGIC) or len(text) < size or not 0 <= first < last:
        raise Error(f"MadSpace did not write the events of {path} as it does in version 0.2.1")
    fields = [tuple(field) for field in ast.literal_eval(text[first : last + 1])]
    components = [i for i, (name, _) in enumerate(fields) if name.startswith("part")]
    legs = [name for name, _ in fields if name.endswith("_energy")]
    if not components or components != list(range(components[0], len(fields))) or len(components) != 4 * len(legs):
        raise Error(f"MadSpace did not write the events of {path} as it does in version 0.2.1")
    kind = np.dtype([*fields[: components[0]], ("momenta", "<f8", (len(legs), 4))])
    count, rest = divmod(path.stat().st_size - _BEGIN - size, kind.itemsize)
    if rest:
        raise Error(f"MadSpace did not write all of {path}; is the disk full?")
    if count == 0:
        return np.empty(0, kind)
    # NumPy takes its time for each part of an array that it knows to be a file's.
    return np.memmap(path, kind, "r+", _BEGIN + size, (count,)).view(np.ndarray)
