"""Sample: the small ranking data on which laws are tried.

Features are multiples of 1/64, so that float32 holds them exactly, and labels are small
integers, so that any ranker takes them. A law may ask for a larger sample, or change this one.
"""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class RankingSample:
    """Documents, labels and queries.

    Attributes
    ----------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels, integers from 0.
    qid : ndarray of shape (n_documents,)
        Query of each document.
    """

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def taking(self, rows):
        """Return the given rows, in that order."""
        return RankingSample(self.X[rows], self.y[rows], self.qid[rows])

    def having(self, **changed):
        """Return the same with another X, y or qid."""
        return replace(self, **changed)

    def copy(self):
        """Return the same with arrays of its own, laid out as they are."""
        return RankingSample(self.X.copy(order="K"), self.y.copy(), self.qid.copy())

    @property
    def codes(self):
        """Number of each document's query, counted in ascending order of ids."""
        return np.unique(self.qid, return_inverse=True)[1]

    @property
    def rows_by_query(self):
        """Rows of each query, queries in ascending order of their ids."""
        return [np.flatnonzero(self.qid == query) for query in np.unique(self.qid)]


def make_ranking_sample(n_queries=12, random_state=0):
    """Make a sample of 8 to 16 documents per query with labels from 0 to 3.

    Parameters
    ----------
    n_queries : int, default=12
        Number of queries; their ids are 0, 1, 2, ..., and their rows stand together.
    random_state : int, default=0
        Seed.

    Returns
    -------
    RankingSample
        With five features, of which one takes four values only.

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
    for rows in RankingSample(X, y, qid).rows_by_query:  # each query has something to learn
        best, worst = rows[np.argsort(utility[rows])[[-1, 0]]]
        y[best], y[worst] = max(y[best], 1), 0
    return RankingSample(X, y, qid)
