"""The gain and the threshold of a ranker reach the metrics that are given by name."""

import numpy as np
import pytest

from treerank import NDCG, HistogramTrees, TreeDirectRanker, load, report
from treerank.baselines import RankSVM
from treerank.inspection import permutation_importance
from treerank.metrics import AveragePrecision, ExpectedReciprocalRank
from treerank.rankers import refresh

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(400, 4)), np.repeat(np.arange(40), 10)
Y = np.clip(np.round(X[:, 0] + RNG.normal(size=400) + 1), 0, 4)
TRAIN, TEST = QID < 30, QID >= 30


def ranker(**settings):
    return TreeDirectRanker(HistogramTrees(8, n_jobs=1), random_state=0, **settings)


@pytest.mark.parametrize(
    ("settings", "metric"),
    [
        ({"gain": "linear"}, NDCG(10, gain="linear")),
        ({"gain": [0, 1, 2, 3, 50]}, NDCG(10, gain=[0, 1, 2, 3, 50])),
        ({"gain": "linear", "metric": "ndcg@3"}, NDCG(3, gain="linear")),
        (
            {"gain": "linear", "metric": "ndcg(discount='delayed_log2')@3"},
            NDCG(3, gain="linear", discount="delayed_log2"),
        ),
        ({"gain": "linear", "metric": "err"}, ExpectedReciprocalRank(gain="linear")),
        ({"threshold": 2, "metric": "map"}, AveragePrecision(threshold=2)),
        # What names its own setting, or is an object, keeps it.
        ({"gain": "linear", "metric": "ndcg(gain='exponential')@10"}, NDCG(10)),
        ({"gain": "linear", "metric": NDCG(10)}, NDCG(10)),
        ({"threshold": 2, "metric": "map(threshold=3)"}, AveragePrecision(threshold=3)),
        ({"threshold": 2, "metric": AveragePrecision()}, AveragePrecision()),
        ({"gain": "linear", "threshold": 2, "metric": "pairwise_accuracy"}, "pairwise_accuracy"),
    ],
)
def test_score_and_early_stopping_take_the_gain_and_the_threshold(settings, metric, tmp_path):
    held_out = X[TEST], Y[TEST], QID[TEST]
    given = ranker(**settings).fit(X[TRAIN], Y[TRAIN], QID[TRAIN], eval_set=held_out)
    said = ranker(**settings | {"metric": metric})
    said.fit(X[TRAIN], Y[TRAIN], QID[TRAIN], eval_set=held_out)
    assert given.score(*held_out) == said.score(*held_out)
    assert given.evals_result_ == said.evals_result_
    assert given.best_iteration_ == said.best_iteration_
    given.save(tmp_path / "model")
    assert load(tmp_path / "model").score(*held_out) == said.score(*held_out)


def test_the_default_gain_changes_no_name():
    fitted = ranker().fit(X, Y, QID, eval_set=0.2, eval_metric=["ndcg@5", "map"])
    assert [*fitted.evals_result_["validation"]] == ["ndcg@5", "map"]
    assert RankSVM().fit(X, Y, QID).score(X, Y, QID) > 0  # it has neither setting


def test_what_measures_a_ranker_takes_them_too():
    fitted, metric = ranker(gain="linear", threshold=2).fit(X, Y, QID), NDCG(10, gain="linear")
    importances = permutation_importance(fitted, X, Y, QID)
    assert importances.metric == metric.name
    assert refresh(fitted, X, Y, QID, n_splits=2).metric == metric.name
    page = report(fitted, X, Y, QID).html
    assert f"{AveragePrecision(threshold=2)(Y, fitted.predict(X), QID):.4f}" in page


def n_queries(y, scores, qid):
    """Return the number of queries that a metric of the user's own is given."""
    return float(len(set(np.asarray(qid).tolist())))


def test_a_function_is_given_all_queries_at_once_unless_they_have_weights():
    model = ranker(metric=n_queries).fit(X[TRAIN], Y[TRAIN], QID[TRAIN])
    assert model.score(X[TEST], Y[TEST], QID[TEST]) == 10
    weight = np.ones(TEST.sum())
    assert model.score(X[TEST], Y[TEST], QID[TEST], sample_weight=weight) == 1
