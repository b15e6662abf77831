"""Arrays in the memory of a GPU. Without an NVIDIA GPU, and without a library, tests say so and are skipped."""

import ctypes
import sys
import unittest

import numpy as np
from test_package import gg_to_tt, two_to_two

import mebridge
from mebridge import _arguments, _device


def gpus() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    return count.value if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


def skip(why: str) -> unittest.SkipTest:
    print(f"SKIPPED: {why}", file=sys.stderr)
    return unittest.SkipTest(why)


class Device:
    """Tests for all array libraries, with a subclass for each."""

    process = None

    @classmethod
    def setUpClass(cls):
        if not gpus():
            raise skip(f"{cls.__name__}: there is no NVIDIA GPU")
        try:
            cls.begin()
        except ImportError as missing:
            raise skip(f"{cls.__name__}: {missing}") from missing
        cls.process = mebridge.Process("g g > t t~ g")
        rng = np.random.default_rng(5)
        cls.momenta = cls.boosted(rng, 3000)
        cls.random = [rng.random(3000) for _ in range(3)]
        cls.alpha_s = rng.uniform(0.1, 0.13, 3000)

    @staticmethod
    def boosted(rng, count):
        """g g > t t~ g over a part of its phase space: a gluon against a pair of top quarks."""
        mass, energy = 173.0, 1000.0
        pair = rng.uniform(2.1 * mass, 0.9 * energy, count)
        k = (energy**2 - pair**2) / (2 * energy)
        direction = lambda: (lambda v: v / np.linalg.norm(v, axis=1)[:, None])(rng.normal(size=(count, 3)))
        n, m = direction(), direction()
        q = np.sqrt(pair**2 / 4 - mass**2)
        top = np.concatenate([pair[:, None] / 2, q[:, None] * m], axis=1)
        anti = np.concatenate([pair[:, None] / 2, -q[:, None] * m], axis=1)
        # Into the frame of the beams, in which the pair goes against the gluon.
        gamma, beta = (energy - k) / pair, k / (energy - k)
        out = []
        for p in (top, anti):
            along = (p[:, 1:] * n).sum(axis=1)
            e = gamma * (p[:, 0] - beta * along)
            shift = (gamma - 1) * along - gamma * beta * p[:, 0]
            out.append(np.concatenate([e[:, None], p[:, 1:] + shift[:, None] * n], axis=1))
        gluon = np.concatenate([k[:, None], k[:, None] * n], axis=1)
        beams = np.tile([[energy / 2, 0, 0, energy / 2], [energy / 2, 0, 0, -energy / 2]], (count, 1, 1))
        return np.concatenate([beams, np.stack([*out, gluon], axis=1)], axis=1)

    def test_everything_is_as_on_the_cpu(self):
        names = dict(zip(("helicities", "colors", "diagrams"), self.random))
        expected = self.process.evaluate(self.momenta, self.alpha_s, amp2=True, **names)
        found = self.process.evaluate(
            self.put(self.momenta), self.put(self.alpha_s), amp2=True, **{k: self.put(v) for k, v in names.items()}
        )
        self.assertIs(type(found.matrix_elements), type(self.put(self.alpha_s)))
        np.testing.assert_allclose(self.get(found.matrix_elements), expected.matrix_elements, rtol=1e-11)
        np.testing.assert_allclose(self.get(found.amp2), expected.amp2, rtol=1e-9, atol=1e-13)
        for name in ("helicity", "color", "diagram"):
            np.testing.assert_array_equal(self.get(getattr(found, name)), getattr(expected, name))
        alone = self.process.evaluate(self.put(self.momenta), self.alpha_s)
        np.testing.assert_allclose(self.get(alone), expected.matrix_elements, rtol=1e-11)

    def test_helicities_parameters_and_bad_events(self):
        process = mebridge.Process("g g > t t~")
        momenta = two_to_two(400)
        process.parameters["wt"] = 0.0
        np.testing.assert_allclose(
            self.get(process.evaluate(self.put(momenta), 0.12)), gg_to_tt(momenta, 0.12), rtol=1e-9
        )
        process.parameters["mt"] = 170.0
        other = two_to_two(400, mass=170.0)
        np.testing.assert_allclose(
            self.get(process.evaluate(self.put(other), 0.12)), gg_to_tt(other, 0.12, 170.0), rtol=1e-9
        )
        with self.assertRaisesRegex(mebridge.BadEvents, "400 of 400 events"):
            process.evaluate(self.put(momenta))
        self.assertTrue(np.isnan(self.get(process.evaluate(self.put(momenta), bad="nan"))).all())
        rows = [process.evaluate(self.put(other), helicity=row) for row in range(len(process.helicities))]
        total = sum(self.get(row) for row in rows)
        np.testing.assert_allclose(total, self.get(process.evaluate(self.put(other))), rtol=1e-12)
        found = process.evaluate(self.put(other[0]), 0.12)
        self.assertAlmostEqual(float(found), float(gg_to_tt(other[:1], 0.12, 170.0)[0]), places=9)
        with self.assertRaisesRegex(ValueError, "needs .events, 4, 4."):
            process.evaluate(self.put(other[:, :3]))
        self.assertEqual(process.evaluate(self.put(other[:0])).shape[0], 0)
        chosen = process.evaluate(self.put(other), helicities=True, colors=True)
        self.assertEqual(sorted(set(self.get(chosen.color).tolist())), [0, 1])


