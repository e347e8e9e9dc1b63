"""ListNet and ListNet*: networks under the cross entropy of top-one probabilities."""

from collections.abc import Sequence
from dataclasses import KW_ONLY

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.feature_parts.estimator import estimator


@estimator
class ListNet(NeuralRanker):
    """ListNet as published [1]_: a linear ranker, fitted to the listwise cross entropy.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    hidden : sequence of int, default=()
        Units of each hidden layer; none at all is a linear ranker.
    batch_size : int, default=256
        Documents of a batch: whole queries, or pieces of larger queries.
    optimizer : {"adam", "adamw", "sgd"}, default="sgd"
        Method of gradient descent.
    learning_rate : float, default=0.01
        Length of the first steps. Longer ones can overfit; with an ``eval_set`` to stop at, they
        may be better.
    momentum : float, default=0.9
        Momentum of "sgd".

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai and Li (2007). Learning to rank: from pairwise approach to
       listwise approach. ICML.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ListNet(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, weight, pairs = "listnet", None, None

    hidden: Sequence[int] = ()
    _: KW_ONLY
    optimizer: str = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 256


@estimator
class ListNetStar(NeuralRanker):
    """A deep network with ListNet's loss [1]_, trained by Adam with a decaying learning rate.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    hidden : sequence of int, default=(32, 20, 5)
        Units of each hidden layer; none at all is a linear ranker.
    learning_rate : float, default=0.003
        Length of the first steps.
    decay : {None, "step", "exponential", "inverse_time", "adaptive"}, default="step"
        How the learning rate falls; None keeps it.
    weight_decay : float, default=0.0001
        L2 penalty on the weights.

    References
    ----------
    .. [1] Köppel, Segner, Wagener, Pensel, Karwath and Kramer (2025). Pairwise learning to rank
       by neural networks revisited: reconstruction, theoretical analysis and practical
       performance. Machine Learning 114:112, Appendix C.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ListNetStar(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, weight, pairs = "listnet", None, None

    hidden: Sequence[int] = (32, 20, 5)
    _: KW_ONLY
    learning_rate: float = 3e-3
    decay: str | None = "step"
    weight_decay: float = 1e-4
