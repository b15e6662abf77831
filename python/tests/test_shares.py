"""Channels that have nearly nothing of a cross section."""

import math
import unittest
from unittest import mock

import mebridge
import numpy as np
from common import Folder
from mebridge import _candidates, _cuts, _elements, _integrands, _shares, _topologies, _trial, _worker
from mebridge._densities import Coupling

try:
    import madspace
except ImportError:
    madspace = None

CUTS = {"pt": 20.0, "eta": 5.0, "dr": 0.4}


class Stay(unittest.TestCase):
    # At three points, of each of three mappings.
    WEIGHTS = np.array([[0.6, 0.395, 0.005], [0.4, 0.595, 0.005], [0.5, 0.45, 0.05]])
    NONE = [frozenset([frozenset()])] * 3

    def stay(self, values, growth, peaks=NONE, weights=WEIGHTS):
        values = np.array(values)
        shares = (values[:, None] * weights).sum(axis=0)
        return _shares.stay(weights, values, shares, growth, peaks)

    def test_others_stand_for_the_least(self):
        self.assertEqual(self.stay([1.0, 1.0, 0.01], 0.01), [0, 1])
        self.assertEqual(self.stay([1.0, 1.0, 0.01], 0.001), [0, 1, 2])
        self.assertEqual(self.stay([1.0, 1.0, 0.01], 10.0), [0], "one always stays")

    def test_all_stay_where_nothing_is_known(self):
        self.assertEqual(self.stay([0.0, 0.0, 0.0], 0.01), [0, 1, 2])
        self.assertEqual(self.stay([1.0, np.inf, 0.0], 0.01), [0, 1, 2])

    def test_a_peak_of_its_own_stays(self):
        """It has a thousandth of all, at a point at which the others have a ten thousandth of their weights."""
        weights = np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0], [0.0001, 0.0, 0.9999]])
        self.assertEqual(self.stay([1.0, 1.0, 0.002], 0.01, weights=weights), [0, 1, 2])
        weights[2] = 0.6, 0.3, 0.1
        self.assertEqual(self.stay([1.0, 1.0, 0.002], 0.01, weights=weights), [0, 1])
        weights[2] = 0.0, 0.0, 1.0
        self.assertIn(2, self.stay([1.0, 1.0, 1e-9], 10.0, weights=weights))

    def test_a_resonance_that_no_other_has_stays(self):
        z, w = (frozenset({2, 3}), 91.0), (frozenset({4, 5}), 80.0)
        both, one, no = (frozenset([frozenset(of)]) for of in ([z, w], [z], []))
        self.assertEqual(self.stay([1.0, 1.0, 0.01], 0.01, [no, one, one]), [0, 1])
        self.assertEqual(self.stay([1.0, 1.0, 0.01], 0.01, [no, one, both]), [0, 1, 2])
        each = frozenset([frozenset([z]), frozenset([w])])
        self.assertEqual(self.stay([1.0, 1.0, 0.01], 0.01, [no, one, each]), [0, 1, 2], "each permutation has its own")


@unittest.skipUnless(madspace, "madspace is not installed")
class Channels(Folder):
    def built(self, process, growth, most=_candidates.MOST, **cuts):
        elements = _elements.write([process], None, {}, "cpu", {}, str(self.folder))
        asked = {"energy": 1000.0, "scale": 1000.0, "scale_factor": 1.0, "cuts": cuts or CUTS, "folder": str(self.folder)}
        contexts = [madspace.Context(madspace.cpu_device(), 1)]
        with mock.patch.object(_shares, "GROWTHS", (growth, 10.0)), mock.patch.object(_candidates, "MOST", most):
            found = _integrands.build(
                madspace, contexts, elements, densities=None, coupling=Coupling.constant(0.118), **asked
            )
        return elements[0], [channel.name for channel in found.channels]

    def test_points_have_the_average_of_all(self):
        """Also of a channel in which few pass the cuts."""
        element, _ = self.built("g g > t t~ g", 0.0)
        masses = (0.0, 0.0, 173.0, 173.0, 0.0)
        topology = _topologies.of_mapping(madspace, masses, element.channels[0])
        for pt, most in ((1.0, 1000), (330.0, 300_000)):
            cut = _cuts.item(madspace, 5, _cuts.Window("pt", ((4,),), least=pt))
            mapping = madspace.PhaseSpaceMapping(topology, 1000.0, cuts=madspace.Cuts([cut]), leptonic=True)
            found = _trial.points(madspace, mapping)
            self.assertLessEqual(found.tried, most)
            self.assertGreater(found.passed, _trial.ENOUGH)
            self.assertEqual(len(found.weights), _trial.ENOUGH)
            runtime = madspace.FunctionRuntime(mapping.forward_function(), madspace.Context(madspace.cpu_device(), 1))
            many = runtime.call([np.random.default_rng(7).random((200_000, mapping.random_dim()))])[-1].numpy()
            error = found.weights.sum() * math.sqrt(2.0 / _trial.ENOUGH)
            self.assertLess(abs(found.weights.sum() - many.mean()), 4.0 * error, (found.tried, found.passed))

    def test_some_are_left_out(self):
        _, every = self.built("g g > t t~ g g", 0.0)
        _, few = self.built("g g > t t~ g g", 0.01)
        self.assertLess(len(few), len(every))
        self.assertLessEqual(set(few), set(every))
        _, at_most = self.built("g g > t t~ g g", 0.01, most=5)
        self.assertLessEqual(len(at_most), 5)
        self.assertLess(set(at_most), set(few))

    def test_photons_of_small_mass_stay(self):
        """Two lepton pairs of a few GeV have little of a cross section without them, and much with them."""
        element, names = self.built("u u~ > e+ e- mu+ mu-", 0.01, massll=4.0, ptl=5.0)
        members = [int(name.rsplit("channel", 1)[1]) for name in names]
        pairs = {frozenset({2, 3}), frozenset({4, 5})}
        masses = (0.0,) * 6

        def massless(channel):
            lines = zip(_topologies._lines(masses, channel, (), ()), channel["masses"])
            return {line.legs for line, (mass, _) in lines if mass == 0.0 and line.floor is not None}

        self.assertTrue(any(pairs <= massless(element.channels[member]) for member in members), names)

    def test_a_resonance_stays(self):
        """Gluons have nearly all of u d~ > u d~, and a W is in it."""
        element, names = self.built("u d~ > u d~ QCD<=2 QED<=2", 0.5)
        members = [int(name.rsplit("channel", 1)[1]) for name in names]
        peaks = [_topologies.resonances((0.0,) * 4, element.channels[member]) for member in members]
        self.assertTrue(any(abs(mass - 80.4) < 1.0 for of in peaks for _, mass in of), peaks)
        self.assertLess(len(names), len(element.channels))




@unittest.skipUnless(madspace, "madspace is not installed")
class CrossSection(Folder):
    def test_it_is_the_same_without_them(self):
        """Many channels are left out, in the process that makes events."""
        values, errors = [], []
        for growth in (0.0, 0.5):
            program = _worker._PROGRAM.replace(
                "from mebridge._worker", f"from mebridge import _shares\n_shares.GROWTHS = ({growth},)\nfrom mebridge._worker"
            )
            with mock.patch.object(_worker, "_PROGRAM", program):
                run = mebridge.generate_events("g g > t t~ g", energy=1000.0, events=20_000, cuts=CUTS, seed=5)
            values.append(run.cross_section)
            errors.append(run.error)
        self.assertNotEqual(*values)
        self.assertLess(abs(values[0] - values[1]), 4.0 * math.hypot(*errors))


if __name__ == "__main__":
    unittest.main()
