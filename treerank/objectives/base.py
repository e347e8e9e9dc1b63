"""What an objective is: ``objective(scores) -> value, gradient, hessian``.

The head is linear before tau, so a document enters training only through its score. This is
all a feature part ever learns about ranking: neither ``y`` nor ``qid`` goes further. Anything
with these members trains every feature part; inheriting from nothing is fine.
"""

from typing import Protocol

import numpy as np

from treerank.inputs.grouping import QueryGroups


class Objective(Protocol):
    """Price of a vector of scores, one per document, in the order of the caller's rows.

    Attributes
    ----------
    groups : QueryGroups
        Which rows form a query; for mini-batches of whole queries.
    n_outputs : int
        Columns of ``scores``: 1, or the number of thresholds of a per-level objective.
    """

    groups: QueryGroups
    n_outputs: int

    def __call__(
        self, scores: np.ndarray, *, iteration: int = 0
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient and hessian; ``iteration`` only keys what is drawn anew."""
        ...

    def derivatives(
        self, scores: np.ndarray, *, iteration: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and hessian alone: all that a booster needs, and cheaper."""
        ...

    def restricted_to(self, queries: np.ndarray) -> "Objective":
        """Return the part of the given queries.

        Its rows are those of ``self.groups.restricted_to(queries).order``.
        """
        ...
