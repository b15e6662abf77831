"""mypy and ruff, as pyproject.toml has them, find nothing."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from common import need


class Types(unittest.TestCase):
    def check(self, *command):
        # Of the sources, whichever package is installed.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        at = {"cwd": pathlib.Path(__file__).parents[1], "env": environment}
        done = subprocess.run([sys.executable, "-m", *command], **at, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mypy(self):
        need("types", "mypy")
        with tempfile.TemporaryDirectory() as cache:
            self.check("mypy", f"--cache-dir={cache}")

    def test_ruff(self):
        need("types", "ruff")
        self.check("ruff", "check", "--no-cache", ".")
        self.check("ruff", "format", "--no-cache", "--check", ".")
