"""Shown documents: what rows of clicks at positions tell of each document."""

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.items import Items
from treerank.inputs.canonical import row_hashes
from treerank.rankers.training_set import TrainingSet


def shown_documents(data: TrainingSet) -> tuple[np.ndarray, ClickCounts]:
    """Return a row of ``data.X`` for each document, and how often it was shown and clicked where.

    Rows of one query with equal features are one document, as no ranker tells them apart. A row of
    weight 2 counts as two.

    Examples
    --------
    >>> from treerank.rankers.training_set import training_set
    >>> X = np.array([[7.0], [5.0], [7.0]])
    >>> data = training_set(X, np.array([0.0, 1.0, 1.0]), ["q"] * 3, position=[1, 2, 2])
    >>> rows, counts = shown_documents(data)
    >>> document = X[rows][counts.item].ravel()
    >>> sorted(zip(document.tolist(), counts.slot.tolist(), counts.clicked.tolist()))
    [(5.0, 1, 1.0), (7.0, 0, 0.0), (7.0, 1, 1.0)]
    """
    assert data.position is not None
    query, features = data.groups.codes, row_hashes(data.X)[data.rows]
    order = np.lexsort((features, query))
    changes = [
        np.diff(column[order], prepend=column[order[0]]) != 0 for column in (query, features)
    ]
    is_first = changes[0] | changes[1]
    is_first[0] = True
    item = np.empty(len(order), dtype=np.int64)
    item[order] = np.cumsum(is_first) - 1
    first = order[is_first]
    items, n_slots = Items(query[first], np.arange(len(first))), int(data.position.max())
    key, count = np.unique(item * n_slots + data.position - 1, return_inverse=True)
    times = np.ones(len(item)) if data.sample_weight is None else data.sample_weight
    shown, clicked = (np.bincount(count, weight) for weight in (times, times * data.y))
    narrow = (key // n_slots).astype(np.int32), (key % n_slots).astype(np.int32)
    return data.rows[first], ClickCounts(*narrow, shown, clicked, items, n_slots)
