"""Event files of the Les Houches Accord, made of the records of rounds."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import gzip
import math
import os
import pathlib
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _records
from ._library import Error, check, lib

# Bytes of an event's text, at most, without its particles, and of each of them (mebridge.h).
_EVENT_BYTES, _PARTICLE_BYTES = 160, 240

# Events whose text is made at a time, and how many such texts wait for the file, of each thread.
_EVENTS_AT_A_TIME, _AHEAD = 10_000, 2
_ROUNDING = 1e-6
_END = b"</event>\n"
# PDG code.
PROTON = 2212

Records = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Beams:
    """Two beams: PDG code, energy in GeV each, and the numbers of their densities at LHAPDF, 0 where there are none."""

    codes: tuple[int, int]
    energies: tuple[float, float]
    densities: tuple[int, int]

    @classmethod
    def equal(cls, codes: tuple[int, int], energy: float, densities: int) -> Beams:
        """Of this energy together, with the same densities."""
        return cls(codes, (energy / 2.0,) * 2, (densities,) * 2)


@dataclass(frozen=True)
class Banner:
    """What stands at the begin of a file besides beams and processes."""

    header: str = ""
    """Blocks of the header."""
    generator: str = ""
    """A line of the block of the beams."""
    strategy: int = -4
    """IDWTUP: what weights mean."""


def target(output: str, inputs: Iterable[str | os.PathLike[str] | None]) -> pathlib.Path:
    """The file that events go to, where it can be written and is none of those that a run reads.

    A link is followed: the file that it names is replaced, not the link.
    """
    path = pathlib.Path(os.path.realpath(output))
    try:
        with _part(path) as part:
            part.touch(exist_ok=False)
        kind = path.stat().st_mode if path.exists() else stat.S_IFREG
    except OSError as error:
        raise _unwritten(path, error) from None
    if not stat.S_ISREG(kind):
        raise Error(f"{output} is a folder, a device or a pipe, no file; name a file for the events")
    for given in inputs:
        if given is not None and path.exists() and os.path.exists(given) and os.path.samefile(path, given):
            raise Error(f"{output} is read by this run; name another file for the events")
    return path


@dataclass(frozen=True)
class Weights:
    """Of the events of a round."""

    nominal: float
    """The least one, but for its sign, which all have that are not larger than the round knew."""
    total: float
    above: int
    """How many are larger, but for their signs."""
    largest: float
    absolute: float
    """The sum without signs."""


def weights(path: pathlib.Path, events: int) -> Weights:
    """Those of a round, which holds all of its events."""
    found = np.array(_records.read(path, events)["weight"])
    sizes = np.abs(found)
    nominal, largest = float(sizes.min()), float(sizes.max())
    if not 0.0 < nominal <= largest < math.inf:
        raise Error(f"{path} does not hold the {events} events that MadSpace made; is the disk full?")
    # Of one weight MadSpace has different last digits.
    above = int((sizes > nominal * (1.0 + _ROUNDING)).sum())
    return Weights(nominal, math.fsum(found), above, largest, math.fsum(sizes))


def overweights(rounds: Sequence[Weights], events: int) -> dict[str, float]:
    """What is above the nominal weight: events, their weights beyond it as a share of all, and the largest weight in
    units of it."""
    total = math.fsum(weights.absolute / weights.nominal for weights in rounds)
    return {
        "events": sum(weights.above for weights in rounds),
        "share": max(0.0, 1.0 - events / total),
        "largest": max(weights.largest / weights.nominal for weights in rounds),
    }


def nominal_weight(rounds: Sequence[Weights], mean: float, events: int) -> float:
    """The weight of most events of these rounds, but for its sign.

    With it the weights average to this mean. Where they have both signs, that would give them the noise of a small
    difference: there it is what MadSpace has of each round, whose weights average to the cross section without signs.
    """
    if all(abs(weights.total) == weights.absolute for weights in rounds):
        return mean * events / math.fsum(weights.total / weights.nominal for weights in rounds)
    absolute = math.fsum(weights.absolute for weights in rounds)
    return absolute / math.fsum(weights.absolute / weights.nominal for weights in rounds)


def write(
    output: pathlib.Path,
    rounds: Sequence[tuple[pathlib.Path, int, Weights]],
    mean: float,
    beams: Beams,
    processes: list[tuple[str, float, float]],
    header: str,
    threads: int,
    banner: Banner | None = None,
    names: Sequence[str] = (),
    powers: Sequence[int] = (),
) -> None:
    """Writes one file of all events of these rounds: their records, how many they are, and their weights. It is
    compressed where its name ends with .gz.

    The weights average to this mean, the cross section, and are the same but for those that are larger than the survey
    knew, or negative (IDWTUP -4): see :func:`nominal_weight`. The file is the same for any number of threads. Names are
    those of further weights. Where powers of alpha_s by process are given, events have MadEvent's block ``<mgrwt>``,
    from which MG5aMC's ``systematics`` makes weights.
    """
    events = sum(count for _, count, _ in rounds)
    nominal = nominal_weight([weights for *_, weights in rounds], mean, events)
    packed = _compressed if output.suffix == ".gz" else bytes

    def block(some: Records, factor: float, more: Records | None, scales: Records | None) -> bytes:
        text = _events(some, factor, names, more)
        if scales is not None:
            text = _scaled(text, some, scales, beams, powers)
        return packed(text)

    def texts() -> Iterator[Callable[[], bytes]]:
        yield lambda: packed(_head(beams, processes, header, banner or Banner()))
        for path, count, weights in rounds:
            records = _records.read(path, count)
            ratios = np.load(_records.ratios(path), mmap_mode="r") if names else None
            scales = np.load(_records.scales(path), mmap_mode="r") if powers else None
            for first in range(0, count, _EVENTS_AT_A_TIME):
                some = slice(first, first + _EVENTS_AT_A_TIME)
                more, of = (None if array is None else array[some] for array in (ratios, scales))
                yield functools.partial(block, records[some], nominal / weights.nominal, more, of)
        yield lambda: packed(b"</LesHouchesEvents>\n")

    with replaced(output) as part, open(part, "xb") as file:
        for text in _in_order(texts(), threads):
            file.write(text)


def _in_order(tasks: Iterable[Callable[[], bytes]], threads: int) -> Iterator[bytes]:
    """What tasks give, one after the other, while others of them run in threads. Few are done ahead."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: collections.deque[Future[bytes]] = collections.deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > _AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextlib.contextmanager
