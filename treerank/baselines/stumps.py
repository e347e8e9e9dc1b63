"""Stumps: functions of one feature, 1 above a threshold and 0 below, and the search for the best.

Features are binned once, at up to 254 quantiles, so that finding the best stump for given
potentials takes one pass over a byte per value. A missing value has a bin of its own: a stump is 1
or 0 there, whichever is better.
"""

from typing import NamedTuple, Self

import numpy as np

from treerank.numerics.compiling import for_kernel, njit
from treerank.numerics.threads import in_parts

MAX_THRESHOLDS = 254
#: Number of documents that quantiles are taken from, at even distances in training order.
_SAMPLE = 50_000


class BinnedFeatures(NamedTuple):
    """Features as bins.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_documents)
        0 for a missing value, else 1 and the number of thresholds below the value.
    thresholds : ndarray of shape (n_features, n_thresholds)
        Rising; infinite at the end of rows that have fewer.

    Examples
    --------
    >>> X = np.array([[1.0], [3.0], [2.0], [np.nan]])
    >>> BinnedFeatures.of(X, np.arange(4, dtype=np.int32)).codes
    array([[1, 3, 2, 0]], dtype=uint8)
    """

    codes: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, rows: np.ndarray, n_thresholds: int = MAX_THRESHOLDS) -> Self:
        """Bin the given rows of ``X``, in that order."""
        sample = rows[:: max(1, len(rows) // _SAMPLE)]
        thresholds = np.full((X.shape[1], n_thresholds), np.inf)
        for j in range(X.shape[1]):
            cuts = quantile_thresholds(X[sample, j].astype(np.float64), n_thresholds)
            thresholds[j, : len(cuts)] = cuts
        codes = np.empty((X.shape[1], len(rows)), np.uint8)
        in_parts(_bin, X.shape[1], for_kernel(X), rows, thresholds, codes)
        return cls(codes, thresholds)


def best_stump(codes: np.ndarray, potentials: np.ndarray) -> tuple[int, int, int, float]:
    """Return ``(feature, cut, missing, r)`` of the stump with the largest ``|r|``.

    r is the sum of the potentials of the documents for which the stump is 1, which are those with
    a code above ``cut`` and, where ``missing`` is 1, those with a missing value.
    """
    n_features = len(codes)
    (cut, missing), value = np.zeros((2, n_features), np.int64), np.zeros(n_features)
    in_parts(_best_by_feature, n_features, codes, potentials, cut, missing, value)
    best = int(np.argmax(np.abs(value)))
    return best, int(cut[best]), int(missing[best]), float(value[best])


def quantile_thresholds(values: np.ndarray, n_thresholds: int) -> np.ndarray:
    """Return thresholds at quantiles, rising; at all values but the largest if those are few."""
    values = values[~np.isnan(values)]
    thresholds = np.unique(values)[:-1]
    if len(thresholds) > n_thresholds:
        shares = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
        thresholds = np.unique(np.quantile(values, shares, method="lower"))
    return thresholds


@njit(nogil=True)
def _bin(first, last, X, rows, thresholds, codes):
    for j in range(first, last):
        for t in range(len(rows)):
            value = np.float64(X[rows[t], j])
            codes[j, t] = 1 + np.searchsorted(thresholds[j], value) if value == value else 0


@njit(nogil=True)
def _best_by_feature(first, last, codes, potentials, cut, missing, value):
    for j in range(first, last):
        cut[j], missing[j], value[j] = _best_of_feature(codes[j], potentials)


@njit
def _best_of_feature(codes, potentials):
    # Two arrays, since neighbors often share a bin, and one addition would wait for the other.
    even, odd = np.zeros(256), np.zeros(256)
    for t in range(0, len(codes) - 1, 2):
        even[codes[t]] += potentials[t]
        odd[codes[t + 1]] += potentials[t + 1]
    if len(codes) % 2:
        even[codes[-1]] += potentials[-1]
    sums = even + odd
    cut, missing, value, above = 0, 0, 0.0, 0.0
    for code in range(255, 0, -1):
        above += sums[code]
        if code > 1 and abs(above) > abs(value):
            cut, missing, value = code - 1, 0, above
        if sums[0] != 0 and abs(above + sums[0]) > abs(value) and code > 1:
            cut, missing, value = code - 1, 1, above + sums[0]
        if code == 1 and abs(sums[0]) > abs(value):  # only missing values are below
            cut, missing, value = 0, 0, above
    return cut, missing, value
