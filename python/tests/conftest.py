"""Fixtures for all test files."""

import os
import tempfile
from unittest import mock

import pytest


@pytest.fixture(scope="module", autouse=True)
def own_folders(tmp_path_factory):
    """They share no folder with other processes of tests, nor with what else runs here."""
    folder = tmp_path_factory.mktemp("tests")
    before = os.getcwd()
    os.chdir(folder)
    with mock.patch.dict(os.environ, TMPDIR=str(folder)), mock.patch.object(tempfile, "tempdir", str(folder)):
        yield
    os.chdir(before)
