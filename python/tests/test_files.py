"""Records of events and their text."""

from __future__ import annotations

import gzip
import os
import pathlib
import unittest
from unittest import mock

import numpy as np

from common import Folder
from mebridge import Error, _lhe, _records

try:
    import madspace
except ImportError:
    madspace = None

BEAMS = _lhe.Beams.equal((2212, 2212), 13_000.0, 0)


def some(events: int, room: int, seed: int = 1) -> np.ndarray:
    """Records of all kinds of numbers; each event has two particles that come in, the first along +z, and others."""
    random = np.random.default_rng(seed)
    records = np.zeros(events, _records.layout(room))
    for name in records.dtype.names:
        kind = records.dtype[name]
        whole = random.integers(-30, 600, events)
        number = random.normal(size=events) * 10.0 ** random.integers(-12, 13, events)
        number[random.random(events) < 0.1] = 0.0
        records[name] = whole if kind.kind == "i" else number
    for i, way in ((1, 1.0), (2, -1.0)):
        records[f"part{i}_status_code"], records[f"part{i}_pdg_id"] = -1, 21
        records[f"part{i}_pz"] = way * (1.0 + np.abs(records[f"part{i}_pz"]))
    for i in range(3, room + 1):
        records[f"part{i}_pdg_id"] = 1 + np.abs(records[f"part{i}_pdg_id"])
    # The last particle of every other event is none.
    for name in records.dtype.names:
        if name.startswith(f"part{room}_"):
            records[name][::2] = 0
    records["weight"] = 2.0
    return records


def by_madspace(record: np.void, room: int) -> str:
    """The text of an event as MadSpace writes it."""
    particles = [
        madspace.LHEParticle(*(record[f"part{i}_{name}"] for name, _ in _records.PARTICLE))
        for i in range(1, room + 1)
        if record[f"part{i}_pdg_id"]
    ]
    names = ("process_id", "weight", "scale", "alpha_qed", "alpha_qcd")
    return madspace.LHEEvent(*(record[name] for name in names), particles).format()


def weights_of(path, events):
    return np.array(_records.nested(_records.read(path, events))["weight"])