class Kinds(unittest.TestCase):
    def test_what_is_no_real_number(self):
        """Before a library of arrays converts it, which takes the real part of one and the whole part of a row."""

        class Type:
            # As PyTorch names them.
            def __init__(self, name):
                self.name_ = name

            def __str__(self):
                return f"torch.{self.name_}"

        class Array:
            def __init__(self, name):
                self.dtype = Type(name)

        def evaluate(momenta, alpha_s=0.1, helicity=None):
            return _device.evaluate(None, Refused(), momenta, alpha_s, {}, False, helicity, "nan")

        class Refused:
            def array(self, values, kind):
                raise AssertionError

        for kind in ("complex64", "complex128", "bool"):
            with self.assertRaisesRegex(TypeError, f"momenta must be real numbers, not {kind}"):
                evaluate(Array(kind))
        for kind in ("float64", "float16", "bfloat16", "int32", "uint8"):
            with self.assertRaises(AssertionError):
                evaluate(Array(kind))
        for values in (1j, True, "0.1", [0.1j]):
            with self.assertRaisesRegex(TypeError, "alpha_s must be real numbers"):
                _arguments.judge("alpha_s", values)
        for values in (1.5, [1, 2.5], Array("float32"), True):
            with self.assertRaisesRegex(TypeError, "helicity must be integers"):
                _arguments.judge("helicity", values, True)
        for values, integers in ((np.zeros(2, ">f8"), False), (0.1, False), (3, True), (np.arange(3), True)):
            _arguments.judge("numbers", values, integers)


class Torch(Device, unittest.TestCase):
    @classmethod
    def begin(cls):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch has no CUDA")
        cls.torch = torch

    def put(self, array):
        return self.torch.tensor(array, device="cuda")

    def get(self, array):
        return array.cpu().numpy()

    def test_columns_are_read_where_they_are_on_another_stream(self):
        columns = self.put(np.ascontiguousarray(self.momenta.transpose(2, 1, 0)))
        expected = self.get(self.process.evaluate(self.put(self.momenta)))
        stream = self.torch.cuda.Stream()
        self.torch.cuda.synchronize()
        with self.torch.cuda.stream(stream):
            # Takes so long that code that does not wait for it sees zeros.
            moved = self.torch.zeros_like(columns)
            large = self.torch.rand(6000, 6000, device="cuda")
            for _ in range(10):
                large = large @ large / 3000
            moved.copy_(columns + 0 * large[0, 0].to(self.torch.float64))
            found = self.process.evaluate(moved.permute(2, 1, 0), bad="nan")
        stream.synchronize()
        np.testing.assert_allclose(self.get(found), expected, rtol=1e-14)

    def test_other_arrays_are_taken_by_their_protocols(self):
        tensor = self.put(self.momenta)
        expected = self.get(self.process.evaluate(tensor))

        class Interface:
            __cuda_array_interface__ = tensor.__cuda_array_interface__

        class Dlpack:
            __dlpack__ = staticmethod(tensor.__dlpack__)
            __dlpack_device__ = staticmethod(tensor.__dlpack_device__)

        for other in (Interface(), Dlpack()):
            found = self.process.evaluate(other)
            self.assertIn(type(found).__module__.partition(".")[0], ("torch", "cupy"))
            found = found.get() if hasattr(found, "get") else self.get(found)
            np.testing.assert_array_equal(found, expected)


class Cupy(Device, unittest.TestCase):
    @classmethod
    def begin(cls):
        import cupy

        cls.cupy = cupy

    def put(self, array):
        return self.cupy.asarray(array)

    def get(self, array):
        return self.cupy.asnumpy(array)


class Jax(Device, unittest.TestCase):
    @classmethod
    def begin(cls):
        import os

        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            raise ImportError("JAX has no CUDA")
        cls.jax = jax

    def put(self, array):
        return self.jax.numpy.asarray(array)

    def get(self, array):
        return np.asarray(array)

    def test_what_is_given_back_is_nobody_elses(self):
        zeros = self.jax.numpy.zeros(3000)
        first = self.process.evaluate(self.put(self.momenta), 0.12)
        second = self.process.evaluate(self.put(self.momenta), 0.11)
        pointers = {array.unsafe_buffer_pointer() for array in (zeros, first, second)}
        self.assertEqual(len(pointers), 3)
        self.assertTrue((np.asarray(zeros) == 0).all() and (np.asarray(self.jax.numpy.zeros(3000)) == 0).all())
        np.testing.assert_allclose(np.asarray(first / second), (0.12 / 0.11) ** 3, rtol=1e-12)
