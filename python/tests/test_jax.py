"""Evaluation within programs of JAX, on the CPU and on an NVIDIA GPU. Without JAX, or a GPU that it sees, the tests say
so and are skipped."""

import gc
import importlib.util
import sys
import unittest
import weakref

import numpy as np
from test_package import two_to_two

import mebridge

if importlib.util.find_spec("jax") is None:
    print("SKIPPED: programs of JAX: jax is not installed", file=sys.stderr)
    raise unittest.SkipTest("jax is not installed")

import jax
import jax.numpy as jnp


class Programs:
    """Tests of programs, with a subclass for each platform."""

    platform: str
    # Relative, against the CPU.
    tolerance: float

    @classmethod
    def setUpClass(cls):
        before = jax.config.jax_enable_x64
        cls.addClassCleanup(jax.config.update, "jax_enable_x64", before)
        jax.config.update("jax_enable_x64", True)
        try:
            device = jax.devices(cls.platform)[0]
        except RuntimeError as missing:
            print(f"SKIPPED: programs of JAX on {cls.platform}: {missing}", file=sys.stderr)
            raise unittest.SkipTest(f"JAX has no {cls.platform}") from missing
        context = jax.default_device(device)
        context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        cls.process = mebridge.Process("g g > t t~")
        rng = np.random.default_rng(1)
        cls.momenta = two_to_two(1001)
        cls.alpha_s = rng.uniform(0.1, 0.13, 1001)
        cls.random = dict(zip(("helicities", "colors", "diagrams"), rng.random((3, 1001))))

    def equal(self, found, expected, **options):
        array, other = np.asarray(found), np.asarray(expected)
        # Choices, and indices: all of them.
        tolerance = self.tolerance if array.dtype.kind == "f" else 0
        np.testing.assert_allclose(array, other, rtol=tolerance, atol=tolerance * 1e-3, **options)

    def test_matrix_elements(self):
        compiled = jax.jit(lambda p, a: 2 * self.process.evaluate(p, a, bad="nan"))
        expected = 2 * self.process.evaluate(self.momenta, self.alpha_s)
        self.equal(compiled(self.momenta, self.alpha_s), expected)
        # Others of the same program; one alpha_s for all; one event; none; an array in another order.
        self.equal(compiled(self.momenta[::-1], self.alpha_s[::-1]), expected[::-1])
        self.equal(
            jax.jit(lambda p: self.process.evaluate(p, bad="nan"))(self.momenta), self.process.evaluate(self.momenta)
        )
        one = jax.jit(lambda p: self.process.evaluate(p, 0.12, bad="nan"))(self.momenta[5])
        self.assertEqual(one.shape, ())
        self.equal(one, self.process.evaluate(self.momenta[5], 0.12))
        self.assertEqual(compiled(self.momenta[:0], self.alpha_s[:0]).shape, (0,))
        turned = jax.jit(lambda p: self.process.evaluate(p.transpose(2, 1, 0), bad="nan"))
        self.equal(turned(self.momenta.transpose(2, 1, 0)), self.process.evaluate(self.momenta))
        # Only alpha_s is the program's.
        scan = jax.jit(lambda a: self.process.evaluate(self.momenta, a, bad="nan"))
        self.equal(2 * scan(self.alpha_s), expected)

    def test_all_that_can_be_asked(self):
        names = ("matrix_elements", "helicity", "color", "diagram", "amp2")

        def run(p, a, random):
            found = self.process.evaluate(p, a, amp2=True, bad="nan", **random)
            return [getattr(found, name) for name in names]

        found = jax.jit(run)(self.momenta, self.alpha_s, self.random)
        expected = run(self.momenta, self.alpha_s, self.random)
        for name, array, other in zip(names, found, expected):
            self.equal(array, other, err_msg=name)
            self.assertEqual(array.dtype, other.dtype)
        helicities = jax.jit(lambda p, r: self.process.evaluate(p, helicities=r, bad="nan").helicity)
        other = self.process.evaluate(self.momenta, helicities=self.random["helicities"]).helicity
        self.equal(helicities(self.momenta, self.random["helicities"]), other)

    def test_vmap(self):
        momenta = self.momenta[:1000].reshape(4, 250, 4, 4)
        alpha_s = np.array([0.11, 0.12, 0.13, 0.14])
        random = {name: numbers[:1000].reshape(4, 250) for name, numbers in self.random.items()}

        def run(p, a, r):
            found = self.process.evaluate(p, a, amp2=True, bad="nan", **r)
            return found.matrix_elements, found.color, found.amp2

        found = jax.jit(jax.vmap(run))(momenta, alpha_s, random)
        for i in range(4):
            expected = run(momenta[i], alpha_s[i], {name: numbers[i] for name, numbers in random.items()})
            for array, other in zip(found, expected):
                self.equal(array[i], other)
        # Over events, and with one argument alone in a batch.
        each = jax.vmap(lambda p: self.process.evaluate(p, bad="nan"))(self.momenta)
        self.equal(each, self.process.evaluate(self.momenta))
        couplings = jax.vmap(lambda a: self.process.evaluate(self.momenta, a, bad="nan"))(alpha_s)
        for row, a in zip(couplings, alpha_s):
            self.equal(row, self.process.evaluate(self.momenta, a))

    def test_bad_events_and_parameters(self):
        process = mebridge.Process("g g > t t~")
        compiled = jax.jit(lambda p: process.evaluate(p, bad="nan"))
        momenta = self.momenta.copy()
        momenta[7, 2, 0] *= 1.1
        momenta[9, 1, 3] = np.nan
        self.assertEqual(np.flatnonzero(np.isnan(compiled(momenta))).tolist(), [7, 9])
        process.parameters["mt"] = 150.0
        self.assertTrue(np.isnan(compiled(self.momenta)).all())
        lighter = two_to_two(10, mass=150.0)
        self.equal(compiled(lighter), process.evaluate(lighter))

    def test_what_cannot_be(self):
        def compiled(*arguments, **options):
            return jax.jit(lambda p: self.process.evaluate(p, *arguments, **options))(self.momenta)

        with self.assertRaisesRegex(ValueError, 'bad="nan"'):
            compiled()
        with self.assertRaisesRegex(TypeError, "give random numbers"):
            compiled(helicities=True, bad="nan")
        with self.assertRaisesRegex(TypeError, "diagrams="):
            compiled(colors=self.random["colors"], bad="nan")
        with self.assertRaisesRegex(TypeError, "helicity= is not there"):
            compiled(helicity=3, bad="nan")
        with self.assertRaisesRegex(ValueError, r"needs \(events, 4, 4\)"):
            jax.jit(lambda p: self.process.evaluate(p, bad="nan"))(self.momenta[:, :3])
        self.assertTrue(np.isnan(compiled(-0.1, bad="nan")).all())
        for kind in (complex, bool):
            with self.assertRaisesRegex(TypeError, "momenta must be real numbers, not (complex128|bool)"):
                jax.jit(lambda p: self.process.evaluate(p, bad="nan"))(self.momenta.astype(kind))
        with self.assertRaisesRegex(TypeError, "alpha_s must be real numbers, not complex"):
            compiled(0.1 + 0.1j, bad="nan")
        with self.assertRaisesRegex(TypeError, "helicities must be real numbers, not complex"):
            compiled(helicities=0.5j, bad="nan")
        self.equal(
            jax.jit(lambda p: self.process.evaluate(p, 1, bad="nan"))(self.momenta),
            self.process.evaluate(self.momenta, 1),
        )
        jax.config.update("jax_enable_x64", False)
        try:
            with self.assertRaisesRegex(TypeError, "jax_enable_x64"):
                compiled(bad="nan")
        finally:
            jax.config.update("jax_enable_x64", True)

    def test_a_process_that_is_gone(self):
        process = mebridge.Process("g g > t t~")
        gone = weakref.ref(process)
        traced = jax.jit(lambda p: gone().evaluate(p, bad="nan")).lower(self.momenta)
        compiled = traced.compile()
        self.equal(compiled(self.momenta), self.process.evaluate(self.momenta))
        del process
        gc.collect()
        with self.assertRaisesRegex(Exception, "the process is gone"):
            np.asarray(compiled(self.momenta))


