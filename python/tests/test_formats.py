"""Events as arrays: of a run, and of files in each format."""

import bz2
import dataclasses
import gzip
import lzma
import os
import shutil
import sys
from concurrent import futures
from unittest import mock

import numpy as np

import mebridge

import densities
from common import Folder, FolderHere, need

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
        # Intermediate particles are not legs.
        self.assertEqual(found.momenta.shape, (2, 4, 4))
        self.assertEqual(found.momenta[1, 2].tolist(), [10, 6, 0, 8])
        self.assertEqual(found.weight_names, ("1", "muR=2"))
        self.assertEqual(found.weights[0].tolist(), [12.5, 3.0])
        self.assertTrue(np.isnan(found.weights[1]).all())
        members = gzip.compress(OTHER[:700].encode()), gzip.compress(OTHER[700:].encode())
        packed = {
            "gz": b"".join(members) + bytes(1000),
            "bz2": bz2.compress(OTHER.encode()),
            "xz": lzma.compress(OTHER.encode()),
            "cr": OTHER.replace("\n", "\r").encode(),
            "mark": b"\xef\xbb\xbf" + OTHER.encode(),
        }
        for name, contents in packed.items():
            (self.folder / name).write_bytes(contents)
            with self.subTest(name):
                self.same(mebridge.read_events(self.folder / name), found)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with futures.ThreadPoolExecutor() as threads:
            writing = threads.submit(pipe.write_bytes, packed["gz"])
            self.same(mebridge.read_events(pipe), found)
            writing.result()

    def same(self, found, expected):
        for name in ("events", "particles", "processes", "weights"):
            self.assertEqual(getattr(found, name).tobytes(), getattr(expected, name).tobytes())
        for name in ("beams", "densities", "strategy", "weight_names"):
            self.assertEqual(getattr(found, name), getattr(expected, name))

    def test_two_files_are_read_and_said_so(self):
        file = self.folder / "two.lhe"
        file.write_text(OTHER * 2)
        line = OTHER.count("\n") + 1
        with self.assertWarnsRegex(UserWarning, f"two.lhe: line {line}: a second file begins") as warned:
            found = mebridge.read_events(file)
        self.assertEqual(warned.filename, __file__)
        self.assertEqual(found.events["weight"].tolist(), [-17.5, 17.5] * 2)
        file.write_text(OTHER + OTHER.replace("2.5D+00 ", "3.5D+00 "))
        with self.assertRaisesRegex(
            mebridge.Error, f"line {line}: a second file begins whose <init> says something else"
        ):
            mebridge.read_events(file)

    def test_many_events_and_weights_that_come_later(self):
        first, event, last = (
            OTHER.partition("<event>\n")[0],
            "<event>\n1 1 %d 1 1 1\n11 1 0 0 0 0 0 0 0 0 0 0 9\n%s</event>\n",
            OTHER[-20:],
        )
        first = first[: first.index("<event id")]
        more = "<rwgt><wgt id='late'>%d</wgt></rwgt>\n"
        events = [event % (i, more % i if i > 5000 and i % 2 else "") for i in range(9000)]
        file = self.folder / "many.lhe"
        file.write_text(first + "".join(events) + last)
        found = mebridge.read_events(file)
        self.assertEqual(found.events["weight"].tolist(), list(range(9000)))
        self.assertEqual(found.weight_names, ("late",))
        with_weights = np.arange(9000) * np.where((np.arange(9000) > 5000) & (np.arange(9000) % 2 == 1), 1, np.nan)
        np.testing.assert_array_equal(found.weights[:, 0], with_weights)

    def test_others_read_the_same(self):
        need("formats of events", "pylhe")
        import pylhe

        file = self.other()
        file.write_text(OTHER.replace("D+0", "E+0").replace(" 10 10 0", " 10 10.0 0"))
        found = mebridge.read_events(file)
        theirs = list(pylhe.LHEFile.fromfile(str(file)).events)
        self.assertEqual([event.eventinfo.weight for event in theirs], found.events["weight"].tolist())
        particles = [particle for event in theirs for particle in event.particles]
        for theirs_name, name in (
            ("id", "pdg_id"),
            ("px", "px"),
            ("pz", "pz"),
            ("e", "energy"),
            ("mother1", "mother1"),
        ):
            self.assertEqual([getattr(particle, theirs_name) for particle in particles], found.particles[name].tolist())
        self.assertEqual(dict(theirs[0].weights.items()), {"1": 12.5, "muR=2": 3.0})

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
            ("", "x.lhe: the file is empty"),
            ("hello", "is no event file .* begins with `hello`"),
            ("\0" * 4096, "is no event file"),
            ("<html>", "is cut off"),
            ("<html></html></LesHouchesEvents>", "has no <init>"),
            ("".join(lines[:-1]), "is cut off"),
            ("".join(lines[:20]), r"ends within event 1 \(from 1; line 11\)"),
            (
                OTHER.replace("501 502", "501 x"),
                r"event 2 \(from 1; line 26\): line 28 .* \(ICOLUP\(2\) is `x`, no integer\)",
            ),
            (OTHER.replace(" 5 1 1.75e+01", " 9 1 1.75e+01"), "line 33 is not that of a particle: `</event>`"),
            (OTHER.replace(" 5 1 1.75e+01", " a 1 1.75e+01"), "line 27 is no first line of an event"),
            (OTHER.replace(" 11 1 3 3", " 2.5 1 3 3"), "IDUP is `2.5`, no integer"),
            (OTHER.replace(" 11 1 3 3", " 1_1 1 3 3"), "IDUP is `1_1`, no integer"),
            (OTHER.replace(" 6 0 8 10 ", f" {'6' * 100_000} 0 8 10 "), "line 31 has a word of more than 1024 bytes"),
            (OTHER.replace("</event>\n<event>", "</event>\n<evemt>"), "line 26 has `<evemt>` after event 1"),
            (OTHER.replace("-4 2\n", "\n"), "<init> of line 5 does not hold"),
            (
                OTHER.replace("+1.2500000e+01", "much"),
                r"event 1 \(from 1; line 11\): line 22: the weight '1' is `much`, no number",
            ),
        ):
            file.write_text(text)
            with self.subTest(message), self.assertRaisesRegex(mebridge.Error, message):
                mebridge.read_events(file)
        for pack, what in ((gzip, "gzip"), (bz2, "bz2"), (lzma, "lzma")):
            file.write_bytes(pack.compress(OTHER.encode())[:-30])
            with self.assertRaisesRegex(mebridge.Error, f"x.lhe is a damaged {what} file"):
                mebridge.read_events(file)
        # Little on the disk, and more than a gigabyte of nothing.
        file.write_bytes(
            gzip.compress((OTHER[:-20] + "\n" * (1 << 20)).encode()) + gzip.compress(b"\n" * (1 << 24)) * 80
        )
        with self.assertRaisesRegex(mebridge.Error, "more than 67108864 bytes without an end of an event"):
            mebridge.read_events(file)
        for place, message in (("/dev/zero", "is no event file"), (self.folder, "cannot be read: Is a directory")):
            with self.assertRaisesRegex(mebridge.Error, message):
                mebridge.read_events(place)
        with mock.patch.dict(sys.modules, {"compression.zstd": None}):
            file.write_bytes(b"\x28\xb5\x2f\xfd and more")
            with self.assertRaisesRegex(
                mebridge.Error, r"is compressed \(zstd\), which this Python does not read; unpack it"
            ):
                mebridge.read_events(file)
        with self.assertRaisesRegex(mebridge.Error, "cannot be read: No such file"):
            mebridge.read_events(self.folder / "nothing")
        file.write_text(OTHER.replace(" 13  1    1", " 13  2    1"))
        with self.assertRaisesRegex(mebridge.Error, "events have 3 to 4 legs"):
            mebridge.read_events(file).momenta

    def test_a_file_of_others_as_hepmc(self):
        """Resonances are between what comes in and what goes out; names have no spaces, at which readers end."""
        need("formats of events", "pyhepmc")
        import pyhepmc

        file = self.other()
        file.write_text(OTHER.replace("muR=2", "muR = 2"))
        found = mebridge.read_events(file)
        with self.assertRaisesRegex(mebridge.Error, r"event 2 \(from 1\) has no weight '1', and in HepMC3 all"):
            mebridge.write_events(self.folder / "x.hepmc", found)
        self.assertFalse((self.folder / "x.hepmc").exists())
        found.weights[1] = 1.0, 2.0
        mebridge.write_events(self.folder / "x.hepmc", found)
        with pyhepmc.open(self.folder / "x.hepmc") as written:
            first, second = written
        self.assertEqual(first.weight_names, ["NOMINAL", "1", "muR_=_2"])
        self.assertEqual(first.weights, [-17.5, 12.5, 3.0])
        self.assertEqual([one.status for one in second.particles], [4, 4, 2, 1, 1])
        parents = [[mother.id for mother in one.parents] for one in second.particles]
        self.assertEqual(parents, [[], [], [1, 2], [3], [3]])
        self.assertNotIn("alphaQCD", second.attributes)
        self.assertAlmostEqual(first.cross_section.xsec(), 17.5)

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
        for version in ([0, 2, 0], [1, 0, 0], [3, 0, 0]):
            with h5py.File(file, "w") as made:
                made["version"] = version
            said = ".".join(map(str, version))
            with self.assertRaisesRegex(mebridge.Error, rf"is LHEH5 {said}; 2\.0 can be read"):
                mebridge.read_events(file)
        file.write_bytes(b"PAR1" + bytes(100))
        with self.assertRaisesRegex(mebridge.Error, "is no Parquet file"):
            mebridge.read_events(file)
        pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), file)
        with self.assertRaisesRegex(mebridge.Error, "is no Parquet file with events of mebridge"):
            mebridge.read_events(file)

    def test_rounds_and_pieces_of_hdf5(self):
        need("formats of events", "h5py")
        from mebridge import _arrays, _hdf5

        right = mebridge.read_events(self.other())
        right.events["alpha_qcd"][1] = 0.13

        def times(count):
            # The weight says which one it is.
            heads = np.tile(right.events, count)
            heads["weight"] = np.arange(2 * count)
            particles, weights = np.tile(right.particles, count), np.tile(right.weights, (count, 1))
            events = _arrays.events(heads, heads["count"])
            return dataclasses.replace(right, events=events, particles=particles, weights=weights)

        # Rounds within a piece, of one, and of several.
        parts, written = [times(count) for count in (1, 499, 500, 1751)], []
        for threads in (1, 3):
            file = self.folder / f"{threads}.h5"
            _hdf5.write(file, right, parts, 5502, 6, threads)
            written.append(file.read_bytes())
        self.assertEqual(*written)
        found = mebridge.read_events(file)
        heads = np.concatenate([part.events for part in parts])
        whole = dataclasses.replace(
            right,
            events=_arrays.events(heads, heads["count"]),
            particles=np.concatenate([part.particles for part in parts]),
            weights=np.concatenate([part.weights for part in parts]),
        )
        self.same(found, whole)

    def test_columns_of_hdf5(self):
        need("formats of events", "h5py")
        import h5py

        from mebridge import _hdf5

        right = mebridge.read_events(self.other())
        # One that others read has no NaN.
        right.events["alpha_qcd"][1] = 0.13
        head = dataclasses.replace(
            right, events=right.events[:0], particles=right.particles[:0], weights=right.weights[:0]
        )
        plain = self.folder / "plain.h5"
        _hdf5.write(plain, head, [right], 2, 6, 2)
        self.same(mebridge.read_events(plain), right)
        changed = self.folder / "changed.h5"

        def change(name, how):
            shutil.copy(plain, changed)
            with h5py.File(changed, "r+") as file:
                columns, rows = [str(one) for one in file[name].attrs["properties"]], np.atleast_2d(file[name][:])
                columns, rows = how(columns, rows) or (columns, rows)
                del file[name]
                file[name] = rows[0] if name == "init" else rows
                file[name].attrs["properties"] = columns

        for name in ("events", "particles", "procInfo", "init"):
            change(name, lambda columns, rows: (columns[::-1], rows[:, ::-1]))
            found = mebridge.read_events(changed)
            if name == "events":
                found = dataclasses.replace(
                    found, weight_names=found.weight_names[::-1], weights=found.weights[:, ::-1]
                )
            self.same(found, right)
        for name, column, row, value, message in (
            (
                "events",
                "start",
                1,
                -6,
                r"event 2 \(from 1\): 'start' is -6 and 'nparticles' 5, and there are 12 particles",
            ),
            ("events", "start", 1, 8, r"event 2 \(from 1\): 'start' is 8"),
            ("events", "start", 1, 6.5, r"event 2 \(from 1\): 'start' is 6.5, no integer"),
            ("events", "start", 1, np.nan, r"event 2 \(from 1\): 'start' is nan, no integer"),
            ("events", "start", 1, 3, r"event 2 \(from 1\): 'start' is 3, where a particle of event 1 is"),
            ("events", "start", 0, 1, r"event 1 \(from 1\): 'id' of a particle is 0: 'start' or 'nparticles' is wrong"),
            ("events", "start", 1, 1e30, r"event 2 \(from 1\): 'start' is 1e\+30, no integer"),
            ("events", "nparticles", 0, 0, r"event 1 \(from 1\): 'start' is 0 and 'nparticles' 0"),
            ("events", "nparticles", 0, 5, r"event 1 \(from 1\): 'id' of a particle is 0"),
            ("events", "pid", 0, 3, r"event 1 \(from 1\): 'pid' is 3, and there are 2 processes, from 1"),
            ("events", "pid", 0, 0, r"event 1 \(from 1\): 'pid' is 0"),
            ("events", "pid", 0, 1.5, r"event 1 \(from 1\): 'pid' is 1.5, no integer"),
            ("events", "NOMINAL", 1, np.nan, r"event 2 \(from 1\): 'NOMINAL' is nan, no finite number"),
            ("particles", "id", 7, 2.5, r"event 2 \(from 1\): 'id' is 2.5, no integer"),
            ("particles", "id", 7, 0, r"event 2 \(from 1\): 'id' of a particle is 0"),
            ("particles", "px", 0, np.nan, r"event 1 \(from 1\): 'px' is nan, no finite number"),
            ("particles", "status", 6, np.inf, r"event 2 \(from 1\): 'status' is inf, no integer"),
            ("procInfo", "procId", 0, 2.5, r"process 1 \(from 1\): 'procId' is 2.5, no integer"),
            ("init", "beamA", 0, 2.5, r"'beamA' is 2.5, no integer"),
        ):

            def put(columns, rows):
                rows[row, columns.index(column)] = value

            change(name, put)
            with self.subTest(message), self.assertRaisesRegex(mebridge.Error, message):
                mebridge.read_events(changed)
        for name, how, message in (
            ("events", lambda columns, rows: (columns, rows[:, 1:]), "its attribute names 12 columns"),
            ("events", lambda columns, rows: (["pid", *columns[1:-1], "pid"], rows), "has the column 'pid' twice"),
            (
                "particles",
                lambda columns, rows: (["code", *columns[1:]], rows),
                "'particles' of LHEH5 has no column 'id'",
            ),
            ("particles", lambda columns, rows: (columns, rows.astype("S9")), "'particles' of LHEH5 is"),
        ):
            change(name, how)
            with self.subTest(message), self.assertRaisesRegex(mebridge.Error, message):
                mebridge.read_events(changed)

    def test_columns_of_parquet(self):
        need("formats of events", "pyarrow")
        import pyarrow
        import pyarrow.parquet

        from mebridge import _parquet

        right = mebridge.read_events(self.other())
        head = dataclasses.replace(
            right, events=right.events[:0], particles=right.particles[:0], weights=right.weights[:0]
        )
        plain, changed = self.folder / "plain.parquet", self.folder / "changed.parquet"
        _parquet.write(plain, head, [right])
        self.same(mebridge.read_events(plain), right)
        table = pyarrow.parquet.read_table(plain)

        def read(**columns):
            other = table
            for name, values in columns.items():
                other = other.set_column(other.schema.get_field_index(name), name, values)
            pyarrow.parquet.write_table(other.replace_schema_metadata(table.schema.metadata), changed)
            return mebridge.read_events(changed)

        pyarrow.parquet.write_table(table.select(table.column_names[::-1]), changed)
        self.same(mebridge.read_events(changed), right)
        codes, px = table["pdg_id"].to_pylist(), table["px"].to_pylist()
        for columns, message in (
            (
                {"pdg_id": pyarrow.array([[2, -2.5, 13, -13], codes[1]])},
                "the column 'pdg_id' holds double, no integers",
            ),
            ({"pdg_id": pyarrow.array([["1_1"] * 4, ["11"] * 5])}, "the column 'pdg_id' holds string, no integers"),
            (
                {"pdg_id": pyarrow.array([[2**40] * 4, codes[1]])},
                r"event 1 \(from 1\): 'pdg_id' is 1099511627776, no integer",
            ),
            (
                {"pdg_id": pyarrow.array([codes[0], [21, None, 23, 11, -11]])},
                r"event 2 \(from 1\): 'pdg_id' is missing",
            ),
            ({"px": pyarrow.array([px[0], None])}, r"event 2 \(from 1\): 'px' is missing"),
            (
                {"px": pyarrow.array([px[0] + px[1][:1], px[1][1:]])},
                r"event 1 \(from 1\): 'px' is of another number of particles",
            ),
            ({"px": pyarrow.array([px[0], [np.nan] * 5])}, r"event 2 \(from 1\): 'px' is nan, no finite number"),
            ({"px": pyarrow.array([1.0, 2.0])}, "the column 'px' holds double, no lists"),
            (
                {"process_id": pyarrow.array([7, 8])},
                r"event 2 \(from 1\): 'process_id' is 8, which is none of the processes",
            ),
            ({"process_id": pyarrow.array([7, 2.5])}, "the column 'process_id' holds double, no integers"),
            ({"process_id": pyarrow.array(["7", "1"])}, "the column 'process_id' holds string, no integers"),
            ({"weight": pyarrow.array([1.0, None])}, r"event 2 \(from 1\): 'weight' is missing"),
            ({"weight": pyarrow.array([1.0, np.inf])}, r"event 2 \(from 1\): 'weight' is inf, no finite number"),
            ({"weight": pyarrow.array(["1", "1_1"])}, "the column 'weight' holds string, no numbers"),
        ):
            with self.subTest(message), self.assertRaisesRegex(mebridge.Error, message):
                read(**columns)


