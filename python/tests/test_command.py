"""The command on machines and in folders as they are: links, names, streams, interruptions, several runs at once."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import time
import unittest
from concurrent import futures
from unittest import mock

from common import Folder, FolderHere
import mebridge
from mebridge import _library, _runs

MADSPACE = importlib.util.find_spec("madspace") is not None
PROCESS = "e+ e- > mu+ mu-"
# Beams that are partons, of 100 GeV each.
CARD = {"lpp1": 0, "lpp2": 0, "ebeam1": 100, "ebeam2": 100, "nevents": 20}


def run(*arguments, **variables):
    """The command as a user calls it."""
    call = [str(mebridge.command()), *map(str, arguments)]
    return subprocess.run(call, env={**os.environ, **variables}, capture_output=True, text=True)


@unittest.skipUnless(MADSPACE, "madspace is not installed")
class Written(FolderHere):
    """What lies beside an event file."""

    def test_links_are_not_followed(self):
        names = "summary.txt", "r_tag_1_banner.txt"
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
        run.generate(name="r", seed=1, reweight=[run.param_card])
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
        with self.assertRaisesRegex(mebridge.Error, "run_tag = x{40}... is part of a file's name, .* 255 bytes; shorten it"):
            run.generate()
        self.assertFalse((self.folder / "Events").exists())


class Libraries(Folder):
    """What MEBRIDGE_LIBRARY and MEBRIDGE_COMMAND may name."""

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
        for arguments in (["plugin", "--help"], ["events", "--help"], ["pack", "--help"], ["link", str(self.folder)]):
            done = run(*arguments, MEBRIDGE_LIBRARY=str(self.folder / "x"))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^mebridge: .*x.*correct MEBRIDGE_LIBRARY.*\n$")

    def test_what_is_no_command(self):
        (self.folder / "text").write_text("x")
        (self.folder / "program").write_text("x")
        (self.folder / "program").chmod(0o755)
        for name, said in (("text", "Permission denied"), ("program", "Exec format error"), ("nowhere", "No such file")):
            with self.subTest(name), mock.patch.dict(os.environ, {"MEBRIDGE_COMMAND": str(self.folder / name)}):
                with self.assertRaisesRegex(mebridge.Error, f"{name} cannot be run: {said}.*; correct MEBRIDGE_COMMAND"):
                    mebridge._command.run("--version")


class Names(Folder):
    def test_runs_at_once_have_their_own_numbers(self):
        events = self.folder / "Events"

        def claim(_):
            with _runs._claimed(events, None) as folder:
                (folder / "x").touch(exist_ok=False)
            return folder.name

        # All see the same runs before any has begun.
        with futures.ThreadPoolExecutor(8) as pool, mock.patch.object(_runs._output, "_entries", slow(_runs._output._entries)):
            names = sorted(pool.map(claim, range(8)))
        self.assertEqual(names, [f"run_{number:02}" for number in range(1, 9)])

    def test_a_run_that_cannot_begin_leaves_nothing(self):
        with self.assertRaises(ZeroDivisionError), _runs._claimed(self.folder / "Events", None):
            1 / 0
        self.assertEqual(list(self.folder.iterdir()), [])
        (self.folder / "Events").mkdir()
        with self.assertRaises(ZeroDivisionError), _runs._claimed(self.folder / "Events", "x"):
            1 / 0
        self.assertEqual(list(self.folder.rglob("*")), [self.folder / "Events"])

    def test_what_is_no_folder_is_named(self):
        events = self.folder / "Events"
        events.mkdir()
        (events / "file").touch()
        (events / "lost").symlink_to("nowhere")
        for name, what in (("file", "file is a file"), ("lost", "lost is a link that leads nowhere")):
            with self.assertRaisesRegex(mebridge.Error, what), _runs._claimed(events, name):
                pass
        with self.assertRaisesRegex(mebridge.Error, "lost is a link that leads nowhere"), _runs._claimed(events / "lost", None):
            pass
        with self.assertRaisesRegex(mebridge.Error, "file/run_01 cannot be made: Not a dir"), _runs._claimed(events / "file", None):
            pass


def slow(function):
    """It answers when its answer is old."""

    def called(*arguments):
        found = function(*arguments)
        time.sleep(0.05)
        return found

    return called


if __name__ == "__main__":
    unittest.main()
