"""Use of a pack in production by CMS and ATLAS: jobs with different seeds, merging, and weights found by number."""

import gzip
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np

import mebridge

import densities
import nanoaod
from common import command

try:
    import pylhe
except ImportError:
    pylhe = None
try:
    import pythia8mc as pythia8
except ImportError:
    pythia8 = None

PROCESS = "u d~ > w+ @0; add process u d~ > w+ g @1"
# Arguments of MG5aMC's systematics in genproductions.
ARGUMENTS = [
    *("--mur=1,2,0.5", "--muf=1,2,0.5", "--together=muf,mur", "--dyn=-1", "--alps=0.5,1,2"),
    *("--start_id=1001", "--pdf=errorset,other@1", "--remove_wgts=all"),
]


def with_members(folder, first, count):
    """The set of a folder with more members, which have more gluons, and a number of its own."""
    name = folder.name
    about = (folder / f"{name}.info").read_text()
    (folder / f"{name}.info").write_text(
        about.replace("SetIndex: 90000", f"SetIndex: {first}\nNumMembers: {count}\nErrorType: replicas")
    )
    lines = (folder / f"{name}_0000.dat").read_text().splitlines()
    values = np.loadtxt(lines[6:-1])
    for number in range(1, count):
        more = values.copy()
        more[:, densities.PARTONS.index(2)] *= 1 + 0.1 * number
        rows = [" ".join(f"{value:.10e}" for value in row) for row in more]
        (folder / f"{name}_{number:04}.dat").write_text("\n".join([*lines[:6], *rows, "---", ""]))


