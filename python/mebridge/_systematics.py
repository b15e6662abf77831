"""Weights of events for other scales and densities: which there are, how they are named, what they are.

Names are those of arXiv:2203.08230, groups and attributes those of MG5aMC's `systematics`.
"""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _cuts, _densities, _meta, _records
from ._densities import Coupling, Densities
from ._densities import Density
from ._elements import Element
from ._library import Error
from ._process import Path
from ._scales import dynamical

Array = np.ndarray[Any, Any]

# Factors of the scales of renormalisation and factorisation, but for those that are 4 times as large as each other.
_SEVEN = ((0.5, 0.5), (0.5, 1.0), (1.0, 0.5), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0))
# Further scales by ``dynamical_scale_choice``.
DYNAMICAL = {1: "et", 2: "ht", 3: "ht/2", 4: "shat"}
_CURE = "set systematics_program to none, and run MG5aMC's systematics on the file"
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
    dynamical: int = -1
    """Of the scales, as ``dynamical_scale_choice`` has them; -1: those that events have."""
    emissions: float = 1.0
    """Multiplies the scales of the vertices that jets were clustered at."""

    @property
    def name(self) -> str:
        emissions = f"__ALPSFACT={self.emissions:g}" if self.emissions != 1.0 else ""
        dynamical = f"__DYN={self.dynamical}" if self.dynamical != -1 else ""
        of = f"__LHAPDF={self.lhapdf}" if self.lhapdf else ""
        return f"MUR={self.mur:g}__MUF={self.muf:g}{emissions}{dynamical}{of}"

    @property
    def attributes(self) -> str:
        emissions = f' ALPSFACT="{self.emissions:g}"' if self.emissions != 1.0 else ""
        dynamical = f' DYN_SCALE="{self.dynamical}"' if self.dynamical != -1 else ""
        of = f' PDF="{self.lhapdf}"' if self.lhapdf else ""
        return f'MUR="{self.mur:g}" MUF="{self.muf:g}"{emissions}{dynamical}{of}'


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
            name, found = _members([first] if alone else _set(first), densities, running, members)
            groups.append((name, _combined(first), found))
        names = [one.name for *_, some in groups for one in some]
        for name in names:
            if names.count(name) > 1:
                raise Error(f"systematics asks twice for {name}")
        return cls(tuple(groups), tuple(members))

    @classmethod
    def of_arguments(cls, arguments: Sequence[str], densities: Densities, matched: bool = False) -> Systematics:
        """Those that MG5aMC's ``systematics`` makes for ``systematics_arguments`` of a run card, but for arguments that
        are refused by their names.

        Args:
            matched: whether events have scales of their own for emissions.
        """
        values: dict[str, list[str]] = {"mur": ["0.5", "1", "2"], "muf": ["0.5", "1", "2"], "alps": ["1"]}
        values |= {"dyn": ["-1", "1", "2", "3", "4"], "pdf": ["errorset"]}
        for argument in arguments:
            name, _, value = argument.lstrip("-").partition("=")
            if name not in values:
                raise Error(f"systematics_arguments has {argument}, which is not made here; {_CURE}")
            values[name] = [word.strip() for word in value.strip("'\"").split(",")]
        if values["alps"] not in (["1"], ["1.0"]) and not matched:
            raise Error(f"systematics_arguments has --alps={','.join(values['alps'])}, and no emissions are; {_CURE}")
        try:
            factors = [[float(word) for word in values[name]] for name in ("mur", "muf", "alps")]
            choices = [int(word) for word in values["dyn"]]
        except ValueError as error:
            raise Error(f"systematics_arguments: {error}") from None
        unknown = [choice for choice in choices if choice != -1 and choice not in DYNAMICAL]
        if unknown:
            raise Error(f"systematics_arguments has --dyn={unknown[0]}; there are -1, 1, 2, 3 and 4")
        nominal = _number(densities)
        scales = tuple(
            Variation(mur, muf, nominal, None, choice)
            for mur, muf, choice in itertools.product(factors[0], factors[1], choices)
            if (mur, muf, choice) != (1.0, 1.0, -1)
        )
        groups: list[tuple[str, str, tuple[Variation, ...]]] = []
        if scales:
            groups.append(("Central scale variation", "envelope", scales))
        emissions = tuple(Variation(1.0, 1.0, nominal, emissions=of) for of in factors[2] if of != 1.0)
        if emissions:
            groups.append(("Emission scale variation", "envelope", emissions))
        members: list[Member] = []
        for word in values["pdf"]:
            of, _, number = word.partition("@")
            if of == "central" or (of == "errorset" and number == "0"):
                continue
            first = densities if of == "errorset" else Densities.read(_by_number(of))
            chosen = _set(first)
            if number:
                chosen = [one for one in chosen if one.file.stem.endswith(f"_{int(number):04}")]
            # A set may have none but the one of the events.
            if any(one.file != densities.file for one in chosen):
                name, found = _members(chosen, densities, True, members)
                groups.append((name, _combined(first), found))
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
            "variations": [[one.mur, one.muf, one.member, one.dynamical, one.emissions] for one in self.variations],
            "members": [[str(of.file), coupling] for of, coupling in zip(self.members, couplings)],
        }

    def header(self) -> str:
        """The block of an LHE file that says what its weights are."""
        lines = ["<initrwgt>"]
        for name, combined, some in self.groups:
            lines.append(f'<weightgroup name="{name}" combine="{combined}">')
            for one in some:
                lines.append(f'<weight id="{one.name}" {one.attributes}> {one.name} </weight>')
            lines.append("</weightgroup>")
        return "\n".join([*lines, "</initrwgt>"])


