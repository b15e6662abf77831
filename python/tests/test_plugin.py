"""`mebridge plugin`: where it lies, and what MG5aMC makes of it."""

import contextlib
import filecmp
import io
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from common import Folder
import mebridge
from mebridge import _plugin

MG5AMC = os.environ.get("MEBRIDGE_MG5AMC")
# What MG5aMC writes with the time, or the words that were typed.
DATED = {"madevent.tar.gz", "index.html", "proc_card_mg5.dat", "info.html"}


def run(*arguments):
    """Status, stdout and stderr of the command."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = _plugin.main([str(argument) for argument in arguments])
    return status, out.getvalue(), err.getvalue()


class Plugin(Folder):
    def mg5amc(self, version="3.5.7"):
        place = self.folder / "MG5 aMC"
        for name in ("bin", "madgraph", "PLUGIN"):
            (place / name).mkdir(parents=True, exist_ok=True)
        (place / "bin" / "mg5_aMC").touch()
        (place / "VERSION").write_text(f"version = {version}\ndate = 2024-11-29\n")
        return place

    def test_it_comes_and_goes(self):
        place = self.mg5amc()
        target = place / "PLUGIN" / "mebridge"
        self.assertEqual(run(place)[::2], (0, ""))
        self.assertEqual({path.name for path in target.iterdir()}, {"__init__.py", "output.py", "installed.txt"})
        command, library = (target / "installed.txt").read_text().splitlines()
        self.assertEqual(pathlib.Path(command), mebridge.command().resolve())
        self.assertEqual(pathlib.Path(library), mebridge.library_path().resolve())
        (target / "output.py").write_text("of another version")
        self.assertEqual(run(place)[0], 0)
        self.assertIn("LinkedMadEvent", (target / "output.py").read_text())
        self.assertEqual([path.name for path in (place / "PLUGIN").iterdir()], ["mebridge"])
        self.assertEqual(run(place, "--remove")[0], 0)
        self.assertEqual(list((place / "PLUGIN").iterdir()), [])
        self.assertEqual(run(place, "--remove")[0], 1)

    def test_versions_that_were_not_tried_are_named(self):
        status, _, said = run(self.mg5amc("3.6.1"))
        self.assertEqual(status, 0)
        self.assertIn("MG5aMC 3.6.1; the plugin was tried with 3.4.2 and 3.5.7", said)

    def test_what_is_not_ours_stays(self):
        place = self.mg5amc()
        other = place / "PLUGIN" / "mebridge"
        other.mkdir()
        (other / "__init__.py").write_text("mine")
        for options in ((), ("--remove",)):
            status, _, said = run(place, *options)
            self.assertEqual(status, 1)
            self.assertIn("is another plugin", said)
        self.assertEqual((other / "__init__.py").read_text(), "mine")
        status, _, said = run(self.folder)
        self.assertEqual(status, 1)
        self.assertIn("is no folder of MG5aMC", said)

    def test_a_folder_of_plugins(self):
        place = self.folder / "MG5aMC_PLUGIN"
        self.assertEqual(run(place)[0], 0)
        self.assertTrue((place / "mebridge" / "installed.txt").is_file())


@unittest.skipIf(MG5AMC is None, "SKIPPED: the plugin in MG5aMC; set MEBRIDGE_MG5AMC to folders of it")
class InMG5aMC(Folder):
    def test_output_is_that_of_madevent_and_linked(self):
        # MG5aMC finds it by PYTHONPATH, too: nothing is written into its folder.
        self.assertEqual(run(self.folder / "MG5aMC_PLUGIN")[0], 0)
        python = os.environ.get("PYTHONPATH", "")
        for place in map(pathlib.Path, MG5AMC.split(":")):
            with self.subTest(place.name):
                work = self.folder / place.name
                work.mkdir()
                steps = ["set automatic_html_opening False", "generate g g > t t~", "output mebridge linked",
                         "output mebridge linked -f", "output madevent plain"]  # fmt: skip
                (work / "card.mg5").write_text("\n".join(steps) + "\n")
                environment = {**os.environ, "PYTHONPATH": f"{self.folder}:{python}".rstrip(":")}

                def steps_with(environment):
                    call = [sys.executable, str(place / "bin" / "mg5_aMC"), "card.mg5"]
                    at = {"cwd": work, "env": environment, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
                    return subprocess.run(call, **at, stderr=subprocess.STDOUT, text=True)

                done = steps_with(environment)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertNotIn("command not executed", done.stdout)
                linked = work / "linked"
                self.assertTrue((linked / "lib" / "libmebridge.so").exists(), done.stdout)
                self.assertIn("mebridge.mk", (linked / "Source" / "make_opts").read_text())
                subprocess.run([str(mebridge.command()), "unlink", str(linked)], check=True, capture_output=True)
                self.assertEqual(differences(linked, work / "plain"), [])
                shutil.rmtree(linked)
                # Without its command the directory stays MadEvent's own, and MG5aMC says so.
                (self.folder / "MG5aMC_PLUGIN" / "mebridge" / "installed.txt").write_text("/nowhere\n/nowhere\n")
                lost = {name: value for name, value in environment.items() if not name.startswith("MEBRIDGE_")}
                lost["PATH"] = f"{pathlib.Path(shutil.which('gfortran') or '/usr/bin/true').parent}:/usr/bin:/bin"
                done = steps_with(lost)
                self.assertRegex(done.stdout[-2000:], "(?s)MadEvent's own: the command.*cannot be run")
                self.assertEqual(run(self.folder / "MG5aMC_PLUGIN")[0], 0)


def differences(one, other):
    """Names of files that are not the same, or on one side alone."""
    found = []
    compared = filecmp.dircmp(one, other, ignore=[])
    folders = [compared]
    while folders:
        folder = folders.pop()
        found += [name for name in folder.left_only + folder.right_only + folder.funny_files]
        for name in set(folder.common_files) - DATED:
            if not filecmp.cmp(pathlib.Path(folder.left) / name, pathlib.Path(folder.right) / name, False):
                found.append(name)
        folders += folder.subdirs.values()
    return found


if __name__ == "__main__":
    unittest.main()
