"""Several labels per document: weights, early stopping, and what is refused."""

import numpy as np
import pytest
from example_rankers import Column, ranking_data, some_ranker

from treerank.feature_parts.ensembles.chain import Chain
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.metrics import NDCG
from treerank.objectives.sums import WeightedSum
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


def test_every_label_has_a_history_of_one_value_per_iteration(data):
    X, labels, qid = data
    ranker = some_ranker(calibration=None)
    ranker.fit(X, labels, qid, eval_set=(X, labels, qid))
    history = ranker.evals_result_["validation"]
    assert set(history) == {"ndcg@10", "ndcg@10 of relevance", "ndcg@10 of margin"}
    assert {len(values) for values in history.values()} == {8}


@pytest.mark.parametrize("several", ["labels", "metrics"])
def test_histories_of_continued_fits_and_of_chains_are_of_one_length(data, several):
    X, labels, qid = data
    y = labels if several == "labels" else labels["margin"]
    given = {} if several == "labels" else {"eval_metric": ["ndcg@10", "map"]}
    trees = HistogramTrees(3, n_jobs=1, early_stopping_rounds=None, warm_start=True)
    for part in trees, Chain([trees, trees]):
        ranker = TreeDirectRanker(part, warm_start=part is trees)
        for n_estimators in [3, 5] if part is trees else [3]:
            trees.set_params(n_estimators=n_estimators)
            ranker.fit(X, y, qid, eval_set=(X, y, qid), **given)
        curves = ranker.evals_result_["validation"]
        assert {len(values) for values in curves.values()} == {n_estimators}
        assert curves["ndcg@10"][-1] == pytest.approx(ranker.score(X, y, qid))


@pytest.mark.parametrize(
    ("settings", "fit", "message"),
    [
        ({"label_weights": [1, 2, 3]}, {}, r"label_weights must have a number per label, \['rel"),
        ({"label_weights": {"price": 1}}, {}, "each label of label_weights must be one of"),
        ({"label_weights": {"margin": -1}}, {}, r"label_weights\['margin'\] must be .* at least 0"),
        ({"label_weights": [1, 2]}, {"y": np.ones(160)}, "label_weights must be None for a single"),
        ({}, {"given_pairs": [[0, 1, 1]]}, "given_pairs must be None where y has several labels"),
        ({}, {"eval_set": (np.eye(4), [0, 1, 0, 1])}, "eval_set must have the labels of y"),
    ],
)
def test_what_does_not_fit_several_labels_is_refused(data, settings, fit, message):
    given = dict(zip(["X", "y", "qid"], data, strict=True)) | fit
    with pytest.raises(ValueError, match=message):
        some_ranker(**settings).fit(**given)
