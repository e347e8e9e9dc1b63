"""Label order: the documents of each query sorted by label.

In this order the less relevant partners of a document are one run of slots, over which loops
vectorize, and what all documents of a level share is computed once per level. Functions here move
scores from rows to slots, and sums over pairs from slots to rows.
"""

from typing import NamedTuple

import numpy as np

from treerank.documents.queries import QueryGroups
from treerank.numerics.compiling import njit


class LabelOrder(NamedTuple):
    """Slots of documents: indexes of rows sorted by query, then by label, the lowest first.

    There may be many millions, so numbers of 32 bits hold them; engines count rows likewise.

    Attributes
    ----------
    row : ndarray of shape (n_documents,)
        The caller's row at each slot.
    indptr : ndarray of shape (n_queries + 1,)
        Query ``q`` owns the slots ``indptr[q]`` to ``indptr[q + 1]``.
    level_start : ndarray of shape (n_levels + 1,)
        First slot of each level, counted through all queries; a level is the documents of a query
        with one label.
    low, high : ndarray of shape (n_documents,)
        Partners less relevant than a slot: slots ``low`` to ``high``, counted from the first
        slot of the query.
    """

    row: np.ndarray
    indptr: np.ndarray
    level_start: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def from_labels(cls, y: np.ndarray, groups: QueryGroups, *, adjacent: bool) -> "LabelOrder":
        """Sort the documents; ``adjacent`` makes only the next lower level partners."""
        query = np.repeat(np.arange(groups.n_queries), groups.sizes)
        labels = groups.sorted(y)
        inner = np.lexsort((labels, query))  # stable: equal labels stay in the caller's order
        row, labels = groups.sorted_rows(inner).astype(np.int32), labels[inner]
        is_first = np.ones(len(row), dtype=bool)
        is_first[1:] = (labels[1:] != labels[:-1]) | (query[1:] != query[:-1])
        level = np.cumsum(is_first) - 1
        level_start = np.append(np.flatnonzero(is_first), len(row))
        first = groups.indptr[:-1].repeat(groups.sizes)
        high = (level_start[level] - first).astype(np.int32)
        low = np.zeros(len(row), dtype=np.int32)
        if adjacent:
            low[:] = np.where(high > 0, level_start[np.maximum(level - 1, 0)] - first, 0)
        return cls(row, groups.indptr, level_start, low, high)

    def n_pairs(self) -> np.ndarray:
        """Return the number of pairs of each query."""
        counts = (self.high - self.low).astype(np.float64)
        return np.add.reduceat(np.append(counts, 0), self.indptr[:-1]) * (np.diff(self.indptr) > 0)


class Weights(NamedTuple):
    """Weights that scores do not change, per slot.

    Attributes
    ----------
    gain : ndarray of shape (n_documents,)
        Gain of the label, as the pair weight defines it.
    document : ndarray of shape (n_documents,)
        Weight of the document.
    """

    gain: np.ndarray
    document: np.ndarray


class Sums(NamedTuple):
    """Sums over the pairs of each slot or query, before they are multiplied by factors of queries.

    Attributes
    ----------
    gradient, hessian : ndarray of shape (n_documents,)
        By slot.
    total_weight : ndarray of shape (n_queries,)
        Sum of the pair weights of each query.
    values : ndarray of shape (n_queries,) or None
        Sum of the losses of each query, if the kernel computes it.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    total_weight: np.ndarray
    values: np.ndarray | None = None


def place_scores(
    first: int, last: int, scores: np.ndarray, labels: LabelOrder, sigma: float, x: np.ndarray
) -> None:
    """Fill ``x`` with sigma times the score of each slot of the queries ``first`` to ``last``."""
    slots = slice(labels.indptr[first], labels.indptr[last])
    scores.take(labels.row[slots], out=x[slots], mode="clip")  # without a buffer, unlike "raise"
    if sigma != 1:
        x[slots] *= sigma


@njit(nogil=True)
def scatter(
    first: int,
    last: int,
    g: np.ndarray,
    h: np.ndarray,
    row: np.ndarray,
    indptr: np.ndarray,
    gradient_factor: np.ndarray,
    hessian_factor: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
) -> None:
    """Write the derivatives of each slot to its row, times the factors of its query.

    ``g`` and ``h`` are by slot, ``gradient`` and ``hessian`` by row; the slot ``t`` has the row
    ``row[t]``. The queries are ``first`` to ``last``.
    """
    for q in range(first, last):
        for t in range(np.uint64(indptr[q]), np.uint64(indptr[q + 1])):
            to = np.uint64(row[t])  # unsigned: not counted from the end
            gradient[to] = gradient_factor[q] * g[t]
            hessian[to] = hessian_factor[q] * h[t]
