"""mebridge.Run: run cards, cuts, densities and scales of an output of MG5aMC, and whole runs of real ones."""

import contextlib
import gzip
import io
import json
import math
import os
import pathlib
import re
import shutil
import unittest
from concurrent import futures
from unittest import mock

import numpy as np

from common import Folder
import mebridge
from mebridge import (
    _beams,
    _command,
    _cuts,
    _densities,
    _events_command,
    _heads,
    _output,
    _pdfdata,
    _run_card,
    _runs,
    _state,
    _written,
)
from mebridge._run_card import ENTRIES, REFUSED, RunCard
from mebridge._slha import Card


ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUTS = os.environ.get("MEBRIDGE_MG5_OUTPUTS")

# u u~ > t t~ and g g > t t~ as configs.inc and its neighbours have them.
QUARKS = {
    "leshouche.inc": "      DATA (IDUP(I,1,1),I=1,4)/2,-2,6,-6/\n      DATA (IDUP(I,2,1),I=1,4)/1,-1,6,-6/\n",
    "configs.inc": """C     Diagram 1
      DATA MAPCONFIG(1)/1/
      DATA TSTRATEGY(1)/2/
      DATA (IFOREST(I,-1,1),I=1,2)/4,3/
      DATA (SPROP(I,-1,1),I=1,1)/21/
      DATA TPRID(-1,1)/0/
      DATA MAPCONFIG(0)/1/
""",
    "config_subproc_map.inc": "      DATA (CONFSUB(I,1),I=1,1)/1/\n",
    "config_nqcd.inc": "      DATA NQCD(1)/2/\n",
    "decayBW.inc": "      DATA GFORCEBW(-1,1)/0/\n",
    "get_color.f": """      FUNCTION GET_COLOR(IPDG)
      IF(IPDG.EQ.-6)THEN
        GET_COLOR=-3
        RETURN
      ELSE IF(IPDG.EQ.-2)THEN
        GET_COLOR=-3
        RETURN
      ELSE IF(IPDG.EQ.2)THEN
        GET_COLOR=3
        RETURN
      ELSE IF(IPDG.EQ.6)THEN
        GET_COLOR=3
        RETURN
      ELSE IF(IPDG.EQ.21)THEN
        GET_COLOR=8
        RETURN
      ELSE IF(IPDG.EQ.23)THEN
        GET_COLOR=1
        RETURN
      ELSE IF(IPDG.EQ.7)THEN
C       This is dummy particle used in multiparticle vertices
        GET_COLOR=2
        RETURN
      ENDIF
      END
""",
}
CARD = """# a comment = nothing
  tag_1 = run_tag ! name
  1000 = nevents
  0 = iseed
  1 = lpp1
  1 = lpp2
  6500.0 = ebeam1 ! GeV
  6.5d3 = ebeam2
  nn23lo1 = pdlabel
  False = fixed_fac_scale
  -1 = dynamical_scale_choice
  {6: 100.0, 25: 50} = pt_min_pdg ! by code
  {'default': False, 6: True} = mxx_only_part_antipart
"""


def output(folder, card=CARD, **files):
    """An output with nothing to evaluate."""
    place = folder / "SubProcesses" / "P1_qq_ttx"
    place.mkdir(parents=True)
    (folder / "Cards").mkdir()
    (folder / "Cards" / "run_card.dat").write_text(card)
    (folder / "Cards" / "param_card.dat").write_text("Block SMINPUTS\n  3 1.18e-01 # aS\n")
    (folder / "SubProcesses" / "subproc.mg").write_text("P1_qq_ttx\n")
    (folder / "MGMEVersion.txt").write_text("3.5.7\n")
    for name, text in {**QUARKS, **files}.items():
        (place / name).write_text(text)
    return folder


def card(**values):
    return RunCard({name: str(value) for name, value in values.items()}, "run_card.dat")


def legs(pdg, masses=None, decayed=(), **values):
    return _cuts.Legs(tuple(pdg), tuple(masses or [0.0] * len(pdg)), frozenset(decayed), card(**values))


def events(count, masses, seed=1):
    """Momenta of partons along z that become particles of these masses."""
    random = np.random.default_rng(seed)
    p = np.zeros((count, len(masses) + 2, 4))
    p[:, 2:, 1:] = random.normal(size=(count, len(masses), 3)) * 60.0
    p[:, 2, 1:3] -= p[:, 2:, 1:3].sum(axis=1)
    p[:, 2:, 0] = np.sqrt(np.array(masses) ** 2 + (p[:, 2:, 1:] ** 2).sum(axis=2))
    energy, z = p[:, 2:, 0].sum(axis=1), p[:, 2:, 3].sum(axis=1)
    p[:, 0, 0] = p[:, 0, 3] = (energy + z) / 2.0
    p[:, 1, 0] = (energy - z) / 2.0
    p[:, 1, 3] = -p[:, 1, 0]
    return p


