"""Neural rankers: a multilayer perceptron fitted to an objective.

Most neural rankers of the literature differ in the objective and in how it is minimized. To add
one, derive a dataclass from :class:`NeuralRanker`, name the objective in class attributes, give
the fields and parameters that differ, and list it in :mod:`treerank.baselines`.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.registry import feature_part_class
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Auto, Count, Seed, is_given
from treerank.rankers.direct_ranker import DirectRanker


@estimator
class NeuralRanker(DirectRanker):
    """A multilayer perceptron fitted to an objective: the parameters of all neural rankers.

    The parameters of gradient descent are explained at
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    ``metric`` and ``random_state`` are explained at
    :class:`~treerank.rankers.ranker.Ranker`, with the other attributes.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
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
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes a GPU if there is one.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Stop after this many epochs without a better ``metric`` on the ``eval_set``, and keep the
        best one. "auto" keeps the best of all, given an ``eval_set``. None keeps the last.

    Attributes
    ----------
    feature_part_ : MLP
        The fitted network.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per epoch}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of epochs kept.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(eq=False, repr=False)
    ... class FidelityNet(NeuralRanker):
    ...     loss = "fidelity"
    ...     learning_rate: float = 0.01
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> FidelityNet(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    hidden: Sequence[int] = (64, 32)
    _: KW_ONLY
    activation: str = "tanh"
    dropout: float = 0.0
    start: str = "small"
    n_epochs: Count = 50
    batch_size: int = 512
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    decay: str | None = None
    decay_rate: float = 0.5
    decay_epochs: float = 10
    momentum: float = 0.0
    weight_decay: float = 0.0
    device: str = "auto"
    early_stopping_rounds: Auto | Count | None = "auto"
    metric: AnyMetric = "ndcg@10"
    random_state: Seed = None

    @property
    def feature_part(self) -> Any:
        """The network that these parameters describe, unfitted."""
        part = feature_part_class("mlp")()
        settings, defaults = self.get_params(deep=False), part.get_params(deep=False)
        part.set_params(**{name: settings[name] for name in defaults if name in settings})
        # The network would warn of a default of this class that it does not read.
        ignored = [name for name in part.unread() if name in settings and not is_given(self, name)]
        return part.set_params(**{name: defaults[name] for name in ignored})
