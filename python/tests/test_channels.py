"""Channels that are one but for a permutation of the legs."""

import pathlib
import tempfile
import unittest
from unittest import mock

import mebridge
import numpy as np
from mebridge import _candidates, _channels, _elements, _integrands, _topologies
from mebridge._densities import Coupling

try:
    import madspace
except ImportError:
    madspace = None


def element(process):
    """The channels of a process, and its legs' labels."""
    with tempfile.TemporaryDirectory() as folder:
        mebridge.Process(process).library(pathlib.Path(folder) / "process.so")
        found = _elements.read(pathlib.Path(folder) / "process.so")[0]
    return found.channels, _candidates.labels(found, densities=False, of=_candidates.Beams(0, 0))


def propagators(channel, legs):
    """Of each propagator its masses, and the legs behind it as seen from the first one."""
    vertices = channel["vertices"]
    number = {f"i{leg}" if leg < 2 else f"o{leg - 2}": leg for leg in range(legs)}
    found = []
    for p, masses in enumerate(channel["masses"]):
        (side, _) = (v for v, lines in enumerate(vertices) if f"p{p}" in lines)
        seen, waiting = set(), [(line, side) for line in vertices[side] if line != f"p{p}"]
        while waiting:
            line, vertex = waiting.pop()
            if line in number:
                seen.add(number[line])
                continue
            (other,) = (v for v, lines in enumerate(vertices) if line in lines and v != vertex)
            waiting += [(further, other) for further in vertices[other] if further != line]
        found.append((tuple(masses), frozenset(seen if 0 not in seen else set(range(legs)) - seen)))
    return sorted(found, key=repr)


class Groups(unittest.TestCase):
    def test_trees_are_the_same_but_for_the_permutation(self):
        for process, legs, channels, groups in (
            ("g g > t t~ g", 5, 15, 6),
            ("g g > t t~ g g", 6, 105, 23),
            ("g g > g g g", 5, 15, 3),
            ("u u~ > e+ e- g g", 6, None, None),
            ("u d~ > w+ g g", 5, None, None),
        ):
            with self.subTest(process=process):
                known, labels = element(process)
                found = _channels.groups(known, labels)
                if groups is not None:
                    self.assertEqual((len(known), len(found)), (channels, groups))
                self.assertEqual(sorted(m for group in found for m in group.members), list(range(len(known))))
                for group in found:
                    first = known[group.members[0]]
                    self.assertEqual(group.permutations[0], tuple(range(legs)))
                    for member, permutation in zip(group.members, group.permutations):
                        for leg, place in enumerate(permutation):
                            self.assertEqual(labels[leg], labels[place])
                        # The legs of the member stand where these legs of the first stand.
                        there = [
                            (masses, frozenset(permutation[leg] for leg in behind))
                            for masses, behind in propagators(known[member], legs)
                        ]
                        # From the other side, where the beams take each other's places.
                        there = [
                            (masses, behind if 0 not in behind else frozenset(range(legs)) - behind)
                            for masses, behind in there
                        ]
                        self.assertEqual(sorted(there, key=repr), propagators(first, legs))

    def test_different_legs_keep_their_places(self):
        known, _ = element("g g > t t~ g")
        found = _channels.groups(known, range(5))
        self.assertEqual([group.members for group in found], [(i,) for i in range(len(known))])

    @unittest.skipIf(madspace is None, "madspace is not installed")
    def test_madspace_permutes_as_we_do(self):
        known, labels = element("g g > g g g")
        group = max(_channels.groups(known, labels), key=lambda group: len(group.members))
        # One that is not its own inverse.
        self.assertTrue(any(p[p[leg]] != leg for p in group.permutations for leg in range(5)))
        topology = _topologies.of_mapping(madspace, (0.0,) * 5, known[group.members[0]])
        mapping = madspace.PhaseSpaceMapping(
            topology, 1000.0, leptonic=True, permutations=[list(p) for p in group.permutations]
        )
        runtime = madspace.FunctionRuntime(mapping.forward_function(), madspace.Context(madspace.cpu_device(), 1))
        random = np.random.default_rng(1).random((4, mapping.random_dim()))
        momenta = [
            runtime.call([random, np.full(4, k, dtype=np.int32)])[0].numpy() for k in range(len(group.members))
        ]
        for found, permutation in zip(momenta, group.permutations):
            np.testing.assert_array_equal(found, momenta[0][:, list(permutation)])

    @unittest.skipIf(madspace is None, "madspace is not installed")
    def test_squared_diagrams_are_for_narrow_resonances(self):
        by_diagrams, by_propagators = "first_chan_weight_remap", "prop_chan_weights"
        for process, narrow, name in (
            ("e+ e- > w+ w-", 1.0, by_propagators),
            ("g g > t t~", 1.0, by_propagators),
            ("u u~ > z g, z > e+ e-", 1.0, by_propagators),
            # Where a width is below small_width_treatment, channels of the resonance are multiplied.
            ("u u~ > z g, z > e+ e-", 100.0, by_diagrams),
        ):
            factor = mock.patch("mebridge._widths.factor", return_value=narrow)
            with factor, tempfile.TemporaryDirectory() as folder:
                built = _integrands.build(
                    madspace,
                    [madspace.Context(madspace.cpu_device(), 1)],
                    _elements.write([process], None, {}, "cpu", {}, folder),
                    energy=1000.0,
                    densities=None,
                    coupling=Coupling.constant(0.118),
                    scale=1000.0,
                    scale_factor=1.0,
                    cuts={"pt": 20} if "z g" in process else {},
                    folder=folder,
                )
            names = {by_diagrams, by_propagators}
            for channel in built.channels:
                self.assertEqual(names & set(channel.shared), {name})


if __name__ == "__main__":
    unittest.main()
