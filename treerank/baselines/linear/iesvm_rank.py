"""IESVM-Rank: ES-Rank that starts from RankSVM."""

from treerank.baselines.linear.es_rank import ESRank
from treerank.baselines.linear.ranksvm import RankSVM


class IESVMRank(ESRank):
    """A linear ranker whose weights evolve from those of RankSVM with its default settings [1]_.

    ``fit`` takes weights of queries, and refuses weights of documents and pairs.

    The parameters and attributes are those of :class:`~treerank.baselines.linear.es_rank.ESRank`.

    References
    ----------
    .. [1] Ibrahim and Landa-Silva (2018). An evolutionary strategy with machine learning for
       learning to rank in information retrieval. Soft Computing 22.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> IESVMRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    def _start(self, data, scale, rng):
        return RankSVM()._weigh(data, scale, None, 0)