class Cards(Folder):
    def test_the_docs_have_the_table(self):
        text = (ROOT / "docs" / "run_card.md").read_text()
        self.assertIn(_run_card.table().strip(), text)

    def test_widths_that_are_left_open_are_said(self):
        place = output(self.folder / "one")
        parameters = place / "Cards" / "param_card.dat"
        run = mebridge.Run(place, changed_files=True)
        heads = _heads.Heads(run._inputs, run.param_card)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            heads.cards({})
        self.assertEqual(said.getvalue(), "")
        text = "DECAY 6 1.5 # Auto\ndecay 25 auto # h\nDECAY 36 Auto\nDECAY 23 Auto@NLO\nDECAY 24\nBlock MASS\n 6 Auto\n"
        parameters.write_text(text)
        # What matrix elements have is a number in the header; a width has the sign of the mass there.
        card = [{"block": "mass", "index": [23], "value": 91.0}, {"block": "decay", "index": [36], "value": -0.25}]
        asked = []

        def command(*arguments, **_):
            asked.append(arguments)
            return json.dumps([{"card": card}, {"error": "refused"}])

        with mock.patch.object(_command, "run", command), contextlib.redirect_stderr(io.StringIO()) as said:
            cards = heads.cards({})
        self.assertIn(f"{parameters}: the widths of 25, 23 are Auto", said.getvalue())
        self.assertEqual(cards.parameters, text.replace("36 Auto", "36 2.500000e-01"))
        self.assertEqual(asked, [("info", "--json", f"--card={parameters}", "--", str(run.directories[0].path))])

    def test_alpha_of_events_is_that_of_the_model(self):
        place = output(self.folder / "one")
        run = mebridge.Run(place, changed_files=True)
        parameters = place / "Cards" / "param_card.dat"
        parameters.write_text("Block SMINPUTS\n 2 1.16637e-5 # Gf\nBlock MASS\n 23 91.1876\n 24 80.387\n")
        by_masses = math.sqrt(2.0) / math.pi * 1.16637e-5 * 80.387**2 * (1.0 - (80.387 / 91.1876) ** 2)
        self.assertAlmostEqual(run._inputs.alpha_qed(), by_masses, 12)
        model = place / "bin" / "internal" / "ufomodel"
        model.mkdir(parents=True)
        asked = []

        def command(*arguments, **_):
            asked.append(arguments)
            return "1.25e2 1e-3\n"

        with mock.patch.object(_command, "run", command):
            self.assertEqual(run._inputs.alpha_qed(), 1.0 / 125.0)
        self.assertEqual(asked, [("model", "--parameter=aEWM1", f"--card={parameters}", "--", str(model))])
        # A model without it, and a card that has it.
        with mock.patch.object(_command, "run", side_effect=mebridge.Error("there is no parameter aEWM1")):
            self.assertAlmostEqual(run._inputs.alpha_qed(), by_masses, 12)
        parameters.write_text("Block SMINPUTS\n 1 128.0 # aEWM1\n")
        with mock.patch.object(_command, "run", side_effect=AssertionError):
            self.assertEqual(run._inputs.alpha_qed(), 1.0 / 128.0)

    def test_values_are_read_as_fortran_and_python_write_them(self):
        file = self.folder / "run_card.dat"
        file.write_text(CARD)
        found = RunCard.read(file, {"nevents": "10k"})
        self.assertEqual(found["nevents"], 10_000)
        self.assertEqual((found["ebeam1"], found["ebeam2"]), (6500.0, 6500.0))
        self.assertEqual(found["pt_min_pdg"], {6: 100.0, 25: 50.0})
        self.assertEqual(found["mxx_only_part_antipart"], {"default": False, 6: True})
        self.assertEqual((found["run_tag"], found["pdlabel1"]), ("tag_1", "nn23lo1"))
        # What is not in a card has MG5aMC's default.
        self.assertEqual((found["ptj"], found["drll"], found["etab"]), (20.0, 0.4, -1.0))
        self.assertTrue(card(fixed_fac_scale=".true.")["fixed_fac_scale2"])
        self.assertEqual(card(lhaid="NNPDF40_lo_as_01180")["lhaid"], "NNPDF40_lo_as_01180")
        for name, text in (("nevents", "many"), ("ptj", "20 GeV"), ("use_syst", "perhaps"), ("pt_min_pdg", "{6}")):
            with self.assertRaisesRegex(mebridge.Error, name):
                card(**{name: text})

    def test_what_is_changed_for_both_beams(self):
        file = self.folder / "run_card.dat"
        file.write_text("nn23lo1 = pdlabel1\nnn23lo1 = pdlabel2\nFalse = fixed_fac_scale1\n")
        found = RunCard.read(file, {"pdlabel": "lhapdf", "fixed_fac_scale": True})
        self.assertEqual((found["pdlabel1"], found["pdlabel2"]), ("lhapdf", "lhapdf"))
        self.assertEqual((found["fixed_fac_scale1"], found["fixed_fac_scale2"]), (True, True))
        self.assertEqual(RunCard.read(file, {"pdlabel": "lhapdf", "pdlabel1": "nn23lo"})["pdlabel1"], "nn23lo")

    def test_arguments_of_systematics(self):
        for text in ("['--mur=0.5,1,2', '--pdf=errorset,NNPDF31@3']", "--mur=0.5,1,2, --pdf=errorset,NNPDF31@3"):
            found = card(systematics_arguments=text)["systematics_arguments"]
            self.assertEqual(found, ["--mur=0.5,1,2", "--pdf=errorset,NNPDF31@3"])

    def test_unknown_entries_are_named(self):
        with self.assertRaisesRegex(mebridge.Error, r"an entry ptjj that .* \(do you mean ptj\?\); remove it"):
            card(ptjj=3)
        file = self.folder / "run_card.dat"
        file.write_text(CARD)
        # What the caller gives is not in the card.
        with self.assertRaisesRegex(mebridge.Error, r"^ebeam, which is to be set, .* \(do you mean ebeam[12]\?\)"):
            RunCard.read(file, {"ebeam": 30})
        with self.assertRaisesRegex(mebridge.Error, "^ptj, which is to be set, is 'many'; it must be a number"):
            RunCard.read(file, {"ptj": "many"})
        # Of another file of Cards.
        file.write_text(f"{CARD}  2 = nb_core\n")
        with self.assertRaisesRegex(mebridge.Error, "has an entry nb_core that mebridge does not know; .*--workers"):
            RunCard.read(file)

    def test_a_line_that_is_no_entry_is_refused(self):
        file = self.folder / "run_card.dat"
        file.write_text(f"{CARD}  $ecut\n ! a comment\n  30 ptj\n")
        with self.assertRaisesRegex(mebridge.Error, f"line {len(CARD.splitlines()) + 3}: '30 ptj' is no entry; write"):
            RunCard.read(file)

    def test_what_is_one_of_a_few(self):
        for name, value in (("event_norm", "sums"), ("sde_strategy", 3), ("ickkw", 2), ("ktscheme", 0)):
            with self.assertRaisesRegex(mebridge.Error, f"{name} = {value} cannot be honoured; set it to .* or "):
                card(**{name: value}).check()
        card(event_norm="Average").check()
        with self.assertRaisesRegex(mebridge.Error, "ptj is 'nan'; it must be a number"):
            card(ptj="nan")
        with self.assertRaisesRegex(mebridge.Error, "run_tag = a/b is part of a file's name"):
            card(run_tag="a/b").check()

    def test_numbers_are_finite_and_as_cards_have_them(self):
        numbers = [name for name, entry in ENTRIES.items() if type(entry.default) in (int, float)]
        self.assertGreater(len(numbers), 150)
        for name in numbers:
            for text in ("inf", "-inf", "nan", "1e400", "-1d400", "1e400k", "", "20 GeV", "1_0", "\uff11", "9" * 400, "1,5"):
                with self.subTest(name, text=text), self.assertRaisesRegex(mebridge.Error, f"_card.dat: {name} is .*; it must be "):
                    card(**{name: text})
        with self.assertRaises(mebridge.Error) as raised:
            card(ptj="9" * 100_000)
        self.assertLess(len(str(raised.exception)), 200)
        self.assertEqual((card(ptj="1.5d1")["ptj"], card(iseed=2**64 - 1)["iseed"]), (15.0, 2**64 - 1))

    def test_numbers_out_of_their_ranges(self):
        fixed = {"fixed_ren_scale": True, "fixed_fac_scale": True, "fixed_extra_scale": True}
        for name in ("scalefact", "scale", "dsqrt_q2fact1", "dsqrt_q2fact2", "mue_ref_fixed", "r0gamma", "epsgamma"):
            for value in (0, -1):
                with self.subTest(name, value=value), self.assertRaisesRegex(mebridge.Error, f"{name} = {value}; it must be positive"):
                    card(**fixed, ptgmin=10, **{name: value}).check()
        for name, value in (("maxjetflavor", 7), ("asrwgtflavor", -1), ("bwcutoff", -1), ("small_width_treatment", -1), ("polbeam1", 101)):
            with self.subTest(name), self.assertRaisesRegex(mebridge.Error, f"{name} = {value}; it must be "):
                card(**{name: value}).check()
        # Nothing has these scales.
        card(scale=0, dsqrt_q2fact1=0, dsqrt_q2fact2=0, mue_ref_fixed=0, r0gamma=0, epsgamma=0).check()

    def test_cuts_by_code_have_codes(self):
        names = [name for name in ENTRIES if name.endswith("_pdg") or name == "mxx_only_part_antipart"]
        self.assertEqual(len(names), 8)
        for name in names:
            good, bad = ("True", "50") if name == "mxx_only_part_antipart" else ("50", "True")
            for key in ("t", "-6", "6.5", "6.0", "0", "", "1_1", "\uff16", "t~", "nan", "1e1", "None"):
                with self.subTest(name, key=key), self.assertRaisesRegex(mebridge.Error, rf"{name} is .*'{key}' is no PDG code; .* such as {{6: "):
                    card(**{name: f"{{25: {good}, {key}: {good}}}"})
            for value in (bad, "inf", "1e400", "nan", "", "many"):
                with self.subTest(name, value=value), self.assertRaisesRegex(mebridge.Error, f"{name} is .*'{value}' is wrong, it must be"):
                    card(**{name: f"{{6: {value}}}"})
            with self.assertRaisesRegex(mebridge.Error, f"{name} is .*; it has two values of 6; leave one"):
                card(**{name: "{6: 0, 06: 1}"})
            with self.assertRaisesRegex(mebridge.Error, f"{name} is '6'; it must be a dict, such as"):
                card(**{name: "6"})
            self.assertEqual(list(card(**{name: f"{{'6': {good}, '__type__': {good}}}"})[name]), [6])
        with self.assertRaisesRegex(mebridge.Error, "'default' is no PDG code"):
            card(pt_min_pdg="{default: 50}")
        self.assertEqual(card(mxx_only_part_antipart="6: 1")["mxx_only_part_antipart"], {6: True})

    def test_entries_of_python(self):
        file = self.folder / "run_card.dat"
        file.write_text(CARD)
        for value in ({6: 50}, {"6": np.float64(50.0)}, {np.int64(6): 50.0}):
            self.assertEqual(RunCard.read(file, {"pt_min_pdg": value})["pt_min_pdg"], {6: 50.0})
        for value in ({6.0: 50}, {"t": 50}, {-6: 50}, {True: 50}, {6: 50, "6": 60}, {6: math.inf}):
            with self.subTest(value), self.assertRaisesRegex(mebridge.Error, "^pt_min_pdg, which is to be set, is"):
                RunCard.read(file, {"pt_min_pdg": value})
        with self.assertRaisesRegex(ValueError, "ptj of the run card is to be 10 and 20; give one of them"):
            RunCard.read(file, {"ptj": 10, "PTJ": 20})
        with self.assertRaisesRegex(TypeError, "an entry of a run card is 6; its name must be a str"):
            RunCard.read(file, {6: 10})

    def test_what_stands_for_both_beams_and_for_one(self):
        """As in MG5aMC the last holds."""
        both, one, two = "nn23lo = pdlabel", "cteq6l1 = pdlabel1", "cteq6l1 = pdlabel2"
        file = self.folder / "run_card.dat"
        for lines, wanted, told in (
            ((both, one, two), "cteq6l1", {}),
            ((one, two, both), "nn23lo", {"pdlabel": ("nn23lo", "cteq6l1 (pdlabel2)")}),
        ):
            file.write_text("\n".join(lines) + "\n")
            found = RunCard.read(file)
            self.assertEqual((found["pdlabel1"], found["pdlabel2"], found.repeated), (wanted, wanted, told))
            # What is changed holds in any case.
            found = RunCard.read(file, {"pdlabel1": "lhapdf", "pdlabel2": "lhapdf"})
            self.assertEqual((found["pdlabel1"], found["pdlabel2"]), ("lhapdf", "lhapdf"))
        file.write_text("False = fixed_fac_scale1\nFalse = fixed_fac_scale2\nTrue = fixed_fac_scale\n")
        self.assertTrue(RunCard.read(file)["fixed_fac_scale2"])

    def test_the_last_of_two_holds_and_is_told(self):
        file = self.folder / "run_card.dat"
        file.write_text(f"{CARD} 500 = ebeam1\n 1000 = nevents\n")
        found = RunCard.read(file)
        self.assertEqual(found["ebeam1"], 500.0)
        self.assertEqual(found.repeated, {"ebeam1": ("500", "6500.0")})
        self.assertEqual(RunCard.read(file, {"ebeam1": 7}).repeated, {})
        # Both are changed, so that the one that holds is.
        self.assertEqual(_run_card.parse(_run_card.changed(file.read_text(), {"ebeam1": 7}))["ebeam1"], "7")

    def test_what_cannot_be_honoured_is_refused_by_name_and_cure(self):
        card().check()
        for entry in ENTRIES.values():
            if entry.kind != REFUSED:
                continue
            other = {bool: not entry.default, int: 7, float: 7.5, str: "other", list: "3", dict: "{1: 2}"}
            found = card(**{entry.name: other[type(entry.default)]})
            with self.assertRaisesRegex(mebridge.Error, rf"{entry.name} = .*set it to"):
                found.check()

    def test_a_changed_card_says_so(self):
        text = _run_card.changed(CARD, {"nevents": 7, "ebeam1": 400, "ptj": 30})
        found = _run_card.parse(text)
        self.assertEqual((found["nevents"], found["ebeam1"], found["ptj"]), ("7", "400", "30"))
        self.assertEqual(found["ebeam2"], "6.5d3")
        self.assertIn("! GeV", text)

    def test_beams(self):
        self.assertEqual(_beams.codes(card()), (2212, 2212))
        self.assertEqual(_beams.codes(card(lpp2=-1)), (2212, -2212))
        self.assertEqual(_beams.codes(card(lpp1=0, lpp2=0)), (0, 0))
        for values, said in (
            ({"lpp1": 3, "lpp2": 0}, "lpp1 = 3 and lpp2 = 0"),
            ({"lpp1": 2, "lpp2": 2}, "cannot be honoured"),
            ({"ebeam1": 0}, "ebeam1 = 0; it must be an energy"),
            *(({"pdlabel": of}, f"pdlabel = {of} cannot .* set it to lhapdf") for of in _NO_PROTONS),
            *(
                ({"lpp1": -3, "lpp2": 3, "pdlabel": of}, f"pdlabel = {of} cannot .* set it to iww, .*, or lpp1 to 0")
                for of in ("isronlyll", "cepc240ll", "eva", "none", "nn23lo1")
            ),
            ({"lpp1": 2, "lpp2": 2, "pdlabel1": "iww", "pdlabel2": "edff"}, "pdlabel1 and pdlabel2 are not the same"),
            ({"lpp1": 2, "pdlabel1": "chff"}, "pdlabel = chff cannot"),
            ({"dynamical_scale_choice": 0}, "dynamical_scale_choice = 0"),
            ({"fixed_fac_scale1": True, "fixed_fac_scale2": False}, "fixed_fac_scale2 are not the same; give both"),
            ({"pdlabel1": "nn23lo", "pdlabel2": "nn23lo1"}, "pdlabel2 are not the same; give both"),
        ):
            with self.assertRaisesRegex(mebridge.Error, said):
                _beams.codes(card(**values))


