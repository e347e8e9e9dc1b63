"""Parts: documents of a worker, which are sent to it, or which it reads from files.

A part is a dict with the arguments ``X``, ``y``, ``qid`` and the weights of ``fit`` for some rows,
or a function that yields such dicts.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from treerank.datasets.formats import PARQUET, format_of, read_batches

#: Arguments of ``fit`` by name, for some rows.
Arguments = dict[str, Any]
Part = Arguments | Callable[[], Iterable[Arguments]]


def blocks(columns: Mapping[str, Any], n_blocks: int) -> list[Part]:
    """Return so many parts of about the same length that hold all rows of columns in memory.

    Examples
    --------
    >>> blocks({"y": [1, 0, 2, 0, 1]}, 2)
    [{'y': [1, 0, 2]}, {'y': [0, 1]}]
    """
    size = math.ceil(len(columns["y"]) / n_blocks)
    slices = [slice(number * size, (number + 1) * size) for number in range(n_blocks)]
    return [{name: column[rows] for name, column in columns.items()} for rows in slices]


def read_file_share(
    path: Path, y: str | None, qid: str | None, number: int, of: int
) -> Iterator[Arguments]:
    """Yield the rows of a share of a data file, or of a folder of Parquet files, some at a time.

    Of a Parquet file, every ``of``-th row group is read. Any other file is read as a whole, but
    only every ``of``-th batch of rows is kept. Shares have numbers from 0.
    """
    if format_of(path) is PARQUET:
        from treerank.datasets.parquet import parquet_batches

        label, query = y or "label", qid or "query"
        share = number, of
        batches: Iterable[Any] = parquet_batches(path, label=label, query=query, share=share)
    else:
        batches = islice(read_batches(path, label=y, query=qid), number, None, of)
    for batch in batches:
        yield {"X": batch.X, "y": batch.y, "qid": batch.qid}
