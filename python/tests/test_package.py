"""Tests of the installed package: python -m unittest."""

import concurrent.futures
import contextlib
import copy
import ctypes
import doctest
import gc
import io
import json
import math
import multiprocessing
import os
import pathlib
import pickle
import resource
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import mebridge
from mebridge import _host, _library, _process

ROOT = pathlib.Path(__file__).resolve().parents[2]


def two_to_two(count, energy=1000.0, mass=173.0, seed=1):
    """Events of two massless particles into two of one mass."""
    rng = np.random.default_rng(seed)
    e = 0.5 * energy
    p = math.sqrt(e * e - mass * mass)
    cos, phi = rng.uniform(-1, 1, count), rng.uniform(0, 2 * math.pi, count)
    sin = np.sqrt(1 - cos**2)
    out = p * np.stack([sin * np.cos(phi), sin * np.sin(phi), cos], axis=1)
    momenta = np.empty((count, 4, 4))
    momenta[:, :, 0] = e
    momenta[:, 0, 1:], momenta[:, 1, 1:] = (0, 0, e), (0, 0, -e)
    momenta[:, 2, 1:], momenta[:, 3, 1:] = out, -out
    return momenta


def along_the_beam(count, mass, energy=1000.0):
    """Events of two massless particles into two of one mass and a third, without mass, along a beam; not in the first."""
    momenta = np.empty((count, 5, 4))
    momenta[:, 0], momenta[:, 1] = (energy / 2, 0, 0, energy / 2), (energy / 2, 0, 0, -energy / 2)
    for event in range(count):
        third = 20.0 + 10 * event
        z = third * (0.3 if event == 0 else (-1) ** event)
        x = math.sqrt(third**2 - z**2)
        rest = energy - third
        # Across the third, in the frame in which the two are back to back, and boosted there.
        size = math.sqrt((rest**2 - third**2) / 4 - mass**2)
        out = np.array([[rest / 2, -x / 2, sign * size, -z / 2] for sign in (1, -1)])
        momenta[event, 2:4], momenta[event, 4] = out, (third, x, 0, z)
    return momenta


def gg_to_tt(momenta, alpha_s, mass=173.0):
    """The closed formula: |M|^2 of g g -> t t~, summed and averaged (Combridge; hep-ph/9306337)."""
    g2 = 4 * math.pi * alpha_s
    dot = lambda a, b: a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)
    p = [momenta[:, leg] for leg in range(4)]
    s, t, u = 2 * dot(p[0], p[1]), 2 * dot(p[0], p[2]), 2 * dot(p[0], p[3])
    tau1, tau2, rho = t / s, u / s, 4 * mass**2 / s
    return g2**2 * (1 / (6 * tau1 * tau2) - 3 / 8) * (tau1**2 + tau2**2 + rho - rho**2 / (4 * tau1 * tau2))


