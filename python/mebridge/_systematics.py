"""Weights of events for other scales and densities: which there are, how they are named, what they are.

Names are those of arXiv:2203.08230, groups and attributes those of MG5aMC's `systematics`.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _records
from ._densities import Coupling, Densities
from ._integrands import Density, Element
from ._library import Error
from ._process import Path

Array = np.ndarray[Any, Any]

# Factors of the scales of renormalisation and factorisation, but for those that are 4 times as large as each other.
_SEVEN = ((0.5, 0.5), (0.5, 1.0), (1.0, 0.5), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0))
# Groups that do not come from a file.
SCALE, MEMBERS = "scale", "pdf"


@dataclass(frozen=True)
class Variation:
    """What a weight is for."""

    mur: float
    muf: float
    lhapdf: str
    """Number of the densities at LHAPDF, or their file's name without .dat where the set has none."""
    member: int | None = None
    """Which of the other members, where it is one."""

    @property
    def name(self) -> str:
        of = f"__LHAPDF={self.lhapdf}" if self.lhapdf else ""
        return f"MUR={self.mur:g}__MUF={self.muf:g}{of}"


@dataclass(frozen=True)
class Member:
    """Other densities than those of the events."""

    file: pathlib.Path
    coupling: Coupling | None
    """Its alpha_s, where that is not the one of all."""


@dataclass(frozen=True)
class Systematics:
    """The weights of a run, in groups."""

    groups: tuple[tuple[str, str, tuple[Variation, ...]], ...]
    """Name, how they are combined, and what is in each."""
    members: tuple[Member, ...]

    @classmethod
    def choose(cls, asked: Sequence[Path] | bool, densities: Densities | None, running: bool) -> Systematics:
        """Those that are asked for: ``"scale"``, ``"pdf"``, members or sets of densities; both of the first for True.

        Args:
            running: whether alpha_s is that of the densities.
        """
        if isinstance(asked, (str, bytes)):
            raise TypeError(f"systematics is {asked!r}; it must be True or a list, such as ['scale', 'pdf']")
        words: list[Path] = [SCALE, *([MEMBERS] if densities else [])] if asked is True else list(asked or [])
        groups: list[tuple[str, str, tuple[Variation, ...]]] = []
        members: list[Member] = []
        nominal = "" if densities is None else _number(densities)
        for word in words:
            if word == SCALE:
                points = _SEVEN if densities is not None else ((0.5, 1.0), (2.0, 1.0))
                found = tuple(Variation(mur, muf, nominal) for mur, muf in points)
                groups.append(("Central scale variation", "envelope", found))
                continue
            if densities is None:
                raise Error(f"weights for densities ({word!r}) need densities: pdf=")
            first = densities if word == MEMBERS else Densities.read(word)
            alone = word != MEMBERS and pathlib.Path(word).is_file()
            inside = [first] if alone else _set(first)
            others = [one for one in inside if one.file != densities.file]
            if not others:
                raise Error(f"{densities.file.parent} has no other members than the one of the events")
            found = tuple(Variation(1.0, 1.0, _number(one), len(members) + i) for i, one in enumerate(others))
            members += [Member(one.file, one.coupling if running else None) for one in others]
            groups.append((first.file.parent.name, _combined(first), found))
        names = [one.name for *_, some in groups for one in some]
        for name in names:
            if names.count(name) > 1:
                raise Error(f"systematics asks twice for {name}")
        return cls(tuple(groups), tuple(members))

    @property
    def variations(self) -> list[Variation]:
        return [one for *_, some in self.groups for one in some]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.variations)

    @property
    def files(self) -> list[str]:
        return [str(member.file) for member in self.members]

    def asked(self) -> dict[str, Any]:
        """For the process that makes the weights, as JSON."""
        couplings = [None if of.coupling is None else [of.coupling.scales, of.coupling.values] for of in self.members]
        return {
            "variations": [[one.mur, one.muf, one.member] for one in self.variations],
            "members": [[str(of.file), coupling] for of, coupling in zip(self.members, couplings)],
        }

    def header(self) -> str:
        """The block of an LHE file that says what its weights are."""
        lines = ["<initrwgt>"]
        for name, combined, some in self.groups:
            lines.append(f'<weightgroup name="{name}" combine="{combined}">')
            for one in some:
                of = f' PDF="{one.lhapdf}"' if one.lhapdf else ""
                lines.append(f'<weight id="{one.name}" MUR="{one.mur:g}" MUF="{one.muf:g}"{of}> {one.name} </weight>')
            lines.append("</weightgroup>")
        return "\n".join([*lines, "</initrwgt>"])


def _number(densities: Densities) -> str:
    return str(densities.number) if densities.number else densities.file.stem


def _set(first: Densities) -> list[Densities]:
    """All members of a set."""
    name = first.file.parent.name
    return [Densities.read(str(file)) for file in sorted(first.file.parent.glob(f"{name}_[0-9][0-9][0-9][0-9].dat"))]


