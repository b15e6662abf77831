"""Models other than the Standard Model: a UFO folder, and the file that `mebridge model` makes of it."""

import math
import os
import pathlib
import pickle
import shutil
import unittest
from unittest import mock

import numpy as np

import mebridge
from mebridge import _command

from common import FolderHere

# u u~ > e+ ve mu- vm~ at 700 GeV.
LEPTONS = np.array(
    [
        [350.0, 0.0, 0.0, 350.0],
        [350.0, 0.0, 0.0, -350.0],
        [288.07902237619555, -206.03201149098985, 200.85724376667517, -14.025013392352061],
        [178.61486957184448, 176.41022529717605, 1.658176581043972, -27.9276653731149],
        [203.41694842607967, 6.676637612842503, -202.02430049344625, 22.80481149448242],
        [29.88915962588023, 22.94514858097125, -0.4911198542728996, 19.147867270984538],
    ]
)

TOY = pathlib.Path(__file__).resolve().parents[2] / "crates/ufo/tests/toy"


def pair(mass, energy=1000.0, angle=0.7):
    """One event of two massless particles that become two of this mass."""
    half, p = energy / 2, math.sqrt(energy**2 / 4 - mass**2)
    x, z = p * math.sin(angle), p * math.cos(angle)
    return np.array([[(half, 0, 0, half), (half, 0, 0, -half), (half, x, 0, z), (half, -x, 0, -z)]])


@unittest.skipUnless(TOY.is_dir(), "the sources of mebridge are not there")
class Models(FolderHere):
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

    def test_schemes_are_said_behind_a_name(self):
        text, momenta = "u u~ > e+ ve mu- vm~", LEPTONS[np.newaxis]
        value = {}
        for name in ("sm", "sm+complex_masses", "sm+feynman", "sm+complex_masses+feynman"):
            options = {"complex_masses": "complex" in name, "gauge": "feynman" if "feynman" in name else None}
            process = mebridge.Process(text, **options)
            self.assertEqual(mebridge.Process(text, model=name).evaluate(momenta), process.evaluate(momenta))
            again = pickle.loads(pickle.dumps(process))
            value[name] = again.evaluate(momenta)[0]
        complex_mass, real = value["sm+complex_masses"], value["sm"]
        np.testing.assert_allclose(value["sm+complex_masses+feynman"], complex_mass, rtol=1e-11)
        self.assertGreater(abs(complex_mass / real - 1), 1e-6)
        # What an argument says is beside what the name says.
        both = mebridge.Process(text, model="sm+complex_masses", gauge="feynman")
        np.testing.assert_allclose(both.evaluate(momenta), complex_mass, rtol=1e-11)
        self.assertNotIn("MDL_GF", both.parameters)

    def test_schemes_of_models(self):
        file = self.folder / "toy.toml"
        _command.run("model", str(TOY), "--complex-masses", f"--output={file}")
        self.assertIn('complex_mass = "CMASS_MX"', file.read_text())
        (process,) = mebridge.Process.all("g g > q q~", model=TOY, complex_masses=True)
        expected = mebridge.Process("g g > q q~", model=TOY).evaluate(pair(100.0))
        np.testing.assert_allclose(process.evaluate(pair(100.0)), expected, rtol=1e-14)
        with self.assertRaisesRegex(mebridge.Error, "the file of a model says its masses and its gauge itself"):
            mebridge.Process("g g > q q~", model=file, gauge="feynman")
        with self.assertRaisesRegex(mebridge.Error, 'gauge is \'axial\'; it must be one of "unitary", "feynman"'):
            mebridge.Process("g g > q q~", gauge="axial")
        with self.assertRaisesRegex(TypeError, "complex_masses is 1; it must be True or False"):
            mebridge.Process("g g > q q~", complex_masses=1)

    def test_events(self):
        run = mebridge.generate_events("g g > q q~", model=TOY, energy=1000, events=50, precision=0.05)
        self.assertEqual(run.events, 50)
        process = mebridge.Process("g g > q q~", model=TOY)
        again = mebridge.generate_events(process, energy=1000, events=50, precision=0.05)
        self.assertEqual(run.cross_section, again.cross_section)
        with self.assertRaisesRegex(ValueError, "the process has its model"):
            mebridge.generate_events(process, model=TOY, energy=1000)

    def changed(self, **changes):
        """A copy of the toy model, in which texts of files have been replaced."""
        folder = self.folder / "changed"
        shutil.copytree(TOY, folder)
        for name, replaced in changes.items():
            file = folder / f"{name}.py"
            text = file.read_text()
            for old, new in replaced:
                self.assertEqual(text.count(old), 1)
                text = text.replace(old, new)
            file.write_text(text)
        return folder

    def test_a_resonance_that_has_a_colour(self):
        width = "mass = Param.MS,\n             width = Param."
        model = self.changed(
            particles=[(f"{width}ZERO", f"{width}WX")],
            parameters=[("value = 100.,", "value = 0.,"), ("value = 300.,", "value = 500.,")],
        )
        output = self.folder / "events.lhe"
        mebridge.generate_events(
            "g q > s x, s > q x", model=model, energy=3000, events=50, precision=0.05, output=output
        )
        found = 0
        for event in output.read_text().split("<event>\n")[1:]:
            lines = [line.split() for line in event.split("</event>")[0].strip().splitlines()[1:]]
            for number, (code, _, _, _, color, anticolor, *_) in enumerate(lines, 1):
                if code == "9000003":
                    found += 1
                    products = [line for line in lines if line[2] == line[3] == str(number)]
                    self.assertEqual(sorted(line[0] for line in products), ["9000001", "9000002"])
                    # That of the quark that it decays into.
                    self.assertNotEqual(color, "0")
                    self.assertEqual({(line[4], line[5]) for line in products}, {(color, anticolor), ("0", "0")})
        self.assertEqual(found, 50)

    def test_quarks_that_have_masses_of_their_own(self):
        model = self.changed(
            particles=[
                (
                    "q.loop",
                    "q2 = Particle(pdg_code = 9000006, name = 'Q2', antiname = 'Q2~', spin = 2, color = 3,"
                    " mass = Param.MQ2, width = Param.ZERO, texname = 'Q', antitexname = 'Q', charge = 2/3)\n"
                    "q2__tilde__ = q2.anti()\nq.loop",
                )
            ],
            parameters=[
                (
                    "G = Parameter",
                    "MQ2 = Parameter(name = 'MQ2', nature = 'external', type = 'real', value = 50., texname = 'M',"
                    " lhablock = 'MASS', lhacode = [ 9000006 ])\nG = Parameter",
                )
            ],
            vertices=[
                (
                    "V_3 = ",
                    "V_8 = Vertex(name = 'V_8', particles = [ P.q2__tilde__, P.q2, P.g ], color = [ 'T(3,2,1)' ],"
                    " lorentz = [ L.FFV1, L.FFV2 ], couplings = {(0,0):C.GC_2,(0,1):C.GC_2})\nV_3 = ",
                )
            ],
        )
        options = {"model": model, "energy": 3000, "cuts": {"pt": 100}, "events": 500, "precision": 0.02}
        both = mebridge.generate_events("define h = q q2\ndefine k = q~ q2~\ng g > h k", **options)
        self.assertEqual(len(both.processes), 2)
        for code, text in ((9000001, "g g > q q~"), (9000006, "g g > q2 q2~")):
            alone = mebridge.generate_events(text, **options)
            section, error = both.processes[f"21 21 {code} -{code}"]
            self.assertLess(abs(section - alone.cross_section), 5 * math.hypot(error, alone.error))
