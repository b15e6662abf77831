"""Parameter cards (SLHA), as far as a run needs them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from . import _text
from ._process import Path


def open_widths(text: str) -> list[str]:
    """Codes of particles whose width a card leaves to be computed (``DECAY 6 Auto``)."""
    lines = (line.split("#")[0].split() for line in text.splitlines())
    found = (words for words in lines if len(words) > 2 and words[0].lower() == "decay")
    return [words[1] for words in found if words[2].lower().startswith("auto")]


def with_widths(text: str, widths: Mapping[str, float]) -> str:
    """The card with numbers in the place of widths that it leaves to be computed, by the codes of the particles."""

    def line(found: re.Match[str]) -> str:
        width = widths.get(found["code"])
        return found[0] if width is None else f"{found['start']}{width:.6e}"

    return re.sub(r"(?im)^(?P<start>[^\S\n]*decay[^\S\n]+(?P<code>\S+)[^\S\n]+)auto(?![^\s#])", line, text)


@dataclass(frozen=True)
class Card:
    """Numbers of a card by block and code."""

    numbers: dict[tuple[str, int], float]

    @classmethod
    def read(cls, path: Path) -> Card:
        numbers, block = {}, ""
        for line in _text.read(path, "the parameter card").splitlines():
            words = line.split("#")[0].split()
            if words and words[0].lower() in ("block", "decay"):
                block = words[1].lower() if len(words) > 1 and words[0].lower() == "block" else ""
            elif len(words) == 2 and block:
                try:
                    numbers[block, int(words[0])] = float(words[1].lower().replace("d", "e"))
                except ValueError:
                    continue
        return cls(numbers)

    def value(self, block: str, code: int, default: float) -> float:
        return self.numbers.get((block.lower(), code), default)

    @property
    def alpha_qed(self) -> float:
        """At the mass of the Z boson, as MG5aMC puts it into event files: by 1 / alpha, or by Fermi's constant and the
        masses of W and Z; 0 where the card has neither."""
        inverse, fermi = self.value("sminputs", 1, 0.0), self.value("sminputs", 2, 0.0)
        w, z = self.value("mass", 24, 0.0), self.value("mass", 23, 0.0)
        if inverse:
            return 1.0 / abs(inverse)
        return math.sqrt(2.0) / math.pi * fermi * w**2 * (1.0 - w**2 / z**2) if z else 0.0
