"""Packs: their contents, their jobs, and damaged packs."""

import gzip
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
import unittest

import numpy as np

import mebridge

from common import Folder

OUTPUTS = os.environ.get("MEBRIDGE_MG5_OUTPUTS")
PROCESS = {"process": "e+ e- > mu+ mu-", "energy": 200.0}
# Variables of a machine that has another Python in its environment, and of people with other habits.
FOREIGN = {
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "LD_LIBRARY_PATH": "/nowhere",
    "CUDACPP_RUNTIME_SIMD": "none",
    "CUDACPP_RUNTIME_BACKEND": "cuda",
    "MEBRIDGE_LIBRARY": "/nowhere",
    "LANG": "tr_TR.UTF-8",
}


def momenta(text):
    """The lines of all particles."""
    return [line.split()[6:11] for line in text.splitlines() if re.match(r" *-?\d+ +(1|-1) +\d+ +\d+ +\d+ +\d+ ", line)]


class Jobs(unittest.TestCase):
    """Jobs of a pack in a read-only folder."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        tar = cls.folder / "ee.tar"
        mebridge.pack_events(**PROCESS, output=tar, events=10_000, measured=1000, systematics=["scale"])
        # A quote, a space and a dollar.
        cls.pack = cls.folder / "of 'ours' $x"
        with tarfile.open(tar) as archive:
            archive.extractall(cls.pack, filter="tar")
        tar.unlink()
        for path in [cls.pack, *cls.pack.rglob("*")]:
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
        cls.addClassCleanup(cls.writable)

    @classmethod
    def writable(cls):
        for path in [cls.pack, *(path for path in cls.pack.rglob("*") if path.is_dir())]:
            path.chmod(0o755)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def job(self, *arguments, status=0, pack=None, **environment):
        script = str((pack or self.pack) / "run.sh")
        call = [script, *map(str, arguments), *([] if "--help" in arguments else ["--quiet"])]
        # Nothing of this environment.
        variables = {"PATH": "/usr/bin:/bin", "TMPDIR": str(self.folder), **environment}
        done = subprocess.run(call, cwd=self.place, env=variables, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def events(self, *arguments, **environment):
        self.job(*arguments, **environment)
        made = self.place / "events.lhe.gz"
        found = made.read_bytes()
        made.unlink()
        return found

    def test_a_seed_gives_the_same_file_and_another_one_other_events(self):
        before = set(self.pack.rglob("*"))
        first = self.events(60, 1)
        self.assertEqual(self.events(60, 1, **FOREIGN), first)
        other = self.events(60, 2)
        one, two = (momenta(gzip.decompress(found).decode()) for found in (first, other))
        self.assertEqual((len(one), len(two)), (240, 240))
        # Beams are the same in all.
        moving = [{tuple(p) for p in found if float(p[0]) or float(p[1])} for found in (one, two)]
        self.assertEqual([len(found) for found in moving], [120, 120])
        self.assertEqual(moving[0] & moving[1], set())
        self.assertEqual(set(self.pack.rglob("*")), before)
        self.assertEqual([path for path in self.folder.iterdir() if path.name.startswith("mebridge-")], [])
        header = json.loads(re.search(r"<mebridge>\n(.*)\n</mebridge>", gzip.decompress(first).decode(), re.DOTALL)[1])
        self.assertEqual((header["events"], header["seed"], header["surveyed_events"]), (60, 1, 10_000))
        # Without alpha_s its scale changes nothing.
        self.assertEqual(
            set(re.findall(r"<wgt id='(.*?)'>", gzip.decompress(first).decode())), {"MUR=0.5__MUF=1", "MUR=2__MUF=1"}
        )
        # QED at 200 GeV with the Z.
        total = float(re.search(r"<init>\n.*\n(\S+)", gzip.decompress(first).decode())[1])
        self.assertGreater(total, 2.0)
        self.assertLess(total, 4.0)

    def test_what_a_job_refuses(self):
        (self.place / "events.lhe.gz").write_text("mine")
        for arguments, wanted in (
            ((5, 1), "events.lhe.gz is there already"),
            ((5, 0, "-o", "x.lhe"), "SEED is 0; it must be a whole number from 1"),
            ((0, 1, "-o", "x.lhe"), "NEVENTS is 0"),
            (("1e3", 1, "-o", "x.lhe"), "NEVENTS is '1e3'"),
            ((5, 1, "-o", "nowhere/x.lhe"), "nowhere/x.lhe cannot be written: No such file or directory"),
        ):
            self.assertIn(wanted, self.job(*arguments, status=1).stderr)
        self.assertEqual((self.place / "events.lhe.gz").read_text(), "mine")
        self.assertEqual(len(list(self.place.iterdir())), 1)
        self.assertIn("<NEVENTS> <SEED>", self.job("--help").stdout)

    def test_no_colons_in_its_path(self):
        place = self.place / "a:b"
        place.mkdir()
        shutil.copyfile(self.pack / "run.sh", place / "run.sh")
        (place / "run.sh").chmod(0o755)
        self.assertIn("colon", self.job(1, 1, pack=place, status=1).stderr)


class Packs(Folder):
    def test_what_cannot_be_packed(self):
        for name, wanted in (("x.zip", "its name must end"), ("nowhere/x.tar", "cannot be written")):
            with self.assertRaisesRegex((ValueError, mebridge.Error), wanted):
                mebridge.pack_events(**PROCESS, output=self.folder / name)
        with self.assertRaisesRegex(mebridge.Error, "backend cpu"):
            mebridge.pack_events(**PROCESS, output=self.folder / "x.tar", device="cuda")
        with self.assertRaisesRegex(mebridge.Error, "simd is"):
            mebridge.pack_events(**PROCESS, output=self.folder / "x.tar", simd="mmx")
        with self.assertRaisesRegex(mebridge.Error, "holds no survey"):
            mebridge.pack_events(**PROCESS, output=self.folder / "x.tar", state=self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])


@unittest.skipIf(OUTPUTS is None, "SKIPPED: packs of outputs; set MEBRIDGE_MG5_OUTPUTS to a folder of outputs (*.mad)")
class Outputs(Folder):
    def test_jobs_go_by_the_cards(self):
        place = self.folder / "out put"
        shutil.copytree(pathlib.Path(OUTPUTS) / "gg_ttg.mad", place)
        found = mebridge.Run(place, run_card={"ptj": 30.0}).generate(500, 3)
        tar = self.folder / "x.tar"
        packed = [str(mebridge.command()), "pack", str(found.folder), "-o", str(tar), "--quiet"]
        subprocess.run(packed, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(place)
        with tarfile.open(tar) as archive:
            archive.extractall(self.folder / "pack", filter="tar")
        subprocess.run([str(self.folder / "pack" / "run.sh"), "300", "1", "--quiet"], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        text = gzip.decompress((self.folder / "events.lhe.gz").read_bytes()).decode()
        card = text.split("<MGRunCard>")[1]
        self.assertRegex(card, r"\b300 += nevents")
        self.assertRegex(card, r"\b30(\.0)? += ptj")
        self.assertEqual(text.count("<event>"), 300)
        # All points of the run count for the jobs.
        total, error = map(float, re.search(r"<init>\n.*\n(\S+) (\S+)", text).groups())
        self.assertLess(abs(total - found.cross_section), 4.0 * found.error)
        self.assertLess(error, found.error * 1.05)
        gluons = [np.hypot(*map(float, line.split()[6:8])) for line in text.splitlines()
                  if line.split()[:2] == ["21", "1"]]  # fmt: skip
        self.assertEqual(len(gluons), 300)
        self.assertGreaterEqual(min(gluons), 30.0)
