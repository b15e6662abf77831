"""mypy, as pyproject.toml has it, finds nothing in the package."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from common import need


class Types(unittest.TestCase):
    def test_mypy(self):
        need("types", "mypy")
        with tempfile.TemporaryDirectory() as cache:
            call = [sys.executable, "-m", "mypy", f"--cache-dir={cache}"]
            # Of the sources, whichever package is installed.
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            at = {"cwd": pathlib.Path(__file__).parents[1], "env": environment}
            done = subprocess.run(call, **at, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
