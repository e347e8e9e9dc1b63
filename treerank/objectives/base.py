"""What an objective is: ``objective(scores) -> value, gradient, hessian``.

The head is linear before tau, so a document enters training only through its score. Scores are
all that a feature part ever tells an objective; neither ``y`` nor ``qid`` reaches a feature part.
Any object with the members of :class:`Objective` trains every feature part; it needs no base
class. How objectives are added is in :mod:`treerank.objectives.weighted_sum`.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from treerank.inputs.grouping import QueryGroups

#: Value, gradient and hessian.
Priced = tuple[float, np.ndarray, np.ndarray]
#: Gradient and hessian.
Derivatives = tuple[np.ndarray, np.ndarray]


class Objective(Protocol):
    """The price of the scores of all documents, in the order of the caller's rows.

    An objective may also have ``steepness`` (what turns a margin into log odds, 1 if absent),
    ``has_anything_to_learn()`` (whether other scores than equal ones may cost less),
    ``convex()`` (a convex objective over the same documents, which fits a head over several
    outputs) and ``name`` (what errors call it, its class if absent).

    Attributes
    ----------
    groups : QueryGroups
        Queries of the rows.
    n_outputs : int
        Columns of ``scores``: 1, or the number of thresholds of a per-level objective.
    """

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        ...

    @property
    def n_outputs(self) -> int:
        """Number of columns of ``scores``."""
        ...

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian; ``iteration`` keys whatever is drawn at random."""
        ...

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian alone, which costs less; boosters need no more."""
        ...

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "Objective":
        """Return the objective of the given rows alone, whose queries are ``groups``.

        Rows of one query stand next to each other. A query may be there in part.
        """
        ...


def convex_form(objective: Any, otherwise: Callable[[], Objective] | None = None) -> Objective:
    """Return the convex form of an objective; if it has none, ``otherwise()`` or the objective."""
    if hasattr(objective, "convex"):
        form: Objective = objective.convex()
        return form
    return objective if otherwise is None else otherwise()


def steepness_of(objective: Any) -> float:
    """Return what turns a margin of scores into log odds: 1 if the objective does not say it."""
    return float(getattr(objective, "steepness", 1.0))


def has_anything_to_learn(objective: Any, n_documents: int) -> bool:
    """Tell whether the slope at equal scores is not 0, or the objective says that it can learn."""
    n_outputs = objective.n_outputs
    scores = np.zeros((n_documents, n_outputs) if n_outputs > 1 else n_documents)
    if np.any(objective.derivatives(scores)[0]):
        return True
    own = getattr(objective, "has_anything_to_learn", None)
    return own is not None and bool(own())


def name_of(objective: Any) -> str:
    """Return what errors call an objective: its ``name``, or else its class."""
    return str(getattr(objective, "name", type(objective).__name__))


class SummableObjective(Objective, Protocol):
    """An objective that can be added to others and multiplied by numbers."""

    def __add__(self, other: Any) -> "SummableObjective":
        """Return the sum of two objectives."""
        ...

    def __mul__(self, factor: float) -> "SummableObjective":
        """Return the objective times a number."""
        ...

    def __rmul__(self, factor: float) -> "SummableObjective":
        """Return the objective times a number."""
        ...
