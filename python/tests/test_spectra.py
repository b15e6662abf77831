"""Spectra of events as text."""

import contextlib
import io
import re

import numpy as np

from mebridge import _records

from common import FolderHere, events_command


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


class Spectra(FolderHere):
    def test_a_run_shows_them(self):
        arguments = [
            "e+ e- > mu+ mu-",
            "--set",
            "lpp1=0",
            "--set",
            "lpp2=0",
            "--nevents",
            "200",
            "--seed",
            "1",
            "--quiet",
        ]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(events_command([*arguments, "--folder", str(self.folder)]), 0)
        kept = (self.folder / "Events" / "run_01" / "summary.txt").read_text()
        self.assertIn("pt of mu- mu+, GeV", kept)
        self.assertTrue(said.getvalue().startswith(kept))
