"""Columns of Parquet files, as logs and tables of features need them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from treerank.clicks.log import check_clicks
from treerank.datasets.parquet_files import ParquetFiles, as_floats, as_ids, is_number


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
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return query and document, position, impressions and clicks, summed by all three keys.

    Examples
    --------
    >>> from treerank import write_parquet
    >>> path = getfixture("tmp_path") / "clicks.parquet"
    >>> columns = {"label": "click", "query": "query"}
    >>> write_parquet(path, pa.table({"d": [7, 7], "p": [1, 1]}), [0, 1], ["a", "a"], **columns)
    >>> parquet_counts(path, ["query", "d", "p"], "click", 1)[1:]
    (array([1.]), array([2.]), array([1.]))
    """
    names = [*keys, click]
    files = ParquetFiles.open(path, None, None, names)
    total: pa.Table | None = None
    for table in files.batches(names, batch_size):
        clicks = as_floats(table.column(click), np.float64)
        check_clicks(clicks)
        columns = {f"key{i}": table.column(name) for i, name in enumerate(keys)}
        for column, name in zip(columns.values(), keys, strict=True):
            if column.null_count:
                raise ValueError(f"{path}, column {name!r}: must not be missing.")
        summed = pa.table(columns | {"shown": np.ones(len(table)), "clicked": clicks})
        total = (
            _summed(summed)
            if total is None
            else _summed(pa.concat_tables([total, _summed(summed)]))
        )
    assert total is not None
    ids = [_array(path, name, total.column(f"key{i}")) for i, name in enumerate(keys)]
    shown, clicked = (total.column(name).to_numpy() for name in ("shown", "clicked"))
    return ids[:2], np.asarray(ids[2], dtype=np.float64), shown, clicked


def _summed(table: pa.Table) -> pa.Table:
    """Return the sums of impressions and clicks by all keys."""
    keys = [name for name in table.column_names if name.startswith("key")]
    sums = table.group_by(keys).aggregate([("shown", "sum"), ("clicked", "sum")])
    return sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names]).select(
        table.column_names
    )


def _array(path: str | Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers, or of ids."""
    return column.to_numpy() if is_number(column.type) else as_ids(str(path), name, column)
