"""Matrix elements that have their channels in common.

u u~ > e+ e- g g and d d~ > e+ e- g g are different numbers, and have the same trees with the same masses. Where weights
of channels follow from propagators alone, such trees are one channel for all of them, which chooses the flavours by
their densities and by what it learned of |M|^2: fewer grids have more points to learn from. (MadGraph7 gives such
processes one folder.)
"""

from __future__ import annotations

import functools
import pathlib
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _channels, _trial
from ._called import first
from ._library import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._elements import Element
    from ._trial import Points

    Array = NDArray[np.float64]

# Particles that differ by their generation, by the first of them; masses are looked at besides.
_GENERATIONS = {1: (1, 2, 3, 4, 5), 11: (11, 13, 15), 12: (12, 14, 16)}
# Of what each of them would have if they were the same: few points say what is so on average, not everywhere.
_LEAST_CHANCE = 0.3
_FIRST = {code: first for first, codes in _GENERATIONS.items() for code in codes}


class Option(NamedTuple):
    """What may come in, and go out then."""

    element: int
    """The number of the matrix element."""
    pair: tuple[int, int]
    """PDG codes of the partons."""
    processes: list[list[int]]
    """PDG codes of the legs."""
    mirrored: bool
    """Whether beams are exchanged in half of the events."""


@dataclass(frozen=True)
class Group:
    """Matrix elements with the same channels."""

    members: tuple[int, ...]
    """Their numbers."""
    options: Sequence[Option]


