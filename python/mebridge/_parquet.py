"""Event files in Parquet, for analysis: one row per event, with lists of the properties of its particles."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _arrays, _records
from ._arrays import EventArrays
from ._library import Error

# Key of the file's metadata with the data that a Les Houches file has before its events.
_KEY = b"mebridge"
# Prefix of columns of further weights.
_WEIGHT = "weight_"
# Columns whose numbers must be finite.
_FINITE = ("weight", "px", "py", "pz", "energy", "mass")


def needed() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Error("Parquet files need pyarrow: pip install pyarrow") from None
    return pyarrow


def _table(pyarrow: Any, part: EventArrays) -> Any:
    columns = {name: pyarrow.array(np.ascontiguousarray(part.events[name])) for name, _ in _records.HEAD}
    offsets = pyarrow.array(np.concatenate([[0], np.cumsum(part.events["count"])]).astype(np.int32))
    for name in part.particles.dtype.names or ():
        values = pyarrow.array(np.ascontiguousarray(part.particles[name]))
        columns[name] = pyarrow.ListArray.from_arrays(offsets, values)
    for i, name in enumerate(part.weight_names):
        columns[f"{_WEIGHT}{name}"] = pyarrow.array(np.ascontiguousarray(part.weights[:, i]))
    return pyarrow.table(columns)


def write(path: pathlib.Path, head: EventArrays, parts: Iterable[EventArrays]) -> None:
    """Writes events, each part as a row group.

    Args:
        head: data common to all parts.
    """
    pyarrow = needed()
    stored = {
        "beams": head.beams,
        "densities": head.densities,
        "strategy": head.strategy,
        "processes": head.processes.tolist(),
        "weights": head.weight_names,
    }
    schema = _table(pyarrow, head).schema.with_metadata({_KEY: json.dumps(stored).encode()})
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in parts:
            writer.write_table(_table(pyarrow, part).replace_schema_metadata(schema.metadata))


def read(path: pathlib.Path) -> EventArrays:
    """Reads all events of a file written by :func:`write`."""
    pyarrow = needed()
    try:
        table = pyarrow.parquet.read_table(path).combine_chunks()
        stored = json.loads((table.schema.metadata or {})[_KEY])
        (first, second), (energy, other) = stored["beams"]
        densities = (int(stored["densities"][0]), int(stored["densities"][1]))
        processes = _arrays.processes([tuple(row) for row in stored["processes"]])
        names = tuple(map(str, stored["weights"]))
        columns = {name: _column(pyarrow, table, name) for name, _ in (*_records.HEAD, *_records.PARTICLE)}
        further = [_column(pyarrow, table, f"{_WEIGHT}{name}") for name in names]
    except (OSError, pyarrow.ArrowException, KeyError, IndexError, TypeError, ValueError) as error:
        raise Error(f"{path} is no Parquet file with events of mebridge: {error}") from None
    except MemoryError:
        raise Error(f"{path} has more events than memory") from None
    heads = np.zeros(len(table), _records.HEAD)
    for name, kind in _records.HEAD:
        heads[name] = _numbers(pyarrow, path, name, kind, columns[name], None)
    unknown = ~np.isin(heads["process_id"], processes["process_id"])
    if unknown.any():
        event = int(np.argmax(unknown))
        _arrays.refuse(path, event, f"'process_id' is {heads['process_id'][event]}, which is none of the processes")
    counts = _lengths(pyarrow, path, "pdg_id", columns["pdg_id"])
    particles = np.zeros(counts.sum(), _records.PARTICLE)
    for name, kind in _records.PARTICLE:
        differ = _lengths(pyarrow, path, name, columns[name]) != counts
        if differ.any():
            _arrays.refuse(path, int(differ.argmax()), f"'{name}' is of another number of particles than 'pdg_id'")
        particles[name] = _numbers(pyarrow, path, name, kind, columns[name].flatten(), counts)
    weights = np.zeros((len(table), len(names)))
    for i, (name, column) in enumerate(zip(names, further)):
        weights[:, i] = _numbers(pyarrow, path, f"{_WEIGHT}{name}", "", column, None)
    return EventArrays(
        _arrays.events(heads, counts),
        particles,
        processes,
        ((int(first), int(second)), (float(energy), float(other))),
        densities,
        int(stored["strategy"]),
        names,
        weights,
    )


def _column(pyarrow: Any, table: Any, name: str) -> Any:
    """Returns a column as one contiguous array."""
    column = table[name]
    return pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)


def _numbers(pyarrow: Any, path: pathlib.Path, name: str, kind: str, column: Any, counts: Any) -> Any:
    """Returns the numbers of a column, or of all its lists; only further weights may be null."""
    types = pyarrow.types
    if not (types.is_integer(column.type) or (kind != "<i4" and types.is_floating(column.type))):
        raise Error(f"{path}: the column '{name}' holds {column.type}, no {'integers' if kind == '<i4' else 'numbers'}")
    if column.null_count and kind:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        _arrays.refuse(path, _arrays.event_of(row, counts), f"'{name}' is missing (null)")
    values = column.to_numpy(zero_copy_only=False)
    if kind == "<i4":
        return _arrays.integers(path, name, values, counts)
    return _arrays.finite(path, name, values, counts) if name in _FINITE else values


def _lengths(pyarrow: Any, path: pathlib.Path, name: str, column: Any) -> Any:
    """Returns the lengths of a column's lists, one for each event."""
    types = pyarrow.types
    if not (types.is_list(column.type) or types.is_large_list(column.type)):
        raise Error(f"{path}: the column '{name}' holds {column.type}, no lists of the particles' numbers")
    if column.null_count:
        row = column.is_null().to_numpy(zero_copy_only=False).argmax()
        _arrays.refuse(path, int(row), f"'{name}' is missing (null)")
    return np.diff(column.offsets.to_numpy())
