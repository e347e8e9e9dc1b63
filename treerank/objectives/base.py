"""What an objective is: ``objective(scores) -> value, gradient, hessian``.

The head is linear before tau, so a document enters training only through its score. Scores are
all that a feature part ever tells an objective; neither ``y`` nor ``qid`` reaches a feature part.
An objective of the user's own needs ``groups``, ``n_outputs``, ``__call__``, ``derivatives`` and
``taking``, and may have the other members of :class:`Objective`. It needs no base class:
:func:`as_objective` gives it the defaults.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treerank.checks import has_methods, is_whole
from treerank.documents.queries import QueryGroups

#: Value, gradient and hessian.
Priced = tuple[float, np.ndarray, np.ndarray]
#: Gradient and hessian.
Derivatives = tuple[np.ndarray, np.ndarray]


class Objective(ABC):
    """The price of the scores of all documents, in the order of the caller's rows.

    Objectives over the same documents can be added: ``0.7 * a + 0.3 * b`` is an objective again.
    """

    @property
    @abstractmethod
    def groups(self) -> QueryGroups:
        """Queries of the rows."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_queries

    @property
    def n_outputs(self) -> int:
        """Number of columns of ``scores``."""
        return 1

    @property
    def name(self) -> str:
        """What errors call the objective."""
        return type(self).__name__

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds."""
        return 1.0

    @abstractmethod
    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian; ``iteration`` keys whatever is drawn at random."""

    @abstractmethod
    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian alone, which costs less; boosters need no more."""

    @abstractmethod
    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "Objective":
        """Return the objective of the given rows alone, whose queries are ``groups``.

        Rows of one query stand next to each other. A query may be there in part.
        """

    def convex(self) -> "Objective | None":
        """Return a convex objective of one output over the same documents, if there is one.

        A head over several outputs is fitted to it.
        """
        return None

    def convex_or_itself(self) -> "Objective":
        """Return the convex form of the objective, or the objective if it has none."""
        found = self.convex()
        return self if found is None else found

    def with_loss(self, loss: Any) -> "Objective | None":
        """Return the objective of another loss, one without pairs, if the labels are known."""
        del loss
        return None

    def has_anything_to_learn(self) -> bool:
        """Tell whether other scores than equal ones may cost less: there is a slope at zero."""
        n = self.groups.n_documents
        scores = np.zeros((n, self.n_outputs) if self.n_outputs > 1 else n)
        return bool(np.any(self.derivatives(scores)[0]))

    #: Arrays leave products with objectives to objectives, which refuse them.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> "Objective":
        """Return the sum of two objectives."""
        if not has_methods(other, "derivatives", "taking"):
            return NotImplemented
        from treerank.objectives.sums import weighted_sum  # a sum is an objective, too

        return weighted_sum([self, other])

    def __radd__(self, other: Any) -> "Objective":
        """Return the sum of two objectives; 0 is what ``sum`` starts from."""
        return self if is_whole(other) and other == 0 else self.__add__(other)

    def __mul__(self, factor: float) -> "Objective":
        """Return the objective times a number."""
        from treerank.objectives.sums import weighted_sum

        return weighted_sum([self], [factor])

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class WrappedObjective(Objective):
    """Base class of objectives that are made from another one, and share its members.

    A subclass says by :meth:`around` how it is made; so it has the forms of the other one, too.

    Attributes
    ----------
    objective : Objective
        The other objective.
    """

    objective: Objective

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        return self.objective.groups

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.objective.n_queries

    @property
    def n_outputs(self) -> int:
        """Number of columns of ``scores``."""
        return self.objective.n_outputs

    @property
    def name(self) -> str:
        """What errors call the objective."""
        return self.objective.name

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds."""
        return self.objective.steepness

    def has_anything_to_learn(self) -> bool:
        """Tell whether the objective can learn from other scores than equal ones."""
        return self.objective.has_anything_to_learn()

    def around(self, objective: Objective) -> Objective:
        """Return what this one is, made from another objective over the same documents."""
        return replace(self, objective=objective)

    def convex(self) -> Objective | None:
        """Return the same, made from the convex form of the other objective."""
        return self.around(self.objective.convex_or_itself())

    def with_loss(self, loss: Any) -> Objective | None:
        """Return the same, made from the objective of another loss, if the labels are known."""
        found = self.objective.with_loss(loss)
        return None if found is None else self.around(found)


