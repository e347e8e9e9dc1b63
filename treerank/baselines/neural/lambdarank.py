"""LambdaRank: RankNet, with each pair weighed by what swapping it would change in a metric."""

from treerank.baselines.neural.neural_ranker import NeuralRanker


class LambdaRank(NeuralRanker):
    """Learn to rank by a network on the logistic loss times the change of a metric [1]_.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
        Units of each hidden layer.
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric.
    k : int, default=None
        Where the metric is cut off; None looks at whole lists.
    threshold : float, default=1.0
        Labels from here on are relevant for "map" and "mrr".
    **rest
        See :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    References
    ----------
    .. [1] Burges, Ragno and Le (2006). Learning to rank with nonsmooth cost functions. NIPS.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> LambdaRank(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, pairs = "logistic", "all"

    def __init__(self, hidden=(64, 32), *, weight="ndcg", k=None, threshold=1.0, **rest):
        super().__init__(hidden, **rest)
        self.weight = weight
        self.k = k
        self.threshold = threshold
