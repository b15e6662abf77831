"""Weights of other parameter cards added by a run, compared with `mebridge reweight` afterwards."""

import concurrent.futures
import contextlib
import io
import pathlib
import re
import sys

import numpy as np

import mebridge
from mebridge import _benchmarks

from common import Folder, FolderHere, events_command, in_worker

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

PARTONS = {"lpp1": 0, "lpp2": 0, "ebeam1": 250, "ebeam2": 250, "use_syst": False}
PROCESS = "e+ e- > mu+ mu- QED=2"


class Options(Folder):
    def test_cards_that_are_none(self):
        with self.assertRaisesRegex(TypeError, "a list of parameter cards"):
            _benchmarks.chosen("card.dat")
        with self.assertRaisesRegex(mebridge.Error, "there is no parameter card .*/nowhere.dat"):
            _benchmarks.chosen([self.folder / "nowhere.dat"])


class Benchmarks(FolderHere):
    def setUp(self):
        super().setUp()
        text = self.card(PROCESS)
        self.original = self.folder / "original.dat"
        self.original.write_text(text)
        self.cards = {}
        for name, pattern, value in (
            ("alpha", r"(Block SMINPUTS\n  1 )\S+", "120.0"),
            ("wide", r"(DECAY 23 )\S+", "5.0"),
        ):
            found = re.sub(pattern, rf"\g<1>{value}", text)
            self.assertNotEqual(found, text)
            self.cards[name] = self.folder / f"{name}.dat"
            self.cards[name].write_text(found)

    def card(self, process):
        run_ = mebridge.Run(process, folder=self.folder)
        return run_.param_card

    def run_(self, name, **options):
        run = mebridge.Run(PROCESS, run_card=PARTONS, folder=self.folder)
        return run.generate(300, seed=2, name=name, **options)

    def test_as_reweighted_afterwards(self):
        plain = self.run_("plain")
        with contextlib.redirect_stderr(io.StringIO()):
            found = self.run_("both", reweight=self.cards)
        self.assertEqual(
            sorted(path.name for path in found.folder.iterdir()),
            sorted(["both_tag_1_banner.txt", "run.html", "state", "summary.txt", "unweighted_events.lhe.gz"]),
        )
        afterwards = mebridge.reweight_events(
            plain.output,
            PROCESS,
            output=self.folder / "x.lhe.gz",
            cards=list(self.cards.values()),
            names=list(self.cards),
        )
        one, other = mebridge.read_events(found.output), mebridge.read_events(afterwards)
        self.assertEqual(one.weight_names, ("alpha", "wide"))
        self.assertEqual(one.weight_names, other.weight_names)
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.events, other.events)
        np.testing.assert_array_equal(one.events, mebridge.read_events(plain.output).events)
        self.assertIn("Other parameter cards", (found.folder / "run.html").read_text())
        self.assertRegex((found.folder / "summary.txt").read_text(), r"\nalpha +\S+ +\S+ +\S+ +\S+ +\S+ +\S+\n")
        # By the helicities of each event.
        spins = one.particles["spin"][one.events["first"][:, None] + np.arange(4)]
        values = [
            _squared(card.read_text(), spins[:, 1], spins[:, 2]) for card in (self.original, *self.cards.values())
        ]
        self.assertEqual(len(set(map(tuple, spins))), 4)
        for weights, value in zip(one.weights.T, values[1:]):
            np.testing.assert_allclose(weights / one.events["weight"], value / values[0], rtol=1e-8)

    @in_worker()
    def test_workers_and_scale_variations(self):
        pdf = densities.write(self.folder)
        arguments = {"energy": 8000, "pdf": pdf, "events": 300, "systematics": ["scale"], "cuts": {"massll": 50}}
        process, card = "p p > e+ e-", self.cards["alpha"]
        files = {}
        mebridge.generate_events(process, output=self.folder / "plain.lhe", **arguments)
        # The second name is as long as names may be.
        second = f"{'x' * 251}.lhe"
        for name, workers in (("one.lhe", 0), (second, 2)):
            make = (lambda: concurrent.futures.ThreadPoolExecutor(workers)) if workers else None
            output = self.folder / name
            mebridge.generate_events(process, output=output, reweight=[card], executor=make, **arguments)
            files[name] = output.read_bytes()
        self.assertEqual(files["one.lhe"], files[second])
        self.assertIn(b"<weightgroup name='mg_reweighting'", files["one.lhe"])
        arrays = mebridge.read_events(self.folder / "one.lhe")
        plain = mebridge.read_events(self.folder / "plain.lhe")
        self.assertEqual(arrays.weight_names, (*plain.weight_names, "rwgt_1"))
        np.testing.assert_array_equal(arrays.weights[:, :-1], plain.weights)
        # Helicities are those of the frame of the beams: the weights are of the sum over all.
        afterwards = mebridge.reweight_events(
            self.folder / "plain.lhe",
            process,
            output=self.folder / "x.lhe",
            cards=[card],
            original=self.original,
            helicity="sum",
        )
        found = mebridge.read_events(afterwards).weights[:, -1]
        np.testing.assert_allclose(arrays.weights[:, -1], found, rtol=1e-13)
        self.assertGreater(np.ptp(found / arrays.events["weight"]), 1e-4)

    def test_what_is_wrong_is_said_before_there_are_events(self):
        lacking = self.folder / "lacking.dat"
        lacking.write_text(re.sub(r"DECAY 23.*\n", "", self.cards["alpha"].read_text()))
        with self.assertRaisesRegex(mebridge.Error, "lacking.dat: there is no entry DECAY 23"):
            self.run_("none", reweight=[lacking])
        self.assertFalse((self.folder / "Events" / "none").exists())
        process, heavy = "g g > t t~", self.folder / "heavy.dat"
        text = self.card(process)
        heavy.write_text(re.sub(r"(?m)^(  6 )173\S*", r"\g<1>165.0", text))
        self.assertNotEqual(heavy.read_text(), text)
        with self.assertRaisesRegex(mebridge.Error, "the mass 165, .*`mebridge reweight --off-shell` evaluates"):
            mebridge.generate_events(process, energy=500, output=self.folder / "x.lhe", reweight=[heavy])
        for output in (None, self.folder / "x.parquet"):
            with self.subTest(output), self.assertRaisesRegex((ValueError, mebridge.Error), "LHE files|pyarrow"):
                mebridge.generate_events(process, energy=500, output=output, reweight=[heavy])
        with self.assertRaisesRegex(ValueError, "a process by its name"):
            of = mebridge.Process(process)
            mebridge.generate_events(of, energy=500, output=self.folder / "x.lhe", reweight=[heavy])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            given = [
                PROCESS,
                "--folder",
                str(self.folder),
                "--reweight",
                "nowhere.dat=one",
                "--set",
                "lpp1=0",
                "--set",
                "lpp2=0",
            ]
            self.assertEqual(events_command(given), 1)
        self.assertRegex(said.getvalue(), "no parameter card .*nowhere.dat")


def _squared(card, electron, muon):
    """|M|^2 of e+ e- > mu+ mu- at 500 GeV but for the angle, by the helicities of e- and mu+ and a parameter card."""
    number = lambda pattern: float(re.search(pattern, card)[1])
    alpha, fermi = 1.0 / number(r"Block SMINPUTS\n  1 (\S+)"), number(r"\n  2 (\S+) # .*Gf")
    mass, width = number(r"\n  23 (\S+)"), number(r"DECAY 23 (\S+)")
    w_mass = np.sqrt(mass**2 / 2 + np.sqrt(mass**4 / 4 - alpha * np.pi * mass**2 / (fermi * np.sqrt(2.0))))
    sine = 1.0 - w_mass**2 / mass**2
    couplings = {1: np.sqrt(sine / (1.0 - sine)), -1: (sine - 0.5) / np.sqrt(sine * (1.0 - sine))}
    # mu+ has the helicity that is not the chirality of its line.
    left, right = (np.array([couplings[int(one)] for one in of]) for of in (electron, -muon))
    s = 500.0**2
    return alpha**2 * abs(1.0 / s + left * right / (s - mass**2 + 1j * mass * width)) ** 2
