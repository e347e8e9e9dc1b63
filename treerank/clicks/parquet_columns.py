"""Columns of Parquet files, as logs and tables of features need them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from treerank.clicks.counts import Sums, merged, summed
from treerank.clicks.parquet_ids import KnownIds, array_of, finite
from treerank.clicks.session_checks import check_clicks
from treerank.datasets.parquet_files import ParquetFiles, as_floats

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
    return [array_of(str(path), name, column) for name, column in columns]


def parquet_counts(
    path: str | Path, keys: Sequence[str], click: str, batch_size: int
) -> tuple[KnownIds, int, Sums]:
    """Return the ids, the number of positions, and the sums of impressions.

    With n positions, the key of a pair p of a query and a document at position k + 1 is p n + k.

    Examples
    --------
    >>> from treerank import write_parquet
    >>> path = getfixture("tmp_path") / "clicks.parquet"
    >>> columns = {"label": "click", "query": "query"}
    >>> write_parquet(path, pa.table({"d": [7, 8], "p": [1, 2]}), [0, 1], ["a", "a"], **columns)
    >>> ids, n_positions, sums = parquet_counts(path, ["query", "d", "p"], "click", 1)
    >>> ids.n_pairs, n_positions, sums[0]
    (2, 2, array([0, 3]))
    """
    names = [*keys, click]
    files = ParquetFiles.open(path, None, None, names)
    n_positions, first_row = 1, 0

    def with_positions() -> Iterator[pa.Table]:
        nonlocal n_positions, first_row
        for table in files.batches(keys, batch_size):
            n_positions = max(n_positions, _largest_position(table.column(keys[2]), first_row))
            first_row += len(table)
            yield table

    ids = KnownIds.of(with_positions(), str(path), keys[:2])
    if ids.n_pairs * n_positions > _MOST_KEYS:
        raise ValueError(
            f"queries times documents times positions must be at most {_MOST_KEYS}; got "
            f"{ids.n_pairs * n_positions}."
        )
    total: Sums | None = None
    first_row = 0
    for table in files.batches(names, batch_size):
        place = as_floats(table.column(keys[2]), np.float64).astype(np.int64) - 1
        clicked = check_clicks(finite("click", table.column(click), first_row), first_row)
        more = summed(ids.pairs(table) * n_positions + place, clicked)
        total = more if total is None else merged(total, more)
        first_row += len(table)
    assert total is not None
    return ids, n_positions, total


def _largest_position(column: pa.ChunkedArray, first_row: int) -> int:
    """Return the largest position; refuse what is none. The first one is in a row of a log."""
    place = finite("position", column, first_row)
    wrong = (place < 1) | (place != np.floor(place))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"position must be 1, 2, ...; got {float(place[row])!r} in row {first_row + row}."
        )
    if place.max() > _MOST_POSITIONS:
        raise ValueError(f"position must be at most {_MOST_POSITIONS}; got {place.max():g}.")
    return int(place.max())
