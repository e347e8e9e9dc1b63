r"""RankBoost: boosting on pairs, in time linear in the number of documents.

The distribution over pairs is :math:`D_{ij} \propto v_{ij} e^{-(s_i - s_j)}`, v being their
weights. A weak ranker h enters it through the potentials of single documents only. The
exponential loss gives them level by level
(:mod:`treerank.objectives.pairs.kernels.level_sums`), so no pair is visited:

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

    The parameters and attributes are those of
    :class:`~treerank.baselines.stumps.stump_ranker.StumpRanker`.

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
