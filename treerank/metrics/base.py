"""What a metric is: one number per query from labels and scores, then the mean over queries.

A metric is a frozen dataclass of its policies. It turns labels into the *worth* of each
document and names what it adds up over a ranked list (``of_list``, see
:mod:`treerank.metrics.ranked`) and what to divide that *total* by, the *ideal*; everything else
is done here, once. To add a metric, write such a class in a file of its own and list it in
:data:`treerank.metrics.registry.METRICS`: ``tests/test_metrics.py`` picks it up from there.
"""

import math
import numbers
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from treerank.checks import check_column, check_number
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.ranked import EVERYTHING, TIES, totals_kernel
from treerank.numerics.threads import threads_for

#: What a metric without discounts multiplies by.
NO_DISCOUNTS = np.empty(0)


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """Quality of a ranking, in [0, 1], higher better.

    ``metric(y, scores, qid)`` is the mean over queries. The sum is rounded once, so it depends
    neither on the order of rows (but for ``ties="stable"``) nor on the names of queries, nor on
    the number of threads, down to the last bit.

    Parameters
    ----------
    k : int or None, default=None
        Look at the first ``k`` positions only; ``None`` at all.
    ties : {"average", "pessimistic", "stable"}, default="average"
        Order of documents with equal scores: the exact expectation over random orders, or the
        worst order, or the order of the rows.
    no_relevant : "exclude" or float, default="exclude"
        Leave queries out of the mean that have nothing to find (their value is NaN), or
        the value they get.

    Attributes
    ----------
    name : str
        As in :func:`~treerank.metrics.registry.get_metric`, such as ``"ndcg@10"``.
    """

    k: int | None = None
    ties: str = "average"
    no_relevant: str | float = "exclude"

    stem: ClassVar[str]
    of_list: ClassVar[Callable]

    def __post_init__(self):
        if self.k is not None and (not isinstance(self.k, numbers.Integral) or self.k < 1):
            raise ValueError(f"k must be None or an integer of at least 1; got {self.k!r}.")
        if self.ties not in TIES:
            raise ValueError(f"ties must be one of {sorted(TIES)}; got {self.ties!r}.")
        if isinstance(self.no_relevant, str):
            if self.no_relevant != "exclude":
                raise ValueError(
                    f"no_relevant must be 'exclude' or a number; got {self.no_relevant!r}."
                )
        else:
            check_number("no_relevant", self.no_relevant)

    @property
    def name(self):
        """Name with the cutoff."""
        return self.stem if self.k is None else f"{self.stem}@{self.k}"

    @property
    def depth(self):
        """The number of positions to look at, as kernels want it."""
        return EVERYTHING if self.k is None else int(self.k)

    @abstractmethod
    def worth(self, y):
        """Return what each document is worth, by row."""

    @abstractmethod
    def ideal(self, worth, indptr):
        """Return what to divide the total of each query by; 0 where there is nothing to find."""

    def discounts(self, indptr):
        """Return the discount of each position that can matter, if it has discounts."""
        return NO_DISCOUNTS

    def added_up(self, scores, worth, indptr, ties):
        """Rank each query under a policy for ties and add up over its list."""
        kernel = totals_kernel(type(self).of_list)
        return kernel(scores, worth, indptr, self.depth, *TIES[ties], self.discounts(indptr))

    def __call__(self, y, scores, qid=None) -> float:
        """Return the mean over queries; NaN, with a warning, if all of them are left out."""
        return _mean(self.per_query(y, scores, qid), self.name)

    def per_query(self, y, scores, qid=None) -> np.ndarray:
        """Return one value per query, in the order of ``np.unique(qid)``."""
        return self._prepare(y, qid).per_query(scores)

    def prepared(self, y, qid=None) -> "PreparedMetric":
        """Return a function of the scores alone: labels are checked and sorted once.

        ``qid`` may be a :class:`~treerank.inputs.grouping.QueryGroups`. Refuses labels of which no
        query has anything to find, as they could not steer early stopping.
        """
        prepared = self._prepare(y, qid)
        if not prepared.ideal.any():
            raise ValueError(
                f"y must have something to find in at least one query to measure {self.name}; "
                f"got {len(prepared.worth)} documents without relevance."
            )
        return prepared

    def _prepare(self, y, qid):
        y = check_column("y", y)
        groups = qid if isinstance(qid, QueryGroups) else QueryGroups.from_qid(qid, len(y))
        if groups.n_documents != len(y):
            raise ValueError(
                f"qid must group as many documents as y has; got {groups.n_documents} for {len(y)}."
            )
        worth = groups.sorted(self.worth(y))
        return PreparedMetric(self, groups, worth, self.ideal(worth, groups.indptr))


@dataclass(frozen=True, eq=False)
class PreparedMetric:
    """A metric that knows the labels: ``prepared(scores)`` is a float.

    Attributes
    ----------
    metric : Metric
        What is measured.
    groups : QueryGroups
        Which rows form a query.
    worth : ndarray of shape (n_documents,)
        Worth of each document, sorted by query.
    ideal : ndarray of shape (n_queries,)
        Divisor of each query; 0 where there is nothing to find.
    """

    metric: Metric
    groups: QueryGroups
    worth: np.ndarray
    ideal: np.ndarray

    @property
    def name(self):
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores) -> float:
        """Return the mean over queries."""
        return _mean(self.per_query(scores), self.name)

    def per_query(self, scores) -> np.ndarray:
        """Return one value per query."""
        scores = check_column("scores", scores, len(self.worth))
        excluded = self.metric.no_relevant == "exclude"
        values = np.full(len(self.ideal), np.nan if excluded else float(self.metric.no_relevant))
        with threads_for(len(scores)):
            total = self.metric.added_up(
                self.groups.sorted(scores), self.worth, self.groups.indptr, self.metric.ties
            )
        np.divide(total, self.ideal, out=values, where=self.ideal > 0)
        # Rounding may carry a perfect ranking an ulp above 1.
        return np.minimum(values, 1.0, out=values, where=self.ideal > 0)


def evaluate(metric, y_true, y_score, qid, per_query):
    """Return the metric's mean or, on request, its value for each query."""
    prepared = metric._prepare(y_true, qid)
    return prepared.per_query(y_score) if per_query else prepared(y_score)


def _mean(values, name):
    """Average what is not NaN; the sum is rounded once, so the order of queries is no matter."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        message = f"{name} is undefined: no query has anything to find."
        warnings.warn(message, UndefinedMetricWarning, stacklevel=3)
        return math.nan
    return math.fsum(values) / len(values)