class Runs(FolderHere):
    def setUp(self):
        super().setUp()
        self.arguments = {
            "energy": 8000,
            "pdf": densities.write(self.folder),
            "cuts": {"pt": 30},
            "events": 10_001,
            "state": self.folder / "state",
        }

    def generate(self, name=None):
        output = None if name is None else self.folder / name
        # Two rounds, of which a state makes each file again.
        return mebridge.generate_events("p p > t t~ j", output=output, **self.arguments)

    def same(self, found, expected, digits):
        self.assertEqual(len(found), 10_001)
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
        self.assertEqual((run.output, run.events), (None, 10_001))
        self.assertAlmostEqual(found.events["weight"].mean() / run.cross_section, 1, places=12)
        self.assertEqual(found.momenta.shape, (10_001, 5, 4))
        total = found.momenta[:, :2].sum(axis=1) - found.momenta[:, 2:].sum(axis=1)
        self.assertLess(abs(total).max(), 1e-6)
        self.assertTrue((found.momenta[:, 0, 3] > 0).all())
        # |M|^2 is evaluated at them.
        gluons = found.processes["process_id"][0] == found.events["process_id"]
        process = mebridge.Process("g g > t t~ g")
        self.assertTrue((process.evaluate(found.momenta[gluons]) > 0).all())
        self.assertEqual(len(list((self.folder / "state").glob("round*.npy"))), 2)
        self.assertTrue(0.0 < run.efficiency < 1.0)
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
        # As LHAHDF5v2.h of Pythia reads it: some events at a time, and the number of their particles from the first one on.
        with h5py.File(self.folder / "events.hdf5") as file:
            self.assertEqual(file["version"][:].tolist(), [2, 0, 1])
            init, procs = file["init"][:], file["procInfo"][:]
            self.assertEqual(init[:4].tolist(), [2212, 2212, 4000, 4000])
            self.assertEqual((init[8], init[9]), (-4, len(procs)))
            names = list(file["events"].attrs[next(iter(file["events"].attrs))])
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

    def test_hepmc(self):
        need("formats of events", "pyhepmc")
        import pyhepmc

        self.arguments["events"] = 50
        names = "events.hepmc", "events.hepmc.gz"
        for name in names:
            self.generate(name)
        plain, packed = (self.folder / name for name in names)
        self.assertEqual(gzip.decompress(packed.read_bytes()), plain.read_bytes())
        expected = self.generate().arrays
        with pyhepmc.open(packed) as file:
            self.hepmc(file, expected)
        # A particle is as HepMC3's own reader of LHE files has it.
        lhe = self.folder / "events.lhe"
        self.generate(lhe.name)
        with pyhepmc.open(plain) as file, pyhepmc.open(lhe) as others:
            for event, other in zip(file, others, strict=True):
                for mine, its in zip(event.particles, other.particles, strict=True):
                    self.assertEqual((mine.pid, mine.status), (its.pid, its.status))
                    self.assertLess(max(abs(a - b) for a, b in zip(mine.momentum, its.momentum)), 1e-6)
                    for of in ("parents", "children"):
                        self.assertEqual([one.id for one in getattr(mine, of)], [one.id for one in getattr(its, of)])
                self.assertLess(abs(event.weights[0] / other.weights[0] - 1), 1e-8)

    def hepmc(self, events, expected):
        """Events of HepMC3 are those of arrays, in every bit of their momenta and weights."""
        sums = expected.processes["cross_section"].sum(), np.sqrt((expected.processes["error"] ** 2).sum())
        for number, event in enumerate(events):
            head = expected.events[number]
            self.assertEqual(
                (event.event_number, event.momentum_unit.name, event.length_unit.name), (number, "GEV", "MM")
            )
            self.assertEqual(event.weight_names, ["NOMINAL", *expected.weight_names])
            self.assertEqual(event.weights, [head["weight"], *expected.weights[number]])
            found = event.cross_section.xsec(), event.cross_section.xsec_err()
            np.testing.assert_allclose(found, sums, rtol=1e-7)
            self.assertAlmostEqual(event.attributes["event_scale"].astype(float) / head["scale"], 1, places=13)
            self.assertEqual(event.attributes["signal_process_id"].astype(int), head["process_id"])
            particles = expected.particles[head["first"] : head["first"] + head["count"]]
            self.assertEqual(len(event.particles), len(particles))
            for mine, its in zip(event.particles, particles):
                momentum = [its[name] for name in ("px", "py", "pz", "energy")]
                self.assertEqual([*mine.momentum, mine.generated_mass], [*momentum, its["mass"]])
                status = {-1: 4}.get(int(its["status_code"]), its["status_code"])
                self.assertEqual((mine.pid, mine.status), (its["pdg_id"], status))
                last = its["mother2"] or its["mother1"]
                mothers = list(range(its["mother1"], last + 1)) if its["mother1"] else []
                self.assertEqual([one.id for one in mine.parents], mothers)
                for child in mine.children:
                    self.assertIn(mine.id, [one.id for one in child.parents])
                flows = [
                    mine.attributes[name].astype(int) if name in mine.attributes else 0 for name in ("flow1", "flow2")
                ]
                self.assertEqual(flows, [its["color"], its["anti_color"]])
        self.assertEqual(number + 1, len(expected))

    def test_all_formats_have_all_weights(self):
        need("formats of events", "h5py", "pyarrow", "pyhepmc")
        import pyhepmc

        self.arguments.update(events=200, systematics=["scale"])
        self.generate("events.lhe")
        of_lhe = mebridge.read_events(self.folder / "events.lhe")
        names = of_lhe.weight_names
        self.assertEqual(len(names), 6)
        for name in ("events.hdf5", "events.parquet"):
            self.generate(name)
            found = mebridge.read_events(self.folder / name)
            self.assertEqual(found.weight_names, names)
            np.testing.assert_allclose(found.weights, of_lhe.weights, rtol=1e-6)
            # As a file of others, read and written.
            again = self.folder / f"again.{name}"
            mebridge.write_events(again, found)
            for one, other in ((found, mebridge.read_events(again)),):
                for part in ("events", "particles", "processes", "weights"):
                    self.assertEqual(getattr(one, part).tobytes(), getattr(other, part).tobytes())
        self.generate("events.hepmc")
        with pyhepmc.open(self.folder / "events.hepmc") as file:
            for event, weights in zip(file, of_lhe.weights, strict=True):
                self.assertEqual(event.weight_names, ["NOMINAL", *names])
                np.testing.assert_allclose(event.weights[1:], weights, rtol=1e-6)
        mebridge.write_events(self.folder / "again.hepmc", found)
        with pyhepmc.open(self.folder / "again.hepmc") as file:
            self.hepmc(file, found)
        with self.assertRaisesRegex(mebridge.Error, "x.lhe ends with none of .hdf5, .h5, .parquet, .hepmc"):
            mebridge.write_events(self.folder / "x.lhe", found)

    def test_packages_that_are_missing(self):
        """It is said before the events are made."""
        for package, name in (("h5py", "x.hdf5"), ("pyarrow", "x.parquet"), ("pyhepmc", "x.hepmc.gz")):
            with mock.patch.dict(sys.modules, {package: None}):
                with self.assertRaisesRegex(mebridge.Error, f"files need {package}: pip install {package}"):
                    self.generate(name)
        self.assertFalse((self.folder / "state").exists())