def groups(alike: Sequence[Hashable], options: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """Numbers of matrix elements with the same key; one whose key is ``None`` has nothing in common with another.

    Args:
        options: of each, PDG codes of its processes: two that have the same one are not together, as events could not be
            told apart.
    """
    found: dict[Hashable, list[int]] = {}
    taken: set[Hashable] = set()
    for number, (key, processes) in enumerate(zip(alike, options)):
        particles = {(key, pdg[0], pdg[1], tuple(sorted(pdg[2:]))) for pdg in processes}
        alone = key is None or not taken.isdisjoint(particles)
        taken |= particles
        found.setdefault((number,) if alone else (None, key), []).append(number)
    return list(found.values())


def _kind(code: int) -> int:
    return _FIRST.get(abs(code), abs(code))


def legs(options: Sequence[Sequence[int]], mirror: bool) -> Hashable:
    """What the legs of a matrix element are but for generations and charges. Quarks and antiquarks that come in have
    densities of other shapes.

    Args:
        mirror: whether it has both orders of the beams.
    """
    beams = tuple(frozenset((_kind(pdg[leg]), pdg[leg] > 0) for pdg in options) for leg in (0, 1))
    return beams, tuple(frozenset(_kind(pdg[leg]) for pdg in options) for leg in range(2, len(options[0]))), mirror


def trees(channels: Sequence[Mapping[str, Any]], legs: int) -> frozenset[str]:
    """Names of the trees of a matrix element, each leg being itself."""
    return frozenset(_channels.name(channel, range(legs), _kind) for channel in channels)


class Squared:
    """|M|^2 of the matrix elements, by which it is seen how often flavours are to be chosen.

    Args:
        context: of a CPU.
        elements: in libraries for a CPU; none where there are none.
        apis: the libraries that are loaded there, by their names; others are loaded when they are needed.
    """

    def __init__(
        self, madspace: Any, context: Any, elements: Sequence[Element], apis: Mapping[str, Any]
    ) -> None:
        self._madspace, self._context, self._elements, self._apis = madspace, context, elements, dict(apis)

    def chances(
        self, options: Sequence[Option], points: Sequence[Points]
    ) -> list[tuple[float, ...]]:
        """How often each option is to be chosen by each channel, besides its densities; none where it is not known.

        Args:
            points: of each channel.
        """
        if not points or not self._elements:
            return []
        momenta, weights = (np.concatenate(some) for some in zip(*((of.momenta, of.weights) for of in points)))
        ends = np.cumsum([len(of.weights) for of in points])[:-1]
        members = dict.fromkeys(option.element for option in options)
        of = {member: np.split(weights * self.of(member)(momenta), ends) for member in members}
        found = []
        for channel in range(len(points)):
            sums = {member: float(np.nansum(values[channel])) for member, values in of.items()}
            shares = np.array([sums[option.element] * len(option.processes) for option in options])
            total = shares.sum()
            # Few points are no reason never to choose one.
            least = _LEAST_CHANCE / len(options)
            found.append(tuple((np.maximum(shares / total, least) if total > 0.0 else shares + 1.0).tolist()))
        return found

    def is_zero(self, number: int, masses: Sequence[float]) -> bool:
        """Whether |M|^2 of a matrix element vanishes; not, where it is not known."""
        return bool(self._elements) and _trial.is_zero(self.of(number), masses)

    def of(self, number: int) -> Callable[[Array], Array]:
        """|M|^2 of a matrix element by momenta; one where it is not known."""
        if not self._elements:
            return lambda momenta: np.ones(len(momenta))
        return functools.partial(self._of, number)

    def _of(self, number: int, momenta: Array) -> Array:
        madspace, element = self._madspace, self._elements[number]
        name = str(element.library)
        if name not in self._apis:
            self._apis[name] = self._context.load_matrix_element(name, "")
        api, kinds = self._apis[name], madspace.MatrixElement
        inputs, outputs = [kinds.momenta_in, kinds.flavor_in], [kinds.matrix_element_out]
        function = kinds(api.index(), momenta.shape[1], inputs, outputs, api.diagram_count(), False).function()
        flavors = np.full(len(momenta), element.flavor["index"], dtype=np.int32)
        return np.abs(first(madspace.FunctionRuntime(function, self._context).call([np.ascontiguousarray(momenta), flavors])))


def set_chances(madspace: Any, contexts: Sequence[Any], samplers: Sequence[tuple[Any, Sequence[float]]]) -> None:
    """Gives samplers of flavours, in these contexts, their probabilities, which need not add up to one."""
    equal, known = (madspace.Context(madspace.cpu_device(), 1) for _ in range(2))
    for sampler, _ in samplers:
        sampler.initialize_globals(equal)
    with tempfile.TemporaryDirectory() as folder:
        # It reads its own files alone.
        equal.save_globals(folder)
        for sampler, chances in samplers:
            (name,) = sampler.prob_names()
            probabilities = np.load(pathlib.Path(folder) / f"{name}.npy", mmap_mode="r+")
            # Whoever reads the file sees that, without a word to the disk.
            probabilities[...] = np.array(chances) / sum(chances)
        known.load_globals(folder)
    for context in contexts:
        context.copy_globals_from(known)


class Processes:
    """Which matrix element events of a group belong to, by their particles."""

    def __init__(self, groups: Sequence[Group]) -> None:
        # None where the events of the group are those of one.
        self._tables: list[tuple[NDArray[np.uint64], NDArray[np.int32]] | None] = []
        self._alone = [group.members[0] if len(group.members) == 1 else -1 for group in groups]
        for group in groups:
            if len(group.members) == 1:
                self._tables.append(None)
                continue
            rows = {tuple(codes): option.element for option in group.options for codes in option.processes}
            codes = np.array(list(rows))
            status = np.ones_like(codes)
            status[:, :2] = -1
            keys, elements = _keys(codes, status), np.array(list(rows.values()), dtype=np.int32)
            order = np.argsort(keys)
            self._tables.append((keys[order], elements[order]))

    @property
    def merged(self) -> bool:
        """Whether some group has several matrix elements."""
        return any(table is not None for table in self._tables)

    def elements(self, groups: NDArray[np.int32], particles: np.ndarray[Any, Any]) -> NDArray[np.int32]:
        """Numbers of the matrix elements of events of these groups."""
        found = np.array(self._alone, dtype=np.int32)[groups]
        for number in np.unique(groups).tolist():
            table = self._tables[number]
            if table is None:
                continue
            own = np.flatnonzero(groups == number)
            keys = _keys(particles["pdg_id"][own], particles["status_code"][own])
            places = np.minimum(np.searchsorted(table[0], keys), len(table[0]) - 1)
            if not np.array_equal(table[0][places], keys):
                raise Error("MadSpace made an event of particles that no matrix element has")
            found[own] = table[1][places]
        return found


def _keys(codes: NDArray[np.int32], status: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A number for what comes in, by its order, and for what goes out, without one."""
    hashed = _hash(codes.astype(np.int64).astype(np.uint64))
    hashed[status != 1] = 0
    first, second = (_hash(codes[:, leg].astype(np.int64).astype(np.uint64) ^ np.uint64(leg + 1 << 40)) for leg in (0, 1))
    found: NDArray[np.uint64] = hashed.sum(axis=1, dtype=np.uint64) + first + second
    return found


def _hash(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64 (G. Steele et al., OOPSLA 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found
