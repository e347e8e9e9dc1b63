"""RankNet*: the DirectRanker of the paper this library is built on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.inputs.grouping import QueryGroups
from treerank.rankers.head import AntisymmetricHead


class RankNetStar(NeuralRanker):
    r"""Learn to rank by a deep network under an antisymmetric tanh head [1]_.

    Pairs of neighboring levels of relevance are taken across queries: each batch is dealt anew
    from all documents, and all of its pairs count. Their cost is :math:`(1 - r(a, b))^2 / 2`. The
    last layer is the feature part f(x), over which the head's weights are trained with it,
    without bias. The paper transforms the features to normal distributions first, see
    :class:`~treerank.datasets.transforms.NormalTransformer`.

    Parameters
    ----------
    hidden : sequence of int, default=(200, 50, 30, 10, 5)
        Units of each layer; the last one is f(x).
    activation : {"tanh", "linear", "sigmoid", "relu"}, default="tanh"
        After each layer. The paper prefers "tanh" and has "linear" in its grid. Choose by
        validation: on MQ2008, OHSUMED, ClueWeb09 and synthetic searches, some thousands of
        documents each, "linear", which learns no more than a weighted sum of the features, was
        ahead of "tanh" by .02, .03, .04 and .07 of NDCG@10 after 20 epochs.
    across_queries : bool, default=True
        Whether to compare documents of different queries too, as the paper does. False was ahead
        by .04 ± .02 of NDCG@10 on OHSUMED, and no different on the other three sets.
    **rest
        See :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    References
    ----------
    .. [1] Köppel, Segner, Wagener, Pensel, Karwath, Schmitt and Kramer (2023). Pairwise learning
       to rank by neural networks revisited: reconstruction, theoretical analysis and practical
       performance.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ranker = RankNetStar(random_state=0).fit(X, y, qid)
    >>> ranker.rank(X, qid), ranker.transform(X).shape
    (array([3, 2, 1, 2, 1]), (5, 5))
    """

    loss, weight, pairs, tau = "half_squared_tanh", "uniform", "adjacent", "tanh"

    def __init__(
        self,
        hidden=(200, 50, 30, 10, 5),
        *,
        activation="tanh",
        across_queries=True,
        decay="step",
        weight_decay=1e-4,
        **rest,
    ):
        super().__init__(
            hidden, activation=activation, decay=decay, weight_decay=weight_decay, **rest
        )
        self.across_queries = across_queries

    @property
    def feature_part(self):
        """The network that these parameters describe, unfitted."""
        shape = {"hidden": tuple(self.hidden[:-1]), "n_outputs": self.hidden[-1]}
        return super().feature_part.set_params(**shape, output_activation=self.activation)

    def _check_settings(self):
        super()._check_settings()
        if not isinstance(self.hidden, Sequence | np.ndarray) or len(self.hidden) == 0:
            raise ValueError(f"hidden must name at least one layer; got {self.hidden!r}.")

    def _make_objective(self, data, seed):
        return super()._make_objective(_merged(data) if self.across_queries else data, seed)

    def _make_head(self, data, objective):
        if self.across_queries and np.ptp(data.y) > 0:  # to see a pair takes no look at all of them
            weight = getattr(self.feature_part_, "head_weight_", np.ones(1))
            return AntisymmetricHead(weight, self.tau)
        return super()._make_head(data, objective)


def _merged(data):
    """Return all documents as one query; a pair weighs the geometric mean of two queries'."""
    weight = data.sample_weight
    if data.query_weight is not None:
        root = np.sqrt(data.query_weight)
        weight = root if weight is None else root * weight
    groups = QueryGroups.from_qid(None, len(data.y))
    return replace(data, groups=groups, sample_weight=weight, query_weight=None)
