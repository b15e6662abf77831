"""Models other than the Standard Model: a UFO folder, and the file that `mebridge model` makes of it."""

import importlib.util
import math
import os
import pathlib
import pickle
import shutil
import unittest
from unittest import mock

import numpy as np

from common import Folder
import mebridge
from mebridge import _command, _events

MADSPACE = importlib.util.find_spec("madspace") is not None
TOY = pathlib.Path(__file__).resolve().parents[2] / "crates/ufo/tests/toy"


def pair(mass, energy=1000.0, angle=0.7):
    """One event of two massless particles that become two of this mass."""
    half, p = energy / 2, math.sqrt(energy**2 / 4 - mass**2)
    x, z = p * math.sin(angle), p * math.cos(angle)
    return np.array([[(half, 0, 0, half), (half, 0, 0, -half), (half, x, 0, z), (half, -x, 0, -z)]])


@unittest.skipUnless(TOY.is_dir(), "the sources of mebridge are not there")
class Models(Folder):
    def test_a_quark_is_a_quark(self):
        top = mebridge.Process("g g > t t~")
        top.parameters["mt"], top.parameters["wt"] = 100.0, 0.0
        expected = top.evaluate(pair(100.0))
        file = self.folder / "toy.toml"
        _command.run("model", str(TOY), f"--output={file}")
        for model in (TOY, str(TOY), file, f"{TOY}-full"):
            with self.subTest(model):
                process = mebridge.Process("g g > q q~", model=model)
                self.assertEqual(sorted(process.parameters), ["MDL_AS", "MDL_MQ"])
                np.testing.assert_allclose(process.evaluate(pair(100.0)), expected, rtol=1e-13)
        process.parameters["mq"] = 90.0
        again = pickle.loads(pickle.dumps(process))
        self.assertEqual(again.parameters["mq"], 90.0)
        with self.assertRaisesRegex(mebridge.Error, "no particle or label `q`"):
            mebridge.Process("g g > q q~")

    def test_the_environment_is_not_that_of_a_process(self):
        with mock.patch.dict(os.environ, CUDACPP_RUNTIME_MODEL=str(TOY)):
            self.assertEqual(len(mebridge.Process.all("p p > t t~")), 2)
        (process,) = mebridge.Process.all("g g > q q~", model=TOY)
        library = process.library(self.folder / "toy.so")
        self.assertTrue(pathlib.Path(library).exists())

    def test_what_is_no_model_is_refused(self):
        for model, said in (
            (self.folder / "none", "neither such a model file nor such a UFO folder"),
            (f"{TOY}-nothing", "no restrict_nothing.dat"),
        ):
            with self.subTest(model), self.assertRaisesRegex(mebridge.Error, said):
                mebridge.Process("g g > q q~", model=model)
        with self.assertRaisesRegex(TypeError, "model"):
            mebridge.Process("g g > q q~", model=3)

    def test_a_digest_is_of_the_content(self):
        copy = self.folder / "toy"
        shutil.copytree(TOY, copy)
        before = _events.model_digest(str(copy))
        self.assertNotEqual(before, _events.model_digest(f"{copy}-equal"))
        with open(copy / "couplings.py", "a") as file:
            file.write("# more\n")
        self.assertNotEqual(before, _events.model_digest(str(copy)))

    @unittest.skipUnless(MADSPACE, "madspace is not installed")
    def test_events(self):
        run = mebridge.generate_events("g g > q q~", model=TOY, energy=1000, events=50, precision=0.05)
        self.assertEqual(run.events, 50)
        process = mebridge.Process("g g > q q~", model=TOY)
        again = mebridge.generate_events(process, energy=1000, events=50, precision=0.05)
        self.assertEqual(run.cross_section, again.cross_section)
        with self.assertRaisesRegex(ValueError, "the process has its model"):
            mebridge.generate_events(process, model=TOY, energy=1000)


if __name__ == "__main__":
    unittest.main()
