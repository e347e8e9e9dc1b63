"""Some rows: an objective that knows labels of some documents only; all others cost nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Derivatives, NoDocuments, Objective, Priced


@dataclass(frozen=True, eq=False)
class SomeRows(Objective):
    """The price of the scores of some documents, as an objective over more of them.

    So labels that are known for different documents can be added up.

    Parameters
    ----------
    objective : Objective
        Its row ``i`` is ``rows[i]`` of all documents.
    rows : ndarray of int
        Rows that it knows, each once.
    all_groups : QueryGroups
        Queries of all rows.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> groups = QueryGroups.from_qid(["a", "a", "a"])
    >>> SomeRows(make_objective([1, 0]), np.array([0, 2]), groups)(np.zeros(3))[1]
    array([-0.5,  0. ,  0.5])
    """

    objective: Objective
    rows: np.ndarray
    all_groups: QueryGroups

    @property
    def groups(self) -> QueryGroups:
        """Queries of all rows."""
        return self.all_groups

    @property
    def name(self) -> str:
        """What errors call it: the name of the objective."""
        return self.objective.name

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return self.objective.n_outputs

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds."""
        return self.objective.steepness

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian."""
        scores = np.asarray(scores, dtype=np.float64)
        value, *found = self.objective(scores[self.rows], iteration=iteration)
        gradient, hessian = (self._spread(part, scores) for part in found)
        return value, gradient, hessian

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        found = self.objective.derivatives(scores[self.rows], iteration=iteration)
        gradient, hessian = (self._spread(part, scores) for part in found)
        return gradient, hessian

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "SomeRows":
        """Return the objective of the given rows alone."""
        place = np.full(self.all_groups.n_documents, -1)
        place[self.rows] = np.arange(len(self.rows))
        known = np.flatnonzero(place[rows] >= 0)
        if len(known) == 0:
            return SomeRows(NoDocuments(), known, groups)
        own = self.objective.taking(place[rows[known]], groups.among(known))
        return SomeRows(own, known, groups)

    def convex(self) -> "SomeRows":
        """Return the convex form of the objective."""
        return SomeRows(self.objective.convex_or_itself(), self.rows, self.all_groups)

    def with_loss(self, loss: Any) -> "SomeRows | None":
        """Return a loss without pairs of the same labels, if the objective has labels."""
        found = self.objective.with_loss(loss)
        return None if found is None else SomeRows(found, self.rows, self.all_groups)

    def has_anything_to_learn(self) -> bool:
        """Tell whether the objective can learn from other scores than equal ones."""
        return self.objective.has_anything_to_learn()

    def _spread(self, part: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return derivatives of all rows: 0 where nothing is known."""
        whole = np.zeros(scores.shape)
        whole[self.rows] = part
        return whole
