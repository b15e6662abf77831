"""Event files as arrays: LHE, plain or compressed, LHEH5 and Parquet."""

from __future__ import annotations

import gzip
import os
import pathlib
import re
import zlib
from typing import IO, Union

import numpy as np

from . import _arrays, _hdf5, _parquet, _records
from ._arrays import Array, EventArrays
from ._library import Error
from ._process import Path

# A file, which may be compressed.
Opened = Union[IO[bytes], gzip.GzipFile]
_CHUNK = 1 << 24
_EVENT = re.compile(rb"<event[^>]*>\s*?\n(.*?)</event>", re.DOTALL)
_WEIGHT = re.compile(rb"<wgt\s+id\s*=\s*['\"]\s*([^'\"]*?)\s*['\"]\s*>\s*([^<]*?)\s*</wgt>")
# Numbers of Fortran.
_EXPONENT = re.compile(rb"(?<=[\d.])[dD](?=[-+]?\d)")
_HEAD_WORDS, _PARTICLE_WORDS = 6, 13


def read_events(path: Path) -> EventArrays:
    """The events of a file as arrays: LHE (plain or gzip), LHEH5 2.0 (HDF5, with ``h5py``) or Parquet as
    :func:`mebridge.generate_events` writes it (with ``pyarrow``), which is told from what the file begins with.

    Raises:
        Error: where it is no such file, is cut off, or a package is missing.
    """
    file = pathlib.Path(os.fspath(path))
    try:
        with open(file, "rb") as raw:
            magic = raw.read(8)
        if magic == b"\x89HDF\r\n\x1a\n":
            return _hdf5.read(file)
        if magic[:4] == b"PAR1":
            return _parquet.read(file)
        with opened(file) as text:
            return _lhe(file, text)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Error(f"{file} is a damaged gzip file: {error}") from None
    except OSError as error:
        raise Error(f"{file} cannot be read: {error.strerror or error}") from None


def opened(file: pathlib.Path) -> Opened:
    """A file, which may be gzipped."""
    with open(file, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    return gzip.open(file) if packed else open(file, "rb")


def _lhe(path: pathlib.Path, file: Opened) -> EventArrays:
    head, rest = _head(path, file)
    beams, densities, strategy, processes = _init(path, head)
    parts: list[tuple[Array, Array, Array]] = []
    names: dict[bytes, int] = {}
    weights: list[list[tuple[bytes, bytes]]] = []
    ended = False
    while not ended:
        more = file.read(_CHUNK)
        rest += more
        blocks, end = [], 0
        for found in _EVENT.finditer(rest):
            blocks.append(found[1])
            end = found.end()
        if blocks:
            first = sum(map(len, (part[0] for part in parts)))
            parts.append(_numbers(path, first, blocks, names, weights))
        rest = rest[end:]
        ended = not more
    if b"</LesHouchesEvents>" not in rest:
        raise Error(f"{path} is cut off: it does not end with </LesHouchesEvents>")
    empty = np.zeros(0, _records.HEAD), np.zeros(0, int), np.zeros(0, _records.PARTICLE)
    events, particles = _arrays.joined(parts or [empty])
    further = np.full((len(events), len(names)), np.nan)
    try:
        for i, row in enumerate(weights):
            for name, value in row:
                further[i, names[name]] = float(value)
    except ValueError as error:
        raise Error(f"{path}: a weight is no number: {error}") from None
    said = tuple(name.decode(errors="replace") for name in names)
    return EventArrays(events, particles, processes, beams, densities, strategy, said, further)


def _head(path: pathlib.Path, file: Opened) -> tuple[bytes, bytes]:
    """What stands before the events, and the begin of them."""
    text = b""
    while b"</init>" not in text:
        more = file.read(_CHUNK)
        if not more:
            raise Error(f"{path} is no event file: it has no <init>")
        text += more
    before, _, rest = text.partition(b"</init>")
    return before, rest


def _init(
    path: pathlib.Path, head: bytes
) -> tuple[tuple[tuple[int, int], tuple[float, float]], tuple[int, int], int, Array]:
    lines = [_EXPONENT.sub(b"e", line).split() for line in head.rpartition(b"<init")[2].partition(b">")[2].splitlines()]
    lines = [line for line in lines if line]
    try:
        first = lines[0]
        codes, energies = (int(first[0]), int(first[1])), (float(first[2]), float(first[3]))
        densities, strategy, count = (int(first[6]), int(first[7])), int(first[8]), int(first[9])
        rows = [(int(line[3]), float(line[0]), float(line[1]), float(line[2])) for line in lines[1 : count + 1]]
    except (IndexError, ValueError):
        raise Error(f"{path}: <init> does not hold what the Les Houches Accord has there") from None
    return (codes, energies), densities, strategy, _arrays.processes(rows)


def _numbers(
    path: pathlib.Path,
    first: int,
    blocks: list[bytes],
    names: dict[bytes, int],
    weights: list[list[tuple[bytes, bytes]]],
) -> tuple[Array, Array, Array]:
    """Heads, counts and particles of some events; the first of them has this number."""
    heads, legs, counts = [], [], []
    for number, block in enumerate(blocks, first):
        head, _, body = block.partition(b"\n")
        try:
            count = int(head.split(None, 1)[0])
        except (IndexError, ValueError):
            raise Error(f"{path}: event {number} does not begin with a number of particles") from None
        lines = body.split(b"\n", count)
        if count < 1 or len(lines) <= count:
            raise Error(f"{path}: event {number} does not have its {count} particles")
        heads.append(head)
        counts.append(count)
        legs += lines[:count]
        more = _WEIGHT.findall(lines[count]) if b"<wgt" in lines[count] else []
        for name, _ in more:
            names.setdefault(name, len(names))
        weights.append(more)
    table = _table(path, first, heads, _HEAD_WORDS)
    found = np.zeros(len(heads), _records.HEAD)
    for (name, _), column in zip(_records.HEAD, table[1:]):
        found[name] = column
    particles = np.zeros(len(legs), _records.PARTICLE)
    for (name, _), column in zip(_records.PARTICLE, _table(path, first, legs, _PARTICLE_WORDS)):
        particles[name] = column
    return found, np.array(counts), particles


def _table(path: pathlib.Path, first: int, lines: list[bytes], words: int) -> Array:
    """The numbers in these lines, a row for each column of them."""
    text = b"\n".join(lines)
    if b"d" in text or b"D" in text:
        text = _EXPONENT.sub(b"e", text)
    try:
        flat = np.array(text.split(), dtype="S").astype(float)
        if len(flat) != words * len(lines):
            raise ValueError(f"{len(flat)} numbers in {len(lines)} lines")
    except ValueError as error:
        raise Error(f"{path}: events from {first} on hold something else than numbers: {error}") from None
    return np.asarray(flat.reshape(len(lines), words).T)
