#!/usr/bin/env python3
"""Draws docs/events.svg from the tables of docs/events.md: events a second of CPU of each process, on one core, after
the survey. Where a table has the state before, it is the shorter bar.
"""

from __future__ import annotations

import math
import pathlib

from bars import BLUE, ORANGE, Figure

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
NAMES, DECADE, ROW, BAR, TOP = 150, 130, 30, 11, 62
# Before and now.
COLOURS = ORANGE, BLUE
HEADING = "events/s of CPU"


def rows() -> dict[str, list[float]]:
    """Of each process what it makes now, and before where that is known."""
    found: dict[str, list[float]] = {}
    column, name = None, ""
    for line in (DOCS / "events.md").read_text().split("## What it is")[1].split("\n### Beside MadEvent")[0].splitlines():
        cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
        if HEADING in cells:
            column = cells.index(HEADING)
        elif column is not None and len(cells) > column and cells[column][:1].isdigit():
            # Below a process that has the state before stands that of now.
            process, _, state = cells[0].partition(",")
            name = name if cells[0] == "now" else process
            before = state.strip() == "before"
            number = float(cells[column].replace(" ", ""))
            # A process that was measured twice has the first.
            if before or cells[0] == "now" or name not in found:
                found.setdefault(name, []).append(number)
    if not found:
        raise SystemExit(f"docs/events.md has no table with {HEADING!r}")
    return found


def main() -> None:
    table = sorted(rows().items(), key=lambda row: -row[1][-1])
    least = math.floor(math.log10(min(min(numbers) for _, numbers in table)))
    decades = math.ceil(math.log10(max(max(numbers) for _, numbers in table))) - least
    end = TOP + ROW * len(table)
    figure = Figure(
        NAMES,
        NAMES + DECADE * decades + 70,
        end + 12,
        "Unweighted events a second of one core",
        "Unweighted events a second of CPU, after the survey (logarithmic)",
    )
    figure.legend(30, COLOURS, ("all channels", "now"))
    for decade in range(decades + 1):
        x = DECADE * decade
        figure.line(x, TOP - 4, end, "#bbbbbb")
        figure.number(x, TOP - 7, f"{10 ** (least + decade):,}")
    for i, (name, numbers) in enumerate(table):
        y = TOP + ROW * i + 2
        figure.name(y + BAR + 4, name.replace(">", "→").replace("t~", "t̄"))
        for k, number in enumerate(numbers):
            length = DECADE * (math.log10(number) - least)
            colour = COLOURS[1 if k == len(numbers) - 1 else 0]
            figure.bar(y + k * (BAR + 1), length, BAR, colour, f"{number:,.0f}", 10)
    figure.write(DOCS / "events.svg")


if __name__ == "__main__":
    main()
