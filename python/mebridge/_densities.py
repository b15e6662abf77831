"""Parton densities and alpha_s: files of LHAPDF, read by MadSpace, and what it does not check in them."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import pathlib
import re
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arguments
from ._called import first
from ._library import Error, check, lib
from ._process import Path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# x f(x, Q) of partons by their PDG codes, x and scales in GeV, arrays of one length.
Density = Callable[["NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"], "NDArray[np.float64]"]

# Scales of a constant alpha_s in GeV.
_SCALES = (1e-3, 1.0, 1e3, 1e6, 1e9, 1e12)
# Outside its scales MadSpace takes a density, or alpha_s, for 0. They get the value at the end up to these multiples of
# it: LHAPDF's files may have several parts, with scales of their own, between which nothing is interpolated.
_BELOW, _ABOVE = (1e-9, 1e-6, 1e-3, 1.0), (1.0, 1e3, 1e6, 1e9)


# Ends of names of files in ``lib/Pdfdata`` of an output (:mod:`mebridge._pdfdata`).
_OF_MG5AMC = (".grid", ".tbl")
# So far tables of CTEQ6 are taken beyond their last scale, GeV; they are extrapolated there, as by MG5aMC.
_CTEQ6_TO = 1e5

# What is added to PDG codes of partons in an antiproton, to tell them from those in a proton.
ANTI = 1000


@dataclass(frozen=True)
class Coupling:
    """alpha_s at some scales in GeV, between which it is interpolated."""

    scales: tuple[float, ...]
    values: tuple[float, ...]

    def check_scale(self, scale: float, name: str = "the scale") -> None:
        """That alpha_s is known at this scale in GeV, which messages call so."""
        _inside(scale, self.scales[0], self.scales[-1], "the scales of alpha_s", name)

    def at(self, scale: float) -> float:
        """alpha_s at a scale in GeV, as good as it is shown: 1 / alpha_s is nearly a straight line."""
        return float(1.0 / np.interp(math.log(scale), np.log(self.scales), 1.0 / np.array(self.values)))

    @classmethod
    def constant(cls, alpha_s: float) -> Coupling:
        return cls(_SCALES, (_arguments.positive("alpha_s", alpha_s),) * len(_SCALES))

    def grid(self, madspace: Any, folder: str) -> Any:
        """As MadSpace has it, from a table that is written into this folder."""
        scales = [self.scales[0] * by for by in _BELOW] + list(self.scales) + [self.scales[-1] * by for by in _ABOVE]
        values = len(_BELOW) * [self.values[0]] + list(self.values) + len(_ABOVE) * [self.values[-1]]
        table = os.path.join(folder, "alpha_s.info")
        with open(table, "w", encoding="ascii") as file:
            file.write(f"AlphaS_Qs: {scales}\nAlphaS_Vals: {values}\n")
        return madspace.AlphaSGrid(table)


@dataclass(frozen=True)
class Densities:
    """A member of a set of parton densities."""

    file: pathlib.Path
    coupling: Coupling | None
    """alpha_s of the set, where it has a table."""
    number: int
    """Its number at LHAPDF, 0 where the set does not say."""

    @classmethod
    def read(cls, pdf: Path) -> Densities:
        """What stands before the grid of a member, and in the file about its set."""
        given = pathlib.Path(os.fspath(pdf))
        if given.suffix in _OF_MG5AMC and given.is_file():
            from . import _pdfdata

            return _pdfdata.densities(given.absolute())
        file = _locate(pdf)
        header = _header(file)
        beside = file.parent / f"{file.parent.name}.info"
        information = beside.read_text(errors="replace") if beside.is_file() else ""
        number = re.search(r"^SetIndex:\s*(\d+)", information, re.MULTILINE)
        member = re.search(r"_(\d{4})\.dat$", file.name)
        index = int(number[1]) + int(member[1]) if number and member else 0
        # A member may have its own alpha_s.
        return cls(file, _coupling(header, file) or _coupling(information, file), index)

    @property
    def files(self) -> list[pathlib.Path]:
        """What :meth:`read` reads of it."""
        beside = self.file.parent / f"{self.file.parent.name}.info"
        return [self.file, *([beside] if beside.is_file() else [])]

    def knots(self) -> Knots:
        """Where the grid is."""
        table = Table(self.file)
        least, largest = map(float, table.q)
        if self.file.suffix == ".tbl":
            largest = max(largest, _CTEQ6_TO)
        return Knots(self.file, frozenset(table.codes), float(table.x[0]), (least, largest))

    def grid(self, madspace: Any, folder: str, conjugated: bool = False, other: Other | None = None) -> Grid:
        """The grid, read by MadSpace from a file that is written into this folder; with those of partons in the
        antiparticle of the hadron, if asked for, and of what another beam is, whose codes are larger by ``ANTI``."""
        try:
            wider = os.path.join(folder, "densities.dat")
            with open(wider, "w", encoding="ascii") as file:
                text = _widened(self._text())
                text = _conjugated(text) if conjugated else text
                file.write(text if other is None else _with(text, other))
            grid = madspace.PdfGrid(wider)
            rows = grid.values
        except (RuntimeError, ValueError, IndexError) as error:
            raise Error(f"{self.file} is no complete grid of LHAPDF (lhagrid1): {error}") from None
        finally:
            pathlib.Path(wider).unlink(missing_ok=True)
        if not all(map(math.isfinite, (number for row in rows for number in row))):
            raise Error(f"{self.file} holds numbers that are not finite")
        return Grid(self.file, grid, ANTI + other.code if other and other.density is None else None)


    def _text(self) -> str:
        if self.file.suffix in _OF_MG5AMC:
            from . import _pdfdata

            return _pdfdata.text(self.file)
        return self.file.read_text(encoding="ascii")


@dataclass(frozen=True)
class Other:
    """What a beam is beside one of hadrons: a parton itself, or what radiates one."""

    code: int
    density: Callable[[Any, Any], Any] | None
    """x f(x), by x and the squared scale, of what is radiated."""


class Table:
    """A file of densities, as the library interpolates it."""

    def __init__(self, file: Path) -> None:
        self._handle = ctypes.c_void_p()
        check(lib.mebridge_densities_open(os.fsencode(file), ctypes.byref(self._handle)))
        weakref.finalize(self, lib.mebridge_densities_close, self._handle)
        codes = np.empty(lib.mebridge_densities_codes(self._handle, None), dtype=np.int32)
        lib.mebridge_densities_codes(self._handle, codes.ctypes.data)
        self.codes: list[int] = codes.tolist()
        """PDG codes of its partons."""
        ends = np.empty(4)
        check(lib.mebridge_densities_range(self._handle, ends.ctypes.data))
        self.x, self.q = ends[:2], ends[2:]
        """Where its grid begins and ends, Q in GeV."""

    def xf(self, codes: ArrayLike, x: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
        """x f(x, Q), for arrays of any shapes that go together."""
        given = np.broadcast_arrays(codes, x, q)
        kinds = np.int32, np.float64, np.float64
        arrays = [np.ascontiguousarray(of, dtype=kind) for of, kind in zip(given, kinds)]
        found = np.empty(given[0].shape)
        addresses = [of.ctypes.data for of in (*arrays, found)]
        check(lib.mebridge_densities_evaluate(self._handle, found.size, *addresses))
        return found


@dataclass(frozen=True)
class Knots:
    """Where a grid of parton densities is."""

    file: pathlib.Path
    codes: frozenset[int]
    """PDG codes of its partons."""
    least_x: float
    scales: tuple[float, float]
    """The first and the last one, GeV."""

    def check(self, incoming: Collection[int], least_x: float, cure: str) -> None:
        """That the grid has these partons, and fractions of the momentum from this one on, or else what to do."""
        missing = sorted(set(incoming) - self.codes)
        if missing:
            raise Error(f"{self.file} has no densities of {', '.join(map(str, missing))} (PDG codes)")
        if least_x < self.least_x:
            name = self.file.stem.removesuffix("_0000")
            raise Error(f"the densities {name} begin at x = {self.least_x:g}, and events have x from {least_x:g} on; {cure}")

    def check_scale(self, scale: float, name: str) -> None:
        """That the grid has this scale in GeV, which messages call so."""
        _inside(scale, *self.scales, f"the densities of {self.file}", name)


@dataclass(frozen=True)
class Grid:
    """Parton densities as MadSpace has them."""

    file: pathlib.Path
    grid: Any
    parton: int | None = None
    """The code of a parton that is a beam itself, larger by ``ANTI``."""

    @property
    def knots(self) -> Knots:
        """Where the grid of the set is."""
        scales = self.grid.q[len(_BELOW)], self.grid.q[-len(_ABOVE) - 1]
        return Knots(self.file, frozenset(self.grid.pids), self.grid.x[0], scales)


def _inside(scale: float, low: float, high: float, what: str, name: str) -> None:
    if not low <= scale <= high:
        raise Error(f"{name} is {scale:g} GeV, and {what} lie between {low:g} and {high:g} GeV; take one of these")


def _widened(text: str) -> str:
    """A grid with a part below its first scale, and one above its last."""
    header, *parts = re.split(r"^---\s*\n", text, flags=re.MULTILINE)
    if not parts or parts[-1].strip():
        raise ValueError("it does not end with ---; is it cut off?")
    grids = [part.splitlines() for part in parts[:-1]]
    for lines in grids:
        counts = [len(line.split()) for line in lines[:2]]
        if len(lines) < 4 or min(counts) < 4 or len(lines) != 3 + counts[0] * counts[1]:
            raise ValueError("a part of it does not hold a line for each x and scale")

    def frozen(lines: list[str], which: int, factors: tuple[float, ...]) -> list[str]:
        scales = lines[1].split()
        end = float(scales[which])
        rows = lines[3:][which % len(scales) :: len(scales)]
        return [lines[0], " ".join(repr(end * by) for by in factors), lines[2], *(row for row in rows for _ in factors)]

    grids = [frozen(grids[0], 0, _BELOW), *grids, frozen(grids[-1], -1, _ABOVE)]
    return header + "---\n" + "".join("\n".join(lines) + "\n---\n" for lines in grids)


def _conjugated(text: str) -> str:
    """A grid with further columns: of partons in the antiparticle of the hadron."""
    header, *parts = text.split("---\n")
    found = []
    for part in parts[:-1]:
        x, scales, codes, *rows = part.splitlines()
        words = codes.split()
        # Gluons and photons are their own antiparticles.
        places = [words.index(of if (of := str(-int(code))) in words else code) for code in words]
        more = " ".join(str(ANTI + int(code)) for code in words)
        values = [row.split() for row in rows]
        wider = [" ".join(row + [row[place] for place in places]) for row in values]
        found.append("\n".join([x, scales, f"{codes} {more}", *wider]) + "\n")
    return "---\n".join([header, *found, parts[-1]])


def _with(text: str, other: Other) -> str:
    """A grid with a further column, of what another beam is: 1 for a parton itself."""
    header, *parts = text.split("---\n")
    found = []
    for part in parts[:-1]:
        x, scales, codes, *rows = part.splitlines()
        values = np.ones(len(rows))
        if other.density is not None:
            knots = [np.array(line.split(), dtype=np.float64) for line in (x, scales)]
            values = other.density(np.repeat(knots[0], len(knots[1])), np.tile(knots[1], len(knots[0])) ** 2)
        more = [f"{row} {value:.12e}" for row, value in zip(rows, values)]
        found.append("\n".join([x, scales, f"{codes} {ANTI + other.code}", *more]) + "\n")
    return "---\n".join([header, *found, parts[-1]])


def _locate(pdf: Path) -> pathlib.Path:
    """A member: a file, or the first one of a folder, or of a set by its name where LHAPDF looks for it."""
    given = pathlib.Path(os.fspath(pdf))
    folders = [given]
    if given.name == str(given):
        for variable in ("LHAPDF_DATA_PATH", "LHAPATH"):
            folders += [pathlib.Path(path) / given for path in os.environ.get(variable, "").split(":") if path]
    for folder in folders:
        if folder.is_file():
            return folder.resolve()
        member = folder / f"{folder.resolve().name}_0000.dat"
        if member.is_file():
            return member.resolve()
    from ._pdfdata import SETS

    if str(given) in SETS:
        raise Error(
            f"the densities {given} are of MG5aMC, and here pdf is a set of LHAPDF (number {SETS[str(given)].number} there); for MG5aMC's "
            f'take mebridge.Run(PROCESS, run_card={{"pdlabel": "{given}"}}, pdf_data=FOLDER), or `mebridge events PROCESS '
            "--pdf-data FOLDER`, where FOLDER is an output, or that of MG5aMC"
        )
    raise Error(
        f"there are no parton densities {str(pdf)!r}; name a member of a set (NAME/NAME_0000.dat), its folder, or a set "
        "below LHAPDF_DATA_PATH"
    )


def by_number(lhaid: int | str) -> str:
    """The set of a number at LHAPDF, or of a name with ``/MEMBER`` behind it, where LHAPDF looks for sets."""
    folders = [folder for name in ("LHAPDF_DATA_PATH", "LHAPATH") for folder in os.environ.get(name, "").split(":")]
    if isinstance(lhaid, str):
        name, _, member = lhaid.partition("/")
        return _member(_locate(name), int(member or 0))
    for information in (path for folder in folders if folder for path in sorted(pathlib.Path(folder).glob("*/*.info"))):
        text = information.read_text(errors="replace")
        found = {name: re.search(rf"^{name}:\s*(\d+)", text, re.MULTILINE) for name in ("SetIndex", "NumMembers")}
        first, members = found["SetIndex"], found["NumMembers"]
        if first and 0 <= (number := lhaid - int(first[1])) < (int(members[1]) if members else 1):
            return _member(_locate(information.parent), number)
    raise Error(
        f"no set of parton densities with the number {lhaid} (lhaid) lies below LHAPDF_DATA_PATH; set this variable to "
        "the folder of the sets, or pdlabel to nn23lo1"
    )


def _member(first: pathlib.Path, number: int) -> str:
    file = first.with_name(first.name.replace("_0000.dat", f"_{number:04}.dat"))
    if not file.is_file():
        raise Error(f"{file} is missing: the set has no such member here")
    return str(file)


def _header(file: pathlib.Path) -> str:
    """What stands before the first grid."""
    with open(file, "rb") as opened:
        start = opened.read(1 << 16)
    header, end, _ = start.partition(b"\n---")
    if not end or b"lhagrid1" not in header:
        raise Error(f"{file} is no grid of LHAPDF: it does not begin with PdfType, Format: lhagrid1 and ---")
    return header.decode("ascii", errors="replace")


def _coupling(text: str, file: pathlib.Path) -> Coupling | None:
    found = []
    for name in ("AlphaS_Qs", "AlphaS_Vals"):
        listed = re.search(rf"^{name}:\s*\[(.*?)\]", text, re.MULTILINE | re.DOTALL)
        if listed is None:
            return None
        try:
            found.append(tuple(float(number) for number in listed[1].split(",")))
        except ValueError:
            raise Error(f"{name} of {file.parent.name} holds something that is no number") from None
    scales, values = found
    rising = all(a <= b for a, b in zip(scales, scales[1:]))
    positive = all(math.isfinite(number) and number > 0 for number in scales + values)
    if len(scales) != len(values) or len(scales) < 2 or not rising or not positive:
        raise Error(f"the table of alpha_s of {file.parent.name} does not hold rising scales with positive values")
    return Coupling(scales, values)


def alpha_s(coupling: Coupling) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """alpha_s by the scale in GeV, as events of the library's engine have it."""
    knots = [np.array(numbers, dtype=np.float64) for numbers in (coupling.scales, coupling.values)]

    def at(q: NDArray[np.float64]) -> NDArray[np.float64]:
        q = np.ascontiguousarray(q, dtype=np.float64)
        found = np.empty(q.shape)
        check(lib.mebridge_alpha_s(len(knots[0]), *(of.ctypes.data for of in knots), q.size, q.ctypes.data, found.ctypes.data))
        return found

    return at


