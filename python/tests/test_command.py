"""The command on machines and in folders as they are: links, names, streams, interruptions, several runs at once."""

import importlib.util
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
from unittest import mock

import mebridge
from mebridge import _library

from common import Folder, FolderHere

ROOT = pathlib.Path(__file__).resolve().parents[2]
# An environment without anything of ours.
PLAIN = {"PATH": "/usr/bin:/bin", "CUDACPP_RUNTIME_BACKEND": "cpu", "CUDACPP_RUNTIME_CACHE": "off"}
PROCESS = "e+ e- > mu+ mu-"
# Beams that are partons, of 100 GeV each.
CARD = {"lpp1": 0, "lpp2": 0, "ebeam1": 100, "ebeam2": 100, "nevents": 20}
# The same as options, with few events.
SETTINGS = [word for name, value in CARD.items() for word in ("--set", f"{name}={value}")]


def run(*arguments, **variables):
    """The command as a user calls it."""
    call = [str(mebridge.command()), *map(str, arguments)]
    return subprocess.run(call, env={**os.environ, **variables}, capture_output=True, text=True)


class Written(FolderHere):
    """Files written beside an event file."""

    def test_links_are_not_followed(self):
        names = "run.html", "summary.txt", "r_tag_1_banner.txt"
        for process, card in ((PROCESS, CARD), ("t > b w+", {"nevents": 20})):
            with self.subTest(process):
                place = self.folder / process[0]
                run = place / "Events" / "r"
                run.mkdir(parents=True)
                mine = place / "mine"
                mine.write_text("mine")
                mine.chmod(0o600)
                for name in names:
                    (run / name).symlink_to(mine)
                made = mebridge.Run(process, run_card=card, folder=place).generate(name="r", seed=1)
                self.assertEqual(mine.read_text(), "mine")
                self.assertIn("20 events", (run / "summary.txt").read_text())
                for name in names:
                    self.assertFalse((run / name).is_symlink())
                    self.assertEqual((run / name).stat().st_mode, made.output.stat().st_mode)

    def test_weights_of_cards_are_in_the_summary_all_the_same(self):
        place = self.folder / "Events" / "r"
        place.mkdir(parents=True)
        (place / "summary.txt").symlink_to(self.folder / "mine")
        run = mebridge.Run(PROCESS, run_card=CARD, folder=self.folder)
        card = self.folder / "card.dat"
        card.write_text(run.param_card)
        run.generate(name="r", seed=1, reweight=[card])
        self.assertFalse((self.folder / "mine").exists())

    def test_events_are_not_written_through_a_link(self):
        place = self.folder / "Events" / "r"
        place.mkdir(parents=True)
        (place / "unweighted_events.lhe.gz").symlink_to(self.folder / "mine")
        with self.assertRaisesRegex(mebridge.Error, "holds the events of a run"):
            mebridge.Run(PROCESS, run_card=CARD, folder=self.folder).generate(name="r")
        self.assertFalse((self.folder / "mine").exists())

    def test_a_tag_that_no_file_can_have(self):
        run = mebridge.Run(PROCESS, run_card={**CARD, "run_tag": 5000 * "x"}, folder=self.folder)
        with self.assertRaisesRegex(
            mebridge.Error, "run_tag = x{40}... is part of a file's name, .* 255 bytes; shorten it"
        ):
            run.generate()
        self.assertFalse((self.folder / "Events").exists())


class Libraries(Folder):
    """Values of MEBRIDGE_LIBRARY and MEBRIDGE_COMMAND."""

    def test_what_is_no_library(self):
        whole = mebridge.library_path().read_bytes()
        foreign = bytearray(whole[:4096])
        # The machine: m68k.
        foreign[18:20] = (4).to_bytes(2, sys.byteorder)
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "lost").symlink_to("nowhere")
        for name, data in (("empty", b""), ("text", b"x"), ("script", b"#!/bin/sh\n" + 100 * b"#"), ("cut", whole[:100]),
                           ("foreign", foreign), ("other", pathlib.Path(importlib.util.find_spec("numpy.random._common").origin).read_bytes())):  # fmt: skip
            (self.folder / name).write_bytes(data)
        for name, said in (
            ("empty", "is empty"),
            ("text", "is no library"),
            ("script", "is no library"),
            ("cut", "cannot be loaded: "),
            ("foreign", "is a library for another kind of machine"),
            ("other", "is no library of this version of mebridge, it has no mebridge_"),
            ("folder", "is no file"),
            ("pipe", "is no file"),
            ("lost", "is missing"),
            ("nowhere", "is missing"),
        ):
            path = self.folder / name
            with self.subTest(name), mock.patch.dict(os.environ, {"MEBRIDGE_LIBRARY": str(path)}):
                with self.assertRaisesRegex(mebridge.Error, f"^{path} {said}.*; correct MEBRIDGE_LIBRARY"):
                    _library._load()
        with mock.patch.object(_library, "__file__", str(self.folder / "x")), mock.patch.dict(os.environ):
            os.environ.pop("MEBRIDGE_LIBRARY", None)
            with self.assertRaisesRegex(mebridge.Error, "libmebridge.so is missing; install the package again"):
                _library._load()

    def test_the_command_says_it_in_a_line(self):
        (self.folder / "x").touch()
        for arguments in (["link", str(self.folder)],):
            done = run(*arguments, MEBRIDGE_LIBRARY=str(self.folder / "x"))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^mebridge: .*x.*correct MEBRIDGE_LIBRARY.*\n$")

    def test_what_is_no_command(self):
        (self.folder / "text").write_text("x")
        (self.folder / "program").write_text("x")
        (self.folder / "program").chmod(0o755)
        for name, said in (
            ("text", "Permission denied"),
            ("program", "Exec format error"),
            ("nowhere", "No such file"),
        ):
            with self.subTest(name), mock.patch.dict(os.environ, {"MEBRIDGE_COMMAND": str(self.folder / name)}):
                with self.assertRaisesRegex(
                    mebridge.Error, f"{name} cannot be run: {said}.*; correct MEBRIDGE_COMMAND"
                ):
                    mebridge._command.run("--version")


