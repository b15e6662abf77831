"""MG5aMC with the plugin that `mebridge plugin` installs."""

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import mebridge

from common import Folder

MG5AMC = os.environ.get("MEBRIDGE_MG5AMC")
# What MG5aMC writes with the time, or the words that were typed.
DATED = {"madevent.tar.gz", "index.html", "proc_card_mg5.dat", "info.html"}


def install(folder):
    """Puts the plugin there."""
    subprocess.run([str(mebridge.command()), "plugin", str(folder)], check=True, capture_output=True)


@unittest.skipIf(MG5AMC is None, "SKIPPED: the plugin in MG5aMC; set MEBRIDGE_MG5AMC to folders of it")
class InMG5aMC(Folder):
    def test_output_is_that_of_madevent_and_linked(self):
        # MG5aMC finds it by PYTHONPATH, too: nothing is written into its folder.
        install(self.folder / "MG5aMC_PLUGIN")
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
                install(self.folder / "MG5aMC_PLUGIN")


def differences(one, other):
    """Names of files that are not the same, or on one side alone."""
    found = []
    compared = filecmp.dircmp(one, other, ignore=[])
    folders = [compared]
    while folders:
        folder = folders.pop()
        found += list(folder.left_only + folder.right_only + folder.funny_files)
        for name in set(folder.common_files) - DATED:
            if not filecmp.cmp(pathlib.Path(folder.left) / name, pathlib.Path(folder.right) / name, False):
                found.append(name)
        folders += folder.subdirs.values()
    return found
