"""What is refused before a run or a call begins, and what must not end the interpreter."""

import gzip
import importlib.util
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import mebridge

MADSPACE = importlib.util.find_spec("madspace") is not None
GPU = os.path.exists("/dev/nvidiactl")


def generate(process="g g > t t~", **options):
    return mebridge.generate_events(process, **{"energy": 1000, "events": 5, **options})


def script(text, *arguments):
    """What a program of its own does: what is refused here hung, or ended the interpreter."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class MassiveBeams(Folder):
    def test_they_are_refused(self):
        for process, said in (
            ("u b > d t", r"second particle that comes in \(5, PDG code\) has a mass of 4.7 GeV"),
            ("b u > t d", r"first particle that comes in \(5, PDG code\)"),
            ("b g > b g", "block MASS has 0 for 5"),
            ("w+ w- > z h", r"\(24, PDG code\) has a mass of 80.419 GeV"),
            ("ta+ ta- > z h", r"\(-15, PDG code\) has a mass of 1.777 GeV"),
        ):
            with self.subTest(process), self.assertRaisesRegex(mebridge.Error, said):
                generate(process, cuts={"pt": 20}, output=self.folder / "x.lhe")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_cure(self):
        card = self.folder / "massless.dat"
        entries = "SMINPUTS\n 1 132.5\n 2 1.16639e-5\n 3 0.118", "MASS\n 5 0\n 6 173\n 15 1.777\n 23 91.188\n 25 125"
        card.write_text("".join(f"BLOCK {entry}\n" for entry in entries) + "DECAY 6 1.49\nDECAY 24 2.04\n")
        output = self.folder / "x.lhe"
        self.assertGreater(generate("u b > d t", card=card, output=output).cross_section, 0)
        for event in output.read_text().split("<event>\n")[1:]:
            beams = [line.split() for line in event.splitlines()[1:3]]
            # (px, py, pz, E), mass.
            self.assertEqual([abs(float(beam[8])) / float(beam[9]) for beam in beams], [1, 1])
            self.assertEqual([float(beam[10]) for beam in beams], [0, 0])


RAISES = """
import mebridge
from mebridge import _checks
_checks.beams = lambda *of: None
try:
    mebridge.generate_events("w+ w- > w+ w- z z", energy=1000, events=500, threads=8)
except mebridge.Error as error:
    print(error)
"""

INTERRUPTED = """
import os, signal, sys, threading, time, mebridge
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    mebridge.generate_events("g g > t t~ g g", energy=1000, events=100_000, threads=8, cuts={"pt": 20, "dr": 0.4})
except KeyboardInterrupt:
    print("interrupted")