# Of photons of protons, and of weak bosons and leptons.
_NO_PROTONS = ("edff", "chff", "eva", "iww", "mixed", "none", "cteq6_d", "isronlyll")


class Files(Folder):
    def written(self, text="      SUBROUTINE  NOTHING\n"):
        """Files as if MG5aMC wrote them."""
        known = {name: {_written.digest(text.encode()): "3.5.7"} for name in _written.WRITTEN}
        for name in known:
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return mock.patch.object(_written, "WRITTEN", known)

    def test_changed_fortran_does_not_pass(self):
        output(self.folder)
        with self.written():
            run = mebridge.Run(self.folder)
            self.assertEqual(run.output.version, "3.5.7")
            # Blanks are nothing.
            (self.folder / "SubProcesses" / "cuts.f").write_text("\n      SUBROUTINE NOTHING   \n\n")
            mebridge.Run(self.folder)
            (self.folder / "SubProcesses" / "cuts.f").write_text("      SUBROUTINE CUT\n")
            with self.assertRaisesRegex(mebridge.Error, r"SubProcesses/cuts\.f of .* --changed-files"):
                mebridge.Run(self.folder)
            mebridge.Run(self.folder, changed_files=True)
            (self.folder / "SubProcesses" / "cuts.f").write_text("      SUBROUTINE NOTHING\n")
            # A file in the place of the link of one directory.
            (self.folder / "SubProcesses" / "P1_qq_ttx" / "dummy_fct.f").write_text("      SUBROUTINE CUT\n")
            with self.assertRaisesRegex(mebridge.Error, r"P1_qq_ttx/dummy_fct\.f"):
                mebridge.Run(self.folder)
            (self.folder / "SubProcesses" / "P1_qq_ttx" / "dummy_fct.f").unlink()
            (self.folder / "Source" / "kin_functions.f").unlink()
            with self.assertRaisesRegex(mebridge.Error, "kin_functions"):
                mebridge.Run(self.folder)

    def test_no_output(self):
        for make in (lambda: None, lambda: (self.folder / "Cards").mkdir()):
            make()
            with self.assertRaisesRegex(mebridge.Error, "no output of MG5aMC"):
                mebridge.Run(self.folder)
        (self.folder / "SubProcesses").mkdir()
        with self.assertRaisesRegex(mebridge.Error, "subproc.mg"):
            mebridge.Run(self.folder)

    def test_names_and_seeds_of_runs(self):
        run = mebridge.Run(output(self.folder / "one"), changed_files=True)
        for name in ("..", ".", "a/b", "/"):
            with self.assertRaisesRegex(ValueError, "must be that of a folder in"):
                run.generate(10, 1, name=name)
        with self.assertRaisesRegex(ValueError, "seed is .* from 0 to 18446744073709551615"):
            run.generate(10, 2**64)

    def test_the_next_run_has_the_next_number(self):
        self.assertEqual(_output.next_run(self.folder / "Events"), "run_01")
        for name in ("run_01", "run_09_decayed_1", "other"):
            (self.folder / "Events" / name).mkdir(parents=True)
        self.assertEqual(_output.next_run(self.folder / "Events"), "run_10")

    def test_a_run_that_is_at_work_is_left_alone(self):
        folder = self.folder / "run_01"
        state = _state.State(folder / "state", {})
        with self.assertRaisesRegex(mebridge.Error, "another run is at work"):
            _state.State(folder / "state", {})
        _runs._forget(folder)
        self.assertTrue((folder / "state" / "lock").exists())
        state.close()
        (folder / "state" / "notes").write_text("of somebody")
        _runs._forget(folder)
        self.assertTrue((folder / "state" / "notes").exists())
        (folder / "state" / "notes").unlink()
        _runs._forget(folder)
        self.assertFalse(folder.exists())

    def test_another_run_is_told_by_its_entry(self):
        folder = self.folder / "state"
        state = _state.State(folder, {"run_card": {"ptj": 20.0, "ptl": 10.0}})
        state.part("survey")
        state.close()
        said = r"another run_card: ptl \(10.0 there, 30.0 now\); name another folder"
        with self.assertRaisesRegex(mebridge.Error, said):
            _state.State(folder, {"run_card": {"ptj": 20.0, "ptl": 30.0}})

    def test_a_run_goes_on_where_its_directory_was_moved_to(self):
        state = _state.State(self.folder / "before", {"output": "before", "seed": 1})
        state.keep("survey", state.part("survey"))
        state.close()
        os.rename(self.folder / "before", self.folder / "after")
        state = _state.State(self.folder / "after", {"output": "after", "seed": 1})
        state.part("round")
        state.close()
        with self.assertRaisesRegex(mebridge.Error, r"another seed \(1 there, 2 now\)"):
            _state.State(self.folder / "after", {"output": "after", "seed": 2})

    def test_an_interrupted_command_names_the_run(self):
        for text, told in (("run run_07 goes on with this name", "interrupted; run run_07 goes on"), ("", "interrupted\n")):
            with mock.patch.object(_events_command, "by_cards", side_effect=KeyboardInterrupt(text)), mock.patch("sys.stderr") as said:
                self.assertEqual(_events_command.main([str(self.folder)]), 130)
            self.assertIn(told, "".join(call.args[0] for call in said.write.call_args_list))

    def test_the_command_says_what_is_wrong(self):
        with mock.patch("sys.stderr") as said:
            self.assertEqual(_events_command.main([str(self.folder)]), 1)
        self.assertIn("no output of MG5aMC", "".join(call.args[0] for call in said.write.call_args_list))
        with mock.patch("sys.stderr") as said:
            self.assertEqual(_events_command.main([str(self.folder), "--set", "ptj"]), 1)
        self.assertIn("ENTRY=VALUE", "".join(call.args[0] for call in said.write.call_args_list))


