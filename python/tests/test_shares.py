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


class Kept(unittest.TestCase):
    def test_the_least_together(self):
        ends = _shares.above([0.5, 0.004, 0.4, 0.006, 0.09])
        self.assertEqual(np.round(ends, 12).tolist(), [0.0, 0.996, 0.5, 0.99, 0.9])
        none = [frozenset([frozenset()])] * 5
        self.assertEqual(_shares.kept(ends, 0.995, none), [0, 2, 3, 4])
        self.assertEqual(_shares.kept(ends, 0.95, none), [0, 2, 4])
        self.assertEqual(_shares.kept([0.0], 0.0, none[:1]), [0], "one always stays")

    def test_what_no_other_has(self):
        z, w = (frozenset({2, 3}), 91.0), (frozenset({4, 5}), 80.0)
        both, one, no = (frozenset([frozenset(of)]) for of in ([z, w], [z], []))
        self.assertEqual(_shares.kept([0.0, 0.99, 0.999], 0.5, [both, one, no]), [0])
        self.assertEqual(_shares.kept([0.0, 0.99, 0.999], 0.5, [no, one, both]), [0, 1, 2])
        other = frozenset([frozenset([z]), frozenset([w])])
        self.assertEqual(_shares.kept([0.0, 0.99], 0.5, [one, other]), [0, 1], "each permutation has its own")


@unittest.skipUnless(madspace, "madspace is not installed")
class Channels(Folder):
    def built(self, process, left_out, most=_candidates.MOST):
        elements = _elements.write([process], None, {}, "cpu", {}, str(self.folder))
        asked = {"energy": 1000.0, "scale": 1000.0, "scale_factor": 1.0, "cuts": CUTS, "folder": str(self.folder)}
        contexts = [madspace.Context(madspace.cpu_device(), 1)]
        with mock.patch.object(_shares, "LEFT_OUT", left_out), mock.patch.object(_candidates, "MOST", most):
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
        self.assertEqual(len(at_most), 5)
        self.assertLess(set(at_most), set(few))

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
        """Half of the cross section's channels are left out, in the process that makes events."""
        values, errors = [], []
        for left_out in (0.0, 0.5):
            program = _worker._PROGRAM.replace(
                "from mebridge._worker", f"from mebridge import _shares\n_shares.LEFT_OUT = {left_out}\nfrom mebridge._worker"
            )
            with mock.patch.object(_worker, "_PROGRAM", program):
                run = mebridge.generate_events("g g > t t~ g", energy=1000.0, events=20_000, cuts=CUTS, seed=5)
            values.append(run.cross_section)
            errors.append(run.error)
        self.assertNotEqual(*values)
        self.assertLess(abs(values[0] - values[1]), 4.0 * math.hypot(*errors))


if __name__ == "__main__":
    unittest.main()
