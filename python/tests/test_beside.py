"""Rounds that several processes of MadSpace make on one machine, as on a GPU; here they are a CPU's."""

import contextlib
import io
import itertools
import os
import signal
import threading
import unittest
from unittest import mock

from common import Folder, need
import mebridge
from mebridge import _rounds, _worker

need("rounds of several processes", "madspace")

made = []


class Failing(_worker.Worker):
    """A process that ends where it is asked for this: the other ones of a run."""

    at = ""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.first = not made
        made.append(self)
        self.asked, self.ready = [], threading.Event()

    def call(self, name, **arguments):
        try:
            return super().call(name, **arguments)
        finally:
            self.ready.set()

    def begin(self, name, **arguments):
        self.asked.append(name)
        if name == "round" and self is made[0]:
            # It would be done before the others begin.
            for other in made[1:]:
                other.ready.wait(60)
        if name == self.at and not self.first:
            self._child.kill()
            self._child.wait()
        super().begin(name, **arguments)


class FirstFails(Failing):
    def begin(self, name, **arguments):
        self.first = False
        super().begin(name, **arguments)


class Beside(Folder):
    def run_with(self, count, kind=Failing, at=""):
        output, said = self.folder / f"{count}{at}.lhe", io.StringIO()
        made.clear()
        with (
            mock.patch("mebridge._events.workers", return_value=count),
            mock.patch("mebridge._events.Worker", kind),
            mock.patch.object(Failing, "at", at),
            mock.patch.dict(_rounds._LEAST, {"cpu": 500}),
            contextlib.redirect_stderr(said),
        ):
            run = mebridge.generate_events(
                "g g > t t~ g", energy=1000, events=5000, cuts={"pt": 20}, seed=3, output=output
            )
        return run, output.read_bytes(), said.getvalue()

    def test_events_are_those_of_one_process(self):
        one, alone, _ = self.run_with(1)
        several, together, _ = self.run_with(3)
        self.assertEqual(together, alone)
        self.assertEqual((several.cross_section, several.error), (one.cross_section, one.error))
        # The first one made the survey, and all of them rounds.
        self.assertEqual([("survey" in of.asked, "round" in of.asked) for of in made], [(True, True), *[(False, True)] * 2])

    def test_a_run_goes_on_without_one_that_fails(self):
        _, alone, _ = self.run_with(1)
        for at, again in (("build", 0), ("load", 2), ("round", 2)):
            with self.subTest(at):
                run, together, said = self.run_with(3, at=at)
                self.assertEqual((together, run.again), (alone, again))
                self.assertIn("the run goes on with 0 other processes, as one failed", said)

    def test_it_ends_with_the_first(self):
        with self.assertRaisesRegex(mebridge.Error, r"signal 9 \(Killed\)"):
            self.run_with(3, FirstFails, "round")
        self.assertEqual({of._child.poll() is None for of in made}, {False})

    def test_one_that_hangs(self):
        """It takes no time of a CPU; one that does may take as long as it likes."""
        looks = itertools.count()

        def seconds(worker):
            look = next(looks)
            if look == 250:
                os.kill(worker._child.pid, signal.SIGCONT)
            return look

        with mock.patch.dict(os.environ, MEBRIDGE_WORKER_SECONDS="0.2"), _worker.Worker({}) as worker:
            os.kill(worker._child.pid, signal.SIGSTOP)
            with mock.patch.object(_worker.Worker, "_seconds", seconds):
                worker.call("prepare", devices=["cpu"], threads=1)
            os.kill(worker._child.pid, signal.SIGSTOP)
            with self.assertRaisesRegex(mebridge.Error, "MadSpace hangs: .* no time of a CPU for 0.2 s, for which MEBRIDGE_WORKER_SECONDS"):
                worker.call("prepare", devices=["cpu"], threads=1)

    def test_how_many_there_are(self):
        asked = ((40, "cpu", 1), (40, "cpu", 8), (40, "cpu", 64), (1, "cuda", 1), (4, "cuda", 1), (40, "hip", 1))
        with mock.patch("os.sched_getaffinity", return_value=range(16)):
            self.assertEqual([_rounds.workers(*of) for of in asked], [1, 2, 4, 1, 2, 4])
        with mock.patch("os.sched_getaffinity", return_value=range(2)):
            self.assertEqual(_rounds.workers(40, "cuda", 16), 1)


if __name__ == "__main__":
    unittest.main()
