#!/usr/bin/env python3
"""Draws what was measured, with matplotlib.

Without arguments: docs/speed.svg, the figure of README.md, from benches/results/cudacpp.csv.

With results of `mebridge bench` (several go into the same figures, beside each other): PREFIX-nevt, PREFIX-simd and
PREFIX-threads, throughput by events in a call, by SIMD level and by threads, each where there are several.
With results of `mebridge compare --values --json`: PREFIX-differences, how often which relative difference occurs.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).resolve().parent
BENCH = "mebridge-bench-1"
# Readable on a light and on a dark page.
BLUE, ORANGE = "#3b7dd8", "#e08a2c"
LEVELS = ["none", "sse4", "avx2", "512y", "512z"]
PRECISIONS = {"d": "double", "m": "mixed", "f": "single"}
DASHES = ["-", "--", ":", "-."]
MARKERS = "osD^vPX"
RATE = "matrix elements / s"
# Differences of doubles: smaller ones count as the first power of ten, larger ones as the last.
LEAST, MOST = -17, 0

# A point of a result, with the name of what was measured.
Point = dict[str, Any]


def read(path: pathlib.Path) -> Any:
    """The contents of a result.

    Raises:
        ValueError: it is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if isinstance(found, list) and found and all("verdict" in row for row in found):
        if not any("values" in row for row in found):
            raise ValueError(f"{path} has no values: make it by mebridge compare --values --json")
        return found
    if not isinstance(found, dict) or found.get("format") != BENCH:
        raise ValueError(f"{path} is no result of mebridge bench ({BENCH}) or of mebridge compare")
    name = found.get("label") or found["program"]
    for i, point in enumerate(found["points"]):
        rate = point["matrix_elements_per_second"]
        low, median, high = rate.get("min", rate["median"]), rate["median"], rate.get("max", rate["median"])
        if point["precision"] not in PRECISIONS or point["nevt"] < 1 or not 0 < low <= median <= high:
            raise ValueError(f"{path}: points[{i}] is none that can be drawn: {point}")
        point.update(rate=(low, median, high), name=name)
        point.setdefault("threads", 1)
        point.setdefault("channels", False)
    if not found["points"]:
        raise ValueError(f"{path} has no points")
    return found


def ordered(points: Sequence[Point], key: str) -> list[Any]:
    """Values of a key: levels as SIMD has them, others as they come."""
    found = list(dict.fromkeys(point[key] for point in points))
    if key == "simd":
        found.sort(key=lambda level: LEVELS.index(level) if level in LEVELS else len(LEVELS))
    return found


def panels(points: Sequence[Point], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Point]]:
    """The points of each panel."""
    found: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        found.setdefault(tuple(point[key] for key in keys), []).append(point)
    return found


def largest(points: Sequence[Point]) -> list[Point]:
    """Of each series the point with most events in a call."""
    keys = ("process", "channels", "threads", "precision", "simd", "name")
    return [max(points, key=lambda point: point["nevt"]) for points in panels(points, keys).values()]