class OnTheCpu(Programs, unittest.TestCase):
    platform = "cpu"
    tolerance = 0.0

    def test_a_gpu_that_there_is_not(self):
        if _gpus():
            self.skipTest("there is one")
        bridges, why = mebridge._jax._devices(self.process)
        self.assertEqual(bridges, [])
        self.assertRegex(why, "(?i)cuda")


class OnCuda(Programs, unittest.TestCase):
    platform = "cuda"
    tolerance = 1e-11

    def test_results_stay_there_and_work_is_in_order(self):
        # Takes so long that code that does not wait for it sees other momenta.
        def run(p, matrix):
            for _ in range(10):
                matrix = matrix @ matrix / 3000
            return self.process.evaluate(p + 0 * matrix[0, 0], bad="nan") * 2

        matrix = jax.random.uniform(jax.random.key(1), (6000, 6000), dtype=jnp.float32)
        found = jax.jit(run)(jnp.asarray(self.momenta), matrix)
        self.assertEqual({device.platform for device in found.devices()}, {"gpu"})
        self.equal(found, 2 * self.process.evaluate(self.momenta))

    def test_the_cpu_beside_it(self):
        compiled = jax.jit(lambda p: self.process.evaluate(p, bad="nan"))
        with jax.default_device(jax.devices("cpu")[0]):
            np.testing.assert_array_equal(compiled(self.momenta), self.process.evaluate(self.momenta))
        self.equal(compiled(self.momenta), self.process.evaluate(self.momenta))

    def test_each_gpu_evaluates_its_own(self):
        devices = _gpus()
        if len(devices) < 2:
            self.skipTest("there is one GPU")
        compiled = jax.jit(lambda p: self.process.evaluate(p, bad="nan"))
        expected = self.process.evaluate(self.momenta)
        for device in devices:
            found = compiled(jax.device_put(self.momenta, device))
            self.assertEqual(found.devices(), {device})
            self.equal(found, expected)
        # One program over all of them.
        mesh = jax.sharding.Mesh(np.array(devices), "events")
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("events"))
        spread = jax.device_put(self.momenta[: 1000 // len(devices) * len(devices)], sharding)
        mapped = jax.shard_map(compiled, mesh=mesh, in_specs=sharding.spec, out_specs=sharding.spec, check_vma=False)
        found = jax.jit(mapped)(spread)
        self.assertEqual(found.devices(), set(devices))
        self.equal(found, expected[: len(found)])

    def test_the_refusal_of_a_process_is_the_programs(self):
        process = mebridge.Process("g g > t t~")
        process._on_device = lambda ordinal: (_ for _ in ()).throw(mebridge.Error("it is on strike"))
        with self.assertRaisesRegex(Exception, "GPU 0 does not evaluate this process: it is on strike"):
            np.asarray(jax.jit(lambda p: process.evaluate(p, bad="nan"))(self.momenta))


def _gpus():
    try:
        return jax.devices("cuda")
    except RuntimeError:
        return []
