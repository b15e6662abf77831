"""Colour flows and diagrams of events, which are drawn when events are accepted."""

import collections
import math
import unittest
from unittest import mock

import numpy as np

from common import Folder, here, need
import mebridge
from mebridge import _flows
from test_events import densities, madspace, shares

need("flows of events", "madspace")


def head(fields):
    """What MadSpace has before the events of a channel, whose file it has not closed."""
    text = "{'descr':[" + "".join(f"('{name}','{kind}')," for name, kind in fields) + "],'fortran_order':False,'shape':("
    return _flows._MAGIC + b"\0" + (400).to_bytes(2, "little") + text.ljust(400).encode()


class Drawn(Folder):
    def test_shares_are_those_of_the_process(self):
        """With gluons alone, whose |M|^2 comes from another form than flows."""
        output = self.folder / "events.lhe"
        mebridge.generate_events("g g > g g g", energy=1000, cuts={"pt": 50, "dr": 0.4}, events=20000, output=output, seed=2)
        process = mebridge.Process("g g > g g g")
        momenta, helicities, tags = shares.read(output, 5)
        for chi2, freedom in (
            shares.helicity_shares(process, momenta, helicities),
            shares.color_shares(process, momenta, tags, draws=16),
        ):
            self.assertLess(chi2, freedom + 5 * math.sqrt(2 * freedom))

    def test_of_several_flavours(self):
        """Each event has its flows by its own matrix element, which the others do not have."""
        toy, output = densities.write(self.folder), self.folder / "events.lhe"
        asked = {"energy": 13_000, "cuts": {"pt": 50, "dr": 0.4}, "events": 20000, "seed": 2, "pdf": toy}
        with here(), mock.patch.object(_flows, "pay", return_value=True):
            mebridge.generate_events("p p > j j", output=output, **asked)
        momenta, _, tags = shares.read(output, 4)
        particles = mebridge.read_events(output).particles
        codes = particles["pdg_id"][particles["status_code"] != 2].reshape(-1, 4)
        by_codes = collections.defaultdict(list)
        for event, row in enumerate(codes.tolist()):
            by_codes[tuple(row)].append(event)
        tried = 0
        for row, events in by_codes.items():
            if len(events) < 300:
                continue
            incoming, outgoing = (" ".join(NAMES[code] for code in codes) for codes in (row[:2], row[2:]))
            process = mebridge.Process(f"{incoming} > {outgoing}")
            chi2, freedom = shares.color_shares(process, momenta[events], tags[events], draws=16)
            self.assertLess(chi2, freedom + 5 * math.sqrt(2 * freedom), row)
            tried += 1
        self.assertGreater(tried, 5)

    def test_matrix_elements_leave_them_out(self):
        """Files have what was in memory until they are drawn."""
        drawn, draw = [], _flows.Flows.draw

        def watched(self, files, seed):
            before = [np.array(_flows._read(path)) for path, *_ in files]
            draw(self, files, seed)
            drawn.extend((len(of), of, np.array(_flows._read(path))) for of, (path, *_) in zip(before, files))

        always = mock.patch.object(_flows, "pay", return_value=True)
        with here(), always, mock.patch.object(_flows.Flows, "draw", watched):
            run = mebridge.generate_events("g g > t t~ g", energy=1000, cuts={"pt": 20}, events=1000, seed=3)
        self.assertGreaterEqual(sum(count for count, *_ in drawn), run.events)
        for _, before, after in drawn:
            for name in before.dtype.names:
                if name not in ("color_index", "diagram_index"):
                    np.testing.assert_array_equal(before[name], after[name])
        colors = np.concatenate([after["color_index"] for *_, after in drawn])
        diagrams = np.concatenate([after["diagram_index"] for *_, after in drawn])
        self.assertEqual((set(colors.tolist()), diagrams.min(), diagrams.max()), (set(range(6)), 0, 14))

    def test_what_is_written_later_is_seen(self):
        """The last events of a file, which MadSpace has in memory until it reads the file."""
        hidden = mock.patch.object(madspace.EventGenerator, "combine_to_compact_npy", lambda _, path: np.save(path, 0))
        asked = {"energy": 1000, "cuts": {"pt": 50, "dr": 0.4}, "events": 5000}
        said = ""
        # Not in every run some are there.
        for seed in range(2, 42):
            with here(), hidden:
                try:
                    mebridge.generate_events("g g > g g g", seed=seed, **asked)
                except mebridge.Error as error:
                    said = str(error)
                    break
        self.assertRegex(said, "wrote events after their colour flows were drawn|out of range")

    def test_where_it_pays(self):
        def element(text):
            options = [mebridge.Process(text).pdg]
            return mock.Mock(flavor={"options": options})

        paying = ["g g > g g g", "u g > u g g", "g g > t t~ g g", "u u~ > e+ e- g g"]
        others = ["g g > t t~ g", "u u~ > e+ e- g", "g g > g g", "u d~ > w+"]
        self.assertEqual([_flows.pay([element(text)]) for text in paying + others], [True] * 4 + [False] * 4)
        self.assertFalse(_flows.pay([element("g g > g g g"), element("g g > g g")]))
        on_gpus = [_flows.pay([element(text)], False) for text in ("g g > g g g g", "u g > u g g g", *paying, *others)]
        self.assertEqual(on_gpus, [True] * 2 + [False] * 8)

    def test_files_that_are_not_whole(self):
        path = self.folder / "events0.npy"
        momentum = [(f"part1_{component}", "<f8") for component in ("energy", "px", "py", "pz")]
        begin = head([("color_index", "<i4"), *momentum])
        for text, said in (
            (b"", "did not write the events"),
            (begin[:100], "did not write the events"),
            (b"x" + begin[1:], "did not write the events"),
            (head(momentum[:3]), "did not write the events"),
            (head([*momentum, ("color_index", "<i4")]), "did not write the events"),
            (begin + b"\0" * 37, "did not write all of"),
        ):
            path.write_bytes(text)
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                _flows._read(path)
        path.write_bytes(begin + b"\1\0\0\0" * 18)
        self.assertEqual(_flows._read(path)["color_index"].tolist(), [1, 1])


NAMES = {1: "d", 2: "u", 3: "s", 4: "c", 21: "g", -1: "d~", -2: "u~", -3: "s~", -4: "c~"}


if __name__ == "__main__":
    unittest.main()
