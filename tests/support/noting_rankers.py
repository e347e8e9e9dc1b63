"""Rankers that note their fits, for comparisons to compare, and data to compare them on."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

FITS = []


class Weigher(BaseEstimator):
    """Ranks by the first feature times a weight, and notes each fit."""

    def __init__(self, weight=1.0, random_state=None):
        self.weight = weight
        self.random_state = random_state

    def fit(self, X, y, qid=None):
        FITS.append((self.weight, self.random_state, len(y), None if qid is None else len(qid)))
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return self.weight * X[:, 0]


def lines():
    return {"linear": LinearRegression(), "first": Weigher()}


rng = np.random.default_rng(0)
qid = np.repeat(np.arange(30), 6)
X = rng.normal(size=(180, 3))
y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=180)), 0, 2)
DATA = X, y, qid
