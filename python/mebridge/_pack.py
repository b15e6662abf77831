"""Packs: a survey with all that makes events of it, as one file that runs by itself."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from . import _arguments, _bundle, _command, _events, _interpreter, _lhe, _main, _scratch, _state
from ._banner import Head
from ._events import Order, Prepared, Progress
from ._library import Error
from ._packed import CARD_FILES, CARDS, FILES, ROUNDS, SURVEY
from ._process import Path, Process
from ._remote import put
from ._rounds import Rounds
from ._start import RECIPE, RUN_SCRIPT, SUMS

if TYPE_CHECKING:
    import tarfile

# Events of all jobs together, to which a survey is adapted.
EVENTS = 1_000_000
# Events that are made at once for the cross section.
MEASURED = 10_000
# The folder of a pack.
_ROOT = "mebridge"
# How a file is compressed, by the end of its name.
_MODES: dict[str, Any] = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.xz": "w:xz"}
# Arguments of a run that are not those of a survey.
_OTHERS = ("threads",)
# A SIMD level that all processors have which jobs may meet, with OpenBLAS's name for it; elsewhere there is one level.
_AVX2, _CORE = "avx2", "Haswell"
SIMD = _AVX2 if platform.machine() == "x86_64" else "auto"
# Events of the job that tries a pack.
_TRIAL = 10

_SCRIPT = f"""#!/bin/sh
# ./{RUN_SCRIPT} NEVENTS SEED writes events.lhe.gz into the folder that it is called in; --help says more.
# Nothing is needed but a shell and Linux; this folder may be read-only.
case $0 in */*) here=${{0%/*}} ;; *) here=. ;; esac
here=$(CDPATH= cd -- "$here" && pwd -P) || exit 1
case $here in *[:\\;]*)
    echo "mebridge: a pack cannot lie in $here: its name has a colon or a semicolon, which divide paths" >&2
    exit 1 ;;
esac
python=$here/{_ROOT}/{_interpreter.PROGRAM}
start=$here/{_ROOT}/{_interpreter.START}
if [ ! -f "$python" ]; then
    echo "mebridge: $here/{_ROOT} is missing: unpack the pack again, or call {RUN_SCRIPT} where it lies" >&2
    exit 1
fi
"$python" "$start" --check
status=$?
if [ $status -ne 0 ]; then
    [ $status -eq 3 ] && exit 1
    echo "mebridge: the interpreter of the pack in $here does not run (status $status)" >&2
    (cd "$here" && sha256sum -c --quiet {_ROOT}/{SUMS}) >&2 &&
        echo "mebridge: its files are whole; is this {platform.machine()} Linux, and the folder not mounted noexec?" >&2
    exit 1
fi
exec "$python" "$start" "$@"
"""


def pack_events(
    process: Process | Path,
    output: Path,
    *,
    simd: str = SIMD,
    measured: SupportsIndex | float = MEASURED,
    progress: bool | Callable[[Progress], None] = False,
    **asked: Any,
) -> None:
    """Packs a process as :func:`mebridge.generate_events` takes it, for jobs that make events of it.

    Args:
        process: as there.
        output: the file, ``.tar``, ``.tar.gz`` or ``.tar.xz``.
        simd: the SIMD level of all jobs, so that a seed gives the same events on all machines; ``"auto"`` is the best
            of each.
        measured: how many events are made at once, for the cross section that all jobs give.
        progress: as there.
        asked: arguments of :func:`mebridge.generate_events`. ``events`` are those of all jobs together, to which the
            survey is adapted (1 000 000); ``state`` is the folder of a run with the same arguments, whose survey is
            taken.
    """
    if asked.get("output") is not None:
        raise TypeError("jobs of a pack name their event files; output is the pack")
    state = asked.pop("state", None)
    if state is not None:
        before = _state.surveyed(pathlib.Path(_arguments.text("state", state))).asked
        asked = {"events": before["events"], "seed": before["seed"], **asked}
    order, _ = _events.ordered(process, **{**_events.DEFAULTS, "events": EVENTS, **asked})
    write(order, output, simd, measured, progress, None if state is None else pathlib.Path(state))


def write(
    order: Order,
    output: Path,
    simd: str,
    measured: SupportsIndex | float,
    progress: bool | Callable[[Progress], None],
    state: pathlib.Path | None = None,
) -> pathlib.Path:
    """Surveys a run and packs it.

    Args:
        state: the folder of the same run, where it is surveyed.
    """
    target, mode = _target(output)
    if "cut" in order.asked:
        raise Error(f"a pack has no cut that is a function ({order.asked['cut']['name']}); leave it out, and cut its events")
    events = _arguments.whole("measured", measured, 0, _arguments.MOST_EVENTS)
    if order.backend != "cpu":
        raise Error("jobs of a pack run on CPUs; pack with the backend cpu")
    _arguments.one_of("simd", simd, dict.fromkeys(("auto", "none", "sse4", "avx2", "512y", "512z"), ""))
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        scratch = pathlib.Path(stack.enter_context(_scratch.folder()))
        run = stack.enter_context(_events.prepared(dataclasses.replace(order, state=None)))

        def report(stage: str) -> None:
            took = time.monotonic() - begun
            _events.tell(progress, Progress(stage, 0, order.events, *run.rounds.cross_section(), took))

        rounds: list[dict[str, Any]] = []
        if state is None:
            _events.begin(progress, run)
            _events.adapt(run, order, report)
            survey = run.rounds.surveyed
            if events:
                rounds = _measured(run, order, survey, events, scratch)
        else:
            known = _state.surveyed(state)
            _state.check_same(state, known.asked, dict(run.asked), _OTHERS)
            survey, rounds = known.folder, known.rounds
        staged = scratch / "pack"
        with _full(scratch):
            _stage(staged, run, order, survey, rounds, simd)
        report("packing")
        _try(staged, scratch)
        with _lhe.replaced(target) as part:
            _archive(staged, part, mode)
    return target


def _measured(
    run: Prepared, order: Order, survey: pathlib.Path, events: int, scratch: pathlib.Path
) -> list[dict[str, Any]]:
    """What rounds of this many events find."""
    kept = _state.State(scratch / "measured", {})
    try:
        key = f"{order.seed} before jobs"
        rounds = Rounds(run.tasks, kept, events, key, order.overweight, order.backend)
        rounds.take(survey)
        rounds.run(lambda: None)
        return rounds.counted()
    finally:
        kept.close()


def _target(output: Path) -> tuple[pathlib.Path, Any]:
    """The file, which can be written, and how it is compressed."""
    name = _arguments.text("output", output)
    mode = next((mode for end, mode in _MODES.items() if name.endswith(end)), None)
    if mode is None:
        raise ValueError(f"the pack is {name!r}; its name must end with one of {', '.join(_MODES)}")
    return _lhe.target(name, []), mode


@contextlib.contextmanager
def _full(folder: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # One of copytree lists what it says of all files.
        said = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise Error(f"the pack cannot be made in {folder}: {said}; TMPDIR names another folder") from None


def _stage(
    staged: pathlib.Path,
    run: Prepared,
    order: Order,
    survey: pathlib.Path,
    rounds: Sequence[Mapping[str, Any]],
    simd: str,
) -> None:
    """Lays a pack out in a folder."""
    root = staged / _ROOT
    root.mkdir(parents=True)
    _interpreter.copy(root, [pathlib.Path(library) for library in run.build["libraries"]])
    home = (root / RECIPE).parent
    home.mkdir()
    # What the survey found, and the grids.
    shutil.copytree(survey, home / SURVEY)
    (home / ROUNDS).write_text(json.dumps(rounds))
    files = _Files(home)
    for path, name in _bundle.beside(run.files).items():
        files.copy(path, f"{FILES}/{name}")
    head = order.head(run.elements)
    if head.cards is not None:
        (home / CARDS).mkdir(exist_ok=True)
        for name, file in CARD_FILES.items():
            (home / CARDS / file).write_text(getattr(head.cards, name))
    elif order.card is not None:
        files.copy(os.fspath(order.card), f"{CARDS}/{CARD_FILES['parameters']}")
    names = _events.names(run.elements)
    recipe = {
        "name": "; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""),
        "names": names,
        "build": put({**run.build, "devices": ["cpu"]}, files.names),
        "files": sorted(set(files.names.values())),
        "overweight": order.overweight,
        "environment": _environment(order, simd),
        "head": _described(head),
        # Of the survey; a job has its own.
        "asked": {**run.asked, "surveyed_events": order.events, "surveyed_seed": order.seed, "simd": simd},
    }
    (root / RECIPE).write_text(json.dumps(recipe, indent=1, sort_keys=True))
    script = staged / RUN_SCRIPT
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    packed = [path for path in sorted(staged.rglob("*")) if path.is_file()]
    lines = [f"{_state.digest(path)}  {path.relative_to(staged)}\n" for path in packed]
    text = "".join(lines)
    # A comment for sha256sum.
    (root / SUMS).write_text(f"{text}# {hashlib.sha256(text.encode()).hexdigest()}\n")


class _Files:
    """Files that arguments name, by their names in the pack."""

    def __init__(self, home: pathlib.Path) -> None:
        self.names: dict[str, str] = {}
        self._home = home

    def copy(self, given: str, name: str) -> None:
        self.names[given] = name
        path = self._home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(given, path)


def _environment(order: Order, simd: str) -> dict[str, str]:
    """Variables of all jobs. What depends on the processor is not to: the same seed gives the same events."""
    found = {
        **order.environment,
        "CUDACPP_RUNTIME_BACKEND": "cpu",
        "CUDACPP_RUNTIME_SIMD": simd,
        # Nobody writes into a folder of the user's, whom a job may not have.
        "CUDACPP_RUNTIME_CACHE": "off",
        # One for each core of the machine otherwise, in each job.
        "OPENBLAS_NUM_THREADS": "1",
    }
    precision = _events.switches(order.environment)["CUDACPP_RUNTIME_FPTYPE"]
    found["CUDACPP_RUNTIME_FPTYPE"] = precision
    if simd == _AVX2:
        newer = [name for name in _dispatched() if name == "X86_V4" or name.startswith("AVX512")]
        found |= {"OPENBLAS_CORETYPE": _CORE, "NPY_DISABLE_CPU_FEATURES": " ".join(newer)}
    return found


def _dispatched() -> list[str]:
    """Processors for which NumPy has code of their own."""
    core = getattr(np, "_core", None) or getattr(np, "core")
    return list(core._multiarray_umath.__cpu_dispatch__)


def _described(head: Head) -> dict[str, Any]:
    beams = head.beams
    return {
        "beams": [list(beams.codes), list(beams.energies), list(beams.densities)],
        "norm": head.norm,
        "generator": head.generator,
        "header": head.header,
        "names": list(head.names),
        "powers": list(head.powers),
        "matched": head.matched,
        "clustering": head.clustering,
        "mg5amc": None if head.cards is None else head.cards.version,
    }


def _try(staged: pathlib.Path, scratch: pathlib.Path) -> None:
    """A job of few events."""
    events = scratch / "trial.lhe"
    command = ["/bin/sh", str(staged / RUN_SCRIPT), str(_TRIAL), "1", "--quiet", "--output", str(events)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Error(f"a job of the pack fails: {done.stderr.strip() or done.stdout.strip()}")


def _archive(staged: pathlib.Path, part: pathlib.Path, mode: Any) -> None:
    import tarfile

    now = int(time.time())

    def owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = now
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    # Of zlib: 9 takes twice as long, for a hundredth of the size.
    level: dict[str, Any] = {"compresslevel": 6} if mode == "w:gz" else {}
    with tarfile.open(part, mode, format=tarfile.PAX_FORMAT, **level) as archive:
        for name in (RUN_SCRIPT, _ROOT):
            archive.add(staged / name, name, filter=owned)


def main(arguments: Sequence[str]) -> int:
    """``mebridge pack``."""
    return _main.run(_pack, arguments, "no pack was written")


def _pack(arguments: Sequence[str]) -> None:
    import argparse

    from ._events_command import add_cards, by_cards, spread, whole
    from ._runs import Run

    parser = argparse.ArgumentParser(
        prog="mebridge pack",
        description="Surveys a directory that MG5aMC wrote, by its own cards, and packs all that makes events of it as "
        "one file: unpacked, './run.sh NEVENTS SEED' makes them on any Linux of this processor's kind, offline, "
        "without Python or a compiler. docs/pack.md says more.",
    )
    said = "what 'output madevent' wrote, or a process; or its Events/run_NN, a run of 'mebridge events', whose survey is taken"
    parser.add_argument("output", metavar="OUTPUT|PROCESS|RUN", help=said)
    parser.add_argument("--output", "-o", dest="file", required=True, help="the file: .tar, .tar.gz or .tar.xz")
    parser.add_argument("--nevents", help=f"of all jobs together, to which the survey is adapted ({EVENTS})")
    said = f"events that are made at once, for the cross section that all jobs give ({MEASURED})"
    parser.add_argument("--measured", help=said)
    parser.add_argument("--seed", help="of the survey (otherwise the run card's iseed, or 1)")
    parser.add_argument("--threads", help="of the survey (1)")
    parser.add_argument("--workers", help="processes that make parts of the survey (1)")
    parser.add_argument("--sampler", choices=sorted(_events.SAMPLERS), help="grids (auto, vegas) or networks (madnis)")
    said = f"SIMD level of all jobs ({SIMD}); auto: the best of each machine, and so other last digits"
    parser.add_argument("--simd", default=SIMD, help=said)
    add_cards(parser)
    asked = parser.parse_args(arguments)
    of_survey = ("nevents", "measured", "seed", "threads", "workers", "sampler", "run_card", "param_card")
    given = {name: value for name in of_survey if (value := getattr(asked, name)) is not None}
    progress = _show if not asked.quiet else False
    if (pathlib.Path(asked.output) / "SubProcesses").is_dir() or ">" in asked.output:
        run = by_cards(parser, asked)
        named = ("nevents", "measured", "seed", "threads")
        numbers: dict[str, Any] = {name: whole(f"--{name}", given[name]) for name in named if name in given}
        made = run.pack(
            asked.file,
            **numbers,
            sampler=asked.sampler or "auto",
            executor=spread(asked.workers or "1"),
            simd=asked.simd,
            progress=progress,
        )
    else:
        if given or asked.set:
            name = next(iter(given), "set").replace("_", "-")
            raise ValueError(f"--{name} is for an output; {asked.output} is taken for a run, which has its own")
        of = {"changed_files": asked.changed_files, "pdf_data": asked.pdf_data}
        made = Run.pack_run(asked.output, asked.file, **of, simd=asked.simd, progress=progress)
    _main.tell(f"{made}: {made.stat().st_size / 1e6:.1f} MB\n")


def _show(progress: Progress) -> None:
    _command.say(f"mebridge: {progress.stage}: {progress.seconds:.1f} s\n")
