"""Items: pairs of a query and a document, and their rows in other tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.checks import quote, refuse_other_order
from treerank.display.results import Shown
from treerank.display.tables import Table, column_table, counted
from treerank.documents.ids import joinable_ids
from treerank.documents.queries import QueryGroups


@dataclass(frozen=True, eq=False, repr=False)
class Items(Shown):
    """Unique pairs of a query and a document.

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

    def __post_init__(self) -> None:
        """Refuse columns of pandas whose index has the rows in two orders."""
        refuse_other_order({"query": self.query, "document": self.document})

    @classmethod
    def of_rows(cls, query: np.ndarray, document: np.ndarray) -> tuple[Self, np.ndarray]:
        """Return ``(items, item)``: the unique, sorted items, and the item number of each row."""
        codes = QueryGroups.from_qid(query).codes, QueryGroups.from_qid(document).codes
        pair = codes[0] * (codes[1].max() + 1) + codes[1]
        first, item = np.unique(pair, return_index=True, return_inverse=True)[1:]
        return cls(query[first], document[first]), item

    def checked(self, name: str) -> Self:
        """Return the items with ids as arrays; refuse duplicates.

        ``name`` is the name of the argument in messages.
        """
        query = joinable_ids(f"{name}.query", self.query)
        items = type(self)(query, joinable_ids(f"{name}.document", self.document, len(query)))
        if len(set(items.pairs())) < len(items):
            raise ValueError(f"{name} must have each document of a query once; got duplicates.")
        return items

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.query)

    def _shown(self) -> Table:
        columns = {"query": self.query, "document": self.document}
        return column_table(f"{counted(len(self), 'item')}.", columns)

    def rows_of(self, items: "Items") -> np.ndarray:
        """Return, for each of the given items, its row number in these items, or -1."""
        if items is self:
            return np.arange(len(self))
        row_of = {pair: row for row, pair in enumerate(self.pairs())}
        return np.array([row_of.get(pair, -1) for pair in items.pairs()], dtype=np.int64)

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Return an iterator of the items as tuples (query, document)."""
        return zip(self.query.tolist(), self.document.tolist(), strict=True)

    def taking(self, rows: np.ndarray | slice) -> Self:
        """Return the items of some rows."""
        return type(self)(self.query[rows], self.document[rows])

    def quote(self, row: int) -> str:
        """Return the text of an item for a message."""
        return quote(next(self.taking(slice(row, row + 1)).pairs()))
