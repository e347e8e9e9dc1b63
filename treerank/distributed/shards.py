"""Shards: the documents of each worker, in whole queries, however the rows were spread before."""

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from treerank.distributed.parts import Arguments
from treerank.team import Table, current_team

#: Queries are dealt in so many groups, by their hash: mostly each group is one query.
_N_GROUPS = 2**16
#: Rows that are copied at a time.
_ROWS_AT_ONCE = 2**14


def gather_queries(parts: Sequence[Arguments]) -> Arguments:
    """Return the documents of whole queries; every worker of the team passes what it has.

    A part has the arguments of ``fit`` as arrays, with hashes of the query ids. The parts of all
    workers have the same columns, and every worker has a part, maybe without rows.
    """
    team = current_team()
    own = [np.bincount(_groups_of(part["qid"]), minlength=_N_GROUPS) for part in parts]
    sizes = team.total(np.sum(own, axis=0))
    worker = deal(sizes, team.size)
    n_rows = int(sizes[worker == team.rank].sum())
    whole = {
        name: np.empty((n_rows, *like.shape[1:]), like.dtype if name in ("X", "qid") else float)
        for name, like in parts[0].items()
    }

    def outgoing(rank: int) -> Iterator[Table]:
        is_sent = worker == rank
        for part in parts:
            for start in range(0, len(part["y"]), _ROWS_AT_ONCE):
                some = {name: each[start : start + _ROWS_AT_ONCE] for name, each in part.items()}
                rows = np.flatnonzero(is_sent[_groups_of(some["qid"])])
                if len(rows):
                    yield [some[name][rows] for name in whole]

    team.exchange(outgoing, list(whole.values()))
    return whole


def deal(sizes: np.ndarray, n_workers: int) -> np.ndarray:
    """Return the worker of each group, so that all workers have about as many documents.

    The largest group goes first, and each one to the worker that has the fewest documents.

    Examples
    --------
    >>> deal(np.array([1, 3, 0, 2]), 2)
    array([1, 0, 0, 1])
    """
    worker = np.zeros(len(sizes), dtype=np.int64)
    loads = [(0, number) for number in range(n_workers)]
    largest_first = np.argsort(-sizes, kind="stable")
    for group in largest_first[: np.count_nonzero(sizes)]:
        load, number = heapq.heappop(loads)
        worker[group] = number
        heapq.heappush(loads, (load + int(sizes[group]), number))
    return worker


def _groups_of(hashes: Any) -> np.ndarray:
    """Return the number of the group of each query, by the hash of its id."""
    return np.asarray(hashes % np.uint64(_N_GROUPS)).astype(np.int64)