class Files(Folder):
    def save(self, name: str, records: np.ndarray) -> pathlib.Path:
        path = self.folder / name
        np.save(path, records)
        return path

    def write(self, name: str, rounds: list[np.ndarray], threads: int = 1) -> bytes:
        parts = []
        for i, records in enumerate(rounds):
            path = self.save(f"round{i}.npy", records)
            parts.append((path, len(records), _lhe.weights(path, weights_of(path, len(records)))))
        _lhe.write(self.folder / name, parts, 5.0, BEAMS, [("all", 5.0, 0.1)], "{}", threads)
        return (self.folder / name).read_bytes()

    @unittest.skipIf(madspace is None, "MadSpace is missing")
    def test_events_are_what_madspace_writes(self):
        records = some(500, 6)
        text = bytes(_lhe._events(records, 1.0)).decode()
        self.assertEqual(text, "".join(by_madspace(record, 6) for record in records))

    def test_files_are_the_same_with_many_threads_and_compressed(self):
        rounds = [some(25_000, 4, 1), some(300, 4, 2), some(1, 4, 3)]
        plain = self.write("x.lhe", rounds)
        self.assertEqual(plain.count(b"<event>"), 25_301)
        self.assertTrue(plain.endswith(b"</event>\n</LesHouchesEvents>\n"))
        self.assertEqual(plain, self.write("y.lhe", rounds, threads=3))
        packed = self.write("x.lhe.gz", rounds)
        self.assertEqual(packed, self.write("y.lhe.gz", rounds, threads=3))
        self.assertEqual(gzip.decompress(packed), plain)

    def test_texts_are_written_in_their_order(self):
        texts = [bytes([i]) * (1 + 97 * i % 53) for i in range(40)]
        before = os.pwrite
        # A file system may take less than it is given.
        with mock.patch("os.pwrite", lambda file, text, place: before(file, text[:7], place)):
            with open(self.folder / "texts", "xb") as file:
                _lhe._store(file.fileno(), texts, 3)
        self.assertEqual((self.folder / "texts").read_bytes(), b"".join(texts))
        with self.assertRaises(OSError), open("/dev/full", "wb") as file:
            _lhe._store(file.fileno(), texts, 3)

    def test_weights_average_to_the_cross_section(self):
        rounds = [some(100, 3, 1), some(50, 3, 2)]
        rounds[1]["weight"] = 6.0
        rounds[1]["weight"][7] *= 1.5
        text = self.write("x.lhe", rounds).decode()
        weights = [float(line.split()[2]) for line in text.split("<event>\n")[1:]]
        self.assertAlmostEqual(sum(weights) / 150, 5.0, places=7)
        self.assertEqual(len(set(weights)), 2)

    def test_files_that_are_not_whole_are_refused(self):
        records = some(1000, 4)
        path = self.save("x.npy", records)
        data = path.read_bytes()
        for cut in (0, 5, 100, 1000, len(data) - 1, len(data) // 2):
            path.write_bytes(data[:cut])
            with self.assertRaisesRegex(Error, "1000 events"):
                _lhe.weights(path, weights_of(path, 1000))
        path.write_bytes(data + b"x")
        with self.assertRaisesRegex(Error, "1000 events"):
            _lhe.weights(path, weights_of(path, 1000))
        path.write_bytes(data)
        with self.assertRaisesRegex(Error, "999 events"):
            _lhe.weights(path, weights_of(path, 999))
        for bad in (np.nan, np.inf, -np.inf, 0.0):
            records["weight"][-1] = bad
            with self.assertRaisesRegex(Error, "1000 events"):
                path = self.save("x.npy", records)
                _lhe.weights(path, weights_of(path, 1000))
        with self.assertRaisesRegex(Error, "other fields"):
            weights_of(self.save("x.npy", np.ones(3, [("weight", "f8")])), 3)

    def test_numbers_that_no_file_can_hold_are_refused(self):
        records = some(20_000, 4)
        records["part3_px"][12_345] = np.nan
        with self.assertRaisesRegex(Error, r"event 2345 \(from 0\): a number is infinite or NaN"):
            self.write("x.lhe", [records], threads=2)
        self.assertFalse((self.folder / "x.lhe").exists())
        self.assertEqual([path.name for path in self.folder.iterdir()], ["round0.npy"])

    def test_what_weights_of_other_scales_need(self):
        """MadEvent's <mgrwt>, before further weights."""
        records = some(7, 5)
        records["process_id"] = [1, 2, 1, 2, 1, 2, 1]
        records["part1_energy"], records["part2_energy"], records["alpha_qcd"] = 650.0, 65.0, 0.1
        path = self.save("round.npy", records)
        scales = np.arange(28.0).reshape(7, 4) + 1.0
        np.save(_records.scales(path), scales)
        np.save(_records.ratios(path), np.full((7, 1), 0.5))
        rounds = [(path, 7, _lhe.weights(path, weights_of(path, 7)))]
        for codes, names in (((2212, 2212), ("a",)), ((11, 2212), ())):
            beams = _lhe.Beams(codes, (6500.0, 6500.0), (0, 0))
            beside = _lhe.Beside(beams, (2, 3))
            _lhe.write(self.folder / "events.lhe", rounds, 2.0, beams, [("", 1.0, 1.0)] * 2, "", 1, None, names, beside)
            events = (self.folder / "events.lhe").read_text().split("<event>\n")[1:]
            self.assertEqual(len(events), 7)
            for event, (mur, first, second, product), power in zip(events, scales, [2, 3] * 4):
                text = event.split("<mgrwt>\n")[1].split("</mgrwt>")[0]
                first = f"  1       21 1.00000000E-01{first:15.8E}" if codes[0] == 2212 else "0"
                wanted = [
                    f"<rscale>{power:3}{mur:15.8E}</rscale>",
                    "<asrwt>0</asrwt>",
                    f'<pdfrwt beam="1">{first}</pdfrwt>',
                    f'<pdfrwt beam="2">  1       21 1.00000000E-02{second:15.8E}</pdfrwt>',
                    f"<totfact>{0.1**power * product:15.8E}</totfact>",
                ]
                self.assertEqual(text.splitlines(), wanted)
                self.assertEqual(event.count("<rwgt>"), len(names))
                if names:
                    self.assertLess(event.index("</mgrwt>"), event.index("<rwgt>"))



if __name__ == "__main__":
    unittest.main()