class Evaluation(unittest.TestCase):
    def setUp(self):
        self.process = mebridge.Process("g g > t t~")

    def test_the_closed_formula(self):
        momenta = two_to_two(500)
        # It knows no width of the top quark.
        self.process.parameters["wt"] = 0.0
        for alpha_s in (0.118, np.linspace(0.09, 0.14, 500)):
            found = self.process.evaluate(momenta, alpha_s)
            np.testing.assert_allclose(found, gg_to_tt(momenta, alpha_s), rtol=1e-11)

    def test_colour_flows_one_by_one(self):
        momenta = two_to_two(200)
        self.process.parameters["wt"] = 0.0
        full = self.process.evaluate(momenta)
        # The shares of both flows follow from |M|^2 as a function of tau = (m^2 - t) / s, 4 / tau (1 - tau) - 9.
        metric = np.array([1.0, -1.0, -1.0, -1.0])
        beams, top = momenta[:, :2], momenta[:, 2]
        tau = 2 * (beams[:, 0] * metric * top).sum(axis=1) / ((beams.sum(axis=1) ** 2 * metric).sum(axis=1))
        shares = np.stack([tau, 1 - tau]) ** 2 * 4 / (4 - 9 * tau * (1 - tau))
        rows = np.array([0, 1] * 100)
        one, other = (
            self.process.evaluate(momenta, color_flow=rows),
            self.process.evaluate(momenta, color_flow=1 - rows),
        )
        np.testing.assert_allclose(np.sort([one, other], axis=0), np.sort(full * shares, axis=0), rtol=1e-10)
        # The gluons exchanged.
        np.testing.assert_allclose(
            self.process.evaluate(momenta[:, [1, 0, 2, 3]], color_flow=0),
            self.process.evaluate(momenta, color_flow=1),
            rtol=1e-10,
        )
        with self.assertRaisesRegex(mebridge.Error, r"fixed_color\[3\] is 2; .* 0 to 1"):
            self.process.evaluate(momenta[:4], color_flow=[0, 1, 0, 2])
        with self.assertRaisesRegex(ValueError, "no choices"):
            self.process.evaluate(momenta, color_flow=0, helicities=True)
        with self.assertRaisesRegex(mebridge.BadEvents, "1 of 2 events"):
            self.process.evaluate(np.stack([momenta[0], 0 * momenta[1]]), color_flow=0)

    def test_momenta_lie_anyhow(self):
        momenta = two_to_two(101)
        expected = self.process.evaluate(momenta)
        columns = np.ascontiguousarray(momenta.transpose(2, 1, 0)).transpose(2, 1, 0)
        spread = np.zeros((303, 4, 8))[::3, :, ::2]
        spread[...] = momenta
        records = np.zeros(101, dtype=[("x", "i1"), ("p", "f8", (4, 4))])
        records["p"] = momenta
        for other in (columns, spread, momenta[::-1][::-1], np.asfortranarray(momenta), records["p"]):
            np.testing.assert_array_equal(self.process.evaluate(other), expected)
        np.testing.assert_array_equal(self.process.evaluate(momenta[::-1]), expected[::-1])
        self.assertEqual(self.process.evaluate(momenta[7]), expected[7])
        self.assertEqual(self.process.evaluate(momenta[:0]).shape, (0,))
        np.testing.assert_allclose(self.process.evaluate(momenta.tolist()), expected)

    def test_arrays_lie_at_any_address(self):
        """As those do that Dask hands from one process to another."""
        momenta = two_to_two(101)
        random = np.random.default_rng(4).random(101)
        couplings = np.linspace(0.1, 0.12, 101)

        def between(array):
            moved = np.frombuffer(bytearray(1) + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
            self.assertFalse(moved.flags.aligned)
            return moved

        def evaluate(momenta, couplings, random):
            return self.process.evaluate(momenta, couplings, helicities=random, colors=random, diagrams=random)

        found = evaluate(*(between(array) for array in (momenta, couplings, random)))
        expected = evaluate(momenta, couplings, random)
        for name in ("matrix_elements", "helicity", "color", "diagram"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)

    def test_threads_do_not_change_an_answer(self):
        momenta = two_to_two(5001)
        rng = np.random.default_rng(2)
        asked = {"helicities": rng.random(5001), "colors": rng.random(5001), "diagrams": rng.random(5001), "amp2": True}
        one = self.process.evaluate(momenta, **asked)
        two = mebridge.Process("g g > t t~", threads=3).evaluate(momenta, **asked)
        for name in ("matrix_elements", "helicity", "color", "diagram", "amp2"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)

    def test_choices(self):
        count = 20000
        momenta = np.broadcast_to(two_to_two(1, seed=5), (count, 4, 4))
        random = (np.arange(count) + 0.5) / count
        found = self.process.evaluate(momenta, helicities=random, colors=random[::-1], diagrams=random, amp2=True)
        helicities = range(len(self.process.helicities))
        each = np.array([self.process.evaluate(momenta[0], helicity=row) for row in helicities])
        self.assertAlmostEqual(each.sum() / found.matrix_elements[0], 1, places=12)
        shares = np.bincount(found.helicity, minlength=len(each)) / count
        np.testing.assert_allclose(shares, each / each.sum(), atol=2 / count)
        shares = np.bincount(found.diagram, minlength=3) / count
        np.testing.assert_allclose(shares, found.amp2[0], atol=2 / count)
        for channel in self.process.diagrams:
            diagram = channel["diagrams"][0]
            chosen = set(found.color[found.diagram == diagram["diagram"]].tolist())
            self.assertLessEqual(chosen, set(diagram["active_colors"]))

    def test_bad_events(self):
        momenta = two_to_two(50)
        momenta[9, 2, 0] *= 1.2
        momenta[30, 1, 3] = math.nan
        with self.assertRaisesRegex(mebridge.BadEvents, "2 of 50 events .*event 9 .*not on its mass shell"):
            self.process.evaluate(momenta)
        found = self.process.evaluate(momenta, bad="nan")
        self.assertEqual(np.flatnonzero(np.isnan(found)).tolist(), [9, 30])

    def test_poles(self):
        """A gluon along the beam: |M|^2 is infinite, and what rounding makes of it is none."""
        for precision in ("d", "m", "f"):
            for name, mass in (("g g > g g g", 0.0), ("g g > t t~ g", 173.0)):
                process = mebridge.Process(name, precision=precision)
                momenta = along_the_beam(11, mass)
                found = process.evaluate(momenta, amp2=True, bad="nan")
                self.assertTrue(np.isnan(found.matrix_elements[1:]).all() and found.matrix_elements[0] > 0)
                self.assertFalse(found.amp2[1:].any())
                with self.assertRaisesRegex(mebridge.BadEvents, "10 of 11 events .*event 1 .*same direction"):
                    process.evaluate(momenta)

    def test_wrong_arguments(self):
        momenta = two_to_two(5)
        for wrong in (momenta[:, :3], momenta[0, 0], momenta[:, :, :3], np.zeros((2, 2, 4, 4))):
            with self.assertRaisesRegex(ValueError, r"needs \(events, 4, 4\)"):
                self.process.evaluate(wrong)
        with self.assertRaises(ValueError):
            self.process.evaluate(momenta, [0.1, 0.2])
        with self.assertRaises(ValueError):
            self.process.evaluate(momenta, -0.1)
        with self.assertRaises(ValueError):
            self.process.evaluate(momenta, colors=1.0)
        with self.assertRaises(TypeError):
            self.process.evaluate(momenta, helicity=0.5)
        with self.assertRaisesRegex(mebridge.Error, "helicity index 16 names nothing"):
            self.process.evaluate(momenta, helicity=16)
        with self.assertRaisesRegex(mebridge.Error, "xyz"):
            mebridge.Process("g g > xyz")
        with self.assertRaisesRegex(mebridge.Error, "#2"):
            mebridge.Process("p p > t t~")
        with self.assertRaisesRegex(mebridge.Error, "MG5aMC wrote"):
            mebridge.Process.from_directory("/no/such/folder")
        with self.assertRaisesRegex(mebridge.Error, "avx9"):
            mebridge.Process("g g > t t~", simd="avx9")

    def test_what_is_no_number(self):
        momenta = two_to_two(3)
        masked = np.ma.masked_array(momenta, mask=np.zeros(momenta.shape, bool))
        expected = self.process.evaluate(momenta)
        np.testing.assert_array_equal(self.process.evaluate(masked), expected)
        self.assertEqual(self.process.evaluate(np.matrix(momenta[1])), expected[1])
        np.testing.assert_array_equal(self.process.evaluate(momenta, helicities=None), expected)
        self.assertIsNotNone(self.process.evaluate(momenta, helicities=np.True_).helicity)
        np.testing.assert_array_equal(self.process.evaluate(momenta, helicities=np.False_), expected)
        masked[1] = np.ma.masked
        others = (momenta + 0j, "complex128"), (momenta.astype(str), "<U"), (momenta > 0, "bool")
        for wrong, said in ((masked, "masked"), *others):
            with self.subTest(said), self.assertRaisesRegex((TypeError, ValueError), f"momenta .*{said}"):
                self.process.evaluate(wrong)
        row = np.matrix([0.1, 0.1, 0.1])
        for name, given in (("alpha_s", row), ("helicities", row), ("colors", row.T), ("diagrams", row)):
            with self.subTest(name), self.assertRaisesRegex(ValueError, rf"{name} has the shape .*\(3,\)"):
                self.process.evaluate(momenta, **{name: given})
        with self.assertRaisesRegex(ValueError, "helicity has the shape"):
            self.process.evaluate(momenta, helicity=np.zeros((3, 1), int))
        for wrong in (math.inf, math.nan, True, "0.1", [None]):
            with self.subTest(wrong), self.assertRaisesRegex((TypeError, ValueError), "alpha_s must be"):
                self.process.evaluate(momenta, wrong)
        for wrong in (True, "170", None):
            with self.subTest(wrong), self.assertRaisesRegex((TypeError, ValueError), "the parameter mt"):
                self.process.parameters["mt"] = wrong

    def test_a_description_is_not_a_former_one(self):
        """It is read while another thread sets a parameter."""
        process, loads = self.process, json.loads

        def slow(text):
            setter.start()
            # It waits for the lock.
            setter.join(0.2)
            return loads(text)

        setter = threading.Thread(target=process.parameters.__setitem__, args=("mt", 150.0))
        with mock.patch.object(_process.json, "loads", slow):
            process.description
        setter.join()
        lines = {tuple(line) for channel in process.diagrams for line in channel["masses"]}
        self.assertIn((150.0, 1.4915), lines)

    def test_parameters(self):
        momenta = two_to_two(20, mass=150.0)
        parameters = self.process.parameters
        with self.assertRaises(mebridge.BadEvents):
            self.process.evaluate(momenta)
        parameters["mt"], parameters["wt"] = 150.0, 0.0
        self.assertEqual(parameters["MDL_MT"], 150.0)
        self.assertEqual(dict(parameters)["MDL_MT"], 150.0)
        lines = {tuple(line) for channel in self.process.diagrams for line in channel["masses"]}
        self.assertEqual(lines, {(0.0, 0.0), (150.0, 0.0)})
        np.testing.assert_allclose(self.process.evaluate(momenta), gg_to_tt(momenta, 0.118, 150.0), rtol=1e-11)
        with self.assertRaisesRegex(KeyError, "no parameter nothing"):
            parameters["nothing"] = 1.0
        with self.assertRaises(mebridge.Error):
            parameters["mt"] = math.nan
        self.assertEqual(parameters["mt"], 150.0)

    def test_alpha_s_is_a_parameter(self):
        """Where an evaluation is given none."""
        momenta, process = two_to_two(20), self.process
        at = {value: process.evaluate(momenta, value) for value in (0.118, 0.2)}
        np.testing.assert_array_equal(process.evaluate(momenta), at[0.118])
        self.assertFalse(process.parameters.alpha_s_changed)
        process.parameters["MDL_AS"] = 0.2
        np.testing.assert_array_equal(process.evaluate(momenta), at[0.2])
        np.testing.assert_array_equal(process.evaluate(momenta, 0.118), at[0.118])
        # Of callers in C.
        found, strides = np.empty(20), [16, 4, 1]
        sample = _library.Sample.of(_host._address, 20, momenta, strides, None, {}, {}, None, found, None)
        _library.check(_library.lib.mebridge_evaluate(process._bridge, ctypes.byref(sample)))
        np.testing.assert_array_equal(found, at[0.2])
        for other in (copy.copy(process), pickle.loads(pickle.dumps(process))):
            np.testing.assert_array_equal(other.evaluate(momenta), at[0.2])
            self.assertTrue(other.parameters.alpha_s_changed)
        with tempfile.TemporaryDirectory() as folder:
            card = pathlib.Path(folder) / "card.dat"
            card.write_text("BLOCK SMINPUTS\n 3 0.2\nBLOCK MASS\n 6 173.0\nDECAY 6 1.4915\n")
            process = mebridge.Process("g g > t t~", card=card)
        np.testing.assert_array_equal(process.evaluate(momenta), at[0.2])
        self.assertEqual(mebridge.Process("e+ e- > mu+ mu- / z h").parameters.alpha_s, 0.118)

    def test_parameters_while_a_device_is_opened(self):
        process, parameters = self.process, self.process.parameters
        # A bridge of the CPU stands for that of a GPU.
        create = process._create
        process._create = lambda backend: create(b"cpu")
        opens = threading.Thread(target=process._on_device, args=(0,))

        class Slow(float):
            def __float__(self):
                opens.start()
                opens.join()
                return float.__float__(self)

        def on_device():
            value = ctypes.c_double()
            _process.lib.mebridge_parameter(process._devices[0], b"mt", ctypes.byref(value))
            return value.value

        parameters["mt"] = Slow(150.0)
        self.assertEqual((on_device(), parameters["mt"]), (150.0, 150.0))
        with self.assertRaises(mebridge.Error):
            parameters["mt"] = math.nan
        self.assertEqual((on_device(), parameters["mt"]), (150.0, 150.0))

    def test_threads_of_python(self):
        momenta = two_to_two(3000)
        expected = self.process.evaluate(momenta)
        others = [self.process, mebridge.Process("g g > t t~"), mebridge.Process("g g > t t~")]
        failed = []

        def work(process):
            for _ in range(20):
                if not np.array_equal(process.evaluate(momenta), expected):
                    failed.append(process)

        threads = [threading.Thread(target=work, args=(other,)) for other in 2 * others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    @unittest.skipIf(
        "QEMU_CPU" in os.environ, "memory of a process is its emulator's, too, which keeps what it translates"
    )
    def test_nothing_leaks(self):
        def used():
            gc.collect()
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

        momenta = two_to_two(10)
        for round in range(350):
            mebridge.Process("g g > t t~").evaluate(momenta)
            if round == 100:
                before = used()
        self.assertLess(used() - before, 4 << 20)


def ratio_elsewhere(process, momenta, expected):
    """In another process of Python."""
    return float((process.evaluate(momenta) / expected).max())


class Copies(unittest.TestCase):
    def setUp(self):
        self.process = mebridge.Process("g g > t t~", threads=2)
        self.process.parameters["mt"] = 150.0
        self.momenta = two_to_two(20, mass=150.0)
        self.expected = self.process.evaluate(self.momenta)

    def test_they_are_the_same_and_apart(self):
        for other in (copy.copy(self.process), copy.deepcopy(self.process), pickle.loads(pickle.dumps(self.process))):
            np.testing.assert_array_equal(other.evaluate(self.momenta), self.expected)
            self.assertEqual((other._source, other._options), (self.process._source, self.process._options))
            other.parameters["mt"] = 160.0
            self.assertEqual(self.process.parameters["mt"], 150.0)
        other = copy.copy(self.process)
        del self.process
        gc.collect()
        np.testing.assert_array_equal(other.evaluate(self.momenta), self.expected)

    def test_one_that_the_library_has_no_more(self):
        """As after a fork during an evaluation in another thread: every call reports it."""
        other = copy.copy(self.process)
        other._delete()
        asked = (
            lambda: other.evaluate(self.momenta),
            lambda: other.legs,
            lambda: other.name,
            lambda: len(other.parameters),
            lambda: repr(other),
        )
        for ask in asked:
            with self.assertRaisesRegex(mebridge.Error, "bridge"):
                ask()

    def test_other_processes_of_python(self):
        for method in ("spawn", "forkserver"):
            with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
                work = [
                    pool.submit(ratio_elsewhere, self.process, self.momenta, self.expected),
                    pool.submit(self.process.evaluate, self.momenta),
                ]
                self.assertEqual(work[0].result(), 1.0)
                np.testing.assert_array_equal(work[1].result(), self.expected)

    def test_files_are_found_from_elsewhere(self):
        directory = ROOT / "fortran/gg_ttx/SubProcesses/P1_gg_ttx"
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(directory.parent)
        for process in (mebridge.Process.from_directory("P1_gg_ttx"), mebridge.Process("P1_gg_ttx#1")):
            packed = pickle.dumps(process)
            os.chdir("/")
            self.assertEqual(pickle.loads(packed).pdg, [21, 21, 6, -6])
            os.chdir(directory.parent)


class Data(unittest.TestCase):
    def test_what_a_process_holds(self):
        process = mebridge.Process("g g > t t~ g")
        self.assertEqual(process.pdg, [21, 21, 6, -6, 21])
        self.assertEqual(process.helicities.shape, (32, 5))
        self.assertEqual(process.color_flows.shape, (6, 5, 2))
        self.assertEqual(process.diagram_count, 16)
        self.assertEqual(len(process.diagrams), 15)
        self.assertEqual(process.description["qcd_power"], 3)

    def test_all_matrix_elements(self):
        found = mebridge.Process.all("p p > t t~ j", threads=2)
        self.assertEqual(
            [process.name for process in found],
            [f"{name} WEIGHTED<=3" for name in ("g g > t t~ g", "g u > t t~ u", "g u~ > t t~ u~", "u u~ > t t~ g")],
        )
        for text in ("g g > t t~", "p p > t t~#2", ROOT / "fortran/gg_ttx/SubProcesses/P1_gg_ttx"):
            (one,) = mebridge.Process.all(text)
            self.assertEqual(one.name, mebridge.Process(text).name)
        with self.assertRaisesRegex(mebridge.Error, "xyz"):
            mebridge.Process.all("g g > xyz")

    def test_tables_are_not_changed(self):
        process = mebridge.Process("g g > t t~")
        for table in (process.helicities, process.color_flows):
            with self.assertRaises(ValueError):
                table[0, 0] = 5

    def test_a_directory(self):
        process = mebridge.Process.from_directory(ROOT / "fortran/gg_ttx/SubProcesses/P1_gg_ttx")
        process.parameters["wt"] = 0.0
        momenta = two_to_two(20, mass=process.parameters["mt"])
        expected = gg_to_tt(momenta, 0.118, process.parameters["mt"])
        np.testing.assert_allclose(process.evaluate(momenta), expected, rtol=1e-11)

    def test_doctests(self):
        for module in (mebridge, _process):
            self.assertEqual(doctest.testmod(module).failed, 0)


class Examples(unittest.TestCase):
    def test_of_one_point(self):
        run = [sys.executable, str(ROOT / "examples" / "matrix_element.py")]
        printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, "g g > t t~: |M|^2 = 0.3882411311\n")


class Command(unittest.TestCase):
    def test_the_command(self):
        run = [sys.executable, "-m", "mebridge"]
        version = subprocess.run([*run, "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(version.stdout.split(), ["mebridge", mebridge.__version__])
        failed = subprocess.run([*run, "info", "/no/such/file"], capture_output=True, text=True)
        self.assertEqual(failed.returncode, 1)

    def test_a_library(self):
        process = mebridge.Process("g g > t t~")
        with tempfile.TemporaryDirectory() as folder:
            path = process.library(os.path.join(folder, "x.so"))
            self.assertTrue(path.is_file())
            (entry,) = json.loads(path.with_suffix(".json").read_text())
            self.assertEqual(entry["helicities"], process.helicities.tolist())
            self.assertEqual(len(entry["channels"]), 3)
        own = process.library()
        self.assertEqual(own, process.library())
        del process
        gc.collect()
        self.assertFalse(own.exists())


try:
    import madspace
except ImportError:
    madspace = None


@unittest.skipIf(madspace is None, "madspace is not installed")
class MadSpace(unittest.TestCase):
    def test_evaluation(self):
        process = mebridge.Process("g g > t t~")
        context = madspace.Context(madspace.cpu_device(), 2)
        api = context.load_matrix_element(str(process.library()), "")
        inputs, outputs = madspace.Integrand.matrix_element_inputs, madspace.Integrand.matrix_element_outputs
        function = madspace.MatrixElement(api, inputs, outputs, False).function()
        count = 2000
        momenta = two_to_two(count)
        rng = np.random.default_rng(3)
        alpha_s, color, helicity, diagram = rng.uniform(0.1, 0.13, count), *rng.random((3, count))
        runtime = madspace.FunctionRuntime(function, context)
        found = runtime.call([momenta, alpha_s, np.zeros(count, dtype=np.int32), color, helicity, diagram])
        found = [np.asarray(array.numpy() if hasattr(array, "numpy") else array) for array in found]
        own = process.evaluate(momenta, alpha_s, helicities=helicity, colors=color, diagrams=diagram, amp2=True)
        self.assertEqual(len(found), 5)
        for name, array in zip(("matrix_elements", "amp2", "color", "helicity", "diagram"), found):
            np.testing.assert_array_equal(array, getattr(own, name), err_msg=name)

    def sampled(self, switch, value, folder):
        """Results of a library with a switch that is read at its first use: |M|^2 with squared diagrams (1 + diagrams,
        events), and colours, helicities, diagrams, in arrays filled with 7 before."""
        process, count = mebridge.Process("g g > t t~"), 50
        momenta = np.ascontiguousarray(two_to_two(count).transpose(2, 1, 0))
        random = np.random.default_rng(3).random((3, count))
        library = process.library(os.path.join(folder, f"{value}.so"))
        with mock.patch.dict(os.environ, {f"CUDACPP_RUNTIME_{switch}": value}):
            umami, handle = ctypes.CDLL(str(library)), ctypes.c_void_p()
            self.assertEqual(umami.umami_initialize(ctypes.byref(handle), b""), 0)
        doubles = np.full((1 + process.diagram_count, count), -7.0)
        integers = np.full((3, count), -7, dtype=np.int32)
        inputs, outputs = [momenta, *random], [doubles[0], doubles[1:], *integers]
        keys = [np.array(of, dtype=np.int32) for of in ((0, 3, 4, 5), (0, 1, 2, 3, 4))]
        lists = [(ctypes.c_void_p * len(of))(*(a.ctypes.data for a in of)) for of in (inputs, outputs)]
        sizes = [ctypes.c_size_t(number) for number in (count, count, 0)]
        arguments = [
            argument
            for of, list_ in zip(keys, lists)
            for argument in (ctypes.c_size_t(len(of)), ctypes.c_void_p(of.ctypes.data), list_)
        ]
        self.assertEqual(umami.umami_matrix_element(handle, *sizes, *arguments), 0)
        self.assertEqual(umami.umami_free(handle), 0)
        return doubles, integers

    def test_squared_diagrams_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            found = {value: self.sampled("AMP2", value, folder) for value in ("on", "off")}
        self.assertTrue((found["off"][0][1:] == -7.0).all())
        np.testing.assert_allclose(found["on"][0][1:].sum(axis=0), 1.0)
        for one, other in ((found["on"][0][0], found["off"][0][0]), (found["on"][1], found["off"][1])):
            np.testing.assert_array_equal(one, other)
            self.assertTrue((one >= 0).all())

    def test_flows_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            found = {value: self.sampled("FLOWS", value, folder) for value in ("on", "off")}
        (doubles, (color, helicity, diagram)), (others, left) = found["on"], found["off"]
        np.testing.assert_array_equal(doubles, others)
        np.testing.assert_array_equal(left[1], helicity)
        self.assertTrue((left[[0, 2]] == -7).all())
        self.assertTrue((color >= 0).all() and (diagram >= 0).all())

    def test_events(self):
        count, energy, mass = 40000, 1000.0, 173.0
        process = mebridge.Process("g g > t t~")
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "events.lhe")
            with contextlib.redirect_stdout(io.StringIO()):
                run = mebridge.generate_events(process, energy=energy, events=count, output=output, seed=5)
            events = read(output)
        # The closed leading-order formula.
        self.assertEqual(run.events, count)
        self.assertLess(abs(run.cross_section - total(energy, mass)), 4 * run.error)
        self.assertLess(run.error, 0.005 * run.cross_section)
        # Each helicity, integrated over the angle.
        cos, weights = np.polynomial.legendre.leggauss(60)
        p = math.sqrt(energy**2 / 4 - mass**2)
        momenta = two_to_two(60)
        momenta[:, 2, 1:] = p * np.stack([np.sqrt(1 - cos**2), 0 * cos, cos], axis=1)
        momenta[:, 3, 1:] = -momenta[:, 2, 1:]
        rows = range(len(process.helicities))
        exact = np.array([weights @ process.evaluate(momenta, helicity=row) for row in rows])
        exact *= count / exact.sum()
        table = {tuple(row): number for number, row in enumerate(process.helicities.tolist())}
        found = np.bincount([table[tuple(event[:, 1])] for event in events], minlength=len(exact))
        self.assertEqual(found[exact < 1e-9 * count].sum(), 0)
        there = exact > 1e-9 * count
        chi2 = ((found - exact)[there] ** 2 / exact[there]).sum()
        self.assertLess(chi2, there.sum() + 5 * math.sqrt(2 * there.sum()))
        # Both colour flows are equally likely: the first gluon's colour is the top quark's, or not.
        same = sum(event[0, 2] == event[2, 2] for event in events)
        self.assertLess(abs(same - count / 2), 5 * math.sqrt(count / 4))

    def test_what_cannot_be_generated(self):
        process = mebridge.Process("g g > t t~ g")
        for wrong, text in (
            ({"energy": 300}, "less than the masses"),
            ({"energy": 900, "cuts": {"et": 1}}, "no cut 'et'"),
        ):
            with self.assertRaisesRegex(mebridge.Error, text):
                mebridge.generate_events(process, **wrong)


def total(energy, mass):
    """The closed formula of sigma(g g -> t t~) in pb at alpha_s = 0.118 (Combridge)."""
    rho = 4 * mass**2 / energy**2
    beta = math.sqrt(1 - rho)
    log = math.log((1 + beta) / (1 - beta)) / beta
    shape = (4 + 4 * rho + rho**2 / 4) * log - 7 - 31 / 4 * rho
    return 0.3893793721e9 * math.pi * 0.118**2 * beta / (12 * energy**2) * shape


def read(path):
    """For each event and particle its PDG code, helicity and colour tag."""
    events = []
    for text in pathlib.Path(path).read_text().split("<event>\n")[1:]:
        lines = [line.split() for line in text.split("</event>")[0].splitlines()[1:5]]
        events.append(np.array([[int(words[0]), float(words[12]), int(words[4])] for words in lines]))
    return events
