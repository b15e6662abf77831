#!/usr/bin/env python3
"""Draws docs/speed.svg, the figure of README.md, from the table "Beside CUDACPP" of docs/performance.md."""

from __future__ import annotations

import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
NAMES, SCALE, ROW, BAR, TOP = 190, 52, 44, 15, 58
# Without and with channels; readable on a light and on a dark page.
COLOURS = "#3b7dd8", "#e08a2c"


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
    width, height = NAMES + SCALE * (int(most) + 1) + 50, TOP + ROW * len(table) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        "<title>Matrix elements a second, mebridge beside CUDACPP</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="10" y="20" font-size="14">Matrix elements a second beside CUDACPP (= 1): one core, AVX-512, double</text>',
    ]
    for i, (what, at) in enumerate((("without channels", NAMES), ("with channels, as MadEvent calls", NAMES + 150))):
        parts.append(f'<rect x="{at}" y="32" width="12" height="12" fill="{COLOURS[i]}"/>')
        parts.append(f'<text x="{at + 17}" y="43">{what}</text>')
    for i, (name, *ratios) in enumerate(table):
        y = TOP + ROW * i
        parts.append(f'<text x="{NAMES - 10}" y="{y + BAR + 5}" text-anchor="end">{name}</text>')
        for k, ratio in enumerate(ratios):
            top = y + k * (BAR + 2)
            parts.append(f'<rect x="{NAMES}" y="{top}" width="{SCALE * ratio:.1f}" height="{BAR}" fill="{COLOURS[k]}"/>')
            parts.append(f'<text x="{NAMES + SCALE * ratio + 5:.1f}" y="{top + BAR - 3}" font-size="11">{ratio:.1f}</text>')
    end = TOP + ROW * len(table)
    parts.append(f'<path d="M{NAMES + SCALE} {TOP - 4} V{end}" stroke="#888888" stroke-dasharray="3 3"/>')
    parts.append("</svg>\n")
    (DOCS / "speed.svg").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
