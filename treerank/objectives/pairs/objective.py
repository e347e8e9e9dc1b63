"""Pairwise objectives: a pair loss times a pair weight, summed over the pairs of each query.

The sums come from a kernel. To add one, write a module with ``sums`` and choose it in
:func:`choose_kernel`.
"""

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from treerank.checks import check_column
from treerank.documents.queries import QueryGroups
from treerank.numerics.threads import in_parts, threads_for
from treerank.objectives.base import Derivatives, LossAndDerivatives, Objective, as_objective
from treerank.objectives.pairs import closed_forms, exact_pairs, fast_pairs, listed_pairs
from treerank.objectives.pairs.label_order import scatter
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.objectives.pairs.problem import PairProblem

#: Number of pairs whose summing takes as long as ranking a document.
_PAIRS_PER_DOCUMENT = 8


def choose_kernel(problem: PairProblem, *, with_value: bool) -> ModuleType:
    """Return the module whose ``sums`` adds up the pairs of a problem.

    ``with_value`` asks for the loss itself, too. The table of this package says which module it is.
    """
    if problem.pairs.is_listed:
        return listed_pairs
    if problem.pairs.ties:
        return exact_pairs
    if problem.loss.shape is not None and not with_value:
        return fast_pairs
    if problem.is_separable and problem.loss.of_margin in closed_forms.FORMS:
        return closed_forms
    return exact_pairs


@dataclass(frozen=True, eq=False)
class PairwiseObjective(PairProblem, Objective):
    """The sum of ``weight * loss(margin)`` over the pairs of each query.

    :func:`treerank.objectives.make_objective` checks everything and makes one.
    """

    @property
    def name(self) -> str:
        """Name of the objective in errors: the name of its loss."""
        return self.loss.name

    @property
    def steepness(self) -> float:
        """Factor from a difference of two scores to log odds.

        It is ``sigma`` if the loss is a likelihood, else 1.
        """
        return self.sigma if self.loss.is_likelihood else 1.0

    @property
    def is_nonnegative(self) -> bool:
        """True: so are the losses and the weights of all pairs."""
        return True

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian, in double precision."""
        scores = check_column("scores", scores, self.groups.n_documents)
        values, derivatives = self._summed(scores, iteration, with_value=True)
        return float(np.sum(values)), *derivatives

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian, as fast as the loss allows."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        n = self.groups.n_documents
        if scores.shape != (n,):
            raise ValueError(f"scores must have one entry per document, {n}; got {scores.shape}.")
        return self._summed(scores, iteration, with_value=False)[1]

    def check_labels(self) -> None:
        """Refuse labels without a gain, and gains that fall from a label to the next.

        Documents are sorted by label later, for the first tree: engines need most memory before.
        """
        labels = np.unique(self.judgments.y)
        gains = self.weight.gains(labels, QueryGroups(None, np.array([0, len(labels)])), self)
        lower = labels[1:][np.diff(gains) < 0]
        if self.weight.takes_gain and len(lower) > 0:
            rule = "gain must not fall from a label to the next one"
            raise ValueError(f"{rule}; that of label {lower[0]:g} is lower.")

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "PairwiseObjective":
        """Return the objective of the given rows alone, whose queries are ``groups``."""
        judgments = self.judgments.taking(rows, groups)
        settings = replace(self.settings, pairs=self.pairs.taking(rows))
        balance = None if self.balance is None else self.balance[rows]
        return replace(self, judgments=judgments, settings=settings, balance=balance)

    def convex(self) -> "PairwiseObjective":
        """Return the logistic loss of the same pairs, with weights that scores do not change."""
        return replace(self, loss=PAIR_LOSSES["logistic"], settings=self.settings.convex())

    def with_loss(self, loss: Any) -> Objective:
        """Return the objective of another, pointwise or listwise loss over the same judgments."""
        return as_objective(loss.bind(self.judgments))

    def has_anything_to_learn(self) -> bool:
        """Tell whether some pair has a weight above 0."""
        # Under the logistic loss, no margin has the slope 0.
        logistic = replace(self, loss=PAIR_LOSSES["logistic"])
        return any(Objective.has_anything_to_learn(objective) for objective in (self, logistic))

    def _summed(self, scores, iteration, *, with_value):
        """Return ``(values, (gradient, hessian))``, summed over the pairs of each query.

        ``values`` has one entry per query, or is None unless ``with_value``. Gradient and hessian
        have one entry per document. ``iteration`` is a key of random numbers.
        """
        kernel = choose_kernel(self, with_value=with_value)
        gradient, hessian = np.empty((2, len(scores)))
        with threads_for(max(len(scores), self.n_pairs / _PAIRS_PER_DOCUMENT)):  # as many as pay
            sums = kernel.sums(self, scores, iteration)
            factor, indptr = self.factors(sums.total_weight), self.labels.indptr
            slopes = sums.gradient, sums.hessian, self.labels.row, indptr
            factors = factor * self.sigma, factor * self.sigma**2
            in_parts(scatter, indptr, *slopes, *factors, gradient, hessian)
        return factor * sums.values if with_value else None, (gradient, hessian)
