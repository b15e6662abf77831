"""Cuts that are functions of momenta: the events kept, the identity of a run, and errors for wrong functions."""

import concurrent.futures
import functools
import importlib.util
import math
import os
import pathlib
import re
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import mebridge
from mebridge import _cut_function

import cutting
from common import FolderHere, in_worker

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

CLOUDPICKLE = importlib.util.find_spec("cloudpickle") is not None


def above(least, momenta):
    return np.hypot(momenta[:, 3, 1], momenta[:, 3, 2]) > least


def made(least):
    return lambda momenta: np.hypot(momenta[:, 3, 1], momenta[:, 3, 2]) > least


class Functions(unittest.TestCase):
    def test_names(self):
        self.assertEqual(_cut_function.name(cutting.hard), "cutting.hard")
        self.assertEqual(_cut_function.name(functools.partial(cutting.hard)), "cutting.hard")
        for function in (np.isfinite, max, np.vectorize(abs)):
            self.assertIn("name", _cut_function.identity(function))
            self.assertTrue(_cut_function.packed(function))
        self.assertRegex(_cut_function.name(made(1.0)), r"\.made\.<locals>\.<lambda>$")

    def test_another_function_is_another_one(self):
        one = _cut_function.identity(cutting.hard)
        self.assertEqual(one, _cut_function.identity(cutting.hard))
        self.assertNotEqual(one["source"], _cut_function.identity(cutting.central)["source"])
        with mock.patch("cutting.LEAST", 50.0):
            other = _cut_function.identity(cutting.hard)
        self.assertEqual(one["source"], other["source"])
        self.assertNotEqual(one["values"], other["values"])
        for first, second in ((made(1.0), made(2.0)), (functools.partial(above, 1.0), functools.partial(above, 2.0))):
            self.assertNotEqual(_cut_function.identity(first), _cut_function.identity(second))
        self.assertEqual(_cut_function.identity(made(1.0)), _cut_function.identity(made(1.0)))
        # Functions that a cut calls in its own module are part of its identity.
        texts = [f"def f(p):\n    return g(p)\ndef g(p):\n    return p[:, 2, 0] > {n}\n" for n in (1, 2)]
        found = []
        for text in texts:
            space = {"__name__": "of_text"}
            exec(text, space)
            found.append(_cut_function.identity(space["f"]))
        self.assertNotEqual(*found)

    def test_what_they_give(self):
        momenta = np.ones((5, 4, 4))
        self.assertTrue(_cut_function.Called(cutting.all_, "x")(momenta).all())
        for function, said in (
            (cutting.numbers, "x gave float64 with NaN; it must give an array of bool with the shape .5,."),
            (cutting.short, r"x gave the shape \(4,\)"),
            (cutting.wrong, "x failed: IndexError: .*9"),
            (lambda _: np.ma.masked_array(np.ones(5, bool), True), "masked"),
        ):
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                _cut_function.Called(function, "x")(momenta)

        def changes(momenta):
            momenta[:] = 0.0
            return np.ones(len(momenta), dtype=bool)

        _cut_function.Called(changes, "x")(momenta)
        self.assertTrue((momenta == 1.0).all())

    def test_what_cannot_be_sent(self):
        lock = threading.Lock()

        def locked(momenta):
            with lock:
                return cutting.all_(momenta)

        with self.assertRaisesRegex(mebridge.Error, "the cut .*locked cannot be sent to workers: .*"):
            _cut_function.packed(locked)
        with mock.patch.dict(sys.modules, {"cloudpickle": None}):
            with self.assertRaisesRegex(
                mebridge.Error, "lambda> cannot be sent .*a module of its own, or pip install cloudpickle"
            ):
                _cut_function.packed(made(1.0))
            self.assertIs(_cut_function.unpacked(_cut_function.packed(cutting.hard), "x"), cutting.hard)
        with self.assertRaisesRegex(mebridge.Error, "the cut gone cannot be made anew on a worker: .*its module"):
            _cut_function.unpacked(_cut_function.packed(cutting.hard).replace("A", "B"), "gone")


