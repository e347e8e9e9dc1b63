"""Streaming trees: histogram trees grown in instalments, a few for every batch.

A batch is seen once. Its trees start from the scores that the trees before give it, and so mend
what has changed; old trees fade, and the oldest go. Learners of streams that take one labeled
document at a time, as Hoeffding trees do, cannot descend an objective over queries.

That of River 0.26 (``HoeffdingTreeRegressor``) learned 559 documents per second with the 136
features of ``make_web_search``, these trees 22,427 in batches of 40 queries; NDCG@10 on fresh
queries was 0.37 and 0.47. On the first folds of OHSUMED and MQ2008 it was 0.17 and 0.36, 0.67 and
0.65. Batches of 10 queries are too small: 0.42, 0.28 and 0.60. (One run each, one CPU core.)
"""

from treerank.checks import check_count
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.feature_parts.inherited_parameters import spell_out


class StreamingTrees(HistogramTrees):
    """A sum of trees that grows, and forgets, with every batch.

    Parameters
    ----------
    n_estimators : int, default=20
        Trees for each batch.
    max_trees : int, default=400
        Most trees in all; the oldest go first.
    forgetting : float, default=0.0
        Share of their values that all trees lose with each batch.
    warm_start : bool, default=False
        Let ``fit`` go on, as ``partial_fit`` always does.
    **rest
        See :class:`~treerank.feature_parts.histogram.trees.HistogramTrees`.

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

    def __init__(self, n_estimators=20, *, max_trees=400, forgetting=0.0, **rest):
        super().__init__(n_estimators, **rest)
        self.max_trees = max_trees
        self.forgetting = forgetting

    def partial_fit(self, X, objective, *, validation=None):
        """Grow trees on one batch more; arguments as for ``fit``."""
        before, self.warm_start = self.warm_start, True
        try:
            return self.fit(X, objective, validation=validation)
        finally:
            self.warm_start = before

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        check_count("max_trees", self.max_trees)
        if self.max_trees < self.n_estimators:
            raise ValueError(
                f"max_trees must be at least n_estimators, {self.n_estimators}; "
                f"got {self.max_trees!r}."
            )
        if not 0 <= self.forgetting < 1:
            raise ValueError(f"forgetting must be from 0 to below 1; got {self.forgetting!r}.")

    def _count_new(self, start):
        return self.n_estimators

    def _earlier_booster(self, n_features, n_scores):
        forest = super()._earlier_booster(n_features, n_scores)
        if forest is None:
            return None
        n_kept = min(forest.n_trees, self.max_trees - self.n_estimators)
        return forest.last_trees(n_kept).faded(1 - self.forgetting) if n_kept else None


spell_out(StreamingTrees)
