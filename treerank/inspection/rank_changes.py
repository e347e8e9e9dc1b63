r"""Rank changes: misranked pairs of documents, and how much NDCG swapping them would gain.

If document b has a higher gain than document a but ranks below it, swapping the two would add

.. math:: \frac{(g_b - g_a)(D_a - D_b)}{\text{ideal DCG}}

to the NDCG of the query, with gains g and the discounts D of the two positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, quote
from treerank.display.results import Shown
from treerank.display.tables import Table, column_table, counted
from treerank.documents.queries import Queries, QueryGroups
from treerank.metrics.graded_metrics import DISCOUNTS, NDCG
from treerank.metrics.registry import get_metric
from treerank.parameters import Count, check_arguments

#: Number of first positions whose documents are looked at, a bound on time and memory.
_DEPTH = 1000


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges(Shown):
    """Misranked pairs of documents, costliest first.

    Parameters
    ----------
    above, below : ndarray of shape (n_pairs,)
        Rows of the two documents; the one ranked below has the higher label.
    query : ndarray of shape (n_pairs,)
        Number of the query of each pair, in the order of ``np.unique(qid)``.
    cost : ndarray of shape (n_pairs,)
        NDCG that the query would gain if the two swapped.

    Examples
    --------
    >>> len(RankChanges(np.array([4]), np.array([7]), np.array([0]), np.array([0.25])))
    1
    """

    above: np.ndarray
    below: np.ndarray
    query: np.ndarray
    cost: np.ndarray

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.cost)

    def _shown(self) -> Table:
        pairs = counted(len(self), "misranked pair")
        columns = {"above": self.above, "below": self.below, "query": self.query}
        return column_table(f"{pairs}, costliest first.", columns | {"cost": self.cost})


@check_arguments
def costly_rank_changes(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Queries = None,
    *,
    metric: str | NDCG = "ndcg@10",
    n_pairs: Count = 20,
    per_query: Count | None = None,
) -> RankChanges:
    """Return the misranked pairs that cost the most NDCG.

    ``ranker.explain(X[pairs.above], X[pairs.below])`` explains why each was misranked.

    Parameters
    ----------
    y, scores : array-like of shape (n_documents,)
        Labels, and scores of a ranker. Of equal scores, the earlier row stands above. Unjudged
        documents (NaN) are left out, as in metrics.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    metric : str or NDCG, default="ndcg@10"
        NDCG with its cutoff, gains and discounts.
    n_pairs : int, default=20
        Largest number of pairs.
    per_query : int, default=None
        Largest number of pairs of a query; ``None`` is ``n_pairs``.

    Examples
    --------
    >>> pairs = costly_rank_changes([0, 3, 1, 0], [0.9, 0.1, 0.5, 0.2], n_pairs=2)
    >>> pairs.above, pairs.below, pairs.cost.round(3)
    (array([0, 2]), array([1, 1]), array([0.522, 0.157]))
    """
    per_query = n_pairs if per_query is None else per_query
    ndcg = get_metric(metric)
    if not isinstance(ndcg, NDCG):
        raise ValueError(f"metric must be an NDCG; got {quote(ndcg.name)}.")
    y = check_column("y", y, some_unjudged=True, or_table=True)
    scores = check_column("scores", scores, len(y))
    groups = QueryGroups.from_qid(qid, len(y))
    judged = np.flatnonzero(~np.isnan(y))
    pairs = list(_pairs_by_query(y[judged], scores[judged], groups.take(judged), ndcg, per_query))
    if not pairs:
        no_rows = np.empty(0, dtype=np.int64)
        return RankChanges(no_rows, no_rows, no_rows, np.empty(0))
    above, below, query, cost = (np.concatenate(column) for column in zip(*pairs, strict=True))
    first = np.argsort(-cost, kind="stable")[:n_pairs]
    above, below = judged[above[first]], judged[below[first]]
    query = np.unique(groups.codes[judged])[query[first]]
    return RankChanges(above, below, query, cost[first])


def _pairs_by_query(
    y: np.ndarray, scores: np.ndarray, groups: QueryGroups, metric: NDCG, most: int
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield ``(above, below, query, cost)`` of the costliest pairs of each query, at most ``most``.

    They are arrays: rows of the two documents, the number of the query, and the gain in NDCG by a
    swap.
    """
    gains = metric.gains(y)
    ideal = metric.ideal_of(groups.sorted(gains), groups)
    best_first = np.lexsort((-scores, groups.codes))
    discount = DISCOUNTS[metric.discount](np.arange(1.0, groups.sizes.max() + 1))
    discount[metric.depth :] = 0
    for q in np.flatnonzero((ideal > 0) & np.isfinite(ideal)):
        rows = best_first[groups.indptr[q] : groups.indptr[q + 1]]
        gain, upper = gains[rows], min(len(rows), metric.depth, _DEPTH)
        discount_gap = discount[:upper, None] - discount[: len(rows)]
        cost = discount_gap * (gain - gain[:upper, None]) / ideal[q]
        cost[discount_gap <= 0] = 0  # not below, or past the cutoff
        cells = np.argsort(-cost, axis=None, kind="stable")[:most]
        a, b = np.unravel_index(cells[cost.flat[cells] > 0], cost.shape)
        yield rows[a], rows[b], np.full(len(a), q), cost[a, b]
