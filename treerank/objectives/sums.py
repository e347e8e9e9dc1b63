"""Objectives made of others: weighted sums, of labels for some rows only, from given scores on.

``0.7 * a + 0.3 * b`` is an objective again. The terms may differ in labels, losses and weights;
their documents and queries are the same. :class:`SomeRows` makes them so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.checks import check_number
from treerank.documents.queries import QueryGroups
from treerank.objectives.base import (
    Derivatives,
    NoDocuments,
    Objective,
    Priced,
    WrappedObjective,
    as_objective,
)


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
        """What errors call it: the names of its terms."""
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
        """What turns a margin of scores into log odds: that of the terms, or 1 if they differ."""
        counted = zip(self.terms, self.factors, strict=True)
        found = {term.steepness for term, factor in counted if factor > 0}
        return found.pop() if len(found) == 1 else 1.0

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
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
        """Return the sum over the given rows alone."""
        return WeightedSum(tuple(term.taking(rows, groups) for term in self.terms), self.factors)

    def convex(self) -> "WeightedSum":
        """Return the sum of the convex forms of the terms."""
        return WeightedSum(tuple(term.convex_or_itself() for term in self.terms), self.factors)

    def with_loss(self, loss: Any) -> "WeightedSum | None":
        """Return the sum of another loss, one without pairs, for the labels of the terms."""
        terms = [term.with_loss(loss) for term in self.terms]
        known = tuple(term for term in terms if term is not None)
        return WeightedSum(known, self.factors) if len(known) == len(terms) else None

    def has_anything_to_learn(self) -> bool:
        """Tell whether a term can learn."""
        counted = zip(self.terms, self.factors, strict=True)
        return any(factor > 0 and term.has_anything_to_learn() for term, factor in counted)

    def _added(self, parts: Sequence[Any]) -> Any:
        return sum(factor * part for factor, part in zip(self.factors, parts, strict=True))


def weighted_sum(objectives: Sequence[Any], factors: Sequence[float] | None = None) -> WeightedSum:
    """Add objectives over the same documents, each times its factor.

    Objectives of your own, which have no ``+``, are added by this function. Sums among them are
    taken apart, so that no sum holds another.

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
        terms += [(as_objective(term), float(factor * own)) for term, own in inner]
    for term, _ in terms[1:]:
        _refuse_other_documents(terms[0][0], term)
    return WeightedSum(tuple(t for t, _ in terms), tuple(f for _, f in terms))


def _refuse_other_documents(first: Any, other: Any) -> None:
    same = len(first.groups.codes) == len(other.groups.codes)
    if not same or (first.groups.codes != other.groups.codes).any():
        raise ValueError("objectives must be over the same documents and queries to be added.")
    if first.n_outputs != other.n_outputs:
        raise ValueError(
            "objectives must have equally many outputs to be added; got "
            f"{first.n_outputs} and {other.n_outputs}."
        )


@dataclass(frozen=True, eq=False)
class FromStart(WrappedObjective):
    """The price of ``start + scores``: what is fitted to it adds to the start.

    Parameters
    ----------
    objective : Objective
        The price of the sum.
    start : ndarray of shape (n_documents,)
        Scores of another model.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0])
    >>> rest = FromStart(objective, np.array([2.0, 0.0]))
    >>> rest([0.0, 0.0])[0] == objective([2.0, 0.0])[0]
    True
    """

    start: np.ndarray

    def __post_init__(self) -> None:
        """Give an objective of the user's own what it does not have."""
        object.__setattr__(self, "objective", as_objective(self.objective))

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian."""
        return self.objective(self.start + scores, iteration=iteration)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        return self.objective.derivatives(self.start + scores, iteration=iteration)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> Objective:
        """Return the objective of the given rows alone."""
        return FromStart(self.objective.taking(rows, groups), self.start[rows])


@dataclass(frozen=True, eq=False)
class SomeRows(WrappedObjective):
    """The price of the scores of some documents, as an objective over more: others cost nothing.

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

    def _spread(self, found: Any, scores: np.ndarray) -> Derivatives:
        """Return derivatives of all rows: 0 where nothing is known."""
        gradient, hessian = np.zeros(scores.shape), np.zeros(scores.shape)
        gradient[self.rows], hessian[self.rows] = found
        return gradient, hessian
