"""What a metric is: one number per query from labels and scores, then the mean over queries.

A metric is a frozen dataclass of its settings. It turns labels into *gains*, one per document, and
names the function that computes the total of one ranked list (``list_total``, see
:mod:`treerank.metrics.ranked`). The value of a query is its total divided by its *ideal* total.
Sorting, ties, unjudged documents and means are implemented here, once. To add a metric, write such
a class in a file of its own and list it in
:data:`treerank.metrics.registry.METRICS`, where rankers, commands and tests find it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from treerank.checks import check_column, check_count, quote, warn_user
from treerank.display.texts import shortened
from treerank.documents.gains import count_relevant
from treerank.documents.queries import ByRow, Queries, QueryGroups, warn_without_qid
from treerank.metrics.ranked import NO_CUTOFF, TIES, totals_kernel
from treerank.numerics.threads import in_parts, threads_for
from treerank.parameters import Finite, PlainSignature, Rule, check_arguments, check_parameters
from treerank.renamed import RenamedMembers

#: Settings that a name shows in another way than in brackets.
_UNNAMED = frozenset({"k", "n_relevant"})
#: Advice where labels for many calls must not be NaN, since scores come without them.
JUDGED_ALONE = " Leave such documents out, here and in the scores: y[np.isfinite(y)]."


@dataclass(frozen=True, kw_only=True)
class Metric(RenamedMembers, ABC):
    """Quality of a ranking, in [0, 1], higher is better.

    ``metric(y, scores, qid)`` is the mean over queries. The sum is rounded once, so no bit of it
    depends on the order of rows (except for ``ties="stable"``), on the names of queries or on the
    number of threads.

    Parameters
    ----------
    k : int or None, default=None
        Cutoff rank; ``None`` is no cutoff.
    ties : {"average", "pessimistic", "stable"}, default="average"
        How tied scores are broken: the exact expectation over random orders, the worst order, or
        the order of the rows.
    no_relevant : "exclude" or float, default="exclude"
        Value of queries without a relevant document. ``"exclude"`` excludes them from the mean, and
        their value is NaN.

    Attributes
    ----------
    name : str
        Name from which :func:`~treerank.metrics.registry.get_metric` makes the same metric, with
        the settings that are not defaults, as in ``"ndcg@10"`` or ``"ndcg(gain='linear')@5"``.

    Examples
    --------
    >>> from treerank.metrics import NDCG
    >>> metric = NDCG(k=10)
    >>> y, scores, qid = [1, 0, 0, 2], [0.5, 0.1, 0.7, 0.9], ["a", "a", "b", "b"]
    >>> metric(y, scores, qid), metric.name
    (1.0, 'ndcg@10')
    >>> metric.per_query(y, [0.5, 0.5, 0.7, 0.9], qid).round(3)
    array([0.815, 1.   ])
    >>> NDCG(k=5, gain="linear").name
    "ndcg(gain='linear')@5"
    """

    __signature__ = PlainSignature()

    k: Annotated[int, Rule(check_count, at_most=NO_CUTOFF)] | None = field(
        default=None, kw_only=False
    )
    ties: Annotated[str, Rule.one_of(TIES)] = "average"
    no_relevant: Literal["exclude"] | Finite = "exclude"

    stem: ClassVar[str]
    has_cutoff: ClassVar[bool] = True
    list_total: ClassVar[Callable[..., float]]

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.k is not None and not self.has_cutoff:
            raise ValueError(f"k must be None for {self.stem}; got {quote(self.k)}.")

    @property
    def name(self) -> str:
        """Name with the settings that are not the defaults, and with the cutoff."""
        settings = ((f, getattr(self, f.name)) for f in fields(self) if f.name not in _UNNAMED)
        changed = ", ".join(f"{f.name}={_shown(v)!r}" for f, v in settings if v != f.default)
        name = f"{self._stem}({changed})" if changed else self._stem
        return name if self.k is None else f"{name}@{self.k}"

    @property
    def _stem(self) -> str:
        """First part of the name."""
        return self.stem

    @property
    def depth(self) -> int:
        """Number of positions that count, as kernels take it."""
        return NO_CUTOFF if self.k is None else min(int(self.k), NO_CUTOFF)

    def on_scale(self, max_label: float) -> "Metric":
        """Return the metric for one of several sets of labels, of which ``max_label`` is highest.

        By default it is unchanged. A metric whose gains depend on the highest label in ``y`` takes
        this one instead, so that values of all sets can be compared and averaged.
        """
        return self

    @abstractmethod
    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return the gain of each document, which its label decides, by row."""

    def ideal(self, gains: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the largest total that each query can reach; 0 if it has no relevant document.

        A value is a query's total divided by this. ``gains`` are sorted by query, and query q has
        the gains from ``indptr[q]`` to ``indptr[q + 1]``. By default the ideal is 1, or 0 if no
        document has a gain.
        """
        return (count_relevant(gains, indptr) > 0).astype(np.float64)

    def ideal_of(self, gains: np.ndarray, groups: QueryGroups) -> np.ndarray:
        """Return :meth:`ideal` for gains that are sorted by query.

        A metric that knows more of the queries than their documents finds it by ``groups.ids``.
        """
        return self.ideal(gains, groups.indptr)

    def discounts(self, n_positions: int) -> np.ndarray:
        """Return the discount of each of the first ``n_positions`` positions.

        Empty if none is used.
        """
        return np.empty(0)

    def totals(
        self, scores: np.ndarray, gains: np.ndarray, indptr: np.ndarray, ties: str
    ) -> np.ndarray:
        """Rank the documents of each query by their scores; return each list's total, undivided.

        Scores and gains are sorted by query, and query q has the rows from ``indptr[q]`` to
        ``indptr[q + 1]``. ``ties`` is a key of ``TIES``.
        """
        kernel = totals_kernel(type(self).list_total)
        discounts = self.discounts(min(self.depth, np.diff(indptr).max()))
        total = np.empty(len(indptr) - 1)
        settings = self.depth, *TIES[ties], discounts
        in_parts(kernel, indptr, scores, gains, indptr, *settings, total)
        return total

    def __call__(self, y: ArrayLike, scores: ArrayLike, qid: ByRow = None) -> float:
        """Return the mean over queries; NaN, with a warning, if all of them are left out."""
        refuse_estimator(repr(self.name), y)
        return mean_value(self.per_query(y, scores, qid), self.name)

    @property
    def of_nothing(self) -> float:
        """Value of a query without a relevant document; NaN for ``"exclude"``."""
        return np.nan if self.no_relevant == "exclude" else float(self.no_relevant)

    @check_arguments
    def per_query(self, y: ArrayLike, scores: ArrayLike, qid: Queries = None) -> np.ndarray:
        """Return one value per query, in the order of ``np.unique(qid)``.

        Unjudged documents (NaN) are removed from the list. The value of a query without any judged
        document is NaN, so that means leave it out.
        """
        labels = check_column("y", y, some_unjudged=True, or_table=True)
        warn_without_qid(qid, len(labels))
        judged = np.flatnonzero(~np.isnan(labels))
        if len(judged) == len(labels):
            return self._prepare(y, qid).per_query(scores)
        groups = QueryGroups.from_qid(qid, len(labels))
        values = np.full(groups.n_queries, np.nan)
        scores = check_column("scores", scores, len(labels))[judged]
        prepared = self._prepare(labels[judged], groups.take(judged))
        values[np.unique(groups.codes[judged])] = prepared.per_query(scores)
        return values

    @check_arguments
    def prepared(self, y: ArrayLike, qid: Queries = None) -> "PreparedMetric":
        """Return a :class:`PreparedMetric`, which maps scores to the metric, for many calls.

        Labels are checked and sorted by query once. If no query has a relevant document, that is an
        error: early stopping could not use it. Labels must be finite: leave unjudged documents
        (NaN) out of all columns.
        """
        prepared = self._prepare(y, qid)
        if not prepared.ideal.any():
            raise self.nothing_to_find(len(prepared.gains))
        return prepared

    def nothing_to_find(self, n_documents: int) -> ValueError:
        """Return the error of labels among which no query has a relevant document."""
        return ValueError(
            f"y must define {shortened(self.name, 100)} for at least one query; got {n_documents} "
            "documents without relevance."
        )

    def prepared_part(self, gains: np.ndarray, groups: QueryGroups) -> "PreparedMetric":
        """Return the metric for the documents of some queries, ``groups``, which may be none.

        ``gains`` are the gains of these documents by row; they are passed since they may depend on
        all labels, such as on the highest.
        """
        gains = groups.sorted(gains)
        ideal = self.ideal_of(gains, groups) if groups.n_queries else gains
        return PreparedMetric(self, groups, gains, ideal)

    def _prepare(self, y: ArrayLike, qid: Queries) -> "PreparedMetric":
        labels = check_column("y", y, advice=JUDGED_ALONE, or_table=True)
        groups = QueryGroups.from_qid(qid, len(labels))
        gains = groups.sorted(self.gains(labels))
        return PreparedMetric(self, groups, gains, self.ideal_of(gains, groups))


@dataclass(frozen=True, eq=False)
class PreparedMetric:
    """A metric with labels: ``prepared(scores)`` is the mean over queries.

    Attributes
    ----------
    metric : Metric
        The metric.
    groups : QueryGroups
        Rows of each query.
    gains : ndarray of shape (n_documents,)
        Gains of the documents, sorted by query.
    ideal : ndarray of shape (n_queries,)
        Largest total that each query can reach, 0 if it has no relevant document.

    Examples
    --------
    >>> from treerank.metrics import NDCG
    >>> prepared = NDCG().prepared([0, 1, 2])
    >>> prepared([0.1, 0.2, 0.3]), prepared([0.3, 0.2, 0.1])
    (1.0, 0.58688267143572)
    """

    metric: Metric
    groups: QueryGroups
    gains: np.ndarray
    ideal: np.ndarray

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores: ArrayLike) -> float:
        """Return the mean over queries."""
        return mean_value(self.per_query(scores), self.name)

    def per_query(self, scores: ArrayLike) -> np.ndarray:
        """Return one value per query, in the order of ``groups``.

        An empty array without queries.
        """
        if len(self.gains) == 0:  # of a part without queries
            return self.ideal
        scores = check_column("scores", scores, len(self.gains))
        values = np.full(len(self.ideal), self.metric.of_nothing)
        with threads_for(len(scores)):
            total = self.metric.totals(
                self.groups.sorted(scores), self.gains, self.groups.indptr, self.metric.ties
            )
        np.divide(total, self.ideal, out=values, where=self.ideal > 0)
        # Rounding may put a perfect ranking slightly above 1.
        return np.minimum(values, 1.0, out=values, where=self.ideal > 0)


def _shown(value: Any) -> Any:
    """Return a setting as a metric's name shows it: a NumPy number becomes a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def refuse_estimator(metric: str, y: Any) -> None:
    """Raise an error if ``y`` is an estimator, as scikit-learn's ``scoring=`` would pass it.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> refuse_estimator("'ndcg@5'", RankSVM())
    Traceback (most recent call last):
    ...
    TypeError: y must be labels; got RankSVM(). scoring= of scikit-learn takes \
treerank.metrics.RankingScorer('ndcg@5').
    """
    if hasattr(y, "predict"):
        advice = f"scoring= of scikit-learn takes treerank.metrics.RankingScorer({metric})."
        raise TypeError(f"y must be labels; got {quote(y)}. {advice}")


def mean_value(values: np.ndarray, name: str, weight: np.ndarray | None = None) -> float:
    """Return the weighted mean of values that are not NaN; NaN, with a warning, if there are none.

    Examples
    --------
    >>> mean_value(np.array([0.5, np.nan, 1.0]), "map", weight=np.array([3.0, 1.0, 1.0]))
    0.625
    """
    counted = ~np.isnan(values)
    values, weight = values[counted], None if weight is None else weight[counted]
    if len(values) == 0 or (weight is not None and not weight.any()):
        with_weight = "" if weight is None else " of positive weight"
        message = f"{name} is undefined for every query{with_weight}."
        warn_user(message, UndefinedMetricWarning)
        return math.nan
    if weight is None:
        return math.fsum(values) / len(values)  # does not depend on the order of queries
    return float(np.average(values, weights=weight))


def exact_sum(values: np.ndarray) -> list[float]:
    """Return a few floats with the same exact sum as all values, so that parts can be added later.

    Examples
    --------
    >>> exact_sum(np.array([1e17, 1.0]))
    [1e+17, 1.0]
    """
    terms, partial_sums = values.tolist(), []
    while remainder := math.fsum(terms):
        partial_sums.append(remainder)
        terms.append(-remainder)
    return partial_sums