def density(file: Path, parton: int | None = None) -> Density:
    """Densities of a file as events of the library's engine have them.

    Args:
        file: of LHAPDF, or of ``lib/Pdfdata`` of an output of MG5aMC.
        parton: the code of what is a beam itself, larger by ``ANTI``. Other codes that are larger by it are those of partons
            in the antiparticle of the hadron.
    """
    table = Table(file)
    # Gluons and photons are their own antiparticles.
    plain = {ANTI + code: -code if -code in table.codes else code for code in table.codes}

    def of(codes: NDArray[np.int64], x: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.ones(len(x))
        some = np.flatnonzero(np.asarray(codes) != parton) if parton is not None else slice(None)
        known, places = np.unique(np.asarray(codes)[some], return_inverse=True)
        own = np.array([plain.get(code, code) for code in known.tolist()], dtype=np.int32)[places]
        found[some] = table.xf(own, x[some], q[some])
        return found

    return of


def coupling_of(madspace: Any, alpha_s: Any) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """alpha_s as MadSpace interpolates it, on the CPU."""
    context = madspace.Context(madspace.cpu_device(), 1)
    alpha_s.initialize_globals(context)
    function = madspace.FunctionRuntime(madspace.RunningCoupling(alpha_s).function(), context)
    return lambda scale: first(function.call([np.ascontiguousarray(scale)]))


def density_of(madspace: Any, grid: Grid | None) -> Density | None:
    """Densities as MadSpace interpolates them, on the CPU."""
    if grid is None:
        return None
    context = madspace.Context(madspace.cpu_device(), 1)
    grid.grid.initialize_globals(context)

    @functools.cache
    def of(code: int) -> Any:
        return madspace.FunctionRuntime(madspace.PartonDensity(grid.grid, [code]).function(), context)

    def density(
        codes: NDArray[np.int64], x: NDArray[np.float64], q: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        found = np.zeros(len(x))
        for code in np.unique(codes):
            some = codes == code
            # Rounding may take it beyond x = 1.
            found[some] = 1.0 if code == grid.parton else first(of(int(code)).call([x[some], q[some]]))
        return found

    return density
