"""Weights for other scales and densities, against what they are by definition."""

import concurrent.futures
import importlib.util
import re
from unittest import mock

import numpy as np

import mebridge
from mebridge import _worker

import densities
from common import FolderHere

try:
    import pylhe
except ImportError:
    pylhe = None

SEVEN = [(0.5, 0.5), (0.5, 1), (1, 0.5), (1, 2), (2, 1), (2, 2)]


class Systematics(FolderHere):
    def setUp(self):
        super().setUp()
        self.pdf = densities.write(self.folder)

    def member(self, number, gluons, alpha_s=None):
        """Another member: the first one with more gluons by this factor, and perhaps an alpha_s of its own."""
        lines = (self.pdf / "toy_0000.dat").read_text().splitlines()
        head, values = lines[:6], np.loadtxt(lines[6:-1])
        values[:, densities.PARTONS.index(21)] *= gluons
        rows = [" ".join(f"{value:.10e}" for value in row) for row in values]
        if alpha_s is not None:
            head.insert(2, f"AlphaS_Qs: [1.0, 10.0, 100.0, 100000.0]\nAlphaS_Vals: {4 * [alpha_s]}")
        (self.pdf / f"toy_{number:04}.dat").write_text("\n".join([*head, *rows, "---", ""]))

    def generate(self, process="p p > t t~ j", **options):
        arguments = {"energy": 8000, "pdf": self.pdf, "events": 400, "cuts": {"pt": 30}, "systematics": ["scale"]}
        return mebridge.generate_events(process, **{**arguments, **options})

    def expected(self, arrays, mur, muf, power):
        """By the formulas of densities and alpha_s."""
        momenta, scale = arrays.momenta, arrays.events["scale"]
        codes = arrays.particles["pdg_id"][arrays.events["first"][:, None] + [0, 1]]
        found = (densities.running(mur * scale) / densities.running(scale)) ** power
        for beam in (0, 1):
            for code in set(codes[:, beam]):
                some = codes[:, beam] == code
                x = momenta[some, beam, 0] / 4000
                of = [densities.xf(int(code), x, factor * scale[some]) for factor in (muf, 1.0)]
                found[some] *= of[0] / of[1]
        return found

    def test_seven_scales(self):
        arrays = self.generate().arrays
        names = [f"MUR={mur:g}__MUF={muf:g}__LHAPDF=90000" for mur, muf in SEVEN]
        self.assertEqual(list(arrays.weight_names), names)
        for (mur, muf), weights in zip(SEVEN, arrays.weights.T):
            ratios = weights / arrays.events["weight"]
            # The grids are interpolated.
            np.testing.assert_allclose(ratios, self.expected(arrays, mur, muf, 3), rtol=2e-3)
            self.assertGreater(abs(ratios - 1).mean(), 0.01)

    def test_beams_without_densities(self):
        process = mebridge.Process("g g > t t~ g")
        arrays = self.generate(process, pdf=None, energy=1000, alpha_s=0.1).arrays
        self.assertEqual(arrays.weight_names, ("MUR=0.5__MUF=1", "MUR=2__MUF=1"))
        # A constant alpha_s does not vary.
        np.testing.assert_allclose(arrays.weights, arrays.events["weight"][:, None] * [1.0, 1.0], rtol=1e-9)

    def test_several_orders(self):
        """|M|^2 that mixes powers of alpha_s is evaluated again."""
        arrays = self.generate("p p > t t~ QCD=2 QED=2", scale="shat", events=2000).arrays
        codes = arrays.particles["pdg_id"][arrays.events["first"]]
        scale, ratios = arrays.events["scale"], arrays.weights / arrays.events["weight"][:, None]
        process = mebridge.Process("u u~ > t t~ QCD=2 QED=2")
        some = np.isin(np.abs(codes), (2, 4))
        turned = codes[some] < 0
        self.assertTrue(20 < turned.sum() < len(turned) - 20)
        # The quark comes first in the process.
        momenta = arrays.momenta[some]
        momenta[turned, :2] = momenta[turned, 1::-1]
        values = {by: process.evaluate(momenta, alpha_s=densities.running(by * scale[some])) for by in (0.5, 1.0, 2.0)}
        of_coupling = densities.running(2 * scale[some]) / densities.running(scale[some])
        powers = np.log(values[2.0] / values[1.0]) / np.log(of_coupling)
        self.assertLess(powers.max(), 1.999)
        self.assertGreater(np.ptp(powers), 1e-4)
        for (mur, muf), found in zip(SEVEN, ratios.T):
            expected = values[mur] / values[1.0] * self.expected(arrays, 1.0, muf, 0)[some]
            # Grids of densities are coarser than the table of alpha_s.
            np.testing.assert_allclose(found[some], expected, rtol=3e-3 if muf != 1 else 2e-5)

    def test_members(self):
        self.member(1, 2.0)
        self.member(2, 3.0, alpha_s=0.2)
        with open(self.pdf / "toy.info", "a") as file:
            file.write("ErrorType: replicas\n")
        arrays = self.generate(systematics=True).arrays
        self.assertEqual(arrays.weight_names[6:], ("MUR=1__MUF=1__LHAPDF=90001", "MUR=1__MUF=1__LHAPDF=90002"))
        gluons = (arrays.particles["pdg_id"][arrays.events["first"][:, None] + [0, 1]] == 21).sum(axis=1)
        self.assertEqual(set(gluons), {0, 1, 2})
        ratios = arrays.weights / arrays.events["weight"][:, None]
        np.testing.assert_allclose(ratios[:, 6], 2.0**gluons, rtol=1e-7)
        of_coupling = (0.2 / arrays.events["alpha_qcd"]) ** 3
        np.testing.assert_allclose(ratios[:, 7], 3.0**gluons * of_coupling, rtol=1e-5)
        # An alpha_s that was given is that of all.
        arrays = self.generate(systematics=["pdf"], alpha_s=0.118).arrays
        ratios = arrays.weights / arrays.events["weight"][:, None]
        np.testing.assert_allclose(ratios[:, 1] - 3.0 ** np.round(np.log(ratios[:, 1]) / np.log(3.0)), 0.0, atol=1e-5)

    def test_files(self):
        self.member(1, 2.0)
        arguments = {"systematics": [self.pdf / "toy_0001.dat", "scale"], "state": self.folder / "state"}
        expected = self.generate(**arguments).arrays
        self.assertEqual(expected.weight_names[0], "MUR=1__MUF=1__LHAPDF=90001")
        output = self.folder / "events.lhe"
        self.generate(output=output, **arguments)
        found = mebridge.read_events(output)
        self.assertEqual(found.weight_names, expected.weight_names)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-7)
        text = output.read_text()
        groups = re.findall(r'<weightgroup name="(.*)" combine="(.*)">', text)
        self.assertEqual(groups, [("toy", "unknown"), ("Central scale variation", "envelope")])
        name = "MUR=0.5__MUF=1__LHAPDF=90000"
        self.assertIn(f'<weight id="{name}" MUR="0.5" MUF="1.0" PDF="90000"> {name} </weight>', text)
        if pylhe is not None:
            events = list(pylhe.LHEFile.fromfile(str(output)).events)
            self.assertEqual(set(events[7].weights), set(expected.weight_names))
            self.assertAlmostEqual(next(iter(events[7].weights.values())) / expected.weights[7, 0], 1, places=6)
        for package, name in (("h5py", "events.h5"), ("pyarrow", "events.parquet")):
            if importlib.util.find_spec(package) is not None:
                self.generate(output=self.folder / name, **arguments)
                found = mebridge.read_events(self.folder / name)
                self.assertEqual(found.weight_names, expected.weight_names)
                np.testing.assert_array_equal(found.weights, expected.weights)

    def test_on_workers(self):
        self.member(1, 2.0)
        outputs = [self.folder / name for name in ("alone.lhe", "threads.lhe")]
        self.generate(output=outputs[0], systematics=True)
        own = mock.patch("mebridge._events.Worker", _worker.Worker)
        with own, concurrent.futures.ThreadPoolExecutor(2) as executor:
            self.generate(output=outputs[1], systematics=True, executor=executor)
        self.assertEqual(*(output.read_bytes() for output in outputs))

    def test_what_there_is_not(self):
        with self.assertRaisesRegex(mebridge.Error, "has no other members than the one of the events"):
            self.generate(systematics=["pdf"])
        with self.assertRaisesRegex(mebridge.Error, "need densities"):
            self.generate("g g > t t~", pdf=None, systematics=["pdf"])
        with self.assertRaisesRegex(mebridge.Error, "has MUR=0.5__MUF=0.5.* twice"):
            self.generate(systematics=["scale", "scale"])
        with self.assertRaisesRegex(mebridge.Error, "no parton densities 'nothing'"):
            self.generate(systematics=["nothing"])
        with self.assertRaisesRegex(TypeError, "must be True or a list"):
            self.generate(systematics="scale")
