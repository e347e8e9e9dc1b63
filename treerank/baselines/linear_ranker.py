"""Linear ranker: the score of a document is a weighted sum of its features.

What linear rankers share: standard features to learn from, so that no unit matters, weights in the
units of ``X``, and a missing value that counts as the mean of its feature. To add one, subclass
:class:`LinearRanker` with ``_weigh``, which returns the weights of standard features.
"""

import warnings
from typing import ClassVar

import numpy as np

from treerank.baselines.standard_features import FeatureScale, linear_scores
from treerank.ranker import Ranker


class LinearRanker(Ranker):
    """A ranker of the scores ``(X - mean_) @ coef_``, where a missing value adds nothing.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in the units of ``X``; 0 for a constant one.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature over the training documents.
    """

    _learned: ClassVar = ("coef_", "mean_")

    def _learn(self, data, validation, seed):
        scale = FeatureScale.of(data.X, data.rows)
        weight = self._weigh(data, scale, validation, seed)
        self.coef_, self.mean_ = weight * scale.inverse, scale.mean

    def _weigh(self, data, scale, validation, seed):
        """Return the weight of each standard feature."""
        raise NotImplementedError

    def _scores(self, X):
        return linear_scores(np.ascontiguousarray(X), self.coef_, self.mean_)


def refuse_weights(ranker, data, reasons):
    """Refuse the weights for which an algorithm has no meaning.

    Parameters
    ----------
    ranker : Ranker
        Who refuses.
    data : TrainingSet
        What was given.
    reasons : dict from str to str
        Name of the argument to why it has no meaning.
    """
    given = {
        "sample_weight": data.document_weight,
        "query_weight": data.query_weight,
        "pair_weight": data.pairs,
    }
    for name, reason in reasons.items():
        if given[name] is not None:
            raise ValueError(
                f"{name} must be None or 1 throughout for {type(ranker).__name__}, since {reason}; "
                f"got {given[name]!r}."
            )


def warn_of_nothing_to_learn(reason):
    """Say that the model is constant, and why."""
    warnings.warn(f"{reason}: the model is constant.", UserWarning, stacklevel=5)
