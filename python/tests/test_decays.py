"""Decays of one particle: partial widths against closed formulas, events, cuts and refusals."""

import contextlib
import gzip
import io
import math
import re

import numpy as np

import mebridge

from common import FolderHere, events_command

TOP, W, B = 173.0, 80.41900244575616, 4.7


class Widths(FolderHere):
    def generate(self, process, events=2000, seed=1, **card):
        return mebridge.Run(process, run_card=card, folder=self.folder).generate(events, seed)

    def fermi(self):
        """Fermi's constant."""
        run_ = mebridge.Run("t > b w+", folder=self.folder)
        return float(re.search(r"\n  2 (\S+) # \S*Gf", run_.param_card, re.IGNORECASE)[1])

    def test_two_particles(self):
        made = self.generate("t > b w+")
        w, b = W / TOP, B / TOP
        momentum = TOP / 2 * math.sqrt((1 - (w + b) ** 2) * (1 - (w - b) ** 2))
        bracket = (1 - b**2) ** 2 + (1 + b**2) * w**2 - 2 * w**4
        wanted = self.fermi() * TOP**2 / (4 * math.pi * math.sqrt(2)) * momentum * bracket
        self.assertLess(abs(made.cross_section / wanted - 1), 1e-3)
        self.assertLess(made.error, 1e-6 * wanted)
        arrays = mebridge.read_events(made.output)
        self.assertEqual((arrays.beams[0], arrays.beams[1]), ((6, 0), (TOP, 0.0)))
        self.assertEqual(len(arrays.events), 2000)
        self.assertTrue(np.allclose(arrays.events["weight"], made.cross_section))
        # SCALUP is dsqrt_q2fact1, and alpha_s that of the mass.
        self.assertEqual(set(arrays.events["scale"]), {91.188})
        self.assertTrue(np.allclose(arrays.events["alpha_qcd"], 0.10762787285, rtol=1e-9))
        particles = arrays.particles.reshape(2000, 3)
        self.assertEqual(particles["pdg_id"][0].tolist(), [6, 5, 24])
        self.assertEqual(particles["status_code"][0].tolist(), [-1, 1, 1])
        self.assertLess(abs(particles["pz"].sum(axis=1) - 2 * particles["pz"][:, 0]).max(), 1e-8)
        # 70 % of the W bosons are longitudinal.
        share = (particles["spin"][:, 2] == 0).mean()
        wanted = 1 / (1 + 2 * (W / TOP) ** 2)
        self.assertLess(abs(share - wanted), 0.01 + 5 * math.sqrt(wanted * (1 - wanted) / 2000))

    def test_a_tau(self):
        """The spectrum of the electron is x^2 (3 - 2 x)."""
        mass = 1.777
        made = self.generate("ta- > e- vt ve~", 4000)
        wanted = self.fermi() ** 2 * mass**5 / (192 * math.pi**3)
        self.assertLess(abs(made.cross_section / wanted - 1), 3e-3 + 5 * made.error / wanted)
        particles = mebridge.read_events(made.output).particles
        energies = particles["energy"][(particles["pdg_id"] == 11)] / (mass / 2)
        edges = np.linspace(0, 1, 9)
        found = np.histogram(energies, edges)[0]
        shares = np.diff(2 * edges**3 - edges**4)
        self.assertLess(((found - 4000 * shares) ** 2 / (4000 * shares)).sum(), 7 + 5 * math.sqrt(14))

    def test_what_must_not_be_on_its_mass_shell(self):
        """MadEvent of MG5aMC 3.5.7 has 0.001434 +- 0.000009 and 9.25e-9 +- 0.10e-9 GeV, without the $ 0.163 and 2.4e-7."""
        for process, strategy, wanted, codes in (
            ("t > b e+ ve $ w+", 1, 0.001434, set()),
            ("t > b e+ ve $ w+", 2, 0.001434, set()),
            ("h > e+ e- mu+ mu- $ z", 1, 9.25e-9, set()),
            ("t > b w+, w+ > e+ ve $ w-", 1, 0.163, {24}),
            # Points of phase space without grids have 5.01e-6 +- 0.02e-6 GeV.
            ("h > e+ ve mu- vm~ $ w+", 1, 5.01e-6, {-24}),
        ):
            with self.subTest(process, strategy=strategy):
                made = self.generate(process, 200, sde_strategy=strategy)
                self.assertLess(abs(made.cross_section / wanted - 1), 0.03 + 5 * made.error / wanted)
                # Points are where events may be, and not on the mass shell.
                self.assertGreater(made.efficiency, 0.05)
                particles = mebridge.read_events(made.output).particles
                self.assertEqual(set(particles["pdg_id"][particles["status_code"] == 2].tolist()), codes)

    def test_resonances_cuts_and_flavours(self):
        made = self.generate("t > b e+ ve; add process t > b j j", 2000)
        self.assertEqual(list(made.processes), ["6 5 -11 12", "6 5 2 -1"])
        # Three colours and two doublets.
        ratio = made.processes["6 5 2 -1"][0] / made.processes["6 5 -11 12"][0]
        self.assertLess(abs(ratio - 6), 0.1)
        arrays = mebridge.read_events(made.output)
        particles = arrays.particles
        listed = particles[particles["status_code"] == 2]
        self.assertTrue(1900 < len(listed) < 2000)
        self.assertEqual(set(listed["pdg_id"].tolist()), {24})
        self.assertLess(abs(listed["mass"] - W).max(), 15 * 2.05)
        quarks = set(particles["pdg_id"][particles["status_code"] == 1].tolist()) & {2, 4, -1, -3}
        self.assertEqual(quarks, {2, 4, -1, -3})
        for first, count in zip(arrays.events["first"][:200], arrays.events["count"][:200]):
            of = particles[first : first + count]
            tags = [tag for name in ("color", "anti_color") for tag in of[name][of["status_code"] == 1].tolist() if tag]
            self.assertIn(sorted(tags)[0], (501, 502))
            for one in of[of["mother1"] > 1]:
                self.assertEqual(of["status_code"][one["mother1"] - 1], 2)
        # MG5aMC writes both as 0 into the cards of decays.
        less = self.generate("t > b e+ ve", 500, ptl=40.0, ktdurham=0.0, ptlund=0.0)
        self.assertLess(less.cross_section, 0.8 * made.processes["6 5 -11 12"][0])
        found = mebridge.read_events(less.output).particles
        electrons = found[found["pdg_id"] == -11]
        self.assertGreater(np.hypot(electrons["px"], electrons["py"]).min(), 40.0)

    def test_each_partial_width(self):
        """Decays whose diagrams are alike do not share points: few events say little of shares."""
        made = self.generate("t > b e+ ve; add process t > b mu+ vm", 100)
        for width, error in made.processes.values():
            self.assertLess(error, 0.01 * width)
            self.assertLess(abs(width - 0.1634), 5 * error)

    def test_what_radiates_without_a_width(self):
        """The b quark, which has a mass: cuts keep it from its mass shell. |M|^2 at random points of phase space has
        0.1799 +- 0.0012 GeV."""
        made = self.generate("t > b w+ g", 1000, ptj=10.0, drjj=0.4, drbj=0.4, ptb=10.0)
        self.assertLess(abs(made.cross_section - 0.1799), 5 * math.hypot(made.error, 0.0012))

    def test_particles_of_several_masses(self):
        """Each has its own scale, and its width whatever stands beside it."""
        made = self.generate("t > b w+; add process z > u u~ g", 1000, ptj=8.0, drjj=0.4)
        self.assertLess(abs(made.processes["6 5 24"][0] / 1.49147 - 1), 1e-3)
        width, error = made.processes["23 2 -2 21"]
        self.assertLess(abs(width - 0.0931), 5 * math.hypot(error, 0.0003))
        self.assertEqual(len(set(mebridge.read_events(made.output).events["alpha_qcd"])), 2)

    def test_a_chain_has_its_resonance(self):
        whole = self.generate("t > b w+, w+ > e+ ve", 500, bwcutoff=1.0)
        masses = mebridge.read_events(whole.output).particles
        masses = masses["mass"][masses["status_code"] == 2]
        self.assertEqual(len(masses), 500)
        self.assertLess(abs(masses - W).max(), 2.05)

    def test_a_seed(self):
        run = mebridge.Run("t > b e+ ve", folder=self.folder)
        texts = [
            gzip.decompress(run.generate(300, seed).output.read_bytes()).partition(b"<event>")[2] for seed in (1, 1, 2)
        ]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_the_command(self):
        arguments = ["t > b w+", "--nevents", "100", "--seed", "1", "--folder", str(self.folder)]
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as told:
            self.assertEqual(events_command(arguments), 0)
        self.assertRegex(said.getvalue(), r"decay \(PDG codes\) +partial width, GeV\n\n6 5 24 +1\.\d+ \+- ")
        self.assertRegex(told.getvalue(), r"100 of 100 events, [\d.]+ \+- \S+ GeV")
        folder = self.folder / "Events" / "run_01"
        self.assertEqual(
            sorted(file.name for file in folder.iterdir()),
            ["run.html", "run_01_tag_1_banner.txt", "summary.txt", "unweighted_events.lhe.gz"],
        )

    def test_what_cannot_be(self):
        cases = [
            ("z > e+ e- a", {}, "the width is infinite without a cut on -11 and 22"),
            (
                "t > b w+",
                {"dynamical_scale_choice": 3},
                "dynamical_scale_choice = 3 cannot be honoured for a decay; set it",
            ),
            ("t > b e+ ve", {"ptl": 200.0}, "ptl = 200 of the run card leaves nothing of .*, which has 173 GeV"),
            ("t > b e+ ve", {"ptl": 80.0, "ptl1max": 79.0}, "none of .* points passes the cuts"),
            ("w+ > t b~", {}, "masses of what goes out or less; change the parameter card"),
        ]
        for process, card, said in cases:
            with self.subTest(process), self.assertRaisesRegex(mebridge.Error, said):
                self.generate(process, 100, **card)
        run = mebridge.Run("t > b w+", folder=self.folder)
        for options, said in (
            ({"backend": "cuda"}, "backend is not for decays"),
            ({"sampler": "madnis"}, "sampler is not for decays"),
            ({"executor": lambda: None}, "executor is .* leave it out"),
            ({"systematics": ["scale"]}, "systematics is .* leave it out"),
        ):
            with self.assertRaisesRegex(mebridge.Error, said):
                run.generate(10, **options)
        with self.assertRaisesRegex(mebridge.Error, "there are no packs; make its events by"):
            run.pack(self.folder / "pack.tar")
        self.assertEqual(list(self.folder.glob("Events/*")), [])
