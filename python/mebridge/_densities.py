"""Parton densities and alpha_s: files of LHAPDF and of MG5aMC, and where they are."""

from __future__ import annotations

import ctypes
import math
import os
import pathlib
import re
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import _arguments
from ._library import Error, check, lib
from ._process import Path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# x f(x, Q) of partons by their PDG codes, x and scales in GeV, arrays of one length.
Density = Callable[["NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"], "NDArray[np.float64]"]

# Scales of a constant alpha_s in GeV.
_SCALES = (1e-3, 1.0, 1e3, 1e6, 1e9, 1e12)


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


def _inside(scale: float, low: float, high: float, what: str, name: str) -> None:
    if not low <= scale <= high:
        raise Error(f"{name} is {scale:g} GeV, and {what} lie between {low:g} and {high:g} GeV; take one of these")


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
    """The set of a number at LHAPDF, or of a name with ``/MEMBER`` after it, where LHAPDF looks for sets."""
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

