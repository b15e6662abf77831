"""Figures of the results of `mebridge bench` and `mebridge compare`."""

import contextlib
import importlib.util
import io
import json
import pathlib

import pytest

from common import Folder

SCRIPT = pathlib.Path(__file__).parents[2] / "benches" / "speed_figure.py"


class Figures(Folder):
    def setUp(self):
        super().setUp()
        pytest.importorskip("matplotlib")
        spec = importlib.util.spec_from_file_location("speed_figure", SCRIPT)
        self.script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.script)

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value))
        return str(self.folder / name)

    def draw(self, *files):
        """The exit code, what stdout and stderr get, and the figures."""
        before = set(self.folder.glob("x-*"))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            code = self.script.main([*files, "-o", str(self.folder / "x")])
        made = {path.name for path in set(self.folder.glob("x-*")) - before}
        return code, out.getvalue() + errors.getvalue(), made

    def result(self, program, *points):
        """A result as another program may write it."""
        keys = "simd", "nevt", "threads"
        of = [
            {
                "process": "g g > t t~",
                "precision": "d",
                **dict(zip(keys, point)),
                "matrix_elements_per_second": {"median": 1e6},
            }
            for point in points
        ]
        return {"format": "mebridge-bench-1", "program": program, "points": of}

    def test_results_are_drawn_side_by_side(self):
        one = self.write("one.json", self.result("one", ("none", 16), ("none", 64), ("avx2", 64), ("avx2", 64, 2)))
        two = self.write("two.json", self.result("two", ("cuda", 32)))
        code, _, made = self.draw(one, two)
        self.assertEqual(code, 0)
        self.assertEqual(made, {f"x-{name}.{end}" for name in ("nevt", "simd", "threads") for end in ("svg", "png")})

    def test_one_point_is_no_figure(self):
        code, said, made = self.draw(self.write("one.json", self.result("one", ("none", 16))))
        self.assertEqual((code, made), (0, set()))
        self.assertIn("no figures", said)

    def test_differences_fall_into_decades(self):
        self.assertEqual(
            [self.script.decade(x) for x in (1.1e-16, 9.9e-15, 1e-30, 7.0, float("inf"))], [-16, -15, -17, 0, 0]
        )
        values = {"library": [1.0, 1 + 3e-16, 1 + 1e-12], "fortran": [1.0, 1.0, 1.0]}
        row = {"process": "a > b", "directory": "P1", "verdict": "ok", "values": values}
        code, _, made = self.draw(
            self.write("rows.json", [row, {"process": "c", "directory": "P2", "verdict": "refused"}])
        )
        self.assertEqual((code, made), (0, {"x-differences.svg", "x-differences.png"}))

    def test_what_is_no_result_is_named(self):
        point = ("none", 0)
        for value, message in (
            ([], "no result of mebridge bench"),
            ({**self.result("x", ("none", 16)), "format": "mebridge-bench-9"}, "no result of mebridge bench"),
            (self.result("x"), "has no points"),
            (self.result("x", point), r"points\[0\] is none that can be drawn"),
            ([{"verdict": "ok"}], "mebridge compare --values --json"),
        ):
            code, said, made = self.draw(self.write("x.json", value))
            self.assertEqual((code, made), (1, set()), value)
            self.assertRegex(said, message)
