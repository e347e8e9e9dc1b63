"""Polynomial feature part: the hypothetical model of the DirectRanker paper.

By the theorem of Stone and Weierstrass, polynomials come close to any continuous function on a
bounded set; with the squared cost, their coefficients are found by a descent without local
minima. So they serve where networks must be held to something simpler.
"""

import itertools
from math import comb

import torch

from treerank.checks import check_count
from treerank.feature_parts.networks.network_part import NetworkPart

#: Monomials from which on memory, not patience, would give out.
MAX_MONOMIALS = 100_000


class Polynomial(NetworkPart):
    """A weighted sum of all monomials up to a degree, without the constant.

    Parameters
    ----------
    degree : int, default=2
        Largest sum of exponents; d features have C(d + degree, degree) - 1 monomials.
    **training
        See :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

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

    def __init__(self, degree=2, *, learning_rate=1e-2, **training):
        super().__init__(learning_rate=learning_rate, **training)
        self.degree = degree

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        n_monomials = comb(n_features + self.degree, self.degree) - 1
        if n_monomials > MAX_MONOMIALS:
            raise ValueError(
                f"degree must give {n_features} features at most {MAX_MONOMIALS} monomials; "
                f"got {self.degree!r}, which gives {n_monomials}."
            )
        layer = torch.nn.Linear(n_monomials, n_outputs, bias=False)
        bound = 0.0 if n_outputs == 1 else n_monomials**-0.5
        torch.nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        return torch.nn.Sequential(Monomials(n_features, self.degree), layer)

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        check_count("degree", self.degree)


class Monomials(torch.nn.Module):
    """All products of up to ``degree`` features.

    Parameters
    ----------
    n_features : int
        Columns that come in.
    degree : int
        Most factors.

    Examples
    --------
    >>> Monomials(2, 2)(torch.tensor([[2.0, 3.0]]))
    tensor([[2., 3., 4., 6., 9.]])
    """

    def __init__(self, n_features, degree):
        super().__init__()
        self.degree = degree
        for power in range(2, degree + 1):
            shorter = {
                factors: number
                for number, factors in enumerate(
                    itertools.combinations_with_replacement(range(n_features), power - 1)
                )
            }
            # Each monomial is one of a degree less times its last factor.
            products = itertools.combinations_with_replacement(range(n_features), power)
            pairs = [(shorter[factors[:-1]], factors[-1]) for factors in products]
            self.register_buffer(f"pairs_{power}", torch.tensor(pairs).T, persistent=False)

    def forward(self, X):
        """Return the products, those of fewer factors first."""
        powers = [X]
        for power in range(2, self.degree + 1):
            shorter, last = getattr(self, f"pairs_{power}")
            powers.append(powers[-1][:, shorter] * X[:, last])
        return torch.cat(powers, dim=1)