class Installed(Folder):
    """The command finds its files in each kind of installation."""

    def test_every_subcommand(self):
        call = [ROOT / "tests" / "commands.sh", mebridge.command(), mebridge.library_path()]
        done = subprocess.run(list(map(str, call)), env=PLAIN, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def copied(self, place):
        command = self.folder / place
        command.parent.mkdir(parents=True)
        shutil.copy2(mebridge.command(), command)
        return command

    def test_libraries(self):
        command = self.copied("bin/mebridge")
        machine = f"lib/{platform.machine()}-linux-gnu"
        packages = "lib/python3.9/site-packages", "lib64/python3.14/site-packages", "lib/python3/dist-packages", "."
        version = mebridge.__version__
        for place in ("bin", "lib", "lib64", machine, *(f"{packages}/mebridge" for packages in packages)):
            with self.subTest(place):
                library = self.folder / place / "libmebridge.so"
                library.parent.mkdir(parents=True, exist_ok=True)
                library.symlink_to(mebridge.library_path())
                self.assertEqual(self.umami(command).returncode, 0)
                library.unlink()
        self.assertRegex(self.umami(command).stderr, "libmebridge.so: there is no such library; install mebridge again")
        # Of several Pythons, that with this version.
        for number, of in ((10, "0.0.1"), (11, version), (12, "99.0")):
            there = self.folder / f"lib/python3.{number}/site-packages"
            (there / f"mebridge-{of}.dist-info").mkdir(parents=True)
            (there / "mebridge").mkdir()
            (there / "mebridge" / "libmebridge.so").write_text("of another version")
        mine = self.folder / "lib/python3.11/site-packages/mebridge/libmebridge.so"
        mine.unlink()
        mine.symlink_to(mebridge.library_path())
        self.assertEqual(self.umami(command).returncode, 0)

    def umami(self, command):
        call = [str(command), "umami", "g g > t t~", "-o", str(self.folder / "x.so")]
        return subprocess.run(call, env=PLAIN, capture_output=True, text=True)


class Streams(Folder):
    """Whatever stdin, stdout and stderr are, and how many files may be open."""

    def called(self, arguments, redirected):
        """Status of a call by a shell, and its output on a stderr that is not redirected."""
        call = shlex.join([str(mebridge.command()), *arguments])
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {call} {redirected}"], env=PLAIN, capture_output=True, text=True
        )
        return done.returncode, done.stderr

    def test_where_nobody_reads(self):
        full = 1, "mebridge: stdout: No space left on device (os error 28)\n"
        for arguments in (["pack", "--help"], ["events", "--help"]):
            for redirected, wanted in (
                ("| true", (0, "")),
                ("> /dev/full", full),
                (">&-", (0, "")),
                ("2>&-", (0, "")),
                ("<&- >&- 2>&-", (0, "")),
            ):
                with self.subTest(arguments, redirected=redirected):
                    self.assertEqual(self.called(arguments, redirected), wanted)

    def test_what_is_said_of_a_run(self):
        arguments = ["events", PROCESS, *SETTINGS, "--folder", str(self.folder)]
        for redirected in ("2> /dev/full", ">&- 2>&- <&-", "2>&1 | true"):
            with self.subTest(redirected):
                self.assertEqual(self.called(arguments, redirected), (0, ""))
        self.assertEqual(len(list(self.folder.glob("Events/*/unweighted_events.lhe.gz"))), 3)


class Texts(Folder):
    def events(self, folder, **variables):
        call = [mebridge.command(), "events", PROCESS, *SETTINGS, "--quiet", "--folder", folder]
        done = subprocess.run([os.fsencode(word) for word in call], env={**PLAIN, **variables}, capture_output=True)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_locales(self):
        folder = self.folder / "Müller"
        for number, (variables, shown) in enumerate((
            ({}, str(folder)),
            ({"LC_ALL": "C"}, str(folder)),
            ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, str(folder)),
        ), 1):  # fmt: skip
            with self.subTest(variables):
                status, said, errors = self.events(folder, **variables)
                self.assertEqual((status, errors), (0, ""))
                self.assertTrue(said.endswith(f"\n{shown}/Events/run_{number:02}/unweighted_events.lhe.gz\n"), said)
