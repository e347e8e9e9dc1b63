"""Mini-batches: the rows of one training step, and the objective of these rows.

A batch holds whole queries if they fit. A query with more documents than a batch is cut at random
into pieces in every epoch, and pairs are formed within pieces. So an objective in which all
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
        Row numbers; rows of one query are adjacent.
    objective : Objective
        Objective whose row ``i`` is ``rows[i]``.
    """

    rows: np.ndarray
    objective: Objective


def query_batches(
    objective: Objective, batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield batches of whole queries, or of pieces of large queries; each row is in one batch.

    A batch has at most ``batch_size`` rows; ``rng`` draws the order of queries and how large ones
    are cut.

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
    """Yield the rows of each batch, at most ``batch_size``, with queries in random order.

    A query of more rows is shuffled and cut into pieces of about equal size.
    """
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
    """Return the objective of ``rows``, among which the rows of one query are adjacent."""
    code = objective.groups.codes[rows]
    start = np.flatnonzero(np.append(True, code[1:] != code[:-1])[: len(rows)])
    return objective.taking(rows, QueryGroups(None, np.append(start, len(rows))))


def _ranges(start, size):
    """Concatenate the ranges that begin at ``start`` and have ``size`` numbers."""
    return np.arange(size.sum()) + np.repeat(start - (np.cumsum(size) - size), size)
