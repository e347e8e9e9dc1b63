"""Batches: the rows that one step of training uses, and the objective of those rows alone.

A batch holds whole queries where they fit. A query with more documents than a batch is cut into
pieces at random in every epoch, and the pairs within a piece count. So an objective in which all
documents are one query trains on pairs across queries. Or a batch is a number of pairs drawn at
random, as in the DirectRanker paper, with the documents of these pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Objective
from treerank.objectives.pairs.objective import PairwiseObjective
from treerank.objectives.pairs.rules import GivenPairs, Pairs


@dataclass(frozen=True, eq=False)
class Batch:
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
    for rows in deal(objective.groups, batch_size, rng):
        yield Batch(rows, taken(objective, rows))


def pair_batches(
    objective: Objective, batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield batches of ``batch_size // 2`` pairs; together they hold each row about once."""
    batch_size = min(batch_size, len(objective.groups.order))
    draw = _PairSampler.of(objective)
    if draw.n_pairs:
        for _ in range(-(-len(objective.groups.order) // batch_size)):
            yield draw.batch(max(1, batch_size // 2), rng)


BATCHES = {"queries": query_batches, "pairs": pair_batches}


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


@dataclass(frozen=True, eq=False)
class _PairSampler:
    """Draws pairs of an objective at random, all with the same probability."""

    objective: PairwiseObjective
    up_to: np.ndarray

    @classmethod
    def of(cls, objective):
        problem = objective.problem if isinstance(objective, PairwiseObjective) else None
        if problem is None or not problem.has_listable_pairs:
            raise ValueError(
                "batches must be 'queries' for an objective without pairs, with pairs of equal "
                "labels, or whose pairs weigh by the ranks of whole queries; got 'pairs'."
            )
        if isinstance(problem.pairs, GivenPairs):
            return cls(objective, np.arange(1, len(problem.pairs.i) + 1))
        labels = problem.labels
        return cls(objective, np.cumsum(labels.high - labels.low, dtype=np.int64))

    @property
    def n_pairs(self):
        return int(self.up_to[-1]) if len(self.up_to) else 0

    def batch(self, size, rng):
        i, j, weight, target = self._look_up(rng.integers(self.n_pairs, size=size))
        rows, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        by_query = np.argsort(self.objective.groups.codes[rows], kind="stable")
        new_place = np.argsort(by_query)[place]
        given = GivenPairs(new_place[:size], new_place[size:], weight, target)
        rows = rows[by_query]
        unlisted: Any = taken(self.objective.changed(pairs=Pairs()), rows)
        return Batch(rows, unlisted.changed(pairs=given))

    def _look_up(self, number):
        rule, labels = self.objective.problem.pairs, self.objective.problem.labels
        if isinstance(rule, GivenPairs):
            return rule.i[number], rule.j[number], rule.weight[number], rule.target[number]
        upper = np.searchsorted(self.up_to, number, side="right")
        first = labels.indptr[np.searchsorted(labels.indptr, upper, side="right") - 1]
        lower = first + labels.high[upper] - (self.up_to[upper] - number)
        weight = self.objective.problem.balance[upper]
        return labels.row[upper], labels.row[lower], weight, np.ones(len(number))


def _ranges(start, size):
    """Concatenate the ranges that begin at ``start`` and have ``size`` numbers."""
    return np.arange(size.sum()) + np.repeat(start - (np.cumsum(size) - size), size)
