"""Arguments refused before a run or a call starts, and conditions that must not crash the interpreter."""

import contextlib
import gzip
import io
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import mebridge
from mebridge import _scratch, _worker

import cutting
from common import Folder, FolderHere

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import densities

GPU = os.path.exists("/dev/nvidiactl")


def generate(process="g g > t t~", **options):
    return mebridge.generate_events(process, **{"energy": 1000, "events": 5, **options})


def script(text, *arguments):
    """Runs a separate program, for cases that hung or crashed the interpreter before they were refused."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class NoCrossSection(FolderHere):
    def test_densities_that_are_0_end_a_run(self):
        with mock.patch.object(densities, "xf", lambda code, x, q: 0.0 * x * q):
            pdf = densities.write(self.folder)
        text = (
            "import mebridge, sys\n"
            "mebridge.generate_events('g g > t t~', energy=8000, events=5, pdf=sys.argv[1], scale='ht')"
        )
        self.assertIn("each point of the survey has the weight 0", script(text, pdf).stderr)


class MassiveBeams(FolderHere):
    def test_they_are_on_their_mass_shells(self):
        output = self.folder / "x.lhe"
        self.assertGreater(generate("u b > d t", output=output).cross_section, 0)
        for event in output.read_text().split("<event>\n")[1:]:
            beams = [[float(word) for word in line.split()] for line in event.splitlines()[1:3]]
            for of in beams:
                # (px, py, pz, E), mass.
                self.assertEqual(of[10], 4.7 if of[0] == 5 else 0)
                self.assertAlmostEqual(of[9] ** 2 - of[8] ** 2, of[10] ** 2, delta=1e-8 * of[9] ** 2)

    def test_a_mass_that_is_set(self):
        process = mebridge.Process("u b > d t")
        process.parameters["mb"] = 0.0
        self.assertGreater(generate(process).cross_section, 0)

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


BLOCKED = """
import ctypes, os, signal, subprocess, sys, mebridge
from mebridge import _scratch, _worker
signal.signal(signal.SIGINT, signal.default_int_handler)
# A survey that holds the lock of the interpreter and never ends; it sends SIGINT to its parent alone.
_worker._PROGRAM = _worker._PROGRAM.replace("serve(int", '''
import ctypes, os, signal
from mebridge import _engine
def run(*of, **more):
    os.kill(os.getppid(), signal.SIGINT)
    ctypes.PyDLL(None).sleep(10_000)
_engine.Engine.run = run
serve(int''')
try:
    mebridge.generate_events("g g > t t~", energy=1000, events=100)
except KeyboardInterrupt:
    print("interrupted")
