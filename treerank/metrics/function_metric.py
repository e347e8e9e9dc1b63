"""Function metrics: a user's function of labels, scores and query ids, used like a metric."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, check_signature, shown
from treerank.inputs.grouping import QueryGroups


@dataclass(frozen=True)
class FunctionMetric:
    """A user's function ``f(y, scores, qid) -> float`` with the methods of a metric.

    Parameters
    ----------
    function : callable
        Higher is better. It gets ``qid=None`` for a single query.

    Examples
    --------
    >>> def first_label(y, scores, qid=None):
    ...     return y[np.argmax(scores)]
    >>> metric = FunctionMetric(first_label)
    >>> metric.name, metric([0, 1, 2], [0.3, 0.2, 0.1])
    ('first_label', 0.0)
    """

    function: Callable[[Any, Any, Any], float]

    def __post_init__(self) -> None:
        """Refuse a function of other arguments before anything is trained."""
        check_signature("metric", self.function, "y", "scores", "qid")

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the value of the function."""
        value = self.function(y, scores, qid)
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"metric {self.name!r} must return a number; got {shown(value)}."
            ) from error

    def per_query(
        self, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the value of the function on each query alone."""
        y, scores = np.asarray(y), np.asarray(scores)
        groups = QueryGroups.from_qid(qid, len(y))
        rows = np.split(groups.order, groups.indptr[1:-1])
        return np.array([self(y[r], scores[r]) for r in rows])

    def prepared(
        self, y: ArrayLike, qid: ArrayLike | QueryGroups | None = None
    ) -> "PreparedFunction":
        """Return a function of the scores alone."""
        qid = qid.codes if isinstance(qid, QueryGroups) else qid
        return PreparedFunction(self, check_column("y", y), qid)


@dataclass(frozen=True, eq=False)
class PreparedFunction:
    """A function metric that knows the labels: ``prepared(scores)`` is a float."""

    metric: FunctionMetric
    y: np.ndarray
    qid: ArrayLike | None

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores: ArrayLike) -> float:
        """Return the value of the function."""
        return self.metric(self.y, scores, self.qid)
