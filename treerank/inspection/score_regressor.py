"""Score regressor: a ranker for tools of scikit-learn that take regressors alone."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from treerank.rankers.ranker import Ranker


class ScoreRegressor(RegressorMixin, BaseEstimator):
    """The scores of a fitted ranker as the predictions of a regressor that is fitted already.

    A ranker is no regressor, so ``partial_dependence`` and ``PartialDependenceDisplay`` refuse it.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.

    Examples
    --------
    >>> from sklearn.inspection import partial_dependence
    >>> from treerank.baselines import RankSVM
    >>> X, y = [[1.0, 5.0], [2.0, 3.0], [3.0, 9.0]], [0, 1, 2]
    >>> scores = ScoreRegressor(RankSVM().fit(X, y))
    >>> partial_dependence(scores, X, [0], grid_resolution=2)["average"].shape
    (1, 2)
    """

    def __init__(self, ranker: Ranker):
        self.ranker = ranker

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the regressor itself: the ranker stays as it is."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the score of each document."""
        return self.ranker.predict(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.ranker, "head_")
