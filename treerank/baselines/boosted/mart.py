"""MART: boosted trees that predict the label of each document by itself."""

from typing import Any

from treerank.baselines.boosted.boosted_ranker import BoostedRanker


class MART(BoostedRanker):
    """Learn to rank by regression: trees that lower the squared error of labels [1]_.

    The pointwise baseline: queries matter to the weights and to early stopping only.

    Parameters
    ----------
    n_trees : int, default=100
        Trees.
    **rest
        See :class:`~treerank.baselines.boosted.boosted_ranker.BoostedRanker`.

    References
    ----------
    .. [1] Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of
       Statistics 29.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(20), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> MART(20, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    loss: Any = "half_squared_error"
    weight: Any = None

    def __init__(self, n_trees=100, **rest):
        super().__init__(n_trees, **rest)
