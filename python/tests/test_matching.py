"""MLM matching: clusterings of one and two steps against what they are by hand, and what event files and run cards say."""

import shutil
import unittest

import numpy as np

from common import Folder
import mebridge
from mebridge import _asked, _clustering, _lhe, _matching, _output, _records, _runs, _systematics
from mebridge._library import Error
from test_runs import CARD, QUARKS, card, output

MASS = 91.188
BEAMS = 13_000.0
COLORS = "      FUNCTION GET_COLOR(IPDG)\n" + "".join(
    f"      {'IF' if i == 0 else 'ELSE IF'}(IPDG.EQ.{code})THEN\n        GET_COLOR={color}\n        RETURN\n"
    for i, (code, color) in enumerate([(-2, -3), (-1, -3), (1, 3), (2, 3), (21, 8), (23, 1)])
)
# u u~ > z g: the gluon comes from the first beam, or from the second.
ONE = {
    "leshouche.inc": "      DATA (IDUP(I,1,1),I=1,4)/2,-2,23,21/\n      DATA (IDUP(I,2,1),I=1,4)/1,-1,23,21/\n",
    "configs.inc": """      DATA MAPCONFIG(1)/1/
      DATA (IFOREST(I,-1,1),I=1,2)/1,4/
      DATA (SPROP(I,-1,1),I=1,1)/0/
      DATA TPRID(-1,1)/2/
      DATA (IFOREST(I,-2,1),I=1,2)/-1,3/
      DATA TPRID(-2,1)/2/
      DATA MAPCONFIG(2)/2/
      DATA (IFOREST(I,-1,2),I=1,2)/1,3/
      DATA (SPROP(I,-1,2),I=1,1)/0/
      DATA TPRID(-1,2)/2/
      DATA (IFOREST(I,-2,2),I=1,2)/-1,4/
      DATA TPRID(-2,2)/2/
      DATA MAPCONFIG(0)/2/
""",
    "config_subproc_map.inc": "      DATA (CONFSUB(I,1),I=1,1)/1/\n      DATA (CONFSUB(I,2),I=1,1)/2/\n",
    "config_nqcd.inc": "      DATA NQCD(1)/1/\n      DATA NQCD(2)/1/\n",
    "decayBW.inc": "",
    "get_color.f": COLORS,
}
# u g > z u: the gluon becomes the quark that goes out, and the antiquark that comes in.
SEA = {
    **ONE,
    "leshouche.inc": "      DATA (IDUP(I,1,1),I=1,4)/2,21,23,2/\n",
    "configs.inc": """      DATA MAPCONFIG(1)/1/
      DATA (IFOREST(I,-1,1),I=1,2)/1,3/
      DATA (SPROP(I,-1,1),I=1,1)/0/
      DATA TPRID(-1,1)/2/
      DATA (IFOREST(I,-2,1),I=1,2)/-1,4/
      DATA TPRID(-2,1)/21/
      DATA MAPCONFIG(0)/1/
""",
    "config_subproc_map.inc": "      DATA (CONFSUB(I,1),I=1,1)/1/\n",
    "config_nqcd.inc": "      DATA NQCD(1)/1/\n",
}
# u g > z u by both of its diagrams.
BOTH = {
    **ONE,
    "leshouche.inc": "      DATA (IDUP(I,1,1),I=1,4)/2,21,23,2/\n",
    "configs.inc": """      DATA MAPCONFIG(1)/1/
      DATA (IFOREST(I,-1,1),I=1,2)/4,3/
      DATA (SPROP(I,-1,1),I=1,1)/2/
      DATA TPRID(-1,1)/0/
      DATA MAPCONFIG(2)/2/
      DATA (IFOREST(I,-1,2),I=1,2)/1,3/
      DATA (SPROP(I,-1,2),I=1,1)/0/
      DATA TPRID(-1,2)/2/
      DATA (IFOREST(I,-2,2),I=1,2)/-1,4/
      DATA TPRID(-2,2)/21/
      DATA MAPCONFIG(0)/2/
""",
    "decayBW.inc": "      DATA GFORCEBW(-1,1)/0/\n",
}
# u u~ > z d d~: a gluon from the first beam becomes a pair.
TWO = {
    **SEA,
    "leshouche.inc": "      DATA (IDUP(I,1,1),I=1,5)/2,-2,23,1,-1/\n",
    "configs.inc": """      DATA MAPCONFIG(1)/1/
      DATA (IFOREST(I,-1,1),I=1,2)/5,4/
      DATA (SPROP(I,-1,1),I=1,1)/21/
      DATA TPRID(-1,1)/0/
      DATA (IFOREST(I,-2,1),I=1,2)/1,-1/
      DATA (SPROP(I,-2,1),I=1,1)/0/
      DATA TPRID(-2,1)/2/
      DATA (IFOREST(I,-3,1),I=1,2)/-2,3/
      DATA TPRID(-3,1)/2/
      DATA MAPCONFIG(0)/1/
""",
    "config_nqcd.inc": "      DATA NQCD(1)/2/\n",
    "decayBW.inc": "      DATA GFORCEBW(-1,1)/0/\n",
}


