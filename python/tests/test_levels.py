"""|M|^2 at each SIMD level of this machine is the number that stands in levels.json, on every kind of processor.

The numbers are those of level none on x86-64; ``MEBRIDGE_TEST_LEVELS=none,avx2`` names levels that must not be missing.
"""

import json
import math
import os
import pathlib
import unittest

import numpy as np

import mebridge

FILE = pathlib.Path(__file__).with_name("levels.json")
LEVELS = ("none", "sse4", "avx2", "512y", "512z")
# Masses of outgoing particles.
PROCESSES = {
    "g g > t t~": (173.0, 173.0),
    "g g > t t~ g": (173.0, 173.0, 0.0),
    "u u~ > e+ e- g": (0.0, 0.0, 0.0),
}


def momenta(masses, events=13):
    """Fixed directions, and energies that follow from them; 13 events leave the last register of each level half full."""
    out = []
    for event in range(events):
        turns = [(2.4 * leg + event, 1.7 * leg - event, 0.9 * leg * event + 1) for leg in range(1, len(masses) + 1)]
        three = np.array([(math.cos(x), math.sin(y), math.cos(z)) for x, y, z in turns]) * 400
        three -= three.mean(axis=0)
        energy = np.sqrt((three**2).sum(axis=1) + np.square(masses))
        half = energy.sum() / 2
        out.append([[half, 0, 0, half], [half, 0, 0, -half], *np.column_stack([energy, three]).tolist()])
    return np.array(out)


def evaluated(name, level, precision="d"):
    return mebridge.Process(name, simd=level, precision=precision).evaluate(momenta(PROCESSES[name]), 0.118)


class Levels(unittest.TestCase):
    def test_all_levels_give_the_same_numbers(self):
        expected = json.loads(FILE.read_text())
        self.assertEqual(set(expected), set(PROCESSES))
        ran = []
        for level in LEVELS:
            worst = {"d": 0.0, "m": 0.0, "f": 0.0}
            try:
                for name, numbers in expected.items():
                    for precision, tolerance in (("d", 1e-13), ("m", 1e-5), ("f", 2e-3)):
                        found = evaluated(name, level, precision)
                        np.testing.assert_allclose(
                            found, numbers, rtol=tolerance, err_msg=f"{name} {level} {precision}"
                        )
                        worst[precision] = max(worst[precision], float(np.max(np.abs(found / numbers - 1))))
            except mebridge.Error as error:
                # Registers that are not there are refused by name; all else is a failure.
                self.assertRegex(str(error), f"(this CPU lacks|this build has no code for) SIMD level `{level}`")
                continue
            ran.append(level)
            print(f"level {level}: worst {worst['d']:.1e} in double, {worst['m']:.1e} mixed, {worst['f']:.1e} single")
        # What this machine must have, where somebody knows.
        asked = os.environ.get("MEBRIDGE_TEST_LEVELS", "none").split(",")
        self.assertLessEqual(set(asked), set(ran))
