"""Streaming ranker: a direct ranker that learns from one batch of queries after another."""

from typing import Any, Self

from numpy.typing import ArrayLike

from treerank.checks import quote
from treerank.documents.queries import ByRow
from treerank.feature_parts.base import FeaturePart
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.histogram.streaming import StreamingTrees
from treerank.feature_parts.registry import make_feature_part
from treerank.parameters import check_arguments
from treerank.rankers.tree_direct_ranker import TreeDirectRanker


@estimator
class StreamingRanker(TreeDirectRanker):
    """Learn to rank from a stream: batches of whole queries, each used once.

    All other parameters, and the attributes, are explained at
    :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.

    Parameters
    ----------
    feature_part : {"streaming"} or StreamingTrees, default="streaming"
        :class:`~treerank.feature_parts.histogram.streaming.StreamingTrees`, which grow with every
        batch.

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

    feature_part: str | FeaturePart = "streaming"

    @check_arguments
    def partial_fit(self, X: Any, y: ArrayLike, qid: ByRow = None, **weights: Any) -> Self:
        """Learn from one more batch of whole queries.

        ``weights`` are keyword arguments of :meth:`fit`, such as ``sample_weight`` and
        ``eval_set``.
        """
        before, self.warm_start = self.warm_start, True
        try:
            return self.fit(X, y, qid, **weights)
        finally:
            self.warm_start = before

    def _check_settings(self) -> None:
        """Refuse wrong settings, and a feature part that does not learn batch by batch."""
        part = make_feature_part(self.feature_part)
        if not isinstance(part, StreamingTrees):
            raise ValueError(f"feature_part must be StreamingTrees; got {quote(part)}.")
        super()._check_settings()
