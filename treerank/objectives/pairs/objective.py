"""Pairwise objectives: a pair loss times a pair weight, summed over the pairs of each query.

The sums come from a kernel. To add one, write a module with ``sums`` and choose it in
:func:`choose_kernel`.
"""

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from treerank.checks import check_column
from treerank.inputs.grouping import QueryGroups
from treerank.numerics.threads import in_parts, threads_for
from treerank.objectives.base import Derivatives, Objective, Priced, as_objective
from treerank.objectives.pairs import (
    exact_pairs,
    fast_pairs,
    hinges,
    level_sums,
    listed_pairs,
)
from treerank.objectives.pairs.label_order import scatter
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.objectives.pairs.problem import PairProblem
from treerank.objectives.pairs.rules import GivenPairs, Pairs
from treerank.objectives.pairs.weights import PAIR_WEIGHTS

#: Summing so many pairs takes as long as ranking a document.
_PAIRS_PER_DOCUMENT = 8


def choose_kernel(problem: PairProblem, *, with_value: bool) -> ModuleType:
    """Return the module that sums the pairs of a problem; the table of this package in code."""
    of_margin = problem.loss.of_margin
    if problem.is_listed:
        return listed_pairs
    if problem.pairs.ties:
        return exact_pairs
    if problem.loss.shape is not None and not with_value:
        return fast_pairs
    if problem.is_separable and of_margin in level_sums.LEVEL_SUMS:
        return level_sums
    if problem.is_separable and of_margin in hinges.HINGES:
        return hinges
    return exact_pairs


@dataclass(frozen=True, eq=False)
class PairwiseObjective(Objective):
    """The sum of ``weight * loss(margin)`` over the pairs of each query.

    :func:`treerank.objectives.make_objective` checks everything and makes one.

    Attributes
    ----------
    problem : PairProblem
        Documents, loss, weight and pairs.
    """

    problem: PairProblem

    @property
    def name(self) -> str:
        """Name of the loss."""
        return self.problem.loss.name

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        return self.problem.groups

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds, as far as the loss says."""
        return self.problem.sigma if self.problem.loss.is_likelihood else 1.0

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian, in double precision."""
        scores = check_column("scores", scores, self.groups.n_documents)
        with self._threads():
            sums = choose_kernel(self.problem, with_value=True).sums(
                self.problem, scores, iteration
            )
            factor = self.problem.factors(sums.mass)
            return float(np.sum(factor * sums.values)), *self._scattered(sums)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian, as fast as the loss allows."""
        scores = self._of_documents(scores)
        kernel = choose_kernel(self.problem, with_value=False)
        with self._threads():
            return self._scattered(kernel.sums(self.problem, scores, iteration))

    def changed(self, **settings: Any) -> "PairwiseObjective":
        """Return the objective of a problem with other settings."""
        return PairwiseObjective(replace(self.problem, **settings))

    def checked(self) -> "PairwiseObjective":
        """Return the objective itself, once the weight has accepted the labels.

        Documents are sorted by label later, for the first tree: engines need most memory before.
        """
        problem = self.problem
        labels = np.unique(problem.judgments.y)
        one_query = QueryGroups(None, np.array([0, len(labels)]))
        problem.weight.gains(labels, one_query, problem.options)
        return self

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "PairwiseObjective":
        """Return the objective of the given rows alone, whose queries are ``groups``."""
        pairs = self.problem.pairs
        pairs = pairs.taking(rows) if isinstance(pairs, GivenPairs) else pairs
        return self.changed(judgments=self.problem.judgments.taking(rows, groups), pairs=pairs)

    def convex(self) -> "PairwiseObjective":
        """Return the logistic loss of the same pairs, with weights and pairs that never change."""
        weight, pairs = self.problem.weight, self.problem.pairs
        return self.changed(
            loss=PAIR_LOSSES["logistic"],
            weight=weight if weight.is_fixed else PAIR_WEIGHTS["query"],
            pairs=pairs if pairs.is_fixed else Pairs(),
        )

    def with_loss(self, loss: Any) -> Objective:
        """Return a loss without pairs of the same labels."""
        return as_objective(loss.bind(self.problem.judgments))

    def has_anything_to_learn(self) -> bool:
        """Tell whether a pair has a weight."""
        if super().has_anything_to_learn():
            return True
        # Under the logistic loss, no margin has the slope 0.
        logistic = self.changed(loss=PAIR_LOSSES["logistic"])
        return bool(np.any(logistic.derivatives(np.zeros(self.groups.n_documents))[0]))

    def _of_documents(self, scores):
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        n_documents = self.groups.n_documents
        if scores.shape != (n_documents,):
            raise ValueError(
                f"scores must have one entry per document, {n_documents}; got shape {scores.shape}."
            )
        return scores

    def _scattered(self, sums):
        gradient, hessian = np.empty((2, len(sums.gradient)))
        place = self.problem.labels.row, self.problem.labels.indptr
        factors = self.problem.slope_factors(sums.mass)
        in_parts(
            scatter, place[1], sums.gradient, sums.hessian, *place, *factors, gradient, hessian
        )
        return gradient, hessian

    def _threads(self):
        """Return a context with as many threads as pay for the pairs."""
        n_pairs = self.problem.n_pairs
        return threads_for(max(self.groups.n_documents, n_pairs / _PAIRS_PER_DOCUMENT))
