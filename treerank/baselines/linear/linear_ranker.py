"""Linear ranker: the score of a document is a weighted sum of its features.

What linear rankers share: standard features to learn from, so that no unit matters, weights in the
units of ``X``, and a missing value that counts as the mean of its feature. To add one, subclass
:class:`LinearRanker` with ``_weigh``, which returns the weights of standard features.
"""

from typing import ClassVar

import numpy as np

from treerank.baselines.linear.standard_features import FeatureScale, linear_scores
from treerank.numerics.threads import threads_for
from treerank.rankers.ranker import Ranker


class LinearRanker(Ranker):
    """A ranker of the scores ``(X - mean_) @ coef_``, where a missing value adds nothing.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in the units of ``X``; 0 for a constant one.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature over the training documents.
    """

    _learned: ClassVar[tuple[str, ...]] = ("coef_", "mean_")

    def _learn(self, data, held_out, seed):
        with threads_for(len(data.y)):
            scale = FeatureScale.of(data.X, data.rows, data.sample_weight)
            weight = self._weigh(data, scale, held_out, seed)
        self.coef_, self.mean_ = weight * scale.inverse, scale.mean

    def _weigh(self, data, scale, held_out, seed):
        """Return the weight of each standard feature."""
        raise NotImplementedError

    def _scores(self, X):
        with threads_for(len(X)):
            return linear_scores(np.ascontiguousarray(X), self.coef_, self.mean_)
