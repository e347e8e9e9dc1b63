r"""FRank: generalized additive stumps under the fidelity loss.

.. math:: \sum_q \frac{1}{\#_q} \sum_{ij} \Bigl(1 - \sqrt{p_{ij}}\Bigr), \qquad
    p_{ij} = \frac{1}{1 + e^{-(s_i - s_j)}}

over the pairs of each query of different labels, of which there are #. The loss of a pair is
bounded, so that hopeless pairs do not dominate. It is not convex, so a step has no closed form:
among 1, 1/2, 1/4, ... (up to twice the last step), the longest step is taken after which the loss
still falls.
"""

from typing import ClassVar

from treerank.baselines.stumps.stump_ranker import StumpRanker

_SHORTEST = 2.0**-20


class FRank(StumpRanker):
    """A sum of stumps that lowers the fidelity loss, every query counting the same [1]_.

    The bound of the paper for the length of a step is replaced by a search. ``fit`` takes weights
    of documents, of queries and of your own pairs.

    The parameters and attributes are those of
    :class:`~treerank.baselines.stumps.stump_ranker.StumpRanker`.

    References
    ----------
    .. [1] Tsai, Liu, Qin, Chen and Ma (2007). FRank: a ranking method with fidelity loss. SIGIR.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = FRank(n_estimators=50).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.95
    True
    """

    _objective: ClassVar = {"loss": "fidelity", "weight": "query"}

    def _step(self, descent, is_above, r):
        start, sign = descent.scores, 1.0 if r > 0 else -1.0
        size = min(1.0, 2 * descent.last_size)
        while size >= _SHORTEST:
            descent.move_to(start + sign * size * is_above)
            if sign * descent.potentials[is_above].sum() >= 0:
                descent.last_size = size
                return sign * size
            size /= 2
        return 0.0
