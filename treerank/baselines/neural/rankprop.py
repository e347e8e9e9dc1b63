"""RankProp: regression on targets that the current ranking chooses."""

from dataclasses import KW_ONLY, dataclass

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.baselines.neural.sorted_targets import SortedTargets


@dataclass(eq=False, repr=False)
class RankProp(NeuralRanker):
    """Learn to rank by regression on targets in the order of labels and current scores [1]_.

    The targets are explained at
    :class:`~treerank.baselines.neural.sorted_targets.SortedTargets`.

    All other parameters, and the attributes, are those of
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    learning_rate : float, default=0.003
        Length of the first steps.

    References
    ----------
    .. [1] Caruana, Baluja and Mitchell (1996). Using the future to "sort out" the present:
       Rankprop and multitask learning for medical risk evaluation. NIPS.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> RankProp(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, weight, pairs = SortedTargets(), None, None

    _: KW_ONLY
    learning_rate: float = 3e-3
