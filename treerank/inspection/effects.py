"""Partial dependence of the score and the rank on one feature.

The **partial dependence** of the score at a value v is the mean score of all documents if the
feature is set to v. The partial dependence of the rank is the mean rank that a document would have
in its query if it alone had the value v.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from treerank.checks import check_column, check_count, quote
from treerank.display.charts import Curve, Curves, Intervals
from treerank.display.results import Shown
from treerank.display.tables import Table
from treerank.documents.features import shown_names
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import read_documents
from treerank.inspection.importance import column_of
from treerank.parameters import Count, Whole, check_arguments
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import scores_of

#: Largest number of quantiles.
_MOST_VALUES = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Effect(Shown):
    """Partial dependence of the score and the rank on one feature.

    Parameters
    ----------
    feature : str
        Name of the feature.
    values : ndarray of shape (n_values,)
        Values of the feature, ascending; of a categorical feature, its categories.
    score : ndarray of shape (n_values,)
        Partial dependence of the score.
    rank : ndarray of shape (n_values,)
        Partial dependence of the rank within the query; 1 is the best.

    Examples
    --------
    >>> ends = np.array([0.0, 1.0])
    >>> Effect("price", ends, score=-ends, rank=3 + ends).rank
    array([3., 4.])
    >>> Effect("price", ends, score=-ends, rank=3 + ends)
    Partial dependence on price.
     price    score    rank
    ------  -------  ------
    0.0000  -0.0000  3.0000
    1.0000  -1.0000  4.0000
    """

    feature: str
    values: np.ndarray
    score: np.ndarray
    rank: np.ndarray

    def chart(self, *, of: Literal["score", "rank"] = "score") -> Curves | Intervals:
        """Return the curve of the score or of the rank, as :meth:`plot` shows it.

        Categories are rows instead, as they have no order.
        """
        y = "mean score" if of == "score" else "mean rank (1 is the best)"
        dependence, title = self.score if of == "score" else self.rank, "Partial dependence"
        if self.values.dtype == object:
            ends = [(value, np.nan, np.nan) for value in dependence]
            title = f"{title} on {self.feature}"
            return Intervals.of(map(str, self.values), ends, x=y, reference=None, title=title)
        curve = Curve(of, self.values, dependence)
        return Curves((curve,), x=self.feature, y=y, is_inverted=of == "rank", title=title)

    @check_arguments
    def plot(self, ax: Any = None, *, of: Literal["score", "rank"] = "score") -> Any:
        """Plot the partial dependence; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.
        of : {"score", "rank"}, default="score"
            What depends on the feature. The axis of the rank is inverted: the best is at the top.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart(of=of).plot(ax)

    def _shown(self) -> Table:
        columns = {self.feature: self.values, "score": self.score, "rank": self.rank}
        title = f"Partial dependence on {self.feature}."
        return Table(title, [*columns], list(zip(*columns.values(), strict=True)))


@check_arguments
def effect(
    ranker: Ranker,
    X: Any,
    qid: Any = None,
    *,
    feature: str | int,
    values: Sequence[Any] | int = 20,
    n_documents: Count = 1000,
    random_state: Whole = 0,
) -> Effect:
    """Return the partial dependence of the score and the rank on one feature.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    X, qid
        Documents and their queries, as in ``rank``.
    feature : str or int
        Name or column number of the feature.
    values : sequence or int, default=20
        Values of the feature, or the number of quantiles to use. Of a categorical feature, some of
        its categories, or the number of the most frequent ones to use.
    n_documents : int, default=1000
        Largest number of documents to average over; they are drawn at random.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    Effect
        Its ``plot()`` shows the score by the value of the feature.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> X, y = [[1.0, 5.0], [2.0, 3.0], [3.0, 9.0]], [0, 1, 2]
    >>> effect(RankSVM().fit(X, y), X, feature=0, values=[1, 3]).rank.round(2)
    array([2.67, 1.67])
    """
    X, _, qid = read_documents(ranker, X, None, qid)
    groups, column = QueryGroups.from_qid(qid, X.shape[0]), column_of(ranker, feature)
    rng = np.random.default_rng(random_state)
    n = min(n_documents, X.shape[0])
    rows = np.sort(rng.choice(X.shape[0], n, replace=False))
    sample = X[rows].toarray() if issparse(X) else X[rows]
    present = sample[:, column][~np.isnan(sample[:, column])]
    categories = ranker.columns_.categories.get(column)
    if categories is None:
        shown = grid = _grid(present, values)
    else:
        grid = _codes(present, values, categories)
        shown = np.array([categories[code] for code in grid], dtype=object)

    def scores(column_values: Any) -> np.ndarray:
        changed = sample.copy()
        changed[:, column] = column_values
        return np.asarray(scores_of(ranker, changed))

    by_value = np.array([scores(value) for value in grid])
    return Effect(
        feature=shown_names(ranker)[column],
        values=shown,
        score=by_value.mean(axis=1),
        rank=_ranks(scores_of(ranker, X), groups, rows, by_value).mean(axis=1),
    )


def _grid(present, values):
    """Return the values of a grid in ascending order.

    ``values`` is the given values, or a number of quantiles of the values in ``present``.
    """
    if not isinstance(values, int | np.integer):
        return np.unique(check_column("values", values))
    _check_number(values, present)
    quantiles = np.quantile(present, np.linspace(0, 1, values), method="inverted_cdf")
    return np.unique(quantiles)


def _codes(present, values, categories):
    """Return codes of categories, ascending: of the given ones, or of so many frequent ones.

    ``present`` are the codes of documents; arrays may hold codes of no category, such as -1.
    """
    if not isinstance(values, int | np.integer):
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
            raise TypeError(
                f"values must be a list of categories, or a number of them; got {quote(values)}."
            )
        unknown = [value for value in values if value not in categories]
        if unknown:
            raise ValueError(
                f"values must be categories of the feature, {quote(categories)}; got "
                f"{quote(unknown[0])}."
            )
        if len(values) == 0:
            raise ValueError(f"values must have at least one entry; got {quote(values)}.")
        return np.unique([categories.index(value) for value in values])
    present = present[np.isin(present, range(len(categories)))]
    _check_number(values, present)
    codes, counts = np.unique(present.astype(int), return_counts=True)
    return np.sort(codes[np.argsort(-counts, kind="stable")[:values]])


def _check_number(values, present):
    check_count("values", values, at_least=2, at_most=_MOST_VALUES)
    if len(present) == 0:
        raise ValueError("feature must have a value in some document; got none.")


def _ranks(scores, groups, rows, by_value):
    """Return the rank of each sampled document in its query, of shape (n_values, n_sampled).

    ``by_value`` has the document's score at each value of the feature; the others keep their
    ``scores``. ``rows`` are the sampled documents. Ties count half.
    """
    ranks = np.empty(by_value.shape)
    codes = groups.codes[rows]
    for q in np.unique(codes):
        query_scores = np.sort(scores[groups.rows[q]])
        sampled = np.flatnonzero(codes == q)
        new, old = by_value[:, sampled], scores[rows[sampled]]
        n = len(query_scores)
        not_below = n - np.searchsorted(query_scores, new, side="left") - (old >= new)
        above = n - np.searchsorted(query_scores, new, side="right") - (old > new)
        ranks[:, sampled] = 1 + (above + not_below) / 2
    return ranks
