"""Packing files into bytes, for machines without a shared folder."""

from __future__ import annotations

import hashlib
import io
import pathlib
import struct
import zipfile
import zlib
from collections.abc import Mapping

from ._library import Error

# Compression level of zlib: 1 takes as long as reading the files.
_LEVEL = 1
# The earliest date of the zip format, for all entries: the same files give the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, pathlib.Path | bytes]) -> bytes:
    """Returns a zip file of these files, given by name in the zip file and path or content."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        for name, held in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            data = held if isinstance(held, bytes) else held.read_bytes()
            archive.writestr(entry, data, compresslevel=_LEVEL)
    return into.getvalue()


def pack_folder(folder: pathlib.Path) -> bytes:
    """All files below a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return pack({str(path.relative_to(folder)): path for path in paths})


def unpack(packed: bytes, folder: pathlib.Path) -> None:
    """Writes the files below this folder; whoever made them is not trusted to name others."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            for entry in archive.infolist():
                name = pathlib.PurePosixPath(entry.filename)
                if name.is_absolute() or ".." in name.parts or entry.is_dir():
                    raise Error(f"a worker sent a file that is named {entry.filename}")
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, open(path, "xb") as file:
                    while chunk := source.read(1 << 20):
                        file.write(chunk)
    except OSError as error:
        raise Error(f"{folder} cannot be written: {error.strerror}") from None
    # Exceptions of zipfile for flipped bits in sizes, names or compression methods.
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        struct.error,
    ) as error:
        raise Error(f"what a worker sent is damaged: {error}") from None


def digest(packed: bytes) -> str:
    """Returns a digest, by which a worker knows whether it already has a bundle."""
    return hashlib.sha256(packed).hexdigest()
