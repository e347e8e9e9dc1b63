"""Columns of Parquet files, as logs and tables of features need them."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from treerank.checks import shown
from treerank.clicks.counts import Sums, merged, summed
from treerank.clicks.session_checks import check_clicks
from treerank.datasets.parquet_files import ParquetFiles, as_floats, as_ids, is_number

#: Largest position, a bound on memory, and most keys, which with a click are numbers of 63 bits.
_MOST_POSITIONS, _MOST_KEYS = 10**6, 2**62


def parquet_columns(path: str | Path, names: Sequence[str]) -> list[np.ndarray]:
    """Return columns of a Parquet file, or of a folder of them, as arrays.

    Examples
    --------
    >>> from treerank import write_parquet
    >>> path = getfixture("tmp_path") / "clicks.parquet"
    >>> write_parquet(path, [[1], [2]], [0, 1], ["a", "b"], label="click", query="session")
    >>> parquet_columns(path, ["session", "click"])
    [array(['a', 'b'], dtype='<U1'), array([0., 1.])]
    """
    files = ParquetFiles.open(path, None, None, names)
    columns = zip(names, files.columns(names), strict=True)
    return [_array(path, name, column) for name, column in columns]


def parquet_counts(
    path: str | Path, keys: Sequence[str], click: str, batch_size: int
) -> tuple[list[np.ndarray], int, Sums]:
    """Return queries and documents, the number of positions, and the sums of impressions.

    With d documents and n positions, the key of document j of query i at position k + 1 is
    (i d + j) n + k.

    Examples
    --------
    >>> from treerank import write_parquet
    >>> path = getfixture("tmp_path") / "clicks.parquet"
    >>> columns = {"label": "click", "query": "query"}
    >>> write_parquet(path, pa.table({"d": [7, 8], "p": [1, 2]}), [0, 1], ["a", "a"], **columns)
    >>> ids, n_positions, sums = parquet_counts(path, ["query", "d", "p"], "click", 1)
    >>> ids, n_positions, sums[0]
    ([array(['a'], dtype=object), array([7, 8])], 2, array([0, 3]))
    """
    names = [*keys, click]
    files = ParquetFiles.open(path, None, None, names)
    ids, n_positions = _ids(files, keys, batch_size)
    n_keys = math.prod(map(len, ids), start=n_positions)
    if n_keys > _MOST_KEYS:
        raise ValueError(
            f"queries times documents times positions must be at most {_MOST_KEYS}; got {n_keys}."
        )
    total: Sums | None = None
    for table in files.batches(names, batch_size):
        query, document = (
            pc.index_in(_plain(table.column(name)), value_set=known).to_numpy().astype(np.int64)
            for name, known in zip(keys[:2], ids, strict=True)
        )
        place = as_floats(table.column(keys[2]), np.float64).astype(np.int64) - 1
        clicked = check_clicks(as_floats(table.column(click), np.float64))
        more = summed((query * len(ids[1]) + document) * n_positions + place, clicked)
        total = more if total is None else merged(total, more)
    assert total is not None
    known = [_ids_of(path, name, each) for name, each in zip(keys[:2], ids, strict=True)]
    return known, n_positions, total


def _ids(files: ParquetFiles, keys: Sequence[str], batch_size: int) -> tuple[list[pa.Array], int]:
    """Return the ids of two columns, sorted, and the largest position, which a third one holds."""
    found: list[list[pa.Array]] = [[], []]
    n_positions = 0
    for table in files.batches(keys, batch_size):
        query, document, place = (_complete(files, name, table.column(name)) for name in keys)
        n_positions = max(n_positions, _largest_position(place))
        for known, column in zip(found, (query, document), strict=True):
            known[:] = [pa.chunked_array([*known, column.unique()]).unique()]
    return [known.take(pc.sort_indices(known)) for (known,) in found], n_positions


def _complete(files: ParquetFiles, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column, without categories; refuse missing values."""
    if pc.any(column.is_null(nan_is_null=True)).as_py():
        raise ValueError(f"{next(iter(files.files))}, column {name!r}: must not be missing.")
    return _plain(column)


def _ids_of(path: str | Path, name: str, known: pa.Array) -> np.ndarray:
    """Return ids as numbers, or as objects, so that a text is in memory once."""
    ids = _array(path, name, pa.chunked_array([known]))
    return ids.astype(object) if ids.dtype.kind == "U" else ids


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in the place of categories."""
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _largest_position(column: pa.ChunkedArray) -> int:
    """Return the largest position; refuse what is none."""
    place = as_floats(column, np.float64)
    wrong = (place < 1) | (place != np.floor(place))
    if wrong.any():
        raise ValueError(f"position must be 1, 2, ...; got {shown(place[wrong][0].item())}.")
    if place.max() > _MOST_POSITIONS:
        raise ValueError(f"position must be at most {_MOST_POSITIONS}; got {place.max():g}.")
    return int(place.max())


def _array(path: str | Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers, or of ids; one that is missing is nan or None."""
    if is_number(column.type) or column.null_count:
        return _plain(column).to_numpy()
    return as_ids(str(path), name, column)
