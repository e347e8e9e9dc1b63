"""Some rows: an objective that knows labels of some documents only; all others cost nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Derivatives, NoDocuments, Priced, WrappedObjective


@dataclass(frozen=True, eq=False)
class SomeRows(WrappedObjective):
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

    rows: np.ndarray
    all_groups: QueryGroups

    @property
    def groups(self) -> QueryGroups:
        """Queries of all rows."""
        return self.all_groups

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian."""
        scores = np.asarray(scores, dtype=np.float64)
        value, *found = self.objective(scores[self.rows], iteration=iteration)
        return value, *self._spread(found, scores)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        found = self.objective.derivatives(scores[self.rows], iteration=iteration)
        return self._spread(found, scores)

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

    def _spread(self, found: Any, scores: np.ndarray) -> Derivatives:
        """Return derivatives of all rows: 0 where nothing is known."""
        gradient, hessian = np.zeros(scores.shape), np.zeros(scores.shape)
        gradient[self.rows], hessian[self.rows] = found
        return gradient, hessian
