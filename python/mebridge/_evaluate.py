"""|M|^2 of the events in a file, by `mebridge eval`, optionally in parts on the workers of an executor."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING

import numpy as np

from . import _arguments, _command, _reweight, _scratch
from ._arguments import Path
from ._library import Error
from ._process import absolute, model_environment, model_path
from ._read import Opened
from ._remote import VALUES
from ._tasks import Spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Events in a part of an array.
_EVENTS = 200_000
_NUMPY, _LHE, _BOM = b"\x93NUMPY", b"<", b"\xef\xbb\xbf"
# Number of leading bytes from which the format is recognised.
_BEGIN = 512


def evaluate_events(
    events: Path,
    process: Path,
    *,
    alpha_s: float | None = None,
    card: Path | None = None,
    model: Path | None = None,
    skip_others: bool = False,
    executor: Executor | Callable[[], Executor] | None = None,
) -> NDArray[np.float64]:
    """Evaluates |M|^2 for each event in a file, like ``mebridge eval``.

    Args:
        events: an LHE file, or a NumPy array (events, legs, 4) of (E, px, py, pz) in GeV in a file ``.npy``, gzipped
            or not.
        process: the name of a process, a process file, a P directory or an output.
        alpha_s: the strong coupling of all events. Default: that of each event in an LHE file, or that of the card.
        card: a parameter card. Default: that of the output or of the process file.
        model: model of a process given by name.
        skip_others: whether events of other processes give NaN instead of an error.
        executor: as for :func:`mebridge.generate_events`: its workers evaluate parts of the file, with the same
            results. Directories with several matrix elements, and models, must exist there under the same path.

    Returns:
        |M|^2 as of :meth:`mebridge.Process.evaluate`; shape (events,).

    Raises:
        Error: if the command fails, with its message.
    """
    file = os.path.abspath(_arguments.text("events", events))
    source = absolute(_arguments.text("process", process))
    if model is not None and (">" not in source or os.path.exists(source)):
        raise ValueError(f"model is for a process by its name, and {source} is none")
    environment: Mapping[str, str] = {} if model is None else model_environment(model_path(model))
    options = ["--skip-others"] if skip_others else []
    options += [] if alpha_s is None else [f"--alpha-s={_arguments.positive('alpha_s', alpha_s)!r}"]
    given = None if card is None else os.path.abspath(_arguments.text("card", card))
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(_scratch.folder()))
        if executor is None:
            options += [] if given is None else [f"--card={given}"]
            place = folder / VALUES
            _command.run("eval", *options, f"--output={place}", "--", source, file, environment=environment)
            return np.asarray(np.load(place))
        one = _single(source, folder, environment)
        if given is None and one is not None and one != source:
            # A process file omits parameters that it does not need, perhaps alpha_s.
            given = _card(pathlib.Path(source.rpartition("#")[0] or source))
        files = [] if given is None else [given]
        options += [] if given is None else ["--card={0}"]
        if one is not None:
            files.append(one)
        # Braces of polarisations must not be taken for placeholders of files.
        of = f"{{{len(files) - 1}}}" if one is not None else source.replace("{", "{{").replace("}", "}}")
        tasks = Spread(executor, dict(environment))
        stack.callback(tasks.close)
        tasks.commands(["eval", *options, "--output={out}", "--", of, "{in}"], files, VALUES)
        counts = dict(_parts(pathlib.Path(file), folder))
        parts, wanted = list(counts), list(counts.values())
        made: dict[int, NDArray[np.float64]] = {}
        with contextlib.closing(tasks.of_file(pathlib.Path(file), parts, folder)) as done:
            for number, place in done:
                try:
                    made[number] = np.load(place / VALUES)
                except (ValueError, EOFError) as error:
                    raise Error(f"what a worker gave for part {number} of the file is no array: {error}") from None
                _reweight.check_count(number, wanted[number], made[number].size)
                (place / VALUES).unlink()
        return np.concatenate([made[number] for number in range(len(parts))])


def _single(source: str, folder: pathlib.Path, environment: Mapping[str, str]) -> str | None:
    """Returns a process file to send to workers if the process is a file or a directory with one matrix element."""
    if os.path.isfile(source):
        return source
    if not os.path.isdir(source.rpartition("#")[0] or source) or _command.count(source, environment) != 1:
        return None
    place = folder / "process.mebridge"
    _command.run("import", f"--output={place}", "--", source, environment=environment)
    return str(place)


def _card(directory: pathlib.Path) -> str | None:
    """Returns the parameter card of the output that a directory belongs to, or ``None``."""
    places = [of / "Cards" / "param_card.dat" for of in (directory, *directory.resolve().parents[:2])]
    return next((str(place) for place in places if place.is_file()), None)


def _parts(file: pathlib.Path, folder: pathlib.Path) -> Iterator[tuple[pathlib.Path, int]]:
    """Splits a file of events and yields each part with its number of events."""
    with Opened(file) as text:
        begin, packed = text.peek(_BEGIN), text.packed
        if begin.removeprefix(_BOM).lstrip()[:1] == _LHE:
            yield from _reweight.split(file, text, folder, [])
            return
    if not begin.startswith(_NUMPY):
        raise Error(
            f"{file} is neither an LHE file nor a NumPy array, of which parts are made; evaluate it without an executor"
        )
    if packed:
        raise Error(f"{file} is compressed, and parts of an array are those of a plain file; unpack it first")
    try:
        array = np.load(file, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise Error(f"{file} is a damaged NumPy array: {error}") from None
    for number, first in enumerate(range(0, len(array), _EVENTS)):
        part = folder / f"part{number}.npy"
        np.save(part, np.ascontiguousarray(array[first : first + _EVENTS]))
        yield part, len(array[first : first + _EVENTS])
