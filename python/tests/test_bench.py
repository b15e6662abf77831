"""benches/events: a row is measured, and samples belong to the parts of a run."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import parts
import processes

BENCH = pathlib.Path(__file__).resolve().parents[2] / "benches" / "events"


class Parts(unittest.TestCase):
    def test_libraries_and_symbols(self):
        for library, symbol, part in (
            ("/tmp/mebridge-x/process.so (deleted)", "f", "matrix element"),
            ("[kernel.kallsyms]", "copy_page", "kernel"),
            ("/x/libmebridge.so", "mebridge_densities::evaluate::Evaluation::run", "densities"),
            ("/x/process0.so", "<mebridge_phasespace::draw::Draw as mebridge_simd::Task>::run", "phase space"),
            ("/x/libmebridge.so", "mebridge_sampler::grid::Training::add", "grids and unweighting"),
            ("/usr/lib/libm.so.6", "__ieee754_pow_fma", "mathematical functions"),
            ("/usr/lib/libc.so.6", "malloc", "C library"),
            ("/usr/bin/python3.11", "_PyEval_EvalFrameDefault", "Python"),
        ):
            self.assertEqual(parts.part(library, symbol), part, (library, symbol))

    def test_samples_lie_in_stages(self):
        lines = ["  12  1.500000:  55aa f (/tmp/process.so)", " 12 2.500000: 55aa g (/x/libm.so.6)", "nonsense"]
        self.assertEqual(list(parts._read(lines)), [(1.5, "f", "/tmp/process.so"), (2.5, "g", "/x/libm.so.6")])


class Rows(unittest.TestCase):
    def test_one_is_measured(self):
        name = processes.ROWS[0].process
        with tempfile.TemporaryDirectory() as folder:
            found = pathlib.Path(folder) / "found.json"
            command = [sys.executable, str(BENCH / "events.py"), "--only", name, "--events", "300", "--no-parts"]
            done = subprocess.run([*command, "--json", str(found)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            (row,) = json.loads(found.read_text())["medians"]
        self.assertIn(name, done.stdout)
        self.assertEqual(row["events"], 300)
        self.assertTrue(0.0 < row["efficiency"] < row["passing"] < 1.0)
        self.assertLess(abs(row["cross_section"] - 43.6), 5 * row["error"])
        self.assertLess(row["survey_seconds"], row["seconds"])

    def test_a_row_that_there_is_not(self):
        command = [sys.executable, str(BENCH / "events.py"), "--only", "g g > nothing"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--list", done.stderr)
