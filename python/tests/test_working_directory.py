"""Code of the working directory is not run, whatever a file there is named."""

import os
import subprocess
import sys
import tarfile

import mebridge

from common import Folder

# Besides those of the interpreter.
OTHERS = {"numpy", "madspace", "mebridge", "sitecustomize", "usercustomize"}
CARD = "100 = nevents\n0 = lpp1\n0 = lpp2\n100 = ebeam1\n100 = ebeam2\n"


class WorkingDirectory(Folder):
    """Programs run where each module has a file of its name, which notes that it was read."""

    def setUp(self):
        super().setUp()
        self.here, self.mine = self.folder / "here", self.folder / "mine"
        self.noted, self.seen = self.folder / "noted", self.folder / "seen"
        for folder in (self.here, self.mine, self.here / "mebridge"):
            folder.mkdir()
        self.strange(sys.stdlib_module_names | OTHERS)
        # Of PYTHONPATH modules are taken as ever; its last part is empty, as of `PYTHONPATH=$MINE:$PYTHONPATH`.
        (self.mine / "sitecustomize.py").write_text(f"open({str(self.seen)!r}, 'a').write('x')\n")
        (self.here / "card.dat").write_text(CARD)
        self.environment = {**os.environ, "PYTHONPATH": f"{self.mine}:", "TMPDIR": str(self.folder)}

    def strange(self, names):
        for name in names:
            text = f"open({str(self.noted)!r}, 'a').write({name!r} + ' ')\n"
            (self.here / f"{name}.py").write_text(text)
        (self.here / "mebridge" / "__init__.py").write_text(text)

    def check(self, *command, **variables):
        done = subprocess.run([*map(str, command)], cwd=self.here, env={**self.environment, **variables},
                              capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(self.noted.exists() and self.noted.read_text())

    def test_events_and_their_workers(self):
        events = mebridge.command(), "events", "e+ e- > mu+ mu-", "--run-card", "card.dat", "--quiet"
        self.check(*events)
        self.check(*events, "--workers", "2")

    def test_packs(self):
        asked = "--run-card", "card.dat", "--quiet", "--measured", "0", "-o", self.folder / "x.tar"
        self.check(mebridge.command(), "pack", "e+ e- > mu+ mu-", *asked)
        with tarfile.open(self.folder / "x.tar") as archive:
            archive.extractall(self.folder / "pack", filter="tar")
        self.check(self.folder / "pack" / "run.sh", 10, 1, "--quiet")

    def test_workers_of_a_program(self):
        """Of one that looks for its own modules there, as notebooks do: what it has read itself is not read there."""
        for file in self.here.glob("*.py"):
            file.rename(self.mine / file.name)
        os.rename(self.here / "mebridge", self.mine / "mebridge")
        program = (
            "import functools, mebridge, os, sys\n"
            "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
            "generate = functools.partial(mebridge.generate_events, 'e+ e- > mu+ mu-', energy=200.0, events=10)\n"
            "generate()\n"
            "with ThreadPoolExecutor(1) as pool: generate(executor=pool)\n"
            "for name in os.listdir(sys.argv[1]):\n"
            "    if name.partition('.')[0] in sys.modules: os.rename(os.path.join(sys.argv[1], name), name)\n"
            "generate()\n"
            "with ThreadPoolExecutor(1) as pool: generate(executor=pool)\n"
        )
        del self.environment["PYTHONPATH"]
        self.check(sys.executable, "-c", program, self.mine)
        self.assertTrue((self.here / "json.py").exists())

    def test_functions_of_the_working_directory_are_found(self):
        """By a cut, in the workers."""
        for file in self.here.glob("*.py"):
            file.unlink()
        (self.here / "mycuts.py").write_text("def cut(momenta): return momenta[:, 2, 3] > 0\n")
        program = (
            "import mebridge, mycuts\n"
            "mebridge.generate_events('e+ e- > mu+ mu-', energy=200.0, events=10, cut=mycuts.cut)\n"
        )
        del self.environment["PYTHONPATH"]
        (self.here / "mebridge" / "__init__.py").unlink()
        (self.here / "mebridge").rmdir()
        self.check(sys.executable, "-c", program)
