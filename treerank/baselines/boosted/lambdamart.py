"""LambdaMART: boosted trees on the logistic loss times what a swap would change in a metric."""

from treerank.baselines.boosted.boosted_ranker import BoostedRanker


class LambdaMART(BoostedRanker):
    """Learn to rank by trees grown on lambdas [1]_, with the trees of our own engine.

    Each tree is a Newton step on the logistic loss of all pairs of a query, a pair weighed by
    what swapping its documents would change in the metric. Documents of equal scores are ranked
    in expectation, so neither the order of rows nor that of queries matters.

    Parameters
    ----------
    n_trees : int, default=100
        Trees.
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric.
    k : int, default=None
        Where the metric is cut off; None looks at whole lists.
    smoothing : float, default=1.0
        Scale of Gumbel noise on the scores that ranks come from, drawn anew for every tree. The
        paper has none, which is 0; some helped on the data it was tried on.
    sigma : float, default=1.0
        Steepness of the logistic loss.
    **rest
        See :class:`~treerank.baselines.boosted.boosted_ranker.BoostedRanker`.

    References
    ----------
    .. [1] Wu, Burges, Svore and Gao (2010). Adapting boosting for information retrieval measures.
       Information Retrieval 13.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(20), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> LambdaMART(20, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    loss, pairs = "logistic", "all"

    def __init__(self, n_trees=100, *, weight="ndcg", k=None, smoothing=1.0, sigma=1.0, **rest):
        super().__init__(n_trees, **rest)
        self.weight = weight
        self.k = k
        self.smoothing = smoothing
        self.sigma = sigma
