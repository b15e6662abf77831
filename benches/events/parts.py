"""Where the time of a run goes, by samples of `perf record`: each sample lies in a stage by its time, and belongs to a
part by the library and the symbol in which it was taken.
"""

from __future__ import annotations

import collections
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence

# Samples a second of a thread's time; not a divisor of what else is periodic.
_RATE = 397
_LINE = re.compile(r"^\s*(\d+)\s+(\d+\.\d+):\s+[0-9a-f]+\s+(.*)\s+\((.*)\)$")
# Parts of the library by what their symbols hold; what is in none of them is matrix elements.
_OF_LIBRARY = (
    ("densities", ("mebridge_densities",)),
    ("cuts and scales", ("phasespace4cuts", "phasespace6scales", "phasespace10clustering", "phasespace::cuts", "phasespace::scales")),
    ("phase space", ("mebridge_phasespace",)),
    ("grids and unweighting", ("mebridge_sampler",)),
    ("files", ("mebridge_lhe",)),
)


def recorder(to: pathlib.Path) -> list[str]:
    """What is put before a command so that it is sampled; nothing where there is no perf."""
    if shutil.which("perf") is None:
        return []
    return ["perf", "record", "--quiet", "-F", str(_RATE), "-k", "CLOCK_MONOTONIC", "-o", str(to), "--"]


def shares(
    samples: pathlib.Path, stages: Sequence[tuple[str, float, float]]
) -> dict[str, dict[str, float]]:
    """For each stage, given by its name, begin and end, which share of its samples is of which part."""
    command = ["perf", "script", "-i", str(samples), "-F", "pid,time,ip,sym,dso"]
    script = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert script.stdout is not None
    found: dict[str, collections.Counter[str]] = {name: collections.Counter() for name, _, _ in stages}
    for time, symbol, library in _read(script.stdout):
        for name, begin, end in stages:
            if begin <= time < end:
                found[name][part(library, symbol)] += 1
                break
    script.wait()
    return {
        name: {part: count / sum(counts.values()) for part, count in counts.most_common()}
        for name, counts in found.items()
        if counts
    }


def _read(lines: Iterable[str]) -> Iterable[tuple[float, str, str]]:
    for line in lines:
        if match := _LINE.match(line):
            yield float(match[2]), match[3], match[4]


def part(library: str, symbol: str) -> str:
    """What a sample in this library and symbol belongs to."""
    name = pathlib.PurePath(library.removesuffix(" (deleted)")).name
    if library.startswith("[") and "kernel" in library or library == "[unknown]":
        return "kernel"
    if re.match(r"process\d*\.so|libmebridge", name):
        return next((part for part, words in _OF_LIBRARY if any(word in symbol for word in words)), "matrix element")
    if name.startswith(("libm.", "libm-")):
        return "mathematical functions"
    if name.startswith(("libc", "libstdc++", "ld-linux", "libpthread", "libgcc")):
        return "C library"
    return "Python"