class Cuts(unittest.TestCase):
    def test_cuts_are_about_their_particles(self):
        of = legs([21, 2, 11, -11, 2, 22], ptj=30, ptl=25, etal=2.0, mmll=50, draa=0.1)
        found = {(w.observable, w.legs): (w.least, w.largest) for w in _cuts.windows(of)}
        self.assertEqual(found["pt", ((4,),)], (30.0, math.inf))
        self.assertEqual(found["pt", ((2,),)], (25.0, math.inf))
        self.assertEqual(found["rapidity", ((3,),)], (-math.inf, 2.0))
        self.assertEqual(found["mass", ((2, 3),)], (50.0, math.inf))
        self.assertEqual(found["distance", ((2,), (4,))], (0.4, math.inf))
        self.assertEqual(found["distance", ((4,), (5,))], (0.4, math.inf))
        # Leptons of different flavours have no mass that mmll is about.
        other = {(w.observable, w.legs) for w in _cuts.windows(legs([1, -1, 11, -13, 22, 22], mmll=50))}
        self.assertNotIn(("mass", ((2, 3),)), other)

    def test_what_is_heavy_or_decays_is_free(self):
        masses = [0.0, 0.0, 173.0, 173.0, 0.0]
        free = _cuts.windows(legs([21, 21, 6, -6, 21], masses, ptj=30))
        self.assertEqual({w.legs for w in free}, {((4,),)})
        pdg = [21, 21, -11, 12, 5, 21]
        self.assertEqual({w.legs for w in _cuts.windows(legs(pdg, decayed={2, 3, 4}))}, {((5,),)})
        cut = _cuts.windows(legs(pdg, decayed={2, 3, 4}, cut_decays=True, ptb=10, ptl=11))
        self.assertIn(_cuts.Window("pt", ((2,),), 11.0), cut)
        self.assertIn(_cuts.Window("pt", ((4,),), 10.0), cut)

    def test_cuts_by_code(self):
        masses = [0.0, 0.0, 173.0, 173.0]
        of = legs([2, -2, 6, -6], masses, pt_min_pdg="{6: 100}", eta_max_pdg="{6: 2.5}", mxx_min_pdg="{6: 500}")
        found = {(w.observable, w.legs): (w.least, w.largest) for w in _cuts.windows(of)}
        self.assertEqual(found["pt", ((3,),)], (100.0, math.inf))
        self.assertEqual(found["rapidity", ((2,),)], (-math.inf, 2.5))
        self.assertEqual(found["mass", ((2, 3),)], (500.0, math.inf))
        same = legs([2, 2, 6, 6], masses, mxx_min_pdg="{6: 500}", mxx_only_part_antipart="{'default': True}")
        self.assertNotIn("mass", {w.observable for w in _cuts.windows(same)})

    def test_cuts_by_code_that_divide_a_matrix_element(self):
        processes = [[2, -2, 11, -11], [2, -2, 13, -13]]
        for entry in ("pt_min_pdg", "mxx_min_pdg"):
            of = legs(processes[0], **{entry: "{13: 50}"})
            self.assertEqual(_cuts.divided(of, processes), f"{entry} is not the same for 11, 13 (PDG codes)")
            self.assertIsNone(_cuts.divided(legs(processes[0], **{entry: "{11: 50, 13: 50, 15: 60}"}), processes))
        decayed = _cuts.Legs(of.pdg, of.masses, frozenset((2, 3)), of.card)
        self.assertIsNone(_cuts.divided(decayed, processes))

    def test_cuts_by_code_of_no_particle_are_told(self):
        asked = card(eta_max_pdg="{6: 2, 25: 3}", mxx_only_part_antipart="{'default': False, 23: True}")
        said = _cuts.unused(asked, {6, 24})
        self.assertIn("eta_max_pdg (25), mxx_only_part_antipart (23) of the run card cuts nothing", said)
        self.assertIsNone(_cuts.unused(asked, {6, 23, 25}))

    def test_jets_in_order_and_sums(self):
        of = legs([21, 21, 21, 2, -2], ptj=0, etaj=-1, drjj=0, ptj1min=100, ptj2max=80, ht2min=150, htjmax=300, xptj=90)
        p = events(4000, [0.0] * 3)
        pt = -np.sort(-np.hypot(p[:, 2:, 1], p[:, 2:, 2]), axis=1)
        wanted = (pt[:, 0] >= 100) & (pt[:, 1] <= 80) & (pt[:, :2].sum(axis=1) >= 150) & (pt.sum(axis=1) <= 300)
        found = _cuts.passed(_cuts.windows(of), p)
        self.assertTrue(0 < wanted.sum() < 4000)
        self.assertEqual((found != wanted).sum(), 0)
        self.assertEqual(_cuts.empty(legs([21, 21, 6, -6], ptj1min=20)), "ptj1min")
        self.assertIsNone(_cuts.empty(of))

    def test_cuts_that_leave_nothing_are_named(self):
        for asked, named in (
            ({"ptj": 50, "ptjmax": 20}, "ptj = 50 with ptjmax = 20"),
            ({"etaj": 1, "etajmin": 2}, "etajmin = 2 with etaj = 1"),
            ({"ptj1min": 90, "ptj1max": 80}, "ptj1min = 90 with ptj1max = 80"),
            ({"ptj": 600}, "ptj = 600"),
            ({"htjmin": 1001}, "htjmin = 1001"),
            ({"xptj": 501}, "xptj = 501"),
            ({"dsqrt_shat": 1001}, "dsqrt_shat = 1001"),
            ({"ptj": 600, "ptl": 600, "xptj": 600}, "ptj = 600"),
            ({"pt_min_pdg": "{21: 60}", "pt_max_pdg": "{21: 50}"}, "pt_min_pdg = {21: 60} with pt_max_pdg = {21: 50}"),
        ):
            of = legs([21, 21, 21, 2, -2], **asked)
            window = _cuts.nowhere(_cuts.windows(of), 1000.0)
            self.assertIsNotNone(window, asked)
            self.assertEqual(_cuts.named(window, of), named)
        self.assertEqual(_cuts.said([window], of.pdg), "pt of 21 from 60 to 50")
        # Those are left out, and these just pass.
        for asked in ({"mmjj": 60, "mmjjmax": 50}, {"htjmin": 999, "xptj": 499, "ptj": 499, "dsqrt_shat": 999}):
            self.assertIsNone(_cuts.nowhere(_cuts.windows(legs([21, 21, 21, 2, -2], **asked)), 1000.0))

    def test_missing_and_leptons_together(self):
        of = legs([2, -2, 11, -11, 12, -12], ptl=0, etal=-1, drll=0, misset=40, mmnl=200, ptllmax=90)
        p = events(4000, [0.0] * 4)
        lost, total = p[:, 4:].sum(axis=1), p[:, 2:].sum(axis=1)
        mass = np.sqrt(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1))
        good = (np.hypot(lost[:, 1], lost[:, 2]) >= 40) & (mass >= 200)
        # Lepton and antilepton, each of them with each neutrino, both neutrinos.
        for pair in ((2, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)):
            both = p[:, list(pair)].sum(axis=1)
            good &= np.hypot(both[:, 1], both[:, 2]) <= 90
        self.assertTrue(0 < good.sum() < 4000)
        self.assertEqual((_cuts.passed(_cuts.windows(of), p) != good).sum(), 0)

    def test_rules(self):
        p = events(4000, [0.0] * 4)
        pt = np.hypot(p[:, 2:, 1], p[:, 2:, 2])
        y = 0.5 * np.log((p[:, 2:, 0] + p[:, 2:, 3]) / (p[:, 2:, 0] - p[:, 2:, 3]))
        jets = legs([21, 21, 21, 2, -2, 6], [0.0] * 5 + [173.0], xetamin=0.3, deltaeta=1.0)
        rules, implied = _cuts.rules(jets, 1000.0)
        self.assertEqual(implied, [])
        order = np.argsort(-pt[:, :3], axis=1)[:, :2]
        one, other = np.take_along_axis(y, order, axis=1).T
        good = (abs(one) >= 0.3) & (abs(other) >= 0.3) & (one * other <= 0) & (abs(one - other) >= 1.0)
        self.assertTrue(0 < good.sum() < 4000)
        self.assertEqual((_cuts.obeyed(rules, p) != good).sum(), 0)
        # One of the hardest two is enough.
        rules, _ = _cuts.rules(legs([21, 21, 21, 2], cutuse=1, ptj1min=120, ptj2min=70, ptj2max=90), 1000.0)
        falling = -np.sort(-pt[:, :2], axis=1)
        good = (falling[:, 0] >= 120) | ((falling[:, 1] >= 70) & (falling[:, 1] <= 90))
        self.assertEqual((_cuts.obeyed(rules, p) != good).sum(), 0)
        self.assertEqual(_cuts.rules(legs([21, 21, 21, 2]), 1000.0), ([], []))

    def test_isolated_photons(self):
        values = {"ptgmin": 30, "r0gamma": 1.5, "xn": 2.0, "epsgamma": 0.8, "ptj": 10}
        of = legs([2, -2, 22, 21, 21, 11], **values)
        self.assertEqual((of.card["pta"], of.card["draj"]), (0.0, 0.0))
        rules, implied = _cuts.rules(of, 1000.0)
        p = events(4000, [0.0] * 4, seed=5)
        pt = np.hypot(p[:, 2:, 1], p[:, 2:, 2])
        eta = np.arcsinh(p[:, 2:, 3] / pt)
        phi = np.arctan2(p[:, 2:, 2], p[:, 2:, 1])
        turn = abs((phi - phi[:, :1] + np.pi) % (2 * np.pi) - np.pi)
        apart = np.hypot(eta - eta[:, :1], turn)
        found = []
        for event in range(len(p)):
            good = pt[event, 0] >= 30
            for near in ((1, 2), (3,)):
                for leg in near:
                    radius = apart[event, leg]
                    if radius <= 1.5:
                        total = sum(pt[event, other] for other in near if apart[event, other] <= radius)
                        share = ((1 - math.cos(radius)) / (1 - math.cos(1.5))) ** 2
                        good &= total <= 0.8 * pt[event, 0] * share
            found.append(good)
        self.assertTrue(0 < sum(found) < 4000)
        self.assertEqual((_cuts.obeyed(rules, p) != np.array(found)).sum(), 0)
        # What is implied leaves nothing out that the rule takes, of jets with the least transverse momentum or more.
        hard = (pt[:, 1] >= 10) & (pt[:, 2] >= 10) & np.array(found)
        self.assertEqual({window.legs for window in implied}, {((2,), (3,)), ((2,), (4,))})
        self.assertTrue(_cuts.passed(implied, p)[hard].all())
        self.assertTrue(all(window.least > 0.0 for window in implied))

    def test_a_mass_window_that_is_inside_out_leaves_its_middle_out(self):
        of = legs([21, 21, 21, 21], ptj=0, etaj=-1, drjj=0, mmjj=200, mmjjmax=100)
        p = events(2000, [0.0] * 2)
        total = p[:, 2:].sum(axis=1)
        mass = np.sqrt(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1))
        self.assertEqual((_cuts.passed(_cuts.windows(of), p) != ((mass <= 100) | (mass >= 200))).sum(), 0)

    def test_cuts_that_keep_poles_away(self):
        windows = _cuts.windows(legs([2, -2, 21, 21, 22], ptj=20, drjj=0.4, pta=0, draj=0))
        self.assertEqual(_cuts.missing(windows, 5, (2,), (), False), set())
        self.assertEqual(_cuts.missing(windows, 5, (4,), (), False), {"pt 4"})
        self.assertEqual(_cuts.missing(windows, 5, (2, 3), (2, 3), True), set())
        self.assertEqual(_cuts.missing(windows, 5, (2, 4), (4,), True), {"pt 4", "dr 2 4"})