def alpha_s(scale):
    return 1.0 / np.log(1.0 + scale**2 / 0.04)


def density(codes, x, q):
    """x f(x, Q), another one for each parton."""
    return (1.0 - x) ** (3.0 + 0.1 * codes) * q ** (0.1 + 0.01 * codes) * x


def rest(out):
    """Partons along z, before momenta that go out."""
    total = out.sum(axis=1)
    first, second = np.zeros((2, len(out), 4))
    first[:, 0] = first[:, 3] = (total[:, 0] + total[:, 3]) / 2
    second[:, 0] = (total[:, 0] - total[:, 3]) / 2
    second[:, 3] = -second[:, 0]
    return np.concatenate([first[:, None], second[:, None], out], axis=1)


def particle(pt, phi, rapidity, mass=0.0):
    energy = np.hypot(mass, pt)
    return np.stack(
        [energy * np.cosh(rapidity), pt * np.cos(phi), pt * np.sin(phi), energy * np.sinh(rapidity)], axis=1
    )


def _compton(p, mass):
    """Squares of both diagrams of g u > w+ d, summed over all helicities, and for how many of these they cancel; by
    spinors of two components."""
    sigma = np.array([np.eye(2), [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    bar = lambda v: np.einsum("i,iab->ab", v, sigma)
    lower = lambda v: np.einsum("i,iab->ab", v * np.array([1, -1, -1, -1]), sigma)
    gluon, quark, boson, out = p
    coming = np.array([-np.sqrt(2 * quark[0]), 0.0])
    going = np.array([-(out[1] - 1j * out[2]), out[0] + out[3]]) / np.sqrt(out[0] + out[3])
    size = np.linalg.norm(boson[1:])
    x, z = boson[1] / size, boson[3] / size
    s_line, t_line = gluon + quark, out - gluon
    s = s_line[0] ** 2
    t = t_line[0] ** 2 - (t_line[1:] ** 2).sum()
    squares, zero = np.zeros(2), 0
    for of_gluon in (1, -1):
        left = bar(np.array([0, -of_gluon, -1j, 0]) / np.sqrt(2))
        for of_boson in (1, 0, -1):
            vector = np.array([0, -of_boson * z, -1j, of_boson * x]) / np.sqrt(2)
            if of_boson == 0:
                vector = np.array([size, boson[0] * x, 0, boson[0] * z]) / mass
            right = bar(vector.conj())
            first = going.conj() @ right @ lower(s_line) @ left @ coming / s
            second = going.conj() @ left @ lower(t_line) @ right @ coming / t
            squares += abs(first) ** 2, abs(second) ** 2
            zero += abs(first + second) < 1e-10 * abs(first)
    return squares, zero


class Steps(Folder):
    def clustering(self, files, **values):
        shutil.rmtree(self.folder / "output", ignore_errors=True)
        place = output(self.folder / "output", **files) / "SubProcesses" / "P1_qq_ttx"
        settings = _clustering.Settings(True, 4, 15.0, 1e-6, 1.0)
        matching = _matching.Matching(
            **{
                "reweighted": True,
                "xqcut": 0.0,
                "xmtcentral": 0.0,
                "alpsfact": 1.0,
                "asrwgtflavor": 5,
                "pdfwgt": True,
                **values,
            }
        )
        directory = _output.Directory.read(place)
        return _clustering.Clustering(directory, 0, lambda line: (0.0, 0.0), settings, matching)

    def test_the_line_that_ends_the_t_channel_has_a_code(self):
        # MG5aMC 2.8 and 2.9 list none.
        for files, last in ((ONE, "TPRID(-2,1)/2/"), (TWO, "TPRID(-3,1)/2/")):
            listed = {**files, "configs.inc": files["configs.inc"].replace(f"      DATA {last}\n", "")}
            self.assertNotEqual(listed, files)
            place = output(self.folder / last[6:8], **listed) / "SubProcesses" / "P1_qq_ttx"
            directory = _output.Directory.read(place)
            self.assertEqual(directory.configs[0].lines[-1].codes, tuple(legs[1] for legs in directory.legs))

    def found(self, files, momenta, codes, factor=1.0, channel=1, **values):
        """Scales, records and fractions of the beams."""
        count = len(momenta)
        x = np.random.default_rng(3).uniform(0.05, 0.6, (count, 2))
        codes = np.tile(np.array(codes), (count, 1))
        by = _matching.Weighing(alpha_s, density, codes[:, :2], x, BEAMS)
        given = _matching.Given(np.zeros(count), (np.zeros(count), np.zeros(count)), False, factor)
        clustering = self.clustering(files, **values)
        found = clustering.scales(momenta, np.full(count, channel), given, by, codes)
        return found, found.matched, x

    def one(self, count=60):
        """A Z boson with a massless particle: momenta in their rest frame, its pt, the mass of both together, and
        whether it goes along the first beam."""
        random = np.random.default_rng(1)
        pt, rapidity, phi = random.uniform(10, 80, count), random.uniform(-1.5, 1.5, count), random.uniform(0, 6, count)
        size = pt * np.cosh(rapidity)
        out = particle(pt, phi, rapidity)
        boson = -out
        boson[:, 0] = np.hypot(MASS, size)
        return rest(np.stack([boson, out], axis=1)), pt, boson[:, 0] + size, rapidity > 0.0

    def test_one_emission(self):
        momenta, pt, total, forward = self.one()
        found, matched, x = self.found(ONE, momenta, [2, -2, 23, 21])
        transverse = np.hypot(MASS, pt)
        np.testing.assert_allclose(found.renormalisation, transverse, rtol=1e-6)
        # The beam that emits has the density at the scale of the emission.
        for beam, emits in ((0, forward), (1, ~forward)):
            np.testing.assert_allclose(found.factorisation[beam], np.where(emits, pt, transverse), rtol=1e-6)
        beams, rows = np.where(forward, 0, 1), np.arange(len(pt))
        code, left = np.array([2, -2])[beams], x[rows, beams] * (MASS / total) ** 2
        wanted = alpha_s(pt) / alpha_s(transverse) * density(code, left, transverse) / density(code, left, pt)
        np.testing.assert_allclose(matched["weight"], wanted, rtol=1e-5)
        np.testing.assert_allclose(np.sqrt(matched["start"]), transverse, rtol=1e-6)
        np.testing.assert_allclose(matched["pt"], np.stack([np.full(len(pt), BEAMS), pt], axis=1), rtol=1e-6)
        np.testing.assert_allclose(matched["emissions"][:, 0], pt, rtol=1e-6)
        np.testing.assert_array_equal(matched["legs"][:, 0], np.where(forward[:, None], [1, 4, 2], [2, 4, 1]))
        np.testing.assert_array_equal(matched["pdg"][rows, beams, :3], np.stack([code, code, 0 * code], axis=1))
        np.testing.assert_allclose(matched["x"][rows, beams, 1], left, rtol=1e-6)
        np.testing.assert_allclose(matched["q"][rows, beams, 1], transverse, rtol=1e-6)
        np.testing.assert_array_equal(matched["pdg"][rows, 1 - beams, 1], 0)

    def test_densities_are_those_of_the_flavours_of_the_event(self):
        momenta, pt, total, forward = self.one()
        _, matched, x = self.found(ONE, momenta, [1, -1, 23, 21])
        beams, rows = np.where(forward, 0, 1), np.arange(len(pt))
        code, left = np.array([1, -1])[beams], x[rows, beams] * (MASS / total) ** 2
        transverse = np.hypot(MASS, pt)
        wanted = alpha_s(pt) / alpha_s(transverse) * density(code, left, transverse) / density(code, left, pt)
        np.testing.assert_allclose(matched["weight"], wanted, rtol=1e-5)

    def test_settings_take_weights_away(self):
        momenta, pt, _, _ = self.one()
        transverse = np.hypot(MASS, pt)
        found, matched, _ = self.found(ONE, momenta, [2, -2, 23, 21], pdfwgt=False, alpsfact=0.5)
        np.testing.assert_allclose(matched["weight"], alpha_s(0.5 * pt) / alpha_s(transverse), rtol=1e-5)
        for scale in found.factorisation:
            np.testing.assert_allclose(scale, transverse, rtol=1e-6)
        # Nothing is matched without ickkw.
        self.assertIsNone(self.found(ONE, momenta, [2, -2, 23, 21], reweighted=False)[1])

    def test_a_gluon_that_becomes_a_quark(self):
        momenta, pt, total, _ = self.one()
        _, matched, x = self.found(SEA, momenta, [2, 21, 23, 2])
        transverse, left = np.hypot(MASS, pt), x[:, 1] * (MASS / total) ** 2
        code = np.full(len(pt), -2)
        wanted = alpha_s(pt) / alpha_s(transverse) * density(code, left, transverse) / density(code, left, pt)
        np.testing.assert_allclose(matched["weight"], wanted, rtol=1e-5)
        np.testing.assert_array_equal(matched["pdg"][:, 1, :2], [[21, -2]] * len(pt))
        # A top quark would be no parton.
        none = self.found(SEA, momenta, [2, 21, 23, 2], asrwgtflavor=1)[1]
        np.testing.assert_allclose(none["weight"], wanted, rtol=1e-5)

    def test_what_an_s_channel_becomes_is_no_jet(self):
        """So a matched cross section depends on how channels share |M|^2 (docs/run_card.md)."""
        momenta, pt, total, _ = self.one()
        scales, matched, _ = self.found(BOTH, momenta, [2, 21, 23, 2], channel=1, xqcut=1000.0)
        for scale in (scales.renormalisation, *scales.factorisation):
            np.testing.assert_allclose(scale, total, rtol=1e-6)
        np.testing.assert_allclose(matched["weight"], 1.0, rtol=1e-12)
        scales, matched, _ = self.found(BOTH, momenta, [2, 21, 23, 2], channel=2, xqcut=40.0)
        np.testing.assert_array_equal(scales.renormalisation > 0.0, pt > 40.0)
        wanted = self.found(SEA, momenta, [2, 21, 23, 2], xqcut=40.0)[1]
        np.testing.assert_array_equal(matched["weight"], wanted["weight"])

    def test_squared_diagrams_are_of_all_helicities(self):
        """Of g u > w+ d that of a left-handed gluon and a longitudinal W, whose two diagrams cancel, as well."""
        process = mebridge.Process("g u > w+ d")
        alpha, fermi, z = 1 / process.parameters["aewm1"], process.parameters["gf"], process.parameters["mz"]
        mass = np.sqrt(z**2 / 2 + np.sqrt(z**4 / 4 - alpha * np.pi * z**2 / (fermi * np.sqrt(2))))
        energy, cosine = np.array([90.0, 150.0, 400.0]), np.array([0.3, -0.8, 0.6])
        momentum = (4 * energy**2 - mass**2) / (4 * energy)
        of_w, sine = np.hypot(momentum, mass), np.sqrt(1 - cosine**2)
        p = np.zeros((3, 4, 4))
        p[:, :2, 0] = energy[:, None]
        p[:, 0, 3], p[:, 1, 3] = energy, -energy
        p[:, 2] = np.stack([of_w, -momentum * sine, 0 * sine, -momentum * cosine], axis=1)
        p[:, 3] = np.stack([momentum, momentum * sine, 0 * sine, momentum * cosine], axis=1)
        (first,) = [of["diagrams"][0]["diagram"] for of in process.diagrams if ["i0", "i1"] == sorted(of["vertices"][-1])[:2]]
        found = process.evaluate(p, amp2=True).amp2[:, [first, 1 - first]]
        for event in range(3):
            squares, zero = _compton(p[event], mass)
            self.assertEqual(zero, 1)
            np.testing.assert_allclose(found[event], squares / squares.sum(), rtol=1e-10)

    def pair(self, count=60):
        """A Z boson with two particles near to each other."""
        random = np.random.default_rng(4)

        def draw(low, high):
            return random.uniform(low, high, count)

        pts, phi, rapidity = (draw(40, 80), draw(40, 80)), draw(0, 6), draw(0.3, 1.5)
        apart = draw(0.1, 0.3), draw(0.1, 0.3)
        first = particle(pts[0], phi, rapidity)
        second = particle(pts[1], phi + apart[0], rapidity + apart[1])
        boson = -(first + second)
        boson[:, 0] = np.sqrt(MASS**2 + (boson[:, 1:] ** 2).sum(axis=1))
        measure = 2 * np.minimum(*pts) ** 2 * (np.cosh(apart[1]) - np.cos(apart[0]))
        return rest(np.stack([boson, first, second], axis=1)), np.sqrt(measure), first + second

    def test_a_pair_from_an_emission(self):
        momenta, measure, both = self.pair()
        found, matched, x = self.found(TWO, momenta, [2, -2, 23, 1, -1])
        emitted = np.sqrt(both[:, 0] ** 2 - both[:, 3] ** 2)
        # The system of the beams is at rest before the emission, and so is what MadEvent boosts afterwards.
        transverse = np.sqrt(momenta[:, 2, 0] ** 2 - momenta[:, 2, 3] ** 2)
        total = 2 * momenta[:, 0, 0]
        np.testing.assert_allclose(found.renormalisation, transverse, rtol=1e-6)
        self.assertTrue((measure < emitted).all())
        left = x[:, 0] * (MASS / total) ** 2
        code = np.full(len(total), 2)
        wanted = alpha_s(measure) * alpha_s(emitted) / alpha_s(transverse) ** 2
        lower = np.minimum(emitted, transverse)
        wanted *= density(code, left, transverse) / density(code, left, lower)
        np.testing.assert_allclose(matched["weight"], wanted, rtol=1e-5)
        # Both are jets of the gluon that is emitted.
        np.testing.assert_allclose(matched["pt"][:, 1:], np.stack([emitted] * 2, axis=1), rtol=1e-6)
        np.testing.assert_allclose(matched["steps"][:, :2], np.stack([measure, emitted], axis=1), rtol=1e-6)

    def test_jets_are_cut_where_they_are_clustered(self):
        momenta, pt, _, _ = self.one()
        for cut in (30.0, 60.0):
            found, *_ = self.found(ONE, momenta, [2, -2, 23, 21], xqcut=cut)
            np.testing.assert_array_equal(_clustering.drops(found, (True, True)), pt < cut)
        momenta, measure, _ = self.pair()
        found, *_ = self.found(TWO, momenta, [2, -2, 23, 1, -1], xqcut=15.0)
        np.testing.assert_array_equal(_clustering.drops(found, (True, True)), measure < 15.0)
        # The central process.
        momenta, pt, _, _ = self.one()
        found, *_ = self.found(ONE, momenta, [2, -2, 23, 21], xmtcentral=100.0)
        np.testing.assert_array_equal(_clustering.drops(found, (True, True)), np.hypot(MASS, pt) < 100.0)

    def test_a_strong_pair_has_no_jets(self):
        size = np.linspace(20, 300, 20)
        out = np.zeros((20, 2, 4))
        out[:, 0, 1:] = np.stack([size * 0.6, 0 * size, size * 0.8], axis=1)
        out[:, 1, 1:] = -out[:, 0, 1:]
        out[:, :, 0] = np.hypot(173.0, size)[:, None]
        found, matched, _ = self.found(QUARKS, rest(out), [2, -2, 6, -6], xqcut=400.0)
        self.assertFalse(_clustering.drops(found, (True, True)).any())
        np.testing.assert_array_equal(matched["weight"], 1.0)
        np.testing.assert_array_equal(matched["pt"], BEAMS)
        np.testing.assert_allclose(np.sqrt(matched["start"]), np.hypot(173.0, 0.6 * size), rtol=1e-12)

    def test_two_that_become_one_have_its_mass(self):
        files = {
            "leshouche.inc": "      DATA (IDUP(I,1,1),I=1,3)/2,-2,23/\n",
            "configs.inc": "      DATA MAPCONFIG(1)/1/\n      DATA TSTRATEGY(1)/2/\n      DATA MAPCONFIG(0)/1/\n",
            "config_nqcd.inc": "      DATA NQCD(1)/0/\n",
            "decayBW.inc": "",
        }
        found, matched, _ = self.found(files, rest(np.array([[[MASS, 0, 0, 0]]])), [2, -2, 23], factor=2.0)
        for scale in (found.renormalisation, *found.factorisation, np.sqrt(matched["start"])):
            np.testing.assert_allclose(scale, 2 * MASS, rtol=1e-12)
        self.assertEqual((matched["weight"][0], matched["pt"][0, 0]), (1.0, BEAMS))

    def test_scales_that_are_given(self):
        momenta, pt, _, forward = self.one()
        count, fixed = len(pt), np.full(len(pt), 50.0)
        x, codes = np.full((count, 2), 0.2), np.tile([2, -2, 23, 21], (count, 1))
        by = _matching.Weighing(alpha_s, density, codes[:, :2], x, BEAMS)
        given = _matching.Given(fixed, (fixed, fixed), True)
        found = self.clustering(ONE).scales(momenta, np.ones(count, dtype=int), given, by, codes)
        for scale in (found.renormalisation, *found.factorisation):
            np.testing.assert_array_equal(scale, 50.0)
        np.testing.assert_allclose(found.matched["emissions"][:, 0], pt, rtol=1e-6)
        np.testing.assert_allclose(np.sqrt(found.matched["start"]), 50.0, rtol=1e-12)


class Texts(Folder):
    def records(self):
        """An event with a resonance."""
        records = np.zeros(1, _records.layout(6))
        records["process_id"], records["weight"], records["scale"], records["alpha_qcd"] = 1, 2.0, 95.0, 0.12
        particles = _records.nested(records)["particles"][0]
        rows = [(2, -1, 50.0), (-2, -1, 70.0), (23, 2, 60.0), (-11, 1, 40.0), (11, 1, 20.0), (21, 1, 60.0)]
        for i, (code, status, energy) in enumerate(rows):
            particles["pdg_id"][i], particles["status_code"][i], particles["energy"][i] = code, status, energy
        return records

    def matched(self):
        matched = np.zeros(1, _matching.layout(5))
        matched["pt"] = [[13_000.0, 13_000.0, 33.25]]
        matched["steps"], matched["legs"][0] = [[91.1, 33.25, 95.0]], [[3, 4, 0], [2, 5, 1], [1, 3, 2]]
        matched["emissions"][0, 0] = 33.25
        matched["pdg"][0], matched["x"][0, 0, 0], matched["q"][0, 0, 0] = [[2, 0, 0, 0, 0], [-2, -2, 0, 0, 0]], 0.1, 95.0
        matched["x"][0, 1, :2], matched["q"][0, 1, :2] = [0.2, 0.15], [33.25, 95.0]
        return matched

    def text(self, powers, clustering):
        beams = _lhe.Beams.equal((2212, 2212), BEAMS, 0)
        scales = np.array([[95.0, 95.0, 33.25, 4.0]]) if powers else None
        beside = _lhe.Beside(beams, powers, True, clustering)
        return b"".join(_lhe._blocks(self.records(), scales, self.matched(), beside)).decode()

    def test_events_have_what_pythia_and_systematics_read(self):
        self.assertEqual(
            self.text((1,), True),
            '<scales pt_clust_4="13000.00000" pt_clust_5="13000.00000" pt_clust_6="33.25000"></scales>\n'
            "<mgrwt>\n"
            "<rscale>  0 9.50000000E+01</rscale>\n"
            "<asrwt>  1 3.32500000E+01</asrwt>\n"
            '<pdfrwt beam="1">  1        2 1.00000000E-01 9.50000000E+01</pdfrwt>\n'
            '<pdfrwt beam="2">  2       -2       -2 2.00000000E-01 1.50000000E-01 3.32500000E+01 9.50000000E+01</pdfrwt>\n'
            "<totfact> 4.80000000E-01</totfact>\n"
            "</mgrwt>\n"
            "<clustering>\n"
            '<clus scale="   91.100">  4  5 -1 -1</clus>\n'
            '<clus scale="   33.250">  2  6  1 -1</clus>\n'
            '<clus scale="   95.000">  1  4  2 -1</clus>\n'
            "</clustering>\n",
        )
        self.assertEqual(self.text((), False).count("\n"), 1)

    def test_weights_for_systematics(self):
        variations = [(2.0, 1.0, None, -1, 1.0), (1.0, 0.5, None, -1, 1.0), (1.0, 1.0, None, -1, 0.5), (1.0, 1.0, 0, -1, 1.0)]

        def other(codes, x, q):
            return density(codes, x, 2 * q)

        def coupling(_, momenta, before, after):
            return (after / before) ** 3

        made = _systematics.Calculator(
            variations, (65.0, 65.0), alpha_s, density, [(alpha_s, other)], coupling, [{(2, -2)}]
        )
        found = made.ratios(self.records(), np.array([[95.0, 95.0, 33.25]]), self.matched())[0]
        # One of three alpha_s is at 33.25 GeV.
        self.assertAlmostEqual(found[0], float((alpha_s(190.0) / alpha_s(95.0)) ** 2), 12)

        def one(code, x, q, of=density):
            return float(of(np.array([code]), np.array([x]), np.array([q]))[0]) / x

        def both(muf, emission, of=density):
            scale = min(emission * 33.25, muf * 95.0)
            found = one(2, 0.1, muf * 95.0, of) * one(-2, 0.15, muf * 95.0, of)
            return found * one(-2, 0.2, scale, of) / one(-2, 0.15, scale, of)

        self.assertAlmostEqual(found[1], both(0.5, 1.0) / both(1.0, 1.0), 12)
        emission = float(alpha_s(33.25 / 2) / alpha_s(33.25))
        self.assertAlmostEqual(found[2], emission * both(1.0, 0.5) / both(1.0, 1.0), 12)
        self.assertAlmostEqual(found[3], both(1.0, 1.0, other) / both(1.0, 1.0), 12)

    def test_beams_are_exchanged(self):
        file = self.folder / "events.npy"
        records, before = self.records(), self.matched()
        of = _records.nested(records)["particles"]
        of["pz"][0, :2] = -50.0, 70.0
        np.save(file, records)
        np.save(_records.matched(file), before)
        _records.change(file, 1, lambda of: _records.orient(of, {1}))
        after = np.load(_records.matched(file))
        self.assertEqual(after["pdg"][0, 0, :2].tolist(), [-2, -2])
        self.assertEqual(after["x"][0, 1, 0], 0.1)
        self.assertEqual(after["legs"][0].tolist(), [[3, 4, 0], [1, 5, 2], [2, 3, 1]])
        np.testing.assert_array_equal(after["pt"], before["pt"])

    def test_records_of_fewer_legs_lie_among_those_of_more(self):
        many, few = np.zeros(3, _matching.layout(6)), self.matched()
        _matching.put(many, np.array([1]), few)
        self.assertEqual(many["pt"][:, :3].tolist(), [[0] * 3, few["pt"][0].tolist(), [0] * 3])
        self.assertEqual(many["pdg"][1, 1].tolist(), [-2, -2, 0, 0, 0, 0])


class Cards(Folder):
    def test_what_xqcut_changes(self):
        asked = {"ickkw": 1, "xqcut": 30, "ptj": 20, "drjj": 0.4, "drjl": 0.4, "alpsfact": 0.5}
        found = card(**asked)
        self.assertEqual([found[name] for name in ("ptj", "mmjj", "drjj", "drjl", "alpsfact")], [30, 30, 0, 0, 1])
        found = card(**asked, use_syst=False, auto_ptj_mjj=False, mmjj=40)
        self.assertEqual([found[name] for name in ("ptj", "mmjj", "drjj", "alpsfact")], [20, 0, 0, 0.5])
        found = card(**{**asked, "ptj": 35}, ktscheme=2)
        self.assertEqual([found[name] for name in ("ptj", "mmjj")], [0, 30])
        found = card(**{**asked, "ptj": -1})
        self.assertEqual((found["ptj"], found["mmjj"]), (-1, 30))
        self.assertEqual(card(ptj=20)["drjj"], 0.4)

    def test_what_cannot_be_is_refused(self):
        for values, said in (
            ({"ickkw": 2}, "ickkw = 2"),
            ({"ickkw": 1, "ktscheme": 3}, "ktscheme = 3"),
            ({"ickkw": 1, "xqcut": -5}, "xqcut = -5"),
            ({"ickkw": 1, "alpsfact": 0}, "alpsfact = 0"),
            ({"ickkw": 1, "d": -1}, "d = -1"),
            ({"ickkw": 1, "maxjetflavor": 6}, "maxjetflavor = 6"),
            ({"ickkw": 1, "lpp1": 0, "lpp2": 0}, "beams of hadrons"),
            ({"highestmult": 2}, "highestmult"),
            ({"issgridfile": "issudgrid.dat"}, "issgridfile"),
        ):
            with self.assertRaisesRegex(Error, said):
                card(**{"use_syst": False, **values}).check()
        card(ickkw=1, xqcut=30, ktscheme=2).check()

    def test_flavours_are_jets_together(self):
        processes = [[21, 2, 24, 1], [21, 5, 24, 1]]
        with self.assertRaisesRegex(Error, "set maxjetflavor to 5"):
            _asked._check_flavors(processes, card(ickkw=1))
        _asked._check_flavors(processes, card(ickkw=1, maxjetflavor=5))

    def test_fixed_scales_of_older_versions_are_refused(self):
        asked = CARD.replace("False = fixed_fac_scale", "True = fixed_fac_scale") + "  1 = ickkw\n"
        place = output(self.folder / "output", asked)
        _runs.Run(place, changed_files=True)
        (place / "MGMEVersion.txt").write_text("2.9.4\n")
        with self.assertRaisesRegex(Error, "output is of 2.9.4"):
            _runs.Run(place, changed_files=True)


if __name__ == "__main__":
    unittest.main()