class Runs(FolderHere):
    ENTRIES = {"pdlabel": "lhapdf", "lhaid": "toy", "use_syst": False}

    def setUp(self):
        super().setUp()
        self.pdf = densities.write(self.folder)
        self.enterContext(mock.patch.dict(os.environ, {"LHAPDF_DATA_PATH": str(self.folder)}))

    def by_name(self, **options):
        return mebridge.generate_events(
            "p p > w+ j", **{"energy": 8000, "pdf": self.pdf, "events": 3000, "cuts": {"pt": 20}, **options}
        )

    def test_as_a_cut_by_name(self):
        wanted, found = self.by_name(cuts={"pt": cutting.LEAST}), self.by_name(cut=cutting.hard)
        self.same(wanted, found, wanted.arrays.momenta, found.arrays.momenta)
        self.assertTrue(cutting.hard(found.arrays.momenta).all())
        free = self.by_name()
        share = found.cross_section / free.cross_section
        self.assertTrue(0.2 < share < 0.6)
        # Grids follow the cut.
        self.assertGreater(found.efficiency, 0.7 * free.efficiency * share)
        # A cut does not change the other numbers of an event.
        arrays = self.by_name(cut=cutting.all_, events=300).arrays
        out = arrays.momenta[:, 2:]
        scale = 0.5 * np.sqrt(out[..., 0] ** 2 - out[..., 3] ** 2).sum(axis=1)
        np.testing.assert_allclose(arrays.events["scale"], scale, rtol=1e-6)
        np.testing.assert_allclose(arrays.events["alpha_qcd"], densities.running(scale), rtol=1e-3)

    def same(self, wanted, found, *momenta):
        """Cross sections, and spectra of the jet."""
        error = math.hypot(wanted.error, found.error)
        self.assertLess(abs(wanted.cross_section - found.cross_section), 4 * error)
        self.assertLess(error, 0.05 * wanted.cross_section)
        for of in (lambda p: np.hypot(p[:, 3, 1], p[:, 3, 2]), lambda p: np.arctanh(p[:, 3, 3] / p[:, 3, 0])):
            one, other = (np.sort(of(p)) for p in momenta)
            edges = np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 13))
            counts = np.array([np.histogram(values, edges)[0] for values in (one, other)])
            shares = counts / counts.sum(axis=1, keepdims=True)
            chi2 = ((shares[0] - shares[1]) ** 2 / (counts / counts.sum(axis=1, keepdims=True) ** 2).sum(axis=0)).sum()
            self.assertLess(chi2, 11 + 5 * math.sqrt(22))

    def run_(self, seed=1, events=2000, name=None, functions=None, **entries):
        run = mebridge.Run("p p > w+ j", run_card={**self.ENTRIES, **entries}, folder=self.folder)
        return run.generate(events, seed, name=name, **(functions or {}))

    @in_worker()
    def test_as_a_bias(self):
        """Events are more frequent by it, and weigh as much less."""
        plain = self.by_name()
        found = self.by_name(bias=cutting.tail)
        self.assertLess(abs(plain.cross_section - found.cross_section), 4 * math.hypot(plain.error, found.error))
        arrays = found.arrays
        drawn = arrays.events["weight"] * cutting.tail(arrays.momenta)
        self.assertLess(drawn.mean() / drawn.min(), 1.02)
        hard = [cutting.hard(of.momenta) for of in (plain.arrays, arrays)]
        self.assertGreater(hard[1].mean(), 1.5 * hard[0].mean())
        weights = [of.events["weight"] / len(of) for of in (plain.arrays, arrays)]
        sums = [(w * of).sum() for w, of in zip(weights, hard)]
        errors = [math.sqrt((w[of] ** 2).sum()) for w, of in zip(weights, hard)]
        self.assertLess(abs(sums[0] - sums[1]), 4 * math.hypot(*errors))
        if CLOUDPICKLE:
            workers = self.by_name(bias=cutting.tail, executor=lambda: concurrent.futures.ThreadPoolExecutor(2))
            np.testing.assert_array_equal(workers.arrays.events["weight"], arrays.events["weight"])

    def test_as_a_bias_of_a_run_card(self):
        """A function and MG5aMC's module are the same, with scales by clustering; and a cut besides."""
        module = {
            "bias_module": "ptj_bias",
            "bias_parameters": "{'ptj_bias_target_ptj': 60, 'ptj_bias_enhancement_power': 2}",
        }
        one = self.run_(functions={"bias": cutting.tail, "cut": cutting.central})
        other = self.run_(functions={"cut": cutting.central}, **module)
        read = [mebridge.read_events(of.output) for of in (one, other)]
        np.testing.assert_allclose(*(of.events["weight"] for of in read), rtol=1e-6)
        np.testing.assert_allclose(*(of.momenta for of in read), rtol=1e-6, atol=1e-6)
        self.assertTrue(cutting.central(read[0].momenta).all())
        # What the file says of its events is of these.
        self.assertAlmostEqual(read[0].processes["cross_section"][0] / read[0].events["weight"].mean(), 1.0, places=6)
        self.assertLess(
            abs(read[0].processes["cross_section"][0] - one.cross_section), 5 * read[0].processes["error"][0]
        )
        for said in ("the cut cutting.central kept", "weights have a bias: they average to"):
            self.assertIn(said, (one.folder / "summary.txt").read_text())
        with self.assertRaisesRegex(mebridge.Error, "two biases, one of the card and a function"):
            self.run_(functions={"bias": cutting.tail}, **module)
        with self.assertRaisesRegex(mebridge.Error, "another bias"):
            mebridge.Run.pack_run(one.folder, self.folder / "x.tar")

    def test_as_a_cut_of_a_run_card(self):
        """With scales by clustering, in the frame of the detector."""
        beams = {"ebeam1": 6500, "ebeam2": 1000}
        wanted = self.run_(etaj=1.0, **beams)
        found = self.run_(seed=2, etaj=-1.0, functions={"cut": cutting.central}, **beams)
        momenta = [mebridge.read_events(one.output).momenta for one in (wanted, found)]
        self.same(wanted, found, *momenta)
        self.assertTrue(cutting.central(momenta[1]).all())
        kept = re.search(
            r"the cut cutting.central kept (\S+)% of (\d+) events", (found.folder / "summary.txt").read_text()
        )
        self.assertGreater(int(kept[2]), 2000)
        self.assertTrue(20 < float(kept[1]) < 80)
        with self.assertRaisesRegex(mebridge.Error, "another cut .*cutting.central"):
            mebridge.Run.pack_run(found.folder, self.folder / "x.tar")

    def test_runs_that_go_on(self):
        arguments = {"state": self.folder / "state", "events": 200}
        one = self.by_name(cut=cutting.hard, **arguments).arrays
        again = self.by_name(cut=cutting.hard, **arguments).arrays
        np.testing.assert_array_equal(one.momenta, again.momenta)
        for cut in (None, cutting.all_):
            with self.subTest(cut), self.assertRaisesRegex(mebridge.Error, "another cut"):
                self.by_name(cut=cut, **arguments)
        with mock.patch("cutting.LEAST", 50.0), self.assertRaisesRegex(mebridge.Error, "another cut: values"):
            self.by_name(cut=cutting.hard, **arguments)

    @unittest.skipUnless(CLOUDPICKLE, "cloudpickle is not installed")
    @in_worker()
    def test_workers(self):
        """A function of another function is sent as it is."""
        found = []
        for executor in (None, lambda: concurrent.futures.ThreadPoolExecutor(2)):
            found.append(self.by_name(cut=made(60.0), events=200, executor=executor).arrays.momenta)
        np.testing.assert_array_equal(*found)
        self.assertTrue(made(60.0)(found[0]).all())

    def test_what_is_wrong_is_said(self):
        for cut, said in (
            (cutting.numbers, "the cut cutting.numbers gave float64 with NaN"),
            (cutting.short, r"the cut cutting.short gave the shape \(\d+,\)"),
            (cutting.wrong, "the cut cutting.wrong failed: IndexError"),
            (cutting.none, "points passes the cuts of the run, among which is cutting.none"),
        ):
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                self.by_name(cut=cut, events=100)
        for bias, said in (
            (cutting.all_, r"the bias cutting.all_ gave bool; it must give an array of numbers with the shape"),
            (cutting.numbers, "the bias of an event is NaN: it must be positive and finite"),
            (cutting.wrong, "the bias cutting.wrong failed: IndexError"),
        ):
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                self.by_name(bias=bias, events=100)
        for what in ("cut", "bias"):
            with self.assertRaisesRegex(TypeError, f"{what} is 3; it must be a function"):
                self.by_name(**{what: 3})
        with self.assertRaisesRegex(mebridge.Error, "a pack has no cut that is a function .cutting.hard"):
            mebridge.pack_events("p p > w+ j", self.folder / "x.tar", energy=8000, pdf=self.pdf, cut=cutting.hard)
        with self.assertRaisesRegex(mebridge.Error, "a pack has no bias that is a function .cutting.tail"):
            mebridge.pack_events("p p > w+ j", self.folder / "x.tar", energy=8000, pdf=self.pdf, bias=cutting.tail)