def _members(
    of: Sequence[Densities], nominal: Densities, running: bool, members: list[Member]
) -> tuple[str, tuple[Variation, ...]]:
    """The name of a set, and weights for its members, which are noted, but for the one of the events."""
    others = [one for one in of if one.file != nominal.file]
    if not others:
        raise Error(f"{nominal.file.parent} has no other members than the one of the events")
    found = tuple(Variation(1.0, 1.0, _number(one), len(members) + i) for i, one in enumerate(others))
    members += [Member(one.file, one.coupling if running else None) for one in others]
    return others[0].file.parent.name, found


def _by_number(of: str) -> str:
    """A set by its number or name, where LHAPDF looks for it."""
    return _densities.by_number(int(of) if of.isdecimal() else of)


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
        variations: factors of both scales, the number of a member, or None, which scales they multiply, and the factor of
            scales of emissions.
        energies: of the beams.
        alpha_s: at a scale.
        density: of a parton at x and a scale; None without densities.
        members: the same two of each member.
        coupling: by number of a matrix element, momenta, and alpha_s before and after: the ratio of |M|^2.
        incoming: of each matrix element the PDG codes of what comes in, in its order.
        shifts: what densities add to codes of what comes from both beams.
    """

    def __init__(
        self,
        variations: Sequence[tuple[float, float, int | None, int, float]],
        energies: tuple[float, float],
        alpha_s: Callable[[Array], Array],
        density: Density | None,
        members: Sequence[tuple[Callable[[Array], Array], Density]],
        coupling: Callable[[int, Array, Array, Array], Array],
        incoming: Sequence[set[tuple[int, int]]],
        shifts: Sequence[int] = (0, 0),
    ) -> None:
        self._variations, self._energies = variations, np.array(energies)
        self._alpha_s, self._density, self._members, self._coupling = alpha_s, density, members, coupling
        self._incoming, self._shifts = incoming, shifts

    def ratios(self, records: Array, scales: Array, matched: Array | None = None) -> Array:
        """(events, variations); scales are those of :func:`mebridge._records.scales`, and what matching found that of
        :func:`mebridge._records.matched`."""
        found = np.ones((len(records), len(self._variations)))
        nested = _records.nested(np.ascontiguousarray(records))
        for number in np.unique(nested["process_id"]):
            places = np.flatnonzero(nested["process_id"] == number)
            of = None if matched is None else matched[places]
            found[places] = self._of_element(int(number) - 1, nested[places], scales[places], of)
        return found

    def _of_element(self, element: int, events: Array, scales: Array, matched: Array | None) -> Array:
        particles = events["particles"].reshape(len(events), -1)
        # What comes in and goes out, in the order of the matrix element.
        status = particles["status_code"]
        legs = particles[(status == -1) | (status == 1)].reshape(len(events), -1)
        momenta = np.stack([legs[name] for name in ("energy", "px", "py", "pz")], axis=-1)
        codes, x = legs["pdg_id"][:, :2], momenta[:, :2, 0] / self._energies
        # Where both orders of the beams are there, events have the one along +z first.
        exchanged = np.array([tuple(pair) not in self._incoming[element] for pair in codes.tolist()], bool)
        ordered = momenta.copy()
        ordered[exchanged, :2] = momenta[exchanged, 1::-1]
        of = codes + np.array(self._shifts)
        kinds = {choice: scales for *_, choice, _ in self._variations}
        for choice in kinds:
            if choice != -1:
                kinds[choice] = np.stack([dynamical(DYNAMICAL[choice], momenta)] * 3, axis=1)
        before = self._alpha_s(np.ascontiguousarray(scales[:, 0]))
        found = np.ones((len(events), len(self._variations)))
        known: dict[tuple[float, int], tuple[Array, Array]] = {}
        nominal = None
        if self._density is not None:
            if matched is None:
                nominal = _product(self._density, of, x, scales[:, 1:])
            else:
                nominal = self._along(matched, self._density, None, 1.0, 1.0)
        for i, (mur, muf, member, choice, emissions) in enumerate(self._variations):
            alpha_s, density = (self._alpha_s, self._density) if member is None else self._members[member]
            if (mur, choice) not in known or member is not None:
                after = alpha_s(np.ascontiguousarray(mur * kinds[choice][:, 0]))
                coupling = self._coupling(element, ordered, before, after)
                if member is None:
                    known[mur, choice] = coupling, after
            else:
                coupling, after = known[mur, choice]
            found[:, i] = coupling
            if matched is not None:
                found[:, i] *= self._emitted(matched["emissions"], alpha_s, emissions, after / before)
            if density is None or nominal is None:
                continue
            if matched is not None:
                varied = self._along(matched, density, None if choice == -1 else kinds[choice][:, 0], muf, emissions)
            elif muf != 1.0 or member is not None or choice != -1:
                varied = _product(density, of, x, muf * kinds[choice][:, 1:])
            else:
                continue
            found[:, i] *= np.divide(varied, nominal, out=np.zeros_like(nominal), where=nominal != 0.0)
        return found

    def _emitted(self, scales: Array, alpha_s: Callable[[Array], Array], factor: float, coupling: Array) -> Array:
        """What vertices that jets were clustered at change: their alpha_s is at scales of their own."""
        found = np.ones(len(scales))
        for column in scales.T:
            there = column > 0.0
            own = np.where(there, column, 100.0)
            found *= np.where(there, alpha_s(factor * own) / self._alpha_s(own) / coupling, 1.0)
        return found

    def _along(
        self, matched: Array, density: Density, central: Array | None, muf: float, emissions: float
    ) -> Array:
        """Densities of both partons at their last vertices, and what those before make of them, as MG5aMC's
        ``systematics`` has it.

        Args:
            central: scale of the last vertices, where it is not their own.
            muf: multiplies it.
            emissions: multiplies the scales of the vertices before.
        """
        found, rows = np.ones(len(matched)), np.arange(len(matched))
        for beam in (0, 1):
            codes = matched["pdg"][:, beam].astype(np.int64)
            x, q = matched["x"][:, beam], matched["q"][:, beam]
            last = (codes != 0).sum(axis=1) - 1
            shift = np.where(codes != 0, self._shifts[beam], 0)
            codes = codes + shift
            end = muf * (q[rows, last] if central is None else central)
            found *= density(codes[rows, last], x[rows, last], end) / x[rows, last]
            for step in range(int(last.max(initial=0))):
                some = np.flatnonzero(step < last)
                scale = np.minimum(emissions * q[some, step], end[some])
                before, after = (
                    density(codes[some, step], np.ascontiguousarray(of), scale) / of for of in (x[some, step], x[some, step + 1])
                )
                found[some] *= np.divide(before, after, out=np.zeros_like(before), where=after != 0.0)
        return found


def _product(density: Density, codes: Array, x: Array, scales: Array) -> Array:
    """Of the densities of both partons."""
    columns = np.ascontiguousarray(scales.T)
    first, second = (density(codes[:, beam], x[:, beam], columns[beam]) for beam in (0, 1))
    return first * second


def densities(
    density: Density | None,
    records: Array,
    scales: Array,
    energies: tuple[float, float],
    shifts: Sequence[int],
) -> Array:
    """Products f(x1, Q1) f(x2, Q2) of records, the particle along +z first; 1 without densities."""
    if density is None:
        return np.ones(len(records))
    incoming = _records.nested(np.ascontiguousarray(records))["particles"][:, :2]
    x = incoming["energy"] / np.array(energies)
    found: Array = _product(density, incoming["pdg_id"] + np.array(shifts), x, scales[:, 1:3]) / x.prod(axis=1)
    return found


def calculator(
    asked: Mapping[str, Any],
    elements: Sequence[Element],
    energies: tuple[float, float],
    alpha_s: Callable[[Array], Array],
    density: Density | None,
    shifts: Sequence[int],
) -> Calculator:
    """From what :meth:`Systematics.asked` gives."""

    def ratio(number: int, momenta: Array, before: Array, after: Array) -> Array:
        element = elements[number]
        if (power := element.qcd_power) is not None:
            found: Array = (after / before) ** power
            return found
        rest, flavor = _cuts.resting(momenta), element.flavor["index"]
        library = _meta.opened(element.library)
        squared = [library.squared(flavor, rest, coupling) for coupling in (after, before)]
        return squared[0] / squared[1]

    members = []
    for file, coupling in asked["members"]:
        own = None if coupling is None else _densities.alpha_s(Coupling(*map(tuple, coupling)))
        members.append((own or alpha_s, _densities.density(file)))
    variations = [
        (float(mur), float(muf), member, int(choice), float(of)) for mur, muf, member, choice, of in asked["variations"]
    ]
    incoming = [{(pdg[0], pdg[1]) for pdg in element.flavor["options"]} for element in elements]
    return Calculator(variations, energies, alpha_s, density, members, ratio, incoming, shifts)
