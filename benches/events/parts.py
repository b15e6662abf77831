"""Where the time of a run goes, by samples of `perf record`: each sample lies in a stage by its time, and belongs to a
part by the library and the symbol in which it was taken. Symbols of MadSpace say what an operation of its graphs does,
where it has some: its library without SIMD, which serves grids, has few, and phase space and densities are its graphs
then, with the mathematical functions that they call.
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
_KERNEL = re.compile(r"(?:kernel|op|batch)_(\w+?)(?:<|\(|$)")
# Operations of MadSpace's graphs by what their names hold; what is in none of them is phase space.
_OPERATIONS = (
    ("densities", ("interpolate", "scale_", "x1x2")),
    ("channel weights", ("channel_weights", "sde2")),
    ("cuts", ("cut_", "obs_")),
    ("unweighting", ("unweight",)),
    (
        "adaptive sampling",
        ("vegas", "rqs", "softmax", "relu", "elu", "sigmoid", "softplus", "matmul", "sample_discrete"),
    ),
    ("random numbers", ("random",)),
    ("copies", ("gather", "scatter", "batch", "cat", "split", "nonzero", "copy", "zero", "stack")),
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
        return "matrix element"
    if name.startswith("libmadspace_"):
        return _operation(symbol)
    if name.startswith("libmadspace"):
        return "MadSpace's driver"
    if "blas" in name:
        return "adaptive sampling"
    if name.startswith(("libm.", "libm-")):
        return "mathematical functions"
    if name.startswith(("libc", "libstdc++", "ld-linux", "libpthread", "libgcc")):
        return "C library"
    return "Python"


def _operation(symbol: str) -> str:
    name = match[1] if (match := _KERNEL.search(symbol)) else symbol
    for part, words in _OPERATIONS:
        if any(word in name for word in words):
            return part
    return "phase space" if match else "MadSpace's graphs"
