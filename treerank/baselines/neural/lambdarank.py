"""LambdaRank: RankNet, with each pair weighed by how much swapping it would change a metric."""

from dataclasses import KW_ONLY, dataclass

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.objectives.weights import Weight
from treerank.parameters import Finite, Size


@dataclass(eq=False, repr=False)
class LambdaRank(NeuralRanker):
    """Learn to rank by a network on the logistic loss times the change of a metric [1]_.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
        Units of each hidden layer; none at all is a linear ranker.
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric whose change weighs a pair.
    k : int, default=None
        Rank at which that metric is cut off; None counts whole lists.
    threshold : float, default=1.0
        Labels of at least this are relevant for "map" and "mrr".
    activation : {"tanh", "sigmoid", "relu", "linear"}, default="tanh"
        Function after each hidden layer.
    dropout : float, default=0.0
        Share of hidden units left out of each step.
    start : {"small", "glorot", "zero"}, default="small"
        Weights before training, see :class:`~treerank.feature_parts.networks.mlp.MLP`.
    n_epochs : int, default=50
        How often each document is shown.
    batch_size : int, default=512
        Documents of a batch: whole queries, or pieces of larger queries.
    optimizer : {"adam", "adamw", "sgd"}, default="adam"
        Method of gradient descent.
    learning_rate : float, default=0.001
        Length of the first steps.
    decay : {None, "step", "exponential", "inverse_time", "adaptive"}, default=None
        How the learning rate falls; None keeps it.
    decay_rate : float, default=0.5
        How much the learning rate falls.
    decay_epochs : float, default=10
        Number of epochs in which it falls by so much.
    momentum : float, default=0.0
        Momentum of "sgd".
    weight_decay : float, default=0.0
        L2 penalty on the weights.
    gradient_clip : float, default=None
        Longest gradient; a longer one is shortened. None changes no gradient.
    standardize : bool, default=True
        Whether features are standardized first.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes a GPU if there is one.
    early_stopping_rounds : int, default=None
        Stop after so many epochs without a better ``metric`` on the ``eval_set``; None never
        stops.
    metric : str or Metric, default="ndcg@10"
        Metric that ``score`` measures and early stopping watches.
    calibration : {"eval_set", None} or float, default="eval_set"
        Documents that pair probabilities are calibrated on; a float sets aside that share of the
        queries.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the network of the last fit.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers.

    Attributes
    ----------
    feature_part_ : MLP
        The fitted network.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per epoch}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of epochs kept.

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
