"""Listwise objectives: a loss of the scores of a whole query.

A listwise loss is a small frozen dataclass of its own settings. ``loss.bind(judgments)`` makes the
objective of judged documents. The losses are in :mod:`treerank.objectives.lists.losses`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from treerank.checks import check_column
from treerank.documents.queries import QueryGroups
from treerank.numerics.threads import threads_for
from treerank.objectives.base import (
    Derivatives,
    LossAndDerivatives,
    Objective,
    Score,
    as_objective,
)
from treerank.objectives.judgments import Judgments
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.objectives.pairs.objective import PairwiseObjective
from treerank.objectives.pairs.settings import PairSettings
from treerank.parameters import PlainSignature, check_parameters

#: Losses of the queries or documents, gradients and hessians of the documents.
QueryLosses = tuple[np.ndarray, np.ndarray, np.ndarray]


class ListwiseLoss(ABC):
    """A loss of the scores of a whole query; :meth:`bind` makes an objective of it.

    Attributes
    ----------
    head_weight : str
        Pair weight of the convex objective to which the weights of several outputs are fitted.
    """

    __signature__ = PlainSignature()

    head_weight: ClassVar[str] = "query"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_parameters(self)

    def bind(self, judgments: Judgments) -> "ListwiseObjective":
        """Return the objective of judged documents; labels are checked."""
        self.check_labels(judgments.y)
        return ListwiseObjective(self, judgments)

    def check_labels(self, y: np.ndarray) -> None:
        """Check the labels; by default all are valid."""
        del y

    def order(self, judgments: Judgments) -> np.ndarray:
        """Return the row numbers in the order that ``over_queries`` needs, by default by query."""
        return judgments.groups.order

    def prepared(self, lists: "ListwiseObjective") -> Any:
        """Return values that depend on the labels alone, computed once; by default None.

        ``over_queries`` reads them as ``lists.prepared``.
        """
        return None

    def for_epoch(self, lists: "ListwiseObjective", score: Score) -> Objective:
        """Return the objective of the next epoch of gradient descent: by default, ``lists``.

        ``score()`` returns the present scores.
        """
        del score
        return lists

    @abstractmethod
    def over_queries(
        self, lists: "ListwiseObjective", scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return values, one per query or per document, and gradients and hessians per document.

        ``scores`` and all columns of ``lists`` are in the order of :meth:`order`. ``iteration`` is
        a key of random numbers.
        """


@dataclass(frozen=True, eq=False)
class ListwiseObjective(Objective):
    """A listwise loss of judged documents.

    A document weight multiplies the document's term, a query weight all terms of the query.

    Attributes
    ----------
    loss : ListwiseLoss
        Loss of the scores of a query.
    judgments : Judgments
        Labels, queries and weights of the documents.
    """

    loss: ListwiseLoss
    judgments: Judgments

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> LossAndDerivatives:
        """Return value, gradient and hessian."""
        return self._priced(check_column("scores", scores, len(self.judgments.y)), iteration)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        return self._priced(np.asarray(scores, dtype=np.float64), iteration)[1:]

    def _priced(self, scores: np.ndarray, iteration: int) -> LossAndDerivatives:
        scores = scores[self.rows]
        with threads_for(len(scores)):
            values, *derivatives = self.loss.over_queries(self, scores, iteration)
        gradient, hessian = np.empty((2, len(scores)))
        gradient[self.rows], hessian[self.rows] = derivatives
        # Summed here, not by threads: the bits depend on the order.
        return float(values.sum()), gradient, hessian

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "ListwiseObjective":
        """Return the objective of a subset of the rows, whose queries are ``groups``."""
        return replace(self, judgments=self.judgments.taking(rows, groups))

    def convex(self) -> Objective:
        """Return the logistic loss of all pairs, with the weight ``loss.head_weight``."""
        settings = PairSettings(weight=self.loss.head_weight)
        logistic, size = PAIR_LOSSES["logistic"], self.judgments.totals.typical_size
        return PairwiseObjective(self.judgments, logistic, settings, size)

    def with_loss(self, loss: Any) -> Objective:
        """Return the objective of another loss, one without pairs, for the same labels."""
        return as_objective(loss.bind(self.judgments))

    def for_epoch(self, score: Score) -> Objective:
        """Return the objective of the next epoch, which the loss may choose by the scores."""
        return self.loss.for_epoch(self, score)

    def has_anything_to_learn(self) -> bool:
        """Return whether some query has two labels, or equal scores can be improved."""
        has_labels = bool(self.groups.with_two_labels(self.judgments.y).any())
        return has_labels or super().has_anything_to_learn()

    @property
    def name(self) -> str:
        """Name of the objective in errors: the class of its loss."""
        return type(self.loss).__name__

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        return self.judgments.groups

    @cached_property
    def rows(self) -> np.ndarray:
        """Row numbers in the order of ``y``, ``weight``, ``query`` and ``prepared``."""
        return self.loss.order(self.judgments)

    @cached_property
    def y(self) -> np.ndarray:
        """Labels."""
        return self.judgments.y[self.rows]

    @cached_property
    def weight(self) -> np.ndarray:
        """Weight of each document times the weight of its query."""
        return self.judgments.sample_weight[self.rows] * self.judgments.query_weight[self.query]

    @cached_property
    def query(self) -> np.ndarray:
        """Number of each document's query."""
        return self.groups.codes[self.rows]

    @cached_property
    def prepared(self) -> Any:
        """Values that the loss computes once from the labels, by ``loss.prepared``; may be None."""
        return self.loss.prepared(self)

    def per_query(self, reduction: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Reduce values by query, and repeat each result for the documents of its query.

        ``reduction`` is ``np.add`` or ``np.maximum``; ``values`` are in the order of ``rows``.
        """
        start = -np.inf if reduction is np.maximum else 0.0
        results = np.full(self.groups.n_queries, start)
        reduction.at(results, self.query, values)
        return results[self.query]
