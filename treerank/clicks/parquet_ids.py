"""Ids in Parquet files: the items of a log that is read batch by batch, and their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from treerank.clicks.items import Items
from treerank.datasets.parquet_files import as_floats, as_ids, is_number, kind_name


@dataclass(frozen=True, eq=False)
class KnownIds:
    """Queries and documents of a log. Document j of query i of d documents is the pair i d + j.

    Attributes
    ----------
    place : str
        Path of the log.
    names : sequence of str
        Columns of the query and the document.
    queries, documents : pyarrow.Array
        Ids, each once and sorted.

    Examples
    --------
    >>> table = pa.table({"q": ["b", "a", "b"], "d": [7, 7, 9]})
    >>> ids = KnownIds.of([table], "clicks.parquet", ["q", "d"])
    >>> ids.pairs(table), ids.items(np.array([0, 3])).shown(1)
    (array([2, 0, 3]), "('b', 9)")
    """

    place: str
    names: Sequence[str]
    queries: pa.Array
    documents: pa.Array

    @classmethod
    def of(cls, tables: Iterable[pa.Table], place: str, names: Sequence[str]) -> Self:
        """Collect the ids of tables; refuse missing ones."""
        found: list[list[pa.Array]] = [[] for _ in names]
        for table in tables:
            for known, name in zip(found, names, strict=True):
                column = complete(place, name, table.column(name))
                known[:] = [pa.chunked_array([*known, column.unique()]).unique()]
        return cls(place, names, *(known.take(pc.sort_indices(known)) for (known,) in found))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a query and a document."""
        return len(self.queries) * len(self.documents)

    def pairs(self, table: pa.Table) -> np.ndarray:
        """Return the pair of each row."""
        query, document = (
            pc.index_in(plain(table.column(name)), value_set=known).to_numpy().astype(np.int64)
            for name, known in zip(self.names, (self.queries, self.documents), strict=True)
        )
        return query * len(self.documents) + document

    def items(self, pairs: np.ndarray) -> Items:
        """Return pairs as items."""
        query, document = np.divmod(pairs, len(self.documents))
        columns = zip(self.names, (self.queries, self.documents), (query, document), strict=True)
        return Items(*(self._ids(name, known)[rows] for name, known, rows in columns))

    def _ids(self, name: str, known: pa.Array) -> np.ndarray:
        """Return ids as numbers, or as objects, so that a text is in memory once."""
        ids = array_of(self.place, name, pa.chunked_array([known]))
        return ids.astype(object) if ids.dtype.kind == "U" else ids


def complete(place: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column, without categories; refuse missing values.

    Examples
    --------
    >>> complete("clicks.parquet", "query", pa.chunked_array([["a", None]]))
    Traceback (most recent call last):
    ...
    ValueError: clicks.parquet, column 'query': must not be missing.
    """
    if pc.any(column.is_null(nan_is_null=True)).as_py():
        raise ValueError(f"{place}, column {name!r}: must not be missing.")
    return plain(column)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in the place of categories.

    Examples
    --------
    >>> plain(pa.chunked_array([["a"]]).dictionary_encode()).type
    DataType(string)
    """
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def array_of(place: str, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers, or of ids; one that is missing is nan or None.

    Examples
    --------
    >>> array_of("clicks.parquet", "query", pa.chunked_array([["a", None]]))
    array(['a', None], dtype=object)
    """
    if is_number(column.type) or column.null_count:
        return plain(column).to_numpy()
    return as_ids(place, name, column)


def finite(name: str, column: pa.ChunkedArray, first_row: int) -> np.ndarray:
    """Return numbers, the first of which is in a row of a log; refuse those that are not finite.

    Examples
    --------
    >>> finite("position", pa.chunked_array([[1, None]]), first_row=5)
    Traceback (most recent call last):
    ...
    ValueError: position must be finite; got nan in row 6.
    """
    if not is_number(column.type):
        raise TypeError(f"{name} must be numbers; got {kind_name(column.type)}.")
    numbers = as_floats(column, np.float64)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite; got {numbers[row]} in row {first_row + row}.")
    return numbers
