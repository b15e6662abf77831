"""Decays of the particles that go out of event files: what `mebridge decay` does (docs/decay.md)."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

from . import _arguments, _command, _target
from ._arguments import Path

_MODES = {"full": "", "onshell": "", "none": ""}
_LARGEST_SEED = 2**64 - 1


def decay_events(
    events: Path,
    decays: Sequence[str],
    *,
    output: Path | None = None,
    seed: SupportsIndex | float = 1,
    spinmode: str = "full",
    bw_cut: float | None = None,
    model: Path | None = None,
    param_card: Path | None = None,
    define: Sequence[str] = (),
    threads: SupportsIndex | float = 1,
) -> pathlib.Path:
    """Decays particles of LHE events with their spins and masses, as ``mebridge decay`` does, and gives the file.

    Args:
        events: an LHE file, gzipped or not.
        decays: such as ``["t > w+ b, w+ > l+ vl", "t~ > w- b~, w- > j j"]``.
        output: the file that is written, gzipped where its name ends with ``.gz``; otherwise that of the events with
            ``_decayed`` after its name.
        seed: of the random numbers.
        spinmode: ``"full"``, spins and masses; ``"onshell"``, spins alone; ``"none"``, neither.
        bw_cut: how many widths masses may be off; otherwise ``bwcutoff`` of the run card in the header, or 15.
        model: a UFO folder or a file, otherwise that of the header.
        param_card: otherwise that of the header.
        define: labels for several particles, such as ``["l = e- mu-"]``.
        threads: how many.

    Raises:
        Error: what the command says.
    """
    given = lines(decays)
    if not given:
        raise ValueError('decays are missing; name one, such as "t > w+ b"')
    _arguments.one_of("spinmode", spinmode, _MODES)
    file = pathlib.Path(_arguments.text("events", events))
    card = None if param_card is None else _arguments.card("param_card", param_card)
    target = beside(file) if output is None else pathlib.Path(_arguments.text("output", output))
    _target.target(str(target), [file, card])
    options = [f"--spinmode={spinmode}", *(f"--define={line}" for line in lines(define, "define"))]
    if bw_cut is not None:
        options.append(f"--bw-cut={_arguments.positive('bw_cut', bw_cut)!r}")
    if model is not None:
        options.append(f"--model={_arguments.text('model', model)}")
    if card is not None:
        options.append(f"--param-card={card}")
    whole = _arguments.whole("seed", seed, 0, _LARGEST_SEED)
    count = _arguments.whole("threads", threads, 1, _arguments.MOST_THREADS)
    _decay(file, given, target, whole, count, options, {})
    return target


def lines(decays: Sequence[str], name: str = "decays") -> list[str]:
    """What is to be a list of texts."""
    if isinstance(decays, (str, bytes)):
        raise TypeError(f"{name} is {decays!r}; it must be a list, such as [{decays!r}]")
    return [_arguments.text(name, line) for line in decays]


def beside(file: pathlib.Path) -> pathlib.Path:
    """The name that the command gives the file with decays."""
    name = file.name
    ending = next((end for end in (".lhe.gz", ".lhe", ".gz") if name.endswith(end)), "")
    return file.with_name(f"{name.removesuffix(ending)}_decayed{ending}")


def of_run(
    file: pathlib.Path, decays: Sequence[str], spec: Mapping[str, Any], environment: Mapping[str, str]
) -> pathlib.Path:
    """Decays the events that a run made, into a file beside them.

    Args:
        spec: of the run; its model and its card are taken where the file has none in its header.
    """
    target = beside(file)
    given = (("model", spec["model"]), ("param-card", spec["param_card"]))
    options = [f"--{name}={value}" for name, value in given if value is not None]
    seed = 1 if spec["seed"] is None else spec["seed"]
    _decay(file, decays, target, seed, spec["threads"], options, environment)
    return target


def _decay(
    file: pathlib.Path,
    decays: Sequence[str],
    target: pathlib.Path,
    seed: int,
    threads: int,
    options: Sequence[str],
    environment: Mapping[str, str],
) -> None:
    options = [*options, f"--output={target}", f"--seed={seed}", f"--threads={threads}"]
    _command.run("decay", *options, "--", str(file), *decays, environment=environment)
