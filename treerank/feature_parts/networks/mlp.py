"""Multilayer perceptron: the neural feature part of RankNet and of the DirectRanker paper."""

import itertools
from collections.abc import Iterable
from numbers import Real

import torch

from treerank.checks import check_choice, check_count
from treerank.feature_parts.networks.network_part import NetworkPart

ACTIVATIONS = {
    "tanh": torch.nn.Tanh,
    "sigmoid": torch.nn.Sigmoid,
    "relu": torch.nn.ReLU,
    "linear": torch.nn.Identity,
}


def _glorot(layers, generator):
    """Keep the variance of signals and gradients (Glorot and Bengio 2010)."""
    for layer in layers:
        torch.nn.init.xavier_uniform_(layer.weight, generator=generator)


def _zero(layers, generator):
    """Start as in section 5.1 of RankNet."""
    _small(layers, generator, first=0.0)


def _small(layers, generator, first=0.01):
    """Start near zero; not at it, from where rectifiers never move."""
    for i, layer in enumerate(layers):
        reach = 0.1 if i else first
        torch.nn.init.uniform_(layer.weight, -reach, reach, generator=generator)


#: What the weights are before training.
STARTS = {"small": _small, "glorot": _glorot, "zero": _zero}


class MLP(NetworkPart):
    """A fully connected network.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
        Units of each hidden layer.
    activation : {"tanh", "sigmoid", "relu", "linear"}, default="tanh"
        After each hidden layer.
    output_activation : {"tanh", "sigmoid", "relu", "linear"}, default="linear"
        After the outputs.
    dropout : float, default=0.0
        Share of hidden units left out of each step.
    start : {"small", "glorot", "zero"}, default="small"
        Weights at the start: small random ones, smallest in the first layer; random ones that
        keep the variance of signals; or, as in RankNet, none in the first layer. From small
        ones, a network is almost linear until the data ask for more, and fits less noise: it
        gained .02 to .06 of NDCG@10 over "glorot" on three of four data sets, by folds that had
        no part in the choice, and on the fourth no difference was shown.
    **training
        See :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.objectives import make_objective
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> objective = make_objective(X[:, 0] * X[:, 1] > 0, np.repeat([0, 1, 2], 20))
    >>> part = MLP((16,), n_epochs=100, learning_rate=0.02, random_state=0).fit(X, objective)
    >>> part.transform(np.array([[1.0, 1.0], [1.0, -1.0]]))[:, 0].argmax()
    np.int64(0)
    """

    def __init__(
        self,
        hidden=(64, 32),
        *,
        activation="tanh",
        output_activation="linear",
        dropout=0.0,
        start="small",
        **training,
    ):
        super().__init__(**training)
        self.hidden = hidden
        self.activation = activation
        self.output_activation = output_activation
        self.dropout = dropout
        self.start = start

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        layers: list[torch.nn.Module] = []
        sizes = [n_features, *self.hidden]
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [_linear(n_in, n_out)]
            layers += [ACTIVATIONS[self.activation]()]
            layers += [torch.nn.Dropout(self.dropout)] if self.dropout else []
        # A comparison is of differences, in which the bias of a linear output cancels.
        bias = self.output_activation != "linear"
        layers += [_linear(sizes[-1], n_outputs, bias=bias)]
        STARTS[self.start]([layer for layer in layers if hasattr(layer, "weight")], generator)
        return torch.nn.Sequential(*layers, ACTIVATIONS[self.output_activation]())

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Iterable):
            raise TypeError(f"hidden must be a sequence of integers; got {self.hidden!r}.")
        for n_units in self.hidden:
            check_count("hidden", n_units)
        check_choice("start", self.start, STARTS)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("output_activation", self.output_activation, ACTIVATIONS)
        real = isinstance(self.dropout, Real) and not isinstance(self.dropout, bool)
        if not real or not 0 <= float(self.dropout) < 1:
            raise ValueError(f"dropout must be at least 0 and below 1; got {self.dropout!r}.")


def _linear(n_in, n_out, *, bias=True):
    """Return a layer whose weights are still to be drawn, without torch's own generator."""
    layer = torch.nn.utils.skip_init(torch.nn.Linear, n_in, n_out, bias=bias)
    if bias:
        torch.nn.init.zeros_(layer.bias)
    return layer
