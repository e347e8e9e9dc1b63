"""Quadratic PRank: PRank on the features and all products of two of them.

The products are computed whenever a document is shown, so that no matrix of them is ever stored.
"""

from typing import ClassVar

from treerank.baselines.linear.perceptrons import quadratic_scores
from treerank.baselines.linear.prank import PRank
from treerank.baselines.linear.standard_features import FeatureScale
from treerank.files.states import array
from treerank.numerics.threads import threads_for


class QuadraticPRank(PRank):
    """PRank with quadratic features, one of the rankers that [1]_ compares with RankNet.

    ``fit`` refuses weights of any kind.

    The parameters, and the other attributes, are those of
    :class:`~treerank.baselines.linear.prank.PRank`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features + n_features * (n_features + 1) / 2,)
        Weights of the standard features, then of their products (0, 0), (0, 1), ..., (1, 1), ...
    inverse_ : ndarray of shape (n_features,)
        One over the standard deviation of each feature; 0 for a constant one.

    References
    ----------
    .. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
       using gradient descent. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5])
    >>> ranker = QuadraticPRank(random_state=0).fit(X, y)
    >>> bool((ranker.predict_level(X) == y).mean() > 0.9)
    True
    """

    _learned: ClassVar = PRank._learned | {"inverse_": array("float64", "n_features")}
    _quadratic: ClassVar[bool] = True

    def _learn(self, data, held_out, seed):
        with threads_for(len(data.y)):
            scale = FeatureScale.of(data.X, data.rows)
            self.coef_ = self._weigh(data, scale, held_out, seed)
        self.mean_, self.inverse_ = scale.mean, scale.inverse

    def _scores(self, X):
        with threads_for(len(X)):
            Z = FeatureScale(self.mean_, self.inverse_).by_row(X)
            return quadratic_scores(Z, self.coef_)
