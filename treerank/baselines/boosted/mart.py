"""MART: boosted trees that predict the label of each document by itself."""

from treerank.baselines.boosted.boosted_ranker import BoostedRanker


class MART(BoostedRanker):
    """Learn to rank by regression: trees that lower the squared error of labels [1]_.

    This is the pointwise baseline: queries matter to the weights and to early stopping only.

    The parameters and attributes are those of
    :class:`~treerank.baselines.boosted.boosted_ranker.BoostedRanker`.

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
    >>> MART(20, learning_rate=0.1, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    loss, weight = "half_squared_error", None
