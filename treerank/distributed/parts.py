"""Parts: where a worker finds documents that are not sent to it: in files.

A part is a dict with the arguments ``X``, ``y``, ``qid`` and the weights of ``fit`` for some rows,
or one of the classes here, whose ``read`` yields such dicts.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from treerank.datasets.formats import PARQUET, format_of, read_batches
from treerank.lazy import naming_the_extra

#: Arguments of ``fit`` by name, for some rows.
Arguments = dict[str, Any]


@dataclass(frozen=True)
class StoredPart:
    """Some rows of arrays that the process which asks for the fit has written to files.

    Attributes
    ----------
    folder : Path
        Holds a file for each argument of ``fit``.
    names : tuple of str
        Names of the arguments.
    rows : slice
        The rows.
    """

    folder: Path
    names: tuple[str, ...]
    rows: slice

    def read(self) -> Iterator[Arguments]:
        """Yield the rows, which are read from the files when they are needed."""
        arrays = {name: np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in self.names}
        yield {name: array[self.rows] for name, array in arrays.items()}


@dataclass(frozen=True)
class FilePart:
    """A share of a data file, or of a folder of Parquet files.

    Of a Parquet file, every ``of``-th row group is read. Any other file is read as a whole, but
    only every ``of``-th batch of rows is kept.

    Attributes
    ----------
    path : Path
        File or folder.
    y, qid : str or None
        Columns of a Parquet file; ``None`` is ``label`` and ``query``.
    number, of : int
        Number of the share, from 0, and number of shares.
    """

    path: Path
    y: str | None
    qid: str | None
    number: int
    of: int

    def read(self) -> Iterator[Arguments]:
        """Yield the rows, some at a time."""
        for batch in self._batches():
            yield {"X": batch.X, "y": batch.y, "qid": batch.qid}

    def _batches(self):
        if format_of(self.path) is not PARQUET:
            batches = read_batches(self.path, label=self.y, query=self.qid)
            return islice(batches, self.number, None, self.of)
        with naming_the_extra("read_parquet"):
            from treerank.datasets.parquet import parquet_batches
        label, query = self.y or "label", self.qid or "query"
        share = self.number, self.of
        return parquet_batches(self.path, label=label, query=query, share=share)


Part = Arguments | StoredPart | FilePart


def read_part(part: Part) -> Iterable[Arguments]:
    """Return the documents of a part, some at a time."""
    return [part] if isinstance(part, dict) else part.read()


def stored_parts(
    folder: Path, columns: Mapping[str, np.ndarray], n_workers: int
) -> list[list[Part]]:
    """Write arrays to a folder, and return the parts of each worker: rows next to each other."""
    for name, array in columns.items():
        np.save(folder / f"{name}.npy", array)
    names = tuple(columns)
    return [[StoredPart(folder, names, rows)] for rows in blocks(len(columns["y"]), n_workers)]


def blocks(n_rows: int, n_blocks: int) -> list[slice]:
    """Return so many slices of about the same length that hold all rows.

    Examples
    --------
    >>> blocks(5, 2)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    size = math.ceil(n_rows / n_blocks)
    starts = [min(number * size, n_rows) for number in range(n_blocks + 1)]
    return [slice(start, stop) for start, stop in pairwise(starts)]


def file_parts(path: str | Path, y: Any, qid: Any, n_workers: int) -> list[list[Part]]:
    """Return the share of each worker in a data file."""
    return [[FilePart(Path(path), y, qid, number, n_workers)] for number in range(n_workers)]
