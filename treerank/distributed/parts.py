"""Parts: documents of a worker, which are sent to it, or which it reads from files.

A part is a dict with the arguments ``X``, ``y``, ``qid`` and the weights of ``fit`` for some rows,
or a share of a file, whose ``read`` yields such dicts.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from treerank.datasets.formats import PARQUET, format_of, read_batches
from treerank.lazy import naming_the_extra

#: Arguments of ``fit`` by name, for some rows.
Arguments = dict[str, Any]


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


Part = Arguments | FilePart


def read_part(part: Part) -> Iterable[Arguments]:
    """Return the documents of a part, some at a time."""
    return [part] if isinstance(part, dict) else part.read()


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
