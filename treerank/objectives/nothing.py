"""The objective of no documents: that of a worker whose team has fewer queries than workers."""

from dataclasses import dataclass, field

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Derivatives, Priced


@dataclass(frozen=True, eq=False)
class NoDocuments:
    """An objective without documents: all arrays are empty.

    Examples
    --------
    >>> NoDocuments()(np.zeros(0))
    (0.0, array([], dtype=float64), array([], dtype=float64))
    """

    n_outputs: int = 1
    groups: QueryGroups = field(default_factory=lambda: QueryGroups(None, np.zeros(1, np.int64)))

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian."""
        return 0.0, *self.derivatives(scores)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian alone."""
        return np.zeros_like(scores), np.zeros_like(scores)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "NoDocuments":
        """Return the objective of no rows."""
        del rows, groups
        return self
