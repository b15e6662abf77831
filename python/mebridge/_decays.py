"""Decays of outgoing particles in event files, by `mebridge decay` (docs/decay.md)."""

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
    """Decays particles in LHE events with spin correlations and off-shell masses, like ``mebridge decay``.

    Args:
        events: an LHE file, gzipped or not.
        decays: decay chains, such as ``["t > w+ b, w+ > l+ vl", "t~ > w- b~, w- > j j"]``.
        output: the file to write, gzipped if its name ends with ``.gz``. Default: the name of the event file with
            ``_decayed`` before its suffix.
        seed: seed of the random numbers.
        spinmode: ``"full"`` for spin correlations and off-shell masses, ``"onshell"`` for spin correlations alone,
            ``"none"`` for neither.
        bw_cut: range of masses in widths. Default: ``bwcutoff`` of the run card in the header, or 15.
        model: a UFO folder or a model file. Default: the model named in the header.
        param_card: a parameter card. Default: the card in the header.
        define: multiparticle labels, such as ``["l = e- mu-"]``.
        threads: number of threads.

    Returns:
        The path of the file with decays.

    Raises:
        Error: if the command fails, with its message.
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
    count = _arguments.whole("threads", threads, 1, _arguments.MAX_THREADS)
    _decay(file, given, target, whole, count, options, {})
    return target


def lines(decays: Sequence[str], name: str = "decays") -> list[str]:
    """Returns a list of strings; a single string is refused."""
    if isinstance(decays, (str, bytes)):
        raise TypeError(f"{name} is {decays!r}; it must be a list, such as [{decays!r}]")
    return [_arguments.text(name, line) for line in decays]


def beside(file: pathlib.Path) -> pathlib.Path:
    """Returns the command's default name for the file with decays."""
    name = file.name
    ending = next((end for end in (".lhe.gz", ".lhe", ".gz") if name.endswith(end)), "")
    return file.with_name(f"{name.removesuffix(ending)}_decayed{ending}")


def of_run(
    file: pathlib.Path, decays: Sequence[str], spec: Mapping[str, Any], environment: Mapping[str, str]
) -> pathlib.Path:
    """Decays the events of a run and returns the decayed file, which is written beside the event file.

    Args:
        spec: the run in the library's form; its model and its card are used if given.
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
