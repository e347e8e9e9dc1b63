"""Several labels per document: weights, limits, early stopping, and what is refused."""

import numpy as np
import pytest
from example_rankers import PARTS, Column, ranking_data, some_ranker
from sklearn.base import clone

from treerank.metrics import NDCG
from treerank.objectives.limited_sum import LimitedSum
from treerank.objectives.weighted_sum import WeightedSum
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    X, y, qid = ranking_data()
    return X, {"relevance": y, "margin": np.digitize(-X[:, 0] + X[:, 1], [0.0, 1.0])}, qid


def test_the_objective_is_the_weighted_sum_of_those_of_single_labels(data):
    X, labels, qid = data
    weights = {"relevance": 2.0, "margin": 0.5}
    both = TreeDirectRanker(Column(), label_weights=weights, smoothing=0.0).fit(X, labels, qid)
    objective = both.feature_part_.objective_
    assert isinstance(objective, WeightedSum)
    assert objective.factors == (2.0, 0.5)
    zeros = np.zeros(160)
    alone = [
        TreeDirectRanker(Column(), smoothing=0.0).fit(X, y, qid).feature_part_.objective_(zeros)[0]
        for y in labels.values()
    ]
    assert objective(zeros)[0] == pytest.approx(2 * alone[0] + 0.5 * alone[1])


def test_score_is_the_weighted_mean_over_labels(data):
    X, labels, qid = data
    ranker = some_ranker(label_weights=[3, 1]).fit(X, labels, qid)
    values = [NDCG(k=10)(y, ranker.predict(X), qid) for y in labels.values()]
    assert ranker.score(X, labels, qid) == pytest.approx(np.average(values, weights=[3, 1]))


def test_a_column_of_an_array_is_a_label(data):
    X, labels, qid = data
    named = some_ranker().fit(X, labels, qid)
    numbered = some_ranker().fit(X, np.column_stack(list(labels.values())), qid)
    np.testing.assert_array_equal(numbered.predict(X), named.predict(X))


def test_a_limited_label_keeps_its_share_of_the_best_quality(data):
    X, labels, qid = data
    part = clone(PARTS["lightgbm"]).set_params(n_estimators=40)

    def quality_of_margin(y, **settings):
        ranker = TreeDirectRanker(part, random_state=0, **settings).fit(X, y, qid)
        return NDCG(k=10)(labels["margin"], ranker.predict(X), qid)

    best = quality_of_margin(labels["margin"])
    strict = quality_of_margin(labels, label_limits={"margin": 0.02})
    loose = quality_of_margin(labels, label_limits={"margin": 0.3})
    assert 0.95 * best < strict
    assert loose < strict


def test_a_limit_makes_a_sum_with_factors_that_adapt(data):
    X, labels, qid = data
    ranker = TreeDirectRanker(Column(), label_limits={"margin": 0.1}).fit(X, labels, qid)
    objective = ranker.feature_part_.objective_
    assert isinstance(objective, LimitedSum)
    assert len(objective.limits) == 1
    scores = X[:, 0]
    quality = NDCG(k=10)(labels["margin"], scores, qid)
    assert objective.limits[0].floor == pytest.approx(0.9 * quality)


@pytest.mark.parametrize("settings", [{}, {"label_limits": {"margin": 0.1}}], ids=["sum", "limits"])
def test_every_label_has_a_history_of_one_value_per_iteration(data, settings):
    X, labels, qid = data
    ranker = some_ranker(calibration=None, **settings)
    ranker.fit(X, labels, qid, eval_set=(X, labels, qid))
    history = ranker.evals_result_["validation"]
    assert set(history) == {"ndcg@10", "ndcg@10 of relevance", "ndcg@10 of margin"}
    assert {len(values) for values in history.values()} == {8}


def test_labels_of_thresholds_of_their_own_can_be_limited(data):
    X, labels, qid = data
    both = {"a": np.clip(labels["relevance"], 0, 2), "b": labels["margin"]}
    ranker = some_ranker(per_level=True, label_limits={"b": 0.1}, calibration=None)
    assert ranker.fit(X, both, qid, eval_set=(X, both, qid)).score(X, both, qid) > 0.5


@pytest.mark.parametrize(
    ("settings", "fit", "message"),
    [
        ({"label_weights": [1, 2, 3]}, {}, r"label_weights must have a number per label, \['rel"),
        ({"label_weights": {"price": 1}}, {}, "each label of label_weights must be one of"),
        ({"label_weights": {"margin": -1}}, {}, r"label_weights\['margin'\] must be .* at least 0"),
        ({"label_limits": {"margin": 1.0}}, {}, "label_limits must leave a label to raise"),
        ({"label_limits": [0.1, 0.1]}, {}, "label_limits must leave a label to raise"),
        ({"label_weights": [1, 2]}, {"y": np.ones(160)}, "label_weights must be None for a single"),
        ({"label_limits": {"a": 0}}, {"y": np.ones(160)}, "label_limits must be None for a single"),
        ({}, {"given_pairs": [[0, 1, 1]]}, "given_pairs must be None where y has several labels"),
        ({}, {"eval_set": (np.eye(4), [0, 1, 0, 1])}, "eval_set must have the labels of y"),
    ],
)
def test_what_does_not_fit_several_labels_is_refused(data, settings, fit, message):
    given = dict(zip(["X", "y", "qid"], data, strict=True)) | fit
    with pytest.raises(ValueError, match=message):
        some_ranker(**settings).fit(**given)
