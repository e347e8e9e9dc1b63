"""Transforms: features as neural rankers of the literature want them, as steps of a Pipeline.

Trees do not mind the scale of a feature; networks do, and heavy tails more than anything.
"""

from typing import ClassVar

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treerank.checks import check_count
from treerank.inputs.grouping import QueryGroups


class NormalTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Give each feature a normal distribution, as in section 4.4 of the DirectRanker paper [1]_.

    A value becomes :math:`\sigma \Phi^{-1}(p)`, where p is the share of training values below it,
    equal ones counted half. So a value that half of the documents share, such as a count of zero,
    stays in the middle of its share instead of going to the end of the tail. Missing values stay
    missing, and what is beyond all training values becomes as their extremes.

    Parameters
    ----------
    standard_deviation : float, default=sqrt(3)
        :math:`\sigma`.
    n_quantiles : int, default=1000
        Most values of a feature that are kept; between them, p is interpolated.

    Attributes
    ----------
    values_, scores_ : list of ndarray
        For each feature, the values that are kept, rising, and what they become.
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] Köppel, Segner, Wagener, Pensel, Karwath, Schmitt and Kramer (2023). Pairwise learning
       to rank by neural networks revisited: reconstruction, theoretical analysis and practical
       performance.

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [5.0], [1000.0]])
    >>> NormalTransformer(1.0).fit_transform(X).round(2).ravel()
    array([-0.67, -0.67,  0.32,  1.15])
    """

    def __init__(self, standard_deviation=3**0.5, *, n_quantiles=1000):
        self.standard_deviation = standard_deviation
        self.n_quantiles = n_quantiles

    def fit(self, X, y=None):
        """Learn the distribution of each feature."""
        del y
        check_count("n_quantiles", self.n_quantiles, at_least=2)
        if not self.standard_deviation > 0:
            raise ValueError(
                f"standard_deviation must be positive; got {self.standard_deviation!r}."
            )
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        knots = [_knots(column[~np.isnan(column)], self.n_quantiles) for column in X.T]
        self.values_ = [values for values, _ in knots]
        self.scores_ = [self.standard_deviation * ndtri(share) for _, share in knots]
        return self

    def transform(self, X):
        """Return the transformed features."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        result = np.full(X.shape, np.nan)
        for j, (values, scores) in enumerate(zip(self.values_, self.scores_, strict=True)):
            there = ~np.isnan(X[:, j])
            result[there, j] = np.interp(X[there, j], values, scores) if len(values) else 0.0
        return result

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class QueryScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Scale each feature within each query, by equation 5 of SortNet [1]_.

    .. math:: \hat x_{jr} = (x_{jr} - \mu_r) / \max_s |x_{sr}|

    with mean and maximum over the documents of the query. Features that are never negative end
    up in [-1, 1] with mean zero. Missing values stay missing. There is nothing to fit; the qid is
    asked for by ``transform``, which a Pipeline passes on once scikit-learn's metadata routing
    is enabled.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] Rigutini, Papini, Maggini and Scarselli (2011). SortNet: learning to rank by a neural
       preference function. IEEE Transactions on Neural Networks.

    Examples
    --------
    >>> X = np.array([[1.0], [3.0], [10.0], [20.0]])
    >>> QueryScaler().fit_transform(X, qid=["a", "a", "b", "b"]).ravel()
    array([-0.33333333,  0.33333333, -0.25      ,  0.25      ])
    """

    __metadata_request__transform: ClassVar = {"qid": True}

    def fit(self, X, y=None):
        """Look at the number of features."""
        del y
        validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        return self

    def transform(self, X, qid=None):
        """Return the scaled features; ``qid=None`` is one query."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        groups = QueryGroups.from_qid(qid, len(X))
        start = groups.indptr[:-1]
        by_query, there = X[groups.order], ~np.isnan(X[groups.order])
        count = np.add.reduceat(there, start, dtype=np.float64)
        total = np.add.reduceat(np.where(there, by_query, 0.0), start)
        largest = np.maximum.reduceat(np.where(there, np.abs(by_query), 0.0), start)
        mean = total / np.maximum(count, 1)
        scale = np.where(largest > 0, largest, 1.0)
        return (X - mean[groups.codes]) / scale[groups.codes]

    def fit_transform(self, X, y=None, qid=None):
        """Fit, and return the scaled features."""
        return self.fit(X, y).transform(X, qid)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _knots(values, n_quantiles):
    """Return some of the values, rising, and the share of values below each."""
    distinct, count = np.unique(values, return_counts=True)
    share = (np.cumsum(count) - count / 2) / max(1, len(values))
    if len(distinct) > n_quantiles:
        # Evenly in rank; both ends are among them.
        wanted = np.linspace(share[0], share[-1], n_quantiles)
        kept = np.unique(np.searchsorted(share, wanted).clip(max=len(share) - 1))
        distinct, share = distinct[kept], share[kept]
    return distinct, share
