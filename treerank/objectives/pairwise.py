"""Pairwise objectives: a pair loss times a pair weight, summed over the pairs of each query.

The sums come from a kernel of :mod:`treerank.objectives.kernels`. Each kernel says which problems
it can sum; the first that can is taken. To add one, write a module with ``can_sum`` and ``sums``
and list it in ``KERNELS``.
"""

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from treerank.checks import check_column
from treerank.inputs.grouping import QueryGroups
from treerank.numerics.threads import in_parts, in_turn, threads_for
from treerank.objectives.base import Derivatives, Priced
from treerank.objectives.kernels import (
    exact_pairs,
    fast_pairs,
    hinges,
    level_sums,
    listed_pairs,
)
from treerank.objectives.kernels.places import scatter
from treerank.objectives.losses import PAIR_LOSSES
from treerank.objectives.pair_problem import PairProblem
from treerank.objectives.pairs import GivenPairs, Pairs
from treerank.objectives.weighted_sum import Summable
from treerank.objectives.weights import PAIR_WEIGHTS

#: Kernels that compute the value too; the last one can sum everything.
KERNELS = (level_sums, hinges, listed_pairs, exact_pairs)
#: Summing so many pairs takes as long as ranking a document.
_PAIRS_PER_DOCUMENT = 8
#: Documents whose derivatives are computed at a time: what is needed meanwhile stays in the cache.
_BLOCK = 131_072


class PairwiseObjective(PairProblem, Summable):
    """The sum of ``weight * loss(margin)`` over the pairs of each query.

    :func:`treerank.objectives.make_objective` checks everything and makes one. For the attributes
    see :class:`~treerank.objectives.pair_problem.PairProblem`.
    """

    n_outputs: ClassVar[int] = 1

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian, in double precision."""
        scores = check_column("scores", scores, len(self.judgments.y))
        with self._threads_for([self]):
            sums = self._kernel.sums(self, self._placed(scores), iteration)
            factor = self.factors(sums.mass)
            return float(np.sum(factor * sums.values)), *self._scattered(sums)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian, as fast as the loss allows."""
        scores = self._of_documents(scores)
        with self._threads_for(self.blocks):
            if not fast_pairs.can_sum(self):
                return self._scattered(self._kernel.sums(self, self._placed(scores), iteration))
            gradient, hessian = (np.empty(len(self.judgments.y)) for _ in range(2))
            start = 0
            for block in self.blocks:
                own = slice(start, start := start + len(block.judgments.y))
                fast_pairs.derivatives(block, scores[own], iteration, gradient[own], hessian[own])
            return gradient, hessian

    def checked(self) -> "PairwiseObjective":
        """Return the objective itself, once the weight has accepted the labels.

        Documents are sorted by label later, for the first tree: engines need most memory before.
        """
        labels = np.unique(self.judgments.y)
        self.weight.gains(labels, QueryGroups(None, np.array([0, len(labels)])), self.options)
        return self

    @property
    def blocks(self) -> list["PairwiseObjective"]:
        """Objectives of some queries each, which are computed one after the other; or itself."""
        return self._blocks or [self]

    @cached_property
    def _blocks(self):
        queries = self.groups.blocks(_BLOCK)
        is_sorted = self.groups.permutation is None
        if len(queries) == 1 or not is_sorted or not fast_pairs.can_sum(self):
            return []
        blocks = [replace(self, judgments=self.judgments.of_queries(*each)) for each in queries]
        for block in blocks:  # so that all have the same kernel
            block.__dict__["is_unweighted"] = self.is_unweighted
        return blocks

    @property
    def steepness(self) -> float:
        """What turns a margin of scores into log odds, as far as the loss says."""
        return self.sigma if self.loss.is_likelihood else 1.0

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "PairwiseObjective":
        """Return the objective of the given rows alone, whose queries are ``groups``."""
        pairs = self.pairs.taking(rows) if isinstance(self.pairs, GivenPairs) else self.pairs
        return replace(self, judgments=self.judgments.taking(rows, groups), pairs=pairs)

    def convex(self) -> "PairwiseObjective":
        """Return the logistic loss of the same pairs, with weights and pairs that never change."""
        return replace(
            self,
            loss=PAIR_LOSSES["logistic"],
            weight=self.weight if self.weight.is_fixed else PAIR_WEIGHTS["query"],
            pairs=self.pairs if self.pairs.is_fixed else Pairs(),
        )

    def has_anything_to_learn(self) -> bool:
        """Tell whether a pair has a weight: under the logistic loss, no margin has the slope 0."""
        logistic = replace(self, loss=PAIR_LOSSES["logistic"])
        return bool(np.any(logistic.derivatives(np.zeros(len(self.judgments.y)))[0]))

    @property
    def _kernel(self):
        return next(kernel for kernel in KERNELS if kernel.can_sum(self))

    def _of_documents(self, scores):
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if scores.shape != self.judgments.y.shape:
            raise ValueError(
                f"scores must have one entry per document, {len(self.judgments.y)}; "
                f"got shape {scores.shape}."
            )
        return scores

    def _placed(self, scores):
        x, placing = self.placing(scores)
        in_parts(in_turn(placing), self.labels.indptr)
        return x

    def _scattered(self, sums):
        gradient, hessian = np.empty((2, len(sums.gradient)))
        place = self.labels.row, self.labels.indptr
        factors = self.slope_factors(sums.mass, 1.0, 1.0)
        in_parts(
            scatter, place[1], sums.gradient, sums.hessian, *place, *factors, gradient, hessian
        )
        return gradient, hessian

    def _threads_for(self, problems):
        """Return a context with as many threads as pay for the pairs of some problems."""
        n_pairs = sum(problem.n_pairs for problem in problems)
        return threads_for(max(len(self.judgments.y), n_pairs / _PAIRS_PER_DOCUMENT))
