"""Transforms: steps of a Pipeline that scale features for neural rankers, as papers do.

The scale of a feature does not matter to trees. It does to networks, and heavy tails most of all.
To add a transform, write a scikit-learn transformer.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treerank.checks import check_count, check_number
from treerank.inputs.grouping import QueryGroups


@dataclass(eq=False, repr=False)
class NormalTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Give each feature a normal distribution, as in section 4.4 of the DirectRanker paper [1]_.

    A value becomes :math:`\sigma \Phi^{-1}(p)`, where p is the share of training values below it
    plus half of the share of values equal to it. So a frequent value, such as a count of zero, is
    mapped to the middle of its share and not to the end of the tail. Missing values stay missing.
    Values beyond all training values are treated like the smallest or the largest of them.

    Parameters
    ----------
    standard_deviation : float, default=1/3
        :math:`\sigma`, as in the public code of the paper's authors. They use scikit-learn's
        QuantileTransformer, which maps the smallest and the largest value, however frequent, to
        the ends of the tails.
    n_quantiles : int, default=1000
        Largest number of values of a feature that are stored; between them, p is interpolated.

    Attributes
    ----------
    values_, scores_ : list of ndarray
        For each feature, the stored values in rising order, and the values they become.
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

    standard_deviation: float = 1 / 3
    _: KW_ONLY
    n_quantiles: int = 1000

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the distribution of each feature; ``y`` is ignored."""
        del y
        check_count("n_quantiles", self.n_quantiles, at_least=2)
        check_number("standard_deviation", self.standard_deviation, above=0)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        knots = [_knots(column[~np.isnan(column)], self.n_quantiles) for column in X.T]
        self.values_ = [values for values, _ in knots]
        self.scores_ = [self.standard_deviation * ndtri(share) for _, share in knots]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the transformed features."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        result = np.full(X.shape, np.nan)
        for j, (values, scores) in enumerate(zip(self.values_, self.scores_, strict=True)):
            rows = ~np.isnan(X[:, j])
            result[rows, j] = np.interp(X[rows, j], values, scores) if len(values) else 0.0
        return result

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class QueryScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Scale each feature within each query, by equation 5 of SortNet [1]_.

    .. math:: \hat x_{jr} = (x_{jr} - \mu_r) / \max_s |x_{sr}|

    with mean and maximum over the documents of the query. The results of features that are never
    negative have mean 0 and lie between -1 and 1. Missing values stay missing. ``fit`` learns
    nothing; ``transform`` takes the ``qid``, which a Pipeline passes on if scikit-learn's metadata
    routing is enabled.

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the number of features; ``y`` is ignored."""
        del y
        validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        return self

    def transform(self, X: Any, qid: ArrayLike | None = None) -> np.ndarray:
        """Return the scaled features; ``qid=None`` puts all rows into one query."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        groups = QueryGroups.from_qid(qid, len(X))
        start = groups.indptr[:-1]
        by_query, is_present = X[groups.order], ~np.isnan(X[groups.order])
        count = np.add.reduceat(is_present, start, dtype=np.float64)
        total = np.add.reduceat(np.where(is_present, by_query, 0.0), start)
        largest = np.maximum.reduceat(np.where(is_present, np.abs(by_query), 0.0), start)
        mean = total / np.maximum(count, 1)
        scale = np.where(largest > 0, largest, 1.0)
        return (X - mean[groups.codes]) / scale[groups.codes]

    def fit_transform(self, X: Any, y: Any = None, qid: ArrayLike | None = None) -> np.ndarray:
        """Fit to ``X`` and return its scaled features."""
        return self.fit(X, y).transform(X, qid)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _knots(values, n_quantiles):
    """Return some of the values in rising order, and the share p of each."""
    distinct, count = np.unique(values, return_counts=True)
    share = (np.cumsum(count) - count / 2) / max(1, len(values))
    if len(distinct) > n_quantiles:
        # Evenly spaced in p, with both ends.
        wanted = np.linspace(share[0], share[-1], n_quantiles)
        kept = np.unique(np.searchsorted(share, wanted).clip(max=len(share) - 1))
        distinct, share = distinct[kept], share[kept]
    return distinct, share
