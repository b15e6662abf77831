"""Which MadSpace runs are made with."""

import importlib.metadata
import pathlib
import re
import unittest
import warnings
from unittest import mock

import mebridge
from mebridge import _madspace

PYTHON = pathlib.Path(__file__).resolve().parents[1]


class Versions(unittest.TestCase):
    def found(self, version):
        _madspace.version.cache_clear()
        self.addCleanup(_madspace.version.cache_clear)
        installed = mock.patch("importlib.metadata.version", **({"return_value": version} if version else {"side_effect": MISSING}))
        with installed, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            return _madspace.version(), [str(one.message) for one in said]

    def test_the_tested_one(self):
        self.assertEqual(self.found("0.2.1"), ("0.2.1", []))

    def test_newer_ones_are_warned_of(self):
        for version in ("0.2.2", "0.3.0", "0.10.0", "1.0", "0.2.1.post1"):
            found, (said,) = self.found(version)
            self.assertEqual(found, version)
            self.assertRegex(said, rf"tested with MadSpace 0\.2\.1, and {re.escape(version)} is installed")

    def test_older_ones_and_none_are_refused(self):
        for version, said in (("0.2.0", "0.2.0 is installed"), ("0.1.9", "0.1.9 is installed"), (None, "need MadSpace: pip")):
            with self.assertRaisesRegex(mebridge.Error, f'{said}.*pip install "madspace==0.2.1"|{said} install "madspace==0.2.1"'):
                self.found(version)

    def test_a_run_says_so(self):
        with mock.patch("importlib.metadata.version", side_effect=MISSING):
            _madspace.version.cache_clear()
            with self.assertRaisesRegex(mebridge.Error, "events need MadSpace"):
                mebridge.generate_events("g g > t t~", energy=1000, events=10)

    def test_all_places_name_the_same(self):
        for file in ("pyproject.toml", "environment.sh"):
            self.assertIn(_madspace.TESTED, re.findall(r"madspace[~=]=([0-9.]+)", (PYTHON / file).read_text()), file)


MISSING = importlib.metadata.PackageNotFoundError("madspace")

if __name__ == "__main__":
    unittest.main()
