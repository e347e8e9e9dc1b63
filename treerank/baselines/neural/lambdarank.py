"""LambdaRank: RankNet, with each pair weighed by how much swapping it would change a metric."""

from dataclasses import KW_ONLY, dataclass

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.objectives.pairs.weights import Weight
from treerank.parameters import Finite, Size


@dataclass(eq=False, repr=False)
class LambdaRank(NeuralRanker):
    """Learn to rank by a network on the logistic loss times the change of a metric [1]_.

    All other parameters, and the attributes, are those of
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric whose change weighs a pair.
    k : int, default=None
        Rank at which that metric is cut off; None counts whole lists.
    threshold : float, default=1.0
        Labels of at least this are relevant for "map" and "mrr".

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

    _: KW_ONLY
    weight: Weight = "ndcg"
    k: Size | None = None
    threshold: Finite = 1.0
