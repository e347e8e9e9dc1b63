"""Polynomial: a weighted sum of all monomials of the features up to a degree.

By the theorem of Stone and Weierstrass, polynomials approximate any continuous function on a
bounded set. With the squared loss, gradient descent on their coefficients has no local minima. So
they are a simple model to compare networks with, the hypothetical one of the DirectRanker paper.
"""

import itertools
from dataclasses import KW_ONLY
from math import comb
from typing import Annotated

import torch

from treerank.checks import check_count, quote
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.network_component import Layer, Products
from treerank.feature_parts.networks.mlp import start_linear
from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.parameters import LearningRate, Rule

#: Most monomials allowed, for the sake of memory.
MAX_MONOMIALS = 100_000
#: Higher powers of a feature are beyond single precision.
MAX_DEGREE = 100


@estimator
class Polynomial(NetworkPart):
    """A weighted sum of all monomials up to a degree, without the constant.

    All other parameters, and the attributes, are as in
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Parameters
    ----------
    degree : int, default=2
        Largest sum of exponents; d features have C(d + degree, degree) - 1 monomials.
    learning_rate : float, default=0.01
        Length of the first steps.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.objectives import make_objective
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> objective = make_objective(X[:, 0] * X[:, 1] > 0, np.repeat([0, 1, 2], 20))
    >>> part = Polynomial(2, n_epochs=100, random_state=0).fit(X, objective)
    >>> part.transform(np.array([[1.0, 1.0], [1.0, -1.0]]))[:, 0].argmax()
    np.int64(0)
    """

    degree: Annotated[int, Rule(check_count, at_most=MAX_DEGREE)] = 2
    _: KW_ONLY
    learning_rate: LearningRate = 1e-2

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        n_monomials = comb(n_features + self.degree, self.degree) - 1
        if n_monomials > MAX_MONOMIALS:
            raise ValueError(
                f"degree must give {n_features} features at most {MAX_MONOMIALS} monomials; "
                f"got {quote(self.degree)}, which gives {n_monomials}."
            )
        layer = torch.nn.Linear(n_monomials, n_outputs, bias=False)
        start_linear(layer, generator)
        return torch.nn.Sequential(Monomials(n_features, self.degree), layer)


class Monomials(torch.nn.Module):
    """All products of up to ``degree`` features, as a layer.

    Examples
    --------
    >>> Monomials(2, 2)(torch.tensor([[2.0, 3.0]]))
    tensor([[2., 3., 4., 6., 9.]])
    """

    def __init__(self, n_features: int, degree: int):
        super().__init__()
        self.degree = degree
        for power in range(2, degree + 1):
            shorter = itertools.combinations_with_replacement(range(n_features), power - 1)
            numbers = {factors: number for number, factors in enumerate(shorter)}
            # Each monomial is a monomial of one degree less, times its last factor.
            products = itertools.combinations_with_replacement(range(n_features), power)
            pairs = [(numbers[factors[:-1]], factors[-1]) for factors in products]
            self.register_buffer(f"pairs_{power}", torch.tensor(pairs).T, persistent=False)

    def pairs(self) -> list[torch.Tensor]:
        """Return a tensor of shape (2, n) for each degree from 2 on.

        A monomial is one of one degree less, whose index is in the first row, times the feature in
        the second row.
        """
        return [self.get_buffer(f"pairs_{power}") for power in range(2, self.degree + 1)]

    def neutral_layers(self) -> list[Layer]:
        """Return the products as a layer of arrays, without torch."""
        return [Products(tuple(pairs.cpu().numpy() for pairs in self.pairs()))]

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return all monomials of each row, in ascending order of the degree."""
        powers = [X]
        for shorter, last in self.pairs():
            powers.append(powers[-1][:, shorter] * X[:, last])
        return torch.cat(powers, dim=1)
