r"""RankBoost: boosting on pairs, in time linear in the number of documents.

The distribution over pairs is :math:`D_{ij} \propto v_{ij} e^{-(s_i - s_j)}`, v being their
weights. A weak ranker h enters it through the potentials of single documents only. The
exponential loss gives them level by level (:mod:`treerank.objectives.kernels.level_sums`), so no
pair is visited:

.. math:: r = \sum_{ij} D_{ij} (h_i - h_j), \qquad
    \alpha = \tfrac12 \ln \frac{1 + r}{1 - r}.
"""

import math
from typing import ClassVar

from treerank.baselines.stumps.stump_ranker import StumpRanker

#: The error of a stump counts as at least this much, so that its weight is finite.
_LEAST_ERROR = 1e-6


class RankBoost(StumpRanker):
    """A sum of stumps that lowers the exponential loss of all pairs of different labels [1]_.

    The weight alpha is chosen in the third way of the paper. ``fit`` takes weights of documents,
    of queries and of your own pairs.

    Parameters
    ----------
    n_estimators : int, default=300
        Largest number of stumps.
    n_thresholds : int, default=254
        Number of thresholds per feature, at its quantiles.
    metric : str or Metric, default="ndcg@10"
        Metric that ``score`` measures and early stopping watches.
    early_stopping_rounds : int or None, default=None
        Stop after so many stumps without a better ``metric`` on the ``eval_set``, and keep those
        up to the best; None never stops.
    calibration : {"eval_set", None} or float, default="eval_set"
        Documents that pair probabilities are calibrated on; a float sets aside that share of the
        queries.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries set aside for calibration.

    Attributes
    ----------
    stumps_ : dict
        Arrays of the features, the thresholds, the outputs for missing values and the weights of
        the stumps.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per stump}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of stumps kept.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the weights of the stumps.

    References
    ----------
    .. [1] Freund, Iyer, Schapire and Singer (2003). An efficient boosting algorithm for combining
       preferences. JMLR 4.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = RankBoost(n_estimators=50).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.95
    True
    """

    _objective: ClassVar = {"loss": "exponential"}

    def _step(self, descent, is_above, r):
        if descent.value < 1e-300:  # every pair is right by a margin of hundreds
            return 0.0
        share = max(min(r / descent.value, 1 - _LEAST_ERROR), _LEAST_ERROR - 1)
        step = 0.5 * math.log((1 + share) / (1 - share))
        descent.move_to(descent.scores + step * is_above)
        return step
