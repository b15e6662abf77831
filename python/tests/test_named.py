"""Processes by their names with a run card: their diagrams, refusals, and whole runs, with matching too."""

import contextlib
import gzip
import io
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
from unittest import mock

import numpy as np
from test_runs import output

import mebridge
from mebridge import _command

from common import Folder, FolderHere, events_command, need

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

TOY = pathlib.Path(__file__).resolve().parents[2] / "crates/ufo/tests/toy"
# Beams that are partons, of 250 GeV each.
PARTONS = {"lpp1": 0, "lpp2": 0, "ebeam1": 250, "ebeam2": 250}


class Diagrams(Folder):
    def test_what_stands_in_the_banner(self):
        run_ = mebridge.Run("define q = u u~; q q > z;add process u u~ > z g", folder=self.folder)
        card = run_.param_card
        self.assertRegex(card, r"Block SMINPUTS\n  1 132\.507")
        self.assertRegex(card, r"DECAY 23 2\.4")


class Refusals(FolderHere):
    def test_what_cannot_be(self):
        cases = [
            (("u u~ > t t~",), {"run_card": {"pdlabel": "lhapdf", "ickkw": 2}}, "ickkw = 2"),
            (("u u~ > t t~",), {"run_card": {**PARTONS, "polbeam1": 50}}, "polbeam1 = 50, and only"),
            ((str(output(self.folder / "one")),), {"model": "sm"}, "model is for a process by its name"),
            (("u u~ > nothing",), {}, "nothing"),
        ]
        for given, options, said in cases:
            with self.subTest(said), self.assertRaisesRegex((mebridge.Error, ValueError), said):
                with contextlib.redirect_stderr(io.StringIO()):
                    run = mebridge.Run(*given, **options)
                    run.generate(10)

    def test_what_is_no_output_of_madevent(self):
        """Such as `output standalone` writes."""
        other = self.folder / "standalone"
        for name in ("SubProcesses/P1_gg_ttx", "Cards"):
            (other / name).mkdir(parents=True)
        listed = other / "SubProcesses" / "subproc.mg"
        for text, said in (
            (
                None,
                "standalone is no output of MG5aMC's 'output madevent': it has no SubProcesses/subproc.mg, .* by its name",
            ),
            ("", "subproc.mg lists no directories of matrix elements$"),
            ("P1_gg_ttx\nP2_qq_ttx\n", "lists .*/P2_qq_ttx, and there is no such directory$"),
        ):
            if text is not None:
                listed.write_text(text)
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                mebridge.Run(other)

    def test_run_cards_are_refused_as_those_of_an_output(self):
        """Before anything is generated or written."""
        file = self.folder / "run_card.dat"
        cases = [
            ("20 = ptjj", "ptjj that mebridge does not know .do you mean ptj\\?.; remove it"),
            ("20 ptj", "line 1: '20 ptj' is no entry; write VALUE = NAME"),
            ("many = ptj", "ptj is 'many'; it must be a number"),
            ("2 = ickkw", "ickkw = 2 cannot be honoured; set it to 0 or 1"),
            ("2 = lpp1\n2 = lpp2\neva = pdlabel", "pdlabel = eva cannot be honoured for lpp1 = 2; set it to iww"),
            ("3 = lpp1\n0 = lpp2", "lpp1 = 3 and lpp2 = 0 cannot be honoured; one has to be 1"),
            ("mine = bias_module", "bias_module = mine cannot be honoured"),
            ("0 = dynamical_scale_choice", "dynamical_scale_choice = 0 cannot be honoured; set it to 1, 2, 3, 4 or -1"),
            ("True = fixed_fac_scale1", "the scale of one beam is fixed and that of the other one by clustering"),
            ("-30 = polbeam2\n0 = lpp1\n0 = lpp2", "polbeam2 = -30, .* take one, or set polbeam2 to 0"),
        ]
        for text, said in cases:
            file.write_text(f"{text}\n")
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                mebridge.Run("e- e+ > mu- mu+", run_card=file, folder=self.folder)
        with self.assertRaisesRegex(mebridge.Error, "the run card .*no_card cannot be read: No such file"):
            mebridge.Run("e- e+ > mu- mu+", run_card=self.folder / "no_card", folder=self.folder)
        self.assertEqual([place.name for place in self.folder.iterdir()], ["run_card.dat"])

    def test_scales_without_alpha_s(self):
        """It is run to no scale where nothing depends on it; otherwise the entry is named."""
        low = {"fixed_ren_scale": True, "scale": 0.5, "use_syst": False, "nevents": 50}
        # Whose own mass is the scale, as of a muon.
        light = self.folder / "light.dat"
        decay = mebridge.Run("ta- > e- ve~ vt", folder=self.folder)
        light.write_text(re.sub(r"(?m)^( +15) 1\.777.*", r"\1 0.1", decay.param_card))
        for strong, process, entries, card in (
            (False, "z > e+ e-", {}, None),
            (False, "ta- > e- ve~ vt", {"fixed_ren_scale": False}, light),
            (True, "z > u u~ g", {"mmjj": 10}, None),
            (False, "e+ e- > mu+ mu-", PARTONS, None),
            (True, "e+ e- > u u~ g", PARTONS, None),
        ):
            run = mebridge.Run(process, run_card={**low, **entries}, param_card=card, folder=self.folder)
            with self.subTest(process, card=card):
                if not strong:
                    self.assertGreater(run.generate(seed=1).cross_section, 0.0)
                    continue
                with self.assertRaisesRegex(
                    mebridge.Error,
                    r"the scale of renormalisation \(.*scale.*\) is 0.5 GeV, .*alpha_s lie between 1 and",
                ):
                    run.generate(seed=1)

    def test_what_holds_is_said_at_the_start(self):
        said = io.StringIO()
        card = self.folder / "param_card.dat"
        run = mebridge.Run("e+ e- > u u~ g", run_card=PARTONS, folder=self.folder)
        card.write_text(re.sub(r"(?m)^  3 0\.118", "  3 0.2", run.param_card))
        entries = {
            **PARTONS,
            "use_syst": False,
            "scalefact": 0.5,
            "ptj": 30,
            "drjj": 0.3,
            "pta": 10,
            "pt_min_pdg": {6: 20},
        }
        with mock.patch.object(_command, "say", said.write):
            for quiet in (False, True):
                with self.assertWarnsRegex(UserWarning, r"pt_min_pdg \(6\) of the run card cuts nothing"):
                    run = mebridge.Run("e+ e- > u u~ g", run_card=entries, folder=self.folder, param_card=card)
                    run.generate(50, 1, progress=not quiet)
        line = (
            "mebridge: alpha_s = 0.2 at 91.188 GeV (the parameter card); dynamical_scale_choice = -1, scalefact = 0.5; cuts: "
            "ptj = 30, etaj = 5, drjj = 0.3\n"
        )
        self.assertEqual(said.getvalue().count(line), 1, said.getvalue())
        with mock.patch.object(_command, "say", said.write):
            mebridge.Run("z > u u~ g", run_card={"mmjj": 20}, folder=self.folder).generate(50, 1, progress=True)
            mebridge.Run("z > mu+ mu-", folder=self.folder).generate(50, 1, progress=True)
        self.assertIn(
            "mebridge: alpha_s = 0.118 at 91.188 GeV (the parameter card); cuts: mmjj = 20\n", said.getvalue()
        )
        self.assertIn("mebridge: no alpha_s; cuts: none\n", said.getvalue())

    def test_a_chain_needs_a_width(self):
        process = "e+ e- > ta+ ta-, ta+ > vt~ e+ ve, ta- > vt mu- vm~"
        run_ = mebridge.Run(process, folder=self.folder)
        card = self.folder / "param_card.dat"
        card.write_text(re.sub(r"DECAY 15 .*", "DECAY 15 0.0", run_.param_card))
        run = mebridge.Run(process, run_card=PARTONS, param_card=card, folder=self.folder)
        with self.assertRaisesRegex(mebridge.Error, "particle 15 .* has no width, .*give it one .*DECAY 15"):
            run.generate(10)

    def test_resonances_need_a_width(self):
        """Where they can be on their mass shells, before a survey that would never end."""
        run = mebridge.Run("e+ e- > mu+ mu- a", run_card=PARTONS, folder=self.folder)
        cards = {}
        for width in ("0.0", "1e-300", "1e-13", "2e-12"):
            cards[width] = self.folder / f"{width}.dat"
            cards[width].write_text(re.sub("DECAY 23 .*", f"DECAY 23 {width}", run.param_card))
        low, own = {**PARTONS, "use_syst": False, "ptl": 0, "etal": -1}, {"ebeam1": 45.594, "ebeam2": 45.594}
        for process, width, entries, refused in (
            ("e+ e- > mu+ mu- a", "0.0", low, "has no width"),
            ("e+ e- > mu+ mu- a", "1e-300", low, "has a width of 1e-300 GeV, which is lost in rounding"),
            ("e+ e- > mu+ mu- a", "1e-13", low, "has a width of 1e-13 GeV, which is lost"),
            ("e+ e- > mu+ mu-", "0.0", {**low, **own}, "has no width"),
            ("e+ e- > z h, z > mu+ mu-", "1e-13", low, "decay chain: .* width of 1e-13 GeV, which is lost"),
            ("h > z mu+ mu-", "0.0", {}, None),
            ("h > z mu+ mu-", "1e-13", {}, None),
            # It is not there, or is never on its mass shell, or wide enough.
            ("e+ e- > mu+ mu-", "0.0", low, None),
            ("e+ e- > mu+ mu- a", "0.0", {**low, "mmll": 95}, None),
            ("e+ e- > mu+ mu- a", "2e-12", {**low, "mmll": 50}, None),
            ("e+ e- > z a", "0.0", low, None),
        ):
            with self.subTest(process, width=width):
                run = mebridge.Run(process, run_card=entries, param_card=cards[width], folder=self.folder)
                if refused is None:
                    self.assertGreater(run.generate(20, 1).cross_section, 0.0)
                    continue
                said = rf"particle 23 \(PDG code\) can be on its mass shell, at 91.188 GeV, and .*{refused.partition('.* ')[2] or refused}.*DECAY 23"
                with self.assertRaisesRegex(mebridge.Error, said):
                    run.generate(20, 1)
        with self.assertRaisesRegex(mebridge.Error, "2 -2 > .* particle 23 .* has no width"):
            pdf = densities.write(self.folder)
            mebridge.generate_events(
                "u u~ > mu+ mu-", energy=8000, pdf=pdf, card=cards["0.0"], events=20, cuts={"ptl": 10, "massll": 5}
            )
        with self.assertRaisesRegex(mebridge.Error, "decay chain: particle 23 .* has no width"):
            mebridge.generate_events("e+ e- > z h, z > mu+ mu-", energy=500, card=cards["0.0"], events=20)

    def test_one_of_the_hardest_jets_is_enough(self):
        """Limits of a rule that are infinite go to the engine as well."""
        entries = {**PARTONS, "use_syst": False, "cutuse": 1, "ptj1min": 200, "ptj2min": 150, "ptj3min": 240}
        events = mebridge.Run("e+ e- > u u~ g", run_card=entries, folder=self.folder).generate(200, 1)
        pt = np.sort(np.hypot(*events.arrays.momenta[:, 2:, 1:3].transpose(2, 0, 1)), axis=1)[:, ::-1]
        enough = pt[:, :2] >= [200, 150]
        self.assertTrue(enough.any(axis=1).all())
        self.assertTrue((enough.sum(axis=1) == 1).any())

    def test_what_vanishes_identically_is_zero(self):
        """Gluon and photon in one channel do not interfere; what is left is rounding."""
        nothing = "u u~ > t t~ QCD^2==2 QED^2==2"
        low = {**PARTONS, "use_syst": False}
        for process, entries in ((nothing, low), ("z > u u~ c c~ QCD^2==2 QED^2==4", {"mmjj": 5})):
            with (
                self.subTest(process),
                self.assertRaisesRegex(mebridge.Error, "the cross section is zero: for .* cancel at all points"),
            ):
                mebridge.Run(process, run_card=entries, folder=self.folder).generate(20, 1)
        self.assertFalse((self.folder / "Events").exists())

    def test_what_vanishes_in_an_output_is_zero(self):
        """Helicity by helicity, and in their sum, for which MadEvent has the sum of absolute values with a sign."""
        source = pathlib.Path(__file__).parents[2] / "fortran" / "outputs"
        one_channel = {
            "JAMP(1,1) = 5.0D-01*AMP(5)+": "JAMP(1,1) = ",
            "JAMP(2,1) = -(1.666666666666667D-01)*AMP(5)-": "JAMP(2,1) = -",
            "JAMP(2,2) = AMP(4)+AMP(6)": "JAMP(2,2) = (0D0,0D0)",
        }
        # A vector at one end of the photon and an axial vector at the other.
        odd = {
            "JAMP(1,2) = -AMP(1)-": "JAMP(1,2) = -AMP(1)+2D0*",
            "JAMP(2,2) = AMP(4)+": "JAMP(2,2) = AMP(4)-2D0*",
            "FFV2_3(": "FFV1P0_3(",
            "GC_3,MDL_MZ,KEPT_WZ": "GC_2,ZERO,KEPT_0",
            "W(1,5),GC_3,": "W(1,5),GC_2,",
        }
        for number, changes in enumerate((one_channel, odd)):
            with self.subTest(number):
                folder = self.folder / str(number)
                shutil.copytree(source, folder)
                directory = folder / "old" / "SubProcesses" / "P1_qq_qq"
                file = directory / "matrix1.f"
                text = file.read_text()
                for old, new in changes.items():
                    self.assertIn(old, text)
                    text = text.replace(old, new)
                file.write_text(text)
                with self.assertRaisesRegex(
                    mebridge.Error, r"\|M\|\^2 of 2 -2 2 -2 .* vanishes identically: the cross section is 0"
                ):
                    mebridge.generate_events(directory, energy=500, cuts={"pt": 50}, events=20)

    def test_masses_down_to_zero(self):
        """The entry that is missing is named; where masses below the grid do not count, a line says so."""
        pdf = densities.write(self.folder, "deep", least_x=1e-8)
        said, given = (
            io.StringIO(),
            ["--set", "pdlabel=lhapdf", "--set", "lhaid=90000", "--set", "ebeam1=4000", "--set", "ebeam2=4000"],
        )
        given += [
            "--set",
            "ptl=0",
            "--set",
            "drll=0",
            "--folder",
            str(self.folder),
            "--seed",
            "1",
            "--nevents",
            "20",
            "--set",
            "use_syst=False",
        ]
        with mock.patch.dict(os.environ, {"LHAPDF_DATA_PATH": str(pdf.parent)}), contextlib.redirect_stderr(said):
            with contextlib.redirect_stdout(io.StringIO()):
                for process, entry, status in (
                    ("u u~ > vl vl~", [], 0),
                    ("u u~ > mu+ mu-", [], 1),
                    ("u u~ > mu+ mu-", ["--set", "mmnl=0.8"], 0),
                    ("u u~ > a a", ["--set", "pta=0", "--set", "draa=0"], 1),
                ):
                    self.assertEqual(events_command([process, *given, *entry]), status, said.getvalue())
        self.assertRegex(
            said.getvalue(), r"(?m)^mebridge: 2 -2 12 -12 \(PDG codes\): masses below 0.8 GeV are left out, for which"
        )
        for entry in ("mmnl \\(or dsqrt_shat\\)", "dsqrt_shat"):
            self.assertRegex(
                said.getvalue(), rf"the densities deep begin at x = 1e-08, .*in the run card, {entry} = 0.8 or more"
            )

    def test_cards_are_files_of_a_size(self):
        os.mkfifo(self.folder / "pipe")
        with open(self.folder / "sparse", "wb") as file:
            file.truncate(1_300_000_000)
        for card, said in (
            (self.folder / "pipe", "cannot be read: it is no regular file; copy what it gives into one"),
            ("/dev/zero", "cannot be read: it is no regular file"),
            (self.folder / "sparse", "cannot be read: it has 1300000000 bytes, more than a card can need"),
            (self.folder, "cannot be read: it is a folder"),
            (self.folder / "nothing", "cannot be read: No such file"),
        ):
            with self.subTest(card), self.assertRaisesRegex(mebridge.Error, f"the run card {card} {said}"):
                mebridge.Run("e+ e- > mu+ mu-", run_card=card, folder=self.folder)
            with self.subTest(card), self.assertRaisesRegex(mebridge.Error, f"the parameter card {card} {said}"):
                mebridge.Run("e+ e- > mu+ mu-", run_card=PARTONS, param_card=card, folder=self.folder).generate(10, 1)
            with self.subTest(card), self.assertRaisesRegex(mebridge.Error, f"the parameter card {card} {said}"):
                mebridge.generate_events("e+ e- > mu+ mu-", energy=500, card=card, events=10)
        # As Windows writes it.
        card = self.folder / "card.dat"
        card.write_bytes(b"\xef\xbb\xbf# a card\r\n 300 = nevents ! so many\r\n")
        self.assertEqual(mebridge.Run("e+ e- > mu+ mu-", run_card=card, folder=self.folder).run_card["nevents"], 300)

    def test_what_stands_where_a_run_would(self):
        events = self.folder / "Events"
        events.mkdir()
        (events / "link").symlink_to("/nowhere/run")
        (events / "file").touch()
        (self.folder / "other").mkdir()
        (self.folder / "other" / "Events").symlink_to("nowhere")
        for folder, name, said in (
            (self.folder, "link", f"{events}/link is a link that leads nowhere, where a folder is needed"),
            (self.folder, "file", f"{events}/file is a file, where a folder is needed"),
            (self.folder / "other", None, f"{self.folder}/other/Events is a link that leads nowhere, where"),
        ):
            for process, entries in (("e+ e- > mu+ mu-", PARTONS), ("z > mu+ mu-", {})):
                with self.subTest(said), self.assertRaisesRegex(mebridge.Error, re.escape(said)):
                    mebridge.Run(process, run_card=entries, folder=folder).generate(10, 1, name=name)

    def test_the_command_refuses_by_name(self):
        for arguments, said in (
            (["u u~ > t t~", "--set", "ickkw=2"], "ickkw = 2"),
            (["u u~ > t t~", "--set", "pdlabel=edff"], "pdlabel = edff"),
            (["u u~ > t t~", "--model", str(self.folder / "none")], "none"),
            (["u u~ > zz"], "zz"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as told:
                self.assertEqual(
                    events_command([*arguments, "--folder", str(self.folder), "--nevents", "10", "--quiet"]), 1
                )
            self.assertIn(said, told.getvalue())
            self.assertTrue(told.getvalue().startswith("mebridge: "), told.getvalue())
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_grids_of_mg5amc_are_named(self):
        run = mebridge.Run("u u~ > t t~", folder=self.folder)
        with self.assertRaisesRegex(mebridge.Error, "--pdf-data"):
            run.generate(10)
        run = mebridge.Run("u u~ > t t~", folder=self.folder, pdf_data=self.folder)
        with self.assertRaisesRegex(mebridge.Error, "has no lib/Pdfdata"):
            run.generate(10)


class Packs(Folder):
    def test_a_card_that_asks_for_a_gridpack(self):
        run = mebridge.Run("e+ e- > mu+ mu-", run_card={**PARTONS, "gridpack": True}, folder=self.folder)
        with self.assertRaisesRegex(mebridge.Error, "mebridge pack"):
            run.generate(10)
        made = run.pack(self.folder / "pack.tar", 1000, measured=100)
        self.unpacked(made)

    def test_a_run_that_was_made(self):
        made = mebridge.Run("e+ e- > mu+ mu-", run_card=PARTONS, folder=self.folder).generate(200, 1)
        self.unpacked(mebridge.Run.pack_run(made.folder, self.folder / "pack.tar"))

    def unpacked(self, made):
        """Has a pack make a few events."""
        with tarfile.open(made) as archive:
            archive.extractall(self.folder, filter="data")
        place = self.folder / "events.lhe"
        command = ["/bin/sh", str(self.folder / "run.sh"), "20", "1", "--output", str(place)]
        subprocess.run(command, check=True, capture_output=True)
        self.assertEqual(place.read_text().count("<event>"), 20)


class Runs(FolderHere):
    def setUp(self):
        super().setUp()
        densities.write(self.folder)
        self.enterContext(mock.patch.dict(os.environ, {"LHAPDF_DATA_PATH": str(self.folder)}))

    def test_what_is_forbidden_is_in_no_event_file(self):
        """All partons are within the window of the Z."""
        near = {**PARTONS, "ebeam1": 48, "ebeam2": 48, "use_syst": False, "nevents": 400}
        rate, listed = [], []
        for process in ("e+ e- > mu+ mu-", "e+ e- > mu+ mu- $ z"):
            for strategy in (1, 2):
                card = {**near, "sde_strategy": strategy}
                made = mebridge.Run(process, run_card=card, folder=self.folder).generate(400, 1)
                particles = mebridge.read_events(made.output).particles
                rate.append(made.cross_section)
                listed.append(int((particles["pdg_id"][particles["status_code"] == 2] == 23).sum()))
        self.assertTrue(min(listed[:2]) > 100)
        self.assertEqual(listed[2:], [0, 0])
        z = mebridge.Process("e+ e- > mu+ mu-").parameters
        photon, other = 96.0**-4, 1 / ((96.0**2 - z["mz"] ** 2) ** 2 + (z["mz"] * z["wz"]) ** 2)
        self.assertLess(abs(rate[3] / rate[1] / (photon / (photon + other)) - 1), 0.3)

    def test_a_cross_section(self):
        run = mebridge.Run("e+ e- > mu+ mu- / z", run_card={**PARTONS, "use_syst": False}, folder=self.folder)
        found = run.generate(2000, 1)
        alpha = 1 / 132.50698
        wanted = 4 * math.pi * alpha**2 / (3 * 500.0**2) * 0.389379372e9
        # The default cuts on leptons: pt above 10 GeV, rapidity below 2.5.
        cosine = min(math.tanh(2.5), math.sqrt(1 - (10 / 250) ** 2))
        wanted *= 3 / 8 * 2 * (cosine + cosine**3 / 3)
        self.assertLess(abs(found.cross_section / wanted - 1), max(4 * found.error / wanted, 1e-5))
        self.assertEqual(found.folder, self.folder / "Events" / "run_01")
        text = gzip.decompress(found.output.read_bytes()).decode()
        self.assertIn("generate e+ e- > mu+ mu- / z", text)

    def test_broad_particles_are_no_resonances(self):
        """From a tenth of its mass on a width is so large that MadEvent lists no particle."""
        entries = {**PARTONS, "ebeam1": 45.594, "ebeam2": 45.594, "use_syst": False}
        run_ = mebridge.Run("e+ e- > mu+ mu-", folder=self.folder)
        text = run_.param_card
        found = []
        for width in (2.4, 20.0):
            card = self.folder / "param_card.dat"
            card.write_text(re.sub(r"DECAY 23 .*", f"DECAY 23 {width}", text))
            run = mebridge.Run("e+ e- > mu+ mu-", run_card=entries, param_card=card, folder=self.folder)
            events = mebridge.read_events(run.generate(300, 1).output)
            found.append(int((events.particles["status_code"] == 2).sum()))
        self.assertGreater(found[0], 280)
        self.assertEqual(found[1], 0)

    def test_rapidities_of_both_orders_of_beams(self):
        """Cuts apply in the detector frame, where beams of different energies differ."""
        entries = {"pdlabel": "lhapdf", "lhaid": "toy", "use_syst": False, "ebeam1": 6500, "ebeam2": 1000, "etaj": 1.0}
        for anti in ({}, {"lpp1": -1}, {"lpp2": -1}):
            folder = self.folder / "".join(["run", *anti])
            run = mebridge.Run("p p > w+ j", run_card={**entries, **anti}, folder=folder)
            arrays = mebridge.read_events(run.generate(2000, 1).output)
            codes, momenta = arrays.particles["pdg_id"][arrays.events["first"]], arrays.momenta
            self.assertGreater(momenta[:, 0, 3].min(), 0.0)
            rapidity = np.arctanh(momenta[:, 3, 3] / momenta[:, 3, 0])
            for kind, some in (("gluon", codes == 21), ("quark", (codes > 0) & (codes < 9)), ("antiquark", codes < 0)):
                with self.subTest(kind, **anti):
                    self.assertLess(abs(rapidity[some]).max(), 1.0)
                    self.assertGreater(rapidity[some].max(), 0.7)
                    self.assertLess(rapidity[some].min(), -0.7)

    @unittest.skipUnless(TOY.is_dir(), "the sources of mebridge are not there")
    def test_a_model(self):
        """A quark of its own is a top quark of its mass, also where events are clustered."""
        entries = {"pdlabel": "lhapdf", "lhaid": "toy", "use_syst": False}
        own = mebridge.Run("g g > q q~", model=TOY, run_card=entries, folder=self.folder)
        mass = re.search(r"Block MASS\n  \d+ (\S+)", own.param_card)[1]
        run_ = mebridge.Run("g g > t t~", folder=self.folder)
        text = run_.param_card
        card = self.folder / "param_card.dat"
        card.write_text(
            re.sub(r"(  6) 173\.0|(DECAY 6) .*", lambda m: f"{m[1]} {mass}" if m[1] else f"{m[2]} 0.0", text)
        )
        top = mebridge.Run("g g > t t~", run_card=entries, param_card=card, folder=self.folder)
        found, wanted = own.generate(2000, 1), top.generate(2000, 2)
        error = math.hypot(found.error, wanted.error)
        self.assertLess(abs(found.cross_section - wanted.cross_section), 5 * error)
        self.assertLess(error, 0.05 * wanted.cross_section)

    def test_matching(self):
        card = self.folder / "run_card.dat"
        card.write_text(
            "1 = ickkw\n30 = xqcut\nlhapdf = pdlabel\ntoy = lhaid\nFalse = use_syst\n4000 = ebeam1\n4000 = ebeam2\n"
        )
        arguments = [
            "p p > w+; add process p p > w+ j",
            "--run-card",
            str(card),
            "--folder",
            str(self.folder),
            "--seed",
        ]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(events_command([*arguments, "1", "--nevents", "500", "--quiet"]), 0)
        self.assertIn("2 -1 24", said.getvalue())
        place = self.folder / "Events" / "run_01" / "unweighted_events.lhe.gz"
        text = gzip.decompress(place.read_bytes()).decode()
        events = text.split("<event>")[1:]
        jets = 0
        for event in events:
            particles = int(event.split()[0])
            scales = re.findall(r'pt_clust_(\d)="([^"]*)"', event)
            self.assertEqual([int(number) for number, _ in scales], list(range(3, particles + 1)))
            # Particles other than jets have the energy of the beams.
            self.assertEqual(float(scales[0][1]), 8000.0)
            self.assertIn("<clustering>", event)
            if particles == 4:
                px, py = map(float, event.split("\n")[5].split()[6:8])
                # What a quark that goes out is clustered with may be the W boson.
                if float(scales[1][1]) != 8000.0:
                    self.assertGreaterEqual(float(scales[1][1]), 30.0)
                    self.assertAlmostEqual(float(scales[1][1]), math.hypot(px, py), delta=1e-3 * math.hypot(px, py))
                    jets += 1
        self.assertTrue(20 < jets < len(events) - 20)

    def test_pythia_takes_its_matching_from_the_run_card(self):
        """``JetMatching:setMad``, which reads a header without CDATA of a file that is not compressed."""
        need("matched events in Pythia", "pythia8mc")
        import pythia8mc

        card = {"ickkw": 1, "xqcut": 30, "pdlabel": "lhapdf", "lhaid": "toy", "use_syst": False}
        run = mebridge.Run("p p > w+; add process p p > w+ j", run_card=card, folder=self.folder)
        made = run.generate(500, 1)
        place = self.folder / "events.lhe"
        place.write_text(re.sub(r"<!\[CDATA\[|\]\]>", "", gzip.decompress(made.output.read_bytes()).decode()))
        pythia = pythia8mc.Pythia("", False)
        matching = pythia8mc.CombineMatchingInput()
        matching.setHook(pythia)
        for setting in (
            "Beams:frameType = 4",
            f"Beams:LHEF = {place}",
            "JetMatching:merge = on",
            "JetMatching:scheme = 1",
            "JetMatching:setMad = on",
            "JetMatching:jetAlgorithm = 2",
            "JetMatching:slowJetPower = 1",
            "JetMatching:coneRadius = 1.0",
            "JetMatching:etaJetMax = 10",
            "JetMatching:nJetMax = 1",
            "PartonLevel:MPI = off",
            "HadronLevel:all = off",
            "Print:quiet = on",
            "Random:setSeed = on",
        ):
            self.assertTrue(pythia.readString(setting), setting)
        self.assertTrue(pythia.init())
        # Otherwise it is Pythia's default of 10 GeV.
        self.assertEqual(pythia.settings.parm("JetMatching:qCut"), 30.0)
        while pythia.next() or not pythia.infoPython().atEndOfFile():
            pass
        # Matching takes events away, and not most of them.
        share = pythia.infoPython().sigmaGen() * 1e9 / made.cross_section
        self.assertTrue(0.6 < share < 0.97, share)
