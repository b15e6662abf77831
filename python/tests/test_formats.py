"""Events as arrays: of a run, and of files in each format."""

import gzip
import importlib.util
import json
import pathlib
import sys
import unittest
from unittest import mock

import numpy as np

from common import Folder, FolderHere, need
import mebridge

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))
import densities

MADSPACE = importlib.util.find_spec("madspace") is not None

# As MadEvent and its tools write it: attributes, comments, further weights, exponents of Fortran.
OTHER = """<LesHouchesEvents version="3.0">
<header>
<initrwgt><weightgroup name="x"><weight id="1"> one </weight></weightgroup></initrwgt>
</header>
<init>
 2212 2212 6.500D+03 6.5000e+03 0 0 247000 247000 -4 2
 1.5e+01 2.0e-02 1.5e+01 1
 2.5D+00 1.0e-02 2.5e+00 7
<generator name='MadGraph5_aMC@NLO' version='3.5.7'>please cite</generator>
</init>
<event id="0">
 4      7 -1.7500000e+01 9.11880000e+01 7.54677100e-03 1.30000000e-01
        2 -1    0    0  501    0 +0.0000000000e+00 +0.0000000000e+00 +1.0000000000e+01 1.0D+01 0.0 0.0e+00 1.0e+00
       -2 -1    0    0    0  501 -0.0000000000e+00 -0.0000000000e+00 -1.0000000000e+01 1.0D+01 0.0 0.0e+00 -1.0e+00
       13  1    1    2    0    0 +6.0000000000e+00 +0.0000000000e+00 +8.0000000000e+00 1.0D+01 0.0 0.0e+00 1.0e+00
      -13  1    1    2    0    0 -6.0000000000e+00 -0.0000000000e+00 -8.0000000000e+00 1.0D+01 0.0 0.0e+00 -1.0e+00
#aMCatNLO 2  5  3  3  1
<mgrwt>
<rscale>  0 0.91188000E+02</rscale>
</mgrwt>
<rwgt>
<wgt id='1'> +1.2500000e+01 </wgt>
<wgt id='muR=2'> 3 </wgt>
</rwgt>
</event>
<event>
 5 1 1.75e+01 50.0 0.0075 NaN
 21 -1 0 0 501 502 0 0 10 10 0 0 1
 21 -1 0 0 502 501 0 0 -10 10 0 0 1
 23 2 1 2 0 0 0 0 0 20 20 0 9
 11 1 3 3 0 0 6 0 8 10 0 0 1
 -11 1 3 3 0 0 -6 0 -8 10 0 0 -1
</event>
</LesHouchesEvents>
"""


