"""Event files as arrays: LHE, plain or compressed, LHEH5 and Parquet."""

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
# What compressed files begin with: the module of Python that reads them, and its class.
_PACKED = (
    (b"\x1f\x8b", "gzip", "GzipFile"),
    (b"BZh", "bz2", "BZ2File"),
    (b"\xfd7zXZ\0", "lzma", "LZMAFile"),
    (b"\x28\xb5\x2f\xfd", "compression.zstd", "ZstdFile"),
)
# Of the begin of a file, which tells what it is.
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
        ("said", c_char_p),
    ]

    def array(self, address: int | None, kind: Any, count: int) -> Array:
        """A copy of what lies there while events are being taken."""
        size = np.dtype(kind).itemsize * count
        return np.frombuffer(ctypes.string_at(address or 0, size) if size else b"", kind)


_READ = CFUNCTYPE(c_ssize_t, c_void_p, c_size_t)
_TAKE = CFUNCTYPE(c_int32, POINTER(_Batch))


def read_events(path: Path) -> EventArrays:
    """The events of a file as arrays: LHE (plain, or compressed by gzip, bzip2, xz or, from Python 3.14 on, zstd), LHEH5
    2.0 (HDF5, with ``h5py``) or Parquet as :func:`mebridge.generate_events` writes it (with ``pyarrow``), which is told
    from what the file begins with.

    Further weights have the names that the file gives them, and numbers from 1 on where it gives none; they are NaN where
    an event has none. Of two LHE files, one after the other, all events are read, with a warning.

    Raises:
        Error: where it is no such file, is damaged or cut off (the message names the line, or the event and the column), or
            a package is missing.
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
    """A file without its compression."""

    def __init__(self, file: pathlib.Path) -> None:
        self.packed = ""
        """By what it is compressed."""
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
        """Errors of reading in words."""
        try:
            yield
        except Error:
            raise
        except Exception as error:
            # Modules have errors of their own for damage.
            system = isinstance(error, OSError) and error.errno is not None
            if not system and not self.packed:
                raise
            if not system:
                raise Error(f"{self._file} is a damaged {self.packed} file: {error}") from None
            raise Error(f"{self._file} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def peek(self, count: int) -> bytes:
        """So many bytes that are read next, or fewer at the end."""
        with self._named():
            return self._text.peek(count)[:count]

    def read(self, count: int = -1) -> bytes:
        """So many bytes, or fewer at the end."""
        with self._named():
            return self._text.read(count)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()


def scan(path: pathlib.Path, read: Callable[[int], bytes], take: Callable[[_Batch], None], arrays: bool) -> None:
    """Reads an LHE file.

    Args:
        path: its name, for messages.
        read: gives this many bytes of it, or fewer.
        take: gets events, which are there as long as it takes them; after the last ones, ``said``.
        arrays: whether their numbers are wanted, or their ends alone.
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
    """Reads where the events of an LHE file end.

    Args:
        take: gets bytes up to the end of the head, and of each event.
    """
    scan(path, read, lambda batch: take(batch.head, batch.array(batch.ends, "<u8", batch.events).tolist()), False)


def _lhe(path: pathlib.Path, file: Opened) -> EventArrays:
    parts: list[tuple[Array, Array, Array]] = []
    weights: list[Array] = []
    said: dict[str, Any] = {}

    def take(batch: _Batch) -> None:
        heads = batch.array(batch.heads, _records.HEAD, batch.events)
        counts = batch.array(batch.counts, "<i4", batch.events)
        parts.append((heads, counts, batch.array(batch.of_particles, _records.PARTICLE, batch.particles)))
        rows = batch.array(batch.weights, "<f8", batch.events * batch.names)
        weights.append(rows.reshape(batch.events, batch.names))
        if batch.said is not None:
            said.update(json.loads(batch.said))

    scan(path, file.read, take, True)
    if said["second"] is not None:
        text = f"{path}: line {said['second']}: a second file begins, whose events are read as well"
        warnings.warn(text, stacklevel=3)
    events, particles = _arrays.joined(parts)
    further = np.full((len(events), len(said["names"])), np.nan)
    first = 0
    for rows in weights:
        further[first : first + len(rows), : rows.shape[1]] = rows
        first += len(rows)
    real = struct.Struct("<d")
    processes = [
        (number, *(real.unpack(bits.to_bytes(8, "little"))[0] for bits in of)) for number, of in said["processes"]
    ]
    return EventArrays(
        events,
        particles,
        _arrays.processes(cast("list[tuple[int, float, float, float]]", processes)),
        (tuple(said["beams"]), tuple(said["energies"])),
        tuple(said["densities"]),
        said["strategy"],
        tuple(said["names"]),
        further,
    )
