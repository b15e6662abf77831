"""Event files in Parquet, for analysis: a row for each event, with lists of what its particles have."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _arrays, _records
from ._arrays import EventArrays
from ._library import Error

# Of the file's metadata, with what a Les Houches file says before its events.
_KEY = b"mebridge"
# Columns of further weights.
_WEIGHT = "weight_"


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
        head: what is the same for all parts.
    """
    pyarrow = needed()
    said = {
        "beams": head.beams,
        "densities": head.densities,
        "strategy": head.strategy,
        "processes": head.processes.tolist(),
        "weights": head.weight_names,
    }
    schema = _table(pyarrow, head).schema.with_metadata({_KEY: json.dumps(said).encode()})
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in parts:
            writer.write_table(_table(pyarrow, part).replace_schema_metadata(schema.metadata))


def read(path: pathlib.Path) -> EventArrays:
    """All events of a file that :func:`write` wrote."""
    pyarrow = needed()
    try:
        table = pyarrow.parquet.read_table(path).combine_chunks()
        said = json.loads((table.schema.metadata or {})[_KEY])
    except (OSError, pyarrow.ArrowException, KeyError, ValueError) as error:
        raise Error(f"{path} is no Parquet file with events of mebridge: {error}") from None
    heads = np.zeros(len(table), _records.HEAD)
    for name, _ in _records.HEAD:
        heads[name] = table[name].to_numpy()
    lists = {name: table[name].combine_chunks() for name, _ in _records.PARTICLE}
    offsets = _whole(pyarrow, lists["pdg_id"]).offsets.to_numpy()
    particles = np.zeros(offsets[-1] - offsets[0], _records.PARTICLE)
    for name, column in lists.items():
        particles[name] = _whole(pyarrow, column).flatten().to_numpy()
    names = tuple(said["weights"])
    weights = np.zeros((len(table), len(names)))
    for i, name in enumerate(names):
        weights[:, i] = table[f"{_WEIGHT}{name}"].to_numpy()
    (first, second), energies = said["beams"]
    return EventArrays(
        _arrays.events(heads, np.diff(offsets)),
        particles,
        _arrays.processes([tuple(row) for row in said["processes"]]),
        ((first, second), (energies[0], energies[1])),
        (said["densities"][0], said["densities"][1]),
        said["strategy"],
        names,
        weights,
    )


def _whole(pyarrow: Any, column: Any) -> Any:
    """A column in one piece."""
    if not isinstance(column, pyarrow.ChunkedArray):
        return column
    return pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