class Production(unittest.TestCase):
    """A pack in a read-only folder."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        sets = cls.folder / "sets"
        sets.mkdir()
        for name, first in (("toy", 90000), ("other", 91000)):
            with_members(densities.write(sets, name), first, 3)
        entries = ["pdlabel=lhapdf", "lhaid=toy", "ebeam1=4000", "ebeam2=4000", f"systematics_arguments={ARGUMENTS}"]
        tar = cls.folder / "w.tar"
        call = [
            str(mebridge.command()),
            "pack",
            PROCESS,
            "--cms",
            "-o",
            str(tar),
            "--nevents",
            "2000",
            "--measured",
            "2000",
            "--quiet",
        ]
        call += [word for entry in entries for word in ("--set", entry)]
        environment = {**os.environ, "LHAPDF_DATA_PATH": str(sets)}
        done = subprocess.run(call, cwd=cls.folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        cls.pack = cls.folder / "pack"
        with tarfile.open(tar) as archive:
            archive.extractall(cls.pack, filter="tar")
        cls.pack.chmod(stat.S_IMODE(cls.pack.stat().st_mode) & ~0o222)
        cls.addClassCleanup(cls.pack.chmod, 0o755)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def job(self, *arguments, script="runcmsgrid.sh", status=0):
        variables = {"PATH": "/usr/bin:/bin", "TMPDIR": str(self.folder)}
        call = [str(self.pack / script), *map(str, arguments)]
        done = subprocess.run(call, cwd=self.place, env=variables, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def merged(self):
        """Three consecutive CMS jobs in one folder, and their merged result."""
        files = []
        for seed in (1, 2, 3):
            self.job(200 + seed, seed, 1)
            files.append(self.place / f"job{seed}.lhe")
            (self.place / "cmsgrid_final.lhe").rename(files[-1])
        output = self.place / "all.lhe.gz"
        status, said, wrong = command("merge", *files, "--output", output)
        self.assertEqual((status, wrong), (0, ""))
        self.assertIn("606 events of 3 files", said)
        return files, output

    def test_jobs_are_merged(self):
        files, output = self.merged()
        found, jobs = mebridge.read_events(output), [mebridge.read_events(file) for file in files]
        arrays = found.arrays if hasattr(found, "arrays") else found
        self.assertEqual(len(arrays.events), 606)
        self.assertEqual(set(arrays.events["process_id"]), {0, 1})
        self.assertEqual(arrays.processes["process_id"].tolist(), [0, 1])
        for place in (0, 1):
            mean = sum(len(job.events) * job.processes["cross_section"][place] for job in jobs) / 606
            np.testing.assert_allclose(arrays.processes["cross_section"][place], mean, rtol=1e-8)
        np.testing.assert_allclose(arrays.events["weight"].mean(), arrays.processes["cross_section"].sum(), rtol=1e-6)
        np.testing.assert_allclose(arrays.processes["largest"], np.min(arrays.events["weight"]), rtol=1e-6)

    def test_weights_are_found_by_their_numbers(self):
        _, output = self.merged()
        arrays = mebridge.read_events(output)
        with gzip.open(output, "rt") as file:
            header = file.read().partition("<initrwgt>")[2].partition("</initrwgt>")[0]
        scales, members = nanoaod.weights(header, {"toy": 90000})
        wanted = [(1, 2), (1, 0.5), (2, 1), (2, 2), (2, 0.5), (0.5, 1), (0.5, 2), (0.5, 0.5)]
        # muf varies slowest.
        self.assertEqual(list(scales.items()), [(str(1001 + i), (mur, muf)) for i, (muf, mur) in enumerate(wanted)])
        # Emissions are two weights between.
        self.assertEqual(members, {"1011": 90000, "1012": 90001, "1013": 90002})
        self.assertEqual(list(arrays.weight_names), [str(number) for number in range(1001, 1015)])
        ratios = dict(zip(arrays.weight_names, (arrays.weights / arrays.events["weight"][:, None]).T))
        for number in ("1009", "1010", "1011"):
            np.testing.assert_allclose(ratios[number], 1, rtol=1e-6)
        self.assertGreater(ratios["1013"].mean(), 1.1)
        self.assertGreater(abs(ratios["1008"] - 1).mean(), 0.01)

    @unittest.skipIf(pylhe is None, "pylhe is not installed")
    def test_pylhe_reads_them(self):
        _, output = self.merged()
        file = pylhe.LHEFile.fromfile(str(output))
        self.assertEqual([int(process.procId) for process in file.init.procInfo], [0, 1])
        entries = file.header.initrwgt.entries
        groups = {entry.name: [weight.id for weight in entry.weights] for entry in entries if hasattr(entry, "weights")}
        self.assertEqual(groups["Central scale variation"], [str(number) for number in range(1001, 1009)])
        self.assertEqual(groups["toy"], ["1011", "1012", "1013"])
        events = list(file.events)
        self.assertEqual(len(events), 606)
        arrays = mebridge.read_events(output)
        for row in (0, 300, 605):
            self.assertAlmostEqual(events[row].weights["1013"] / arrays.weights[row, 12], 1, places=6)
            self.assertEqual(int(events[row].eventinfo.pid), arrays.events["process_id"][row])

    def test_they_are_showered(self):
        """Pythia reads all events, cross sections, masses and weights, and showers and hadronises the events."""
        if pythia8 is None:
            print("SKIPPED: showers of events: pythia8mc is not installed", file=sys.stderr)
            self.skipTest("pythia8mc is not installed")
        _, output = self.merged()
        arrays = mebridge.read_events(output)
        # Its wheel reads no compressed files.
        plain = self.place / "all.lhe"
        plain.write_bytes(gzip.decompress(output.read_bytes()))
        pythia = pythia8.Pythia("", False)
        for setting in (
            *("Print:quiet = on", "Beams:frameType = 4", f"Beams:LHEF = {plain}", "PartonLevel:MPI = off"),
            *("Random:setSeed = on", "Random:seed = 1"),
        ):
            self.assertTrue(pythia.readString(setting), setting)
        self.assertTrue(pythia.init())
        momenta, hadrons = [], 0
        for row, (event, weights) in enumerate(zip(arrays.events, arrays.weights)):
            self.assertTrue(pythia.next(), row)
            info, particles = pythia.infoPython(), pythia.event
            self.assertEqual(info.numberOfWeights(), 15)
            # The last ones by their numbers, which Pythia replaces from 1001 to 1009 with its names of aMC@NLO's weights.
            names = [info.weightNameByIndex(place) for place in range(15)]
            self.assertEqual(names[10:], [str(number) for number in range(1010, 1015)])
            values = [info.weightValueByIndex(place) for place in range(15)]
            np.testing.assert_allclose(values, [event["weight"], *weights], rtol=1e-6)
            final = [particles[place] for place in range(particles.size()) if particles[place].isFinal()]
            total = [sum(getattr(one, name)() for one in final) for name in ("e", "px", "py", "pz", "charge")]
            np.testing.assert_allclose(total, [8000, 0, 0, 0, 2], atol=1e-3)
            bosons = [place for place in range(particles.size()) if particles[place].id() == 24]
            self.assertAlmostEqual(particles[bosons[0]].m(), 80.419, places=3)
            momenta.append((event["process_id"], particles[bosons[-1]].pT()))
            hadrons += sum(one.isHadron() for one in final)
        self.assertFalse(pythia.next())
        info = pythia.infoPython()
        self.assertTrue(info.atEndOfFile())
        self.assertEqual(info.nAccepted(), 606)
        np.testing.assert_allclose(1e9 * info.sigmaGen(), arrays.processes["cross_section"].sum(), rtol=1e-6)
        # Radiation gives a transverse momentum to W bosons that have none in the file.
        alone = [momentum for number, momentum in momenta if number == 0]
        self.assertGreater(min(alone), 0)
        self.assertTrue(5 < np.mean(alone) < 40, np.mean(alone))
        self.assertGreater(hadrons / 606, 20)

    def test_a_failed_step_leaves_nothing(self):
        made = self.place / "cmsgrid_final.lhe"
        for arguments, said in (
            (("0", "1", "1"), "NEVENTS is 0; it must be a whole number from 1"),
            (("many", "1", "1"), "NEVENTS is 'many'"),
            (("10", "0", "1"), "SEED is 0"),
            (("10", "1", "0"), "NCPU is 0; it must be a whole number from 1 to 1024"),
            (("10", "1", "x"), "NCPU is 'x'"),
            (("10",), "runcmsgrid.sh takes NEVENTS SEED NCPU"),
        ):
            # What an earlier job left is not taken for what this one made.
            made.write_text("<LesHouchesEvents>")
            with self.subTest(arguments):
                self.assertIn(said, self.job(*arguments, status=1))
                if len(arguments) > 1:
                    self.assertEqual(list(self.place.iterdir()), [])
        # What chooses an environment is for other gridpacks.
        self.job(20, 5, 2, "false", "el8_amd64_gcc11", "CMSSW_13_0_14")
        self.assertEqual([path.name for path in self.place.iterdir()], ["cmsgrid_final.lhe"])
        self.assertEqual(made.read_text().count("<event>"), 20)

    def test_events_of_one_weight(self):
        rules = {"keep": 1.3, "truncate": 1, "unweight": 1}
        sections = {}
        for rule in rules:
            output = self.place / f"{rule}.lhe"
            self.job(1000, 7, "--quiet", "--output", output, "--overweight", rule, script="run.sh")
            arrays = mebridge.read_events(output)
            weights = arrays.events["weight"]
            self.assertEqual(len(weights), 1000)
            sections[rule] = arrays.processes["cross_section"].sum()
            np.testing.assert_allclose(weights.mean(), sections[rule], rtol=1e-6)
            self.assertEqual(len(set(weights)) == 1, rule != "keep")
        self.assertEqual(sections["keep"], sections["truncate"])
        np.testing.assert_allclose(sections["unweight"], sections["keep"], rtol=0.05)

    def test_files_that_do_not_fit(self):
        self.job(20, 5, 1)
        one = self.place / "one.lhe"
        (self.place / "cmsgrid_final.lhe").rename(one)
        text, other = one.read_text(), self.place / "other.lhe"
        for changed, said in (
            (text, "it begins with the event that"),
            (text[: text.rindex("</event>")], "was cut off"),
            (text[: text.rindex("</LesHouchesEvents>")], "it has no </LesHouchesEvents>"),
            (re.sub("<init>.*?</init>", "", text, flags=re.S), "it has no <init>"),
            (text.replace("4.0000000000e+03 4.0", "6.5000000000e+03 4.0"), "it has beams of 6500.0 GeV, 4000.0 GeV"),
            ("", "the file is empty"),
        ):
            other.write_text(changed)
            status, _, wrong = command("merge", one, other, "--output", self.place / "all.lhe")
            self.assertEqual(status, 1)
            self.assertIn(said, wrong)
            self.assertFalse((self.place / "all.lhe").exists())


if __name__ == "__main__":
    unittest.main()
