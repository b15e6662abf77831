"""Events of one MG5aMC output by its own MadEvent, by the same after `mebridge link`, and by `mebridge events`.

    make bench-events ARGS="--madevent OUTPUT --events 10000 --repeat 2"

Each has a copy of the output, with its cards but for the number of events, the seed and `use_syst = False`, and one core.
They take turns. MadEvent's first run compiles; later ones have what it compiled.
"""

from __future__ import annotations

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

_WAYS = ("MadEvent", "linked", "mebridge events")
# The last words of this form on stdout and stderr.
_CROSS_SECTION = re.compile(r"([-\d.]+(?:e[-+]?\d+)?) \+- ([-\d.]+(?:e[-+]?\d+)?) pb")


@dataclass(frozen=True)
class Run:
    """What a run took and gave; seconds, pb."""

    way: str
    seed: int
    wall: float
    cpu: float
    cross_section: str
    error: str


def table(output: pathlib.Path, events: int, first_seed: int, repeat: int) -> None:
    """Prints the rows of an output."""
    command = os.environ["MEBRIDGE_COMMAND"]
    print(f"{output.name}, {events} events, one core")
    print("| | seed | wall s | CPU s | pb |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        copies = {way: pathlib.Path(folder) / way.replace(" ", "_") for way in _WAYS}
        for copy in copies.values():
            shutil.copytree(output, copy, symlinks=True)
        linked = [command, "link", str(copies["linked"])]
        subprocess.run(linked, check=True, stdout=subprocess.DEVNULL)
        for seed in range(first_seed, first_seed + repeat):
            for way, copy in copies.items():
                run = _run(command, way, copy, events, seed)
                print(
                    f"| {run.way} | {run.seed} | {run.wall:.1f} | {run.cpu:.1f} | {run.cross_section} +- {run.error} |",
                    flush=True,
                )


def _run(command: str, way: str, copy: pathlib.Path, events: int, seed: int) -> Run:
    card = copy / "Cards" / "run_card.dat"
    text = card.read_text()
    for name, value in (("nevents", events), ("iseed", seed), ("use_syst", False)):
        text, found = re.subn(rf"(?m)^[^#!=\n]*=\s*{name}\b", f"  {value} = {name}", text)
        if found != 1:
            raise SystemExit(f"{card} has {name} {found} times; it must have it once")
    card.write_text(text)
    arguments = [command, "events", str(copy)]
    if way != "mebridge events":
        arguments = [str(copy / "bin" / "generate_events"), "-f", "--nb_core=1"]
    before, start = _cpu(), time.monotonic()
    done = subprocess.run(
        arguments, cwd=copy, env=_environment(), text=True, stdin=subprocess.DEVNULL, capture_output=True
    )
    wall, cpu = time.monotonic() - start, _cpu() - before
    found = _CROSS_SECTION.findall(done.stdout + done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(arguments)} gave no cross section:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Run(way, seed, wall, cpu, *found[-1])


def _environment() -> dict[str, str]:
    """That of the caller: MadEvent needs the Python with `six`, not the one that runs this."""
    own = pathlib.Path(sys.prefix) / "bin"
    folders = os.environ["PATH"].split(os.pathsep)
    others = [folder for folder in folders if pathlib.Path(folder) != own]
    return {**os.environ, "PATH": os.pathsep.join(others)}


def _cpu() -> float:
    """CPU seconds of all programs that this one has waited for, and of those that they did."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

