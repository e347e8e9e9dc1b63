"""Held-out documents: early stopping and calibration use them, training does not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from treerank.feature_parts.base import Validation
from treerank.inputs.grouping import QueryGroups
from treerank.team import current_team

#: X, y and qid of an ``eval_set`` as the user has passed them.
EvalSet = tuple[Any, Any, Any]


@dataclass(frozen=True)
class MetricOfSum:
    """A metric of the sum of several outputs.

    Attributes
    ----------
    metric : callable
        ``metric(scores)``, with a ``name``.
    """

    metric: Any

    @property
    def name(self) -> str:
        """Name of the metric."""
        return str(self.metric.name)

    def __call__(self, outputs: np.ndarray) -> float:
        """Return the value of the metric."""
        return float(self.metric(outputs.reshape(len(outputs), -1).sum(axis=1)))


@final
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents with labels that a ranker is not fitted to.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels.
    groups : QueryGroups
        Queries of the documents.
    metric : callable or None
        ``metric(scores)`` is the quality of the scores of these documents; higher is better.
    """

    X: Any
    y: np.ndarray
    groups: QueryGroups
    metric: Callable[[np.ndarray], float] | None = None

    @property
    def has_pairs(self) -> bool:
        """Whether any query of any worker holds two different labels."""
        return any(current_team().gather(bool(self.groups.with_two_labels(self.y).any())))

    def of_team(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, QueryGroups]:
        """Return scores, labels and queries of the documents of all workers, given own scores."""
        if current_team().size == 1:
            return scores, self.y, self.groups
        parts = current_team().gather((scores, self.y, self.groups.codes, self.groups.n_queries))
        every, y, codes, n_queries = zip(*parts, strict=True)
        firsts = np.cumsum(n_queries) - n_queries
        qid = np.concatenate([own + first for own, first in zip(codes, firsts, strict=True)])
        return np.concatenate(every), np.concatenate(y), QueryGroups.from_qid(qid)

    def validation(self, n_outputs: int) -> Validation:
        """Return features and metric for a feature part under an objective of ``n_outputs``."""
        assert self.metric is not None
        return self.X, self.metric if n_outputs == 1 else MetricOfSum(self.metric)

    def taking(self, rows: np.ndarray) -> Self:
        """Return the given documents alone, without a metric."""
        return type(self)(self.X[rows], self.y[rows], self.groups.among(rows))
