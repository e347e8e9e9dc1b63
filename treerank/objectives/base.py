"""What an objective is: ``objective(scores) -> value, gradient, hessian``.

The head is linear before tau, so a document enters training only through its score. An objective
sees scores, labels and queries, and never features; a feature part sees features, and never labels
or queries. A user-defined objective needs ``derivatives``, and ``__call__`` for linear models and
networks. It may have the other members of :class:`Objective`, and needs no base class:
:func:`as_objective` gives it the defaults. One that a loss has bound also has the queries of its
judgments, and the loss binds some of its rows; any other one needs ``groups`` and ``taking``, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treerank.checks import has_methods, is_whole
from treerank.documents.queries import QueryGroups
from treerank.objectives.judgments import Judgments

#: Value of the loss, gradient and hessian.
LossAndDerivatives = tuple[float, np.ndarray, np.ndarray]
#: Gradient and hessian.
Derivatives = tuple[np.ndarray, np.ndarray]
#: A function that returns the present scores of all documents.
Score = Callable[[], np.ndarray]


class Objective(ABC):
    """A loss of the scores of all documents, with its derivatives, in the order of the rows.

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
        """Name of the objective in errors."""
        return type(self).__name__

    @property
    def steepness(self) -> float:
        """Factor from a difference of two scores to the log odds of their order."""
        return 1.0

    @property
    def is_nonnegative(self) -> bool:
        """Whether values are never negative and can come close to 0, so that their ratio counts.

        False by default: any constant may be part of the value of a user-defined objective.
        """
        return False

    @abstractmethod
    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian for the scores of all rows.

        ``iteration`` is a key of random numbers: equal arguments give equal results.
        """

    @abstractmethod
    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian only, which is cheaper and all that boosters need.

        The hessian is its diagonal, or an approximation that is not negative: one entry per score.
        """

    @abstractmethod
    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "Objective":
        """Return the objective of a subset of the rows, whose queries are ``groups``.

        Rows of one query are adjacent. The subset may cut a query.
        """

    def convex(self) -> "Objective | None":
        """Return a convex objective with one output over the same documents, if there is one.

        The weights of several outputs of a feature part are fitted to it. None by default.
        """
        return None

    def convex_or_itself(self) -> "Objective":
        """Return the convex form of the objective, or the objective if it has none."""
        convex = self.convex()
        return self if convex is None else convex

    def with_loss(self, loss: Any) -> "Objective | None":
        """Return the objective of another listwise or pointwise loss for the same labels.

        None if the objective has no labels, as by default.
        """
        del loss
        return None

    def for_epoch(self, score: Score) -> "Objective":
        """Return the objective of the next epoch of gradient descent: by default, this one.

        An objective whose targets depend on the ranking calls ``score()``, which returns the
        present scores, and keeps these targets for an epoch.
        """
        del score
        return self

    def has_anything_to_learn(self) -> bool:
        """Return whether equal scores can be improved: the gradient at zero is not zero."""
        n = self.groups.n_documents
        scores = np.zeros((n, self.n_outputs) if self.n_outputs > 1 else n)
        return bool(np.any(self.derivatives(scores)[0]))

    #: NumPy arrays leave multiplication with objectives to the objective, which refuses them.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> "Objective":
        """Return the sum of two objectives."""
        if not has_methods(other, "derivatives", "taking"):
            return NotImplemented
        from treerank.objectives.sums import weighted_sum  # a sum is an objective, too

        return weighted_sum([self, other])

    def __radd__(self, other: Any) -> "Objective":
        """Return the sum of two objectives; ``sum`` starts from 0."""
        return self if is_whole(other) and other == 0 else self.__add__(other)

    def __mul__(self, factor: float) -> "Objective":
        """Return the objective times a number."""
        from treerank.objectives.sums import weighted_sum

        return weighted_sum([self], [factor])

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class WrappedObjective(Objective):
    """Base class of objectives that wrap another one and forward its members.

    :meth:`around` wraps another objective in the same way, such as the convex form.

    Attributes
    ----------
    objective : Objective
        The wrapped objective.
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
        """Name of the objective in errors."""
        return self.objective.name

    @property
    def steepness(self) -> float:
        """Factor from a difference of two scores to log odds."""
        return self.objective.steepness

    @property
    def is_nonnegative(self) -> bool:
        """Whether values are never negative and can come close to 0."""
        return self.objective.is_nonnegative

    def has_anything_to_learn(self) -> bool:
        """Return whether equal scores can be improved."""
        return self.objective.has_anything_to_learn()

    def around(self, objective: Objective) -> Objective:
        """Wrap another objective over the same documents in the same way."""
        return replace(self, objective=objective)

    def convex(self) -> Objective | None:
        """Return the convex form of the wrapped objective, or itself, wrapped alike."""
        return self.around(self.objective.convex_or_itself())

    def for_epoch(self, score: Score) -> Objective:
        """Return the wrapped objective of the next epoch, wrapped in the same way."""
        return self.around(self.objective.for_epoch(lambda: self.inner_scores(score())))

    def inner_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores that the wrapped objective sees."""
        return scores

    def with_loss(self, loss: Any) -> Objective | None:
        """Return the wrapped objective with another loss, wrapped in the same way."""
        objective = self.objective.with_loss(loss)
        return None if objective is None else self.around(objective)


