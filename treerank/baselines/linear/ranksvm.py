r"""RankSVM: linear weights that keep every pair of different labels a margin of 1 apart.

.. math:: \min_w \; \tfrac12 \|w\|^2 + C \, \frac{\sum_{ij} v_{ij} \max(0, 1 - w^T (x_i - x_j))^2}
    {\sum_{ij} v_{ij}}

over all pairs of a query with :math:`y_i > y_j`, or over your own pairs. It is a linear model under
the pair loss "squared_hinge" (:func:`~treerank.feature_parts.head_fitting.fit_head`).
"""

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.training_checks import warn_of_constant_model
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.head_fitting import fit_head
from treerank.files.states import number
from treerank.parameters import Positive
from treerank.rankers.training_objective import objective_of

#: Largest slope of a weight at the optimum.
_TOLERANCE = 1e-6


@estimator
class RankSVM(LinearRanker):
    """A linear ranker with a squared hinge on all pairs of a query [1]_ [2]_ [3]_ [4]_.

    ``fit`` accepts weights of documents and queries, and your own pairs.

    ``coef_`` and ``mean_`` are explained at
    :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. The loss is a mean over pairs of standard features, so the same C means
        the same for ten queries or a million, in any unit.
    normalized : bool, default=True
        Whether the pairs of every query have the same sum of weights, so that long queries do not
        count for more.

    Attributes
    ----------
    objective_ : float
        Value of the objective at these weights.

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

    _learned: ClassVar = LinearRanker._learned | {"objective_": number()}
    _stops_early: ClassVar = False

    C: Positive = 1.0
    _: KW_ONLY
    normalized: bool = True

    def _weigh(self, data, scale, held_out, seed):
        Z, normalization = scale.by_row(data.X, data.rows), "equal" if self.normalized else None
        settings = {"weight": "uniform", "query_normalization": normalization}
        objective = objective_of(data, seed, loss="squared_hinge", **settings)
        weight = fit_head(Z, objective, alpha=1 / self.C, scale=1.0, tolerance=_TOLERANCE)
        start = objective(np.zeros(len(Z)))[0]
        if start == 0:
            warn_of_constant_model("No query has two different labels")
        loss = objective(np.einsum("ij,j", Z, weight))[0] / start if start > 0 else 0.0
        self.objective_ = 0.5 * float(weight @ weight) + self.C * loss
        return weight
