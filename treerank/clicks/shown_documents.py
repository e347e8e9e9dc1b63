"""Shown documents: what rows of clicks at positions tell of each document."""

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.items import Items
from treerank.inputs.grouping import QueryGroups


def shown_documents(
    features: np.ndarray,
    groups: QueryGroups,
    position: np.ndarray,
    clicked: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, ClickCounts]:
    """Return a row for each document, and how often each was shown and clicked where.

    Rows of one query with equal features are one document, as no ranker tells them apart.

    Parameters
    ----------
    features : ndarray of shape (n_rows,)
        A number for the features of each row, see :func:`treerank.inputs.canonical.row_hashes`.
    groups : QueryGroups
        Queries of the rows.
    position : ndarray of int of shape (n_rows,)
        Position, from 1, at which each row was shown.
    clicked : ndarray of shape (n_rows,)
        Whether it was clicked, 0 or 1.
    weight : ndarray of shape (n_rows,), default=None
        A row of weight 2 counts as two.

    Examples
    --------
    >>> queries, document = QueryGroups.from_qid(["q"] * 3), np.array([7, 5, 7])
    >>> position, clicked = np.array([1, 2, 2]), np.array([0.0, 1.0, 1.0])
    >>> rows, counts = shown_documents(document, queries, position, clicked)
    >>> of = document[rows][counts.item]
    >>> sorted(zip(of.tolist(), counts.slot.tolist(), counts.clicked.tolist()))
    [(5, 1, 1.0), (7, 0, 0.0), (7, 1, 1.0)]
    """
    query = groups.codes
    order = np.lexsort((features, query))
    changes = [
        np.diff(column[order], prepend=column[order[0]]) != 0 for column in (query, features)
    ]
    is_first = changes[0] | changes[1]
    is_first[0] = True
    item = np.empty(len(order), dtype=np.int64)
    item[order] = np.cumsum(is_first) - 1
    first = order[is_first]
    items, n_slots = Items(query[first], np.arange(len(first))), int(position.max())
    key, count = np.unique(item * n_slots + position - 1, return_inverse=True)
    times = np.ones(len(item)) if weight is None else weight
    shown, clicked = (np.bincount(count, each) for each in (times, times * clicked))
    narrow = (key // n_slots).astype(np.int32), (key % n_slots).astype(np.int32)
    return first, ClickCounts(*narrow, shown, clicked, items, n_slots)
