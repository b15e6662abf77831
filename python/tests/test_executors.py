"""mebridge.generate_events on executors: the same bytes whatever happens to workers, or else errors."""

import contextlib
import gzip
import hashlib
import io
import multiprocessing
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures
from unittest import mock

import numpy as np

import mebridge
from mebridge import _bundle, _command, _remote, _tasks, _worker

import densities
from common import Folder, need

ROOT = pathlib.Path(__file__).resolve().parents[1]

# A fork of a process that has threads may find their locks taken.
SPAWN = multiprocessing.get_context("spawn")


class Wrapped(futures.Executor):
    """Threads with a hook of the test around each task; messages and results are sent as bytes."""

    def __init__(self, around=lambda message, perform: perform(message), workers=2):
        self._around, self._threads = around, futures.ThreadPoolExecutor(workers)
        self._max_workers = workers
        self.messages = []

    def submit(self, function, message):
        self.messages.append(message)
        sent = pickle.dumps((function, message))

        def perform(message):
            function, _ = pickle.loads(sent)
            return pickle.loads(pickle.dumps(function(message)))

        return self._threads.submit(self._around, pickle.loads(sent)[1], perform)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)


class Executors(Folder):
    """A run of four rounds."""

    arguments = {"energy": 8000, "scale": 200.0, "events": 20_000, "seed": 5, "cuts": {"pt": 20}}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.common = pathlib.Path(folder.name)
        cls.pdf = densities.write(cls.common)
        cls.run_alone, cls.alone = cls.generate(cls.common / "alone.lhe")

    @classmethod
    def generate(cls, output, **options):
        run = mebridge.generate_events("p p > t t~", output=output, **{**cls.arguments, "pdf": cls.pdf, **options})
        return run, output.read_bytes()

    def same(self, executor, **options):
        """A run on an executor gives the same result as without one."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            run, found = self.generate(self.folder / "events.lhe", executor=executor, **options)
        self.assertEqual(found, self.alone)
        self.assertEqual((run.cross_section, run.error), (self.run_alone.cross_section, self.run_alone.error))
        return run, errors.getvalue()

    def seed(self, part):
        """Of the random numbers of a part."""
        digest = hashlib.sha256(f"{self.arguments['seed']} {part}".encode()).digest()
        return int.from_bytes(digest[:7], "big")

    def threads(self, *arguments, **options):
        executor = Wrapped(*arguments, **options)
        self.addCleanup(executor.shutdown)
        return executor

    def test_the_run_has_parts(self):
        executor = self.threads()
        self.same(executor)
        names = [message["name"] for message in executor.messages]
        self.assertEqual(names.count("survey"), 1)
        self.assertGreaterEqual(names.count("round"), 4)

    def test_processes(self):
        for workers in (1, 2):
            with futures.ProcessPoolExecutor(workers, mp_context=SPAWN) as executor:
                run, _ = self.same(executor)
            self.assertEqual(run.restarts, 0)

    def test_what_comes_last_first(self):
        """Results come in another order than that of the rounds."""
        another_is_kept = threading.Event()

        def around(message, perform):
            result = perform(message)
            if message["name"] == "round" and "done" in result:
                # The first one is sent first.
                first = next(one for one in executor.messages if one["name"] == "round")
                if message["settings"] == first["settings"]:
                    another_is_kept.wait(600)
            return result

        executor = self.threads(around, workers=4)
        done = []

        def report(progress):
            if progress.stage == "events":
                done.append(progress.events)
                another_is_kept.set()

        self.same(executor, progress=report)
        self.assertEqual(done, [5000, 10_000, 15_000, 20_000])

    def test_workers_need_none_of_the_callers_files(self):
        pdf = self.folder / "toy"
        shutil.copytree(self.pdf, pdf)
        gone = []

        def around(message, perform):
            if not gone:
                gone.append(shutil.rmtree(pdf))
            return perform(message)

        executor = self.threads(around)
        self.same(executor, pdf=pdf)
        # Libraries and densities are sent to a worker once, or when it reports that it lacks them.
        large = [message for message in executor.messages if sum(map(len, message["bundles"].values())) > 1 << 20]
        self.assertLessEqual(len(large), 5)
        self.assertGreater(len(executor.messages), 6)

    def test_a_worker_that_fails(self):
        failed = []

        def around(message, perform):
            if message["name"] == "round" and not failed:
                failed.append(message)
                raise OSError(28, "No space left on device")
            return perform(message)

        run, said = self.same(self.threads(around))
        self.assertEqual(run.restarts, 1)
        self.assertRegex(said, r"round \d failed on a worker: OSError: .*No space left.*; it is begun again \(2 of 4 t")

    def test_workers_that_always_fail(self):
        def around(message, perform):
            if message["name"] == "round" and message["settings"]["seed"] == self.seed("round 1"):
                raise MemoryError("none is left")
            return perform(message)

        state = self.folder / "state"
        with contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(mebridge.Error, r"round 1 failed on .*none is left \(the last of 4 tries\)"):
                self.generate(self.folder / "events.lhe", executor=self.threads(around), state=state)
        self.assertFalse((self.folder / "events.lhe").exists())
        # Finished parts are kept, and the run resumes with other workers.
        done = {path.name for path in state.glob("round*.npy")}
        self.assertNotIn("round0001.npy", done)
        sent = self.threads()
        self.same(sent, state=state)
        asked = {message["settings"]["seed"] for message in sent.messages if message["name"] == "round"}
        self.assertEqual(len(asked), 4 - len(done))
        # On this machine, too: rounds of both kinds are one file.
        self.same(None, state=state)

    def test_a_process_that_ends(self):
        """A part whose process is killed is begun again in another one."""
        flag = self.folder / "killed"
        does = (
            "import os, signal; from mebridge import _engine; before = _engine.Parts.perform\n"
            f"flag = {str(flag)!r}\n"
            "def perform(of, settings, folder, survey):\n"
            "    if survey is None: return before(of, settings, folder, survey)\n"
            "    try: os.close(os.open(flag, os.O_CREAT | os.O_EXCL))\n"
            "    except FileExistsError: return before(of, settings, folder, survey)\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "_engine.Parts.perform = perform\nserve(int"
        )
        with mock.patch.object(_worker, "_PROGRAM", _worker._PROGRAM.replace("serve(int", does)):
            run, said = self.same(self.threads())
        self.assertEqual(run.restarts, 1)
        self.assertRegex(said, r"round \d failed on process \d+ of .*signal 9")

    def test_what_every_worker_would_say(self):
        executor = self.threads()
        with self.assertRaisesRegex(mebridge.Error, "infinite without a cut"):
            mebridge.generate_events("g g > t t~ g", energy=1000, events=10, executor=executor)
        self.assertEqual(executor.messages, [])
        with self.assertRaisesRegex(mebridge.Error, "the cuts leave nothing"):
            mebridge.generate_events("g g > t t~ g", energy=1000, cuts={"pt": 900}, events=10, executor=executor)
        with mock.patch("mebridge._remote.version", lambda: "0.0"), contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(mebridge.Error, r"this worker has mebridge 0\.0, and the run is of"):
                mebridge.generate_events("g g > t t~", energy=1000, events=10, executor=executor)
        closed = futures.ThreadPoolExecutor(1)
        closed.shutdown()
        with self.assertRaisesRegex(mebridge.Error, "the executor takes no tasks: cannot schedule new futures"):
            mebridge.generate_events("g g > t t~", energy=1000, events=10, executor=closed)
        with self.assertRaisesRegex(TypeError, "executor is 2"):
            mebridge.generate_events("g g > t t~", energy=1000, events=10, executor=2)

    def test_a_worker_that_is_late(self):
        """It is begun elsewhere, and what comes first is taken."""
        end, late = threading.Event(), []

        def around(message, perform):
            if message["name"] == "round" and not late:
                late.append(message)
                end.wait()
            return perform(message)

        executor = self.threads(around, workers=3)
        # Before the executor is waited for.
        self.addCleanup(end.set)
        with mock.patch.object(_tasks, "MIN_SLOW", 0.2), mock.patch.object(_tasks, "SLOW", 0.0):
            run, said = self.same(executor)
        self.assertGreaterEqual(run.restarts, 1)
        self.assertRegex(said, r"round \d is late; it is begun again on another worker")

    def test_a_worker_that_hangs_before_anything_has_ended(self):
        """In the build, and in a survey of one part."""
        for name in ("open", "survey"):
            with self.subTest(name):
                end, hung = threading.Event(), []

                def around(message, perform):
                    if message["name"] == name and not hung:
                        hung.append(message)
                        end.wait()
                    return perform(message)

                executor = self.threads(around, workers=2)
                self.addCleanup(end.set)
                with mock.patch.object(_tasks, "MIN_SLOW", 0.1), mock.patch.object(_tasks, "FIRST", 2.0):
                    run, said = self.same(executor)
                self.assertGreaterEqual(run.restarts, 1)
                self.assertIn("is late; it is begun again on another worker", said)
                end.set()

    def test_workers_that_all_hang(self):
        end = threading.Event()
        executor = self.threads(lambda message, perform: end.wait(), workers=2)
        self.addCleanup(end.set)
        with mock.patch.dict(os.environ, MEBRIDGE_WORKER_SECONDS="0.5"):
            said = r"the setup of the run: no worker has answered for 0.5 s \(MEBRIDGE_WORKER_SECONDS sets another"
            with self.assertRaisesRegex(mebridge.Error, said):
                self.generate(self.folder / "x.lhe", executor=executor)
        for given in ("0", "-1", "nan", "soon"):
            with mock.patch.dict(os.environ, MEBRIDGE_WORKER_SECONDS=given):
                with self.assertRaisesRegex(
                    mebridge.Error, f"MEBRIDGE_WORKER_SECONDS is '{given}'; it must be a number"
                ):
                    self.generate(self.folder / "x.lhe", executor=executor)

    def test_processes_that_hang_do_not_keep_the_program(self):
        program = (
            "import functools, mebridge, multiprocessing, time\n"
            "from concurrent.futures import ProcessPoolExecutor\n"
            "def hang(): mebridge._remote.perform = time.sleep\n"
            "if __name__ == '__main__':\n"
            "    spawn = multiprocessing.get_context('spawn')\n"
            "    try: mebridge.generate_events('g g > t t~', energy=1000, events=5,\n"
            "        executor=functools.partial(ProcessPoolExecutor, 1, spawn, hang))\n"
            "    except mebridge.Error as error: print(error)\n"
        )
        # The function is pickled by its name, under which workers have another one.
        script = self.folder / "script.py"
        script.write_text(program.replace("time.sleep", "lambda message: time.sleep(10_000)"))
        variables = {**os.environ, "MEBRIDGE_WORKER_SECONDS": "5"}
        done = subprocess.run([sys.executable, str(script)], env=variables, capture_output=True, text=True, timeout=300)
        self.assertRegex(done.stdout, "no worker has answered for 5 s", done.stderr)

    def test_a_process_that_is_killed_while_it_answers(self):
        """The pool waits for the rest of an answer that no process sends."""
        program = (
            "import functools, mebridge, multiprocessing.connection, os, pathlib, signal, struct\n"
            "from concurrent.futures import ProcessPoolExecutor\n"
            f"flag = pathlib.Path({str(self.folder / 'killed')!r})\n"
            "whole = multiprocessing.connection.Connection._send_bytes\n"
            "def half(pipe, text):\n"
            "    if flag.exists(): return whole(pipe, text)\n"
            "    flag.touch()\n"
            "    os.write(pipe._handle, struct.pack('!i', len(text)) + bytes(text[: len(text) // 2]))\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "def halve(): multiprocessing.connection.Connection._send_bytes = half\n"
            "if __name__ == '__main__':\n"
            "    spawn = multiprocessing.get_context('spawn')\n"
            "    run = mebridge.generate_events('g g > t t~', energy=1000, events=5,\n"
            "        executor=functools.partial(ProcessPoolExecutor, 2, spawn, halve))\n"
            "    print(run.restarts)\n"
        )
        script = self.folder / "script.py"
        script.write_text(program)
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout.strip(), "1", done.stderr)
        self.assertIn("another one goes on", done.stderr)

    def test_answers_that_are_none(self):
        """Each is a failure of its worker: once the run goes on, always it ends."""

        def flipped(data):
            return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]

        def without(name):
            return lambda message, done: {key: value for key, value in done.items() if key != name}

        wrong = {
            "it says that it lacks what it was sent": lambda message, done: {"missing": list(message["bundles"])},
            "it reports missing data that do not exist": lambda message, done: {"missing": ["nothing"]},
            "cannot be read: KeyError: 'seconds'": without("seconds"),
            "cannot be read: KeyError: 'files'": without("files"),
            "cannot be read: KeyError: 'notices'": without("notices"),
            "cannot be read: KeyError: 'done'": without("done"),
            "cannot be read: KeyError: 'message'": lambda message, done: {"error": "Error"},
            "cannot be read: TypeError: ": lambda message, done: None,
            "its files are not what it sent": lambda message, done: {**done, "files": flipped(done["files"])},
        }

        def around(message, perform):
            done = perform(message)
            if message["name"] != "round" or "done" not in done or (once and given):
                return done
            given.append(message)
            return answer(message, done)

        # Its workers keep what they have. Parts of a run that has ended may go on: those come last.
        executor, given = self.threads(around), []
        once = True
        for said, answer in wrong.items():  # noqa: B007 used by around
            with self.subTest(said, once=once):
                given.clear()
                run, told = self.same(executor)
                self.assertEqual(run.restarts, 1)
                self.assertRegex(told, f"round . failed on a worker: .*{said}.*\\(2 of 4 tries")
        once = False
        # Progress does not depend on how often it is reported.
        for said in ("it reports missing data that do not exist", "its files are not what it sent"):
            answer = wrong[said]
            with self.subTest(said, once=once), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaisesRegex(mebridge.Error, f"round . failed on a worker: .*{said}.* 4 tries"):
                    self.generate(self.folder / "x.lhe", executor=executor)

    def test_bundles_that_arrive_damaged(self):
        damaged = []

        def around(message, perform):
            if message["bundles"] and len(damaged) < 2:
                damaged.append(message)
                bundles = {
                    name: packed[:-30] + bytes([packed[-30] ^ 1]) + packed[-29:]
                    for name, packed in message["bundles"].items()
                }
                message = {**message, "bundles": bundles}
            return perform(message)

        run, said = self.same(self.threads(around))
        self.assertEqual(run.restarts, 2)
        self.assertIn("what it was sent is damaged", said)

    def test_bits_of_a_bundle(self):
        """Whatever is wrong with it, an error says so, or all is there as it was."""
        for name, data in (("a", b"abc"), ("b/c", 100 * b"x")):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(data)
        packed = _bundle.pack_folder(self.folder)
        for bit in range(8 * len(packed)):
            damaged = bytearray(packed)
            damaged[bit // 8] ^= 1 << bit % 8
            with tempfile.TemporaryDirectory() as folder, contextlib.suppress(mebridge.Error):
                _bundle.unpack(bytes(damaged), pathlib.Path(folder))

    def test_an_executor_that_is_gone(self):
        """As Dask's without its scheduler."""

        class Gone(futures.Executor):
            def submit(self, *_):
                raise OSError("Timed out trying to connect to tcp://127.0.0.1:1 after 30 s")

        with self.assertRaisesRegex(mebridge.Error, "the executor takes no tasks: Timed out trying to connect"):
            self.generate(self.folder / "x.lhe", executor=Gone())

    def test_an_executor_that_breaks(self):
        """A process of ProcessPoolExecutor that is killed is the end of all of them."""

        def kill(found):
            if found.stage == "events" and not killed:
                killed.append(found)
                for pool in pools[-1:]:
                    for process in list(pool._processes.values()):
                        os.kill(process.pid, signal.SIGKILL)

        def make():
            pools.append(futures.ProcessPoolExecutor(1, mp_context=SPAWN))
            return pools[-1]

        pools, killed = [], []
        with self.assertRaisesRegex(mebridge.Error, "the executor ended: .*functools.partial"):
            self.generate(self.folder / "x.lhe", executor=make(), progress=kill, state=self.folder / "state")
        self.assertGreater(len(list((self.folder / "state").glob("round*.npy"))), 0)
        self.same(None, state=self.folder / "state")
        killed.clear()
        run, said = self.same(make, progress=kill)
        self.assertEqual(len(pools), 3)
        self.assertEqual(run.restarts, 1)
        self.assertIn("another one goes on", said)

    def test_an_interruption(self):
        def interrupt(found):
            if found.stage == "events":
                raise KeyboardInterrupt

        executor, state = self.threads(), self.folder / "state"
        with self.assertRaises(KeyboardInterrupt):
            self.generate(self.folder / "x.lhe", executor=executor, progress=interrupt, state=state)
        self.assertEqual(len(list(state.glob("round????.npy"))), 1)
        self.same(executor, state=state)

    def test_dask(self):
        """A worker that is killed costs its round."""
        need("executors", "distributed")
        from dask.distributed import Client, LocalCluster

        def kill(found):
            if found.stage == "events" and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        killed = []
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
            with Client(cluster) as client:
                self.same(client.get_executor())
                self.same(client.get_executor(), progress=kill)
        self.assertEqual(len(killed), 1)

    def test_mpi(self):
        need("executors", "mpi4py")
        mpiexec = shutil.which("mpiexec")
        if mpiexec is None:
            print("SKIPPED: executors: there is no mpiexec", file=sys.stderr)
            self.skipTest("there is no mpiexec")
        script, output = self.folder / "script.py", self.folder / "events.lhe"
        script.write_text(
            "import sys, mebridge\nfrom mpi4py.futures import MPIPoolExecutor\n"
            "if __name__ == '__main__':\n"
            "    with MPIPoolExecutor() as executor:\n"
            f"        mebridge.generate_events('p p > t t~', pdf={str(self.pdf)!r}, output={str(output)!r},\n"
            f"            executor=executor, **{self.arguments!r})\n"
            "        print('workers', executor.num_workers)\n"
        )
        # More ranks than cores, and a user that may be root: of Open MPI.
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        run = subprocess.run(
            [mpiexec, "-n", "2", sys.executable, "-m", "mpi4py.futures", str(script)],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **allowed, "OMPI_MCA_rmaps_base_oversubscribe": "1"},
        )
        self.assertEqual((run.returncode, run.stdout), (0, "workers 1\n"), run.stderr)
        self.assertEqual(output.read_bytes(), self.alone)

    def test_a_worker_without_work(self):
        """Its process ends after a while, and another one begins with the next part."""
        began, ended, before = [], [], _remote._Engine.close

        def close(engine):
            ended.append(engine)
            before(engine)

        def around(message, perform):
            if message["name"] == "round":
                # Longer than a worker waits.
                end = time.monotonic() + 60
                while not ended and time.monotonic() < end:
                    time.sleep(0.01)
            began.append(message["name"])
            return perform(message)

        with mock.patch.object(_remote, "_IDLE", 0.2), mock.patch.object(_remote._Engine, "close", close):
            self.same(self.threads(around, workers=1))
        self.assertGreaterEqual(len(ended), 1)

    def test_nothing_is_left(self):
        seen = []
        with futures.ProcessPoolExecutor(2, SPAWN) as executor:
            self.same(executor, progress=lambda _: seen.extend(self.temporary.glob("mebridge-*")))
        self.assertGreater(len(set(seen)), 1)
        self.assertEqual(list(self.temporary.glob("mebridge-*")), [])