class Grids(Folder):
    def write(self):
        """A grid of the layout of NNPDF, of densities that the interpolation reproduces."""
        x = np.concatenate([np.geomspace(1e-9, 0.1, 30), np.linspace(0.1, 1.0, 12)[1:]])
        q2 = np.geomspace(1.0, 1e8, 9)
        number = np.arange(1, 15)
        # A cubic of ln x below 0.1 and of x above, straight in ln Q^2.
        self.cubic = lambda x: np.where(x < 0.1, (np.log(x) + 5) ** 3 / 100 + 1, x**3 - x + 2)
        values = self.cubic(x)[:, None, None] * (1 + 0.1 * np.log(q2))[None, :, None] * number
        lines = [" 'NNPDF20intqed'", "  0 ,  1", str(len(x)), *map(repr, x.tolist()), str(len(q2)), "1.0"]
        lines += [*map(repr, q2.tolist()), "0"]
        lines += [" ".join(map(repr, row)) for block in values.tolist() for row in block]
        folder = self.folder / "lib" / "Pdfdata"
        folder.mkdir(parents=True)
        (folder / _pdfdata.SETS["nn23lo1"][0]).write_text("header\n" + "\n".join(lines) + "\n")
        return x

    def test_polynomials_are_what_they_are(self):
        self.write()
        grid = _densities.Table(_pdfdata.locate(self.folder, "nn23lo1"))
        # Away from 0.1, beyond which nodes of the other polynomial are taken.
        x = np.concatenate([np.geomspace(1e-8, 0.012, 50), np.linspace(0.3, 0.99, 20)])
        q = 37.0
        for code, number in ((-6, 1), (21, 7), (2, 9), (22, 14)):
            wanted = self.cubic(x) * (1 + 0.1 * math.log(q**2)) * number
            self.assertLess(abs(grid.xf(code, x, q) / wanted - 1).max(), 1e-10)
        # Outside it is frozen.
        self.assertEqual(grid.xf(21, 1e-12, 1e9), grid.xf(21, 1e-9, 1e4))

    def write_table(self, changed=lambda text: text):
        """A table of the layout of CTEQ6, of densities that are straight in the variables of its interpolation."""
        nodes = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 40)])
        scales = np.geomspace(1.3, 1e4, 12)
        self.straight = lambda x, q: 2 - x**0.3 + 0.1 * np.log(np.log(q / 0.165))
        rows = [(1 + row) * self.straight(nodes[None, :], scales[:, None]) for row in range(8)]
        text = [" Table", "  Ordr, Nfl, lambda", " 1. 5. 0.165 0 0 0.2 1.3 4.5 180.", "   NX,  NT,  NfMx", " 40 11 5"]
        text += ["QINI, QMAX, (QV(I), I =0, NT)", " 1.3 1e4", " ".join(map(repr, scales.tolist()))]
        text += ["XMIN, (XV(I), I =0, NX)", " 1e-6", " ".join(map(repr, nodes.tolist())), "Parton Distribution Table:"]
        text += [" ".join(map(repr, row.ravel().tolist())) for row in rows]
        folder = self.folder / "lib" / "Pdfdata"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cteq6l1.tbl").write_text(changed("\n".join(text) + "\n"))

    def test_a_table_of_cteq(self):
        self.write_table()
        table = _densities.Table(_pdfdata.locate(self.folder, "cteq6l1"))
        x, q = np.geomspace(3e-6, 0.99, 60)[:, None], np.array([1.35, 2.0, 91.0, 9e3, 2e4])
        for code, row in ((-5, 0), (5, 0), (21, 5), (2, 6), (1, 7), (-2, 4)):
            np.testing.assert_allclose(table.xf(code, x, q), (1 + row) * x * self.straight(x, q), rtol=1e-9)
        self.assertEqual(table.xf(2, 1.0 + 1e-9, 91.0), 0.0)
        for changed, said in (
            (lambda text: text[:-200], "numbers after its head, and should hold"),
            (lambda text: text.replace(" 40 11 5", " 40 11"), "line 5: it is no table of CTEQ6"),
        ):
            self.write_table(changed)
            with self.assertRaisesRegex(mebridge.Error, said):
                _densities.Table(_pdfdata.locate(self.folder, "cteq6l1"))
        (self.folder / "other.tbl").write_text("")
        with self.assertRaisesRegex(mebridge.Error, "is no set that MG5aMC puts into outputs"):
            _densities.Densities.read(self.folder / "other.tbl")

    def test_alpha_s_of_a_card(self):
        """It begins where it has its pole, and is no number but a small one."""
        self.assertEqual(_pdfdata.coupling(0.118).scales[0], 1.0)
        for at_z in (0.2, 0.3, 0.5):
            found = _pdfdata.coupling(at_z)
            self.assertGreater(found.scales[0], 1.0)
            self.assertTrue(np.isfinite(found.values).all() and (np.diff(found.values) < 0.0).all())
            self.assertAlmostEqual(found.at(91.188), at_z, delta=1e-3 * at_z)
        for wrong in (0, -0.1, 1, 1e400):
            (self.folder / "card.dat").write_text(f"BLOCK SMINPUTS\n 3 {wrong}\n")
            with self.subTest(wrong), self.assertRaisesRegex(mebridge.Error, "has alpha_s = .* .block SMINPUTS, 3.; it must be"):
                _pdfdata.coupling_of(Card.read(self.folder / "card.dat"))

    def test_alpha_s_of_one_loop(self):
        at_b = 0.13 / (1 + 0.13 * 23 / (6 * math.pi) * math.log(4.7 / 91.188))
        self.assertAlmostEqual(_pdfdata.alpha_s(4.7, 0.13, 1), at_b, places=12)
        at_2 = at_b / (1 + at_b * 25 / (6 * math.pi) * math.log(2.0 / 4.7))
        self.assertAlmostEqual(_pdfdata.coupling(0.13, 1).values[0], _pdfdata.alpha_s(1.0, 0.13, 1))
        self.assertAlmostEqual(_pdfdata.alpha_s(2.0, 0.13, 1), at_2, places=12)

    def test_alpha_s(self):
        self.assertAlmostEqual(_pdfdata.alpha_s(91.188, 0.13), 0.13, places=12)
        # The equation of two loops: d alpha / d ln Q^2 = -b alpha^2 (1 + c alpha), by a difference.
        for scale, flavors in ((300.0, 5), (3.0, 4), (1.2, 3)):
            b = (33 - 2 * flavors) / (12 * math.pi)
            c = (153 - 19 * flavors) / (2 * math.pi * (33 - 2 * flavors))
            step = 1e-4
            up, down = (_pdfdata.alpha_s(scale * math.exp(sign * step), 0.13) for sign in (1, -1))
            a = _pdfdata.alpha_s(scale, 0.13)
            self.assertAlmostEqual((up - down) / (4 * step), -b * a**2 * (1 + c * a), delta=1e-6 * a)
        for scale in (4.7, 1.42):
            below, above = (_pdfdata.alpha_s(scale * (1 + sign * 1e-9), 0.13) for sign in (-1, 1))
            self.assertAlmostEqual(below, above, places=7)
        found = _pdfdata.coupling(0.13)
        self.assertEqual((found.scales[0], found.scales[-1]), (1.0, 1e5))

    def test_what_is_missing_or_broken(self):
        with self.assertRaisesRegex(mebridge.Error, "nn23lo1 need"):
            _pdfdata.locate(self.folder, "nn23lo1")
        self.write()
        file = _pdfdata.locate(self.folder, "nn23lo1")
        file.write_text(file.read_text()[:-200])
        with self.assertRaisesRegex(mebridge.Error, "it ends too early; is it cut off"):
            _densities.Table(file)


