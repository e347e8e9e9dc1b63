"""Composed objectives: weighted sums, objectives of some rows, objectives with start scores.

``0.7 * a + 0.3 * b`` is an objective. Its terms may differ in labels, losses and weights, but not
in documents and queries; :class:`SomeRows` extends an objective of some rows to all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.checks import check_number
from treerank.documents.queries import QueryGroups
from treerank.objectives.base import (
    Derivatives,
    LossAndDerivatives,
    NoDocuments,
    Objective,
    Score,
    WrappedObjective,
    as_objective,
)
from treerank.parameters import check_arguments


@dataclass(frozen=True, eq=False)
class WeightedSum(Objective):
    """A sum of objectives, each times its factor.

    Parameters
    ----------
    terms : tuple of Objective
        Objectives over the same documents and queries.
    factors : tuple of float
        Factor of each term; not negative.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> relevance, margin = make_objective([1, 0]), make_objective([0, 1])
    >>> both = 0.75 * relevance + 0.25 * margin
    >>> both([0.0, 0.0])[1]
    array([-0.25,  0.25])
    """

    terms: tuple[Objective, ...]
    factors: tuple[float, ...]

    @property
    def name(self) -> str:
        """Names of the terms."""
        return " + ".join(term.name for term in self.terms)

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        return self.terms[0].groups

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return self.terms[0].n_outputs

    @property
    def steepness(self) -> float:
        """Factor from a difference of two scores to log odds.

        It is the value of the terms with a positive factor, or 1 if these differ.
        """
        counted = zip(self.terms, self.factors, strict=True)
        values = {term.steepness for term, factor in counted if factor > 0}
        return values.pop() if len(values) == 1 else 1.0

    @property
    def is_nonnegative(self) -> bool:
        """Whether the values of all terms are never negative and can come close to 0."""
        return all(term.is_nonnegative for term in self.terms)

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian."""
        parts = [term(scores, iteration=iteration) for term in self.terms]
        value, gradient, hessian = (self._added(part) for part in zip(*parts, strict=True))
        return float(value), gradient, hessian

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        parts = [term.derivatives(scores, iteration=iteration) for term in self.terms]
        gradient, hessian = (self._added(part) for part in zip(*parts, strict=True))
        return gradient, hessian

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "WeightedSum":
        """Return the sum over a subset of the rows."""
        return WeightedSum(tuple(term.taking(rows, groups) for term in self.terms), self.factors)

    def convex(self) -> "WeightedSum":
        """Return the sum of the convex forms of the terms; a term without one is taken as it is."""
        return WeightedSum(tuple(term.convex_or_itself() for term in self.terms), self.factors)

    def for_epoch(self, score: Score) -> "WeightedSum":
        """Return the sum of the terms of the next epoch."""
        return WeightedSum(tuple(term.for_epoch(score) for term in self.terms), self.factors)

    def with_loss(self, loss: Any) -> "WeightedSum | None":
        """Return the sum of the terms with another listwise or pointwise loss.

        None if a term has no labels to make it of.
        """
        terms = [term.with_loss(loss) for term in self.terms]
        if None in terms:
            return None
        return WeightedSum(tuple(filter(None, terms)), self.factors)

    def has_anything_to_learn(self) -> bool:
        """Return whether equal scores can be improved for some term."""
        counted = zip(self.terms, self.factors, strict=True)
        return any(factor > 0 and term.has_anything_to_learn() for term, factor in counted)

    def _added(self, parts: Sequence[Any]) -> Any:
        return sum(factor * part for factor, part in zip(self.factors, parts, strict=True))


