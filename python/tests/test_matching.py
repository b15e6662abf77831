"""MLM matching: squared diagrams by which clusterings are chosen, and fixed scales of older versions."""

import numpy as np
from test_runs import CARD, output

import mebridge
from mebridge import _runs
from mebridge._library import Error

from common import FolderHere


def _compton(p, mass):
    """Squares of both diagrams of g u > w+ d, summed over all helicities, and for how many of these they cancel; by
    spinors of two components."""
    sigma = np.array([np.eye(2), [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    bar = lambda v: np.einsum("i,iab->ab", v, sigma)
    lower = lambda v: np.einsum("i,iab->ab", v * np.array([1, -1, -1, -1]), sigma)
    gluon, quark, boson, out = p
    coming = np.array([-np.sqrt(2 * quark[0]), 0.0])
    going = np.array([-(out[1] - 1j * out[2]), out[0] + out[3]]) / np.sqrt(out[0] + out[3])
    size = np.linalg.norm(boson[1:])
    x, z = boson[1] / size, boson[3] / size
    s_line, t_line = gluon + quark, out - gluon
    s = s_line[0] ** 2
    t = t_line[0] ** 2 - (t_line[1:] ** 2).sum()
    squares, zero = np.zeros(2), 0
    for of_gluon in (1, -1):
        left = bar(np.array([0, -of_gluon, -1j, 0]) / np.sqrt(2))
        for of_boson in (1, 0, -1):
            vector = np.array([0, -of_boson * z, -1j, of_boson * x]) / np.sqrt(2)
            if of_boson == 0:
                vector = np.array([size, boson[0] * x, 0, boson[0] * z]) / mass
            right = bar(vector.conj())
            first = going.conj() @ right @ lower(s_line) @ left @ coming / s
            second = going.conj() @ left @ lower(t_line) @ right @ coming / t
            squares += abs(first) ** 2, abs(second) ** 2
            zero += abs(first + second) < 1e-10 * abs(first)
    return squares, zero


class Steps(FolderHere):
    def test_squared_diagrams_are_of_all_helicities(self):
        """Of g u > w+ d that of a left-handed gluon and a longitudinal W, whose two diagrams cancel, as well."""
        process = mebridge.Process("g u > w+ d")
        alpha, fermi, z = 1 / process.parameters["aewm1"], process.parameters["gf"], process.parameters["mz"]
        mass = np.sqrt(z**2 / 2 + np.sqrt(z**4 / 4 - alpha * np.pi * z**2 / (fermi * np.sqrt(2))))
        energy, cosine = np.array([90.0, 150.0, 400.0]), np.array([0.3, -0.8, 0.6])
        momentum = (4 * energy**2 - mass**2) / (4 * energy)
        of_w, sine = np.hypot(momentum, mass), np.sqrt(1 - cosine**2)
        p = np.zeros((3, 4, 4))
        p[:, :2, 0] = energy[:, None]
        p[:, 0, 3], p[:, 1, 3] = energy, -energy
        p[:, 2] = np.stack([of_w, -momentum * sine, 0 * sine, -momentum * cosine], axis=1)
        p[:, 3] = np.stack([momentum, momentum * sine, 0 * sine, momentum * cosine], axis=1)
        (first,) = [
            of["diagrams"][0]["diagram"] for of in process.diagrams if sorted(of["vertices"][-1])[:2] == ["i0", "i1"]
        ]
        found = process.evaluate(p, amp2=True).amp2[:, [first, 1 - first]]
        for event in range(3):
            squares, zero = _compton(p[event], mass)
            self.assertEqual(zero, 1)
            np.testing.assert_allclose(found[event], squares / squares.sum(), rtol=1e-10)


class Cards(FolderHere):
    def test_fixed_scales_of_older_versions_are_refused(self):
        asked = CARD.replace("False = fixed_fac_scale", "True = fixed_fac_scale") + "  1 = ickkw\n"
        place = output(self.folder / "output", asked)
        _runs.Run(place, changed_files=True)
        (place / "MGMEVersion.txt").write_text("2.9.4\n")
        with self.assertRaisesRegex(Error, "output is of 2.9.4"):
            _runs.Run(place, changed_files=True)
