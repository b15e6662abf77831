"""Photons of beams: closed formulas against integrals over their virtuality, and the grid that MadSpace gets."""

import math
import unittest

import numpy as np

from common import Folder
from mebridge import _heads, _photons, _runs
from mebridge._library import Error
from test_runs import CARD, output


ALPHA = 0.0072992701
X = np.array([1e-6, 1e-4, 0.003, 0.05, 0.2, 0.6, 0.9])


def integrated(mass, x, most, rate):
    """Of a rate by the logarithm of the virtuality, from the least one on."""
    least = mass**2 * x**2 / (1 - x)
    if least >= most:
        return 0.0
    q2 = np.geomspace(least, most, 200_001)
    values = rate(q2, least)
    return float(np.sum((values[1:] + values[:-1]) / 2 * np.diff(np.log(q2))))


class Photons(Folder):
    def test_leptons(self):
        for kind in (3, 4, -3):
            mass = _photons.BEAMS[abs(kind)][1]
            for most in (4.0, 91.2**2):
                for x in X:
                    wanted = integrated(
                        mass, x, most, lambda q2, _: ALPHA / 2 / math.pi * (1 + (1 - x) ** 2 - 2 * (mass * x) ** 2 / q2)
                    )
                    found = _photons.flux(kind, np.array([x]), np.array([most]))[0]
                    self.assertLess(abs(found / wanted - 1), 1e-6, (kind, most, x))

    def test_protons(self):
        # Dipole form factors, with a magnetic moment of 2.79: Budnev's numbers are rounded.
        mass, moment = 0.938, 2.79**2

        def rate(q2, least):
            dipole = (1 + q2 / 0.71) ** -4
            electric = (4 * mass**2 * dipole + q2 * moment * dipole) / (4 * mass**2 + q2)
            return ALPHA / math.pi * ((1 - x) * (1 - least / q2) * electric + x**2 / 2 * moment * dipole)

        for most in (1.0, 4.0, 1e4):
            for x in X[:-2]:
                wanted = integrated(mass, x, most, rate)
                found = _photons.flux(2, np.array([x]), np.array([most]))[0]
                self.assertLess(abs(found / wanted - 1), 0.01, (most, x))

    def test_there_is_none_beyond_the_kinematics(self):
        # m^2 x^2 / (1 - x) is 4 GeV^2 there.
        end = (-4 + math.sqrt(16 + 16 * 0.938**2)) / 2 / 0.938**2
        found = _photons.flux(2, np.array([end - 1e-3, end + 1e-9, 1.0]), np.full(3, 4.0))
        self.assertGreater(found[0], 0.0)
        self.assertEqual(found[1:].tolist(), [0.0, 0.0])

    def test_beams(self):
        text = CARD.replace("nn23lo1 = pdlabel", "iww = pdlabel")
        place = output(self.folder / "output", text)
        for lpp, codes in (((2, 2), (2212, 2212)), ((3, -3), (11, -11)), ((-4, 4), (-13, 13)), ((2, -2), (2212, -2212))):
            run = _runs.Run(place, run_card={"lpp1": lpp[0], "lpp2": lpp[1]}, changed_files=True)
            self.assertEqual(run._inputs.beams, codes)
            self.assertEqual(_heads.powers(run._inputs, []), [])
        for changed, said in (
            ({"lpp1": 2, "lpp2": 3}, "lpp1 = 2 and lpp2 = 3"),
            ({"lpp1": 2, "lpp2": 2, "pdlabel": "edff"}, "pdlabel = edff"),
            ({"pdlabel": "iww"}, "pdlabel = iww"),
            ({"lpp1": 2, "lpp2": 2, "ickkw": 1}, "beams of hadrons"),
        ):
            with self.assertRaisesRegex(Error, said):
                _runs.Run(place, run_card=changed, changed_files=True)


if __name__ == "__main__":
    unittest.main()
