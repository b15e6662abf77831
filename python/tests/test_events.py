"""mebridge.generate_events: parton densities, rounds that go on after an interruption, event files, wrong input."""

import contextlib
import copy
import importlib.util
import io
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import mebridge
from mebridge import _command, _networks

import densities
import shares
from common import Folder, FolderHere, here

try:
    import pylhe
except ImportError:
    pylhe = None

ROOT = pathlib.Path(__file__).resolve().parents[1]


def generate(*arguments, **options):
    return mebridge.generate_events(*arguments, **options)


def particles(path):
    """For each event its weight, scale and alpha_s, and the numbers of its particles: PDG code, status, mothers, tags,
    momentum (px, py, pz, E), mass, lifetime, spin."""
    text = pathlib.Path(path).read_text()
    for event in text.split("<event>\n")[1:]:
        head, *lines = event.split("</event>")[0].strip().splitlines()
        head = head.split()
        legs = np.array([[float(word) for word in line.split()] for line in lines])
        yield [float(head[i]) for i in (2, 3, 5)], int(head[1]), legs


class Beams(FolderHere):
    def test_nothing_tells_equal_beams_apart(self):
        output = self.folder / "events.lhe"
        generate("g g > t t~ g", energy=1000, cuts={"pt": 20}, events=4000, output=output, seed=2)
        forward = {21: 0, 6: 0}
        for _, _, legs in particles(output):
            for leg in legs[legs[:, 1] == 1]:
                if leg[0] in forward:
                    forward[leg[0]] += leg[8] > 0
        for count in forward.values():
            self.assertLess(abs(count - 2000), 5 * math.sqrt(1000))

    def test_beams_that_differ_keep_their_sides(self):
        output = self.folder / "events.lhe"
        cuts = {"pta": 10, "etaa": 2, "drll": 0.4, "dral": 0.4}
        generate("e+ e- > mu+ mu- a", energy=200, cuts=cuts, events=400, output=output)
        for _, _, legs in particles(output):
            self.assertEqual(legs[:2, 0].tolist(), [-11, 11])
            self.assertTrue(legs[0, 8] > 0 > legs[1, 8])
            out = legs[2:][legs[2:, 1] == 1]
            self.assertLess(abs(legs[:2, 6:10].sum(axis=0) - out[:, 6:10].sum(axis=0)).max(), 1e-6)


