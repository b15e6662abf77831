#!/usr/bin/env python3
"""Draws docs/events.svg from the tables of docs/events.md: events a second of CPU of each process, on one core, after
the survey. Where a table has the state before, it is the shorter bar.
"""

from __future__ import annotations

import math
import pathlib

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
NAMES, DECADE, ROW, BAR, TOP = 150, 130, 30, 11, 62
# Before and now; readable on a light and on a dark page.
COLOURS = "#e08a2c", "#3b7dd8"
HEADING = "events/s of CPU"


def rows() -> dict[str, list[float]]:
    """Of each process what it makes now, and before where that is known."""
    found: dict[str, list[float]] = {}
    column, name = None, ""
    for line in (DOCS / "events.md").read_text().split("## What it is")[1].split("\nOn one H100")[0].splitlines():
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
    width, height = NAMES + DECADE * decades + 70, TOP + ROW * len(table) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        "<title>Unweighted events a second of one core</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="10" y="20" font-size="14">Unweighted events a second of CPU, after the survey (logarithmic)</text>',
    ]
    for colour, what, at in zip(COLOURS, ("before (782e90d)", "now"), (NAMES, NAMES + 150)):
        parts.append(f'<rect x="{at}" y="30" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{at + 17}" y="41">{what}</text>')
    end = TOP + ROW * len(table)
    for decade in range(decades + 1):
        x = NAMES + DECADE * decade
        parts.append(f'<path d="M{x} {TOP - 4} V{end}" stroke="#bbbbbb" stroke-dasharray="3 3"/>')
        parts.append(f'<text x="{x}" y="{TOP - 7}" text-anchor="middle" font-size="10">{10 ** (least + decade):,}</text>')
    for i, (name, numbers) in enumerate(table):
        y = TOP + ROW * i + 2
        shown = name.replace(">", "→").replace("t~", "t̄")
        parts.append(f'<text x="{NAMES - 10}" y="{y + BAR + 4}" text-anchor="end">{shown}</text>')
        for k, number in enumerate(numbers):
            top, length = y + k * (BAR + 1), DECADE * (math.log10(number) - least)
            colour = COLOURS[1 if k == len(numbers) - 1 else 0]
            parts.append(f'<rect x="{NAMES}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>')
            parts.append(f'<text x="{NAMES + length + 4:.1f}" y="{top + BAR - 1}" font-size="10">{number:,.0f}</text>')
    parts.append("</svg>\n")
    (DOCS / "events.svg").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
