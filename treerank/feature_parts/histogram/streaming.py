"""Feature part of streaming trees: histogram trees that add some trees for every batch of data.

Each batch is read once. Its trees start from the scores of the trees so far, so they correct what
has changed since. The values of old trees shrink, and the oldest trees are removed. Other learners
from streams, such as Hoeffding trees, read one labeled document at a time. They cannot lower an
objective over queries. Batches of few queries make poor trees.
"""

from typing import Any, Self

from treerank.checks import check_count
from treerank.feature_parts.base import Validation
from treerank.feature_parts.histogram.forest import Forest
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.objectives.base import Objective


class StreamingTrees(HistogramTrees):
    """A sum of trees that adds trees and shrinks or removes old ones with every batch.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of trees for each batch.
    max_estimators : int, default=400
        Largest number of trees in all; the oldest are removed first.
    forgetting : float, default=0.0
        Share of their values that all trees lose with each batch, from 0 to below 1.
    warm_start : bool, default=False
        Whether ``fit`` keeps the earlier trees, as ``partial_fit`` always does.
    **shared
        The other parameters of :class:`~treerank.feature_parts.histogram.trees.HistogramTrees`,
        with the same defaults.

    Examples
    --------
    >>> import numpy as np
    >>> class HalfSquare:
    ...     n_outputs = 1
    ...
    ...     def derivatives(self, scores, *, iteration=0):
    ...         return scores - target, np.ones_like(scores)
    >>> X = np.arange(100.0).reshape(-1, 1)
    >>> target = (X[:, 0] > 50).astype(float)
    >>> part = StreamingTrees(n_jobs=1)
    >>> for _ in range(3):
    ...     part = part.partial_fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    def __init__(
        self,
        n_estimators: int = 20,
        *,
        max_estimators: int = 400,
        forgetting: float = 0.0,
        **shared: Any,
    ):
        super().__init__(n_estimators, **shared)
        self.max_estimators = max_estimators
        self.forgetting = forgetting

    def partial_fit(
        self, X: Any, objective: Objective, *, validation: Validation | None = None
    ) -> Self:
        """Grow the trees of one more batch; the arguments are those of ``fit``."""
        before, self.warm_start = self.warm_start, True
        try:
            return self.fit(X, objective, validation=validation)
        finally:
            self.warm_start = before

    def _check_parameters(self, validation: Validation | None) -> None:
        super()._check_parameters(validation)
        check_count("max_estimators", self.max_estimators, at_least=self.n_estimators)
        if not 0 <= self.forgetting < 1:
            raise ValueError(f"forgetting must be from 0 to below 1; got {self.forgetting!r}.")

    def _count_new(self, start: int) -> int:
        return self.n_estimators

    def _earlier_booster(self, n_features: int, n_scores: int) -> Forest | None:
        forest = super()._earlier_booster(n_features, n_scores)
        if forest is None:
            return None
        n_kept = min(forest.n_trees, self.max_estimators - self.n_estimators)
        return forest.last_trees(n_kept).scaled(1 - self.forgetting) if n_kept else None
