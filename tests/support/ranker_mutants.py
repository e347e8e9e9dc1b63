"""A small ranker that keeps every law, and one mutant for each law, broken in one place."""

import json
from math import fsum
from typing import ClassVar

import numba
import numpy as np
from sklearn.base import BaseEstimator

from treerank.inputs.grouping import QueryGroups
from treerank.metrics import NDCG
from treerank.numerics.threads import threads_for
from treerank.objectives import make_objective

#: Every law that compares two fits of equal data.
_TWO_FITS = {"row_order", "query_names", "form_of_features", "threads", "grid_search"}


class Honest(BaseEstimator):
    """Covariances for weights; exact sums, so that no order of anything matters."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(self, random_state=None):
        self.random_state = random_state

    def __init_subclass__(cls, breaks, entails=frozenset()):
        """Note the law that a mutant is there for, and what further laws that one entails."""
        super().__init_subclass__()
        cls.breaks, cls.entails = breaks, entails

    def fit(self, X, y, qid=None):
        QueryGroups.from_qid(qid, len(y))
        self.coef_ = self.learn(np.asarray(X, dtype=np.float64), np.asarray(y), np.asarray(qid))
        return self

    def learn(self, X, y, qid):
        mean = fsum(y) / len(y)
        return column_sums((y - mean)[:, None] * X)

    def predict(self, X):
        return (np.ascontiguousarray(X, dtype=np.float64) * self.coef_).sum(axis=1)

    def margin(self, X_a, X_b):
        return self.predict(X_a) - self.predict(X_b)

    def compare(self, X_a, X_b):
        return self.margin(X_a, X_b)

    def distance(self, X_a, X_b):
        return np.abs(self.margin(X_a, X_b))

    def predict_pair_proba(self, X_a, X_b):
        return 0.5 + 0.5 * np.tanh(self.margin(X_a, X_b))

    def rank(self, X, qid=None):
        groups = QueryGroups.from_qid(qid, len(X))
        best_first = np.lexsort((-self.predict(X), groups.codes))
        ranks = np.empty(len(X), dtype=np.int64)
        ranks[best_first] = np.arange(len(X)) - np.repeat(groups.indptr[:-1], groups.sizes) + 1
        return ranks

    def top_k(self, X, qid=None, k=10):
        ranks, codes = self.rank(X, qid), QueryGroups.from_qid(qid, len(X)).codes
        best_first = np.lexsort((ranks, codes))
        first = np.searchsorted(codes[best_first], codes[best_first])
        return best_first[np.arange(len(X)) - first < k]

    def score(self, X, y, qid=None):
        return NDCG(k=10)(y, self.predict(X), qid)

    def make_objective(self, y, qid):
        return make_objective(y, qid)

    def save(self, path):
        path.write_text(json.dumps(self.coef_.tolist()))

    @classmethod
    def load(cls, path):
        ranker = cls()
        ranker.coef_ = np.array(json.loads(path.read_text()))
        return ranker


def column_sums(X):
    return np.array([fsum(column) for column in X.T])


class FirstRowMatters(Honest, breaks="row_order"):
    def learn(self, X, y, qid):
        return super().learn(X, y, qid) + column_sums(X[np.unique(qid, return_index=True)[1]])


class LowestIdMatters(Honest, breaks="query_names"):
    def learn(self, X, y, qid):
        return super().learn(X, y, qid) + column_sums(X[qid == np.unique(qid)[0]])


class ReadsMemoryAsItLies(Honest, breaks="form_of_features"):
    def fit(self, X, y, qid=None):
        return super().fit(X.ravel(order="K").reshape(X.shape), y, qid)


class WritesToX(Honest, breaks="form_of_features"):
    def fit(self, X, y, qid=None):
        super().fit(X, y, qid)
        X[0, 0] = 7.0
        return self


class RefusesDataWithoutPairs(Honest, breaks="little_to_learn"):
    def learn(self, X, y, qid):
        if len(np.unique(qid)) == len(qid):
            raise ValueError("no pairs at all")
        return super().learn(X, y, qid)


class PullsScoresToZero(Honest, breaks="shifted_scores"):
    def make_objective(self, y, qid):
        return Pull(make_objective(y, qid))


class Pull:
    n_outputs = 1

    def __init__(self, objective):
        self.objective = objective

    def derivatives(self, scores, *, iteration=0):
        gradient, hessian = self.objective.derivatives(scores)
        return gradient + 1e-3 * scores, hessian


class CountsItsFits(Honest, breaks="refit", entails=_TWO_FITS):
    n_fits = 0

    def learn(self, X, y, qid):
        CountsItsFits.n_fits += 1
        return super().learn(X, y, qid) + CountsItsFits.n_fits


class DependsOnThreads(Honest, breaks="threads"):
    def learn(self, X, y, qid):
        with threads_for(len(y)):
            return super().learn(X, y, qid) * (1 + 1e-12 * numba.get_num_threads())


class PicklesInHalfPrecision(Honest, breaks="copies"):
    def __getstate__(self):
        state = super().__getstate__()
        fitted = {name: state[name].astype(np.float16) for name in ("coef_",) if name in state}
        return state | fitted


class ChangesItsParameter(Honest, breaks="refit"):
    def learn(self, X, y, qid):
        self.random_state = 1
        return super().learn(X, y, qid)


class CentersTheBatch(Honest, breaks="one_by_one"):
    def predict(self, X):
        scores = super().predict(X)
        return scores - fsum(scores) / len(scores)


class RanksTheWorstFirst(Honest, breaks="ranks_agree_with_predict"):
    def rank(self, X, qid=None):
        groups = QueryGroups.from_qid(qid, len(X))
        return groups.sizes[groups.codes] + 1 - super().rank(X, qid)


class ListsOneTooFew(Honest, breaks="ranks"):
    def top_k(self, X, qid=None, k=10):
        return super().top_k(X, qid, k - 1)


class ScoresByALoss(
    Honest, breaks="score_in_unit_interval", entails={"score_is_ndcg", "little_to_learn"}
):
    def score(self, X, y, qid=None):
        return -super().score(X, y, qid)


class ScoresTheFirstRank(Honest, breaks="score_is_ndcg"):
    def score(self, X, y, qid=None):
        return NDCG(k=1)(y, self.predict(X), qid)


class BreaksTiesByRow(Honest, breaks="ties"):
    def score(self, X, y, qid=None):
        return NDCG(k=10, ties="stable")(y, self.predict(X), qid)


class NeverGetsQueriesToScore(Honest, breaks="grid_search"):
    __metadata_request__score: ClassVar = {"qid": False}


class SeesGainsLarger(Honest, breaks="antisymmetry"):
    def compare(self, X_a, X_b):
        margin = self.margin(X_a, X_b)
        return np.where(margin > 0, 2 * margin, margin)


class ComparesByALoss(Honest, breaks="comparing_agrees_with_predict"):
    def compare(self, X_a, X_b):
        return self.margin(X_b, X_a)


class DoubtsLosers(Honest, breaks="pair_probabilities"):
    def predict_pair_proba(self, X_a, X_b):
        probability = super().predict_pair_proba(X_a, X_b)
        return np.where(probability < 0.5, 0.9 * probability, probability)


class SignsDistances(Honest, breaks="pseudometric"):
    def distance(self, X_a, X_b):
        return self.margin(X_a, X_b)


MUTANTS = Honest.__subclasses__()
