"""RankNet and its kin: networks under the losses of pairs.

RankNet takes the cross entropy of pair probabilities. LambdaRank weights each pair by how much
swapping it would change a metric. RankNet* is the DirectRanker of the paper that this library
implements.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any

import numpy as np

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.checks import check_counts, quote, warn_user
from treerank.documents.queries import QueryGroups
from treerank.feature_parts.base import traits_of
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.networks.limits import MOST_UNITS
from treerank.objectives.pairs.rules import PairRule
from treerank.objectives.pairs.weights import Weight
from treerank.parameters import Finite, Rule, Size, is_given

#: Units of each layer, of which there is one at least.
_Layers = Annotated[Sequence[int], Rule(check_counts, shortest=1, at_most=MOST_UNITS)]


@estimator
class RankNet(NeuralRanker):
    """RankNet [1]_: a network, trained by gradient descent on the logistic loss of all pairs.

    The gradient of all pairs of a query is added up by document before it goes through the
    network, once per document instead of twice per pair [2]_. Target probabilities other than
    1 are given to ``fit`` as the fourth column of ``given_pairs``;
    :func:`~treerank.objectives.chained_probabilities` makes consistent ones. The paper takes pairs
    one by one at a rate of 0.001; here, batches are used. ``decay="adaptive"`` halves the rate
    after each epoch of greater error, as in the paper.

    All other parameters, and the attributes, are as in
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


@estimator(kw_only=True)
class LambdaRank(NeuralRanker):
    """LambdaRank [1]_: a network, trained on pairs weighted by the change of a metric.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric whose change is the weight of a pair.
    k : int, default=None
        Cutoff rank of that metric; None counts whole lists.
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

    weight: Weight = "ndcg"
    k: Size | None = None
    threshold: Finite = 1.0


@estimator
class RankNetStar(NeuralRanker):
    r"""RankNet* [1]_: a deep network with an antisymmetric tanh head.

    Pairs of neighboring levels of relevance are taken across queries: each batch is drawn from
    all documents, and all of its pairs count. Their cost is :math:`(1 - r(a, b))^2 / 2`. The
    last layer is the feature part f(x). The weights of the head are trained together with it,
    without bias. The paper transforms the features to normal distributions first, as
    ``QuantileTransformer(output_distribution="normal")`` of scikit-learn does.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    hidden : sequence of int, default=(200, 50, 30, 10, 5)
        Units of each layer; the last one is f(x).
    activation : {"tanh", "sigmoid", "relu", "linear"}, default="tanh"
        Function after each layer. The paper prefers "tanh" and has "linear" in its grid, which
        learns no more than a weighted sum of the features. Choose it by validation.
    across_queries : bool, default=True
        Whether to compare documents of different queries too, as the paper does. Choose it by
        validation.
    pairs : str or Pairs, default="adjacent"
        Which pairs of a batch count. The authors' code draws as many of each two neighboring
        labels, as "balanced" weighs them.
    decay : {None, "step", "exponential", "inverse_time", "adaptive"}, default="step"
        How the learning rate falls; None keeps it.
    weight_decay : float, default=0.0001
        L2 penalty on the weights.

    References
    ----------
    .. [1] Köppel, Segner, Wagener, Pensel, Karwath and Kramer (2025). Pairwise learning to rank
       by neural networks revisited: reconstruction, theoretical analysis and practical
       performance. Machine Learning 114:112. https://doi.org/10.1007/s10994-024-06644-6

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ranker = RankNetStar(random_state=0).fit(X, y, qid)
    >>> ranker.rank(X, qid), ranker.transform(X).shape
    (array([3, 2, 1, 2, 1]), (5, 5))
    """

    loss, weight, tau = "half_squared_tanh", "uniform", "tanh"

    hidden: _Layers = (200, 50, 30, 10, 5)
    _: KW_ONLY
    across_queries: bool = True
    pairs: PairRule = "adjacent"
    decay: str | None = "step"
    weight_decay: float = 1e-4

    @property
    def feature_part(self) -> Any:
        """The network that these parameters describe, unfitted."""
        shape = {"hidden": tuple(self.hidden[:-1]), "n_outputs": self.hidden[-1]}
        return super().feature_part.set_params(**shape, output_activation=self.activation)

    def _part_for(self, data, held_out):
        part = super()._part_for(data, held_out)
        if part.hidden:
            return part
        if is_given(self, "dropout"):
            warn_user(
                f"dropout must be left out for hidden={quote(self.hidden)}, whose only layer is "
                f"f(x) and has no hidden units; got {quote(self.dropout)}, which is not used."
            )
        # Without hidden layers, only the outputs have an activation.
        return part.set_params(activation=type(part).activation, dropout=type(part).dropout)

    def _make_objective(self, data, seed):
        return super()._make_objective(_merged(data) if self.across_queries else data, seed)

    def _head_weight(self, data, objective):
        # Two different labels make a pair: the objective of all pairs need not be computed.
        if self.across_queries and np.ptp(data.y) > 0:
            weight = traits_of(self.feature_part_).head_weight_
            return np.ones(1) if weight is None else weight
        return super()._head_weight(data, objective)


def _merged(data):
    """Return the training data with all documents in one query.

    Query weights move to documents, so that a pair weighs the geometric mean of both queries'.
    """
    weight = data.sample_weight
    if data.query_weight is not None:
        root = np.sqrt(data.query_weight)
        weight = root if weight is None else root * weight
    groups = QueryGroups.from_qid(None, len(data.y))
    return replace(data, groups=groups, sample_weight=weight, query_weight=None)
