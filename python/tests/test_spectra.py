"""Spectra of events as text."""

import contextlib
import io
import math
import re
import unittest

import numpy as np

from common import Folder
from mebridge import _events_command, _records, _spectra



def pairs(count, code=6, mass=173.0, seed=1):
    """Records of pairs whose transverse momentum is even from 0 to 120 GeV, and whose rapidity from -2 to 3."""
    random = np.random.default_rng(seed)
    records = np.zeros(count, _records.layout(5))
    records["weight"] = 1.0
    particles = _records.nested(records)["particles"]
    particles["status_code"][:, :2] = -1
    momentum, phi = random.uniform(0, 120, count), random.uniform(0, 6, count)
    for place, sign in ((2, 1), (3, -1)):
        of, rapidity = particles[:, place], random.uniform(-2, 3, count)
        energy = np.hypot(momentum, mass)
        of["px"], of["py"] = sign * momentum * np.cos(phi), sign * momentum * np.sin(phi)
        of["energy"], of["pz"] = energy * np.cosh(rapidity), energy * np.sinh(rapidity)
        of["mass"], of["pdg_id"], of["status_code"] = mass, sign * code, 1
    return records


def rows(text, kind):
    """Of a kind of particles both histograms: where bins begin, and shares in per cent."""
    part = text.split(f"pt of {kind} ")[1].split("pt of ")[0]
    found = re.findall(r"^ *(\S+) +([\d.]+) #* +(\S+) +([\d.]+)", part, re.M)
    return np.array(found, dtype=float).T


class Spectra(Folder):
    def text(self, *rounds):
        files = []
        for number, records in enumerate(rounds):
            file = self.folder / f"{number}.npy"
            np.save(file, records)
            files.append((file, len(records), None))
        return _spectra.text(files)

    def test_shares(self):
        text = self.text(pairs(6000), pairs(3000, seed=2))
        self.assertIn("spectra of 9000 events", text)
        pt, of_pt, rapidity, of_rapidity = rows(text, "6, -6")
        self.assertEqual((pt[0], pt[1], len(pt)), (0.0, 10.0, 12))
        for share in of_pt:
            self.assertLess(abs(share - 100 / 12), 5 * 100 * math.sqrt(1 / 12 / 9000))
        self.assertEqual((rapidity[0], rapidity[1]), (-3.0, -2.5))
        # 2, of both sides even, then none above.
        wanted = [0, 0] + [10] * 10
        self.assertLess(abs(of_rapidity - wanted).max(), 5 * 100 * math.sqrt(0.1 / 18000))

    def test_partons_are_one_kind_and_weights_count(self):
        one, other = pairs(2000, code=2, mass=0.0), pairs(2000, code=4, mass=0.0)
        other["weight"] = 3.0
        for_pt = _records.nested(other)["particles"]
        for name in ("px", "py", "pz", "energy"):
            for_pt[name][:, 2:4] *= 10.0
        text = self.text(one, other)
        pt, of_pt, *_ = rows(text, "21, 1 to 5")
        self.assertEqual(pt[1], 100.0)
        # A fourth lies below 120 GeV, and a tenth of the others.
        self.assertLess(abs(of_pt[0] - 100 * (0.25 * 100 / 120 + 0.75 / 12)), 2.0)

    def test_negative_weights_leave_zeros_without_a_sign(self):
        records = pairs(100)
        records["weight"] = -1.0
        self.assertIn("   0.00", self.text(records))
        self.assertNotIn("-0.00", self.text(records))

    def test_what_goes_along_a_beam(self):
        records = pairs(100)
        particles = _records.nested(records)["particles"]
        for name in ("px", "py", "mass"):
            particles[name][:, 2] = 0.0
        particles["pz"][:, 2] = particles["energy"][:, 2]
        self.assertIn("pt of 6, -6", self.text(records))

    def test_no_events(self):
        self.assertEqual(self.text(), "")

    def test_a_run_shows_them(self):
        arguments = ["e+ e- > mu+ mu-", "--set", "lpp1=0", "--set", "lpp2=0", "--nevents", "200", "--seed", "1", "--quiet"]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(_events_command.main([*arguments, "--folder", str(self.folder)]), 0)
        kept = (self.folder / "Events" / "run_01" / "summary.txt").read_text()
        self.assertIn("pt of 13, -13 (PDG codes), GeV", kept)
        self.assertTrue(said.getvalue().startswith(kept))


if __name__ == "__main__":
    unittest.main()