def subplots(count: int, title: str, below: str) -> tuple[Any, list[Any]]:
    columns = min(count, 2)
    rows = math.ceil(count / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(6.4 * columns, 4.4 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    figure.supylabel(title)
    figure.supxlabel(below)
    return figure, list(axes.flat[:count])


def heading(axis: Any, process: str, *about: str) -> None:
    axis.set_title(process.replace(" > ", " → ") + "\n" + ", ".join(filter(None, about)), fontsize=10)


def with_channels(channels: bool) -> str:
    return "with channels" if channels else "without channels"


def save(figure: Any, prefix: str, name: str) -> None:
    for ending in ("svg", "png"):
        path = f"{prefix}-{name}.{ending}"
        figure.savefig(path)
        print(f"wrote {path}")
    plt.close(figure)


def curves(points: Sequence[Point], x: str, label: str, keys: Sequence[str]) -> Any:
    """Throughput by something, a panel for each value of the keys; None where nothing has several points."""
    drawn = {key: inside for key, inside in panels(points, keys).items() if len({point[x] for point in inside}) > 1}
    if not drawn:
        return None
    figure, axes = subplots(len(drawn), RATE, label)
    names, levels = ordered(points, "name"), ordered(points, "simd")
    for axis, inside in zip(axes, drawn.values()):
        heading(
            axis,
            inside[0]["process"],
            with_channels(inside[0]["channels"]),
            f"{inside[0]['threads']} threads" if "threads" in keys and inside[0]["threads"] > 1 else "",
        )
        for (precision, level, name), line in panels(inside, ("precision", "simd", "name")).items():
            line.sort(key=lambda point: point[x])
            places = [point[x] for point in line]
            low, median, high = zip(*(point["rate"] for point in line))
            errors = [[m - a for a, m in zip(low, median)], [b - m for m, b in zip(median, high)]]
            if x == "threads":
                axis.plot(places, [median[0] * n / places[0] for n in places], color="#bbbbbb", zorder=0)
            words = [level, PRECISIONS[precision], name if len(names) > 1 else ""]
            axis.errorbar(
                places,
                median,
                errors,
                color=f"C{levels.index(level)}",
                linestyle=DASHES[list(PRECISIONS).index(precision)],
                marker=MARKERS[names.index(name) % len(MARKERS)],
                markersize=4,
                label=", ".join(filter(None, words)),
            )
        axis.set(xscale="log", yscale="log")
        axis.legend(fontsize=7)
    return figure


def bars(points: Sequence[Point]) -> Any:
    """Throughput by SIMD level; None where no panel has two bars."""
    drawn = panels(largest(points), ("process", "channels", "threads"))
    drawn = {key: inside for key, inside in drawn.items() if len(inside) > 1}
    if not drawn:
        return None
    figure, axes = subplots(len(drawn), RATE, "SIMD level")
    for axis, ((process, channels, threads), inside) in zip(axes, drawn.items()):
        levels = ordered(inside, "simd")
        groups = panels(inside, ("precision", "name"))
        width = 0.8 / len(groups)
        for i, ((precision, name), group) in enumerate(groups.items()):
            low, median, high = zip(*(point["rate"] for point in group))
            errors = [[m - a for a, m in zip(low, median)], [b - m for m, b in zip(median, high)]]
            places = [levels.index(point["simd"]) + width * (i + 0.5) - 0.4 for point in group]
            words = PRECISIONS[precision], name if len(ordered(points, "name")) > 1 else ""
            axis.bar(places, median, width, yerr=errors, label=", ".join(filter(None, words)))
        axis.set_xticks(range(len(levels)), levels)
        nevt = max(point["nevt"] for point in inside)
        heading(axis, process, with_channels(channels), f"nevt {nevt}", f"{threads} threads" if threads > 1 else "")
        axis.legend(fontsize=7)
    return figure


def difference(value: float, expected: float) -> float:
    """As `mebridge compare` has it: in parts of what is expected."""
    if value == expected:
        return 0.0
    return abs((value - expected) / expected) if expected and math.isfinite(value) else math.inf


def decade(value: float) -> int:
    """The power of ten of a difference that is not zero."""
    return min(max(math.floor(math.log10(value)), LEAST), MOST) if math.isfinite(value) else MOST


def histograms(rows: Sequence[Any]) -> Any:
    """How often which relative difference occurs, a panel for each matrix element that was compared."""
    compared = [row for row in rows if row.get("values", {}).get("library")]
    if not compared:
        return None
    figure, axes = subplots(len(compared), "events", "power of ten of the relative difference; 0: none")
    for axis, row in zip(axes, compared):
        found = [difference(*pair) for pair in zip(row["values"]["library"], row["values"]["fortran"])]
        powers = [decade(value) for value in found if value]
        counts = {"0": found.count(0.0)}
        if powers:
            counts |= {str(power): 0 for power in range(min(powers), max(powers) + 1)}
        for power in powers:
            counts[str(power)] += 1
        axis.bar(list(counts), list(counts.values()), color=BLUE)
        heading(axis, row["process"], row["directory"], f"{len(found)} events")
    return figure


def draw(paths: Sequence[pathlib.Path], prefix: str) -> int:
    """Draws results; how many figures."""
    points: list[Point] = []
    rows: list[Any] = []
    for path in paths:
        found = read(path)
        if isinstance(found, list):
            rows += found
        else:
            points += found["points"]
    figures: dict[str, Callable[[], Any]] = {
        "nevt": lambda: curves(points, "nevt", "events in one call (nevt)", ("process", "channels", "threads")),
        "simd": lambda: bars(points),
        "threads": lambda: curves(largest(points), "threads", "threads", ("process", "channels")),
        "differences": lambda: histograms(rows),
    }
    drawn = 0
    for name, make in figures.items():
        if (figure := make()) is not None:
            save(figure, prefix, name)
            drawn += 1
    return drawn


def speed(path: pathlib.Path) -> None:
    """The figure of README.md."""
    ratios: dict[str, dict[str, float]] = {}
    with (HERE / "results" / "cudacpp.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            name = row["process"].replace("->", "→").replace("t~", "t̄").replace("u~", "ū").replace("mu+ mu-", "μ+ μ-")
            ratios.setdefault(name, {})[row["channels"]] = float(row["ratio"])
    # Text stays text, and the file is the same each time.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mebridge"})
    figure, axis = plt.subplots(figsize=(9, 0.5 * len(ratios) + 1), layout="constrained")
    words = {"without": "without channels", "with": "with channels, as MadEvent calls"}
    for k, (kind, colour) in enumerate(zip(words, (BLUE, ORANGE))):
        places = [i + 0.2 * (2 * k - 1) for i in range(len(ratios))]
        drawn = axis.barh(places, [of[kind] for of in ratios.values()], 0.36, color=colour, label=words[kind])
        axis.bar_label(drawn, fmt="%.1f", padding=3, fontsize=9)
    axis.axvline(1, color="#888888", linestyle="--")
    axis.set_yticks(range(len(ratios)), list(ratios))
    axis.invert_yaxis()
    axis.set_title("Matrix elements a second beside CUDACPP (= 1): one core, AVX-512, double", fontsize=11)
    axis.legend(loc="lower right")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None, "Title": "Matrix elements a second, mebridge beside CUDACPP"})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=pathlib.Path, metavar="RESULT.json")
    parser.add_argument("-o", "--output", default="bench", metavar="PREFIX", help="beginning of the names [bench]")
    given = parser.parse_args(arguments)
    if not given.results:
        speed(HERE.parent / "docs" / "speed.svg")
        return 0
    try:
        drawn = draw(given.results, given.output)
    except (OSError, ValueError) as error:
        print(f"speed_figure.py: {error}", file=sys.stderr)
        return 1
    except (KeyError, TypeError) as error:
        print(f"speed_figure.py: a result lacks {error}, which docs/bench.md has in its format", file=sys.stderr)
        return 1
    if not drawn:
        print(
            "no figures: there is one number of events, one level and precision, one number of threads", file=sys.stderr
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
