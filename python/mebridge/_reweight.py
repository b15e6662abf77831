"""Reweighting of event files by `mebridge reweight`, optionally in parts on the workers of an executor."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

from . import _arguments, _command, _scratch, _target
from ._arguments import Path
from ._library import Error
from ._process import absolute
from ._read import Opened, ends
from ._remote import REWEIGHTED
from ._tasks import Spread

# Events in a part.
_EVENTS = 20_000
_LAST = b"\n</LesHouchesEvents>\n"


def reweight_events(
    events: Path,
    process: Path | Sequence[Path],
    *,
    output: Path,
    cards: Sequence[Path],
    names: Sequence[str] | None = None,
    original: Path | None = None,
    helicity: str = "event",
    off_shell: bool = False,
    executor: Executor | Callable[[], Executor] | None = None,
) -> pathlib.Path:
    """Adds weights for other parameter cards to the events in a file, like ``mebridge reweight``.

    Args:
        events: an LHE file, gzipped or not.
        process: one or several MG5aMC outputs, P directories or process files.
        output: the file to write, gzipped if its name ends with ``.gz``.
        cards: parameter cards, one for each weight.
        names: names of the weights. Default: ``rwgt_1``, ``rwgt_2``, ...
        original: the card with which the events were made. Default: that in the header of the file.
        helicity: ``"event"`` for the helicities of each event, or ``"sum"`` for the sum over all.
        off_shell: whether to keep momenta unchanged if a card changes the mass of an external particle.
        executor: as for :func:`mebridge.generate_events`: its workers reweight parts of the file. The events are the
            same as without one, byte for byte.

    Returns:
        The path of the new file.

    Raises:
        Error: if the command fails, with its message.
    """
    processes = [process] if isinstance(process, (str, os.PathLike)) else list(process)
    sources = [absolute(_arguments.text("process", one)) for one in processes]
    _arguments.one_of("helicity", helicity, {"event": "", "sum": ""})
    if isinstance(cards, (str, bytes, os.PathLike)) or not cards:
        raise TypeError("cards is a list of parameter cards, one for each weight")
    if names is not None and len(names) != len(cards):
        raise ValueError(f"there are {len(names)} names for {len(cards)} cards")
    file = pathlib.Path(_arguments.text("events", events))
    texts = [_arguments.text("card", card) for card in cards]
    card = None if original is None else _arguments.text("original", original)
    target = _target.target(_arguments.text("output", output), [file, *texts, card, *sources])
    options = [f"--helicity={helicity}", *(["--off-shell"] if off_shell else [])]
    reweight(file, sources, target, texts, names, card, options, executor, {})
    return target


def reweight(
    file: pathlib.Path,
    sources: Sequence[str],
    target: pathlib.Path,
    texts: Sequence[str],
    names: Sequence[str] | None,
    card: str | None,
    options: Sequence[str],
    executor: Executor | Callable[[], Executor] | None,
    environment: Mapping[str, str],
) -> str:
    """Implements :func:`reweight_events` for validated arguments. Returns the output of the command, or an empty string
    with an executor.

    Args:
        texts: paths of the cards.
        card: path of the events' card.
        options: further options of the command.
        environment: variables with the model of processes given by name.
    """
    options = [*options, *(f"--name={name}" for name in names or [])]
    if executor is None:
        options += [f"--card={text}" for text in texts] + ([] if card is None else [f"--original={card}"])
        given = f"--output={target}", "--", str(file), *sources
        return _command.run("reweight", *options, *given, environment=environment)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(_scratch.folder()))
        options += [f"--card={{{i}}}" for i in range(len(texts))]
        options += [] if card is None else [f"--original={{{len(texts)}}}"]
        files = [*texts, *([] if card is None else [card])]
        places = []
        for source in _files(sources, folder, environment):
            places.append(f"{{{len(files)}}}")
            files.append(source)
        tasks = Spread(executor, {})
        stack.callback(tasks.close)
        tasks.commands(["reweight", *options, "--output={out}", "--", "{in}", *places], files, REWEIGHTED)
        _write(target, file, tasks, folder)
    return ""


def _files(sources: Sequence[str], folder: pathlib.Path, environment: Mapping[str, str]) -> list[str]:
    """Returns the matrix elements as process files, which can be sent to workers."""
    found = []
    for number, source in enumerate(sources):
        if os.path.isfile(source):
            found.append(source)
            continue
        if ">" in source and not os.path.isdir(source):
            place = folder / f"process{number}"
            place.mkdir()
            made = f"--output={place / 'p.mebridge'}"
            _command.run("generate", made, "--", source, environment=environment)
            found += sorted(map(str, place.iterdir()))
            continue
        directories = [source]
        if (listed := pathlib.Path(source) / "SubProcesses" / "subproc.mg").is_file():
            directories = [str(listed.with_name(name)) for name in listed.read_text().split()]
        for directory in directories:
            place = folder / f"process{number}" / str(len(found))
            place.mkdir(parents=True)
            _command.run("import", f"--output={place / 'p.mebridge'}", "--", directory)
            found += sorted(map(str, place.iterdir()))
    return found


def _write(target: pathlib.Path, file: pathlib.Path, tasks: Spread, folder: pathlib.Path) -> None:
    tail: list[bytes] = []
    with Opened(file) as text:
        counts = dict(split(file, text, folder, tail))
    parts, wanted = list(counts), list(counts.values())
    with contextlib.closing(tasks.of_file(file, parts, folder)) as done:
        made = {number: place / REWEIGHTED for number, place in done}
    with _target.replaced(target) as part, open(part, "xb") as raw:
        with gzip.GzipFile("", "wb", 6, raw, 0) if target.suffix == ".gz" else contextlib.nullcontext(raw) as into:
            for number in range(len(parts)):
                head, events, count = _parts(made[number])
                check_count(number, wanted[number], count)
                into.write(events if number else head + events)
            into.write(tail[0])


def check_count(part: int, wanted: int, found: int) -> None:
    """Checks that a worker returned all events of a part."""
    if found != wanted:
        raise Error(
            f"part {part} of the file has {wanted} events, and a worker gave those of {found}; is its mebridge whole?"
        )


def _parts(file: pathlib.Path) -> tuple[bytes, bytes, int]:
    """Returns the head of a file, its events as bytes, and their number."""
    with Opened(file) as text:
        whole = text.read()
    begin, end, count = 0, 0, 0

    def take(head: int, places: list[int]) -> None:
        nonlocal begin, end, count
        begin, end = head, places[-1] if places else end
        count += len(places)

    ends(file, io.BytesIO(whole).read, take)
    return whole[:begin], whole[begin:end], count


def split(file: pathlib.Path, text: Opened, folder: pathlib.Path, tail: list[bytes]) -> list[tuple[pathlib.Path, int]]:
    """Splits a file and returns the parts, each with the file's head, and their numbers of events. The bytes after the
    last event are appended to ``tail``."""
    parts: list[tuple[pathlib.Path, int]] = []
    # Bytes read but not yet in a part, and their offset in the file.
    held, first = bytearray(), 0
    begin = b""
    known: list[int] = []

    def write(end: int) -> None:
        nonlocal first
        part = folder / f"part{len(parts)}.lhe.gz"
        with gzip.GzipFile(part, "wb", 1, mtime=0) as into:
            into.write(begin + held[: end - first] + _LAST)
        del held[: end - first]
        first = end
        parts.append((part, len(known)))
        known.clear()

    def take(head: int, places: list[int]) -> None:
        nonlocal first, begin
        if not begin:
            begin, first = bytes(held[:head]), head
            del held[:head]
        for end in places:
            known.append(end)
            if len(known) == _EVENTS:
                write(end)

    def read(room: int) -> bytes:
        some = text.read(room)
        held.extend(some)
        return some

    ends(file, read, take)
    if known:
        write(known[-1])
    tail.append(bytes(held))
    return parts
