"""Parton densities and alpha_s as the library interpolates them."""

import pathlib
import sys
import unittest

import numpy as np

from common import FolderHere
import mebridge
from mebridge import _densities
from mebridge._densities import ANTI, Coupling, Densities

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities



class Tables(FolderHere):
    def setUp(self):
        super().setUp()
        self.file = Densities.read(densities.write(self.folder)).file
        random = np.random.default_rng(1)
        table = _densities.Table(self.file)
        (low, high), (least, largest) = np.log(table.x), np.log(table.q)
        self.x, self.q = np.exp(random.uniform(low, high, 5000)), np.exp(random.uniform(least, largest, 5000))
        self.codes = random.choice(table.codes, 5000)

    def test_beams(self):
        """Those of antiparticles are exchanged, a parton that is a beam has density 1."""
        plain = _densities.density(self.file)
        conjugate = np.where(np.isin(self.codes, (21, 22)), self.codes, -self.codes)
        found = plain(ANTI + self.codes, self.x, self.q)
        self.assertEqual(found.tolist(), plain(conjugate, self.x, self.q).tolist())
        mixed = np.where(np.arange(5000) % 3, self.codes, ANTI + 11)
        found = _densities.density(self.file, ANTI + 11)(mixed, self.x, self.q)
        self.assertEqual(found[::3].tolist(), [1.0] * len(found[::3]))
        some = np.arange(5000) % 3 > 0
        self.assertEqual(found[some].tolist(), plain(self.codes[some], self.x[some], self.q[some]).tolist())
        self.assertEqual(plain(self.codes[:0], self.x[:0], self.q[:0]).tolist(), [])
        knots = Densities.read(self.file).knots()
        self.assertEqual(knots.codes, frozenset(_densities.Table(self.file).codes))

    def test_shapes_go_together(self):
        table = _densities.Table(self.file)
        found = table.xf([21, 2], self.x[:3, None], 100.0)
        self.assertEqual(found.shape, (3, 2))
        self.assertEqual(found[:, 1].tolist(), table.xf(np.full(3, 2), self.x[:3], np.full(3, 100.0)).tolist())

    def test_what_is_wrong(self):
        table = _densities.Table(self.file)
        with self.assertRaisesRegex(mebridge.Error, r"there are no densities of 25 \(PDG code\)"):
            table.xf(25, 0.1, 100.0)
        with self.assertRaisesRegex(mebridge.Error, "nowhere"):
            _densities.Table(self.folder / "nowhere_0000.dat")
        with self.assertRaisesRegex(mebridge.Error, "positive scales that rise"):
            _densities.alpha_s(Coupling((2.0, 1.0), (0.1, 0.2)))(np.ones(1))


if __name__ == "__main__":
    unittest.main()
