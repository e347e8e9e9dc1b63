"""Streaming rankers: a direct ranker that learns batch after batch of queries."""

from treerank.feature_parts.inherited_parameters import spell_out
from treerank.rankers.tree_direct_ranker import TreeDirectRanker


class StreamingRanker(TreeDirectRanker):
    """Learn to rank from a stream, each batch of whole queries once.

    Parameters
    ----------
    feature_part : {"streaming"} or feature part, default="streaming"
        Grows with every batch, see
        :class:`~treerank.feature_parts.histogram.streaming.StreamingTrees`.
    **rest
        See :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ranker = StreamingRanker(random_state=0)
    >>> for _ in range(3):
    ...     X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    ...     y = (X[:, 0] > 0).astype(int)
    ...     ranker = ranker.partial_fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.95
    True
    """

    def __init__(self, feature_part="streaming", **rest):
        super().__init__(feature_part, **rest)

    def partial_fit(self, X, y, qid=None, **weights):
        """Learn from one batch more; weights and ``eval_set`` as for ``fit``."""
        before, self.warm_start = self.warm_start, True
        try:
            return self.fit(X, y, qid, **weights)
        finally:
            self.warm_start = before


spell_out(StreamingRanker)
