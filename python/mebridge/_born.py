"""Borns of calculations at next-to-leading order."""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._arguments import Path
from ._library import Error, check, last_error, lib
from ._process import model_path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class BornValues:
    """Result of :meth:`Born.evaluate`."""

    born: NDArray[np.float64]
    """|M|^2, averaged over initial helicities and colours; shape (events,)."""
    links: NDArray[np.float64]
    """B_ij = <M|T_i.T_j|M> without a factor g_s^2; shape (events, legs, legs), symmetric, 0 for pairs that no soft gluon
    connects. The sum over j != i of a row is -C_i times the Born. The diagonal of a massive leg is C_i / 2 times the
    Born, as MG5aMC has it; that of a massless leg is 0."""
    complex_borns: NDArray[np.complex128]
    """The sum over helicities of M(h)^* M(-h) for each leg, where h is the helicity of the leg in the first row of the
    helicity table; shape (events, legs), NaN for legs that are no massless vectors."""
    amp2: NDArray[np.float64]
    """The sum over helicities of the squared modulus of each amplitude, not averaged: what aMC@NLO weights its channels
    with; shape (events, amplitudes)."""


@dataclass(frozen=True)
class Emission:
    """A real emission that becomes singular where a parton is soft, or collinear to a leg: a sector of FKS subtraction
    (Frixione, Kunszt, Signer, hep-ph/9512328)."""

    process: str
    """The process by PDG codes, for :class:`Process`: the Born's legs in their order, with ``leg`` replaced, and the
    emitted parton."""
    leg: int
    """The leg of the Born that splits, from 0."""
    soft: bool
    """Whether there is a soft singularity: a gluon is emitted."""
    collinear: bool
    """Whether there is a collinear singularity: the leg is massless."""


class Born:
    """A process with what soft and collinear limits of its real emissions need.

    ``process`` is one such as ``"g g > t t~"``, generated with ``model`` (a model file or UFO folder, by default the
    Standard Model), a process file, a ``SubProcesses/P*`` directory of MadEvent, or one that MG5aMC's aMC@NLO wrote,
    whose colour links are read; real emissions there are ``Process("P0_gg_ttx#1")`` and so on. ``parameter_card``
    replaces that of the output or the model.
    """

    name: str
    """Name of the process."""
    legs: tuple[int, ...]
    """PDG codes of the legs, incoming ones first."""
    links: tuple[tuple[int, int], ...]
    """Pairs of legs (from 0) that a soft gluon connects; a massive leg also with itself."""

    def __init__(self, process: Path, parameter_card: Path | None = None, *, model: Path | None = None) -> None:
        handle = ctypes.c_void_p()
        card = None if parameter_card is None else os.fsencode(parameter_card)
        path = model_path(model)
        named = None if path is None else os.fsencode(path)
        check(lib.mebridge_born_open(os.fsencode(process), card, named, ctypes.byref(handle)))
        self._handle = handle
        weakref.finalize(self, lib.mebridge_born_close, handle)
        about = json.loads(lib.mebridge_born_description(handle))
        self.name = about["name"]
        self.legs = tuple(about["legs"])
        self.links = tuple((i, j) for i, j in about["links"])
        self._amplitudes = about["amplitudes"]
        self._incoming = about["incoming"]
        self._first_helicity = about["first_helicity"]

    def __repr__(self) -> str:
        return f"<mebridge.Born {self.name}: {len(self.legs)} legs, {len(self.links)} colour links>"

    def emissions(self, flavors: int = 4) -> list[Emission]:
        """Returns the real emissions of strong interactions that this Born is the limit of, with the quarks up to this PDG
        code as massless partons. The factor for identical particles is that of each process. The widths of coloured
        particles must be zero in the parameter card, of the Born as of the real emissions: a top quark with a width cuts
        soft gluons off, and its diagrams are not gauge invariant."""
        text = lib.mebridge_born_emissions(self._handle, flavors)
        if text is None:
            raise Error(last_error())
        return [Emission(**emission) for emission in json.loads(text)]

    def tensors(self, momenta: ArrayLike, values: BornValues, leg: int) -> NDArray[np.float64]:
        """Returns B_munu of a leg (from 0), a massless vector, from what :meth:`evaluate` has returned for these momenta:
        the Born with the polarisation vectors of this leg taken off; shape (events, 4, 4), real and symmetric, with upper
        indices. For a vector n across the leg's momentum in the frame of the momenta, with n.n = -1, ``n @ B @ n`` is the
        Born polarised along n, and B_11 + B_22 + B_33 is the Born: what collinear limits of a gluon contain."""
        points = self._points(momenta)
        complex_born = values.complex_borns[:, leg]
        if np.isnan(complex_born).any():
            raise ValueError(f"leg {leg} (PDG code {self.legs[leg]}) is no massless vector, and has no B_munu")
        if len(points) != len(complex_born):
            raise ValueError(f"there are momenta of {len(points)} events and values of {len(complex_born)}")
        # HELAS's polarisation vector of the helicity to which the complex Born belongs.
        x, y, z = points[:, leg, 1:].T
        helicity, outgoing = self._first_helicity[leg], 1 if leg >= self._incoming else -1
        pt = np.hypot(x, y)
        along_z = pt == 0
        across = np.where(along_z, 1, pt)
        # Along z that of py = 0, px -> 0. HELAS's has the other sign along -z, which its square does not see.
        cosine, sine = np.where(along_z, 1, x / across), np.where(along_z, 0, y / across)
        polar, size = np.where(along_z, np.copysign(1, z), z / np.hypot(pt, z)), np.hypot(pt, z)
        vector = np.zeros((len(points), 4), dtype=np.complex128)
        vector[:, 1] = -helicity * cosine * polar - 1j * outgoing * sine
        vector[:, 2] = -helicity * sine * polar + 1j * outgoing * cosine
        vector[:, 3] = helicity * pt / size
        vector /= np.sqrt(2)
        outer = vector[:, :, None]
        mean = values.born[:, None, None] * (outer * vector.conj()[:, None]).real
        found: NDArray[np.float64] = mean - 2 * (complex_born[:, None, None] * outer * vector[:, None]).real
        return found

    def _points(self, momenta: ArrayLike) -> NDArray[np.float64]:
        points = np.ascontiguousarray(momenta, dtype=np.float64)
        legs = len(self.legs)
        if points.ndim != 3 or points.shape[1:] != (legs, 4):
            raise ValueError(f"momenta have shape {points.shape}; it must be (events, {legs}, 4)")
        return points

    def evaluate(self, momenta: ArrayLike, alpha_s: ArrayLike = 0.118) -> BornValues:
        """Evaluates points of phase space. ``momenta`` has shape (events, legs, 4), (E, px, py, pz) in GeV with incoming
        particles first; ``alpha_s`` is one number or one for each event."""
        points = self._points(momenta)
        events, legs = len(points), len(self.legs)
        g_s = np.ascontiguousarray(np.broadcast_to(np.sqrt(4 * np.pi * np.asarray(alpha_s, float)), events))
        born, each = np.empty(events), np.empty((events, len(self.links)))
        complex_borns = np.empty((events, legs), dtype=np.complex128)
        amp2 = np.empty((events, self._amplitudes))
        arrays = [array.ctypes.data for array in (points, g_s, born, each, complex_borns, amp2)]
        check(lib.mebridge_born_evaluate(self._handle, events, *arrays))
        links = np.zeros((events, legs, legs))
        for (i, j), values in zip(self.links, each.T):
            links[:, i, j] = links[:, j, i] = values
        return BornValues(born, links, complex_borns, amp2)
