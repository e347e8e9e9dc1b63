"""Started: an objective whose scores begin at given numbers instead of 0."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Derivatives, Objective, Priced, as_objective


@dataclass(frozen=True, eq=False)
class Started(Objective):
    """The price of ``start + scores``: what is fitted to it adds to the start.

    Parameters
    ----------
    objective : Objective
        The price of the sum.
    start : ndarray of shape (n_documents, n_outputs)
        Scores of another model.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0])
    >>> rest = Started(objective, np.array([[2.0], [0.0]]))
    >>> rest([0.0, 0.0])[0] == objective([2.0, 0.0])[0]
    True
    """

    objective: Any
    start: np.ndarray

    @property
    def name(self) -> str:
        """What errors call it: the name of the objective."""
        return as_objective(self.objective).name

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        groups: QueryGroups = self.objective.groups
        return groups

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return int(self.objective.n_outputs)

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds."""
        return as_objective(self.objective).steepness

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian."""
        priced: Priced = self.objective(from_start(self.start, scores), iteration=iteration)
        return priced

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        at = from_start(self.start, scores)
        found: Derivatives = self.objective.derivatives(at, iteration=iteration)
        return found

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> Objective:
        """Return the objective of the given rows alone."""
        return Started(self.objective.taking(rows, groups), self.start[rows])

    def convex(self) -> Objective:
        """Return the convex form, which starts from the sum over outputs."""
        convex = as_objective(self.objective).convex_or_itself()
        return Started(convex, self.start.sum(axis=1, keepdims=True))

    def has_anything_to_learn(self) -> bool:
        """Tell whether the objective can learn from other scores than equal ones."""
        return as_objective(self.objective).has_anything_to_learn()


def from_start(start: np.ndarray, scores: Any) -> np.ndarray:
    """Return ``start + scores``, in the shape of the scores."""
    scores = np.asarray(scores, dtype=np.float64)
    return scores + (start[:, 0] if scores.ndim == 1 else start)