def _combined(of: Densities) -> str:
    """How the members of a set are combined, by its name at LHAPDF."""
    information = of.file.parent / f"{of.file.parent.name}.info"
    text = information.read_text(errors="replace") if information.is_file() else ""
    found = re.search(r"^ErrorType:\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else "unknown"


class Calculator:
    """Weights of records in units of the weights that they have.

    Args:
        variations: factors of both scales and the number of a member, or None.
        alpha_s: at a scale.
        density: of a parton at x and a scale; None without densities.
        members: the same two of each member.
        coupling: by number of a matrix element, momenta, and alpha_s before and after: the ratio of |M|^2.
        incoming: of each matrix element the PDG codes of what comes in, in its order.
    """

    def __init__(
        self,
        variations: Sequence[tuple[float, float, int | None]],
        energy: float,
        alpha_s: Callable[[Array], Array],
        density: Density | None,
        members: Sequence[tuple[Callable[[Array], Array], Density]],
        coupling: Callable[[int, Array, Array, Array], Array],
        incoming: Sequence[set[tuple[int, int]]],
    ) -> None:
        self._variations, self._energy = variations, energy
        self._alpha_s, self._density, self._members, self._coupling = alpha_s, density, members, coupling
        self._incoming = incoming

    def ratios(self, records: Array) -> Array:
        """(events, variations)."""
        found = np.ones((len(records), len(self._variations)))
        nested = _records.nested(np.ascontiguousarray(records))
        for number in np.unique(nested["process_id"]):
            places = np.flatnonzero(nested["process_id"] == number)
            found[places] = self._of_element(int(number) - 1, nested[places])
        return found

    def _of_element(self, element: int, events: Array) -> Array:
        particles = events["particles"].reshape(len(events), -1)
        # What comes in and goes out, in the order of the matrix element.
        status = particles["status_code"]
        legs = particles[(status == -1) | (status == 1)].reshape(len(events), -1)
        momenta = np.stack([legs[name] for name in ("energy", "px", "py", "pz")], axis=-1)
        codes, x = legs["pdg_id"][:, :2], 2.0 * momenta[:, :2, 0] / self._energy
        # Where both orders of the beams are there, events have the one along +z first.
        exchanged = np.array([tuple(pair) not in self._incoming[element] for pair in codes.tolist()], bool)
        ordered = momenta.copy()
        ordered[exchanged, :2] = momenta[exchanged, 1::-1]
        scale = np.ascontiguousarray(events["scale"])
        before = self._alpha_s(scale)
        found = np.ones((len(events), len(self._variations)))
        known: dict[tuple[float, bool], Array] = {}
        nominal = None if self._density is None else _product(self._density, codes, x, scale)
        for i, (mur, muf, member) in enumerate(self._variations):
            alpha_s, density = (self._alpha_s, self._density) if member is None else self._members[member]
            after = alpha_s(mur * scale)
            key = float(mur), member is None
            if key not in known or member is not None:
                known[key] = self._coupling(element, ordered, before, after)
            found[:, i] = known[key]
            if density is not None and nominal is not None and (muf != 1.0 or member is not None):
                varied = _product(density, codes, x, muf * scale)
                found[:, i] *= np.divide(varied, nominal, out=np.zeros_like(nominal), where=nominal != 0.0)
        return found


def _product(density: Density, codes: Array, x: Array, scale: Array) -> Array:
    """Of the densities of both partons."""
    first, second = (density(codes[:, beam], x[:, beam], scale) for beam in (0, 1))
    return first * second


def calculator(
    madspace: Any,
    asked: Mapping[str, Any],
    elements: Sequence[Element],
    energy: float,
    alpha_s: Callable[[Array], Array],
    density: Density | None,
    tables: Callable[[str, Any], tuple[Callable[[Array], Array] | None, Density]],
) -> Calculator:
    """From what :meth:`Systematics.asked` gives.

    Args:
        tables: reads the file of a member, and its alpha_s.
    """
    context = madspace.Context(madspace.cpu_device(), 1)
    runtimes: dict[int, Any] = {}

    def squared(number: int, momenta: Array, coupling: Array) -> Array:
        if number not in runtimes:
            api = context.load_matrix_element(str(elements[number].library), "")
            of = madspace.MatrixElement
            inputs = [of.momenta_in, of.alpha_s_in, of.flavor_in]
            runtimes[number] = madspace.FunctionRuntime(of(api, inputs, [of.matrix_element_out]).function(), context)
        flavors = np.full(len(momenta), elements[number].flavor["index"], np.int32)
        given = [np.ascontiguousarray(momenta), np.ascontiguousarray(coupling), flavors]
        (found,) = runtimes[number].call(given)
        return np.asarray(found.numpy(), dtype=float).ravel()

    def ratio(number: int, momenta: Array, before: Array, after: Array) -> Array:
        known = elements[number].qcd_power
        if known is not None:
            found: Array = (after / before) ** known
            return found
        return squared(number, momenta, after) / squared(number, momenta, before)

    members = []
    for file, coupling in asked["members"]:
        own, of = tables(file, coupling)
        members.append((own or alpha_s, of))
    variations = [(float(mur), float(muf), member) for mur, muf, member in asked["variations"]]
    incoming = [{(pdg[0], pdg[1]) for pdg in element.flavor["options"]} for element in elements]
    return Calculator(variations, energy, alpha_s, density, members, ratio, incoming)
