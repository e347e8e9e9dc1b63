"""ListNet*: ListNet with the deep network and the gradient descent of RankNet*."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from treerank.baselines.neural.neural_ranker import NeuralRanker


@dataclass(eq=False, repr=False)
class ListNetStar(NeuralRanker):
    """Learn to rank by a deep network, Adam and a falling learning rate on ListNet's loss [1]_.

    Parameters
    ----------
    hidden : sequence of int, default=(32, 20, 5)
        Units of each hidden layer; none at all is a linear ranker.
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
    learning_rate : float, default=0.003
        Length of the first steps.
    decay : {None, "step", "exponential", "inverse_time", "adaptive"}, default="step"
        How the learning rate falls; None keeps it.
    decay_rate : float, default=0.5
        How much the learning rate falls.
    decay_epochs : float, default=10
        Number of epochs in which it falls by so much.
    momentum : float, default=0.0
        Momentum of "sgd".
    weight_decay : float, default=0.0001
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

    hidden: Sequence[int] = (32, 20, 5)
    _: KW_ONLY
    learning_rate: float = 3e-3
    decay: str | None = "step"
    weight_decay: float = 1e-4
