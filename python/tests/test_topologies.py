"""What diagrams are to phase space and to weights of channels."""

import math
import unittest

import numpy as np
from mebridge import _checks, _cuts, _named_cuts, _topologies
from test_channels import element, propagators

try:
    import madspace
except ImportError:
    madspace = None


def called(function, *arguments):
    """What a function of MadSpace gives first."""
    found = madspace.FunctionRuntime(function, madspace.Context(madspace.cpu_device(), 1)).call(list(arguments))
    return (found[0] if isinstance(found, (list, tuple)) else found).numpy()


def points(topology, count, energy=1000.0, cuts=None):
    """Momenta and the weight of each point."""
    mapping = madspace.PhaseSpaceMapping(topology, energy, leptonic=True, cuts=cuts, invariant_power=1.0)
    random = np.random.default_rng(1).random((count, mapping.random_dim()))
    runtime = madspace.FunctionRuntime(mapping.forward_function(), madspace.Context(madspace.cpu_device(), 1))
    momenta, *_, weights = (of.numpy() for of in runtime.call([random]))
    return momenta, weights


def decaying(channel, legs):
    """The numbers of the lines that become these legs."""
    vertices = channel["vertices"]
    lines = range(len(channel["masses"]))
    of = [line for line in lines if _checks.outgoing(vertices, f"p{line}")[1] != 1]
    return [line for line in of if _topologies.legs_of(vertices, f"p{line}") == frozenset(legs)]


def squared(momenta, legs):
    """The squared mass of these legs, seen from the first beam: of which a beam comes in."""
    total = sum(momenta[:, leg] if leg > 1 else -momenta[:, leg] for leg in legs)
    return total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1)


class Floors(unittest.TestCase):
    def test_of_cuts(self):
        windows = [
            _cuts.Window("pt", ((3,),), least=20.0),
            _cuts.Window("pt", ((4,),), least=30.0),
            # Of the hardest alone, and of what is not there: they say nothing of each.
            _cuts.Window("pt", ((3,), (4,)), least=100.0, take="0"),
            _cuts.Window("pt", ((2,),), least=70.0, outside=True),
            _cuts.Window("distance", ((3,), (4,)), least=0.4),
            _cuts.Window("mass", ((2, 3),), least=250.0),
        ]
        masses = (0.0, 0.0, 173.0, 0.0, 0.0)
        jets = math.sqrt(2.0 * 20.0 * 30.0 * (1.0 - math.cos(0.4)))
        for legs, expected in (
            ((3, 4), jets),
            ((2, 3), 250.0),
            ((2, 4), 173.0),
            ((2, 3, 4), math.sqrt(250.0**2 + jets**2)),
        ):
            self.assertAlmostEqual(_cuts.least_mass(windows, masses, legs), expected, places=9)
        self.assertAlmostEqual(_cuts.least(windows, masses), math.sqrt(250.0**2 + jets**2), places=9)
        self.assertEqual(_cuts.least([], masses), 173.0)
        # Distances beyond half a turn are of rapidities.
        far = [_cuts.Window("distance", ((3,), (4,)), least=4.0), *windows[:2]]
        self.assertAlmostEqual(_cuts.least_mass(far, masses, (3, 4)), math.sqrt(2.0 * 20.0 * 30.0 * 2.0), places=9)

    @unittest.skipIf(madspace is None, "madspace is not installed")
    def test_no_point_that_passes_is_below(self):
        """Phase space that begins at its floors has the volume of the one that does not."""
        known, _ = element("g g > t t~ g g")
        masses, pdg = (0.0, 0.0, 173.0, 173.0, 0.0, 0.0), [21, 21, 6, -6, 21, 21]
        items, windows = _named_cuts.of_process(madspace, pdg, {"pt": 60.0, "dr": 1.5, "eta": 3.0})
        cuts = madspace.Cuts(items)
        pair = frozenset((4, 5))
        floor = _cuts.least_mass(windows, masses, sorted(pair))
        self.assertGreater(floor, 80.0)
        some = [c for c in known if any(legs == pair for _, legs in propagators(c, 6))][:3]
        self.assertEqual(len(some), 3)
        for channel in some:
            plain = points(_topologies.of_events(madspace, masses, channel), 40_000, cuts=cuts)
            bounded = points(_topologies.of_mapping(madspace, masses, channel, windows), 40_000, cuts=cuts)
            least = [np.sqrt(squared(momenta[weights > 0.0], pair)).min() for momenta, weights in (plain, bounded)]
            self.assertGreaterEqual(min(least), floor * (1.0 - 1e-9))
            self.assertLess(np.sqrt(np.abs(squared(plain[0], pair))).min(), 0.5 * floor)
            volumes, errors = zip(*((w.mean(), w.std() / math.sqrt(len(w))) for _, w in (plain, bounded)))
            self.assertLess(abs(volumes[0] - volumes[1]), 4.0 * math.hypot(*errors))
            self.assertLess(errors[1] / volumes[1], errors[0] / volumes[0])

    @unittest.skipIf(madspace is None, "madspace is not installed")
    def test_a_floor_holds_for_all_that_a_channel_stands_for(self):
        """Of a pair that a permutation makes another one, the smaller floor."""
        known, _ = element("g g > g g g")
        masses = (0.0,) * 5
        channel = next(c for c in known if decaying(c, (2, 3)))
        (line,) = decaying(channel, (2, 3))
        windows = [_cuts.Window("mass", ((2, 3),), least=90.0), _cuts.Window("mass", ((2, 4),), least=30.0)]
        self.assertEqual(_topologies._lines(masses, channel, windows, [])[line].floor, 90.0)
        # Its legs 2 and 4 are the legs 2 and 3 of the first.
        permutations = [(0, 1, 2, 3, 4), (0, 1, 2, 4, 3)]
        self.assertEqual(_topologies._lines(masses, channel, windows, permutations)[line].floor, 30.0)


