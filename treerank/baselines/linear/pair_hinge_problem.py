r"""Pair hinge problem: the minimization of RankSVM, by truncated Newton steps.

The direction of a step comes from conjugate gradients on the curvature of the active pairs, none
of which is ever stored (:mod:`treerank.baselines.linear.active_pairs`). The penalty makes the
problem strongly convex, so half the squared gradient bounds the distance to the optimum: the
solver stops when it is certain to be near enough.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treerank.baselines.linear.active_pairs import (
    ActivePairs,
    PairSides,
    active_pairs,
    curvature_product,
    squared_hinges,
)
from treerank.baselines.linear.conjugate_gradients import conjugate_gradients
from treerank.baselines.linear.products import linear_scores, transposed_product


@dataclass(frozen=True, eq=False)
class PairHingeProblem:
    """Half the squared length of the weights plus C times the mean squared hinge of all pairs.

    Attributes
    ----------
    Z : ndarray of shape (n_documents, n_features)
        Standard features.
    sides : PairSides
        Which documents form a pair, and the weights of pairs.
    C : float
        Weight of the loss.
    """

    Z: np.ndarray
    sides: PairSides
    C: float

    def solve(self, tolerance: float, max_iter: int) -> tuple[np.ndarray, float, int, bool]:
        """Return weights, value, number of Newton steps and whether the value is near enough."""
        weight, scores = np.zeros(self.Z.shape[1]), np.zeros(len(self.Z))
        value, slope, active = self._value(weight, scores)
        for n_steps in range(max_iter):
            gradient = weight + transposed_product(self.Z, slope)
            if 0.5 * (gradient @ gradient) <= tolerance / (1 + tolerance) * value:
                return weight, value, n_steps, True
            step = conjugate_gradients(self._curvature(active), -gradient, 0.1)
            along = linear_scores(self.Z, step, np.zeros(len(step)))
            descent = gradient @ step
            size, before = 1.0, value
            while size > 1e-10:
                moved = weight + size * step, scores + size * along
                value, slope, active = self._value(*moved)
                if value <= before + 1e-4 * size * descent:
                    break
                size /= 2
            weight, scores = moved
        return weight, value, max_iter, False

    def _value(
        self, weight: np.ndarray, scores: np.ndarray
    ) -> tuple[float, np.ndarray, ActivePairs]:
        """Return value, gradient of the loss by score, and active pairs."""
        active = active_pairs(scores, self.sides)
        loss, slope = squared_hinges(scores, self.sides, active)
        return 0.5 * float(weight @ weight) + self.C * loss, self.C * slope, active

    def _curvature(self, active: ActivePairs) -> Callable[[np.ndarray], np.ndarray]:
        def product(v):
            return v + self.C * curvature_product(self.Z, v, self.sides, active)

        return product
