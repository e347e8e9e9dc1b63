r"""RankSVM: linear weights that keep every pair of different labels a margin of 1 apart.

.. math:: \min_w \; \tfrac12 \|w\|^2 + C \, \frac{\sum_{ij} v_{ij} \max(0, 1 - w^T (x_i - x_j))^2}
    {\sum_{ij} v_{ij}}

over all pairs of a query with :math:`y_i > y_j`, by truncated Newton steps
(:mod:`treerank.baselines.linear.pair_hinge_problem`).
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from sklearn.exceptions import ConvergenceWarning

from treerank.baselines.linear.active_pairs import PairSides
from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.pair_hinge_problem import PairHingeProblem
from treerank.baselines.training_checks import refuse_weights, warn_of_constant_model
from treerank.files.states import count, number
from treerank.parameters import Count, Positive, Seed
from treerank.rankers.calibration import Calibration


@dataclass(eq=False, repr=False)
class RankSVM(LinearRanker):
    """A linear ranker with a squared hinge on all pairs of a query [1]_ [2]_ [3]_ [4]_.

    ``fit`` takes weights of documents and queries, and refuses a list of pairs.

    ``calibration`` is explained at :class:`~treerank.rankers.ranker.Ranker`, ``coef_`` and
    ``mean_`` at :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. The loss is a mean over pairs of standard features, so the same C means
        the same for ten queries or a million, in any unit.
    normalized : bool, default=True
        Whether the pairs of every query have the same sum of weights, so that long queries do not
        count for more.
    tolerance : float, default=1e-3
        Stop when the objective is certain to be within this share of the optimum.
    max_iter : int, default=100
        Largest number of Newton steps; a ConvergenceWarning says when they were too few.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries set aside for calibration.

    Attributes
    ----------
    objective_ : float
        Value of the objective at these weights.
    n_iter_ : int
        Number of Newton steps.

    References
    ----------
    .. [1] Herbrich, Graepel and Obermayer (2000). Large margin rank boundaries for ordinal
       regression. Advances in Large Margin Classifiers.
    .. [2] Joachims (2002). Optimizing search engines using clickthrough data. KDD.
    .. [3] Chapelle and Keerthi (2010). Efficient algorithms for ranking with SVMs. Information
       Retrieval 13.
    .. [4] Lee and Lin (2014). Large-scale linear RankSVM. Neural Computation 26.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> ranker = RankSVM().fit(X, X[:, 0] - 2 * X[:, 1], qid)
    >>> (ranker.coef_ / ranker.coef_[0]).round() + 0.0
    array([ 1., -2.,  0.])
    """

    _learned: ClassVar = LinearRanker._learned | {"objective_": number(), "n_iter_": count()}

    C: Positive = 1.0
    _: KW_ONLY
    normalized: bool = True
    tolerance: Positive = 1e-3
    max_iter: Count = 100
    calibration: Calibration = "eval_set"
    random_state: Seed = None

    def _weigh(self, data, scale, held_out, seed):
        refuse_weights(self, data, {"given_pairs": "it knows pairs by their documents' labels"})
        sides = PairSides.of(data, self.normalized)
        if not sides.factor.any():
            warn_of_constant_model("No query has two different labels")
        problem = PairHingeProblem(scale.by_row(data.X, data.rows), sides, self.C)
        weight, self.objective_, self.n_iter_, done = problem.solve(self.tolerance, self.max_iter)
        if not done:
            warnings.warn(
                f"RankSVM is not certain to be within {self.tolerance} of the optimum after "
                f"{self.n_iter_} Newton steps; raise max_iter or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return weight
