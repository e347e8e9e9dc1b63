"""Limited sums: raise some labels, and let others fall by no more than a limit.

Each limited label has a floor: the quality, by a metric, that the scores must keep. Its objective
is one term of a sum whose factor is adapted in every iteration: it grows while the label is below
its floor and shrinks while it is above. So the sum spends no more on the label than it must.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from treerank.checks import check_number
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Derivatives, Priced
from treerank.objectives.weighted_sum import Summable, WeightedSum, weighted_sum

#: What a factor is multiplied by in an iteration in which its label is below the floor.
GROWTH = 1.1


@dataclass(frozen=True, eq=False)
class Limit:
    """A label that may not fall below a floor.

    Attributes
    ----------
    objective : Objective
        Objective of the label.
    y : ndarray of shape (n_documents,)
        The label.
    metric : Metric
        Quality of scores under the label.
    floor : float
        Least quality allowed.
    """

    objective: Any
    y: np.ndarray
    metric: Any
    floor: float

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "Limit":
        """Return the limit over the given rows alone."""
        return replace(self, objective=self.objective.taking(rows, groups), y=self.y[rows])

    @cached_property
    def quality(self) -> Any:
        """The metric as a function of scores, or ``None`` if these rows say nothing about it."""
        try:
            return self.metric.prepared(self.y, self.objective.groups)
        except ValueError:
            return None

    def direction(self, scores: np.ndarray) -> int:
        """Return 1 if the quality is below the floor, -1 if it is not, and 0 if nobody knows."""
        if self.quality is None:
            return 0
        return 1 if self.quality(scores) < self.floor else -1


@dataclass(eq=False)
class Factors:
    """Factors of the limited terms, and the iteration in which they were adapted last."""

    values: list[float]
    iteration: int = -1

    def __post_init__(self) -> None:
        """Refuse a factor that cannot grow."""
        for value in self.values:
            check_number("the factor of a limit", value, above=0)

    def adapt(self, iteration: int, directions: list[int]) -> None:
        """Multiply each factor by ``GROWTH`` to the power of its direction."""
        self.iteration = iteration
        self.values = [v * GROWTH**d for v, d in zip(self.values, directions, strict=True)]


@dataclass(frozen=True, eq=False)
class LimitedSum(Summable):
    """An objective, plus limited ones with factors that are adapted during training.

    Iterations must be asked for in their order, each once or several times.

    Attributes
    ----------
    goal : Objective
        What to lower.
    limits : tuple of Limit
        What may not fall too far.
    factors : Factors
        Present factors of the limits; parts of the same sum share them.

    Examples
    --------
    >>> from treerank.metrics import NDCG
    >>> from treerank.objectives import make_objective
    >>> margin = Limit(make_objective([0, 1]), np.array([0.0, 1.0]), NDCG(), floor=0.9)
    >>> limited = LimitedSum(make_objective([1, 0]), (margin,), Factors([1.0]))
    >>> for t in range(3):  # the second document stands below the first: the limit is not kept
    ...     gradient, hessian = limited.derivatives(np.array([1.0, 0.0]), iteration=t)
    >>> limited.factors.values
    [1.3310000000000004]
    """

    goal: Any
    limits: tuple[Limit, ...]
    factors: Factors = field(compare=False)

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        groups: QueryGroups = self.goal.groups
        return groups

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return int(self.goal.n_outputs)

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds: that of the terms, or 1 if they differ."""
        return self._sum().steepness

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian under the factors of the iteration."""
        return self._adapted(scores, iteration)(scores, iteration=iteration)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian under the factors of the iteration."""
        return self._adapted(scores, iteration).derivatives(scores, iteration=iteration)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "LimitedSum":
        """Return the sum over the given rows alone, with the same factors."""
        limits = tuple(limit.taking(rows, groups) for limit in self.limits)
        return LimitedSum(self.goal.taking(rows, groups), limits, self.factors)

    def convex(self) -> WeightedSum:
        """Return the sum of the convex forms of the terms under the present factors."""
        return self._sum().convex()

    def _adapted(self, scores: np.ndarray, iteration: int) -> WeightedSum:
        if iteration > self.factors.iteration:
            by_row = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1).sum(axis=1)
            directions = [limit.direction(by_row) for limit in self.limits]
            self.factors.adapt(iteration, directions)
        return self._sum()

    def _sum(self) -> WeightedSum:
        terms = [self.goal, *(limit.objective for limit in self.limits)]
        return weighted_sum(terms, [1.0, *self.factors.values])