class Densities(FolderHere):
    def setUp(self):
        super().setUp()
        self.pdf = densities.write(self.folder)

    def test_top_pairs_are_those_of_the_formula(self):
        output = self.folder / "events.lhe"
        alpha_s = densities.running(200.0)
        run = generate("p p > t t~", energy=8000, pdf=self.pdf, scale=200.0, events=60_000, output=output, seed=3)
        gluons, quarks = densities.top_pairs(8000, 200.0, alpha_s)
        for found, expected in (
            ((run.cross_section, run.error), gluons + quarks),
            (run.processes["21 21 6 -6"], gluons),
            (run.processes["2 -2 6 -6"], quarks),
        ):
            # The width of the top quark and the interpolation are worth 1e-4.
            self.assertLess(abs(found[0] - expected), 4 * found[1] + 3e-4 * expected)
            self.assertLess(found[1], 0.01 * expected)
        heads, numbers, legs = (np.array(column) for column in zip(*particles(output), strict=True))
        self.assertLess(abs(heads[:, 1] - 200.0).max(), 1e-6)
        self.assertLess(abs(heads[:, 2] - alpha_s).max(), 1e-4)
        # The particle along +z comes first; momentum is conserved.
        self.assertTrue((legs[:, 0, 8] > 0).all() and (legs[:, 1, 8] < 0).all())
        self.assertLess(abs(legs[:, :2, 6:10].sum(axis=1) - legs[:, 2:, 6:10].sum(axis=1)).max(), 1e-6)
        self.assertEqual(numbers.tolist(), np.where(legs[:, 0, 0] == 21, 1, 2).tolist())
        codes, counts = np.unique(legs[:, :2, 0].astype(int), axis=0, return_counts=True)
        incoming = dict(zip(map(tuple, codes.tolist()), counts.tolist(), strict=True))
        # Flavours and both orders of the beams come with their shares.
        self.assertEqual(sum(incoming.values()), 60_000)
        total = run.cross_section / 60_000
        for code in (1, 2, 3, 4):
            found = incoming[code, -code], incoming[-code, code]
            self.assertLess(abs(found[0] - found[1]), 5 * math.sqrt(sum(found)))
        self.assertLess(abs(incoming[21, 21] * total - gluons), 5 * total * math.sqrt(incoming[21, 21]))
        # More quarks than antiquarks along a beam: with u u~ the quark is faster, and pairs follow it.
        self.assertGreater(incoming[2, -2], incoming[3, -3])

    def test_quarks_and_antiquarks_keep_their_beams(self):
        """u u~ and u~ u: the quark, whose density is harder, carries more of its beam in both orders."""
        output = self.folder / "events.lhe"
        generate("p p > mu+ mu-", energy=3000, pdf=self.pdf, events=4000, output=output, cuts={"massll": 60})
        harder = {True: 0, False: 0}
        for _, _, legs in particles(output):
            if abs(legs[0, 0]) == 2:
                quark = 0 if legs[0, 0] > 0 else 1
                harder[bool(legs[quark, 9] > legs[1 - quark, 9])] += 1
                mass = legs[2:, 6:10].sum(axis=0)
                self.assertGreater(mass[3] ** 2 - (mass[:3] ** 2).sum(), 60**2)
        self.assertGreater(harder[True], 1.5 * harder[False])

    def test_a_running_coupling(self):
        output = self.folder / "events.lhe"
        member = self.pdf / "toy_0000.dat"
        generate("p p > t t~ j", energy=8000, pdf=member, events=2000, cuts={"pt": 30}, output=output)
        outgoing = set()
        for (_, scale, coupling), _, legs in particles(output):
            transverse = sum(math.sqrt(leg[10] ** 2 + leg[6] ** 2 + leg[7] ** 2) for leg in legs[2:])
            self.assertAlmostEqual(scale, transverse / 2, delta=1e-5 * scale)
            self.assertAlmostEqual(coupling, densities.running(scale), delta=1e-5)
            self.assertGreater(math.hypot(*legs[4, 6:8]), 30)
            # Flavour is conserved, whichever process of the matrix element it was.
            codes = legs[:, 0].astype(int)
            quarks = lambda codes: sorted(code for code in codes if abs(code) <= 4)
            outgoing.add(int(codes[4]))
            incoming = quarks(codes[:2])
            self.assertIn(quarks(codes[2:]), (incoming, [] if sum(incoming) == 0 else incoming))
        self.assertLess({21, 2, 1, -2}, outgoing)

    def test_rounds_have_one_weight(self):
        output = self.folder / "events.lhe"
        run = generate("p p > t t~", energy=8000, pdf=self.pdf, scale=200.0, events=10_000, output=output)
        weights = [weight for (weight, _, _), _, _ in particles(output)]
        self.assertAlmostEqual(sum(weights) / 10_000 / run.cross_section, 1, places=8)
        self.assertGreater(weights.count(min(weights)), 8000)
        # Of two rounds.
        self.assertEqual(min(weights), weights[0])

    def test_larger_weights_are_those_that_were_allowed(self):
        """The header of the file reports the excess of overweight events correctly."""
        shares = []
        for overweight in (0.0, 0.01, 0.2):
            output = self.folder / f"{overweight}.lhe"
            run = generate(
                "p p > t t~ j",
                energy=13_000,
                pdf=self.pdf,
                cuts={"pt": 20},
                events=8000,
                output=output,
                overweight=overweight,
            )
            weights = np.array([weight for (weight, _, _), _, _ in particles(output)])
            self.assertAlmostEqual(weights.mean() / run.cross_section, 1, places=8)
            said = json.loads(output.read_text().partition("<mebridge>")[2].partition("</mebridge>")[0])
            self.assertEqual(said["overweight"], overweight)
            nominal = weights.min()
            above = weights > nominal * (1 + 1e-6)
            self.assertEqual(said["overweights"]["events"], above.sum())
            self.assertAlmostEqual(said["overweights"]["share"], (weights - nominal).sum() / weights.sum(), places=6)
            self.assertAlmostEqual(said["overweights"]["largest"], weights.max() / nominal, places=5)
            # It is about the weights with which they were found, of each channel by itself.
            self.assertLessEqual(said["overweights"]["share"], 1.5 * overweight + 1e-12)
            shares.append(said["overweights"]["share"])
        self.assertAlmostEqual(shares[0], 0.0, places=12)
        self.assertLess(shares[1], shares[2])

    @unittest.skipIf(pylhe is None, "pylhe is not installed")
    def test_a_reader_reads_it(self):
        output = self.folder / "events.lhe"
        run = generate("p p > t t~", energy=8000, pdf=self.pdf, events=600, output=output)
        file = pylhe.LHEFile.fromfile(str(output))
        self.assertEqual((file.init.initInfo.beamA, file.init.initInfo.PDFsetA), (2212, 90000))
        total = sum(process.xSection for process in file.init.procInfo)
        self.assertAlmostEqual(total / run.cross_section, 1, places=8)
        events = list(file.events)
        self.assertEqual(len(events), 600)
        mean = sum(event.eventinfo.weight for event in events) / 600
        self.assertAlmostEqual(mean / run.cross_section, 1, places=8)

    def test_files_that_are_no_densities(self):
        good = (self.pdf / "toy_0000.dat").read_text()
        lines = good.splitlines()
        wrong = {
            "empty": ("", "is no grid of LHAPDF"),
            "text": ("hello\n", "is no grid of LHAPDF"),
            "cut": ("\n".join(lines[: len(lines) // 2]), "ends within a grid|is no complete grid"),
            "nan": (good.replace(lines[100].split()[0], "nan"), "LHAPDF|not a finite"),
        }
        for name, (text, message) in wrong.items():
            file = self.folder / f"{name}_0000.dat"
            file.write_text(text)
            with self.subTest(name), self.assertRaisesRegex(mebridge.Error, message):
                generate("p p > t t~", energy=8000, pdf=file, alpha_s=0.118, events=10)
        with self.assertRaisesRegex(mebridge.Error, "no parton densities 'nothing'"):
            generate("p p > t t~", energy=8000, pdf="nothing", events=10)
        with self.assertRaisesRegex(
            mebridge.Error, r"the densities nn23lo1 are of MG5aMC, .* \(number 247000 there\); .*--pdf-data FOLDER"
        ):
            generate("p p > t t~", energy=8000, pdf="nn23lo1", events=10)
        few = densities.write(self.folder, "few", partons=(21, 1, 2))
        with self.assertRaisesRegex(mebridge.Error, r"no densities of -4, -3, -2, -1, 3, 4 "):
            generate("p p > t t~", energy=8000, pdf=few, events=10)
        short = densities.write(self.folder, "short", least_x=0.01)
        with self.assertRaisesRegex(mebridge.Error, "begin at x = 0.01"):
            generate("p p > t t~", energy=8000, pdf=short, events=10)
        with self.assertRaisesRegex(mebridge.Error, r'x from 0 on; cut small masses, such as by cuts={"massll": 8}'):
            generate("p p > e+ e-", energy=8000, pdf=self.pdf, events=10)
        self.assertGreater(
            generate("p p > e+ e-", energy=8000, pdf=self.pdf, events=10, cuts={"massll": 8}).cross_section, 0
        )
        # Far below the mass of what makes them nothing is lost; closer to it something would be.
        deep = densities.write(self.folder, "deep", least_x=1e-8)
        with self.assertWarnsRegex(UserWarning, "masses below 0.8 GeV are left out, for which the densities have no x"):
            found = generate("u u~ > vl vl~", energy=8000, pdf=deep, events=10)
        self.assertGreater(found.cross_section, 0.0)
        with self.assertRaisesRegex(mebridge.Error, "begin at x = 1e-06, and events have x from 0 on"):
            generate("u u~ > vl vl~", energy=8000, pdf=self.pdf, events=10)
        silent = densities.write(self.folder, "silent", alpha_s=False)
        with self.assertRaisesRegex(mebridge.Error, "no table of alpha_s"):
            generate("p p > t t~", energy=8000, pdf=silent, events=10)
        self.assertGreater(generate("p p > t t~", energy=8000, pdf=silent, alpha_s=0.118, events=100).cross_section, 0)
        (few / "few.info").write_text("AlphaS_Qs: [1, 100]\nAlphaS_Vals: [0.2]\n")
        with self.assertRaisesRegex(mebridge.Error, "rising scales"):
            generate("g g > t t~", energy=8000, pdf=few, events=10)

    def test_scales_outside_the_grid(self):
        for scale, alpha_s in ((1.0, None), (2e5, None), (1.0, 0.118), (2e5, 0.118)):
            with self.subTest(scale), self.assertRaisesRegex(mebridge.Error, "lie between 5 and 100000 GeV"):
                generate("p p > t t~", energy=8000, pdf=self.pdf, scale=scale, alpha_s=alpha_s, events=10)
        # Below dynamic ones alpha_s goes on as LHAPDF has it, a line in the logarithms of both.
        output = self.folder / "events.lhe"
        generate("p p > t t~", energy=8000, pdf=self.pdf, scale="ht/2", scale_factor=0.01, events=200, output=output)
        for (_, scale, alpha_s), _, _ in particles(output):
            self.assertLess(scale, 100)
            expected = densities.running(scale) if scale > 5.0 else below(scale)
            # Between the first two scales of the table LHAPDF's interpolation is off by up to 1.15e-4.
            self.assertAlmostEqual(alpha_s, expected, delta=1.2e-4)
        with self.assertRaisesRegex(ValueError, "no scale 'mt'"):
            generate("p p > t t~", energy=8000, pdf=self.pdf, scale="mt", events=10)


def below(scale):
    """alpha_s below the table of the toy densities: the line through its first two logarithms."""
    scales = np.geomspace(5, 1e5, 40)[:2]
    slope = np.diff(np.log(densities.running(scales)))[0] / np.diff(np.log(scales))[0]
    return densities.running(5.0) * (scale / 5.0) ** slope


class Choices(FolderHere):
    def test_helicities_and_colour_flows_have_their_shares(self):
        process = mebridge.Process("g g > t t~ g")
        output = self.folder / "events.lhe"
        generate(process, energy=1000, cuts={"pt": 20, "eta": 5}, events=20_000, seed=4, output=output)
        momenta, helicities, tags = shares.read(output, 5)
        self.assertEqual(len(momenta), 20_000)
        chi2, freedom = shares.helicity_shares(process, momenta, helicities)
        self.assertEqual(freedom, 31)
        self.assertLess(chi2, freedom + 5 * math.sqrt(2 * freedom))
        chi2, freedom = shares.color_shares(process, momenta, tags, draws=16)
        self.assertEqual(freedom, 5)
        self.assertLess(chi2, freedom + 5 * math.sqrt(2 * freedom))
        # Wrong ones are seen: those of antiquark and gluon exchanged.
        chi2, _ = shares.helicity_shares(process, momenta, helicities[:, [0, 1, 2, 4, 3]])
        self.assertGreater(chi2, 500)


class Parameters(FolderHere):
    def test_those_that_were_set(self):
        """Cross section, masses and widths are those of the process, not those of its card."""
        process = mebridge.Process("g g > t t~")
        process.parameters["mt"], process.parameters["wt"] = 250.0, 0.0
        output = self.folder / "events.lhe"
        run = generate(process, energy=1000, events=20_000, seed=2, output=output, state=self.folder / "state")
        rho = 4 * 250.0**2 / 1000.0**2
        beta = math.sqrt(1 - rho)
        shape = (4 + 4 * rho + rho**2 / 4) * math.log((1 + beta) / (1 - beta)) / beta - 7 - 31 / 4 * rho
        expected = 0.3893793721e9 * math.pi * 0.118**2 * beta / (12 * 1000.0**2) * shape
        self.assertLess(abs(run.cross_section - expected), 4 * run.error)
        self.assertLess(run.error, 0.01 * expected)
        for _, _, legs in particles(output):
            self.assertEqual(set(legs[2:, 10]), {250.0})
        # A state knows them.
        process.parameters["mt"] = 200.0
        with self.assertRaisesRegex(mebridge.Error, "another matrix_elements"):
            generate(process, energy=1000, events=20_000, seed=2, state=self.folder / "state")
        library = process.library(self.folder / "x.so").with_suffix(".json").read_text()
        lines = {tuple(line) for channel in json.loads(library)[0]["channels"] for line in channel["masses"]}
        self.assertEqual(lines, {(0.0, 0.0), (200.0, 0.0)})

    def test_alpha_of_a_process_without_charges(self):
        """|M|^2 of g g > t t~ does not depend on it: it is the model's, or the card's."""
        model = mebridge.Process("e+ e- > mu+ mu-").parameters["aEWM1"]
        card = self.folder / "card.dat"
        card.write_text("BLOCK SMINPUTS\n 1 128.0\n 3 0.118\nBLOCK MASS\n 6 200.0\nDECAY 6 1.5\n")
        named = mebridge.Process("g g > t t~", card=card)
        for process, options, inverse in (
            ("g g > t t~", {}, model),
            ("g g > t t~", {"card": card}, 128.0),
            (named, {}, 128.0),
        ):
            run = generate(process, energy=1000, alpha_s=0.118, scale=91.0, events=100, **options)
            for found in set(run.arrays.events["alpha_qed"]):
                self.assertAlmostEqual(found * inverse, 1.0, places=9)

    def test_alpha_s_without_densities_is_that_of_the_process(self):
        card = self.folder / "card.dat"
        card.write_text("BLOCK SMINPUTS\n 3 0.2\nBLOCK MASS\n 6 173.0\nDECAY 6 1.4915\n")
        process = mebridge.Process("g g > t t~")
        process.parameters["aS"] = 0.2
        wanted = generate(mebridge.Process("g g > t t~"), energy=1000, events=100, alpha_s=0.2)
        for of, options in (
            (process, {}),
            ("g g > t t~", {"card": card}),
            (mebridge.Process("g g > t t~", card=card), {}),
        ):
            found = generate(of, energy=1000, events=100, **options)
            self.assertEqual(found.cross_section, wanted.cross_section)
            self.assertEqual(set(found.arrays.events["alpha_qcd"]), {0.2})
        self.assertNotEqual(generate("g g > t t~", energy=1000, events=100).cross_section, wanted.cross_section)
        # That of densities is theirs, whatever a process was given.
        pdf = densities.write(self.folder)
        with self.assertRaisesRegex(mebridge.Error, "the process was given 0.2 .*give alpha_s=0.2 for this one"):
            generate(process, energy=13_000, events=100, pdf=pdf, scale=91.0)
        self.assertEqual(generate(process, energy=13_000, events=100, pdf=pdf, scale=91.0, alpha_s=0.2).events, 100)

    def test_what_holds_is_said_at_the_start(self):
        said = io.StringIO()
        with (
            contextlib.redirect_stderr(said),
            mock.patch.object(_command, "say", said.write),
            self.assertWarnsRegex(UserWarning, "the process has no particles that the cuts pta are about"),
        ):
            generate("e+ e- > u u~ g", energy=500, events=10, cuts={"pt": 20, "dr": 0.4, "pta": 10}, progress=True)
        self.assertIn(
            "mebridge: alpha_s = 0.118 at 91.188 GeV (the process's parameter aS); scale = 500 GeV; cuts: dr = 0.4, pt = 20\n",
            said.getvalue(),
        )

    def test_a_card_that_changes_later(self):
        card = self.folder / "card.dat"
        text = "BLOCK SMINPUTS\n 3 0.118\nBLOCK MASS\n 6 {}\nDECAY 6 1.5\n"
        card.write_text(text.format(200.0))
        process = mebridge.Process("g g > t t~", card=card)
        card.write_text(text.format(180.0))
        output = self.folder / "events.lhe"
        for one in (process, copy.copy(process)):
            generate(one, energy=1000, events=10, output=output)
            self.assertEqual({mass for _, _, legs in particles(output) for mass in legs[2:, 10]}, {200.0})

    def test_a_process_and_its_name_are_the_same_run(self):
        state = self.folder / "state"
        generate("g g > t t~", energy=1000, events=10, state=state)
        made = (state / "round0000.npy").stat().st_mtime_ns
        self.assertEqual(generate(mebridge.Process("g g > t t~"), energy=1000, events=10, state=state).events, 10)
        self.assertEqual((state / "round0000.npy").stat().st_mtime_ns, made)

    def test_its_own_library_follows(self):
        process = mebridge.Process("g g > t t~")
        first = process.library()
        process.parameters["mt"] = 250.0
        second = process.library()
        self.assertNotEqual(first, second)
        self.assertEqual(second, process.library())
        process.parameters["mt"] = 173.0
        self.assertIn("173.0", process.library().with_suffix(".json").read_text())
        self.assertIn("250.0", second.with_suffix(".json").read_text())


class Switches(Folder):
    """They are variables of the environment of the process that makes events."""

    def test_how_it_is_evaluated(self):
        """Precision and SIMD level are those of the process: single precision is seen in the weights."""
        found = {}
        for options in ({}, {"simd": "none"}, {"precision": "f"}, {"precision": "m"}):
            process = mebridge.Process("g g > t t~", **options)
            run = generate(process, energy=1000, events=100, state=self.folder / str(len(found)))
            found[str(options)] = run.cross_section
        double, scalar, single, mixed = found.values()
        self.assertAlmostEqual(scalar / double, 1, places=10)
        for other in (single, mixed):
            self.assertAlmostEqual(other / double, 1, places=4)
            self.assertGreater(abs(other / double - 1), 1e-11)
        with self.assertRaisesRegex(mebridge.Error, "another switches"):
            generate(process, energy=1000, events=100, state=self.folder / "0")


class Signs(FolderHere):
    """|M|^2 that is negative, as interferences are: of g g > t t~ with another colour matrix."""

    def process(self, triangle):
        shutil.copytree(ROOT.parent / "fortran" / "gg_ttx", self.folder / triangle)
        directory = self.folder / triangle / "SubProcesses" / "P1_gg_ttx"
        text = (directory / "matrix1.f").read_text()
        changed = text.replace("DATA TRIANGLE/16,-4,16/", f"DATA TRIANGLE/{triangle}/")
        self.assertNotEqual(changed, text)
        (directory / "matrix1.f").write_text(changed)
        return mebridge.Process.from_directory(directory)

    def flat(self, process, points=100_000):
        """The cross section without and with signs, by points that are flat in the angle."""
        rng, energy, mass = np.random.default_rng(1), 500.0, process.parameters["mt"]
        momentum, cosine = math.sqrt(energy**2 - mass**2), rng.uniform(-1, 1, points)
        momenta = np.zeros((points, 4, 4))
        momenta[:, :, 0], momenta[:, 0, 3], momenta[:, 1, 3] = energy, energy, -energy
        momenta[:, 2, 1], momenta[:, 2, 3] = momentum * np.sqrt(1 - cosine**2), momentum * cosine
        momenta[:, 3, 1:] = -momenta[:, 2, 1:]
        values = process.evaluate(momenta) * momentum / energy / (16 * math.pi * 1000.0**2) * 0.3893793721e9
        return values, cosine

    def test_negative_events(self):
        process = self.process("-16,4,-16")
        run = generate(process, energy=1000, events=3000, output=self.folder / "events.lhe")
        values, _ = self.flat(process)
        self.assertLess(abs(run.cross_section - values.mean()), 4 * run.error + 0.01 * abs(values.mean()))
        self.assertLess(run.cross_section, -1)
        found = mebridge.read_events(self.folder / "events.lhe")
        self.assertTrue((found.events["weight"] < 0).all())
        self.assertAlmostEqual(found.events["weight"].mean() / run.cross_section, 1, places=8)
        self.assertEqual(found.strategy, -4)

    def test_both_signs(self):
        process = self.process("16,-4,-10")
        values, cosine = self.flat(process)
        run = generate(process, energy=1000, events=20_000)
        weights = run.arrays.events["weight"]
        self.assertLess(abs(run.cross_section - values.mean()), 4 * run.error + 0.02 * abs(values).mean())
        # Of one size, and with the shares of both signs in each part of the angle.
        self.assertLess(np.abs(weights).std() / np.abs(weights).mean(), 0.2)
        self.assertAlmostEqual(np.abs(weights).mean() / np.abs(values).mean(), 1, delta=0.03)
        self.assertGreater((weights < 0).mean(), 0.1)
        angles = run.arrays.momenta[:, 2, 3] / np.linalg.norm(run.arrays.momenta[:, 2, 1:], axis=1)
        for sign in (1, -1):
            some, mine = values * sign > 0, weights * sign > 0
            bins = {"bins": 5, "range": (-1, 1)}
            expected = np.histogram(cosine[some], weights=values[some] / len(values), **bins)[0]
            here = np.histogram(angles[mine], weights=weights[mine] / len(weights), **bins)[0]
            squares = np.histogram(angles[mine], weights=(weights[mine] / len(weights)) ** 2, **bins)[0]
            pulls = (here - expected) / np.sqrt(squares + (0.02 * expected) ** 2 + 1e-12)
            self.assertLess(abs(pulls).max(), 5, (here, expected))


class Notebooks(unittest.TestCase):
    def run_(self, file, fewer):
        """The names that a notebook defines; `fewer` replaces a text of it, a number of events, by another."""
        if importlib.util.find_spec("matplotlib") is None:
            print(f"SKIPPED: the notebook {file}: matplotlib is not installed", file=sys.stderr)
            self.skipTest("matplotlib is not installed")
        import matplotlib

        matplotlib.use("agg")
        # Notebooks import the modules beside them, which are in the path of the tests.
        notebook = json.loads((ROOT / "examples" / file).read_text())
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 3)
        self.assertEqual(sum(cell.count(fewer[0]) for cell in cells), 1)
        names = {"__name__": "notebook"}
        with here(), contextlib.redirect_stdout(io.StringIO()):
            for number, cell in enumerate(cells):
                exec(compile(cell.replace(*fewer), f"{file}, cell {number + 1}", "exec"), names)
        matplotlib.pyplot.close("all")
        return names

    def test_the_spectra_are_those_of_the_formula(self):
        # Bins of 3 % tell a spectrum that is 5 % off.
        names = self.run_("spectra.ipynb", ("events=100_000", "events=40_000"))
        self.assertEqual(sorted(names["chi2"]), ["mass", "pt", "y"])
        for name, (chi2, bins) in names["chi2"].items():
            self.assertLess(chi2, bins + 5 * math.sqrt(2 * bins), name)
        self.assertGreater(len(names["figure"].axes), 5)

    def test_the_limit_of_a_heavy_boson(self):
        names = self.run_("limit.ipynb", ("events = 5000", "events = 1000"))
        # The amplitudes of photon, Z and Z' by chiralities of quark and lepton, at a right angle.
        masses, coupling = names["masses"], 0.2
        self.assertEqual(names["process"].parameters["gX"], coupling)
        e, z = math.sqrt(4 * math.pi / 128), math.sqrt(4 * math.pi / 128 / (0.231 * 0.769))
        s, width = masses**2, coupling**2 * 2000 * 6.5 / (12 * math.pi)
        propagators = s, s - 91.1876**2 + 91.1876j * 2.4952, s - 2000**2 + 2000j * width
        u, lepton = (
            [(e * charge, z * (isospin - charge * 0.231), number * coupling) for isospin in (weak, 0)]
            for charge, weak, number in ((2 / 3, 1 / 2, 1 / 3), (-1, -1 / 2, -1))
        )
        amplitudes = (sum(a * b / p for a, b, p in zip(one, other, propagators)) for one in u for other in lepton)
        squared = s**2 / 12 * sum(abs(amplitude) ** 2 for amplitude in amplitudes)
        np.testing.assert_allclose(names["process"].evaluate(names["momenta"]), squared, rtol=1e-9)
        for mass, (run, _, _) in names["signal"].items():
            with self.subTest(mass):
                expected = names["narrow"](mass, 0.1)
                self.assertLess(abs(run.cross_section - expected), 0.015 * expected + 5 * run.error)
        within = {name: of[names["inside"]].sum() for name, of in names["expected"].items()}
        self.assertLess(abs(within["everything"] / (within["background"] + within["signal"]) - 1), 0.15)
        # Without a count, CLs is exp(-s).
        self.assertAlmostEqual(names["largest_signal"](0, 5.0), -math.log(0.05), 3)
        limits, luminosities = names["by_luminosity"], names["luminosities"]
        self.assertTrue((np.diff(names["by_mass"], axis=0) > 0).all() and (np.diff(names["by_mass"]) > 0).all())
        power = math.log(limits[-1, 1] / limits[0, 1]) / math.log(luminosities[-1] / luminosities[0])
        self.assertTrue(-0.5 < power < -0.25, power)


class WrongInput(FolderHere):
    def test_arguments(self):
        for wrong, message in (
            ({"energy": math.nan}, "energy is nan"),
            ({"energy": 300}, "less than the masses"),
            ({"energy": 1000, "events": 0}, "events is 0; .* from 1 to 10000000000"),
            ({"energy": 1000, "threads": 0}, "threads is 0; .* from 1 to 1024"),
            ({"energy": 1000, "alpha_s": -0.1}, "alpha_s is -0.1"),
            ({"energy": 1000, "cuts": {"pt": math.nan}}, "the cut pt is nan"),
            ({"energy": 1000, "cuts": {"et": 20}}, "no cut 'et'"),
            ({"energy": 1000, "device": "tpu"}, "device is"),
            ({"energy": 1000, "device": ["cuda:0", "cuda:0"]}, "named twice"),
            ({"energy": 1000, "device": ["cuda", "hip"]}, "of one kind"),
            ({"energy": 1000, "device": ["cpu", "cpu"]}, "named twice"),
            ({"energy": 1000, "device": ["cuda", "cuda:1"]}, "without its number"),
            ({"energy": 1000, "device": "cuda:"}, "device is"),
            ({"energy": 1000, "device": "cpu:3"}, "device is"),
            ({"energy": 1000, "scale": -5}, "scale is -5"),
            ({"energy": 1000, "scale": 91.0, "scale_factor": 2}, "not a number"),
            ({"energy": 1000, "scale_factor": 0, "scale": "ht"}, "scale_factor is 0"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex((ValueError, mebridge.Error), message):
                generate("g g > t t~", **wrong)

    def test_processes(self):
        with self.assertRaisesRegex(mebridge.Error, "needs parton densities"):
            generate("p p > t t~", energy=1000)
        with self.assertRaisesRegex(mebridge.Error, "xyz"):
            generate("g g > xyz", energy=1000)
        with self.assertRaisesRegex(mebridge.Error, "no_such.card"):
            generate("g g > t t~", energy=1000, card="no_such.card")

    def test_cuts_that_leave_nothing(self):
        with self.assertRaisesRegex(mebridge.Error, "the cuts leave nothing below 1246 GeV"):
            generate("g g > t t~ g", energy=1000, cuts={"pt": 900, "eta": 3}, events=100)
        # The gluon has less than this: (s - 4 m^2) / 2 sqrt(s).
        with self.assertRaisesRegex(mebridge.Error, r"passes the cuts \(.*pt of 21 from 441\); do they leave anything"):
            generate("g g > t t~ g", energy=1000, cuts={"pt": 441, "eta": 3}, events=100)

    def test_an_output_that_cannot_be_written(self):
        with self.assertRaisesRegex(mebridge.Error, "cannot be written"):
            generate("g g > t t~", energy=1000, events=100, output=self.folder / "no" / "folder.lhe")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_state_on_another_disk(self):
        memory = pathlib.Path("/dev/shm")
        if not memory.is_dir() or memory.stat().st_dev == self.folder.stat().st_dev:
            self.skipTest("there is one file system")
        with tempfile.TemporaryDirectory(dir=memory) as other, mock.patch.object(tempfile, "tempdir", other):
            found = generate("g g > t t~", energy=1000, events=100, seed=1, state=self.folder / "state")
        self.assertEqual(found.cross_section, generate("g g > t t~", energy=1000, events=100, seed=1).cross_section)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_state_that_cannot_be_kept(self):
        (self.folder / "file").write_text("")
        with self.assertRaisesRegex(mebridge.Error, "cannot be kept"):
            generate("g g > t t~", energy=1000, events=100, state=self.folder / "file")
        with self.assertRaisesRegex(mebridge.Error, "holds other files"):
            generate("g g > t t~", energy=1000, events=100, state=self.folder)


torch = importlib.util.find_spec("torch")


def parameters(shape):
    """How many a flow of this shape has."""
    found = 0
    for stay in shape["conditions"]:
        outputs = (len(stay) - sum(stay)) * (3 * shape["bins"] + 1)
        widths = [sum(stay), *[shape["units"]] * (shape["layers"] - 1), outputs]
        found += sum((before + 1) * after for before, after in itertools.pairwise(widths))
    return found


class Networks(Folder):
    def generate(self, sampler, **more):
        """A run of g g > t t~ g, and of its points how many became events."""
        state = self.folder / f"{sampler}{len(list(self.folder.iterdir()))}"
        run = generate(
            "g g > t t~ g", energy=1000, cuts={"pt": 20, "eta": 5}, events=9000, sampler=sampler, state=state, **more
        )
        return run, run.efficiency

    @unittest.skipUnless(torch, "torch is not installed: networks are not trained")
    def test_fewer_points_are_needed(self):
        outputs = [self.folder / name for name in ("one.lhe", "other.lhe")]
        with here():
            _, efficiency = self.generate("vegas")
            with mock.patch("mebridge._networks._LEAST_STEPS", 100):
                stages = []
                run, trained = self.generate(
                    "madnis", output=outputs[0], progress=lambda found: stages.append(found.stage)
                )
                again, _ = self.generate("madnis", output=outputs[1])
        self.assertEqual(stages, ["survey", "events"])
        self.assertGreater(trained, 1.1 * efficiency)
        self.assertLess(abs(run.cross_section - 43.628), 4 * run.error)
        self.assertEqual(again.cross_section, run.cross_section)
        self.assertEqual(*(output.read_bytes() for output in outputs))

    @unittest.skipUnless(torch, "torch is not installed: networks are not trained")
    def test_a_training_that_diverges(self):
        """Channels keep their grids, or have learnt: the cross section is right."""
        with here(), mock.patch.multiple(_networks, _LEARNING_RATE=3.0, _LEAST_STEPS=20):
            run, _ = self.generate("madnis")
        self.assertLess(abs(run.cross_section - 43.628), 4 * run.error)

    @staticmethod
    def some(size):
        """In the place of a training: networks with parameters of this size for all channels."""

        def train(weigh, channels, events, seed, threads):
            shapes = [_networks.shape(dimensions) for _, dimensions in channels]
            counts = [parameters(shape) for shape in shapes]
            made = [size * np.sin(1.7 * np.arange(count)) for count in counts]
            return _networks.Trained(shapes, list(range(len(channels))), np.concatenate(made).astype("f4"))

        return mock.patch.multiple(_networks, train=train, check=lambda: None)

    def test_events_by_networks_are_those_of_grids(self):
        """Those that change little are about as good as grids alone, and some of them better."""
        output = self.folder / "events.lhe"
        with here(), self.some(0.02), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run, _ = self.generate("madnis", output=output)
        self.assertNotRegex("".join(str(one.message) for one in caught), r"(\d) of \1 channels keep")
        self.assertLess(abs(run.cross_section - 43.628), 4 * run.error)
        # Helicities and colours are drawn as without networks.
        process = mebridge.Process("g g > t t~ g")
        momenta, helicities, tags = shares.read(output, 5)
        for chi2, freedom in (
            shares.helicity_shares(process, momenta, helicities),
            shares.color_shares(process, momenta, tags, draws=16),
        ):
            self.assertLess(chi2, freedom + 5 * math.sqrt(2 * freedom))

    def test_networks_that_are_worse(self):
        """Channels keep their grids, and the run says so."""
        kept = r"(\d) of \1 channels keep their grids: no network is better"
        with here(), self.some(0.7), self.assertWarnsRegex(UserWarning, kept):
            run, _ = self.generate("madnis")
        self.assertLess(abs(run.cross_section - 43.628), 4 * run.error)

    def test_without_torch(self):
        with mock.patch("importlib.util.find_spec", return_value=None), here():
            with self.assertRaisesRegex(mebridge.Error, "trained by PyTorch, which is not installed: pip install"):
                self.generate("madnis")

    def test_channels_that_are_trained(self):
        self.assertEqual(_networks.chosen([0.5, 0.001, 2.0, 0.003]), [0, 2])
        self.assertEqual(_networks.chosen([1.0]), [0])
        # Each dimension stays in a block in which another one is mapped.
        for dimensions in (2, 3, 7, 8):
            blocks = _networks.shape(dimensions)["conditions"]
            for one, other in itertools.permutations(range(dimensions), 2):
                self.assertTrue(any(block[one] and not block[other] for block in blocks))

    def test_points_have_the_weights_of_their_numbers(self):
        """What the engine gives to a training: means are those of the survey."""
        found = {}

        def train(weigh, channels, events, seed, threads):
            random = np.random.default_rng(3)
            for channel, (_, dimensions) in enumerate(channels):
                numbers = random.uniform(size=(4001, dimensions + 1))
                found[channel] = weigh(channel, 8, numbers)
                np.testing.assert_array_equal(weigh(channel, 8, numbers[:40]), found[channel][:40])
            with self.assertRaisesRegex(mebridge.Error, "numbers between 0 and 1"):
                weigh(0, 8, 1.0 + numbers)
            with self.assertRaisesRegex(mebridge.Error, "a multiple of 8"):
                weigh(0, 3, numbers)
            with self.assertRaisesRegex(mebridge.Error, "no channel 99"):
                weigh(99, 0, numbers)
            return _networks.Trained([], [None] * len(channels), np.zeros(0))

        with here(), mock.patch.multiple(_networks, train=train, check=lambda: None):
            run, _ = self.generate("madnis")
        mean = sum(weights.mean() for weights in found.values())
        error = math.sqrt(sum(weights.var() / len(weights) for weights in found.values()))
        self.assertLess(abs(mean - run.cross_section), 4 * math.hypot(error, run.error))

    def test_other_samplers(self):
        with self.assertRaisesRegex(mebridge.Error, "sampler is 'flat'; it must be one of"):
            self.generate("flat")


RUN = """
import sys, mebridge
process, state, output, events = sys.argv[1:]
mebridge.generate_events(process, energy=1000, cuts={"pt": 20, "eta": 5}, events=int(events), seed=7, state=state,
                         output=output, progress=True)
"""


class Interruptions(Folder):
    def start(self, state, output, events=20_000, preexec=None):
        arguments = [sys.executable, "-c", RUN, "g g > t t~ g", str(state), str(output), str(events)]
        # A test may run where SIGINT is ignored.
        return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, preexec_fn=preexec or default_interrupt)

    def finish(self, *arguments, **options):
        run = self.start(*arguments, **options)
        text = run.stderr.read()
        run.stderr.close()
        self.assertEqual(run.wait(), 0, text)
        return text

    def test_a_run_goes_on_as_if_nothing_had_been(self):
        whole = self.folder / "whole.lhe"
        self.finish(self.folder / "whole", whole)
        # In the survey, after some rounds, and later again.
        for name, sign, lines in (
            ("killed", signal.SIGKILL, ("", ": 5000 of", ": 10000 of")),
            ("interrupted", signal.SIGINT, (": 10000 of",)),
        ):
            with self.subTest(name):
                state, output = self.folder / name, self.folder / f"{name}.lhe"
                for line in lines:
                    run = self.start(state, output)
                    if not line:
                        while not (state / "run.json").exists():
                            self.assertIsNone(run.poll())
                    else:
                        for text in run.stderr:
                            if line in text:
                                break
                    run.send_signal(sign)
                    run.communicate()
                    self.assertNotEqual(run.returncode, 0)
                    self.assertFalse(output.exists())
                text = self.finish(state, output)
                self.assertNotIn(": 5000 of", text)
                self.assertEqual(output.read_bytes(), whole.read_bytes())
                # Once more: all is there.
                self.assertNotIn("mebridge: events", self.finish(state, output))
                self.assertEqual(output.read_bytes(), whole.read_bytes())

    def test_a_state_of_another_run(self):
        state = self.folder / "state"
        generate("g g > t t~", energy=1000, events=100, state=state)
        for other in ({"energy": 1001}, {"seed": 2}, {"events": 99}):
            with self.subTest(other), self.assertRaisesRegex(mebridge.Error, f"another {next(iter(other))}"):
                generate("g g > t t~", **{"energy": 1000, "events": 100, "state": state, **other})
        (state / "round0000.npy").unlink()
        with self.assertRaisesRegex(mebridge.Error, "is missing"):
            generate("g g > t t~", energy=1000, events=100, state=state)
        (state / "run.json").write_text("{")
        with self.assertRaisesRegex(mebridge.Error, "cannot be read"):
            generate("g g > t t~", energy=1000, events=100, state=state)

    def test_more_events_into_a_state(self):
        """The first ones stay, with the weights of all."""
        state, outputs = self.folder / "state", [self.folder / "few.lhe", self.folder / "many.lhe"]
        arguments = {"energy": 1000, "cuts": {"pt": 20, "eta": 5}, "state": state}
        few = generate("g g > t t~ g", events=1500, output=outputs[0], **arguments)
        many = generate("g g > t t~ g", events=4000, output=outputs[1], **arguments)
        self.assertEqual((few.events, many.events), (1500, 4000))
        before, after = ([legs for _, _, legs in particles(output)] for output in outputs)
        self.assertTrue(all((one == other).all() for one, other in zip(before, after)))
        self.assertEqual((len(before), len(after)), (1500, 4000))
        # The others are new ones.
        self.assertEqual(len({legs.tobytes() for legs in after}), 4000)
        self.assertLess(many.error, few.error)
        mean = sum(weight for (weight, *_), _, _ in particles(outputs[1])) / 4000
        self.assertAlmostEqual(mean / many.cross_section, 1, places=8)
        with self.assertRaisesRegex(mebridge.Error, "another events"):
            generate("g g > t t~ g", events=3999, **arguments)

    def test_a_run_that_is_refused_leaves_the_folder_to_another(self):
        state = self.folder / "state"
        for _ in range(2):
            with self.assertRaisesRegex(mebridge.Error, "infinite without a cut"):
                generate("g g > t t~ g", energy=1000, events=100, state=state)
        run = generate("g g > t t~ g", energy=1000, events=100, cuts={"pt": 20}, state=state)
        with self.assertRaisesRegex(mebridge.Error, "another cuts"):
            generate("g g > t t~ g", energy=1000, events=100, cuts={"pt": 30}, state=state)
        self.assertEqual(run.events, 100)

    def test_a_directory_that_has_changed(self):
        """Rounds of two processes are not put together, nor is another one found from elsewhere."""
        one, state = self.folder / "one", self.folder / "state"
        shutil.copytree(ROOT.parent / "fortran" / "gg_ttx", one)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(one)
        process = mebridge.Process("SubProcesses/P1_gg_ttx", card="Cards/param_card.dat")
        run = generate("SubProcesses/P1_gg_ttx", energy=1000, events=100, state=state)
        os.chdir(here)
        self.assertEqual(generate(process, energy=1000, events=100).cross_section, run.cross_section)
        card = one / "Cards" / "param_card.dat"
        text = re.sub(r"(\n\s*6\s+)1\.\d+e\+02", r"\g<1>1.5e+02", card.read_text(), count=1)
        self.assertNotEqual(text, card.read_text())
        card.write_text(text)
        with self.assertRaisesRegex(mebridge.Error, "another matrix_elements"):
            generate(one / "SubProcesses/P1_gg_ttx", energy=1000, events=100, state=state)

    def test_two_runs_at_once(self):
        state = self.folder / "state"
        run = self.start(state, self.folder / "a.lhe", events=2_000_000)
        while not (state / "run.json").exists():
            self.assertIsNone(run.poll())
        with self.assertRaisesRegex(mebridge.Error, "another run is at work"):
            generate("g g > t t~ g", energy=1000, cuts={"pt": 20}, events=100, state=state)
        run.kill()
        run.communicate()

    def test_progress(self):
        seen = []
        run = generate("g g > t t~", energy=1000, events=20_000, progress=seen.append)
        self.assertEqual([p.stage for p in seen], ["survey"] + 4 * ["events"])
        self.assertEqual([p.events for p in seen], [0, 5000, 10_000, 15_000, 20_000])
        self.assertEqual((seen[-1].cross_section, seen[-1].error), (run.cross_section, run.error))
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()) as out:
            generate("g g > t t~", energy=1000, events=600, progress=True)
        self.assertRegex(errors.getvalue(), r"mebridge: survey \[ {20}\] 0 %: 0 of 600 events")
        self.assertRegex(
            errors.getvalue(), r"mebridge: events \[#{20}\] 100 %: 600 of 600 events, [\d.]+ \+- [\d.]+ pb"
        )
        self.assertEqual(out.getvalue(), "")

    def test_a_survey_that_is_cut(self):
        """Of a run that goes on from it."""
        state = self.folder / "state"
        generate("g g > t t~", energy=1000, events=100, state=state)
        survey = state / "survey" / "survey"
        survey.write_bytes(survey.read_bytes()[:-20])
        with self.assertRaisesRegex(mebridge.Error, "survey is not what the run wrote"):
            generate("g g > t t~", energy=1000, events=200, state=state)

    def test_a_full_disk(self):
        """No file may be larger than the event file would be: the run ends with an error, and goes on later."""
        state, output = self.folder / "state", self.folder / "events.lhe"
        run = self.start(state, output, events=40_000, preexec=small_files)
        _, text = run.communicate()
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(text, "cannot be written: File too large")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["state"])
        self.assertNotIn("mebridge: events", self.finish(state, output, events=40_000))
        self.assertEqual(len(list(particles(output))), 40_000)


def default_interrupt():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def small_files():
    """Files of the process end at 20 MB, as on a disk that is full; a library has less."""
    import resource

    default_interrupt()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000_000, 20_000_000))