def replaced(output: pathlib.Path) -> Iterator[pathlib.Path]:
    """A name for a file that takes the place of another one once it is whole."""
    try:
        with _part(output) as part:
            yield part
            with open(part, "rb") as file:
                _like(output, file.fileno())
                os.fsync(file.fileno())
            os.replace(part, output)
    except OSError as error:
        raise _unwritten(output, error) from None


@contextlib.contextmanager
def _part(output: pathlib.Path) -> Iterator[pathlib.Path]:
    """A name beside a file that no other run has, and that nothing bears afterwards."""
    # Short, whatever the name of the file: names have 255 bytes.
    part = output.with_name(f".mebridge-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _like(former: pathlib.Path, descriptor: int) -> None:
    """Owner and permissions of the file that is replaced stay."""
    try:
        before = former.stat()
    except FileNotFoundError:
        return
    here = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (here.st_uid, here.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _compressed(text: bytes) -> bytes:
    """A member of a gzip file (RFC 1952), of which readers take one after the other. Neither a name nor a time is in
    it: the same run gives the same file."""
    return gzip.compress(text, compresslevel=6, mtime=0)


def _unwritten(output: pathlib.Path, error: OSError) -> Error:
    return Error(f"{output} cannot be written: {error.strerror or error}")


def _head(beams: Beams, processes: list[tuple[str, float, float]], header: str, banner: Banner) -> bytes:
    groups = " ".join("0" if number else "-1" for number in beams.densities)
    known = " ".join(str(number or -1) for number in beams.densities)
    header = header.replace("&", "&amp;").replace("<", "&lt;")
    lines = ['<LesHouchesEvents version="3.0">', "<header>"]
    lines += [banner.header.rstrip("\n")] if banner.header else []
    lines += ["<mebridge>", header, "</mebridge>", "</header>", "<init>"]
    first, second = beams.codes
    energies = " ".join(f"{energy:.10e}" for energy in beams.energies)
    lines.append(f"{first} {second} {energies} {groups} {known} {banner.strategy} {len(processes)}")
    for number, (_, cross_section, error) in enumerate(processes):
        lines.append(f"{cross_section:.10e} {error:.10e} {cross_section:.10e} {number + 1}")
    lines += [banner.generator] if banner.generator else []
    lines += ["</init>", ""]
    return "\n".join(lines).encode()


def _events(
    records: Records,
    weight_factor: float,
    names: Sequence[str] = (),
    ratios: Records | None = None,
) -> bytes:
    """Their text, with further weights of these names. The library writes it without the lock of the interpreter."""
    records = np.ascontiguousarray(records)
    particles = _records.particles(records)
    room = len(records) * (_EVENT_BYTES + _PARTICLE_BYTES * particles)
    text, written = np.empty(room, np.uint8), ctypes.c_size_t()
    given = (records.ctypes.data, len(records), particles, weight_factor)
    check(lib.mebridge_lhe_events(*given, text.ctypes.data, room, ctypes.byref(written)))
    found = text[: written.value].tobytes()
    return found if ratios is None else _reweighted(found, names, ratios * (records["weight"] * weight_factor)[:, None])


def _reweighted(text: bytes, names: Sequence[str], weights: np.ndarray[Any, Any]) -> bytes:
    """Events with a block of further weights each."""
    lines = "".join(f"<wgt id='{name}'> %+.7e </wgt>\n" for name in names).encode()
    block = b"<rwgt>\n" + lines + b"</rwgt>\n" + _END
    events = text.split(_END)[:-1]
    return b"".join(part for event, row in zip(events, weights.tolist()) for part in (event, block % tuple(row)))


def _scaled(text: bytes, records: Records, scales: Records, beams: Beams, powers: Sequence[int]) -> bytes:
    """Events with MadEvent's block of what weights for other scales and densities need, before further weights."""
    incoming = _records.nested(np.ascontiguousarray(records))["particles"][:, :2]
    x = incoming["energy"] / np.array(beams.energies)
    power = np.array(powers)[records["process_id"] - 1]
    columns = [power, scales[:, 0]]
    block = b"<mgrwt>\n<rscale>%3d%15.8E</rscale>\n<asrwt>0</asrwt>\n"
    for beam in (0, 1):
        if abs(beams.codes[beam]) == PROTON:
            columns += [incoming["pdg_id"][:, beam], x[:, beam], scales[:, 1 + beam]]
            block += b"<pdfrwt beam=\"%d\">  1%%9d%%15.8E%%15.8E</pdfrwt>\n" % (beam + 1)
        else:
            block += b"<pdfrwt beam=\"%d\">0</pdfrwt>\n" % (beam + 1)
    block += b"<totfact>%15.8E</totfact>\n</mgrwt>\n"
    columns.append(records["alpha_qcd"] ** power * scales[:, 3])
    found: list[bytes] = []
    for event, row in zip(text.split(_END), zip(*(column.tolist() for column in columns))):
        head, rwgt, rest = event.partition(b"<rwgt>")
        found += (head, block % row, rwgt, rest, _END)
    return b"".join(found)
