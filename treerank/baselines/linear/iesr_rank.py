"""IESR-Rank: ES-Rank that starts from linear regression on the labels."""

import numpy as np

from treerank.baselines.linear.conjugate_gradients import conjugate_gradients
from treerank.baselines.linear.es_rank import ESRank
from treerank.baselines.linear.products import linear_scores, transposed_product

#: Share of the identity that keeps copies of a feature from making the equations singular.
_RIDGE = 1e-6


class IESRRank(ESRank):
    """A linear ranker whose weights evolve from those of least squares [1]_.

    ``fit`` takes weights of queries, and refuses weights of documents and pairs.

    The parameters and attributes are those of :class:`~treerank.baselines.linear.es_rank.ESRank`.

    References
    ----------
    .. [1] Ibrahim and Landa-Silva (2018). An evolutionary strategy with machine learning for
       learning to rank in information retrieval. Soft Computing 22.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> IESRRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    def _start(self, data, scale, rng):
        Z, y = scale.by_row(data.X, data.rows), data.y - data.y.mean()
        return least_squares(Z, y)


def least_squares(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of linear regression on features of mean 0."""

    def gram(v):
        along = linear_scores(Z, v, 0 * v)
        return transposed_product(Z, along) / len(Z) + _RIDGE * v

    return conjugate_gradients(gram, transposed_product(Z, y) / len(Z), 1e-6)
