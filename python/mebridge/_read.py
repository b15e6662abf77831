"""Reading event files into arrays: LHE, plain or compressed, LHEH5 and Parquet."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import json
import os
import pathlib
import struct
import warnings
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_size_t, c_ssize_t, c_void_p
from typing import Any, cast

import numpy as np

from . import _arrays, _hdf5, _parquet, _records
from ._arguments import Path
from ._arrays import Array, EventArrays
from ._library import Error, check, lib

_HDF5, _PARQUET = b"\x89HDF\r\n\x1a\n", b"PAR1"
# First bytes of compressed files, with the Python module and class that read them.
_PACKED = (
    (b"\x1f\x8b", "gzip", "GzipFile"),
    (b"BZh", "bz2", "BZ2File"),
    (b"\xfd7zXZ\0", "lzma", "LZMAFile"),
    (b"\x28\xb5\x2f\xfd", "compression.zstd", "ZstdFile"),
)
# Number of leading bytes from which the format is recognised.
_MAGIC = 8


class _Batch(Structure):
    """``Batch`` of crates/capi/src/lhe.rs."""

    _fields_ = [
        ("events", c_size_t),
        ("heads", c_void_p),
        ("counts", c_void_p),
        ("ends", c_void_p),
        ("particles", c_size_t),
        ("of_particles", c_void_p),
        ("names", c_size_t),
        ("weights", c_void_p),
        ("head", c_size_t),
        ("summary", c_char_p),
    ]

    def array(self, address: int | None, kind: Any, count: int) -> Array:
        """Returns a copy of an array of the batch; its memory is valid only during the callback."""
        size = np.dtype(kind).itemsize * count
        return np.frombuffer(ctypes.string_at(address or 0, size) if size else b"", kind)


_READ = CFUNCTYPE(c_ssize_t, c_void_p, c_size_t)
_TAKE = CFUNCTYPE(c_int32, POINTER(_Batch))


def read_events(path: Path) -> EventArrays:
    """Reads an event file into arrays.

    The format is recognised from the first bytes: LHE (plain, or compressed by gzip, bzip2, xz or, from Python 3.14 on,
    zstd), LHEH5 2.0 (HDF5, needs ``h5py``), or Parquet written by :func:`mebridge.generate_events` (needs ``pyarrow``).

    Further weights have the names given in the file, or numbers from 1 if it gives none; a weight that an event lacks
    is NaN. If one LHE file follows another in the same file, the events of both are read, with a warning.

    Args:
        path: the event file.

    Raises:
        Error: if the file has another format, is damaged or truncated (the message names the line, or the event and the
            column), or a package is missing.

    >>> events = mebridge.read_events("events.lhe.gz")      # doctest: +SKIP
    >>> events.particles["px"], events.momenta              # doctest: +SKIP
    """
    file = pathlib.Path(os.fspath(path))
    with Opened(file) as text:
        magic = text.peek(_MAGIC)
        if magic == _HDF5:
            return _hdf5.read(file)
        if magic.startswith(_PARQUET):
            return _parquet.read(file)
        return _lhe(file, text)


class Opened:
    """An open file, decompressed while it is read."""

    def __init__(self, file: pathlib.Path) -> None:
        self.packed = ""
        """Name of the compression, empty for a plain file."""
        self._file = file
        self._open = contextlib.ExitStack()
        with self._open, self._named():
            text: io.BufferedReader = self._open.enter_context(file.open("rb"))
            begin = text.peek(_MAGIC)
            for magic, module, name in _PACKED:
                if begin.startswith(magic):
                    self.packed = module.rpartition(".")[2]
                    text = io.BufferedReader(self._open.enter_context(self._unpacked(module, name)(text)))
                    break
            self._text = text
            self._open = self._open.pop_all()

    def _unpacked(self, module: str, name: str) -> Any:
        try:
            kind = getattr(importlib.import_module(module), name)
        except ImportError:
            raise Error(
                f"{self._file} is compressed ({self.packed}), which this Python does not read; unpack it"
            ) from None
        return kind if module != "gzip" else lambda raw: kind(fileobj=raw)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Converts errors of reading to :class:`Error` with the name of the file."""
        try:
            yield
        except Error:
            raise
        except Exception as error:
            # Each module has its own errors for damaged files.
            system = isinstance(error, OSError) and error.errno is not None
            if not system and not self.packed:
                raise
            if not system:
                raise Error(f"{self._file} is a damaged {self.packed} file: {error}") from None
            raise Error(f"{self._file} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def peek(self, count: int) -> bytes:
        """Returns the next ``count`` bytes without consuming them, or fewer at the end."""
        with self._named():
            return self._text.peek(count)[:count]

    def read(self, count: int = -1) -> bytes:
        """Reads ``count`` bytes, or fewer at the end."""
        with self._named():
            return self._text.read(count)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()


def scan(path: pathlib.Path, read: Callable[[int], bytes], take: Callable[[_Batch], None], arrays: bool) -> None:
    """Reads an LHE file.

    Args:
        path: name of the file, for messages.
        read: returns up to the given number of bytes of the file.
        take: called with batches of events, valid only during the call; the last one has ``summary``.
        arrays: whether to parse the numbers of events, or only find where events end.
    """
    failed: list[BaseException] = []

    def reading(address: int, room: int) -> int:
        try:
            some = read(room)
            ctypes.memmove(address, some, len(some))
            return len(some)
        except BaseException as error:
            failed.append(error)
            return -1

    def taking(batch: Any) -> int:
        try:
            take(batch.contents)
            return 0
        except BaseException as error:
            failed.append(error)
            return 1

    status = lib.mebridge_read_lhe(os.fsencode(path), _READ(reading), _TAKE(taking), arrays)
    if failed:
        raise failed[0]
    check(status)


def ends(path: pathlib.Path, read: Callable[[int], bytes], take: Callable[[int, list[int]], None]) -> None:
    """Finds where the events of an LHE file end.

    Args:
        take: called with the offset in bytes of the end of the head, and those of the ends of events.
    """
    scan(path, read, lambda batch: take(batch.head, batch.array(batch.ends, "<u8", batch.events).tolist()), False)


def _lhe(path: pathlib.Path, file: Opened) -> EventArrays:
    parts: list[tuple[Array, Array, Array]] = []
    weights: list[Array] = []
    summary: dict[str, Any] = {}

    def take(batch: _Batch) -> None:
        heads = batch.array(batch.heads, _records.HEAD, batch.events)
        counts = batch.array(batch.counts, "<i4", batch.events)
        parts.append((heads, counts, batch.array(batch.of_particles, _records.PARTICLE, batch.particles)))
        rows = batch.array(batch.weights, "<f8", batch.events * batch.names)
        weights.append(rows.reshape(batch.events, batch.names))
        if batch.summary is not None:
            summary.update(json.loads(batch.summary))

    scan(path, file.read, take, True)
    if summary["second"] is not None:
        text = f"{path}: line {summary['second']}: a second file begins, whose events are read as well"
        warnings.warn(text, stacklevel=3)
    events, particles = _arrays.joined(parts)
    further = np.full((len(events), len(summary["names"])), np.nan)
    first = 0
    for rows in weights:
        further[first : first + len(rows), : rows.shape[1]] = rows
        first += len(rows)
    real = struct.Struct("<d")
    processes = [
        (number, *(real.unpack(bits.to_bytes(8, "little"))[0] for bits in of)) for number, of in summary["processes"]
    ]
    return EventArrays(
        events,
        particles,
        _arrays.processes(cast("list[tuple[int, float, float, float]]", processes)),
        (tuple(summary["beams"]), tuple(summary["energies"])),
        tuple(summary["densities"]),
        summary["strategy"],
        tuple(summary["names"]),
        further,
    )
