"""Linear ranker: the score of a document is a weighted sum of its features.

Linear rankers learn from standard features, so the unit of a feature does not matter, and keep
weights in the units of ``X``. A missing value counts as the mean of its feature. To add one,
derive a dataclass from :class:`LinearRanker` with ``_weigh``, which returns the weights of the
standard features.
"""

from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank.baselines.linear.products import linear_scores
from treerank.baselines.linear.standard_features import FeatureScale
from treerank.baselines.training_checks import warn_of_equal_documents
from treerank.documents.eval_set import EvalSet
from treerank.documents.reading import Accepts
from treerank.documents.rows import Rows
from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.components import Components, no_trees
from treerank.feature_parts.linear_component import LinearComponent
from treerank.files.states import StateRule, array
from treerank.numerics.threads import threads_for
from treerank.rankers.ranker import Ranker


class LinearRanker(Ranker):
    """A ranker with the scores ``(X - mean_) @ coef_``, where a missing value adds nothing.

    The other attributes are as in :class:`~treerank.rankers.ranker.Ranker`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in the units of ``X``; 0 for a constant one.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature over the training documents.

    Examples
    --------
    >>> class LabelCovariance(LinearRanker):
    ...     def _weigh(self, data, scale, held_out, seed):
    ...         return scale.by_row(data.X, data.rows).T @ (data.y - data.y.mean())
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> LabelCovariance().fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    _learned: ClassVar[dict[str, StateRule]] = {
        "coef_": array("float64", "n_features"),
        "mean_": array("float64", "n_features"),
    }

    _accepts = Accepts(categories=False)
    coef_: np.ndarray
    mean_: np.ndarray

    def _learn(self, data: TrainingSet, held_out: EvalSet | None, seed: int) -> None:
        with threads_for(len(data.y)):
            scale = FeatureScale.of(data.X, data.rows, data.sample_weight)
            weight = self._weigh(data, scale, held_out, seed)
        if not scale.inverse.any():
            warn_of_equal_documents(len(data.y))
        self.coef_, self.mean_ = weight * scale.inverse, scale.mean

    def _weigh(
        self, data: TrainingSet, scale: FeatureScale, held_out: EvalSet | None, seed: int
    ) -> np.ndarray:
        """Return the weight of each standard feature, from training data.

        A subclass implements this.
        """
        raise NotImplementedError

    def components(self) -> Components:
        """Return the weights as a linear model."""
        check_is_fitted(self)
        linear = LinearComponent.centered(self.coef_, self.mean_)
        return Components(no_trees(len(self.coef_)), linear)

    def _expected_components(self, documents: Rows) -> Components:
        """Return a linear model of the kind that ``fit`` to such documents gives."""
        n_features = documents.shape[1]
        linear = LinearComponent(np.full(n_features, -1.0), np.zeros(n_features))
        return Components(no_trees(n_features), linear)

    def _scores(self, X):
        with threads_for(len(X)):
            return linear_scores(np.ascontiguousarray(X), self.coef_, self.mean_)
