"""Additive components: the score of a ranker as a sum of trees, a linear model and networks.

Export formats write the components, and explanations are exact for trees and linear models. A
feature part returns its components by its method ``components(weight)``, see
:func:`treerank.feature_parts.base.components_of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.feature_parts.linear_component import LinearComponent
from treerank.feature_parts.network_component import Network
from treerank.forests.building import GrowingForest, summed
from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_scores


@dataclass(frozen=True, eq=False)
class Components:
    """A sum of trees, a linear model and networks, added in this order.

    Attributes
    ----------
    forest : Forest
        Trees with one output; a forest without trees if the sum has none.
    linear : LinearComponent, default=None
        Linear model: a coefficient and an offset per feature.
    networks : tuple of Network
        Trained networks.

    Examples
    --------
    >>> linear = LinearComponent(np.array([2.0]), np.array([1.0]))
    >>> Components(no_trees(1), linear).scores(np.array([[3.0], [np.nan]]))
    array([7., 0.])
    """

    forest: Forest
    linear: LinearComponent | None = None
    networks: tuple[Network, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """Kinds of the components: "trees", "linear", "network"; an empty sum has "trees"."""
        is_present = {"linear": self.linear is not None, "network": bool(self.networks)}
        besides_trees = [kind for kind in is_present if is_present[kind]]
        return (
            besides_trees if besides_trees and is_empty(self.forest) else ["trees", *besides_trees]
        )

    def scaled(self, factor: float) -> "Components":
        """Return the sum multiplied by a factor; the factor 1 changes no bit."""
        if factor == 1:
            return self
        if factor == 0:
            return Components(no_trees(self.forest.n_features))
        trees = self.forest
        forest = trees if is_empty(trees) else summed([trees], factor)
        linear = self.linear and self.linear.scaled(factor)
        return Components(
            forest, linear, tuple(network.scaled(factor) for network in self.networks)
        )

    def with_linear_networks_merged(self) -> "Components":
        """Return the same sum, in which linear networks are part of ``linear``."""
        pairs = [(network, network.as_linear()) for network in self.networks]
        nonlinear = tuple(network for network, linear in pairs if linear is None)
        empty = no_trees(self.forest.n_features)
        merged = [Components(empty, linear) for _, linear in pairs if linear is not None]
        return sum_of_components([Components(self.forest, self.linear, nonlinear), *merged])

    def added_to(self, scores: np.ndarray, X: Any) -> np.ndarray:
        """Return ``scores``, of the trees, plus the scores of the linear model and the networks."""
        if self.linear is not None:
            scores = self.linear.added_to(scores, X)
        for network in self.networks:
            scores = scores + network.scores(X)
        return scores

    def scores(self, X: Any) -> np.ndarray:
        """Return the score of each document."""
        return self.added_to(forest_scores(self.forest, X)[:, 0], X)


def no_trees(n_features: int) -> Forest:
    """Return a forest without trees."""
    return GrowingForest().forest(n_features)


def is_empty(forest: Forest) -> bool:
    """Return whether a forest adds nothing to a score."""
    return forest.n_trees == 0 and not forest.constant.any()


def sum_of_components(parts: Sequence[Components]) -> Components:
    """Return the sum of several sums of components.

    Leaf values of several forests are added in double precision.

    Examples
    --------
    >>> linear = LinearComponent(np.array([2.0]), np.array([1.0]))
    >>> sum_of_components([Components(no_trees(1), linear)] * 2).linear.coef
    array([4.])
    """
    forests = [part.forest for part in parts if not is_empty(part.forest)]
    linear_models = [part.linear for part in parts if part.linear is not None]
    forest = summed(forests) if forests else parts[0].forest
    linear = None
    if linear_models:
        linear = LinearComponent(
            *(sum(getattr(model, name) for model in linear_models) for name in ("coef", "offset"))
        )
    return Components(forest, linear, sum((part.networks for part in parts), ()))
