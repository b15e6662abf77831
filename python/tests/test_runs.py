"""mebridge.Run: run cards, cuts, densities and scales of an output of MG5aMC, and whole runs of real ones."""

import contextlib
import gzip
import io
import math
import os
import pathlib
import re
import shutil
import unittest
from concurrent import futures
from unittest import mock

import numpy as np

import mebridge

from common import Folder, events_command

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


def boosted(momenta, rapidity):
    """In a frame that moves along z."""
    found, (cosh, sinh) = momenta.copy(), (math.cosh(rapidity), math.sinh(rapidity))
    found[..., 0] = cosh * momenta[..., 0] + sinh * momenta[..., 3]
    found[..., 3] = sinh * momenta[..., 0] + cosh * momenta[..., 3]
    return found


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


class Files(Folder):
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

    def test_the_command_says_what_is_wrong(self):
        with mock.patch("sys.stderr") as said:
            self.assertEqual(events_command([str(self.folder)]), 1)
        self.assertIn("no output of MG5aMC", "".join(call.args[0] for call in said.write.call_args_list))
        with mock.patch("sys.stderr") as said:
            self.assertEqual(events_command([str(self.folder), "--set", "ptj"]), 2)
        self.assertIn("ENTRY=VALUE", "".join(call.args[0] for call in said.write.call_args_list))


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

    def test_a_run_has_a_banner_and_goes_on(self):
        place = self.copy("gg_tt")
        run = mebridge.Run(place, run_card={"nevents": 600, "iseed": 4})
        found = run.generate()
        self.assertEqual((found.events, found.folder.name), (600, "run_01"))
        with gzip.open(found.output, "rt") as file:
            text = file.read()
        for block in ("MGVersion", "MG5ProcCard", "MGRunCard", "slha", "MGGenerationInfo"):
            self.assertIn(f"</{block}>", text)
        self.assertEqual(re.search(r"\n *(\S+) *= *iseed", text)[1], "4")
        self.assertEqual(text.count("<event>"), 600)
        head = text.split("<init>\n")[1].splitlines()[0].split()
        self.assertEqual(head[:2] + head[-2:], ["2212", "2212", "-4", "1"])
        # What MG5aMC's systematics reads.
        self.assertEqual(
            len(re.findall(r"<rscale>  2 \S+</rscale>\n<asrwt>0</asrwt>\n<pdfrwt beam=.1.>  1 +21 ", text)), 600
        )
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
        with self.assertRaisesRegex(mebridge.Error, "holds 600 events of a run; ask for more"):
            run.generate(name="run_01")
        # On workers, who weight its events as well.
        with futures.ThreadPoolExecutor(2) as executor:
            spread = run.generate(executor=executor)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            options = ["--workers", "2", "--seed", "4", "--nevents", "600", "--quiet"]
            self.assertEqual(events_command([str(place), *options]), 0)
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
        np.testing.assert_allclose(boosted(found[0][1], boost), found[1][1], rtol=1e-9, atol=1e-6)
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
        file.write_text(
            re.sub(r"(?m)^ *\S+( *= *polbeam1)", r"60\1", re.sub(r"(?m)^ *\S+( *= *polbeam2)", r"-30\1", text))
        )
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
