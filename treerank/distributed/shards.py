"""Shards: the documents of each worker, in whole queries, however the rows were spread before.

Hashes of query ids: the same for the same id, in every process.
"""

import heapq
from collections.abc import Iterator, Sequence
from datetime import date
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.distributed.parts import Arguments
from treerank.inputs.grouping import QueryGroups
from treerank.team import Table, current_team


def id_hashes(qid: ArrayLike, n_documents: int | None = None) -> np.ndarray:
    """Return a hash of 64 bits for each query id; the hashes of equal ids are equal.

    Ids are equal as in Python: ``1`` and ``1.0`` are, ``1`` and ``"1"`` are not. Two different ids
    have the same hash with a probability of 2^-64.

    Examples
    --------
    >>> first, second = id_hashes([3, 5]), id_hashes(np.array([5.0]))
    >>> first.dtype, bool(first[1] == second[0])
    (dtype('uint64'), True)
    """
    groups = QueryGroups.from_qid(qid, n_documents)
    ids: Any = qid
    if not isinstance(qid, np.ndarray):
        ids = np.empty(groups.n_documents, dtype=object)
        ids[:] = list(qid)  # type: ignore[arg-type]
    hashes = [_hash_of(value) for value in groups.first_of(ids)]
    return np.array(hashes, dtype=np.uint64)[groups.codes]


def _hash_of(value: Any) -> int:
    """Return the hash of one id."""
    if isinstance(value, date | np.datetime64):
        text = f"date {np.datetime64(value).astype('datetime64[ns]')}"
    elif isinstance(value, Real):
        is_whole = isinstance(value, int | np.integer) or float(value).is_integer()
        text = f"number {int(value) if is_whole else float(value)}"  # type: ignore[call-overload]
    else:
        text = f"{type(value).__name__.removesuffix('_')} {value}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


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
