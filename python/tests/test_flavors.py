"""Matrix elements that have their channels in common."""

import numpy as np

import mebridge

from common import FolderHere


class Events(FolderHere):
    def test_beams_of_particles_make_all_flavors(self):
        """Without densities, by which partons are drawn."""
        energy = 500.0

        def total(process):
            cosines, weights = np.polynomial.legendre.leggauss(20)
            momenta = np.zeros((20, 4, 4))
            momenta[..., 0] = momenta[:, 0, 3] = energy / 2.0
            momenta[:, 1, 3] = -energy / 2.0
            momenta[:, 2, 1], momenta[:, 2, 3] = energy / 2.0 * np.sqrt(1.0 - cosines**2), energy / 2.0 * cosines
            momenta[:, 3, 1:] = -momenta[:, 2, 1:]
            squared = mebridge.Process(process).evaluate(momenta, bad="nan")
            return 0.3893793656e9 * float(weights @ squared) / (32.0 * np.pi * energy**2)

        made = mebridge.generate_events("e+ e- > j j", energy=energy, events=4000)
        wanted = {"-11 11 2 -2": 2.0 * total("e+ e- > u u~"), "-11 11 1 -1": 2.0 * total("e+ e- > d d~")}
        self.assertEqual(made.processes.keys(), wanted.keys())
        for name, (value, error) in made.processes.items():
            self.assertLess(abs(value - wanted[name]), 5.0 * error)
        self.assertLess(abs(made.cross_section - sum(wanted.values())), 5.0 * made.error)
        codes = np.abs(made.arrays.particles["pdg_id"][made.arrays.particles["status_code"] == 1])[::2]
        shares = np.bincount(codes, minlength=5)[1:] / len(codes)
        expected = np.array([wanted["-11 11 1 -1"], wanted["-11 11 2 -2"]] * 2) / 2.0 / sum(wanted.values())
        np.testing.assert_allclose(shares, expected, atol=5.0 * np.sqrt(0.25 / 4000))

    def test_what_they_are_merged_by_without_densities(self):
        """Each of them has to be an event of its own process."""
        partons = {"lpp1": 0, "lpp2": 0, "ebeam1": 250, "ebeam2": 250, "use_syst": False}
        for process in (
            "g g > u u~; add process g g > d d~",
            "e+ e- > z h, z > j j",
            "e+ e- > j j j",
            "e+ e- > l+ l- a",
        ):
            with self.subTest(process):
                run = mebridge.Run(process, run_card=partons, folder=self.folder)
                made = run.generate(300, 1)
                read = mebridge.read_events(made.output)
                self.assertEqual(len(read.events), 300)
                self.assertGreater(len(made.processes), 1)
                external = np.abs(read.particles["status_code"]) == 1
                codes = np.where(external, read.particles["pdg_id"], 0)
                begin, end = read.events["first"], read.events["first"] + read.events["count"]
                found = {tuple(sorted(filter(None, codes[a:b].tolist()))) for a, b in zip(begin, end)}
                self.assertGreaterEqual(len(found), len(made.processes))
