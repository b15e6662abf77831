#!/usr/bin/env python3
"""Draws docs/speed.svg, the figure of README.md, from benches/results/cudacpp.csv."""

from __future__ import annotations

import csv
import pathlib

from bars import BLUE, ORANGE, Figure

HERE = pathlib.Path(__file__).resolve().parent
NAMES, SCALE, ROW, BAR, TOP = 190, 52, 44, 15, 58
# Without and with channels.
COLOURS = BLUE, ORANGE


def rows() -> list[tuple[str, float, float]]:
    """Each process with the two ratios."""
    ratios: dict[str, list[float]] = {}
    with (HERE / "results" / "cudacpp.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            name = row["process"].replace("->", "→").replace("t~", "t̄").replace("u~", "ū").replace("mu+ mu-", "μ+ μ-")
            ratios.setdefault(name, []).append(float(row["ratio"]))
    return [(name, without, channels) for name, (without, channels) in ratios.items()]


def main() -> None:
    table = rows()
    most = max(max(ratios) for _, *ratios in table)
    end = TOP + ROW * len(table)
    figure = Figure(
        NAMES,
        NAMES + SCALE * (int(most) + 1) + 50,
        end + 12,
        "Matrix elements a second, mebridge beside CUDACPP",
        "Matrix elements a second beside CUDACPP (= 1): one core, AVX-512, double",
    )
    figure.legend(32, COLOURS, ("without channels", "with channels, as MadEvent calls"))
    for i, (name, *ratios) in enumerate(table):
        y = TOP + ROW * i
        figure.name(y + BAR + 5, name)
        for k, ratio in enumerate(ratios):
            figure.bar(y + k * (BAR + 2), SCALE * ratio, BAR, COLOURS[k], f"{ratio:.1f}", 11)
    figure.line(SCALE, TOP - 4, end, "#888888")
    figure.write(HERE.parent / "docs" / "speed.svg")


if __name__ == "__main__":
    main()
