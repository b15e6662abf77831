"""One beam that is a parton itself beside a proton: e- u > e- u against an integral over momentum and angle."""

import dataclasses
import math
import pathlib
import sys
import unittest

import numpy as np

from common import FolderHere
import mebridge
from mebridge import _events
from test_runs import CARD, output

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities


ENERGIES, PT, SCALE = (27.5, 920.0), 10.0, 50.0
ENERGY = 2 * math.sqrt(ENERGIES[0] * ENERGIES[1])
TO_PB = 0.389379372e9


def rate(edges):
    """Cross section in pb of e- u > e- u with u of a proton, between these numbers of ln x."""
    process = mebridge.Process("e- u > e- u")
    nodes, weights = np.polynomial.legendre.leggauss(40)
    found = []
    for low, high in zip(edges, edges[1:]):
        total = 0.0
        for log, step in zip((low + high) / 2 + (high - low) / 2 * nodes, (high - low) / 2 * weights):
            energy = math.sqrt(math.exp(log)) * ENERGY
            most = math.sqrt(max(1 - (2 * PT / energy) ** 2, 0.0))
            if most == 0.0:
                continue
            # As 1 / (1 - cos)^2 falls, from the least angle of the electron on.
            ends = 1 / (1 - np.array([-most, most]))
            u = ends.mean() + np.diff(ends)[0] / 2 * nodes
            cosine, jacobian = 1 - 1 / u, np.diff(ends)[0] / 2 * weights / u**2
            sine, one = np.sqrt(1 - cosine**2), np.ones(len(u))
            out = np.stack([one, sine, 0 * one, cosine], axis=1)
            legs = [one[:, None] * [1, 0, 0, 1], one[:, None] * [1, 0, 0, -1], out, out * [1, -1, -1, -1]]
            squared = np.asarray(process.evaluate(energy / 2 * np.stack(legs, axis=1)))
            cross = (jacobian @ squared) / (32 * math.pi * energy**2)
            total += step * float(densities.xf(2, math.exp(log), SCALE)) * cross * TO_PB
        found.append(total)
    return np.array(found)


class PartonBeam(FolderHere):
    def test_electron_and_proton(self):
        pdf = densities.write(self.folder)
        asked = {**_events.DEFAULTS, "energy": ENERGY, "pdf": pdf, "cuts": {"pt": PT}, "scale": SCALE, "events": 10_000}
        order, _ = _events.ordered("e- u > e- u", **asked)
        more = {"anti": [True, False], "other_beam": 0, "energies": ENERGIES}
        rounds = []
        order = dataclasses.replace(order, more=lambda _: more)
        with self.subTest("cross section"):
            made = _events.make(order, False, lambda made: rounds.extend(np.load(file) for file, *_ in made.rounds))
            edges = np.linspace(math.log((2 * PT / ENERGY) ** 2), 0, 11)
            wanted = rate(edges)
            value, error = made.cross_section
            self.assertLess(abs(value - wanted.sum()), 4 * error)
            self.assertLess(error, 0.02 * value)
        events = np.concatenate(rounds)
        self.assertEqual(set(events["part1_pdg_id"]), {11})
        self.assertEqual(set(events["part2_pdg_id"]), {2})
        np.testing.assert_allclose(events["part1_pz"], ENERGIES[0], rtol=1e-9)
        self.assertTrue((np.hypot(events["part3_px"], events["part3_py"]) > PT).all())
        shares, _ = np.histogram(np.log(-events["part2_pz"] / ENERGIES[1]), edges)
        expected = len(events) * wanted / wanted.sum()
        self.assertLess(((shares - expected) ** 2 / expected).sum(), 40)

    def test_a_beam_is_one_particle(self):
        pdf = densities.write(self.folder)
        asked = {**_events.DEFAULTS, "energy": 8000.0, "pdf": pdf, "cuts": {"pt": 20, "eta": 3}, "events": 1000}
        order, _ = _events.ordered("p p > t t~", **asked)
        order = dataclasses.replace(order, more=lambda _: {"anti": [True, False], "other_beam": 0})
        with self.assertRaisesRegex(mebridge.Error, "name one particle"):
            _events.make(order, False, lambda made: None)


if __name__ == "__main__":
    unittest.main()
