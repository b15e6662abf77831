"""``mebridge events``, and what its options share with other commands that read cards."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from . import _arguments, _benchmarks, _main
from ._runs import Run

if TYPE_CHECKING:
    import argparse


# Characters of an option that an error shows.
_SHOWN = 60


def main(arguments: Sequence[str]) -> int:
    """``mebridge events``."""
    return _main.run(_events, arguments)


def _events(arguments: Sequence[str]) -> None:
    import argparse

    parser = argparse.ArgumentParser(
        prog="mebridge events",
        description="Makes events of a directory that MG5aMC wrote, by its own cards, or of a process by a run card, "
        "without MadEvent: Events/run_NN/unweighted_events.lhe.gz with MG5aMC's banner. docs/run_card.md says what of a "
        "run card is honoured.",
    )
    said = "what 'output madevent' wrote, MG5aMC 2.8.3 to 3.7; or a process such as 'p p > w+; add process p p > w+ j'"
    parser.add_argument("output", metavar="OUTPUT|PROCESS", help=said)
    parser.add_argument("--nevents", help="how many events (otherwise the run card's)")
    parser.add_argument("--seed", help="of the random numbers (otherwise the run card's iseed; 0: drawn anew)")
    parser.add_argument("--backend", choices=["cpu", "cuda", "hip"], default="cpu")
    parser.add_argument("--threads", default="1", help="threads (1)")
    parser.add_argument("--workers", default="1", help="processes that make parts of the run (1)")
    parser.add_argument("--name", help="of the run (run_NN with the next number); one that was interrupted goes on")
    said = "parameter card for a further weight of each event, as of 'mebridge reweight'; several give several weights"
    parser.add_argument("--reweight", action="append", default=[], metavar="CARD[=NAME]", help=said)
    add_cards(parser)
    asked = parser.parse_args(arguments)
    run = by_cards(parser, asked)
    events = run.generate(
        None if asked.nevents is None else whole("--nevents", asked.nevents),
        None if asked.seed is None else whole("--seed", asked.seed),
        threads=whole("--threads", asked.threads),
        backend=asked.backend,
        name=asked.name,
        executor=spread(asked.workers),
        reweight=_benchmarks.of_options(asked.reweight),
        progress=not asked.quiet,
    )
    _main.tell(f"{(events.folder / 'summary.txt').read_text(encoding='utf-8')}\n{events.output}\n")


def add_cards(parser: argparse.ArgumentParser) -> None:
    """The options that :func:`by_cards` reads, and ``--quiet``."""
    parser.add_argument("--run-card", help="another one than Cards/run_card.dat")
    parser.add_argument("--param-card", help="another one than Cards/param_card.dat")
    parser.add_argument("--set", action="append", default=[], metavar="ENTRY=VALUE", help="an entry of the run card")
    said = "go on where Fortran of cuts or scales was changed"
    parser.add_argument("--changed-files", action="store_true", help=said)
    parser.add_argument("--model", help="of a process: a model file or a UFO folder (the Standard Model)")
    parser.add_argument("--complex-masses", action="store_true", help="of a process: the complex-mass scheme")
    said = "of a process: unitary or feynman (unitary)"
    parser.add_argument("--gauge", choices=["unitary", "feynman"], help=said)
    parser.add_argument("--folder", help="of a process, where Events is, or will be (the working directory)")
    said = "of a process, for pdlabel = nn23lo1 and others: an output, or the folder of MG5aMC"
    parser.add_argument("--pdf-data", metavar="FOLDER", help=said)
    parser.add_argument("--quiet", action="store_true", help="no lines about progress")


def by_cards(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> Run:
    """What makes events of an output with the cards that a command names."""
    changed = _pairs(asked.set)
    if asked.run_card is not None and changed:
        parser.error("--set is for the run card of the output, or for MG5aMC's defaults; change the file of --run-card")
    return Run(
        asked.output,
        run_card=asked.run_card or changed or None,
        param_card=asked.param_card,
        changed_files=asked.changed_files,
        model=asked.model,
        complex_masses=asked.complex_masses,
        gauge=asked.gauge,
        folder=asked.folder,
        pdf_data=asked.pdf_data,
    )


def spread(workers: str) -> Callable[[], Executor] | None:
    """What makes an executor with this many processes; none where one is enough."""
    import functools
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    count = _arguments.whole("--workers", whole("--workers", workers), 1, _arguments.MOST_THREADS)
    spawn = multiprocessing.get_context("spawn")
    return None if count == 1 else functools.partial(ProcessPoolExecutor, count, mp_context=spawn)


def _pairs(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair}: it must be ENTRY=VALUE")
        found[name.strip()] = value.strip()
    return found


def whole(name: str, text: str) -> float:
    try:
        # A seed may have more digits than a double.
        return int(text) if re.fullmatch("[0-9]{1,20}", text) else float(text.replace("_", "?"))
    except ValueError:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise ValueError(f"{name} is {shown!r}; it must be a whole number") from None
