"""Matrix elements that have their channels in common."""

import pathlib
import sys
import tempfile
import unittest

import mebridge
import numpy as np
from common import Folder
from mebridge import _candidates, _cuts, _elements, _flavors, _integrands, _records, _topologies, _trial
from mebridge._library import Error
from test_channels import propagators

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

try:
    import madspace
except ImportError:
    madspace = None


def groups_of(process):
    """Matrix elements of a process, and which of them are together."""
    with tempfile.TemporaryDirectory() as folder:
        found = _elements.write([process], None, {}, "cpu", {}, folder)
    legs = len(found[0].flavor["options"][0])
    prepared = [_candidates.Prepared(one, (0.0,) * legs, None, None, ()) for one in found]
    keys = [_integrands._alike(one) for one in prepared]
    return found, _flavors.groups(keys, [one.flavor["options"] for one in found])


class Groups(unittest.TestCase):
    def test_they_have_the_same_trees(self):
        for process, elements, groups in (
            ("p p > e+ e- j", 6, 3),
            ("p p > e+ e- j j", 28, 11),
            ("p p > t t~ j", 4, 4),
        ):
            with self.subTest(process=process):
                found, together = groups_of(process)
                self.assertEqual((len(found), len(together)), (elements, groups))
                self.assertEqual(sorted(i for some in together for i in some), list(range(elements)))
                legs = len(found[0].flavor["options"][0])
                for some in together:
                    trees = [sorted((propagators(c, legs) for c in found[i].channels), key=repr) for i in some]
                    self.assertEqual(trees, trees[:1] * len(some))

    def test_what_has_other_cuts_is_not_together(self):
        found, together = groups_of("p p > e+ e- j")
        one, other = (found[i] for i in together[0])
        cut = _cuts.Window("pt", ((4,),), least=20.0)
        keys = {
            _integrands._alike(_candidates.Prepared(of, (0.0,) * 5, None, None, windows))
            for of, windows in ((one, [cut]), (other, []), (other, [cut]))
        }
        self.assertEqual(len(keys), 2)

    def test_two_with_the_same_particles_are_apart(self):
        options = [[[1, -1, 2, -2]], [[1, -1, -2, 2]], [[3, -3, 2, -2]]]
        self.assertEqual(_flavors.groups(["key"] * 3, options), [[0, 2], [1]])


class Processes(unittest.TestCase):
    def test_events_are_told_apart_by_their_particles(self):
        groups = [
            _flavors.Group((1,), [_flavors.Option(1, (21, 21), [[21, 21, 2, -2]], False)]),
            _flavors.Group(
                (0, 2),
                [
                    _flavors.Option(0, (2, -2), [[2, -2, 21, 21]], True),
                    _flavors.Option(2, (1, -1), [[1, -1, 21, 21], [1, -1, 22, 22]], True),
                    _flavors.Option(2, (3, -3), [[3, -3, 21, 21]], True),
                ],
            ),
        ]
        events = [
            (0, [(21, -1), (21, -1), (2, 1), (-2, 1), (0, 0)], 1),
            (1, [(2, -1), (-2, -1), (21, 1), (21, 1), (0, 0)], 0),
            # A resonance is no leg.
            (1, [(1, -1), (-1, -1), (23, 2), (22, 1), (22, 1)], 2),
            (1, [(3, -1), (-3, -1), (21, 1), (21, 1), (0, 0)], 2),
        ]
        particles = np.zeros((len(events), 5), dtype=_records.PARTICLE)
        for row, (_, of, _) in zip(particles, events):
            row["pdg_id"], row["status_code"] = zip(*of)
        processes = _flavors.Processes(groups)
        self.assertTrue(processes.merged)
        of = np.array([group for group, *_ in events], dtype=np.int32)
        self.assertEqual(processes.elements(of, particles).tolist(), [element for *_, element in events])
        particles["pdg_id"][1, 0] = 3
        with self.assertRaisesRegex(Error, "no matrix element"):
            processes.elements(of, particles)
        self.assertFalse(_flavors.Processes(groups[:1]).merged)


@unittest.skipIf(madspace is None, "madspace is not installed")
class Chances(Folder):
    def test_flavors_are_chosen_by_their_matrix_elements(self):
        """Photons see the fourth power of the charge: 16 for an up, 1 for a down quark."""
        elements = _elements.write(["p p > a a j"], None, {}, "cpu", {}, str(self.folder))
        (some,) = (of for of in groups_of("p p > a a j")[1] if elements[of[0]].flavor["options"][0][:2] == [2, -2])
        self.assertEqual(len(some), 2)
        options = [
            _flavors.Option(number, pair, processes, False)
            for number in some
            for pair, processes in elements[number].options.items()
        ]
        context = madspace.Context(madspace.cpu_device(), 1)
        squared = _flavors.Squared(madspace, context, elements, {})
        masses = (0.0,) * 5
        points = []
        for channel in elements[some[0]].channels[:2]:
            mapping = madspace.PhaseSpaceMapping(_topologies.of_mapping(madspace, masses, channel), 1000.0, leptonic=True)
            points.append(_trial.points(madspace, mapping))
            self.assertGreater(len(points[-1].momenta), 50)
        chances = squared.chances(options, points)
        self.assertEqual(len(chances), 2)
        for of in chances:
            self.assertEqual(len(of), len(options))
            ups = [chance for option, chance in zip(options, of) if abs(option.pair[0]) in (2, 4)]
            downs = [chance for option, chance in zip(options, of) if abs(option.pair[0]) in (1, 3)]
            np.testing.assert_allclose(ups, 16.0 / 34.0, rtol=1e-6)
            # 1 / 34 is less than one may have.
            np.testing.assert_allclose(downs, 0.3 / 4.0, rtol=1e-6)
        self.assertEqual(_flavors.Squared(madspace, context, [], {}).chances(options, points), [])

    def test_they_are_what_madspace_draws_by(self):
        context = madspace.Context(madspace.cpu_device(), 1)
        sampler = madspace.DiscreteSampler([3], "some.flavors", [0])
        _flavors.set_chances(madspace, [context], [(sampler, (1.0, 6.0, 3.0))])
        np.testing.assert_allclose(context.get_global("some.flavors.prob0").numpy(), [[0.1, 0.6, 0.3]])


