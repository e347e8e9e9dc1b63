"""RankNet: a network under the cross entropy of pair probabilities."""

import numpy as np

from treerank.baselines.neural.neural_ranker import NeuralRanker


class RankNet(NeuralRanker):
    """Learn to rank by gradient descent on the logistic loss of all pairs [1]_.

    The gradient of all pairs of a query is gathered by document before it goes through the
    network, once per document instead of twice per pair [2]_. Target probabilities other than
    1 are given to ``fit`` as the fourth column of ``given_pairs``.

    Parameters
    ----------
    hidden : sequence of int, default=(10,)
        Units of each hidden layer; the paper has one of ten, or none.
    **rest
        See :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

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

    def __init__(
        self,
        hidden=(10,),
        *,
        start="zero",
        optimizer="sgd",
        learning_rate=0.1,
        momentum=0.9,
        batch_size=256,
        **rest,
    ):
        super().__init__(
            hidden,
            start=start,
            optimizer=optimizer,
            learning_rate=learning_rate,
            momentum=momentum,
            batch_size=batch_size,
            **rest,
        )


def combine_probabilities(p_ij, p_jk):
    r"""Return the probability that i beats k, given that i beats j and j beats k (eq. 5).

    .. math:: P_{ik} = \frac{P_{ij} P_{jk}}{1 + 2 P_{ij} P_{jk} - P_{ij} - P_{jk}}

    It is what follows if the log odds of pairs are differences of scores: 0, 1/2 and 1 combine
    with themselves to themselves, and confidence builds in between. Certainties that contradict
    each other, 0 and 1, combine to NaN.

    Parameters
    ----------
    p_ij, p_jk : float or array-like
        Probabilities.

    Returns
    -------
    float or ndarray
        Probabilities.

    Examples
    --------
    >>> float(combine_probabilities(0.6, 0.6).round(4))
    0.6923
    """
    p_ij, p_jk = np.asarray(p_ij, dtype=np.float64), np.asarray(p_jk, dtype=np.float64)
    for name, p in {"p_ij": p_ij, "p_jk": p_jk}.items():
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"{name} must be probabilities; got {p!r}.")
    ahead, back = p_ij * p_jk, (1 - p_ij) * (1 - p_jk)  # the same as 1 + 2pq - p - q, exactly
    with np.errstate(invalid="ignore"):
        return ahead / (ahead + back)
