"""Fixtures for all test files."""

import os
import tempfile
from unittest import mock

import pytest


@pytest.fixture(scope="module", autouse=True)
def own_folders(tmp_path_factory):
    """Gives each test file its own working and temporary folder."""
    folder = tmp_path_factory.mktemp("tests")
    before = os.getcwd()
    os.chdir(folder)
    with mock.patch.dict(os.environ, TMPDIR=str(folder)), mock.patch.object(tempfile, "tempdir", str(folder)):
        yield
    os.chdir(before)
