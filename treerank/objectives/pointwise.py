"""Pointwise objectives: the price of each score against its own label, whatever its rivals.

Labels count from their mean, since a constant changes no ranking; so scores that start at zero
start where the best constant is.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.inputs.grouping import QueryGroups


@dataclass(frozen=True, eq=False)
class HalfSquaredError:
    r"""Half the squared distance of scores to labels, :math:`\tfrac12 v (s - y)^2` in all.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Labels.
    groups : QueryGroups
        Which rows form a query.
    weight : ndarray of shape (n_documents,)
        Weight v of each document.
    origin : float
        Where labels count from.

    Examples
    --------
    >>> objective = half_squared_error([0.0, 2.0, 4.0], [1, 1, 2])
    >>> value, gradient, hessian = objective(np.zeros(3))
    >>> value, gradient
    (4.0, array([ 2.,  0., -2.]))
    """

    y: np.ndarray
    groups: QueryGroups
    weight: np.ndarray
    origin: float

    n_outputs: ClassVar[int] = 1

    def __call__(self, scores, *, iteration=0):
        """Return value, gradient and hessian."""
        gradient, hessian = self.derivatives(scores)
        residual = self._residual(scores)
        return 0.5 * float(np.sum(self.weight * residual**2)), gradient, hessian

    def derivatives(self, scores, *, iteration=0):
        """Return gradient and hessian."""
        return self.weight * self._residual(scores), self.weight.copy()

    def restricted_to(self, queries):
        """Return the part of the given queries, with labels that count from where they did."""
        kept = self.groups.restricted_to(queries)
        groups = QueryGroups(None, kept.indptr)
        order = kept.order
        return HalfSquaredError(self.y[order], groups, self.weight[order], self.origin)

    def _residual(self, scores):
        return np.asarray(scores, dtype=np.float64).reshape(-1) - (self.y - self.origin)


def half_squared_error(y, qid=None, *, sample_weight=None, query_weight=None):
    """Make the squared error of labels; weights are one per row and multiply.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels.
    qid : array-like of shape (n_documents,), default=None
        Query of each row.
    sample_weight, query_weight : array-like of shape (n_documents,), default=None
        Weights.
    """
    y = np.asarray(y, dtype=np.float64)
    weight = np.ones(len(y))
    for given in (sample_weight, query_weight):
        if given is not None:
            weight = weight * np.asarray(given, dtype=np.float64)
    origin = float(np.average(y, weights=weight))
    return HalfSquaredError(y, QueryGroups.from_qid(qid, len(y)), weight, origin)
