"""Held-out documents: what early stopping and calibration look at, and training never does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups


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
        ``metric(scores)`` is the quality of the scores of these documents, higher better.
    """

    X: Any
    y: np.ndarray
    groups: QueryGroups
    metric: Callable[[np.ndarray], float] | None = None

    @property
    def has_pairs(self) -> bool:
        """Whether any query holds two different labels."""
        return bool(self.groups.with_two_labels(self.y).any())

    @property
    def validation(self) -> Any:
        """The features and the metric: all that a feature part may see."""
        return self.X, self.metric

    def taking(self, rows: np.ndarray) -> "HeldOut":
        """Return the given documents alone, without a metric."""
        return HeldOut(self.X[rows], self.y[rows], self.groups.among(rows))
