"""Objectives of the user's own, without a base class."""

from dataclasses import dataclass, field

import numba as nb
import numpy as np

from treerank.documents.queries import QueryGroups


class Flat:
    """An objective with the members that it must have, and no slope at equal scores."""

    n_outputs = 1

    def __init__(self, groups):
        self.groups = groups

    def __call__(self, scores, *, iteration=0):
        return float((scores**4).sum()), *self.derivatives(scores)

    def derivatives(self, scores, *, iteration=0):
        return 4 * scores**3, 12 * scores**2

    def taking(self, rows, groups):
        return Flat(groups)


@dataclass
class HalfSquare:
    """Half the squared distance to a target: what the engines' own regression fits."""

    target: np.ndarray
    weight: np.ndarray | float = 1.0
    groups: QueryGroups | None = None
    seen: list = field(default_factory=list)

    @property
    def n_outputs(self):
        return 1 if self.target.ndim == 1 else self.target.shape[1]

    def derivatives(self, scores, *, iteration=0):
        self.seen.append((iteration, scores.copy(), nb.get_num_threads()))
        return self.weight * (scores - self.target), self.weight * np.ones_like(scores)

    def __call__(self, scores, *, iteration=0):
        value = (self.weight * (scores - self.target) ** 2).sum() / 2
        return float(value), *self.derivatives(scores, iteration=iteration)

    def taking(self, rows, groups):
        return HalfSquare(self.target[rows], groups=groups)


@dataclass
class Given:
    """An objective that returns the given derivatives."""

    gradient: np.ndarray
    hessian: np.ndarray
    n_outputs: int = 1

    def derivatives(self, scores, *, iteration=0):
        return self.gradient, self.hessian