@dataclass(frozen=True, eq=False)
class OwnObjective(WrappedObjective):
    """A user-defined objective, with defaults for members that it lacks.

    Attributes
    ----------
    objective : object
        The user's objective.
    judgments : Judgments or None
        What it is bound to, if it is: a query with two different labels is something to learn from.
    loss : object
        The loss that has bound it.
    """

    objective: Any
    judgments: Judgments | None = None
    loss: Any = None

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows, which some feature parts need."""
        bound = None if self.judgments is None else self.judgments.groups
        groups: QueryGroups | None = self._member("groups", bound)
        if groups is None:
            raise TypeError(
                f"objective must have groups, the queries of its rows; got {self.name} without. "
                "Add self.groups = QueryGroups.from_qid(qid), of treerank.documents."
            )
        return groups

    @property
    def n_outputs(self) -> int:
        """Number of columns of ``scores``; 1 unless the user's object says so."""
        return int(self._member("n_outputs", 1))

    @property
    def n_queries(self) -> int:
        """Number of queries; 1 if the objective has no groups, which boosted trees do not need."""
        has_groups = self.judgments is not None or self._member("groups", None) is not None
        return int(self._member("n_queries", self.groups.n_queries if has_groups else 1))

    @property
    def name(self) -> str:
        """Name of the objective in errors."""
        return str(self._member("name", type(self.objective).__name__))

    @property
    def steepness(self) -> float:
        """Factor from a difference of two scores to log odds.

        1 unless the user's object has one.
        """
        return float(self._member("steepness", 1.0))

    @property
    def is_nonnegative(self) -> bool:
        """Whether values are never negative and can come close to 0.

        False unless the user's object says so.
        """
        return bool(self._member("is_nonnegative", False))

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian."""
        if not callable(self.objective):
            raise TypeError(
                f"{self.name} must have a method __call__(scores, *, iteration=0) that returns "
                "value, gradient and hessian: boosted trees alone need no more than derivatives."
            )
        return self.objective(scores, iteration=iteration)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        return self.objective.derivatives(scores, iteration=iteration)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> Objective:
        """Return the objective of a subset of the rows.

        It is bound again unless the user's object can take rows.
        """
        judgments = self.judgments and self.judgments.taking(rows, groups)
        method = self._member("taking", None)
        if method is None and (judgments is None or self.loss is None):
            raise TypeError(
                f"{self.name} must have a method taking(rows, groups) that returns the objective "
                "of some rows, which this feature part asks for. A loss with bind(judgments), as "
                "in TreeDirectRanker(loss=...), needs none."
            )
        taken = self.loss.bind(judgments) if method is None else method(rows, groups)
        return as_objective(taken, judgments, self.loss)

    def convex(self) -> Objective | None:
        """Return the convex form of the objective, if it has one."""
        return self._asked("convex")

    def for_epoch(self, score: Score) -> Objective:
        """Return the objective of the next epoch: this one, unless the user's object has one."""
        return self._asked("for_epoch", score) or self

    def with_loss(self, loss: Any) -> Objective | None:
        """Return the objective of another loss, if the user's objective makes one."""
        return self._asked("with_loss", loss)

    def has_anything_to_learn(self) -> bool:
        """Ask the objective; by default, check the labels and the gradient at zero."""
        method = self._member("has_anything_to_learn", None)
        if method is not None:
            return bool(method())
        y = None if self.judgments is None else self.judgments.y
        has_labels = y is not None and bool(self.groups.with_two_labels(y).any())
        return has_labels or Objective.has_anything_to_learn(self)

    def _asked(self, name: str, *args: Any) -> Objective | None:
        """Return what the method ``name`` of the user's objective returns, as an objective.

        None if there is no such method, or if it returns None.
        """
        method = self._member(name, None)
        objective = None if method is None else method(*args)
        return None if objective is None else as_objective(objective, self.judgments)

    def _member(self, name: str, default: Any) -> Any:
        return getattr(self.objective, name, default)


def as_objective(objective: Any, judgments: Judgments | None = None, loss: Any = None) -> Objective:
    """Return an objective with all members of :class:`Objective`; wrap a user-defined one.

    ``judgments`` and ``loss`` are what a user-defined one is bound to, and by. Refuses an object
    without ``derivatives``.

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
    return OwnObjective(objective, judgments, loss)


def check_derivative(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a gradient or a hessian as an array of floats; refuse another shape than of scores.

    Examples
    --------
    >>> check_derivative("hessian", [1, 1], (2,))
    array([1., 1.])
    """
    array = np.ascontiguousarray(values, dtype=np.float64)
    if np.shape(values) != shape:  # of one number, too, which the array holds in a row
        raise ValueError(
            f"{name} must have shape {shape}, one entry per score; got {np.shape(values)}."
        )
    return array


class NoDocuments(Objective):
    """The objective of no documents, for a worker without queries.

    Examples
    --------
    >>> NoDocuments()(np.zeros(0))
    (0.0, array([], dtype=float64), array([], dtype=float64))
    """

    groups = QueryGroups(None, np.zeros(1, np.int64))

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian."""
        return 0.0, *self.derivatives(scores)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian alone."""
        return np.zeros_like(scores), np.zeros_like(scores)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "NoDocuments":
        """Return the objective of no rows."""
        del rows, groups
        return self
