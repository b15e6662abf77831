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
# Texts that are on their way into the file at a time.
_WRITERS = 4
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


def weights(path: pathlib.Path, found: np.ndarray[Any, Any]) -> Weights:
    """What is kept of those of a round, whose events are in this file."""
    sizes = np.abs(found)
    nominal, largest = float(sizes.min()), float(sizes.max())
    if not 0.0 < nominal <= largest < math.inf:
        raise Error(f"{path} does not hold the {len(found)} events that were made; is the disk full?")
    # Rounding makes different last digits of one weight.
    above = int((sizes > nominal * (1.0 + _ROUNDING)).sum())
    return Weights(nominal, math.fsum(found.tolist()), above, largest, math.fsum(sizes.tolist()))


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
    difference: there it is what each round has, whose weights average to the cross section without signs.
    """
    if all(abs(weights.total) == weights.absolute for weights in rounds):
        return mean * events / math.fsum(weights.total / weights.nominal for weights in rounds)
    absolute = math.fsum(weights.absolute for weights in rounds)
    return absolute / math.fsum(weights.absolute / weights.nominal for weights in rounds)


@dataclass(frozen=True)
class Beside:
    """What stands in an event after its particles, besides further weights."""

    beams: Beams
    powers: Sequence[int] = ()
    """Of alpha_s by process, where events have MadEvent's block ``<mgrwt>``, from which MG5aMC's ``systematics`` makes
    weights."""
    matched: bool = False
    """Whether they have the scales that jets were clustered at, which Pythia's JetMatching reads."""
    clustering: bool = False
    """Whether they have all steps of the clustering."""


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
    beside: Beside | None = None,
) -> None:
    """Writes one file of all events of these rounds: their records, how many they are, and their weights. It is
    compressed where its name ends with .gz.

    The weights average to this mean, the cross section, and are the same but for those that are larger than the survey
    knew, or negative (IDWTUP -4): see :func:`nominal_weight`. The file is the same for any number of threads. Names are
    those of further weights.
    """
    beside = beside or Beside(beams)
    events = sum(count for _, count, _ in rounds)
    nominal = nominal_weight([weights for *_, weights in rounds], mean, events)
    packed = _compressed if output.suffix == ".gz" else _plain

    def block(
        some: Records, factor: float, more: Records | None, scales: Records | None, matched: Records | None
    ) -> bytes | memoryview:
        text = _events(some, factor, names, more)
        if scales is not None or matched is not None:
            text = _with_blocks(bytes(text), _blocks(some, scales, matched, beside))
        return packed(text)

    def texts() -> Iterator[Callable[[], bytes | memoryview]]:
        yield lambda: packed(_head(beams, processes, header, banner or Banner()))
        for path, count, weights in rounds:
            records = _records.read(path, count)
            ratios = np.load(_records.ratios(path), mmap_mode="r") if names else None
            scales = np.load(_records.scales(path), mmap_mode="r") if beside.powers else None
            matched = np.load(_records.matched(path), mmap_mode="r") if beside.matched else None
            for first in range(0, count, _EVENTS_AT_A_TIME):
                some = slice(first, first + _EVENTS_AT_A_TIME)
                more = (None if array is None else array[some] for array in (ratios, scales, matched))
                yield functools.partial(block, records[some], nominal / weights.nominal, *more)
        yield lambda: packed(b"</LesHouchesEvents>\n")

    with replaced(output) as part, open(part, "xb") as file:
        _store(file.fileno(), _in_order(texts(), threads), threads)


def _store(file: int, texts: Iterable[bytes | memoryview], threads: int) -> None:
    """Writes texts one after the other into an empty file. Several are on their way at a time: a large file is copied by
    the kernel for as long as it takes to make its text."""
    place = 0
    waiting: collections.deque[Future[None]] = collections.deque()
    with ThreadPoolExecutor(min(threads, _WRITERS)) as pool:
        for text in texts:
            waiting.append(pool.submit(_put, file, text, place))
            place += len(text)
            if len(waiting) > _WRITERS:
                waiting.popleft().result()
        for future in waiting:
            future.result()


def _put(file: int, text: bytes | memoryview, place: int) -> None:
    left = memoryview(text)
    while left:
        written = os.pwrite(file, left, place)
        left, place = left[written:], place + written