time.sleep(0.5)
"""


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class Lifetimes(unittest.TestCase):
    def test_what_madspace_throws(self):
        """Other threads evaluate while one point without a number ends the survey."""
        run = script(RAISES)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("MadSpace ended the run: non-finite", run.stdout)

    def test_an_interruption(self):
        run = script(INTERRUPTED, 3)
        self.assertEqual((run.returncode, run.stdout), (0, "interrupted\n"), run.stderr)

    def test_threads_are_waited_for(self):
        from mebridge._alive import Workers

        workers, end, done = Workers(can_sleep=True), threading.Event(), []

        def work():
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                pass
            done.append(True)
            end.wait()

        workers.start(lambda: threading.Thread(target=work, daemon=True).start())
        with self.assertRaises(KeyError), workers.keeping():
            raise KeyError
        self.assertEqual(done, [True])
        end.set()


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class Poles(unittest.TestCase):
    def test_the_missing_cut_is_named(self):
        for process, cuts, proposed in (
            ("g g > t t~ g", {}, {"pt": 20}),
            ("g g > t t~ g", {"eta": 3}, {"pt": 20}),
            ("g g > t t~ g", {"pt": 0}, {"pt": 20}),
            ("u d > u d", {}, {"pt": 20}),
            ("u d > u d", {"mass": 100, "dr": 0.4}, {"pt": 20}),
            ("e+ e- > e+ e-", {}, {"ptl": 20}),
            ("e+ e- > a a", {}, {"pta": 20}),
            ("u u~ > z g", {"ptl": 20}, {"pt": 20}),
            ("g g > g g g", {"pt": 20}, {"dr": 0.4}),
            ("e+ e- > u u~ g", {}, {"dr": 0.4, "pt": 20}),
            ("e+ e- > u u~ g", {"dr": 0.4}, {"pt": 20}),
            ("e+ e- > b b~ g", {}, {"pt": 20}),
            ("e+ e- > mu+ mu- a", {"drll": 0.4, "pta": 10}, {"dral": 0.4}),
        ):
            said = ", ".join(f'"{name}": {value:g}' for name, value in proposed.items())
            with self.subTest(process, cuts=cuts), self.assertRaises(mebridge.Error) as raised:
                generate(process, cuts=cuts)
            self.assertIn(f"such as cuts={{{said}}}", str(raised.exception))
            # The cure is one.
            self.assertGreater(generate(process, cuts={**cuts, **proposed}).cross_section, 0)

    def test_what_has_no_poles(self):
        for process, cuts in (
            ("g g > t t~", {}),
            ("u u~ > w+ w-", {}),
            ("e+ e- > mu+ mu-", {}),
            ("e+ e- > t t~ h", {}),
            ("u d > u d", {"eta": 3}),
            ("e+ e- > u u~ g", {"mass": 10}),
            ("g g > g g g", {"eta": 3, "mass": 50}),
        ):
            with self.subTest(process):
                self.assertGreater(generate(process, cuts=cuts).cross_section, 0)


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class Arguments(Folder):
    def refused(self, said, **options):
        """At once: nothing is made, no process is read."""
        output = self.folder / "x.lhe"
        with mock.patch("mebridge._integrands.elements", side_effect=AssertionError("it began")):
            with self.subTest(options), self.assertRaisesRegex((ValueError, TypeError, mebridge.Error), said):
                generate(**{"output": output, **options})
        self.assertFalse(output.exists())

    def test_numbers(self):
        for seed in (-1, 2**64, 2**200, 10**400, 1.5, "1", math.nan):
            self.refused("seed is", seed=seed)
        for precision in (0, -1, math.nan, math.inf, 1e-300, 1):
            self.refused("precision is", precision=precision)
        for events in (5.5, -3, 0, math.inf, None, "5"):
            self.refused("events is", events=events)
        for threads in (2**33, 2**32 + 1, -1, 0, 1.5):
            self.refused("threads is", threads=threads)
        for name in ("energy", "scale", "scale_factor"):
            for value in (10**400, [1], 0, -1, math.nan):
                self.refused(f"{name} (is|cannot be taken as a number)", **{name: value})

    def test_numbers_of_numpy(self):
        found = generate(seed=3, energy=1000, events=10)
        same = generate(seed=np.int64(3), energy=np.float32(1000), events=np.int64(10), threads=np.int32(1))
        self.assertEqual((found.cross_section, found.events), (same.cross_section, same.events))
        output = self.folder / "x.lhe"
        self.assertEqual(generate(events=1e1, cuts={"pt": np.float32(5)}, output=output).events, 10)
        self.assertEqual(output.read_text().count("<event>"), 10)

    def test_outputs(self):
        pipe, card, link = self.folder / "pipe", self.folder / "card.dat", self.folder / "card.link"
        os.mkfifo(pipe)
        card.write_text("a card")
        link.symlink_to(card)
        for output, said in (
            (self.folder / "no" / "x.lhe", "No such file or directory"),
            (self.folder, "no file"),
            (pipe, "no file"),
            (self.folder / ("x" * 300), "File name too long"),
            (f"{self.folder}/x\0y", "NUL"),
            (card / "x.lhe", "Not a directory"),
        ):
            self.refused(said, output=output)
        for output in (card, link):
            self.refused("is read by this run", output=output, card=card)
        self.assertEqual(card.read_text(), "a card")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["card.dat", "card.link", "pipe"])

    def test_a_link_stays(self):
        real, link = self.folder / "real.lhe", self.folder / "x.lhe"
        link.symlink_to(real)
        self.assertEqual(generate(output=link).output, real.resolve())
        self.assertTrue(link.is_symlink())
        self.assertEqual(real.read_text().count("<event>"), 5)

    def test_compressed(self):
        plain, packed = self.folder / "x.lhe", self.folder / "x.lhe.gz"
        generate(output=plain)
        generate(output=packed)
        self.assertEqual(gzip.decompress(packed.read_bytes()), plain.read_bytes())
        before = packed.read_bytes()
        generate(output=packed)
        self.assertEqual(packed.read_bytes(), before)

    def test_names_with_nul(self):
        for name in ("card", "state", "pdf"):
            self.refused("NUL", **{name: "x\0y"})
        with self.assertRaisesRegex(ValueError, "NUL"):
            generate("g g > t t~\0 g")

    @unittest.skipIf(GPU, "there is a GPU")
    def test_a_gpu_that_is_not_there(self):
        run = script(
            "import mebridge\n"
            "try: mebridge.generate_events('g g > t t~', energy=1000, device='cuda')\n"
            "except mebridge.Error as error: print(error)"
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, 'cuda cannot be used .*device="cpu".*no GPU can be used')


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class DamagedStates(Folder):
    def test_every_file(self):
        kept, state = self.folder / "kept", self.folder / "state"
        run = generate(state=kept)
        damages = {
            "cut": lambda path, data: path.write_bytes(data[: len(data) // 2]),
            "changed": lambda path, data: path.write_bytes(data[:-20] + b"1" + data[-19:]),
            "a folder": lambda path, data: (path.unlink(), path.mkdir()),
            "a pipe": lambda path, data: (path.unlink(), os.mkfifo(path)),
        }
        files = [path.relative_to(kept) for path in kept.rglob("*") if path.is_file() and path.name != "lock"]
        self.assertGreater(len(files), 5)
        for file in files:
            for name, damage in damages.items():
                shutil.rmtree(state, ignore_errors=True)
                shutil.copytree(kept, state)
                damage(state / file, (state / file).read_bytes())
                if (state / file).is_fifo() and file.name == "run.json":
                    continue
                with self.subTest(str(file), damage=name), self.assertRaisesRegex(mebridge.Error, "to begin anew"):
                    generate(state=state)
        for text in ("[]", "null", "{}", '{"asked": {}, "rounds": [1], "survey": {}}', 100_000 * "["):
            (state / "run.json").write_text(text)
            with self.subTest(text[:20]), self.assertRaisesRegex(mebridge.Error, "to begin anew"):
                generate(state=state)
        self.assertEqual(generate(state=kept).cross_section, run.cross_section)

    def test_what_an_interrupted_run_left(self):
        """The survey is there, and nothing says so: it is made again."""
        from mebridge._state import State

        state, write, count = self.folder / "state", State._write, 0

        def interrupted(kept):
            nonlocal count
            count += 1
            if count == 2:
                raise KeyboardInterrupt
            write(kept)

        with mock.patch.object(State, "_write", interrupted), self.assertRaises(KeyboardInterrupt):
            generate(state=state)
        self.assertTrue((state / "survey").is_dir())
        self.assertEqual(generate(state=state).cross_section, generate().cross_section)


class Names(Folder):
    def test_what_the_package_has(self):
        for name in ("generate_events", "Events", "Progress"):
            self.assertIn(name, dir(mebridge))
            self.assertIn(name, mebridge.__all__)
            self.assertTrue(hasattr(mebridge, name))

    def test_names_that_are_no_options(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        process = mebridge.Process("g g > t t~")
        self.assertEqual(process.library("-y.so"), pathlib.Path("-y.so"))
        self.assertTrue((self.folder / "-y.so").is_file())
        with self.assertRaisesRegex(mebridge.Error, "-h: No such file"):
            mebridge._command.umami("-h", self.folder / "x.so", None, "cpu")

    def test_names_with_nul(self):
        for options in ({"process": "g g > t t~\0 g"}, {"card": "a\0b"}, {"cache": "a\0b"}, {"simd": "avx2\0"}):
            with self.subTest(options), self.assertRaisesRegex(ValueError, "NUL"):
                mebridge.Process(**{"process": "g g > t t~", **options})
        process = mebridge.Process("g g > t t~")
        with self.assertRaises(KeyError):
            process.parameters["mt\0x"]
        with self.assertRaises(KeyError):
            process.parameters["mt\0x"] = 170.0
        with self.assertRaisesRegex(ValueError, "NUL"):
            process.library(f"{self.folder}/x\0.so")
        with self.assertRaisesRegex(ValueError, "NUL"):
            mebridge.Process.from_directory("x\0y")

    def test_threads(self):
        for threads in (2**33, 2**32 + 1, -1, 0, 1025, 1.5):
            with self.subTest(threads), self.assertRaisesRegex(ValueError, "threads is"):
                mebridge.Process("g g > t t~", threads=threads)
        with self.assertRaisesRegex(TypeError, "threads is"):
            mebridge.Process("g g > t t~", threads="2")


if __name__ == "__main__":
    unittest.main()