@check_arguments
def weighted_sum(objectives: Sequence[Any], factors: Sequence[float] | None = None) -> WeightedSum:
    """Add objectives over the same documents, each multiplied by a factor.

    Use this function to add user-defined objectives, which have no ``+``. Nested sums are
    flattened.

    Parameters
    ----------
    objectives : sequence of Objective
        At least one.
    factors : sequence of float, default=None
        Factor of each, not negative; ``None`` is 1 for all.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> weighted_sum([make_objective([1, 0]), make_objective([0, 1])], [2, 2])([0.0, 0.0])[1]
    array([0., 0.])
    """
    factors = [1.0] * len(objectives) if factors is None else list(factors)
    if len(objectives) == 0 or len(objectives) != len(factors):
        raise ValueError(
            "objectives must be one or more, with a factor each; got "
            f"{len(objectives)} and {len(factors)} factors."
        )
    terms: list[tuple[Objective, float]] = []
    for objective, factor in zip(objectives, factors, strict=True):
        check_number("factor", factor, at_least=0)
        is_sum = isinstance(objective, WeightedSum)
        inner = zip(objective.terms, objective.factors, strict=True) if is_sum else [(objective, 1)]
        terms += [
            (as_objective(term), float(factor * inner_factor)) for term, inner_factor in inner
        ]
    for term, _ in terms[1:]:
        _refuse_other_documents(terms[0][0], term)
    return WeightedSum(tuple(t for t, _ in terms), tuple(f for _, f in terms))


def _refuse_other_documents(first: Any, other: Any) -> None:
    same = len(first.groups.codes) == len(other.groups.codes)
    if not same or (first.groups.codes != other.groups.codes).any():
        sizes = [f"{g.n_documents} in {g.n_queries}" for g in (first.groups, other.groups)]
        raise ValueError(
            "objectives must be over the same documents and queries to be added; got documents in "
            f"queries, {sizes[0]} and {sizes[1]}. Make them of one y and qid."
        )
    if first.n_outputs != other.n_outputs:
        raise ValueError(
            "objectives must have equally many outputs to be added; got "
            f"{first.n_outputs} and {other.n_outputs}."
        )


@dataclass(frozen=True, eq=False)
class FromStart(WrappedObjective):
    """The objective of ``start + scores``, to fit a model that is added to another one.

    Parameters
    ----------
    objective : Objective
        Objective of the sum.
    start : ndarray of shape (n_documents,)
        Scores of the other model.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0])
    >>> second = FromStart(objective, np.array([2.0, 0.0]))
    >>> second([0.0, 0.0])[0] == objective([2.0, 0.0])[0]
    True
    """

    start: np.ndarray

    def __post_init__(self) -> None:
        """Add missing members to a user-defined objective."""
        object.__setattr__(self, "objective", as_objective(self.objective))

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian."""
        return self.objective(self.inner_scores(scores), iteration=iteration)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        return self.objective.derivatives(self.inner_scores(scores), iteration=iteration)

    def inner_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return ``start + scores``, which the wrapped objective sees."""
        return self.start + scores

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> Objective:
        """Return the objective of a subset of the rows."""
        return FromStart(self.objective.taking(rows, groups), self.start[rows])


@dataclass(frozen=True, eq=False)
class SomeRows(WrappedObjective):
    """An objective of some documents, extended to all; the other documents have derivatives 0.

    Parameters
    ----------
    objective : Objective
        Objective whose row ``i`` is row ``rows[i]`` of all documents.
    rows : ndarray of int
        Rows of the objective, each once.
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

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian."""
        scores = np.asarray(scores, dtype=np.float64)
        value, *derivatives = self.objective(self.inner_scores(scores), iteration=iteration)
        return value, *self._scattered(derivatives, scores)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        derivatives = self.objective.derivatives(self.inner_scores(scores), iteration=iteration)
        return self._scattered(derivatives, scores)

    def inner_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of the rows of the objective."""
        return scores[self.rows]

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "SomeRows":
        """Return the objective of a subset of the rows."""
        number = np.full(self.all_groups.n_documents, -1)
        number[self.rows] = np.arange(len(self.rows))
        shared = np.flatnonzero(number[rows] >= 0)
        if len(shared) == 0:
            return SomeRows(NoDocuments(), shared, groups)
        objective = self.objective.taking(number[rows[shared]], groups.take(shared))
        return SomeRows(objective, shared, groups)

    def _scattered(self, derivatives: Any, scores: np.ndarray) -> Derivatives:
        """Return the derivatives of all rows, 0 outside the rows of the objective."""
        gradient, hessian = np.zeros(scores.shape), np.zeros(scores.shape)
        gradient[self.rows], hessian[self.rows] = derivatives
        return gradient, hessian