@dataclass(frozen=True, eq=False)
class OwnObjective(WrappedObjective):
    """An objective of the user's own, with defaults for what it does not have.

    Attributes
    ----------
    objective : object
        The user's objective.
    y : ndarray or None
        Labels, if they are known: where a query has two, there is something to learn.
    """

    objective: Any
    y: np.ndarray | None = None

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows, without which some feature parts cannot learn."""
        found: QueryGroups | None = self._own("groups", None)
        if found is None:
            raise TypeError(
                f"objective must have groups, the queries of its rows; got {self.name} without. "
                "Add self.groups = QueryGroups.from_qid(qid), of treerank.documents."
            )
        return found

    @property
    def n_queries(self) -> int:
        """Number of queries; 1 where they are not known, which boosted trees do without."""
        has_groups = self._own("groups", None) is not None
        return int(self._own("n_queries", self.groups.n_queries if has_groups else 1))

    @property
    def name(self) -> str:
        """What errors call the objective."""
        return str(self._own("name", type(self.objective).__name__))

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds."""
        return float(self._own("steepness", 1.0))

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian."""
        return self.objective(scores, iteration=iteration)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        return self.objective.derivatives(scores, iteration=iteration)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> Objective:
        """Return the objective of the given rows alone."""
        y = None if self.y is None else self.y[rows]
        return as_objective(self.objective.taking(rows, groups), y)

    def convex(self) -> Objective | None:
        """Return the convex form of the objective, if it has one."""
        return self._asked("convex")

    def with_loss(self, loss: Any) -> Objective | None:
        """Return the objective of another loss, if the user's objective makes one."""
        return self._asked("with_loss", loss)

    def has_anything_to_learn(self) -> bool:
        """Ask the objective; if it does not say, take a slope or two labels of a query."""
        own = self._own("has_anything_to_learn", None)
        if own is not None:
            return bool(own())
        has_labels = self.y is not None and bool(self.groups.with_two_labels(self.y).any())
        return has_labels or Objective.has_anything_to_learn(self)

    def _asked(self, name: str, *args: Any) -> Objective | None:
        """Return the objective that a method of the user's returns, if there is one."""
        method = self._own(name, None)
        found = None if method is None else method(*args)
        return None if found is None else as_objective(found, self.y)

    def _own(self, name: str, default: Any) -> Any:
        return getattr(self.objective, name, default)


def as_objective(objective: Any, y: np.ndarray | None = None) -> Objective:
    """Return an objective with all members of :class:`Objective`; refuse labels and the like.

    Examples
    --------
    >>> class Mine:
    ...     def derivatives(self, scores, *, iteration=0):
    ...         return scores, np.ones_like(scores)
    >>> as_objective(Mine()).name, as_objective(Mine()).steepness
    ('Mine', 1.0)
    """
    if isinstance(objective, Objective):
        return objective
    if not has_methods(objective, "derivatives"):
        raise TypeError(
            f"objective must have derivatives(scores); got {type(objective)}. Write "
            "TreeDirectRanker(part).fit(X, y, qid) to learn from labels."
        )
    return OwnObjective(objective, y)


class NoDocuments(Objective):
    """The objective of no documents, as of a worker without queries: arrays are empty.

    Examples
    --------
    >>> NoDocuments()(np.zeros(0))
    (0.0, array([], dtype=float64), array([], dtype=float64))
    """

    groups = QueryGroups(None, np.zeros(1, np.int64))

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
