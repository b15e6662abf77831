"""Event files reweighted in parts, on the workers of an executor: what `mebridge reweight` does with each."""

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

# Of a part.
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
    """Adds weights of other parameter cards to the events of a file, as ``mebridge reweight`` does.

    Args:
        events: an LHE file, gzipped or not.
        process: outputs of MG5aMC, P directories or process files.
        output: the file that is written, gzipped where its name ends with ``.gz``.
        cards: parameter cards, one for each weight.
        names: of the weights; otherwise ``rwgt_1``, ``rwgt_2``, ...
        original: the card that the events were made with, otherwise that in the header of the file.
        helicity: ``"event"``, or ``"sum"`` over all.
        off_shell: whether momenta stay as they are where a card changes the mass of an external particle.
        executor: whose workers do it, as of :func:`mebridge.generate_events`, in parts of the file. The events are the
            same in every byte as without one.

    Raises:
        Error: what the command says.
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
    """What :func:`reweight_events` does, once its arguments are judged; what the command prints, without an executor.

    Args:
        texts: names of the cards.
        card: of the events.
        options: further ones of the command.
        environment: variables that say which model processes have that are names.
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
    """The matrix elements as files, which a worker can read wherever it is."""
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
    """That a part of a file comes back with as many events as it was sent with."""
    if found != wanted:
        raise Error(
            f"part {part} of the file has {wanted} events, and a worker gave those of {found}; is its mebridge whole?"
        )


def _parts(file: pathlib.Path) -> tuple[bytes, bytes, int]:
    """The head and the events of a file, and how many."""
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
    """The events of a file in files of their own, each with its head, and how many; what stands after all of them is
    left."""
    parts: list[tuple[pathlib.Path, int]] = []
    # What was read and is in no part yet, and where it begins.
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
