"""Pages of runs, written beside the summary, and spectra of several files."""

import gzip
import html.parser
import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import numpy as np

import mebridge

import densities
from common import FolderHere, command

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
CARD = {"nevents": 300, "lpp1": 0, "lpp2": 0, "ebeam1": 500, "ebeam2": 500, "ptl": 10, "drll": 0.4}
# Elements of HTML that have no end.
VOID = {"meta"}


class Nesting(html.parser.HTMLParser):
    """HTML as a browser takes it apart: elements end in the order in which they begin."""

    def __init__(self):
        super().__init__()
        self.open, self.count = [], 0

    def handle_starttag(self, tag, attributes):
        self.count += 1
        assert tag not in VOID, tag
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.count += 1
        # Elsewhere a browser does not see the slash.
        assert tag in VOID or "svg" in self.open, tag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Pages(FolderHere):
    def make(self, name, seed=1, **card):
        run = mebridge.Run("e+ e- > mu+ mu-", run_card={**CARD, **card}, folder=self.folder)
        return run.generate(seed=seed, name=name)

    def page(self, path):
        """A page, once parsers have taken it."""
        text = path.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), 200_000)
        nesting = Nesting()
        nesting.feed(text)
        nesting.close()
        self.assertEqual(nesting.open, [])
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual((root.tag, sum(1 for _ in root.iter())), (f"{XHTML}html", nesting.count))
        # Nothing comes from elsewhere, and nothing runs.
        names = {name for element in root.iter() for name in element.attrib}
        self.assertFalse(names & {"href", "src", "onload", "onclick", "style"})
        self.assertFalse(list(root.iter(f"{XHTML}script")) + list(root.iter(f"{XHTML}link")))
        self.assertNotIn("url(", text)
        return root

    def tables(self, root):
        rows = (row for row in root.iter(f"{XHTML}tr"))
        return [["".join(cell.itertext()) for cell in row] for row in rows]

    def test_a_run(self):
        made = self.make('<b> & "c"')
        root = self.page(made.folder / "run.html")
        summary = (made.folder / "summary.txt").read_text()
        rows = self.tables(root)
        for name, value, error in re.findall(r"^([-\d ]+|all) +(\S+) \+- (\S+)$", summary, re.MULTILINE):
            self.assertIn([name.strip(), value, error, "100.00"], rows)
        texts = "".join(root.itertext())
        points = re.search(r"^\d+ points.*", summary, re.MULTILINE)[0]
        for wanted in (points, "generate e+ e- > mu+ mu-", '<b> & "c"', "ptl = 10", "Seed 1", "300 events"):
            self.assertIn(wanted, texts)
        self.assertIn(["lpp1", "0", "1"], rows)
        # Shares are those of the summary, and values with errors those of the events.
        self.assertEqual(len(list(root.iter(f"{SVG}svg"))), 2)
        shares = re.findall(r"^ +(\S+) +(\d+\.\d\d) ?#* +(\S+) +(\d+\.\d\d)", summary, re.MULTILINE)
        self.assertEqual(len(shares), 12)
        found = [row for row in rows if " to " in row[0]]
        self.assertEqual([row[1] for row in found], [row[1] for row in shares] + [row[3] for row in shares])
        self.assertEqual([row[0].split()[0] for row in found], [row[0] for row in shares] + [row[2] for row in shares])
        arrays = made.arrays
        muons = arrays.particles[arrays.particles["status_code"] == 1]
        transverse = np.hypot(muons["px"], muons["py"]).reshape(300, 2)
        weights = arrays.events["weight"] / 300
        for row in found[:12]:
            low, high = map(float, row[0].split(" to "))
            inside = ((transverse >= low) & (transverse < high)).sum(axis=1)
            value = (inside * weights).sum() / (high - low)
            error = np.sqrt(((inside * weights) ** 2).sum()) / (high - low)
            self.assertLess(abs(float(row[2]) - value), 2e-5 * value + 1e-12)
            self.assertLess(abs(float(row[3]) - error), 0.06 * error + 1e-12)

    def test_a_decay(self):
        made = mebridge.Run("t > b w+", run_card={"nevents": 50}, folder=self.folder).generate(seed=1)
        texts = "".join(self.page(made.folder / "run.html").itertext())
        self.assertIn("partial width, GeV", texts)
        self.assertRegex(texts, r"\u0393 = \S+ \u00b1 \S+ GeV")

    def plot(self, *arguments):
        status, out, err = command("plot", *arguments)
        self.assertEqual(status, 0, err)
        return out, err

    def test_files_over_each_other(self):
        one, other = self.make("one"), self.make("other", seed=2, ptl=30)
        plain = self.folder / "other & more.lhe"
        plain.write_bytes(gzip.decompress(other.output.read_bytes()))
        page = self.folder / "both.html"
        out, err = self.plot(one.output, plain, "--output", page)
        self.assertEqual((err, out.splitlines()[-1]), ("", str(page)))
        root = self.page(page)
        self.assertEqual(len([of for of in root.iter(f"{SVG}svg") if of.get("class") == "chart"]), 2)
        self.assertIn("other & more.lhe", "".join(root.itertext()))
        data = json.loads(self.plot(one.output, plain, "--json")[0])
        self.assertEqual([of["file"] for of in data], [str(one.output), str(plain)])
        for made, of in zip((one, other), data):
            self.assertLess(abs(of["cross_section"] / made.cross_section - 1), 1e-9)
            muons = made.arrays.particles[made.arrays.particles["status_code"] == 1]
            weights = np.repeat(made.arrays.events["weight"] / 300, 2)
            along = np.arcsinh(muons["pz"] / np.sqrt(muons["energy"] ** 2 - muons["pz"] ** 2))
            for values, spectrum in zip((np.hypot(muons["px"], muons["py"]), along), of["spectra"]):
                edges = np.array(spectrum["edges"])
                expected = np.histogram(values, edges, weights=weights)[0] / np.diff(edges)
                np.testing.assert_allclose(spectrum["values"], expected, rtol=1e-6, atol=1e-12)
                self.assertEqual((spectrum["pdg"], len(edges)), (13, 13))
        # The first file decides neither edges nor what is outside.
        self.assertEqual(*(of["spectra"][0]["edges"] for of in data))

    def test_weights_with_names(self):
        file = self.folder / "events.lhe"
        run = mebridge.generate_events(
            "p p > t t~", energy=8000, pdf=densities.write(self.folder), events=400, output=file, systematics=["scale"]
        )
        name = run.arrays.weight_names[0]
        data = json.loads(self.plot(file, "--weight", "nominal", "--weight", name, "--json")[0])
        self.assertEqual([of["weight"] for of in data], ["nominal", name])
        ratio = run.arrays.weights[:, 0].sum() / run.arrays.events["weight"].sum()
        self.assertLess(abs(data[1]["cross_section"] / data[0]["cross_section"] / ratio - 1), 1e-9)
        shapes = json.loads(self.plot(file, "--weight", name, "--shapes", "--json")[0])
        sums = sum(np.array(shapes[0]["spectra"][0]["values"]) * np.diff(shapes[0]["spectra"][0]["edges"]))
        # Two tops in each event, a few of which are outside.
        self.assertLess(abs(sums + sum(shapes[0]["spectra"][0]["outside"]) - 2), 1e-9)
        status, _, err = command("plot", file, "--weight", "none")
        self.assertEqual(status, 1)
        self.assertIn(f"has no weight 'none'; there are nominal, {name}", err)

    def test_yoda(self):
        one, other = self.make("one"), self.make("other", seed=2)
        out, _ = self.plot(one.output, other.output, "--yoda", self.folder / "yoda")
        names = "unweighted_events.yoda", "unweighted_events_2.yoda"
        self.assertEqual(out.splitlines()[-2:], [str(self.folder / "yoda" / name) for name in names])
        first, second = ((self.folder / "yoda" / name).read_text() for name in names)
        for made, text in ((one, first), (other, second)):
            blocks = re.findall(r"BEGIN YODA_HISTO1D_V2 (\S+)\n.*?\nTotal\tTotal\t(\S+)\t.*?END", text, re.DOTALL)
            self.assertEqual([path for path, _ in blocks], ["/mebridge/pt_13", "/mebridge/rapidity_13"])
            for _, total in blocks:
                self.assertLess(abs(float(total) / (2 * made.cross_section) - 1), 1e-9)
        edges = [re.findall(r"^(\S+)\t(\S+)\t", text, re.MULTILINE) for text in (first, second)]
        self.assertEqual(*edges)

    def test_a_browser(self):
        names = ("chromium", "chromium-browser", "google-chrome")
        browser = next((found for name in names if (found := shutil.which(name))), None)
        if browser is None:
            raise unittest.SkipTest("pages: there is no browser (chromium), which would draw them")
        made = self.make("run")
        page = made.folder / "run.html"
        picture = self.folder / "page.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.temporary / 'browser'}"]
        call = lambda *more: (
            subprocess.run(
                [browser, *options, *more, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
            ).stdout
        )
        try:
            root = call("--dump-dom")
        except subprocess.CalledProcessError as error:
            if error.returncode >= 0:
                raise
            raise unittest.SkipTest(f"pages: {browser} is ended by signal {-error.returncode} here") from None
        self.assertEqual(root.count("<svg"), 2)
        self.assertIn("mu+ mu-", root)
        call("--window-size=1100,1600", f"--screenshot={picture}")
        self.assertGreater(picture.stat().st_size, 20_000)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
