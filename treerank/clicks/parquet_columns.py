"""Columns of Parquet files, as logs and tables of features need them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import types

from treerank.datasets.parquet_files import ParquetFiles, as_ids, is_number


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
    return [_array_of(str(path), name, column) for name, column in columns]


def _array_of(place: str, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers, or of ids; one that is missing is nan or None."""
    if not is_number(column.type) and not column.null_count:
        return as_ids(place, name, column)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_numpy()
