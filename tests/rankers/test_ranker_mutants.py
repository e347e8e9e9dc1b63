"""The laws find what is wrong: a ranker keeps them all, and each mutant of it breaks one."""

import pickle
from math import fsum
from typing import ClassVar

import numba
import numpy as np
import pytest
from laws import LAWS, Case
from small_rankers import DATA

from treerank import NDCG, make_objective
from treerank.baselines import RankSVM
from treerank.numerics.threads import threads_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),
]


class Honest(RankSVM):
    """A ranker that keeps every law."""

    def __init_subclass__(cls, breaks):
        """Note the law that a mutant breaks."""
        super().__init_subclass__()
        cls.breaks = breaks

    def fit(self, X, y, qid=None):
        super().fit(X, y, qid)
        self.coef_ = self.changed(np.asarray(X, dtype=np.float64), np.asarray(qid))
        return self

    def changed(self, X, qid):
        """Return the weights of a mutant."""
        return self.coef_

    def margin(self, X_a, X_b):
        return self.predict(X_a) - self.predict(X_b)

    def objective(self, y, qid):
        return make_objective(y, qid)

    def save(self, path):
        path.write_bytes(pickle.dumps(self))

    @classmethod
    def load(cls, path):
        return pickle.loads(path.read_bytes())


def column_sums(X):
    return np.array([fsum(column) for column in X.T])


class FirstRowMatters(Honest, breaks="row_order"):
    def changed(self, X, qid):
        return self.coef_ + column_sums(X[np.unique(qid, return_index=True)[1]])


class LowestIdMatters(Honest, breaks="query_names"):
    def changed(self, X, qid):
        return self.coef_ + column_sums(X[qid == np.unique(qid)[0]])


class ReadsMemoryAsItLies(Honest, breaks="form_of_features"):
    def fit(self, X, y, qid=None):
        return super().fit(X.ravel(order="K").reshape(X.shape), y, qid)


class WritesToX(Honest, breaks="form_of_features"):
    def fit(self, X, y, qid=None):
        super().fit(X, y, qid)
        X[0, 0] = 7.0
        return self


class RefusesDataWithoutPairs(Honest, breaks="little_to_learn"):
    def changed(self, X, qid):
        if len(np.unique(qid)) == len(qid):
            raise ValueError("no pairs at all")
        return self.coef_


class PullsScoresToZero(Honest, breaks="shifted_scores"):
    def objective(self, y, qid):
        return Pull(make_objective(y, qid))


class Pull:
    n_outputs = 1

    def __init__(self, objective):
        self.objective = objective

    def derivatives(self, scores, *, iteration=0):
        gradient, hessian = self.objective.derivatives(scores)
        return gradient + 1e-3 * scores, hessian


class CountsItsFits(Honest, breaks="refit"):
    n_fits = 0

    def changed(self, X, qid):
        CountsItsFits.n_fits += 1
        return self.coef_ + CountsItsFits.n_fits


class DependsOnThreads(Honest, breaks="threads"):
    def changed(self, X, qid):
        with threads_for(len(X)):
            return self.coef_ * (1 + 1e-12 * numba.get_num_threads())


class PicklesInHalfPrecision(Honest, breaks="copies"):
    def __getstate__(self):
        state = super().__getstate__()
        fitted = {name: np.float64(np.float16(state[name])) for name in ("coef_",) if name in state}
        return state | fitted


class ChangesItsParameter(Honest, breaks="refit"):
    def changed(self, X, qid):
        self.normalized = False
        return self.coef_


class CentersTheBatch(Honest, breaks="one_by_one"):
    def predict(self, X):
        scores = super().predict(X)
        return scores - fsum(scores) / len(scores)


class RanksTheWorstFirst(Honest, breaks="ranks_agree_with_predict"):
    def rank(self, X, qid=None):
        _, codes, sizes = np.unique(qid, return_inverse=True, return_counts=True)
        return sizes[codes] + 1 - super().rank(X, qid)


class ListsOneTooFew(Honest, breaks="ranks"):
    def top_k(self, X, qid=None, k=10):
        return super().top_k(X, qid, k - 1)


class ScoresByALoss(Honest, breaks="little_to_learn"):
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


class IsTooSure(Honest, breaks="chained_pair_probabilities"):
    def predict_pair_proba(self, X_a, X_b):
        probability = super().predict_pair_proba(X_a, X_b)
        return probability**2 / (probability**2 + (1 - probability) ** 2 + 0.1)


MUTANTS = Honest.__subclasses__()


@pytest.mark.parametrize("law", LAWS)
def test_an_honest_ranker_keeps_every_law_and_is_never_fitted_itself(law):
    ranker = Honest()
    LAWS[law](Case(ranker, DATA))
    assert vars(ranker) == vars(Honest())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_fails_the_law_it_breaks(mutant):
    if mutant.__name__ == "DependsOnThreads" and numba.config.NUMBA_NUM_THREADS == 1:
        pytest.skip("numba has but one thread here")
    with pytest.raises((AssertionError, TypeError, ValueError)):
        LAWS[mutant.breaks](Case(mutant(), DATA))


def test_every_law_has_a_mutant():
    assert {mutant.breaks for mutant in MUTANTS} == set(LAWS)
