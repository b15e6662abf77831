"""Runs all tests of this folder in processes side by side: most of them wait for another process for much of their time.

    python parallel.py PROCESSES

A module is run by the process that is first to make a folder of its name, those first that take long for their size, and
then the largest files.
"""

import faulthandler
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# mypy, and a C++ compiler.
LONG = {"test_types", "test_hip"}
# Of a module, seconds.
LIMIT = 600
MODULES = sorted(HERE.glob("test_*.py"), key=lambda path: (path.stem in LONG, path.stat().st_size), reverse=True)


def work(claims: pathlib.Path) -> None:
    """Runs what no other process has begun; a module's folder has its number of tests when they are done."""
    sys.path.insert(0, str(HERE))
    for path in MODULES:
        claim = claims / path.stem
        try:
            claim.mkdir()
        except FileExistsError:
            continue
        # What it shares with no other process of tests, nor with what else runs here.
        os.chdir(claim)
        os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(dir=claim)
        # One that hangs says where, and ends its process.
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        said = io.StringIO()
        result = unittest.TextTestRunner(said).run(unittest.defaultTestLoader.loadTestsFromName(path.stem))
        faulthandler.cancel_dump_traceback_later()
        sys.stderr.write(f"{path.stem}: {said.getvalue()}\n")
        if result.wasSuccessful():
            (claim / "passed").write_text(str(result.testsRun))


def main(processes: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "error::ResourceWarning", __file__, "--beside", folder]
        started = [subprocess.Popen(command) for _ in range(processes)]
        statuses = [process.wait() for process in started]
        passed = [pathlib.Path(folder, path.stem, "passed") for path in MODULES]
        failed = [path.parent.name for path in passed if not path.exists()]
        count = sum(int(path.read_text()) for path in passed if path.exists())
    if failed or any(statuses) or not count:
        sys.stderr.write(f"FAILED: {', '.join(failed) or 'a process of the tests'}\n")
        return 1
    sys.stderr.write(f"Ran {count} tests of {len(MODULES)} modules: OK\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--beside":
        work(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1])))
