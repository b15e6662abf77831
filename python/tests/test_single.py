"""One particle that goes out of two: cross sections and spectra against integrals over its rapidity."""

import contextlib
import io
import math
import pathlib
import sys
import unittest

import numpy as np

import mebridge

from common import FolderHere

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

ENERGY, MASS = 8000.0, 80.419002445756163
PAIRS = {(2, -1): "u d~ > w+", (4, -3): "c s~ > w+"}
TO_PB = 0.389379372e9


Z_MASS = 91.188
OF_Z = {(2, -2): "u u~ > z", (4, -4): "c c~ > z", (1, -1): "d d~ > z", (3, -3): "s s~ > z"}


def rapidities(nodes, mass=MASS, pairs=PAIRS):
    """Of a boson from (-1, 1) on, and dsigma/dy in pb by what comes in, in the order of the beams."""
    y = nodes * math.log(ENERGY / mass)
    tau = (mass / ENERGY) ** 2
    first, second = math.sqrt(tau) * np.exp(y), math.sqrt(tau) * np.exp(-y)
    momenta = np.array([[[mass / 2, 0, 0, mass / 2], [mass / 2, 0, 0, -mass / 2], [mass, 0, 0, 0]]])
    found = {}
    for (one, other), text in pairs.items():
        squared = float(np.ravel(mebridge.Process(text).evaluate(momenta))[0])
        # The integral of 2 pi delta(tau s - M^2) over tau, with x1 f x2 f / tau and the flux 2 M^2.
        factor = 2 * math.pi * squared / (2 * mass**2) / (tau * ENERGY**2) * TO_PB
        for codes in ((one, other), (other, one)):
            found[codes] = factor * densities.xf(codes[0], first, mass) * densities.xf(codes[1], second, mass)
    return y, found


def total(mass=MASS, pairs=PAIRS):
    nodes, weights = np.polynomial.legendre.leggauss(200)
    _, rates = rapidities(nodes, mass, pairs)
    return {codes: math.log(ENERGY / mass) * float(weights @ rate) for codes, rate in rates.items()}


class Single(FolderHere):
    def setUp(self):
        super().setUp()
        self.pdf = densities.write(self.folder)

    def generate(self, process="p p > w+", events=20_000, **options):
        asked = {"energy": ENERGY, "pdf": self.pdf, "scale": "ht", "seed": 1, **options}
        return mebridge.generate_events(process, events=events, **asked)

    def test_several_matrix_elements_in_one_library(self):
        """Each is one channel, however many diagrams the library has."""
        found, wanted = self.generate("p p > z"), total(Z_MASS, OF_Z)
        up = sum(value for (one, other), value in wanted.items() if one % 2 == 0)
        down = sum(wanted.values()) - up
        self.assertEqual(list(found.processes), ["2 -2 23", "1 -1 23"])
        for (value, error), expected in zip(found.processes.values(), (up, down)):
            self.assertLess(abs(value - expected), 4 * error)
            self.assertLess(error, 0.01 * value)

    def test_cross_section_spectrum_and_flavours(self):
        found, wanted = self.generate(), total()
        self.assertLess(abs(found.cross_section - sum(wanted.values())), 4 * found.error)
        self.assertLess(found.error, 0.006 * found.cross_section)
        events = found.arrays
        # All have three particles.
        particles = events.particles.reshape(20_000, 3)
        codes = particles["pdg_id"]
        momenta = np.stack([particles[name] for name in ("energy", "px", "py", "pz")], axis=-1)
        np.testing.assert_allclose(momenta[:, 0] + momenta[:, 1], momenta[:, 2], rtol=1e-12, atol=1e-9)
        self.assertEqual(np.abs(momenta[:, :, 1:3]).max(), 0.0)
        np.testing.assert_allclose(momenta[:, 2, 0] ** 2 - momenta[:, 2, 3] ** 2, MASS**2, rtol=1e-6)
        self.assertTrue((momenta[:, 0, 3] > 0).all() and (momenta[:, 1, 3] < 0).all())
        np.testing.assert_allclose(events.events["scale"], MASS, rtol=1e-9)
        for name, values in (("status_code", [-1, -1, 1]), ("mother1", [0, 0, 1]), ("mother2", [0, 0, 2])):
            self.assertEqual(np.unique(particles[name], axis=0).tolist(), [values], name)
        edges = np.linspace(-1, 1, 17)
        y = 0.5 * np.log((momenta[:, 2, 0] + momenta[:, 2, 3]) / (momenta[:, 2, 0] - momenta[:, 2, 3]))
        nodes, weights = np.polynomial.legendre.leggauss(16)
        chi2 = 0.0
        for codes_, _rate in wanted.items():
            some = (codes[:, 0] == codes_[0]) & (codes[:, 1] == codes_[1])
            made, _ = np.histogram(y[some] / math.log(ENERGY / MASS), edges)
            for count, low, high in zip(made, edges, edges[1:]):
                _, rates = rapidities((low + high) / 2 + (high - low) / 2 * nodes)
                part = (high - low) / 2 * math.log(ENERGY / MASS) * float(weights @ rates[codes_])
                expected = 20_000 * part / sum(wanted.values())
                chi2 += (count - expected) ** 2 / max(expected, 1.0)
        # 64 bins.
        self.assertLess(chi2, 64 + 5 * math.sqrt(2 * 64))

    def test_an_event_file_and_a_state_that_goes_on(self):
        place = self.folder / "events.lhe"
        first = self.generate(events=1000, output=place, state=self.folder / "state")
        text = place.read_text()
        self.assertEqual(text.count("<event>"), 1000)
        more = self.generate(events=2000, output=place, state=self.folder / "state")
        # Of the first event; weights are those of the run.
        for line in text[text.index("<event>") : text.index("</event>")].splitlines()[2:]:
            self.assertTrue(line in place.read_text(), line)
        self.assertLess(abs(more.cross_section - first.cross_section), 5 * first.error)

    def test_beside_processes_of_several_particles(self):
        """Events of both are in one file, by their cross sections."""
        text = "p p > w+; p p > w+ j"
        both = self.generate(text, events=4000, cuts={"pt": 30, "eta": 5}, scale=MASS)
        shares = {name: value for name, (value, _) in both.processes.items()}
        alone = {name: value for name, value in shares.items() if len(name.split()) == 3}
        self.assertLess(abs(sum(alone.values()) / sum(total().values()) - 1), 0.05)
        count, share = both.arrays.events["count"], sum(alone.values()) / both.cross_section
        # Each particle has its own mass, whichever process is the first.
        particles = both.arrays.particles
        squared = particles["energy"] ** 2 - sum(particles[name] ** 2 for name in ("px", "py", "pz"))
        self.assertLess(np.abs(squared - particles["mass"] ** 2).max(), 1e-6 * (particles["energy"] ** 2).max())
        self.assertEqual(set(particles["mass"][particles["pdg_id"] == 24]), {MASS})
        found = float((count == 3).mean())
        self.assertLess(abs(found - share), 5 * math.sqrt(share * (1 - share) / 4000))

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(mebridge.Error, "goes out alone"):
            self.generate("u d~ > w+", pdf=None)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(mebridge.Error, "vegas"):
            self.generate(sampler="madnis", events=1000)


class Spin(unittest.TestCase):
    pass
