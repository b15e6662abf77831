"""Figures of docs/ with bars, as SVG that a browser shows by itself."""

from __future__ import annotations

import pathlib

# Readable on a light and on a dark page.
BLUE, ORANGE = "#3b7dd8", "#e08a2c"


class Figure:
    """Bars from a common left edge, with the name of each row before it.

    Args:
        names: room for the names, in pixels.
    """

    def __init__(self, names: int, width: int, height: int, title: str, heading: str) -> None:
        self._names = names
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="13">',
            f"<title>{title}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="10" y="20" font-size="14">{heading}</text>',
        ]

    def legend(self, y: int, colours: tuple[str, str], words: tuple[str, str]) -> None:
        """What the colours mean, in a line."""
        for i, (colour, word) in enumerate(zip(colours, words)):
            x = self._names + 150 * i
            self._parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
            self._parts.append(f'<text x="{x + 17}" y="{y + 11}">{word}</text>')

    def line(self, x: int, top: int, bottom: int, colour: str) -> None:
        """A vertical dashed line, so far behind the left edge of the bars."""
        path = f"M{self._names + x} {top} V{bottom}"
        self._parts.append(f'<path d="{path}" stroke="{colour}" stroke-dasharray="3 3"/>')

    def number(self, x: int, y: int, text: str) -> None:
        """A number of the axis, above a line."""
        x += self._names
        self._parts.append(f'<text x="{x}" y="{y}" text-anchor="middle" font-size="10">{text}</text>')

    def name(self, y: int, text: str) -> None:
        """The name of a row."""
        self._parts.append(f'<text x="{self._names - 10}" y="{y}" text-anchor="end">{text}</text>')

    def bar(self, y: int, length: float, height: int, colour: str, text: str, size: int) -> None:
        """A bar with its number behind it, in letters of a size."""
        self._parts.append(f'<rect x="{self._names}" y="{y}" width="{length:.1f}" height="{height}" fill="{colour}"/>')
        x, below = self._names + length + 5, y + (height + size) // 2 - 1
        self._parts.append(f'<text x="{x:.1f}" y="{below}" font-size="{size}">{text}</text>')

    def write(self, path: pathlib.Path) -> None:
        path.write_text("\n".join([*self._parts, "</svg>\n"]))
