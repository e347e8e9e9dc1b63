"""Pointwise losses: the price of each score against its own label, whatever the other documents.

To add one, derive from :class:`~treerank.objectives.lists.objective.ListwiseLoss`, write
``over_queries`` and list it in ``POINTWISE``.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.objectives.judgments import Judgments
from treerank.objectives.lists.objective import ListwiseLoss, ListwiseObjective, PricedQueries


@dataclass(frozen=True)
class HalfSquaredError(ListwiseLoss):
    r"""Half the squared distance of scores to labels, :math:`\tfrac12 v (s - y)^2`.

    Labels count from their mean, since a constant changes no ranking. So scores that start at
    zero start where the best constant is.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([0, 2, 4], [1, 1, 2], loss=HalfSquaredError())
    >>> value, gradient, hessian = objective(np.zeros(3))
    >>> value, gradient
    (4.0, array([ 2.,  0., -2.]))
    """

    head_weight: ClassVar[str] = "uniform"

    def bind(self, judgments: Judgments) -> ListwiseObjective:
        """Return the objective of judged documents, with labels that count from their mean."""
        y, groups = judgments.y, judgments.groups
        weight = judgments.sample_weight * judgments.query_weight[groups.codes]
        mean = float(np.average(y, weights=weight)) if weight.any() else 0.0
        return super().bind(judgments.labeled(y - mean))

    def order(self, judgments: Judgments) -> np.ndarray:
        """Return the rows as they are: no term looks at another document."""
        return np.arange(len(judgments.y))

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> PricedQueries:
        """Return the squared error of each document and its derivatives."""
        residual, weight = scores - lists.y, lists.weight
        return weight * residual**2 / 2, weight * residual, weight.copy()


#: Pointwise losses by name.
POINTWISE: dict[str, ListwiseLoss] = {"half_squared_error": HalfSquaredError()}
