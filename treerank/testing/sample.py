"""Samples: small ranking data on which the laws are tested.

Features are multiples of 1/64, so that float32 represents them exactly. Labels are small integers,
which every ranker accepts. A law may make a larger sample, or change the one it is given.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class RankingSample:
    """Documents, labels and queries.

    Parameters
    ----------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels, integers from 0.
    qid : ndarray of shape (n_documents,)
        Query of each document.

    Examples
    --------
    >>> sample = RankingSample(np.eye(3), np.array([1, 0, 2]), np.array([7, 7, 8]))
    >>> sample.taking([2, 0]).y
    array([2, 1])
    """

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def taking(self, rows: Any) -> "RankingSample":
        """Return a sample of the given rows, in their order."""
        return RankingSample(self.X[rows], self.y[rows], self.qid[rows])

    def having(self, **changed: np.ndarray) -> "RankingSample":
        """Return a sample with another ``X``, ``y`` or ``qid``."""
        return replace(self, **changed)

    def copy(self) -> "RankingSample":
        """Return a sample with copies of the arrays in the same memory layout."""
        return RankingSample(self.X.copy(order="K"), self.y.copy(), self.qid.copy())

    @property
    def codes(self) -> np.ndarray:
        """Number of the query of each document; queries are numbered by ascending id."""
        return np.unique(self.qid, return_inverse=True)[1]

    @property
    def rows_by_query(self) -> list[np.ndarray]:
        """Rows of each query, in ascending order of query ids."""
        return [np.flatnonzero(self.qid == query) for query in np.unique(self.qid)]


def make_ranking_sample(n_queries: int = 12, random_state: int = 0) -> RankingSample:
    """Make a sample with 8 to 16 documents per query and labels from 0 to 3.

    Parameters
    ----------
    n_queries : int, default=12
        Number of queries; their ids are 0, 1, 2 and so on, in rising order.
    random_state : int, default=0
        Seed.

    Returns
    -------
    RankingSample
        Has five features; one of them has only four values.

    Examples
    --------
    >>> data = make_ranking_sample(n_queries=3)
    >>> data.X.shape == (len(data.y), 5) and len(data.rows_by_query) == 3
    True
    """
    rng = np.random.default_rng(random_state)
    qid = np.repeat(np.arange(n_queries), rng.integers(8, 17, size=n_queries))
    X = np.round(64 * rng.normal(size=(len(qid), 5))) / 64
    X[:, 4] = rng.integers(4, size=len(qid))
    utility = X[:, 0] + X[:, 1] * (X[:, 4] > 1) + 0.5 * rng.normal(size=len(qid))
    y = np.digitize(utility, [0.3, 1.0, 1.8])
    for rows in RankingSample(X, y, qid).rows_by_query:  # each query gets two different labels
        best, worst = rows[np.argsort(utility[rows])[[-1, 0]]]
        y[best], y[worst] = max(y[best], 1), 0
    return RankingSample(X, y, qid)
