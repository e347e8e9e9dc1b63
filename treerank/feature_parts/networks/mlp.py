"""Multilayer perceptron: the neural feature part of RankNet and of the DirectRanker paper.

Without hidden layers it is a linear model trained by gradient descent.

To add an activation or a way to draw the first weights, list it in ``ACTIVATIONS`` or ``STARTS``.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_counts, check_number, quote
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.networks.limits import MOST_UNITS, check_n_weights
from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.parameters import Rule

ACTIVATIONS = {
    "tanh": torch.nn.Tanh,
    "sigmoid": torch.nn.Sigmoid,
    "relu": torch.nn.ReLU,
    "linear": torch.nn.Identity,
}


def _draw_glorot(layers, generator):
    """Draw uniform weights that keep the variance of signals (Glorot and Bengio 2010)."""
    for layer in layers:
        torch.nn.init.xavier_uniform_(layer.weight, generator=generator)


def _draw_small(layers, generator, first=0.01):
    """Draw uniform weights up to 0.1, and up to ``first`` in the first layer."""
    for i, layer in enumerate(layers):
        bound = 0.1 if i else first
        torch.nn.init.uniform_(layer.weight, -bound, bound, generator=generator)


def _draw_zero(layers, generator):
    """Draw small weights after a first layer of zeros (RankNet, section 5.1).

    The only layer of a linear model starts as :func:`start_linear` says.
    """
    if len(layers) > 1:
        _draw_small(layers, generator, first=0.0)
    else:
        start_linear(layers[0], generator)


def start_linear(layer: torch.nn.Linear, generator: torch.Generator) -> None:
    """Set the weights of a linear model to zero, or draw them if it has several outputs.

    From zero, the first step is the same for every seed. Several outputs that start equal would
    stay equal.
    """
    bound = 0.0 if layer.out_features == 1 else layer.in_features**-0.5
    torch.nn.init.uniform_(layer.weight, -bound, bound, generator=generator)


#: Ways to draw the weights before training.
STARTS: dict[str, Callable[..., None]] = {
    "small": _draw_small,
    "glorot": _draw_glorot,
    "zero": _draw_zero,
}


@estimator
class MLP(NetworkPart):
    """A fully connected network (multilayer perceptron).

    ``MLP((), start="zero", learning_rate=0.01)``, without hidden layers, is a linear model trained
    by gradient descent; :class:`~treerank.feature_parts.linear.LinearModel` finds the optimum of a
    convex loss without torch.

    All other parameters and attributes are as in
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
        Number of units of each hidden layer; ``()`` is a linear model.
    activation : {"tanh", "sigmoid", "relu", "linear"}, default="tanh"
        Function after each hidden layer.
    output_activation : {"tanh", "sigmoid", "relu", "linear"}, default="linear"
        Function after the outputs.
    dropout : float, default=0.0
        Share of hidden units left out of each step, from 0 to below 1.
    start : {"small", "glorot", "zero"}, default="small"
        Weights before training. "small": small random weights, smallest in the first layer; the
        network is almost linear at first and tends to fit less noise. "glorot": random weights
        that keep the variance of signals. "zero": as in RankNet, zero in the first layer and
        small in the others; a single layer with several outputs starts at random.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weight of each feature, in the units of ``X``; only without hidden layers and with a linear
        output.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.objectives import make_objective
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> objective = make_objective(X[:, 0] * X[:, 1] > 0, np.repeat([0, 1, 2], 20))
    >>> part = MLP((16,), n_epochs=100, learning_rate=0.02, random_state=0).fit(X, objective)
    >>> part.transform(np.array([[1.0, 1.0], [1.0, -1.0]]))[:, 0].argmax()
    np.int64(0)
    >>> linear = MLP((), start="zero", learning_rate=0.01, random_state=0).fit(X, objective)
    >>> linear.coef_.shape
    (2,)
    """

    hidden: Annotated[Sequence[int], Rule(check_counts, at_most=MOST_UNITS)] = (64, 32)
    _: KW_ONLY
    activation: Annotated[str, Rule.one_of(ACTIVATIONS)] = "tanh"
    output_activation: Annotated[str, Rule.one_of(ACTIVATIONS)] = "linear"
    dropout: Annotated[float, Rule(check_number, at_least=0, below=1)] = 0.0
    start: Annotated[str, Rule.one_of(STARTS)] = "small"

    @property
    def coef_(self) -> np.ndarray:
        """Weight of each feature as given, of shape (n_features,) or (n_outputs, n_features)."""
        if len(self.hidden) > 0 or self.output_activation != "linear":
            raise AttributeError(
                "coef_ needs an MLP without hidden layers and with a linear output: MLP(()); got "
                f"hidden={quote(self.hidden)} and "
                f"output_activation={quote(self.output_activation)}."
            )
        check_is_fitted(self)
        weight = self.network_.get_parameter("0.weight").detach().double().numpy()
        weight = weight / self._standardization.scale
        return weight[0] if len(weight) == 1 else weight

    def unread(self) -> dict[str, str]:
        """Return the settings that ``fit`` does not read, each with the setting that decides it."""
        is_linear = np.iterable(self.hidden) and not any(True for _ in self.hidden)
        of_hidden = {"activation": "hidden", "dropout": "hidden"} if is_linear else {}
        return super().unread() | of_hidden

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        layers: list[torch.nn.Module] = []
        sizes = [n_features, *map(int, self.hidden)]
        n_weights = sum(map(math.prod, itertools.pairwise([*sizes, n_outputs])))
        check_n_weights("hidden", self.hidden, n_weights)
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [torch.nn.Linear(n_in, n_out)]
            layers += [ACTIVATIONS[self.activation]()]
            layers += [torch.nn.Dropout(self.dropout)] if self.dropout else []
        # Documents are compared by differences, in which the bias of a linear output cancels.
        bias = self.output_activation != "linear"
        layers += [torch.nn.Linear(sizes[-1], n_outputs, bias=bias)]
        linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
        for layer in linear:
            if layer.bias is not None:
                torch.nn.init.zeros_(layer.bias)
        STARTS[self.start](linear, generator)
        return torch.nn.Sequential(*layers, ACTIVATIONS[self.output_activation]())
