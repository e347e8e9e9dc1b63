"""Columns of Parquet files, as logs and tables of features need them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

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
    return [
        column.to_numpy() if is_number(column.type) else as_ids(str(path), name, column)
        for name, column in columns
    ]
