"""Feature part of streaming trees: histogram trees that add some trees for every batch of data.

Each batch is read once. Its trees start from the scores of the trees so far, so they correct what
has changed since. The values of old trees shrink, and the oldest trees are removed. Other models
for streams, such as Hoeffding trees, read one labeled document at a time. They cannot minimize an
objective over queries. Batches of few queries make poor trees.
"""

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar

from treerank.checks import check_count, check_number
from treerank.feature_parts.base import Validation
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.feature_parts.trees.boosting import MOST
from treerank.forests.building import some_trees
from treerank.forests.forest import Forest
from treerank.parameters import Count, LearningRate, Rule, Share, Size


@estimator
class StreamingTrees(HistogramTrees):
    """Boosted trees for a stream: each batch adds trees, and shrinks or removes old ones.

    All other parameters and attributes are as in
    :class:`~treerank.feature_parts.histogram.trees.HistogramTrees`.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of trees for each batch.
    max_estimators : int, default=400
        Largest number of trees in all; the oldest are removed first.
    forgetting : float, default=0.0
        Share of their values that all trees lose with each batch, from 0 to below 1.
    learning_rate : float, default=0.1
        Factor on the values of each tree.
    num_leaves : int, default=31
        Largest number of leaves of a tree.
    min_child_samples : int, default=20
        Smallest number of documents in a leaf.
    colsample_bytree : float, default=1.0
        Share of features drawn for each tree.
    max_bin : int, default=255
        Largest number of bins of a feature, found anew in each batch.
    early_stopping_rounds : int, "auto" or None, default="auto"
        As for all boosted trees, in each batch.
    warm_start : bool, default=False
        Whether ``fit`` keeps the earlier trees, as ``partial_fit`` of a ranker always does.

    Attributes
    ----------
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}``, one value per iteration since trees were
        last shrunk or removed.

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
    >>> part = StreamingTrees(warm_start=True, n_jobs=1)
    >>> for _ in range(3):
    ...     part = part.fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    settings_by_workers: ClassVar[dict[str, Any] | None] = None

    n_estimators: Count = 20
    _: KW_ONLY
    learning_rate: LearningRate = 0.1
    num_leaves: Annotated[int, Rule(check_count, at_least=2, at_most=MOST)] = 31
    min_child_samples: Size = 20
    colsample_bytree: Share = 1.0
    max_estimators: Count = 400
    forgetting: Annotated[float, Rule(check_number, at_least=0, below=1)] = 0.0

    def _check_parameters(self, validation: Validation | None) -> None:
        super()._check_parameters(validation)
        check_count("max_estimators", self.max_estimators, at_least=self.n_estimators)

    def _count_new(self, start: int, n_estimators: int) -> int:
        return n_estimators

    def _earlier_booster(self, n_features: int, n_outputs: int) -> Forest | None:
        forest = super()._earlier_booster(n_features, n_outputs)
        if forest is None:
            return None
        n_kept = min(forest.n_trees, self.max_estimators - self.n_estimators)
        if n_kept == 0:
            return None
        if n_kept == forest.n_trees and self.forgetting == 0:
            return forest
        newest = some_trees(forest, forest.n_trees - n_kept, forest.n_trees)
        return replace(newest, values=newest.values * (1 - self.forgetting))