@unittest.skipIf(OUTPUTS is None, "SKIPPED: whole runs; set MEBRIDGE_MG5_OUTPUTS to a folder of outputs (*.mad)")
class Outputs(Folder):
    def copy(self, name):
        source = pathlib.Path(OUTPUTS) / f"{name}.mad"
        if not source.is_dir():
            self.skipTest(f"SKIPPED: {source} is missing")
        place = self.folder / name
        ignored = shutil.ignore_patterns("*.o", "*.so", "*.a", "build.*")
        shutil.copytree(source, place, symlinks=True, ignore=ignored)
        return place

    def test_every_output_is_as_mg5amc_wrote_it(self):
        for place in sorted(pathlib.Path(OUTPUTS).glob("*.mad")):
            found = _output.Output(place)
            self.assertEqual(_written.changed(place, found.directories), [], place)
            for directory in found.directories:
                self.assertTrue(_output.Directory.read(directory).configs)

    def test_a_run_has_a_banner_and_goes_on(self):
        place = self.copy("gg_tt")
        run = mebridge.Run(place, run_card={"nevents": 600, "iseed": 4})
        found = run.generate()
        self.assertEqual((found.events, found.folder.name), (600, "run_01"))
        with gzip.open(found.output, "rt") as file:
            text = file.read()
        for block in ("MGVersion", "MG5ProcCard", "MGRunCard", "slha", "MGGenerationInfo"):
            self.assertIn(f"</{block}>", text)
        self.assertEqual(_run_card.parse(text.split("<MGRunCard>")[1])["iseed"], "4")
        self.assertEqual(text.count("<event>"), 600)
        head = text.split("<init>\n")[1].splitlines()[0].split()
        self.assertEqual(head[:2] + head[-2:], ["2212", "2212", "-4", "1"])
        # What MG5aMC's systematics reads.
        self.assertEqual(len(re.findall(r"<rscale>  2 \S+</rscale>\n<asrwt>0</asrwt>\n<pdfrwt beam=.1.>  1 +21 ", text)), 600)
        self.assertAlmostEqual(float(text.split("<event>\n")[1].split()[4]), 1 / 132.507, places=6)
        # The scale of a top pair is the geometric mean of their transverse masses.
        event = text.split("<event>\n")[1].splitlines()
        tops = np.array([line.split()[6:11] for line in event if line.split()[0] in ("6", "-6")], dtype=float)
        masses = np.sqrt((tops[:, 3] - tops[:, 2]) * (tops[:, 3] + tops[:, 2]))
        self.assertAlmostEqual(float(event[0].split()[3]), math.sqrt(masses.prod()), delta=1e-6)
        # What was surveyed stays, for a pack.
        self.assertTrue((found.folder / "state" / "survey").is_dir())
        self.assertEqual(list((found.folder / "state").glob("*.npy")), [])
        self.assertIn("21 21 6 -6", (found.folder / "summary.txt").read_text())
        again = mebridge.Run(place, run_card={"nevents": 600, "iseed": 4}).generate()
        self.assertEqual(again.folder.name, "run_02")
        self.assertEqual(again.cross_section, found.cross_section)
        with self.assertRaisesRegex(mebridge.Error, "holds the events of a run"):
            run.generate(name="run_01")
        # On workers, who weight its events as well.
        with futures.ThreadPoolExecutor(2) as executor:
            spread = run.generate(executor=executor)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            options = ["--workers", "2", "--seed", "4", "--nevents", "600", "--quiet"]
            self.assertEqual(_events_command.main([str(place), *options]), 0)
        files = [found.output, spread.output, pathlib.Path(said.getvalue().split()[-1])]
        events = {gzip.decompress(file.read_bytes()).partition(b"<event>")[2] for file in files}
        self.assertEqual((len(set(files)), len(events)), (3, 1))

    def test_beams_of_different_energies(self):
        place = self.copy("gg_tt")
        found = []
        for energies in ((6000, 6000), (4000, 9000)):
            beams = {"ebeam1": energies[0], "ebeam2": energies[1]}
            made = mebridge.Run(place, run_card=beams).generate(200, 3)
            arrays = mebridge.read_events(made.output)
            self.assertEqual(arrays.beams[1], energies)
            found.append((made.cross_section, arrays.momenta))
        self.assertEqual(found[0][0], found[1][0])
        # The same events in another frame.
        boost = 0.5 * math.log(4000 / 9000)
        np.testing.assert_allclose(_cuts.boosted(found[0][1], boost), found[1][1], rtol=1e-9, atol=1e-6)
        # Rapidities are those that are seen.
        cuts = {"eta_max_pdg": "{6: 0.7}", "ebeam1": 4000, "ebeam2": 9000}
        momenta = mebridge.read_events(mebridge.Run(place, run_card=cuts).generate(200, 3).output).momenta
        rapidity = np.arctanh(momenta[:, 2:, 3] / momenta[:, 2:, 0])
        self.assertLess(abs(rapidity).max(), 0.7)
        self.assertGreater(abs(rapidity).max(), 0.6)

    def test_antiprotons(self):
        """A quark of a proton is what an antiquark of an antiproton is; and so for both orders of the beams."""
        place = self.copy("nobm_pp_ttW")
        made = mebridge.Run(place, run_card={"lpp2": -1, "ickkw": 0, "xqcut": 0}).generate(1000, 3)
        arrays = mebridge.read_events(made.output)
        self.assertEqual(arrays.beams[0], (2212, -2212))
        incoming = arrays.particles[arrays.events["first"][:, None] + [0, 1]]
        codes = incoming["pdg_id"]
        self.assertTrue((incoming["pz"] * [1, -1] > 0).all())
        for quark in (2, 1):
            of_proton, of_anti = ((codes[:, beam] == code).sum() for beam, code in ((0, quark), (1, -quark)))
            self.assertGreater(of_proton, 50)
            self.assertLess(abs(of_proton - of_anti), 5 * math.sqrt(of_proton + of_anti))
            self.assertGreater(of_proton, 3 * (codes[:, 1] == quark).sum())

    def test_polarised_beams(self):
        place = self.copy("ee_mumu")
        file = place / "Cards" / "run_card.dat"
        text = file.read_text()
        with self.assertRaisesRegex(mebridge.Error, "polbeam1 = 50, and .* has 0"):
            mebridge.Run(place, run_card={"polbeam1": 50})
        file.write_text(_run_card.changed(text, {"polbeam1": 60, "polbeam2": -30}))
        made = mebridge.Run(place).generate(2000, 3)
        arrays = mebridge.read_events(made.output)
        spins = arrays.particles["spin"].reshape(2000, -1)[:, :2]
        # What each helicity has without polarisation, as it is weighted.
        process = mebridge.Process(str(made.folder.parents[1] / "SubProcesses" / "P1_epem_mupmum"))
        rows = process.helicities[:, :2]
        file.write_text(text)
        plain = mebridge.Process(str(place / "SubProcesses" / "P1_epem_mupmum"))
        shares = {}
        for row, spin in enumerate(rows.tolist()):
            values = np.asarray(plain.evaluate(arrays.momenta, helicity=np.full(2000, row)))
            by = np.prod([1 + pol * s for pol, s in zip((0.6, -0.3), spin)])
            shares[tuple(spin)] = shares.get(tuple(spin), 0.0) + values * by
        total = sum(shares.values())
        for spin, values in shares.items():
            share, count = values / total, (spins == spin).all(axis=1).sum()
            self.assertLess(abs(count - share.sum()), 5 * math.sqrt((share * (1 - share)).sum()) + 1e-9)

    def test_norms(self):
        place = self.copy("ee_mumu")
        for norm, mean in (("average", 1.0), ("sum", 1 / 400)):
            found = mebridge.Run(place, run_card={"event_norm": norm}).generate(400, 3)
            with gzip.open(found.output, "rt") as file:
                text = file.read()
            weights = [float(weight) for weight in re.findall(r"<event>\n *\d+ +\d+ (\S+)", text)]
            self.assertAlmostEqual(np.mean(weights) / (found.cross_section * mean), 1.0, places=6)


if __name__ == "__main__":
    unittest.main()