class Files(Folder):
    def other(self):
        file = self.folder / "other.lhe"
        file.write_text(OTHER)
        return file

    def test_a_file_of_others(self):
        found = mebridge.read_events(self.other())
        self.assertEqual(repr(found), "<mebridge.EventArrays: 2 events, 9 particles, 2 further weights>")
        self.assertEqual(found.beams, ((2212, 2212), (6500, 6500)))
        self.assertEqual((found.densities, found.strategy), ((247000, 247000), -4))
        self.assertEqual(found.processes.tolist(), [(1, 15.0, 0.02, 15.0), (7, 2.5, 0.01, 2.5)])
        self.assertEqual(found.events["weight"].tolist(), [-17.5, 17.5])
        self.assertEqual(found.events["process_id"].tolist(), [7, 1])
        self.assertEqual(found.events["count"].tolist(), [4, 5])
        self.assertEqual(found.events["first"].tolist(), [0, 4])
        self.assertTrue(np.isnan(found.events["alpha_qcd"][1]))
        self.assertEqual(found.particles["pdg_id"].tolist(), [2, -2, 13, -13, 21, 21, 23, 11, -11])
        # What is in between is none of the legs.
        self.assertEqual(found.momenta.shape, (2, 4, 4))
        self.assertEqual(found.momenta[1, 2].tolist(), [10, 6, 0, 8])
        self.assertEqual(found.weight_names, ("1", "muR=2"))
        self.assertEqual(found.weights[0].tolist(), [12.5, 3.0])
        self.assertTrue(np.isnan(found.weights[1]).all())
        members = gzip.compress(OTHER[:700].encode()), gzip.compress(OTHER[700:].encode())
        (self.folder / "other.gz").write_bytes(b"".join(members))
        with mock.patch("mebridge._read._CHUNK", 100):
            again = mebridge.read_events(self.folder / "other.gz")
        self.assertTrue((again.particles == found.particles).all())

    def test_awkward(self):
        need("formats of events", "awkward")
        found = mebridge.read_events(self.other()).awkward()
        self.assertEqual(found.particles.pdg_id.tolist(), [[2, -2, 13, -13], [21, 21, 23, 11, -11]])
        self.assertEqual(found.weight.tolist(), [-17.5, 17.5])
        self.assertEqual(found.weights["muR=2"].tolist()[0], 3.0)

    def test_files_that_are_none(self):
        file = self.folder / "x.lhe"
        lines = OTHER.splitlines(keepends=True)
        for text, message in (
            ("", "has no <init>"),
            ("hello", "has no <init>"),
            ("".join(lines[:-1]), "is cut off"),
            ("".join(lines[:20]), "is cut off"),
            (OTHER.replace("501 502", "501 x"), "events from 0 on hold something else than numbers"),
            (OTHER.replace(" 5 1 1.75e+01", " 9 1 1.75e+01"), "event 1 does not have its 9 particles"),
            (OTHER.replace(" 5 1 1.75e+01", " a 1 1.75e+01"), "event 1 does not begin with a number"),
            (OTHER.replace("-4 2\n", "\n"), "<init> does not hold"),
            (OTHER.replace("+1.2500000e+01", "much"), "a weight is no number"),
        ):
            file.write_text(text)
            with self.subTest(message), self.assertRaisesRegex(mebridge.Error, message):
                mebridge.read_events(file)
        file.write_bytes(gzip.compress(OTHER.encode())[:-30])
        with self.assertRaisesRegex(mebridge.Error, "damaged gzip file"):
            mebridge.read_events(file)
        with self.assertRaisesRegex(mebridge.Error, "cannot be read: No such file"):
            mebridge.read_events(self.folder / "nothing")
        file.write_text(OTHER.replace(" 13  1    1", " 13  2    1"))
        with self.assertRaisesRegex(mebridge.Error, "events have 3 to 4 legs"):
            mebridge.read_events(file).momenta

    def test_damaged_ones(self):
        need("formats of events", "h5py", "pyarrow")
        import h5py
        import pyarrow
        import pyarrow.parquet

        file = self.folder / "x"
        file.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
        with self.assertRaisesRegex(mebridge.Error, "is no file of LHEH5"):
            mebridge.read_events(file)
        file.unlink()
        with h5py.File(file, "w") as made:
            made["version"] = [1, 0, 0]
        with self.assertRaisesRegex(mebridge.Error, r"is LHEH5 1\.0\.0; 2\.0 can be read"):
            mebridge.read_events(file)
        file.write_bytes(b"PAR1" + bytes(100))
        with self.assertRaisesRegex(mebridge.Error, "is no Parquet file"):
            mebridge.read_events(file)
        pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), file)
        with self.assertRaisesRegex(mebridge.Error, "is no Parquet file with events of mebridge"):
            mebridge.read_events(file)


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class Runs(FolderHere):
    def setUp(self):
        super().setUp()
        self.arguments = {
            "energy": 8000,
            "pdf": densities.write(self.folder),
            "cuts": {"pt": 30},
            "events": 1500,
            "state": self.folder / "state",
        }

    def generate(self, name=None):
        output = None if name is None else self.folder / name
        # Rounds of several sizes, of which a state makes each file again.
        with mock.patch.dict("mebridge._rounds._LEAST", cpu=700):
            return mebridge.generate_events("p p > t t~ j", output=output, **self.arguments)

    def same(self, found, expected, digits):
        self.assertEqual(len(found), 1500)
        for part in ("events", "particles", "processes"):
            mine, other = getattr(found, part), getattr(expected, part)
            self.assertEqual(mine.dtype, other.dtype)
            for name in mine.dtype.names:
                np.testing.assert_allclose(mine[name], other[name], rtol=digits, atol=digits, err_msg=name)
        for name in ("beams", "densities", "strategy", "weight_names"):
            self.assertEqual(getattr(found, name), getattr(expected, name))

    def test_arrays_without_a_file(self):
        run = self.generate()
        found = run.arrays
        self.assertEqual((run.output, run.events), (None, 1500))
        self.assertAlmostEqual(found.events["weight"].mean() / run.cross_section, 1, places=12)
        self.assertEqual(found.momenta.shape, (1500, 5, 4))
        total = found.momenta[:, :2].sum(axis=1) - found.momenta[:, 2:].sum(axis=1)
        self.assertLess(abs(total).max(), 1e-6)
        self.assertTrue((found.momenta[:, 0, 3] > 0).all())
        # |M|^2 is evaluated at them.
        gluons = found.processes["process_id"][0] == found.events["process_id"]
        process = mebridge.Process("g g > t t~ g")
        self.assertTrue((process.evaluate(found.momenta[gluons]) > 0).all())
        rounds = [json.loads(path.read_text()) for path in (self.folder / "state").glob("round*.json")]
        self.assertEqual(len(rounds), 2)
        points = sum(row[0] for part in rounds for row in part["channels"])
        self.assertAlmostEqual(run.efficiency * points / 1500, 1)
        self.assertEqual(set(run.seconds), {"start", "survey", "events"})
        # LHE is the same to its digits.
        for name in ("events.lhe", "events.lhe.gz"):
            self.same(self.generate(name).arrays, found, 1e-9)
            self.same(mebridge.read_events(self.folder / name), found, 1e-9)

    def test_parquet(self):
        need("formats of events", "pyarrow")
        import pyarrow.parquet

        self.generate("events.parquet")
        self.same(mebridge.read_events(self.folder / "events.parquet"), self.generate().arrays, 0.0)
        table = pyarrow.parquet.read_table(self.folder / "events.parquet")
        self.assertEqual(len(table["px"][3].as_py()), 5)

    def test_hdf5(self):
        need("formats of events", "h5py")
        import h5py

        self.generate("events.hdf5")
        expected = self.generate().arrays
        self.same(mebridge.read_events(self.folder / "events.hdf5"), expected, 0.0)
        self.generate("again.h5")
        self.assertEqual((self.folder / "events.hdf5").read_bytes(), (self.folder / "again.h5").read_bytes())
        # As LHAHDF5v2.h of Pythia reads it: some events at a time, so many particles from the first one's on.
        with h5py.File(self.folder / "events.hdf5") as file:
            self.assertEqual(file["version"][:].tolist(), [2, 0, 1])
            init, procs = file["init"][:], file["procInfo"][:]
            self.assertEqual(init[:4].tolist(), [2212, 2212, 4000, 4000])
            self.assertEqual((init[8], init[9]), (-4, len(procs)))
            names = list(file["events"].attrs[list(file["events"].attrs)[0]])
            self.assertEqual(names[9:], ["NOMINAL"])
            room = max(max(row[1], row[2] + 1) for row in procs)
            for first, count in ((0, 10), (700, 100), (1400, 100)):
                rows = file["events"][first : first + count]
                start = int(rows[0, 2])
                legs = file["particles"][start : start + int(count * room)]
                self.assertEqual(len(legs), count * room)
                for i, row in enumerate(rows):
                    begin = int(row[2] - rows[0, 2])
                    event = expected.events[first + i]
                    mine = legs[begin : begin + int(row[1])]
                    theirs = expected.particles[event["first"] : event["first"] + event["count"]]
                    self.assertEqual([list(map(float, leg)) for leg in theirs], mine.tolist())
                    self.assertEqual(procs[int(row[0]) - 1, 0], event["process_id"])
                    self.assertEqual(row[9], event["weight"])

    def test_packages_that_are_missing(self):
        """It is said before the events are made."""
        for package, name in (("h5py", "x.hdf5"), ("pyarrow", "x.parquet")):
            with mock.patch.dict(sys.modules, {package: None}):
                with self.assertRaisesRegex(mebridge.Error, f"files need {package}: pip install {package}"):
                    self.generate(name)
        self.assertFalse((self.folder / "state").exists())


if __name__ == "__main__":
    unittest.main()
