"""Samples: small ranking data on which the laws are tested.

Features are multiples of 1/64, so that float32 represents them exactly. Labels are small integers,
which every ranker accepts. A law may make a larger sample, or change the one it is given.
"""

from typing import NamedTuple

import numpy as np


class RankingSample(NamedTuple):
    """Documents, labels and queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def taking(self, rows):
        """Return a sample of the given rows, in their order."""
        return RankingSample(self.X[rows], self.y[rows], self.qid[rows])

    def copy(self):
        """Return a sample with copies of the arrays in the same memory layout."""
        return RankingSample(self.X.copy(order="K"), self.y.copy(), self.qid.copy())

    @property
    def codes(self):
        """Number of the query of each document; queries are numbered by ascending id."""
        return np.unique(self.qid, return_inverse=True)[1]

    @property
    def rows_by_query(self):
        """Rows of each query, in ascending order of query ids."""
        return [np.flatnonzero(self.qid == query) for query in np.unique(self.qid)]


def make_ranking_sample(n_queries=12, random_state=0):
    """Make a sample of five features, 8 to 16 documents per query and labels from 0 to 3."""
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