class Widths(unittest.TestCase):
    def test_what_cannot_be_on_its_mass_shell_has_none(self):
        known, _ = element("g g > t t~ g")
        masses = (0.0, 0.0, 173.0, 173.0, 0.0)
        channel = next(c for c in known if decaying(c, (2, 4)))
        (line,) = decaying(channel, (2, 4))
        found = _topologies._lines(masses, channel, [], [])
        self.assertEqual((abs(channel["masses"][line][1]), found[line].width), (1.4915, 0.0))
        # A Z may be, unless the cuts are far above its mass.
        (channel,) = (c for c in element("u u~ > e+ e-")[0] if c["masses"][0][0])
        for mass, width in ((60.0, 2.441404), (150.0, 0.0)):
            found = _topologies._lines((0.0,) * 4, channel, [_cuts.Window("mass", ((2, 3),), least=mass)], [])
            self.assertEqual([line.width for line in found], [width])


@unittest.skipIf(madspace is None, "madspace is not installed")
class Weights(unittest.TestCase):
    def found(self, process, masses, **asked):
        known, _ = element(process)
        momenta, _ = points(_topologies.of_mapping(madspace, masses, known[-1]), 10)
        expected = np.ones((len(momenta), len(known)))
        for column, channel in enumerate(known):
            for (mass, width), legs in propagators(channel, len(masses)):
                if 0 not in legs and 1 not in legs and sum(masses[leg] for leg in legs) >= mass > 0.0:
                    width = 0.0
                expected[:, column] /= (squared(momenta, legs) - mass**2) ** 2 + (mass * width) ** 2
        return known, called(_topologies.weights(madspace, masses, known, **asked).function(), momenta), expected

    def test_they_are_products_of_squared_propagators(self):
        _, weights, expected = self.found("g g > t t~ g", (0.0, 0.0, 173.0, 173.0, 0.0))
        np.testing.assert_allclose(weights, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)

    def test_resonances_have_a_factor_where_beams_have_one_energy(self):
        known, weights, expected = self.found("e+ e- > mu+ mu- a", (0.0,) * 5, one_energy=True)
        for column, channel in enumerate(known):
            for line, (mass, width) in enumerate(channel["masses"]):
                legs = _topologies.legs_of(channel["vertices"], f"p{line}")
                expected[:, column] *= width / mass if mass and len(legs) == 2 else 1.0
        self.assertEqual(len(known), 8)
        np.testing.assert_allclose(weights, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
