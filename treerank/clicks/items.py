"""Items: the documents of queries that a log shows, and where to find them in other tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.checks import quote
from treerank.documents.features import check_ids
from treerank.documents.queries import QueryGroups


@dataclass(frozen=True, eq=False)
class Items:
    """Documents of queries, each once.

    Attributes
    ----------
    query, document : ndarray of shape (n_items,)
        Query and document of each item.

    Examples
    --------
    >>> items = Items(np.array(["q", "q"]), np.array(["a", "b"]))
    >>> items.rows_of(Items(np.array(["q", "p"]), np.array(["b", "b"])))
    array([ 1, -1])
    """

    query: np.ndarray
    document: np.ndarray

    @classmethod
    def of_rows(cls, query: np.ndarray, document: np.ndarray) -> tuple[Self, np.ndarray]:
        """Return the items of the rows of a table, each once and in order, and that of each row."""
        codes = QueryGroups.from_qid(query).codes, QueryGroups.from_qid(document).codes
        pair = codes[0] * (codes[1].max() + 1) + codes[1]
        first, item = np.unique(pair, return_index=True, return_inverse=True)[1:]
        return cls(query[first], document[first]), item

    def checked(self, name: str) -> Self:
        """Return the items with ids as arrays; refuse those of a user that are there twice."""
        query = check_ids(f"{name}.query", self.query)
        found = type(self)(query, check_ids(f"{name}.document", self.document, len(query)))
        if len(set(found.pairs())) < len(found):
            raise ValueError(f"{name} must have each document of a query once; got more.")
        return found

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.query)

    def rows_of(self, others: "Items") -> np.ndarray:
        """Return the row of each of other items among these; -1 where there is none."""
        if others is self:
            return np.arange(len(self))
        place = {pair: row for row, pair in enumerate(self.pairs())}
        return np.array([place.get(pair, -1) for pair in others.pairs()], dtype=np.int64)

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Return the items as tuples (query, document)."""
        return zip(self.query.tolist(), self.document.tolist(), strict=True)

    def taking(self, rows: np.ndarray | slice) -> Self:
        """Return the items of some rows."""
        return type(self)(self.query[rows], self.document[rows])

    def quote(self, row: int) -> str:
        """Return the text of an item for a message."""
        return quote(next(self.taking(slice(row, row + 1)).pairs()))