"""

# After a program is killed its child ends.
KILLED = """
import os, sys, mebridge
from mebridge import _scratch, _worker
_worker._PROGRAM = _worker._PROGRAM.replace("serve(int", '''
import os, signal, time
from mebridge import _engine
def run(*of, **more):
    print("child", os.getpid(), file=sys.stderr, flush=True)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(10_000)
_engine.Engine.run = run
serve(int''')
mebridge.generate_events("g g > t t~", energy=1000, events=100)
"""


def child_that(does):
    """The child of a run does this before all else."""
    return mock.patch.object(_worker, "_PROGRAM", _worker._PROGRAM.replace("serve(int", does + "\nserve(int"))


class Children(Folder):
    """Points are weighed in a process of its own."""

    def test_a_child_that_ends(self):
        for does, said in (
            ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"with signal 11 \(Segmentation fault\)"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "with signal 9 .*lack of memory"),
            ("import os; os.write(1, b'[\"done\", [1'); os._exit(7)", "with status 7"),
            ("import os; os._exit(7)", "with status 7"),
        ):
            with child_that(does), self.assertRaisesRegex(mebridge.Error, said):
                generate(output=self.folder / "x.lhe")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_it_says(self):
        """Output of a library is no answer, and warnings arrive."""
        does = (
            "import os, warnings; from mebridge import _engine; before = _engine.Engine.run\n"
            "def run(*of, **more): os.write(1, b'said'); warnings.warn('warned'); return before(*of, **more)\n"
            "_engine.Engine.run = run"
        )
        with child_that(does), self.assertWarnsRegex(UserWarning, "warned"):
            self.assertEqual(generate().events, 5)

    def test_numpy_is_imported_for_functions_alone(self):
        flag = self.folder / "flag"
        does = (
            "import pathlib, sys; from mebridge import _engine; before = _engine.Engine.run\n"
            "def run(*of, **more):\n"
            "    done = before(*of, **more)\n"
            f"    pathlib.Path({str(flag)!r}).write_text(str('numpy' in sys.modules))\n"
            "    return done\n"
            "_engine.Engine.run = run"
        )
        for cut, imported in ((None, "False"), (cutting.with_package, "True")):
            with child_that(does), self.subTest(cut):
                self.assertEqual(generate(cut=cut).events, 5)
                self.assertEqual(flag.read_text(), imported)

    def test_without_stderr(self):
        run = script(
            "import os, sys, mebridge\n"
            "os.close(0); os.close(2); sys.stderr = None\n"
            "print(mebridge.generate_events('g g > t t~', energy=1000, events=5, progress=True).events)"
        )
        self.assertEqual((run.returncode, run.stdout), (0, "5\n"))

    def test_an_interruption(self):
        """SIGINT is answered while points are weighed."""
        run = script(BLOCKED)
        self.assertEqual((run.returncode, run.stdout), (0, "interrupted\n"), run.stderr)

    def test_a_program_that_is_killed(self):
        def folders():
            return list(self.temporary.glob("mebridge-*"))

        run = script(KILLED, self.temporary)
        self.assertEqual(run.returncode, -signal.SIGKILL, run.stderr)
        child = int(run.stderr.split("child ")[1].split()[0])
        while pathlib.Path(f"/proc/{child}/cmdline").exists() and _lives(child):
            time.sleep(0.01)
        self.assertGreater(len(folders()), 0)
        # Of runs killed before they had locked their folder, and what is not of a run.
        (self.temporary / "mebridge-0123abc_").mkdir()
        (self.temporary / "mebridge-4567abc_").mkdir()
        (self.temporary / "mebridge-4567abc_" / "lock.new").touch()
        others = [self.temporary / name for name in ("mebridge-89abcdef", "mebridge-mine")]
        for other in others:
            other.mkdir()
        (others[0] / "notes").touch()
        # The next run removes the folders left behind.
        self.assertEqual(generate().events, 5)
        self.assertEqual(sorted(folders()), others)
        for other in others:
            shutil.rmtree(other)

    def test_a_folder_swept_before_it_is_locked(self):
        """Another run may take a new folder for one that was left."""
        made = tempfile.mkdtemp

        def swept(*of, **more):
            tempfile.mkdtemp = made
            folder = made(*of, **more)
            os.rmdir(folder)
            return folder

        with mock.patch.object(tempfile, "mkdtemp", swept), _scratch.folder() as folder:
            self.assertEqual(os.listdir(folder), ["lock"])
        self.assertFalse(os.path.exists(folder))

    def test_threads_of_python_go_on(self):
        """The lock of the interpreter is free while points are weighed."""
        end, count = threading.Event(), 0

        def counts():
            nonlocal count
            while not end.is_set():
                count += 1
                time.sleep(0)

        does = (
            "import ctypes; from mebridge import _engine; before = _engine.Engine.run\n"
            "def run(*of, **more): ctypes.PyDLL(None).usleep(300_000); return before(*of, **more)\n"
            "_engine.Engine.run = run"
        )
        other = threading.Thread(target=counts)
        with child_that(does):
            other.start()
            try:
                generate()
            finally:
                end.set()
                other.join()
        self.assertGreater(count, 100)


def _lives(process):
    state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state not in "ZX"


class Poles(FolderHere):
    def test_the_missing_cut_is_named(self):
        cured = set()
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
            if (process, said) not in cured:
                self.assertGreater(generate(process, cuts={**cuts, **proposed}).cross_section, 0)
            cured.add((process, said))

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


class Arguments(FolderHere):
    def refused(self, said, **options):
        """At once: nothing is made, no process is read."""
        output = self.folder / "x.lhe"
        with mock.patch("mebridge._events.Worker", side_effect=AssertionError("it began")):
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
        for name in ("seed", "events", "threads"):
            self.refused(f"{name} is True", **{name: True})
            self.refused(f"{name} is .*True", **{name: np.True_})
        for name in ("energy", "scale_factor", "precision", "alpha_s"):
            self.refused(f"{name} is .*; it must be a", **{name: True})
            self.refused(f"{name} is '5'; it must be a", **{name: "5"})
        for cuts, said in (([20], "cuts is"), ({"pt": "20"}, "the cut pt is"), ({"pt": True}, "the cut pt is")):
            self.refused(said, cuts=cuts)
        self.refused("progress is 1;", progress=1)
        self.refused("device is 5;", device=5)
        self.refused("no scale 'mt'", scale="mt")
        for name in ("energy", "scale", "scale_factor"):
            for value in (10**400, [1], 0, -1, math.nan):
                self.refused(f"{name} (is|cannot be taken as a number)", **{name: value})

    def test_numbers_of_numpy(self):
        found = generate(seed=3, energy=1000, events=10)
        same = generate(seed=np.int64(3), energy=np.float32(1000), events=np.float32(10), threads=np.int32(1))
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
        (self.folder / "s").mkdir()
        self.refused("in the folder of the run's state", output=self.folder / "s" / "x", state=self.folder / "s")
        self.assertEqual(card.read_text(), "a card")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["card.dat", "card.link", "pipe", "s"])

    def test_a_link_stays(self):
        real, link = self.folder / "real.lhe", self.folder / "x.lhe"
        link.symlink_to(real)
        self.assertEqual(generate(output=link).output, real.resolve())
        self.assertTrue(link.is_symlink())
        self.assertEqual(real.read_text().count("<event>"), 5)

    def test_permissions_stay(self):
        output = self.folder / "x.lhe"
        output.touch(0o600)
        generate(output=output)
        self.assertEqual(output.stat().st_mode & 0o777, 0o600)

    def test_a_card_that_is_no_file(self):
        os.mkfifo(self.folder / "pipe")
        for card in (self.folder / "pipe", self.folder, "/dev/zero"):
            with self.subTest(card), self.assertRaisesRegex(mebridge.Error, "cannot be read"):
                generate(card=card)

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
        for device, says in (("cuda", "no GPU can be used"), ("hip", "no AMD GPU can be used")):
            run = script(
                "import mebridge\n"
                f"try: mebridge.generate_events('g g > t t~', energy=1000, device={device!r})\n"
                "except mebridge.Error as error: print(error)"
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stdout, f'{says}.*device="cpu"')


class DamagedStates(FolderHere):
    def test_every_file(self):
        kept, state = self.folder / "kept", self.folder / "state"
        run = generate(state=kept)
        damages = {
            "cut": lambda path, data: path.write_bytes(data[: len(data) // 2]),
            "changed": lambda path, data: path.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]),
            "a folder": lambda path, data: (path.unlink(), path.mkdir()),
            "a pipe": lambda path, data: (path.unlink(), os.mkfifo(path)),
        }
        files = [path.relative_to(kept) for path in kept.rglob("*") if path.is_file() and path.name != "lock"]
        self.assertGreater(len(files), 4)
        for file in files:
            for name, damage in damages.items():
                shutil.rmtree(state, ignore_errors=True)
                shutil.copytree(kept, state)
                damage(state / file, (state / file).read_bytes())
                with self.subTest(str(file), damage=name), self.assertRaisesRegex(mebridge.Error, "to begin anew"):
                    generate(state=state)
        for text in ("[]", "null", "{}", '{"asked": {}, "rounds": [1], "survey": {}}', 100_000 * "["):
            (state / "run.json").write_text(text)
            with self.subTest(text[:20]), self.assertRaisesRegex(mebridge.Error, "to begin anew"):
                generate(state=state)
        self.assertEqual(generate(state=kept).cross_section, run.cross_section)


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
            mebridge._command.umami(["-h"], self.folder / "x.so", None, {}, "cpu", {})

    def test_names_with_nul(self):
        for options in ({"process": "g g > t t~\0 g"}, {"card": "a\0b"}, {"cache": "a\0b"}):
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
        for threads in ("2", True, None):
            with self.assertRaisesRegex(TypeError, "threads is"):
                mebridge.Process("g g > t t~", threads=threads)

    def test_no_switch_of_fortran_is_named(self):
        for options, said in (
            ({"process": "p p > t t~"}, r"name one of them as 'p p > t t~#n'"),
            ({"process": "p p > t t~#3"}, r"no number 3; name one of them as"),
            ({"process": ""}, "which process"),
            ({"precision": "double"}, "precision is 'double'; it must be one of \"d\" \\(double\\)"),
            ({"precision": None}, "precision is None"),
            ({"simd": "avx512"}, "simd is 'avx512'.*\"512z\""),
        ):
            with self.subTest(options), self.assertRaisesRegex((mebridge.Error, ValueError), said) as raised:
                mebridge.Process(**{"process": "g g > t t~", **options})
            self.assertNotIn("CUDACPP", str(raised.exception))
        if not GPU:
            with self.assertRaises(mebridge.Error) as raised:
                mebridge.Process("g g > t t~")._on_device(0)
            self.assertEqual(raised.exception.code, "no_gpu")
            self.assertIn('device="cpu"', str(raised.exception))

    def test_an_arrow_without_spaces(self):
        for text in ("g g>t t~", "g g >t t~", "g g> t t~"):
            self.assertEqual(mebridge.Process(text).pdg, [21, 21, 6, -6])
        names = [process.name for process in mebridge.Process.all("p p>t t~ j")]
        self.assertEqual(names, [process.name for process in mebridge.Process.all("p p > t t~ j")])
        # Both orders of the beams are meant however it is written.
        entries = []
        for text in ("p p > t t~ j", "p p>t t~ j"):
            mebridge._command.umami([text], self.folder / "x.so", None, {}, "cpu", {})
            (entry,) = json.loads((self.folder / "x.json").read_text())
            entries.append([flavor["mirror"] for flavor in entry["flavors"]])
        self.assertEqual(entries[0], entries[1])
        self.assertIn(True, entries[0])

    def test_why_there_are_no_diagrams(self):
        for text, said in (("u s~ > w+ g", "CKM"), ("g g > h", "loops"), ("p p > t j", "contain no b")):
            with self.subTest(text), self.assertRaisesRegex(mebridge.Error, said):
                mebridge.Process(text)

    def test_what_takes_long_says_so(self):
        def told(patience):
            errors = io.StringIO()
            with mock.patch.object(mebridge._command, "_PATIENCE", patience), contextlib.redirect_stderr(errors):
                mebridge.Process("g g > t t~ g g", cache="off")
                mebridge.Process.all("p p > t t~")
            return errors.getvalue()

        self.assertEqual(told(1e6), "")
        lines = "".join(
            f"mebridge: making {name}, for ten seconds so far\n" for name in ("g g > t t~ g g", "p p > t t~")
        )
        self.assertTrue(told(0.0).startswith(lines), told(0.0))
        # The command's own line about it is not repeated.
        slow = self.folder / "slow"
        slow.write_text("#!/bin/sh\necho 'mebridge: generating, for ten seconds so far' >&2\necho 'a warning' >&2\n")
        slow.chmod(0o755)
        with mock.patch.dict(os.environ, {"MEBRIDGE_COMMAND": str(slow)}):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                mebridge._command.run("generate", "g g > t t~")
            self.assertEqual(errors.getvalue(), "a warning\n")

    def test_a_parameter_that_there_is_not(self):
        with self.assertRaisesRegex(mebridge.Error, "there is no parameter nothing; there are MDL_AS, MDL_MT, MDL_WT"):
            mebridge._command.umami(["p p > t t~"], self.folder / "x.so", None, {"nothing": 1.0}, "cpu", {})
        self.assertEqual(list(self.folder.iterdir()), [])