@unittest.skipIf(madspace is None, "madspace is not installed")
class Events(Folder):
    def test_events_have_the_numbers_of_their_matrix_elements(self):
        output = self.folder / "events.lhe"
        made = mebridge.generate_events(
            "p p > e+ e- j",
            energy=13_000.0,
            pdf=densities.write(self.folder),
            cuts={"pt": 20.0, "eta": 5.0, "ptl": 10.0, "massll": 50.0},
            scale="ht/2",
            seed=1,
            events=3000,
            output=output,
        )
        elements, _ = groups_of("p p > e+ e- j")
        legs = {
            (pdg[0], pdg[1], *sorted(pdg[2:])): number
            for number, element in enumerate(elements, 1)
            for pdg in element.flavor["options"]
        }
        read = mebridge.read_events(output)
        numbers = []
        for event in read.events:
            of = read.particles[event["first"] :][: event["count"]]
            beams = of["pdg_id"][of["status_code"] == -1].tolist()
            out = sorted(of["pdg_id"][of["status_code"] == 1].tolist())
            # Along +z first, which may be the second one of the process.
            numbers.append({legs.get((*some, *out)) for some in (beams, beams[::-1])} - {None})
        self.assertEqual([{number} for number in read.events["process_id"].tolist()], numbers)
        # What each of them has follows from its events.
        shares = read.processes["cross_section"] / made.cross_section
        counted = np.bincount(read.events["process_id"], minlength=len(elements) + 1)[1:] / len(read.events)
        self.assertAlmostEqual(shares.sum(), 1.0, delta=1e-6)
        self.assertEqual(np.count_nonzero(shares), len(elements))
        np.testing.assert_allclose(shares, counted, atol=5.0 * np.sqrt(0.25 / 3000))
        self.assertTrue((read.processes["error"] > 0.0).all())

    def test_beams_of_particles_make_all_flavors(self):
        """Without densities, by which MadSpace chooses flavours."""
        energy = 500.0

        def total(process):
            cosines, weights = np.polynomial.legendre.leggauss(20)
            momenta = np.zeros((20, 4, 4))
            momenta[..., 0] = momenta[:, 0, 3] = energy / 2.0
            momenta[:, 1, 3] = -energy / 2.0
            momenta[:, 2, 1], momenta[:, 2, 3] = energy / 2.0 * np.sqrt(1.0 - cosines**2), energy / 2.0 * cosines
            momenta[:, 3, 1:] = -momenta[:, 2, 1:]
            squared = mebridge.Process(process).evaluate(momenta, bad="nan")
            return 0.3893793656e9 * float(weights @ squared) / (32.0 * np.pi * energy**2)

        made = mebridge.generate_events("e+ e- > j j", energy=energy, events=4000)
        wanted = {"-11 11 2 -2": 2.0 * total("e+ e- > u u~"), "-11 11 1 -1": 2.0 * total("e+ e- > d d~")}
        self.assertEqual(made.processes.keys(), wanted.keys())
        for name, (value, error) in made.processes.items():
            self.assertLess(abs(value - wanted[name]), 5.0 * error)
        self.assertLess(abs(made.cross_section - sum(wanted.values())), 5.0 * made.error)
        codes = np.abs(made.arrays.particles["pdg_id"][made.arrays.particles["status_code"] == 1])[::2]
        shares = np.bincount(codes, minlength=5)[1:] / len(codes)
        expected = np.array([wanted["-11 11 1 -1"], wanted["-11 11 2 -2"]] * 2) / 2.0 / sum(wanted.values())
        np.testing.assert_allclose(shares, expected, atol=5.0 * np.sqrt(0.25 / 4000))

    def test_what_they_are_merged_by_without_densities(self):
        """Each of them has to be an event of its own process."""
        partons = {"lpp1": 0, "lpp2": 0, "ebeam1": 250, "ebeam2": 250, "use_syst": False}
        for process in ("g g > u u~; add process g g > d d~", "e+ e- > z h, z > j j", "e+ e- > j j j", "e+ e- > l+ l- a"):
            with self.subTest(process):
                run = mebridge.Run(process, run_card=partons, folder=self.folder)
                made = run.generate(300, 1)
                read = mebridge.read_events(made.output)
                self.assertEqual(len(read.events), 300)
                self.assertGreater(len(made.processes), 1)
                numbers = np.bincount(read.events["process_id"])[1:]
                self.assertEqual(np.count_nonzero(numbers), len(made.processes))


if __name__ == "__main__":
    unittest.main()
