"""Recipes for other package managers agree with Cargo.toml and pyproject.toml."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
PROJECT = (ROOT / "python" / "pyproject.toml").read_text()


class Recipes(unittest.TestCase):
    def test_conda(self):
        text = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
        self.assertIn(f'version: "{VERSION}"', text)
        needed = re.findall(r'^(\w+) = \["(\w+[~>]=[\w.]+)"\]', PROJECT, re.MULTILINE)
        self.assertLessEqual({"networks", "cut", "dask", "mpi", "hdf5", "parquet", "jax"}, {name for name, _ in needed})
        for name, package in needed:
            if name != "dependencies":
                self.assertIn("- " + package.replace("torch", "pytorch").replace(">=", " >="), text)
        self.assertIn("- numpy >=1.23", text)
        self.assertIn('"numpy>=1.23"', PROJECT)
        self.assertIn("- maturin >=1.9,<2", text)
        self.assertIn('"maturin>=1.9,<2"', PROJECT)

    def test_spack(self):
        text = (ROOT / "packaging" / "spack" / "packages" / "mebridge" / "package.py").read_text()
        ast.parse(text)
        self.assertIn(f'version("{VERSION}")', text)
        rust = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
        self.assertIn(f'depends_on("rust@{rust}:"', text)
