"""Runs whose channels are evaluated in two places, as those of a GPU are: channels of few points on the host's cores. Here
both are a CPU."""

import collections
import json
import pathlib
import unittest
from unittest import mock

import numpy as np

import mebridge
from common import Folder, Here
from mebridge import _elements, _survey
from test_events import densities, generate, madspace, particles


def two(folder):
    """What stands for MadSpace's process, with libraries for both places."""

    class Both(Here):
        def call(self, name, **arguments):
            if name == "build":
                places = []
                for place in ("device", "host"):
                    (folder / place).mkdir(exist_ok=True)
                    asked = ["p p > t t~ j"], None, {}, "cpu", {}, str(folder / place)
                    places.append(_elements.libraries(_elements.write(*asked, apart=True)))
                arguments["libraries"], arguments["host"] = places
            return super().call(name, **arguments)

    return mock.patch("mebridge._events.Worker", Both)


@unittest.skipIf(madspace is None, "madspace is not installed")
class Host(Folder):
    def run_with(self, most):
        """A run whose channels with at most so many points are the host's, its events, and how often what was where."""
        seen = collections.Counter()

        def on_host(points, diagrams, threads):
            seen[points <= most] += 1
            return points <= most

        state, output = self.folder / f"state{most}", self.folder / f"{most}.lhe"
        if not (self.folder / "toy").exists():
            densities.write(self.folder)
        with two(self.folder), mock.patch("mebridge._survey.on_host", on_host):
            run = generate(
                "p p > t t~ j", energy=13_000, pdf=self.folder / "toy", cuts={"pt": 20}, events=3000, state=state,
                output=output,
            )
        return run, state, output, seen

    def test_where_channels_are_does_not_matter(self):
        """All of them in the one place or the other are the same events; some of them in each are the same cross section."""
        runs = {most: self.run_with(most) for most in (0, 1500, 10**9)}
        (one, *_, all_there), (other, *_, all_here) = runs[0], runs[10**9]
        self.assertEqual((set(all_there), set(all_here)), ({False}, {True}))
        self.assertEqual(one.cross_section, other.cross_section)
        self.assertEqual(runs[0][2].read_bytes(), runs[10**9][2].read_bytes())
        some, state, output, seen = runs[1500]
        self.assertEqual(set(seen), {False, True})
        self.assertLess(abs(some.cross_section / one.cross_section - 1), 0.05)
        self.assertLess(abs(some.cross_section - 3020), 4 * some.error)
        names = collections.Counter(path.name.rstrip("0123456789.json") for path in (state / "survey").glob("*[0-9].json"))
        self.assertEqual(set(names), {"channel", "host"})
        # Each channel's share is that of its cross section.
        made = json.loads((state / "round0000.json").read_text())
        share = collections.Counter(tuple(legs[:2, 0]) for _, _, legs in particles(output))
        gluons = sum(value for name, (value, _) in some.processes.items() if name.startswith("21 21"))
        self.assertAlmostEqual(share[21, 21] / 3000, gluons / some.cross_section, delta=0.06)
        self.assertEqual(sum(share.values()), 3000)
        points = np.array(made["channels"])[:, 0]
        self.assertTrue((points >= np.array(made["measured"])[:, 0]).all())

    def test_flows_of_events_are_drawn_of_both_places(self):
        with mock.patch("mebridge._flows.pay", return_value=True):
            runs = {most: self.run_with(most) for most in (0, 1500, 10**9)}
        self.assertEqual(runs[0][2].read_bytes(), runs[10**9][2].read_bytes())
        self.assertEqual(set(runs[1500][3]), {False, True})
        for _, _, output, _ in runs.values():
            colors = mebridge.read_events(output).particles["color"].reshape(3000, -1)
            self.assertGreater(len(np.unique(colors, axis=0)), 10)

    def test_a_survey_of_one_place_serves_the_other(self):
        """Grids are in files. A run that goes on with its rounds elsewhere than its survey was makes the same events."""
        _, _, whole, _ = self.run_with(10**9)
        (self.folder / f"state{10**9}").rename(self.folder / "before")
        with mock.patch("mebridge._rounds.Rounds.run", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.run_with(10**9)
        state = self.folder / f"state{10**9}"
        self.assertEqual([path.name for path in (state / "survey").glob("channel*")], [])
        state.rename(self.folder / "state0")
        _, _, rest, seen = self.run_with(0)
        self.assertEqual(set(seen), {False})
        self.assertEqual(rest.read_bytes(), whole.read_bytes())

    def test_other_libraries_are_not_taken(self):
        """One library of all matrix elements has other numbers of diagrams."""
        folder = self.folder / "one"
        folder.mkdir()
        asked = ["p p > t t~ j"], None, {}, "cpu", {}, str(folder)
        one, apart = _elements.write(*asked), _elements.write(*asked, apart=True)
        self.assertEqual((len(one), len(apart)), (4, 4))
        self.assertFalse(_elements.same(one, apart))
        self.assertTrue(_elements.same(apart, apart))
        self.assertEqual([len(_elements.libraries(of)) for of in (one, apart)], [1, 4])
        # What is changed in the one is changed in the other.
        (folder / "other").mkdir()
        others = _elements.write(*asked[:-1], str(folder / "other"), apart=True)
        apart[2].entry["channels"][0]["propagators"][0] = 99
        self.assertFalse(_elements.same(apart, others))
        _elements.follow(apart, others)
        read = [element for library in _elements.libraries(others) for element in _elements.read(pathlib.Path(library))]
        self.assertTrue(_elements.same(apart, read))
        self.assertEqual([one.entry["me_path"] for one in read], [one.entry["me_path"] for one in others])

    def test_what_shares_channels_shares_a_library(self):
        folder = self.folder / "shared"
        folder.mkdir()
        asked = ["p p > e+ e- j"], None, {}, "cpu", {}, str(folder)
        one, apart = _elements.write(*asked), _elements.write(*asked, apart=True)
        self.assertEqual([len(_elements.libraries(of)) for of in (one, apart)], [1, 3])
        # In the order of the process.
        codes = [[element.flavor["options"] for element in of] for of in (one, apart)]
        self.assertEqual(codes[0], codes[1])
        self.assertEqual([element.flavor["index"] for element in one], list(range(6)))
        self.assertEqual(sorted(element.flavor["index"] for element in apart), [0, 0, 0, 1, 1, 1])

    def test_few_points_are_for_the_host(self):
        """The more cores, and the fewer diagrams, the more points."""
        most = {
            (diagrams, threads): max(n for n in range(0, 20_000, 50) if _survey.on_host(n, diagrams, threads))
            for diagrams in (16, 123, 945)
            for threads in (1, 16)
        }
        self.assertEqual(
            most,
            {(16, 1): 3900, (16, 16): 16_000, (123, 1): 1550, (123, 16): 16_000, (945, 1): 250, (945, 16): 4550},
        )


if __name__ == "__main__":
    unittest.main()
