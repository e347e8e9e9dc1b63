"""Neural rankers: a multilayer perceptron and an objective.

Most neural rankers of the literature differ in the objective and in how they descend it. To add
one, derive from :class:`NeuralRanker`, name the objective in class attributes and your own
defaults in ``__init__``, and list it in :mod:`treerank.registry`.
"""

from treerank.feature_parts.inherited_parameters import spell_out
from treerank.feature_parts.registry import feature_part_class
from treerank.rankers.direct_ranker import DirectRanker


class NeuralRanker(DirectRanker):
    """A multilayer perceptron fitted to an objective: parameters of all neural rankers.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
        Units of each hidden layer; none at all is a linear ranker.
    activation : {"tanh", "sigmoid", "relu", "linear"}, default="tanh"
        After each hidden layer.
    dropout : float, default=0.0
        Share of hidden units left out of each step.
    start : {"small", "glorot", "zero"}, default="small"
        Weights at the start, see :class:`~treerank.feature_parts.networks.mlp.MLP`.
    n_epochs : int, default=50
        How often each document is shown.
    batch_size : int, default=512
        Documents of a batch: whole queries, or pieces of those that are larger.
    optimizer : {"adam", "adamw", "sgd"}, default="adam"
        What takes the steps.
    learning_rate, decay, decay_rate, decay_epochs, momentum, weight_decay, gradient_clip
        See :class:`~treerank.feature_parts.networks.network_part.NetworkPart`, as for ``standardize`` and
        ``device``.
    early_stopping_rounds : int, default=None
        Stop after so many epochs without a better value of ``metric`` on the ``eval_set``, and
        go back to the best.
    metric : str or Metric, default="ndcg@10"
        What ``score`` measures, and what early stopping watches.
    calibration : {"eval_set", None} or float, default="eval_set"
        What pair probabilities are calibrated on; a float sets a share of the queries aside.
    warm_start : bool, default=False
        Go on from the network of the last fit.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.
    """

    def __init__(
        self,
        hidden=(64, 32),
        *,
        activation="tanh",
        dropout=0.0,
        start="small",
        n_epochs=50,
        batch_size=512,
        optimizer="adam",
        learning_rate=1e-3,
        decay=None,
        decay_rate=0.5,
        decay_epochs=10,
        momentum=0.0,
        weight_decay=0.0,
        gradient_clip=None,
        standardize=True,
        device="auto",
        early_stopping_rounds=None,
        metric="ndcg@10",
        calibration="eval_set",
        warm_start=False,
        random_state=None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.start = start
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.decay = decay
        self.decay_rate = decay_rate
        self.decay_epochs = decay_epochs
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.gradient_clip = gradient_clip
        self.standardize = standardize
        self.device = device
        self.early_stopping_rounds = early_stopping_rounds
        self.metric = metric
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state

    def __init_subclass__(cls, **kwargs):
        """Spell out the parameters that a subclass passes on."""
        super().__init_subclass__(**kwargs)
        spell_out(cls)

    @property
    def feature_part(self):
        """The network that these parameters describe, unfitted."""
        part = feature_part_class("mlp")()
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in part.get_params(deep=False) if name in own}
        return part.set_params(**shared)
