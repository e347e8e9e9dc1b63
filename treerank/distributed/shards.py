"""Shards: the documents of each worker, in whole queries."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups


@dataclass(frozen=True, eq=False)
class Shard:
    """The documents of one worker.

    Attributes
    ----------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels.
    qid : ndarray of shape (n_documents,)
        Number of the query of each document.
    weights : dict from str to ndarray of shape (n_documents,) or None
        Weights by the name of the argument of ``fit``.
    """

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    weights: dict[str, Any]


def deal_queries(groups: QueryGroups, n_workers: int) -> list[np.ndarray]:
    """Return the rows of each worker: whole queries, with about the same number of documents.

    No more workers get rows than there are queries. The largest query goes first, and each one to
    the worker with the fewest documents.

    Examples
    --------
    >>> groups = QueryGroups.from_qid(["a", "b", "b", "b", "c", "c"])
    >>> [rows.tolist() for rows in deal_queries(groups, 2)]
    [[1, 2, 3], [0, 4, 5]]
    """
    n_workers = min(n_workers, groups.n_queries)
    worker = np.empty(groups.n_queries, dtype=np.int64)
    loads = [(0, number) for number in range(n_workers)]
    for query in np.argsort(-groups.sizes, kind="stable"):
        load, number = heapq.heappop(loads)
        worker[query] = number
        heapq.heappush(loads, (load + int(groups.sizes[query]), number))
    worker_of_row = worker[groups.codes]
    return [np.flatnonzero(worker_of_row == number) for number in range(n_workers)]
