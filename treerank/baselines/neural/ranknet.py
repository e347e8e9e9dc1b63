"""RankNet: a network under the cross entropy of pair probabilities."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from treerank.baselines.neural.neural_ranker import NeuralRanker


@dataclass(eq=False, repr=False)
class RankNet(NeuralRanker):
    """Learn to rank by gradient descent on the logistic loss of all pairs [1]_.

    The gradient of all pairs of a query is added up by document before it goes through the
    network, once per document instead of twice per pair [2]_. Target probabilities other than
    1 are given to ``fit`` as the fourth column of ``given_pairs``, see
    :func:`~treerank.objectives.chained_probabilities`. The paper takes pairs one by one at a rate
    of 0.001, here batches are taken. Its rate falls by ``decay="adaptive"``, which is not the
    default.

    All other parameters, and the attributes, are those of
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    hidden : sequence of int, default=(10,)
        Units of each hidden layer; the paper has one of ten, or none.
    start : {"small", "glorot", "zero"}, default="zero"
        Weights before training, see :class:`~treerank.feature_parts.networks.mlp.MLP`.
    batch_size : int, default=256
        Documents of a batch: whole queries, or pieces of larger queries.
    optimizer : {"adam", "adamw", "sgd"}, default="sgd"
        Method of gradient descent.
    learning_rate : float, default=0.1
        Length of the first steps.
    momentum : float, default=0.9
        Momentum of "sgd".

    References
    ----------
    .. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to
       rank using gradient descent. ICML.
    .. [2] Burges (2010). From RankNet to LambdaRank to LambdaMART: an overview. MSR-TR-2010-82.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> RankNet((), random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, weight, pairs = "logistic", "uniform", "all"

    hidden: Sequence[int] = (10,)
    _: KW_ONLY
    start: str = "zero"
    optimizer: str = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    batch_size: int = 256