def _in_order(
    tasks: Iterable[Callable[[], bytes | memoryview]], threads: int
) -> Iterator[bytes | memoryview]:
    """What tasks give, one after the other, while others of them run in threads. Few are done ahead."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: collections.deque[Future[bytes | memoryview]] = collections.deque()
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


def write_text(output: pathlib.Path, text: str) -> None:
    """Writes what lies beside an event file, as that is written: in the place of a link, not where it leads."""
    with replaced(output) as part:
        # Names of files may be no UTF-8.
        part.write_text(text, encoding="utf-8", errors="surrogateescape")


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
    """Owner and permissions of the file that is replaced stay; a link has none of its own."""
    try:
        before = former.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(before.st_mode):
        return
    here = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (here.st_uid, here.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _plain(text: bytes | memoryview) -> bytes | memoryview:
    return text


def _compressed(text: bytes | memoryview) -> bytes:
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
) -> bytes | memoryview:
    """Their text, with further weights of these names. The library writes it without the lock of the interpreter."""
    records = np.ascontiguousarray(records)
    particles = _records.particles(records)
    room = len(records) * (_EVENT_BYTES + _PARTICLE_BYTES * particles)
    text, written = np.empty(room, np.uint8), ctypes.c_size_t()
    given = (records.ctypes.data, len(records), particles, weight_factor)
    check(lib.mebridge_lhe_events(*given, text.ctypes.data, room, ctypes.byref(written)))
    found = text.data[: written.value]
    if ratios is None:
        return found
    return _reweighted(bytes(found), names, ratios * (records["weight"] * weight_factor)[:, None])


def _reweighted(text: bytes, names: Sequence[str], weights: np.ndarray[Any, Any]) -> bytes:
    """Events with a block of further weights each."""
    lines = "".join(f"<wgt id='{name}'> %+.7e </wgt>\n" for name in names).encode()
    block = b"<rwgt>\n" + lines + b"</rwgt>\n" + _END
    events = text.split(_END)[:-1]
    return b"".join(part for event, row in zip(events, weights.tolist()) for part in (event, block % tuple(row)))


def _with_blocks(text: bytes, blocks: Iterable[bytes]) -> bytes:
    """Events with a block each, before further weights."""
    found: list[bytes] = []
    for event, block in zip(text.split(_END), blocks):
        head, rwgt, rest = event.partition(b"<rwgt>")
        found += (head, block, rwgt, rest, _END)
    return b"".join(found)


def _blocks(records: Records, scales: Records | None, matched: Records | None, beside: Beside) -> Iterable[bytes]:
    """What MadEvent writes after particles: scales of jets, what weights for other scales and densities need, and the
    steps of the clustering."""
    records = np.ascontiguousarray(records)
    if matched is None:
        assert scales is not None
        return _scaled(records, scales, beside)
    numbers = _numbers(records)
    parts: list[Iterable[bytes]] = [_jets(numbers, matched)]
    if scales is not None:
        parts.append(_weighted(records, scales, matched, beside))
    if beside.clustering:
        parts.append(_steps(numbers, matched))
    return (b"".join(of) for of in zip(*parts))


def _scaled(records: Records, scales: Records, beside: Beside) -> Iterable[bytes]:
    """MadEvent's block of what weights for other scales and densities need."""
    beams, incoming = beside.beams, _records.nested(records)["particles"][:, :2]
    x = incoming["energy"] / np.array(beams.energies)
    power = np.array(beside.powers)[records["process_id"] - 1]
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
    return (block % row for row in zip(*(column.tolist() for column in columns)))


def _weighted(records: Records, scales: Records, matched: Records, beside: Beside) -> Iterable[bytes]:
    """The same where further alpha_s and densities weigh the event."""
    powers = np.array(beside.powers)[records["process_id"] - 1]
    factors = records["alpha_qcd"] ** powers * scales[:, 3]
    columns = (powers, scales[:, 0], matched["emissions"], matched["pdg"], matched["x"], matched["q"], factors)
    for power, scale, emissions, pdg, x, q, factor in zip(*(column.tolist() for column in columns)):
        further = [one for one in emissions if one > 0.0]
        lines = ["<mgrwt>", f"<rscale>{power - len(further):3}{scale:15.8E}</rscale>"]
        lines.append(f"<asrwt>{len(further):3}{_real(further)}</asrwt>" if further else "<asrwt>0</asrwt>")
        for beam in (0, 1):
            count = sum(code != 0 for code in pdg[beam])
            codes = "".join(f"{code:9}" for code in pdg[beam][:count])
            numbers = _real(x[beam][:count] + q[beam][:count])
            lines.append(f'<pdfrwt beam="{beam + 1}">{count:3}{codes}{numbers}</pdfrwt>')
        lines += [f"<totfact>{factor:15.8E}</totfact>", "</mgrwt>", ""]
        yield "\n".join(lines).encode()


def _real(values: Sequence[float]) -> str:
    return "".join(f"{value:15.8E}" for value in values)


def _numbers(records: Records) -> list[list[int]]:
    """The numbers of the particles of each event, from 1, by those of its legs, which are nearer to each other."""
    status = _records.nested(records)["particles"]["status_code"]
    outgoing = status == 1
    order = np.argsort(~outgoing, axis=1, kind="stable") + 1
    counts = outgoing.sum(axis=1)
    return [[0, 1, 2, *row[:count]] for row, count in zip(order.tolist(), counts.tolist())]


def _jets(numbers: Iterable[Sequence[int]], matched: Records) -> Iterable[bytes]:
    """The scales that jets were clustered at, GeV; of other particles the energy of the beams."""
    for of, scales in zip(numbers, matched["pt"].tolist()):
        said = " ".join(f'pt_clust_{number}="{scale:.5f}"' for number, scale in zip(of[3:], scales))
        yield f"<scales {said}></scales>\n".encode()


def _steps(numbers: Iterable[Sequence[int]], matched: Records) -> Iterable[bytes]:
    """The steps of the clustering: scale, the two that are combined, the other beam, and -1."""
    for of, scales, legs in zip(numbers, matched["steps"].tolist(), matched["legs"].tolist()):
        lines = ["<clustering>"]
        for scale, (one, other, beam) in zip(scales, legs):
            if one:
                lines.append(f'<clus scale="{scale:9.3f}">{of[one]:3}{of[other]:3}{of[beam] or -1:3} -1</clus>')
        yield "\n".join([*lines, "</clustering>", ""]).encode()
