"""Effects: how score and rank of a document follow the value of one feature.

The **partial dependence** at a value v is the mean score of documents whose feature is set to v;
that of the rank is the mean rank that each would have in its query if it alone had this value. The
**accumulated effect** (Apley and Zhu, 2020) adds up, from one value to the next, the mean change
of the score of the documents between the two. So it never asks for the score of a document that
is far from the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.checks import check_column, check_count
from treerank.inputs.documents import shown_names
from treerank.inputs.grouping import QueryGroups
from treerank.inspection.importance import column_of
from treerank.parameters import Count, Whole, check_arguments
from treerank.rankers.ranker import Ranker

#: Largest number of quantiles.
_MOST_VALUES = 10_000


@dataclass(frozen=True, eq=False)
class Effect:
    """How scores and ranks follow one feature.

    Parameters
    ----------
    feature : str
        Name of the feature.
    values : ndarray of shape (n_values,)
        Values, rising.
    score : ndarray of shape (n_values,)
        Partial dependence of the score.
    rank : ndarray of shape (n_values,)
        Partial dependence of the rank within the query; 1 is the best.
    accumulated : ndarray of shape (n_values,)
        Accumulated effect on the score, whose mean over documents is 0.
    rising, falling : float
        Share of the documents whose score never falls, and never rises, with the value.

    Examples
    --------
    >>> ends = np.array([0.0, 1.0])
    >>> Effect("price", ends, -ends, 3 + ends, 0.5 - ends, rising=0.0, falling=1.0).is_monotone
    True
    """

    feature: str
    values: np.ndarray
    score: np.ndarray
    rank: np.ndarray
    accumulated: np.ndarray
    rising: float
    falling: float

    @property
    def is_monotone(self) -> bool:
        """Whether the score of no document falls, or that of none rises, with the value."""
        return 1.0 in (self.rising, self.falling)


@check_arguments
def effect(
    ranker: Ranker,
    X: Any,
    qid: Any = None,
    *,
    feature: str | int,
    values: Sequence[float] | int = 20,
    n_documents: Count = 1000,
    random_state: Whole = 0,
) -> Effect:
    """Return how score and rank follow one feature.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    X, qid
        Documents and their queries, as in ``rank``.
    feature : str or int
        Name or number of the feature.
    values : sequence of float or int, default=20
        Values of the feature, or how many of its quantiles.
    n_documents : int, default=1000
        Largest number of documents that are drawn and changed.
    random_state : int, default=0
        Seed.

    References
    ----------
    Apley and Zhu (2020), Visualizing the effects of predictor variables in black box supervised
    learning models.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> X, y = [[1.0, 5.0], [2.0, 3.0], [3.0, 9.0]], [0, 1, 2]
    >>> effect(RankSVM().fit(X, y), X, feature=0, values=[1, 3]).rank.round(2)
    array([2.67, 1.67])
    """
    X, _, qid = ranker.read(X, None, qid)
    groups, column = QueryGroups.from_qid(qid, X.shape[0]), column_of(ranker, feature)
    rng = np.random.default_rng(random_state)
    n = min(n_documents, X.shape[0])
    rows = np.sort(rng.choice(X.shape[0], n, replace=False))
    some = X[rows].toarray() if issparse(X) else X[rows]
    known = some[:, column][~np.isnan(some[:, column])]
    grid = _grid(known, values)

    def scores(column_values: Any) -> np.ndarray:
        changed = some.copy()
        changed[:, column] = column_values
        return np.asarray(ranker.scores_of(changed))

    by_value = np.array([scores(value) for value in grid])
    steps = np.diff(by_value, axis=0)
    return Effect(
        feature=shown_names(ranker)[column],
        values=grid,
        score=by_value.mean(axis=1),
        rank=_ranks(ranker.scores_of(X), groups, rows, by_value).mean(axis=1),
        accumulated=_accumulated(some[:, column], grid, by_value),
        rising=float((steps >= 0).all(axis=0).mean()),
        falling=float((steps <= 0).all(axis=0).mean()),
    )


def _grid(known, values):
    """Return rising values, or quantiles of those that are known."""
    if not isinstance(values, int | np.integer):
        return np.unique(check_column("values", values))
    check_count("values", values, at_least=2, at_most=_MOST_VALUES)
    if len(known) == 0:
        raise ValueError("feature must have a value in some document; got none.")
    quantiles = np.quantile(known, np.linspace(0, 1, values), method="inverted_cdf")
    return np.unique(quantiles)


def _ranks(scores, groups, rows, by_value):
    """Return the rank of each drawn document in its query, by value; ties count half."""
    ranks = np.empty(by_value.shape)
    codes = groups.codes[rows]
    for q in np.unique(codes):
        of_query = np.sort(scores[groups.rows[q]])
        own = np.flatnonzero(codes == q)
        new, old = by_value[:, own], scores[rows[own]]
        not_below = len(of_query) - np.searchsorted(of_query, new, side="left") - (old >= new)
        above = len(of_query) - np.searchsorted(of_query, new, side="right") - (old > new)
        ranks[:, own] = 1 + (above + not_below) / 2
    return ranks


def _accumulated(column, grid, by_value):
    """Return the accumulated effect at each value, with a mean of 0 over documents."""
    is_known = ~np.isnan(column)
    bins = np.clip(np.searchsorted(grid, column[is_known]) - 1, 0, max(len(grid) - 2, 0))
    effects = np.zeros(len(grid))
    for n, step in enumerate(np.diff(by_value[:, is_known], axis=0)):
        effects[n + 1] = effects[n] + (step[bins == n].mean() if (bins == n).any() else 0.0)
    mean = np.interp(column[is_known], grid, effects).mean() if is_known.any() else 0.0
    return effects - mean
