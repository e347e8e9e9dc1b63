"""Transforms: features as papers scale them for networks."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin

from treerank.documents.queries import QueryGroups


@dataclass(eq=False, repr=False)
class NormalTransformer(TransformerMixin, BaseEstimator):
    r"""Give each feature a normal distribution, as in section 4.4 of the DirectRanker paper.

    A value becomes :math:`\sigma \Phi^{-1}(p)`, where p is the share of training values below it
    plus half of the share of values equal to it. So a frequent value, such as a count of zero, is
    mapped to the middle of its share and not to the end of the tail. (The public code of the
    paper's authors has :math:`\sigma` = 1/3 and scikit-learn's QuantileTransformer.) Missing values
    stay missing. Between ``n_quantiles`` values of each feature, p is interpolated.
    """

    standard_deviation: float = 1 / 3
    n_quantiles: int = 1000

    def fit(self, X, y=None):
        """Learn the distribution of each feature; ``y`` is ignored."""
        knots = [_knots(column[~np.isnan(column)], self.n_quantiles) for column in np.asarray(X).T]
        self.values_ = [values for values, _ in knots]
        self.scores_ = [self.standard_deviation * ndtri(share) for _, share in knots]
        return self

    def transform(self, X):
        """Return the transformed features."""
        X = np.asarray(X, dtype=np.float64)
        result = np.full(X.shape, np.nan)
        for j, (values, scores) in enumerate(zip(self.values_, self.scores_, strict=True)):
            rows = ~np.isnan(X[:, j])
            result[rows, j] = np.interp(X[rows, j], values, scores) if len(values) else 0.0
        return result


def scaled_within_queries(X, qid):
    r"""Return features that are scaled within each query, by equation 5 of SortNet.

    .. math:: \hat x_{jr} = (x_{jr} - \mu_r) / \max_s |x_{sr}|

    with mean and maximum over the documents of the query. Missing values stay missing.
    """
    groups = QueryGroups.from_qid(qid, len(X))
    start = groups.indptr[:-1]
    by_query, is_present = X[groups.order], ~np.isnan(X[groups.order])
    count = np.add.reduceat(is_present, start, dtype=np.float64)
    total = np.add.reduceat(np.where(is_present, by_query, 0.0), start)
    largest = np.maximum.reduceat(np.where(is_present, np.abs(by_query), 0.0), start)
    mean = total / np.maximum(count, 1)
    scale = np.where(largest > 0, largest, 1.0)
    return (X - mean[groups.codes]) / scale[groups.codes]


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
