"""Terms: the score of a ranker as a sum of trees, a line and networks.

This is what formats write. A feature part turns into terms by its method ``terms(weight)``, see
:func:`treerank.feature_parts.base.terms_of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.feature_parts.linear_term import LinearTerm
from treerank.feature_parts.network_term import Network
from treerank.forests.building import GrowingForest
from treerank.forests.forest import Forest
from treerank.forests.joining import summed
from treerank.forests.scoring import forest_scores


@dataclass(frozen=True, eq=False)
class Terms:
    """A sum of trees, a line and networks, in this order.

    Attributes
    ----------
    forest : Forest
        Trees of one output; there may be none.
    line : LinearTerm, default=None
        A number per feature.
    networks : tuple of Network
        Networks.

    Examples
    --------
    >>> line = LinearTerm(np.array([2.0]), np.array([1.0]))
    >>> Terms(no_trees(1), line).scores(np.array([[3.0], [np.nan]]))
    array([7., 0.])
    """

    forest: Forest
    line: LinearTerm | None = None
    networks: tuple[Network, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """What there is: "trees", "line", "network"; trees if there is nothing else."""
        has = {"line": self.line is not None, "network": bool(self.networks)}
        others = [kind for kind in has if has[kind]]
        return others if others and is_empty(self.forest) else ["trees", *others]

    def scaled(self, factor: float) -> "Terms":
        """Return a multiple; the factor 1 changes no bit."""
        if factor == 1:
            return self
        if factor == 0:
            return Terms(no_trees(self.forest.n_features))
        trees = self.forest
        forest = trees if is_empty(trees) else summed([trees], factor)
        line = self.line and self.line.scaled(factor)
        return Terms(forest, line, tuple(network.scaled(factor) for network in self.networks))

    def with_lines(self) -> "Terms":
        """Return the same with a line for each network that is one but for rounding."""
        lines = [network.line() for network in self.networks]
        rest = [net for net, line in zip(self.networks, lines, strict=True) if line is None]
        none = no_trees(self.forest.n_features)
        own = [Terms(none, line) for line in lines if line is not None]
        return total([Terms(self.forest, self.line, tuple(rest)), *own])

    def added_to(self, scores: np.ndarray, X: Any) -> np.ndarray:
        """Return scores of the trees to which the line and the networks are added."""
        if self.line is not None:
            scores = self.line.added_to(scores, X)
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
    """Tell whether a forest adds nothing."""
    return forest.n_trees == 0 and not forest.constant.any()


def total(parts: Sequence[Terms]) -> Terms:
    """Return the sum of several terms.

    Trees next to other terms are added in double precision.

    Examples
    --------
    >>> line = LinearTerm(np.array([2.0]), np.array([1.0]))
    >>> total([Terms(no_trees(1), line), Terms(no_trees(1), line)]).line.coef
    array([4.])
    """
    forests = [part.forest for part in parts if not is_empty(part.forest)]
    lines = [part.line for part in parts if part.line is not None]
    forest = summed(forests) if forests else parts[0].forest
    line = None
    if lines:
        line = LinearTerm(*(sum(getattr(each, n) for each in lines) for n in ("coef", "offset")))
    return Terms(forest, line, sum((part.networks for part in parts), ()))
