"""Batches: the rows that one step of training uses, and the objective of those rows alone.

A batch holds whole queries where they fit. A query with more documents than a batch is cut into
pieces at random in every epoch, and the pairs within a piece count. So an objective in which all
documents are one query trains on pairs across queries.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from treerank.documents.queries import QueryGroups
from treerank.objectives.base import Objective, as_objective


class Batch(NamedTuple):
    """Some rows, and their objective.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Numbers of the rows; rows of one query stand next to each other.
    objective : Objective
        Objective whose row ``i`` is ``rows[i]``.
    """

    rows: np.ndarray
    objective: Objective


def query_batches(
    objective: Objective, batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield batches of whole queries, or of pieces of large queries; each row is in one batch.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0, 1, 0, 1], ["a", "a", "b", "b", "b"])
    >>> batches = query_batches(objective, 3, np.random.default_rng(0))
    >>> [batch.rows.tolist() for batch in batches]
    [[0, 1], [2, 3, 4]]
    """
    for rows in deal(as_objective(objective).groups, batch_size, rng):
        yield Batch(rows, taken(objective, rows))


def deal(groups: QueryGroups, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the rows of batches of at most ``batch_size``, queries and pieces in random order."""
    n_pieces = -(-groups.sizes // batch_size)
    order = groups.order.copy()
    for q in np.flatnonzero(n_pieces > 1):
        rng.shuffle(order[groups.indptr[q] : groups.indptr[q + 1]])
    query = np.repeat(np.arange(groups.n_queries), n_pieces)
    piece = np.arange(len(query)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    start = groups.indptr[query] + groups.sizes[query] * piece // n_pieces[query]
    stop = groups.indptr[query] + groups.sizes[query] * (piece + 1) // n_pieces[query]
    turn = rng.permutation(len(query))
    start, size = start[turn], (stop - start)[turn]
    total = np.cumsum(size)
    first = 0
    while first < len(turn):
        filled = total[first] - size[first] + batch_size
        last = max(first + 1, int(np.searchsorted(total, filled, side="right")))
        yield order[_ranges(start[first:last], size[first:last])]
        first = last


def taken(objective: Objective, rows: np.ndarray) -> Objective:
    """Return the objective of some rows, those of one query next to each other."""
    code = objective.groups.codes[rows]
    start = np.flatnonzero(np.append(True, code[1:] != code[:-1])[: len(rows)])
    return objective.taking(rows, QueryGroups(None, np.append(start, len(rows))))


def _ranges(start, size):
    """Concatenate the ranges that begin at ``start`` and have ``size`` numbers."""
    return np.arange(size.sum()) + np.repeat(start - (np.cumsum(size) - size), size)
