"""Packs, decays and overweight events from Python: the same files as from the command."""

import re
import tarfile

import mebridge

from common import FolderHere, command

PROCESS = "u d~ > w+ g"
CARD = {"lpp1": 0, "lpp2": 0, "ebeam1": 200, "ebeam2": 200, "ptj": 20}
ENTRIES = [word for entry in CARD.items() for word in ("--set", "{}={}".format(*entry))]
DECAYS = ["w+ > e+ ve", "w+ > mu+ vm"]


class FromPython(FolderHere):
    def setUp(self):
        super().setUp()
        self.run_ = mebridge.Run(PROCESS, run_card=CARD, folder=self.folder)

    def command(self, *arguments):
        status, _, err = command(*arguments)
        self.assertEqual(status, 0, err)

    def contents(self, file):
        with tarfile.open(file) as archive:
            return {one.name: archive.extractfile(one).read() for one in archive.getmembers() if one.isfile()}

    def test_packs(self):
        mine, other, plain = (self.folder / f"{name}.tar" for name in ("mine", "other", "plain"))
        few = {"nevents": 2000, "measured": 100}
        self.run_.pack(mine, **few, cms=True, overweight="unweight")
        options = ["--nevents", 2000, "--measured", 100, "--quiet", "--cms", "--overweight", "unweight"]
        self.command("pack", PROCESS, "--folder", self.folder, "-o", other, *options, *ENTRIES)
        found, wanted = self.contents(mine), self.contents(other)
        self.assertEqual(set(found), set(wanted))
        self.assertIn("runcmsgrid.sh", {name.rpartition("/")[2] for name in found})
        self.assertEqual([name for name in found if found[name] != wanted[name]], [])
        self.run_.pack(plain, **few)
        self.assertNotIn("runcmsgrid.sh", "".join(self.contents(plain)))
        with self.assertRaisesRegex(
            mebridge.Error, 'overweight is .all.; it must be one of "keep", "truncate", "unwei'
        ):
            self.run_.pack(plain, overweight="all")

    def test_a_pack_of_a_run(self):
        made = self.run_.generate(500, seed=1)
        file = self.folder / "run.tar"
        mebridge.Run.pack_run(made.folder, file, cms=True, overweight="truncate")
        self.assertIn("runcmsgrid.sh", "".join(self.contents(file)))

    def test_events_of_a_seed(self):
        """The files have the same bytes from both: with the weights as they are, and unweighted further."""
        for name, chosen, options in [
            ("kept", {}, []),
            ("unweighted", {"overweight": "unweight"}, ["--overweight", "unweight"]),
        ]:
            with self.subTest(name):
                made = self.run_.generate(3000, seed=5, name=f"{name}_mine", **chosen)
                options += ["--nevents", 3000, "--seed", 5, "--name", f"{name}_other", "--quiet"]
                self.command("events", PROCESS, "--folder", self.folder, *options, *ENTRIES)
                other = self.folder / "Events" / f"{name}_other" / "unweighted_events.lhe.gz"
                self.assertEqual(made.output.read_bytes(), other.read_bytes())

    def test_events_of_one_weight(self):
        made = self.run_.generate(3000, seed=5, overweight="unweight")
        self.assertEqual(len(set(made.arrays.events["weight"])), 1)
        keep = self.run_.generate(3000, seed=5)
        self.assertGreater(len(set(keep.arrays.events["weight"])), 1)
        with self.assertRaisesRegex(ValueError, 'overweight="truncate" is for LHE files'):
            mebridge.generate_events("g g > t t~", energy=500, overweight="truncate")
        with self.assertRaisesRegex(mebridge.Error, "overweight is 'all'; it must be one of"):
            self.run_.generate(10, overweight="all")

    def test_decays(self):
        made = self.run_.generate(200, seed=3, decays=DECAYS)
        self.assertEqual(made.decayed, made.folder / "unweighted_events_decayed.lhe.gz")
        again = self.folder / "again.lhe.gz"
        self.command("decay", made.output, *DECAYS, "--seed", 3, "-o", again)
        self.assertEqual(made.decayed.read_bytes(), again.read_bytes())
        own = self.folder / "own.lhe"
        given = mebridge.decay_events(made.output, DECAYS, output=own, seed=4, spinmode="none", bw_cut=5)
        self.assertEqual(given, own)
        bosons = mebridge.read_events(own).particles
        bosons = bosons[bosons["pdg_id"] == 24]
        self.assertEqual((len(bosons), set(bosons["status_code"])), (200, {2}))

    def test_decays_by_the_card_of_the_run(self):
        """The file of a process by its name has no card in its header."""
        card = self.folder / "card.dat"
        text, count = re.subn(r"(?m)^ *DECAY +24 +\S+", "DECAY 24 4.0", self.run_.param_card)
        self.assertEqual(count, 1)
        card.write_text(text)
        file = self.folder / "named.lhe"
        conditions = {"energy": 400, "cuts": {"pt": 20}, "events": 50}
        named = mebridge.generate_events("u d~ > w+ g", **conditions, output=file, card=card, decays=DECAYS)
        self.assertEqual(named.decayed, self.folder / "named_decayed.lhe")
        share = mebridge.read_events(named.decayed).processes["cross_section"].sum() / named.cross_section
        self.assertLess(abs(share / (2 * 0.1111 * 2.0476 / 4.0) - 1), 0.02)

    def test_decays_that_cannot_be(self):
        with self.assertRaisesRegex(TypeError, r"decays is 'w\+ > e\+ ve'; it must be a list"):
            self.run_.generate(10, decays="w+ > e+ ve")
        made = self.run_.generate(10, seed=1)
        self.assertIsNone(made.decayed)
        status, _, err = command("decay", made.output, "w+ > e+ ve~")
        self.assertEqual(status, 1)
        with self.assertRaises(mebridge.Error) as raised:
            mebridge.decay_events(made.output, ["w+ > e+ ve~"])
        self.assertEqual(f"mebridge: {raised.exception}", err.strip())
        with self.assertRaisesRegex(ValueError, "decays are for LHE files"):
            mebridge.generate_events("g g > t t~", energy=500, decays=["t > w+ b"])
        process = mebridge.Process("g g > t t~")
        process.parameters["mt"] = 170
        with self.assertRaisesRegex(ValueError, "decays are for a process by its name"):
            mebridge.generate_events(process, energy=500, output=self.folder / "x.lhe", decays=["t > w+ b"])
        with self.assertRaisesRegex(TypeError, "jobs of a pack have no decays"):
            mebridge.pack_events("g g > t t~", self.folder / "x.tar", energy=500, decays=["t > w+ b"])
        with self.assertRaisesRegex(mebridge.Error, "is read by this run"):
            mebridge.decay_events(made.output, DECAYS, output=made.output)
