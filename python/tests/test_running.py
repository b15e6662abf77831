"""Parameters that run with alpha_s: matrix elements and events against closed forms."""

import gzip
import math
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

import numpy as np

import mebridge

from common import FolderHere

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

MODEL = pathlib.Path(__file__).resolve().parents[2] / "crates/generate/src/model/sm.toml"
# The Yukawa coupling of the top quark; |M|^2 is in proportion to its square.
RUNNING = """
[[running]]
parameters = ["ymt"]
block = "yukawa"
scale = 150.0
gamma = [["ymt", "ymt", "-8/(4*pi)"]]
"""
PROCESS = "g g > t t~ h"
PARTONS = {"lpp1": 0, "lpp2": 0, "ebeam1": 500, "ebeam2": 500, "use_syst": False, "maxjetflavor": 5}


def factor(at, reference, quarks=5):
    """|M|^2 over that of the card: d y / d ln mu = -8 alpha_s / (4 pi) y, with the one-loop beta function."""
    return (at / reference) ** (8 / (11 - 2 * quarks / 3))


@unittest.skipUnless(MODEL.is_file(), "the sources of mebridge are not there")
class Running(FolderHere):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "running.toml"
        self.model.write_text(MODEL.read_text() + RUNNING)
        self.enterContext(mock.patch.dict(os.environ, {"CUDACPP_RUNTIME_CACHE": "off"}))


class MatrixElements(Running):
    def test_samples_of_a_gpu_are_refused_where_they_are_asked_for(self):
        """No GPU is needed to see it."""
        process = mebridge.Process(PROCESS, model=self.model)
        with self.assertRaisesRegex(mebridge.Error, "GC_.*no polynomial.*RUNNING_YUKAWA.*--backend cpu"):
            process.library(self.folder / "gpu.so", backend="cuda")
        self.assertFalse((self.folder / "gpu.so").exists())
        # At one scale couplings are polynomials.
        process.parameters["RUNNING_YUKAWA_FIXED"] = 0.1
        self.assertTrue(process.library(self.folder / "gpu.so", backend="cuda").is_file())


def points(count, first, second, third):
    """Points of 2 -> 3 at 1000 GeV for these masses, by two decays in turn."""
    random, energy = np.random.default_rng(1), 1000.0
    found = []

    def two(mass, one, other):
        momentum = math.sqrt((mass**2 - (one + other) ** 2) * (mass**2 - (one - other) ** 2)) / (2 * mass)
        cosine, phi = random.uniform(-1, 1), random.uniform(0, 2 * math.pi)
        sine = math.sqrt(1 - cosine**2)
        p = momentum * np.array([sine * math.cos(phi), sine * math.sin(phi), cosine])
        return np.array([math.hypot(one, momentum), *p]), np.array([math.hypot(other, momentum), *-p])

    for _ in range(count):
        pair = random.uniform(first + second + 1, energy - third - 1)
        both, last = two(energy, pair, third)
        inner = two(pair, first, second)
        gamma, beta = both[0] / pair, both[1:] / both[0]

        def boosted(p):
            along = p[1:] @ beta
            b2 = beta @ beta
            return np.array([gamma * (p[0] + along), *(p[1:] + ((gamma - 1) * along / b2 + gamma * p[0]) * beta)])

        half = energy / 2
        found.append([[half, 0, 0, half], [half, 0, 0, -half], boosted(inner[0]), boosted(inner[1]), last])
    return np.array(found)


class Events(Running):
    def cross_section(self, model=None, **entries):
        run = mebridge.Run(PROCESS, model=model, run_card={**PARTONS, **entries}, folder=self.folder)
        # How many points are drawn then follows from the largest weights, and is the same for a multiple of |M|^2.
        made = run.generate(200, 1, overweight=0.0)
        self.text = gzip.decompress(made.output.read_bytes()).decode()
        return made.cross_section

    def test_what_cannot_be_is_refused(self):
        run = mebridge.Run(PROCESS, model=self.model, run_card=PARTONS, folder=self.folder)
        with self.assertRaisesRegex(mebridge.Error, "systematics, in which parameters of the model that run"):
            run.generate(10, 1, systematics=["scale"])
        with self.assertRaisesRegex(mebridge.Error, "mue_over_ref = 2.0 cannot be honoured"):
            self.cross_section(self.model, mue_over_ref=2.0)
        self.assertEqual(self.cross_section(mue_over_ref=2.0), self.cross_section())
        wrong = {**PARTONS, "fixed_extra_scale": True, "mue_ref_fixed": 1e7}
        with self.assertRaisesRegex(mebridge.Error, "the scale is 1e.07 GeV"):
            mebridge.Run(PROCESS, model=self.model, run_card=wrong, folder=self.folder).generate(10, 1)

    def test_generate_events_has_the_densities_alpha_s(self):
        """One number for alpha_s has no scale, so that nothing runs."""
        asked = {"energy": 1000.0, "events": 200, "seed": 1}
        plain = mebridge.generate_events(PROCESS, alpha_s=0.1, **asked).cross_section
        by_name = mebridge.generate_events(PROCESS, alpha_s=0.1, model=self.model, **asked).cross_section
        process = mebridge.Process(PROCESS, model=self.model)
        by_process = mebridge.generate_events(process, alpha_s=0.1, **asked).cross_section
        self.assertAlmostEqual(by_name / plain, 1, delta=1e-9)
        self.assertAlmostEqual(by_process / plain, 1, delta=1e-9)
        with self.assertRaisesRegex(mebridge.Error, "systematics, in which"):
            mebridge.generate_events(PROCESS, model=self.model, systematics=["scale"], **asked)

    def test_matched_events_have_them(self):
        """At the scale of each event, which clustering finds: AQCDUP is alpha_s there, before the vertices have theirs."""
        densities.write(self.folder)
        self.enterContext(mock.patch.dict(os.environ, {"LHAPDF_DATA_PATH": str(self.folder)}))
        card = {"ickkw": 1, "xqcut": 30.0, "pdlabel": "lhapdf", "lhaid": "toy", "use_syst": False, "maxjetflavor": 5}
        texts, sums = [], []
        for model in (None, self.model):
            process = "g g > t t~ h; add process g g > t t~ h g"
            made = mebridge.Run(process, model=model, run_card=card, folder=self.folder).generate(3000, 1)
            texts.append(gzip.decompress(made.output.read_bytes()).decode())
            sums.append((made.cross_section, made.error))
        reference = float(re.search(r"BLOCK RUNNING_YUKAWA\n +1 (\S+)", texts[1])[1])
        lines = (event.split("\n")[1].split() for event in texts[0].split("<event>")[1:])
        factors = np.array([factor(float(line[5]), reference) for line in lines])
        self.assertGreater(factors.std(), 0.003)
        wanted, found = factors.mean(), sums[1][0] / sums[0][0]
        error = math.hypot(factors.std() / math.sqrt(len(factors)), sums[0][1] / sums[0][0], sums[1][1] / sums[1][0])
        self.assertLess(error, abs(1 - wanted) / 8)
        self.assertLess(abs(found / wanted - 1), 4 * error)


def cross_section(text):
    """That of the one process of an event file, and its error."""
    block = text.split("<init>")[1].strip().split("\n")
    value, error = map(float, block[1].split()[:2])
    return value, error
