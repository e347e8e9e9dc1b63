"""Unjudged documents: how many there are, and by how much they might change a metric.

Their label is NaN. :class:`Judged` is the share of the first documents that have a label;
:func:`ndcg_bounds` are the least and the largest NDCG that labels of all others might give.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, check_column, check_number, warn_user
from treerank.documents.gains import label_gains
from treerank.documents.queries import ByRow, Queries, QueryGroups
from treerank.metrics.base import Metric, PreparedMetric
from treerank.metrics.graded_metrics import DISCOUNTS, Gain
from treerank.metrics.threshold_metrics import expected_hits
from treerank.parameters import Finite, Size, check_arguments
from treerank.spelling import has_spelling, spelled

#: How the user writes 0 for unjudged documents of judged queries, whatever holds y and qid.
_UNJUDGED_AS_0 = (
    "y = np.array(y, float); judged = {q for q, label in zip(qid, y) if label == label}; "
    "y[np.isnan(y) & [q in judged for q in qid]] = 0"
)
#: A warning is given if a smaller share of the top documents is judged.
_LEAST_JUDGED, _DEPTH = 0.9, 10


@dataclass(frozen=True, kw_only=True)
class Judged(Metric):
    """Judged: the share of the top k documents that are judged (their label is not NaN).

    Read it beside a metric, which ignores unjudged documents. The parameters are as in
    :class:`~treerank.metrics.base.Metric`.

    Examples
    --------
    >>> Judged(k=2)([0, np.nan, 1], [0.3, 0.2, 0.1])
    0.5
    """

    stem = "judged"
    list_total = expected_hits

    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return 1 for judged documents and 0 for others."""
        return y

    def ideal(self, gains: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return k, or the number of documents of the query if it is smaller."""
        return np.minimum(np.diff(indptr), self.depth).astype(np.float64)

    @check_arguments
    def per_query(self, y: ArrayLike, scores: ArrayLike, qid: Queries = None) -> np.ndarray:
        """Return one value per query, in the order of ``np.unique(qid)``."""
        return self._prepare(y, qid).per_query(scores)

    def _prepare(self, y: ArrayLike, qid: Queries) -> PreparedMetric:
        return super()._prepare(~np.isnan(as_numbers("y", y)), qid)


def refuse_judged(name: str, metrics: Iterable[Any], where: str) -> None:
    """Refuse to measure the share of judged documents ``where`` unjudged ones are left out.

    It would always be 1.

    Examples
    --------
    >>> refuse_judged("eval_metric", [Judged(10)], "an eval_set")
    Traceback (most recent call last):
    ...
    ValueError: eval_metric must not have judged@10, since unjudged documents are left out of an \
eval_set. Write get_metric('judged@10')(y, ranker.predict(X), qid).
    """
    for metric in metrics:
        if isinstance(metric, Judged):
            in_python = f"get_metric({metric.name!r})(y, ranker.predict(X), qid)"
            in_shell = f"treerank evaluate MODEL DATA --metric {metric.name}"
            raise ValueError(
                f"{spelled(name)} must not have {metric.name}, since unjudged documents are left "
                f"out of {where}. Write {in_python if has_spelling('y') else in_shell}."
            )


def depth_of(metrics: Iterable[Any]) -> int:
    """Return how many of the first documents of a query should be judged, for these metrics.

    It is the largest cutoff, and at most 10; metrics without a cutoff count as 10.

    Examples
    --------
    >>> depth_of([Judged(3), Judged(1)]), depth_of([Judged(3), Judged()]), depth_of([Judged(100)])
    (3, 10, 10)
    """
    cutoffs = (getattr(metric, "k", None) or _DEPTH for metric in metrics)
    return min(_DEPTH, max(cutoffs, default=_DEPTH))


def judged_share(y: ArrayLike, scores: ArrayLike, qid: ByRow, depth: int = _DEPTH) -> float:
    """Return judged@10, the share of the top 10 documents that are judged.

    Queries without any judgment do not count, as in metrics. ``depth`` is a number other than 10.

    Examples
    --------
    >>> judged_share([0, 1, 2, np.nan], [0.4, 0.3, 0.2, 0.1], None)
    0.75
    >>> judged_share([0, 1, np.nan], [0.4, 0.3, 0.2], ["a", "a", "b"])
    1.0
    """
    labels = as_numbers("y", y).ravel()
    if not np.isnan(labels).any():
        return 1.0
    groups = QueryGroups.from_qid(qid, len(labels))
    counts = np.bincount(groups.codes, ~np.isnan(labels), minlength=groups.n_queries)
    rows = np.flatnonzero(counts[groups.codes] > 0)
    if len(rows) == 0:
        return 0.0
    return Judged(k=depth)(labels[rows], np.asarray(scores)[rows], groups.codes[rows])


def warn_of_unjudged(share: float, depth: int = _DEPTH) -> None:
    """Warn if more than a tenth of the first 10 documents is not judged.

    Queries without any judgment were not counted, and the advice does not make labels up for them.

    Examples
    --------
    >>> warn_of_unjudged(0.75, 3)
    Traceback (most recent call last):
    ...
    UserWarning: Of the first 3 documents of judged queries, 75 % are judged (judged@3). Others, \
whose label is NaN, are left out of metrics. To take them as not relevant, write 0 for them in \
judged queries alone: y = np.array(y, float); judged = {q for q, label in zip(qid, y) if \
label == label}; y[np.isnan(y) & [q in judged for q in qid]] = 0, or unjudged=0 in read_runs. \
Where y and qid name columns of X, take these for y and qid, and write y back into X.
    """
    if share < _LEAST_JUDGED:
        advice = "write 0 for them in judged queries alone"
        if has_spelling("y"):
            advice += (
                f": {_UNJUDGED_AS_0}, or unjudged=0 in read_runs. Where y and qid name columns of "
                "X, take these for y and qid, and write y back into X"
            )
        warn_user(
            f"Of the first {depth} documents of judged queries, {100 * share:.0f} % are judged "
            f"(judged@{depth}). Others, whose label is NaN, are left out of metrics. To take them "
            f"as not relevant, {advice}."
        )


@check_arguments
def ndcg_bounds(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ByRow = None,
    *,
    k: Size | None = None,
    gain: Gain = "exponential",
    highest: Finite | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return bounds of the NDCG of each query over all possible labels of unjudged documents.

    Unjudged documents (NaN) stay in the list here, with any label from 0 to ``highest``;
    :class:`~treerank.metrics.graded_metrics.NDCG` removes them. Both bounds are attained.

    Parameters
    ----------
    y, scores, qid : array-like of shape (n_documents,)
        Labels, NaN for unjudged documents; scores; and queries, or ``None`` for a single one. Tied
        scores are averaged over all orders.
    k, gain
        As in :class:`~treerank.metrics.graded_metrics.NDCG`.
    highest : float, default=None
        Highest possible label; ``None`` is the highest in ``y``, which must then have a label.

    Returns
    -------
    lower, upper : ndarray of shape (n_queries,)
        In the order of ``np.unique(qid)``; NaN where no label could have a gain.

    Notes
    -----
    DCG is linear in the unjudged gains and the ideal DCG is convex in them, so their ratio is
    smallest at a corner: some unjudged documents at the end of the list have the highest gain and
    the other ones none. It is largest if each unjudged gain is 0, the highest gain, or the gain of
    a judged document, and unjudged gains do not increase down the list.

    Examples
    --------
    >>> lower, upper = ndcg_bounds([np.nan, 2, np.nan], [0.3, 0.2, 0.1])
    >>> lower.round(3), upper.round(3)
    (array([0.631]), array([1.]))
    """
    labels = check_column(
        "y", y, some_unjudged=True, all_unjudged=highest is not None, or_table=True
    )
    scores = check_column("scores", scores, len(labels))
    judged = labels[~np.isnan(labels)]
    top = max(judged, default=0.0) if highest is None else highest
    check_number("highest", top, at_least=max(judged, default=0.0))
    gains = np.full(len(labels), np.nan)
    gains[~np.isnan(labels)] = label_gains(judged, gain) if len(judged) else judged
    largest = float(label_gains(np.array([top]), gain)[0])
    groups = QueryGroups.from_qid(qid, len(labels))
    bounds = [_bounds_of_query(gains[rows], scores[rows], k, largest) for rows in groups.rows]
    lower, upper = np.array(bounds).reshape(-1, 2).T
    return lower, upper


def _bounds_of_query(gains, scores, k, largest):
    """Return ``(lowest, highest)`` NDCG of one query over all gains of its unjudged documents.

    ``gains`` are NaN for these documents and may then be from 0 to ``largest``. Both are NaN if
    ``largest`` is 0.
    """
    discount = DISCOUNTS["log2"](np.arange(1.0, len(gains) + 1))
    discount[len(gains) if k is None else k :] = 0
    discounts = _mean_discounts(scores, discount)
    judged = ~np.isnan(gains)
    sorted_gains = -np.sort(-gains[judged])
    judged_dcg = math.fsum(gains[judged] * discounts[judged])
    unjudged_discounts = -np.sort(-discounts[~judged])
    if largest == 0:
        return np.nan, np.nan
    query = judged_dcg, unjudged_discounts, sorted_gains, discount, largest
    return _lower_bound(*query), _upper_bound(*query)


def _mean_discounts(scores, discount):
    """Return the discount of each document by its score; ties share the mean of their positions'.

    ``discount`` has one entry per position.
    """
    _, tie, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    sums = np.append(0.0, np.cumsum(discount))
    return ((sums[ends] - sums[ends - counts]) / counts)[tie]


def _lower_bound(judged_dcg, unjudged_discounts, sorted_gains, discount, largest):
    """Return the lowest NDCG; NaN if no document has a gain.

    It is attained where the last n unjudged documents of the list have the largest gain and the
    others have 0, for some n.

    ``judged_dcg`` is the DCG of the judged documents, ``unjudged_discounts`` the discounts of the
    others and ``sorted_gains`` the gains of the judged ones, both descending; ``discount`` has an
    entry for each position, and ``largest`` is the largest gain possible.
    """
    n_unjudged, n = len(unjudged_discounts), len(sorted_gains)
    dcg = judged_dcg + largest * np.append(0.0, np.cumsum(unjudged_discounts[::-1]))
    ideal = np.array([sorted_gains @ discount[s : s + n] for s in range(n_unjudged + 1)])
    ideal += largest * np.append(0.0, np.cumsum(discount[:n_unjudged]))
    has_gain = ideal > 0
    return float(np.min(dcg[has_gain] / ideal[has_gain])) if has_gain.any() else np.nan


def _upper_bound(judged_dcg, unjudged_discounts, sorted_gains, discount, largest):
    """Return the highest NDCG.

    NaN if no document can have a gain. Arguments as of :func:`_lower_bound`. Unjudged documents
    have gains of judged ones, 0 or the largest. Dinkelbach's iteration maximizes the ratio DCG /
    ideal DCG over how many of them have at least each gain.
    """
    if len(unjudged_discounts) == 0 and not sorted_gains.any():
        return np.nan
    levels = -np.unique(-np.concatenate([[largest, 0.0], sorted_gains]))
    steps, n_judged = -np.diff(levels), np.searchsorted(-sorted_gains, -levels[:-1], side="right")
    dcg = np.append(0.0, np.cumsum(unjudged_discounts))
    sums = np.append(0.0, np.cumsum(discount))
    ideal = sums[n_judged[:, None] + np.arange(len(dcg))]  # by gain, and documents of at least it
    ratio, better = -1.0, 0.0
    while better > ratio:
        ratio = better
        counts = _best_counts(steps[:, None] * (dcg - ratio * ideal))
        divisor = steps @ ideal[np.arange(len(steps)), counts]
        better = (judged_dcg + steps @ dcg[counts]) / divisor if divisor else 0.0
    return min(ratio, 1.0)


def _best_counts(values):
    """Return column numbers, one per row and never falling, with the largest sum of ``values``."""
    sums = [values[0]]
    for row in values[1:]:
        sums.append(np.maximum.accumulate(sums[-1]) + row)
    counts, limit = [], values.shape[1]
    for row in reversed(sums):
        counts.append(int(np.argmax(row[:limit])))
        limit = counts[-1] + 1
    return np.array(counts[::-1])
