"""ListNet*: ListNet with the means that make RankNet* out of RankNet."""

from treerank.baselines.neural.neural_ranker import NeuralRanker


class ListNetStar(NeuralRanker):
    """Learn to rank by a deep network, Adam and a falling learning rate on ListNet's loss [1]_.

    Parameters
    ----------
    hidden : sequence of int, default=(32, 20, 5)
        Units of each hidden layer.
    **rest
        See :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    References
    ----------
    .. [1] Köppel, Segner, Wagener, Pensel, Karwath, Schmitt and Kramer (2023). Pairwise learning
       to rank by neural networks revisited: reconstruction, theoretical analysis and practical
       performance. Appendix C.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ListNetStar(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, weight, pairs = "listnet", None, None

    def __init__(
        self,
        hidden=(32, 20, 5),
        *,
        learning_rate=3e-3,
        decay="step",
        weight_decay=1e-4,
        **rest,
    ):
        super().__init__(
            hidden,
            learning_rate=learning_rate,
            decay=decay,
            weight_decay=weight_decay,
            **rest,
        )
