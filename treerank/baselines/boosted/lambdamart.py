"""LambdaMART: boosted trees on the logistic loss times what a swap would change in a metric."""

from dataclasses import KW_ONLY, dataclass

from treerank.baselines.boosted.boosted_ranker import BoostedRanker
from treerank.objectives.pairs.weights import Weight
from treerank.parameters import NotNegative, Positive, Size


@dataclass(eq=False, repr=False)
class LambdaMART(BoostedRanker):
    """Learn to rank by trees fitted to lambdas [1]_, on the histogram trees of this package.

    Each tree is a Newton step on the logistic loss of all pairs of a query. A pair is weighed by
    how much swapping its documents would change the metric. Documents of equal scores are ranked
    in expectation, so neither the order of rows nor that of queries matters.

    All other parameters, and the attributes, are those of
    :class:`~treerank.baselines.boosted.boosted_ranker.BoostedRanker`.

    Parameters
    ----------
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric whose change weighs a pair.
    k : int, default=None
        Rank at which that metric is cut off; None counts whole lists.
    smoothing : float, default=1.0
        Scale of Gumbel noise on the scores that ranks come from, drawn anew for every tree. The
        paper has none, which is 0. Choose it by validation.
    sigma : float, default=1.0
        Steepness of the logistic loss.

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
    >>> LambdaMART(20, learning_rate=0.1, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    loss, pairs = "logistic", "all"

    _: KW_ONLY
    weight: Weight = "ndcg"
    k: Size | None = None
    smoothing: NotNegative = 1.0
    sigma: Positive = 1.0