class Reweighting(Folder):
    """Files processed in parts give the same result as a whole file."""

    def setUp(self):
        super().setUp()
        self.process = ROOT.parent / "fortran" / "gg_ttx"
        card = (self.process / "Cards" / "param_card.dat").read_text()
        self.cards = [self.folder / name for name in ("wider.dat", "heavier.dat")]
        wider = re.sub(r"(?m)^(DECAY +6 +)\S+", r"\g<1>20.0", card)
        heavier = re.sub(r"(?m)^( +6 +)1\.\S+", r"\g<1>1.75e+02", card)
        for place, text in zip(self.cards, (wider, heavier)):
            self.assertNotEqual(text, card)
            place.write_text(text)
        self.events = self.folder / "events.lhe.gz"
        source = self.process / "SubProcesses" / "P1_gg_ttx"
        mebridge.generate_events(source, energy=1000, events=500, output=self.events)

    def reweight(self, output, **options):
        arguments = {"cards": self.cards, "names": ["wider", "heavier"], "off_shell": True}
        arguments["original"] = self.process / "Cards" / "param_card.dat"
        arguments |= {"process": self.process / "SubProcesses" / "P1_gg_ttx", "events": self.events, **options}
        return mebridge.reweight_events(output=self.folder / output, **arguments)

    def test_parts(self):
        with contextlib.redirect_stderr(io.StringIO()):
            whole = self.reweight("whole.lhe").read_bytes()
        self.assertEqual(whole.count(b"<wgt id='wider'>"), 500)
        failed = []

        def around(message, perform):
            if len(message["bundles"]) and len(failed) < 2:
                failed.append(message)
                raise OSError(5, "Input/output error")
            return perform(message)

        executor = Wrapped(around)
        self.addCleanup(executor.shutdown)
        crlf = self.folder / "crlf.lhe"
        crlf.write_bytes(gzip.decompress(self.events.read_bytes()).replace(b"\n", b"\r\n"))
        for events, expected in ((self.events, whole), (crlf, whole.replace(b"\n", b"\r\n"))):
            with mock.patch("mebridge._reweight._EVENTS", 130), contextlib.redirect_stderr(io.StringIO()):
                found = self.reweight("parts.lhe.gz", executor=executor, events=events)
            self.assertEqual(gzip.decompress(found.read_bytes()), expected)
        self.assertEqual(len({message["file"] for message in executor.messages}), 8)

    def test_a_whole_output(self):
        output = self.folder / "output"
        shutil.copytree(self.process, output)
        (output / "SubProcesses" / "subproc.mg").write_text("P1_gg_ttx\n")
        executor = Wrapped()
        self.addCleanup(executor.shutdown)
        with contextlib.redirect_stderr(io.StringIO()):
            whole = self.reweight("whole.lhe", process=output).read_bytes()
            found = self.reweight("parts.lhe", process=output, executor=executor).read_bytes()
        self.assertEqual(found, whole)

    def test_values(self):
        """|M|^2 in parts is bit-identical to that of the whole file."""
        executor = Wrapped()
        self.addCleanup(executor.shutdown)
        output = self.folder / "output"
        shutil.copytree(self.process, output)
        card = output / "Cards" / "param_card.dat"
        card.write_text(re.sub(r"(?m)^(DECAY +6 +)\S+", r"\g<1>20.0", card.read_text()))
        directory = output / "SubProcesses" / "P1_gg_ttx"
        array = self.folder / "momenta.npy"
        momenta = mebridge.read_events(self.events).momenta
        np.save(array, momenta)
        found = []
        for process, events, options in (
            (directory, self.events, {}),
            (directory, array, {}),
            ("p p > t t~", self.events, {}),
            ("g g > t t~", array, {"alpha_s": 0.2, "card": card}),
        ):
            with self.subTest(process, events=events):
                whole = mebridge.evaluate_events(events, process, **options)
                with mock.patch("mebridge._reweight._EVENTS", 130), mock.patch("mebridge._evaluate._EVENTS", 130):
                    parts = mebridge.evaluate_events(events, process, executor=executor, **options)
                self.assertEqual(whole.shape, (500,))
                np.testing.assert_array_equal(whole, parts)
                found.append(whole)
        # What can be read once is enough.
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with futures.ThreadPoolExecutor() as threads, mock.patch("mebridge._reweight._EVENTS", 130):
            writing = threads.submit(pipe.write_bytes, self.events.read_bytes())
            parts = mebridge.evaluate_events(pipe, directory, executor=executor)
            writing.result()
        np.testing.assert_array_equal(parts, found[0])
        wanted = mebridge.Process("g g > t t~", card=card).evaluate(momenta, alpha_s=0.2)
        np.testing.assert_allclose(found[3], wanted, rtol=1e-12)
        self.assertEqual(len({message["file"] for message in executor.messages}), 8)

    def test_parts_of_another_length(self):
        """Of a worker that leaves events out."""
        few, run = 100, _command.run
        shorter = {
            "values": lambda path: np.save(path, np.load(path)[:few]),
            "events": lambda path: path.write_bytes(gzip.compress(shortened(gzip.decompress(path.read_bytes()), few))),
        }

        def shortened(text, count):
            return b"</event>\n".join(text.split(b"</event>\n")[:count]) + b"</event>\n</LesHouchesEvents>\n"

        def fewer(kind):
            def called(*arguments, **options):
                said = run(*arguments, **options)
                shorter[kind](next(pathlib.Path(word[9:]) for word in arguments if word.startswith("--output=")))
                return said

            return mock.patch.object(_command, "run", called)

        executor = Wrapped()
        self.addCleanup(executor.shutdown)
        said = "part 0 of the file has 500 events, and a worker gave those of 100"
        with fewer("values"), self.assertRaisesRegex(mebridge.Error, said):
            mebridge.evaluate_events(self.events, "g g > t t~", executor=executor)
        directory = self.process / "SubProcesses" / "P1_gg_ttx"
        with fewer("events"), self.assertRaisesRegex(mebridge.Error, said), contextlib.redirect_stderr(io.StringIO()):
            # What is imported is no file of events.
            with mock.patch("mebridge._reweight._files", lambda *_: [str(self.file(directory))]):
                self.reweight("x.lhe", executor=executor)
        self.assertFalse((self.folder / "x.lhe").exists())

    def file(self, directory):
        place = self.folder / "process.mebridge"
        subprocess.run([str(mebridge.command()), "import", f"--output={place}", str(directory)], check=True)
        return place

    def test_values_of_files_that_are_none(self):
        executor = Wrapped()
        self.addCleanup(executor.shutdown)
        text = self.folder / "momenta.txt"
        text.write_text("500 0 0 500 500 0 0 -500 500 0 0 0 500 0 0 0\n")
        cut = self.folder / "cut.lhe"
        cut.write_bytes(gzip.decompress(self.events.read_bytes())[:-30])
        for events, process, said in (
            (text, "g g > t t~", "neither an LHE file nor a NumPy array"),
            (cut, "g g > t t~", "cut off"),
            (self.events, "g g > g g", "part 0 of the file: "),
            (self.folder / "nowhere", "g g > t t~", "nowhere cannot be read"),
        ):
            with self.subTest(said), self.assertRaisesRegex(mebridge.Error, said):
                mebridge.evaluate_events(events, process, executor=executor)
        found = mebridge.evaluate_events(self.events, "g g > g g", skip_others=True, executor=executor)
        self.assertTrue(np.isnan(found).all())

    def test_files_that_are_none(self):
        executor = Wrapped()
        self.addCleanup(executor.shutdown)
        text = gzip.decompress(self.events.read_bytes())
        other = self.folder / "other.lhe"
        for data, message in (
            (b"hello", "is no event file"),
            (text[: text.index(b"<event>")], "cut off"),
            (text[:-30], "cut off"),
            (re.sub(rb"\n( *)6 ", rb"\n\g<1>5 ", text), "part 0 of the file: "),
        ):
            other.write_bytes(data)
            with self.subTest(message), self.assertRaisesRegex(mebridge.Error, message):
                self.reweight("x.lhe", events=other, executor=executor)
        with self.assertRaisesRegex(ValueError, "1 names for 2 cards"):
            self.reweight("x.lhe", names=["one"])
        with self.assertRaisesRegex(TypeError, "cards is a list"):
            self.reweight("x.lhe", cards=self.cards[0], names=None)
        with self.assertRaisesRegex(mebridge.Error, "is read by this run"):
            self.reweight("events.lhe.gz", executor=executor)
        self.assertFalse((self.folder / "x.lhe").exists())
