"""A job of a pack: events from the survey that was packed, with the random numbers of a seed."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import signal
import time
import types
from collections.abc import Sequence
from typing import Any

from . import _arguments, _command, _lhe, _main, _scratch
from ._banner import Cards, Head
from ._library import Error
from ._remote import put
from ._rounds import Rounds
from ._start import RECIPE, SUMS
from ._state import State, digest
from ._tasks import Local
from ._worker import Worker, check_names

# Of a pack's folder run, besides the recipe.
SURVEY, ROUNDS, CARDS, FILES = "survey", "rounds.json", "cards", "files"
# By what they are in a banner.
CARD_FILES = {"process": "proc_card_mg5.dat", "run": "run_card.dat", "parameters": "param_card.dat"}
EVENTS = "events.lhe.gz"


def random_key(recipe: bytes, seed: int) -> str:
    """What all random numbers of a job follow from: each of its parts hashes this with its own name to 56 bits, the seed of
    its numbers (Philox), of which no two seeds have points in common."""
    return f"{hashlib.sha256(recipe).hexdigest()} {seed}"


def run(root: pathlib.Path, events: int, seed: int, output: pathlib.Path, threads: int, quiet: bool) -> str:
    """Makes the events of a seed.

    Args:
        root: the folder of the pack.

    Returns:
        A line about the cross section.
    """
    packed = (root / RECIPE).read_bytes()
    recipe = json.loads(packed)
    home = (root / RECIPE).parent
    begun = time.monotonic()
    with _scratch.folder() as folder:
        worker = Worker(recipe["environment"])
        with worker:
            tasks = Local(worker)
            try:
                there = {name: str(home / name) for name in recipe["files"]}
                build = put({**recipe["build"], "threads": threads}, there)
                tasks.build(build, list(there.values()), folder)
                kept = State(pathlib.Path(folder) / "state", {})
                key = random_key(packed, seed)
                rounds = Rounds(tasks, kept, events, key, recipe["overweight"], "cpu")
                rounds.take(home / SURVEY)
                rounds.count(json.loads((home / ROUNDS).read_text()))

                def report() -> None:
                    if not quiet:
                        done = sum(part["events"] for part in kept.rounds.values())
                        value, error = rounds.cross_section()
                        took = time.monotonic() - begun
                        said = f"{done} of {events} events, {value:.6g} +- {error:.2g} pb, {took:.1f} s"
                        _command.say(f"mebridge: {said}\n")

                rounds.run(report)
                cross_section, error = rounds.cross_section()
                found = [rounds.cross_section(number) for number in range(len(recipe["names"]))]
                parts = [kept.rounds[number] for number in sorted(kept.rounds)]
                made = [(kept.folder / part["file"], part["events"], _lhe.Weights(*part["weights"])) for part in parts]
                processes = [(name, *of) for name, of in zip(recipe["names"], found)]
                asked = {**recipe["asked"], "events": events, "seed": seed, "pack": digest(root / SUMS)}
                _head(home, recipe).write(output, made, processes, cross_section, seed, asked, threads)
                kept.close()
            finally:
                tasks.close()
    return f"{events} events, {cross_section:.6g} +- {error:.2g} pb"


def _head(home: pathlib.Path, recipe: dict[str, Any]) -> Head:
    head, cards = dict(recipe["head"]), None
    if (version := head.pop("mg5amc")) is not None:
        cards = Cards(version, **{name: (home / CARDS / file).read_text() for name, file in CARD_FILES.items()})
    codes, energies, densities = map(tuple, head.pop("beams"))
    names, powers = (tuple(head.pop(name)) for name in ("names", "powers"))
    return Head(_lhe.Beams(codes, energies, densities), cards=cards, names=names, powers=powers, **head)


def main(root: pathlib.Path, arguments: Sequence[str]) -> int:
    """``run.sh`` of a pack."""
    return _main.run(lambda given: _job(root, given), arguments, "no file was written")


def _job(root: pathlib.Path, arguments: Sequence[str]) -> None:
    import argparse

    check_names(str(root))
    recipe = json.loads((root / RECIPE).read_text())
    parser = argparse.ArgumentParser(
        prog="run.sh",
        description=f"Makes events of {recipe['name']}. The same seed gives the same file, another seed others. "
        "Nothing is written but the file, and what is temporary below TMPDIR.",
    )
    parser.add_argument("nevents", metavar="NEVENTS", help="how many events")
    parser.add_argument("seed", metavar="SEED", help="of the random numbers: 1, 2, ... for the jobs of a pack")
    said = f"the file ({EVENTS}); compressed where its name ends with .gz"
    parser.add_argument("--output", "-o", default=EVENTS, help=said)
    parser.add_argument("--threads", default="1", help="threads (1)")
    parser.add_argument("--quiet", action="store_true", help="no lines about progress")
    asked = parser.parse_args(arguments)
    # The end of a batch system is an end like SIGINT: what is temporary goes.
    signal.signal(signal.SIGTERM, _ended)
    events = _arguments.whole("NEVENTS", _number(asked.nevents), 1, _arguments.MOST_EVENTS)
    seed = _arguments.whole("SEED", _number(asked.seed), 1, 2**64 - 1)
    threads = _arguments.whole("--threads", _number(asked.threads), 1, _arguments.MOST_THREADS)
    if os.path.lexists(asked.output):
        raise Error(f"{asked.output} is there already; take it away, or name another file with --output")
    output = _lhe.target(asked.output, [])
    said = run(root, events, seed, output, threads, asked.quiet)
    _main.tell(f"{output}: {said}\n")


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _ended(number: int, frame: types.FrameType | None) -> None:
    raise KeyboardInterrupt
