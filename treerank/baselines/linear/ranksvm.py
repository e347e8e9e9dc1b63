r"""RankSVM: linear weights that keep every pair of different labels a margin of 1 apart.

.. math:: \min_w \; \tfrac12 \|w\|^2 + C \, \frac{\sum_{ij} v_{ij} \max(0, 1 - w^T (x_i - x_j))^2}
    {\sum_{ij} v_{ij}}

over all pairs of a query with :math:`y_i > y_j`, by truncated Newton: conjugate gradients on the
curvature of the active pairs, none of which is ever stored
(:mod:`treerank.baselines.linear.active_pairs`). The penalty makes the problem strongly convex, so half
the squared gradient bounds the distance to the optimum: the solver stops when that is certain.
"""

import warnings
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from treerank.baselines.fitting import refuse_weights, warn_of_nothing_to_learn
from treerank.baselines.linear.active_pairs import (
    PairSides,
    active_pairs,
    curvature_product,
    squared_hinges,
    transposed_product,
)
from treerank.baselines.linear.conjugate_gradients import conjugate_gradients
from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.standard_features import linear_scores
from treerank.checks import check_count


class RankSVM(LinearRanker):
    """A linear ranker with a squared hinge on all pairs of a query.

    Weights of documents and queries have a meaning; a list of pairs is refused.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a mean over pairs of standard features: the same C means the
        same for ten queries or a million, in any unit.
    normalized : bool, default=True
        Whether the pairs of every query have the same sum of weights, lest long queries decide.
    tolerance : float, default=1e-3
        Stop when the objective is certain to be within this share of the optimum.
    max_iter : int, default=100
        Largest number of Newton steps; a ConvergenceWarning says when they were too few.
    calibration : "eval_set", float or None, default="eval_set"
        See :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.
    random_state : int, RandomState instance or None, default=None
        Seeds the queries held out for calibration.

    Attributes
    ----------
    coef_, mean_ : ndarray of shape (n_features,)
        See :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.
    objective_ : float
        The value reached.
    n_iter_ : int
        Newton steps.

    References
    ----------
    Herbrich, Graepel and Obermayer (2000), Large margin rank boundaries for ordinal regression;
    Joachims (2002), Optimizing search engines using clickthrough data; Chapelle and Keerthi
    (2010), Efficient algorithms for ranking with SVMs; Lee and Lin (2014), Large-scale linear
    RankSVM.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> ranker = RankSVM().fit(X, X[:, 0] - 2 * X[:, 1], qid)
    >>> (ranker.coef_ / ranker.coef_[0]).round() + 0.0
    array([ 1., -2.,  0.])
    """

    _learned: ClassVar[tuple[str, ...]] = ("coef_", "mean_", "objective_", "n_iter_")

    def __init__(
        self,
        C=1.0,
        *,
        normalized=True,
        tolerance=1e-3,
        max_iter=100,
        calibration="eval_set",
        random_state=None,
    ):
        self.C = C
        self.normalized = normalized
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.calibration = calibration
        self.random_state = random_state

    def _weigh(self, data, scale, held_out, seed):
        refuse_weights(self, data, {"given_pairs": "it knows pairs by their documents' labels"})
        sides = PairSides.of(data, self.normalized)
        if not sides.factor.any():
            warn_of_nothing_to_learn("No query has two different labels")
        problem = Problem(scale.by_row(data.X, data.rows), sides, self.C)
        weight, self.objective_, self.n_iter_, done = problem.solve(self.tolerance, self.max_iter)
        if not done:
            warnings.warn(
                f"RankSVM is not certain to be within {self.tolerance} of the optimum after "
                f"{self.n_iter_} Newton steps; raise max_iter or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return weight

    def _check_settings(self):
        super()._check_settings()
        check_count("max_iter", self.max_iter)
        for name in ("C", "tolerance"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 < float(value) < np.inf):
                raise ValueError(f"{name} must be positive and finite; got {value!r}.")


class Problem:
    """The minimization, on standard features by row."""

    def __init__(self, Z, sides, C):
        self.Z, self.sides, self.C = Z, sides, C

    def solve(self, tolerance, max_iter):
        """Return weights, value, number of Newton steps and whether the value is near enough."""
        weight, scores = np.zeros(self.Z.shape[1]), np.zeros(len(self.Z))
        value, slope, active = self._value(weight, scores)
        for n_steps in range(max_iter):
            gradient = weight + transposed_product(self.Z, slope)
            if 0.5 * (gradient @ gradient) <= tolerance / (1 + tolerance) * value:
                return weight, value, n_steps, True
            step = conjugate_gradients(self._curvature(active), -gradient, 0.1)
            along = self._scores(step)
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

    def _value(self, weight, scores):
        """Return value, gradient of the loss by score, and active pairs."""
        active = active_pairs(scores, self.sides)
        loss, slope = squared_hinges(scores, self.sides, active)
        return 0.5 * float(weight @ weight) + self.C * loss, self.C * slope, active

    def _curvature(self, active):
        def product(v):
            return v + self.C * curvature_product(self.Z, v, self.sides, active)

        return product

    def _scores(self, weight):
        return linear_scores(self.Z, weight, np.zeros(len(weight)))
