"""Polarised particles that go out: their part of |M|^2 is that in the rest frame of the partons."""

import math
import pathlib
import sys

import numpy as np

import mebridge

from common import FolderHere

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

ENERGY, SCALE, ALPHA_S, TOP = 8000.0, 200.0, 0.118, 173.0
TO_PB = 0.389379372e9


def momenta(squared, cosine, rapidity=0.0):
    """Of g g > t t~ at these squared energies, seen from a frame in which the partons together have this rapidity."""
    squared, cosine = np.broadcast_arrays(squared, cosine)
    half = np.sqrt(squared) / 2
    p = np.sqrt(half**2 - TOP**2)
    sine, found = np.sqrt(1 - cosine**2), np.zeros((*half.shape, 4, 4))
    found[..., 0, 0] = found[..., 0, 3] = found[..., 1, 0] = half
    found[..., 1, 3] = -half
    for leg, sign in ((2, 1), (3, -1)):
        found[..., leg, 0], found[..., leg, 1], found[..., leg, 3] = half, sign * p * sine, sign * p * cosine
    energy, along = found[..., 0].copy(), found[..., 3].copy()
    found[..., 0] = math.cosh(rapidity) * energy + math.sinh(rapidity) * along
    found[..., 3] = math.sinh(rapidity) * energy + math.cosh(rapidity) * along
    return found.reshape(-1, 4, 4)


def total(process):
    """The cross section in pb, by quadrature over the energy, the rapidity and the angle of the partons."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    least = math.log((2 * TOP / ENERGY) ** 2)
    sum_ = 0.0
    for node, weight in zip(nodes, weights):
        # Dense at the threshold.
        share = ((1 + node) / 2) ** 2
        tau = math.exp(least * (1 - share))
        measure = -least * (1 + node) / 2 * weight
        y = nodes * math.log(1 / tau) / 2
        gluons = [densities.xf(21, math.sqrt(tau) * np.exp(sign * y), SCALE) for sign in (1, -1)]
        luminosity = math.log(1 / tau) / 2 * float(weights @ (gluons[0] * gluons[1]))
        squared = tau * ENERGY**2
        of = process.evaluate(momenta(squared, nodes), alpha_s=ALPHA_S)
        beta = math.sqrt(1 - 4 * TOP**2 / squared)
        sum_ += measure * luminosity * float(weights @ of) * beta / (16 * math.pi) / (2 * squared) * TO_PB
    return sum_


class Events(FolderHere):
    def test_the_cross_section_is_that_of_the_frame_of_the_partons(self):
        name = "g g > t{L} t~{L}"
        process = mebridge.Process(name)
        wanted = total(process)
        # What the frame of the beams would give is another number.
        there, here = (process.evaluate(momenta(600.0**2, [0.3], y), alpha_s=ALPHA_S)[0] for y in (1.0, 0.0))
        self.assertGreater(abs(there - here), 0.1 * here)
        pdf = densities.write(self.folder)
        run = mebridge.generate_events(
            name,
            energy=ENERGY,
            pdf=pdf,
            scale=SCALE,
            alpha_s=ALPHA_S,
            events=20_000,
            seed=1,
        )
        self.assertLess(abs(run.cross_section - wanted), 4 * run.error)
        self.assertLess(run.error, 0.01 * wanted)

    def test_neutrinos_that_come_in(self):
        """By the closed formula of the exchange of a W boson."""
        energy, fermi = 300.0, 1.16639e-5
        with self.assertRaisesRegex(mebridge.Error, "particle 2 that comes in .14, .* has two helicities .*write {L}"):
            mebridge.generate_events("e- vm > mu- ve", energy=energy, events=100)
        run = mebridge.generate_events("vm{L} e- > mu- ve", energy=energy, events=2000, seed=1)
        alpha, z = 1 / 132.507, 91.188
        w = z**2 / 2 * (1 + math.sqrt(1 - 4 * math.pi * alpha / (math.sqrt(2) * fermi * z**2)))
        wanted = fermi**2 / math.pi * w * energy**2 / (energy**2 + w) * TO_PB
        self.assertLess(abs(run.cross_section - wanted), 4 * run.error)
        self.assertLess(run.error, 0.02 * wanted)
