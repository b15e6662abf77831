#!/usr/bin/env python3
"""Draws docs/speed.svg, the figure of README.md, from the table "Beside CUDACPP" of docs/performance.md."""

from __future__ import annotations

import pathlib
import re

from bars import BLUE, ORANGE, Figure

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
NAMES, SCALE, ROW, BAR, TOP = 190, 52, 44, 15, 58
# Without and with channels.
COLOURS = BLUE, ORANGE


def rows() -> list[tuple[str, float, float]]:
    """Each process with the two ratios."""
    text = (DOCS / "performance.md").read_text().split("## Beside CUDACPP")[1].split("\n## ")[0]
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        ratios = [float(number) for cell in cells for number in re.findall(r"\*\*([0-9.]+)\*\*", cell)]
        if len(ratios) == 2:
            name = cells[0].replace("->", "→").replace("t~", "t̄").replace("u~", "ū").replace("mu+ mu-", "μ+ μ-")
            found.append((name, *ratios))
    if not found:
        raise SystemExit("docs/performance.md has no table of ratios to CUDACPP")
    return found


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
    figure.write(DOCS / "speed.svg")


if __name__ == "__main__":
    main()
