from functools import partial
from itertools import product

import numpy as np
import pytest

from treerank import HistogramTrees, TreeDirectRanker, get_metric, load, make_web_search
from treerank.baselines import AdaRank, LambdaMART, PRank
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.feature_parts import Stages
from treerank.rankers.early_stopping import (
    RecordedMetrics,
    _curve,
    mean_over_all,
    metrics_of,
    with_metrics,
)

X, Y, QID = make_web_search(30, documents_per_query=15, n_features=6, random_state=0)
TRAIN, *SETS = (
    (X[rows], Y[rows], QID[rows]) for rows in (QID < 15, QID >= 22, (QID >= 15) & (QID < 22))
)
RANKERS = {
    "lightgbm": lambda: TreeDirectRanker(random_state=0),
    "histogram": lambda: TreeDirectRanker(HistogramTrees(20, n_jobs=1), random_state=0),
    "LambdaMART": lambda: LambdaMART(20, random_state=0),
    "AdaRank": lambda: AdaRank(n_estimators=5),
    "PRank": lambda: PRank(random_state=0),
}


@pytest.mark.parametrize("name", RANKERS)
def test_the_first_set_and_metric_decide_and_all_are_recorded(name, tmp_path):
    alone = RANKERS[name]().set_params(metric="map").fit(*TRAIN, eval_set=SETS[0])
    metrics = ["map", get_metric("ndcg@5")]
    found, told = RANKERS[name]().set_params(metric="map"), []

    def tell(n_done, n_total, values):
        told.append([*values.items()])

    found.fit(*TRAIN, eval_set=SETS, eval_metric=metrics, callbacks=[tell])
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))
    assert found.calibration_slope_ == alone.calibration_slope_
    assert [*found.evals_result_] == ["validation", "validation_1"]
    assert found.evals_result_["validation"]["map"] == alone.evals_result_["validation"]["map"]
    lengths = {len(v) for curves in found.evals_result_.values() for v in curves.values()}
    assert len(lengths) == 1
    curves = found.evals_result_["validation"].items()
    first, last = ([(name, values[n]) for name, values in curves] for n in (0, -1))
    assert told[0] == first
    assert last in told
    found.save(tmp_path / "m")
    assert load(tmp_path / "m").evals_result_ == found.evals_result_


@pytest.mark.parametrize("metrics", [["ndcg@5", "mrr"], "map"])
def test_recorded_values_are_those_of_the_scores(metrics):
    trees = HistogramTrees(5, early_stopping_rounds=None, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0)
    ranker.fit(*TRAIN, eval_set=SETS, eval_metric=metrics)
    for curves, (X_, y, qid) in zip(ranker.evals_result_.values(), SETS, strict=True):
        assert [*curves] == np.atleast_1d(metrics).tolist()
        for metric, values in curves.items():
            assert values[-1] == get_metric(metric)(y, ranker.predict(X_), qid)


def test_a_continued_fit_forgets_the_values_of_trees_that_were_not_kept():
    trees = HistogramTrees(40, learning_rate=0.3, early_stopping_rounds=5, n_jobs=1)
    ranker = TreeDirectRanker(trees, warm_start=True, random_state=0)
    watched = {"eval_set": SETS, "eval_metric": ["map", "mrr"]}
    n_kept = ranker.fit(*TRAIN, **watched).best_iteration_
    trees.set_params(n_estimators=n_kept + 3, early_stopping_rounds=None)
    ranker.fit(*TRAIN, **watched)
    whole = TreeDirectRanker(trees, random_state=0).fit(*TRAIN, **watched)
    assert ranker.evals_result_ == whole.evals_result_


def test_a_continued_fit_records_the_iterations_before_it_by_every_metric_and_set():
    trees = HistogramTrees(4, early_stopping_rounds=None, n_jobs=1)
    ranker = TreeDirectRanker(trees, warm_start=True, random_state=0)
    watched = {"eval_set": SETS, "eval_metric": ["map", "mrr"]}
    first = ranker.fit(*TRAIN, **watched).evals_result_
    ranker.set_params(feature_part__n_estimators=7).fit(*TRAIN, **watched)
    for part, (X_, y, qid) in zip(first, SETS, strict=True):
        for metric, values in ranker.evals_result_[part].items():
            assert values[:4] == first[part][metric]
            assert len(values) == 7
            assert values[-1] == get_metric(metric)(y, ranker.predict(X_), qid)
    ranker.set_params(warm_start=False, feature_part__n_estimators=3).fit(*TRAIN, **watched)
    assert {len(v) for curves in ranker.evals_result_.values() for v in curves.values()} == {3}


def test_chains_in_chains_record_all_metrics_and_one_step_records_nothing():
    trees = [HistogramTrees(3, n_jobs=1) for _ in range(3)]
    ranker = TreeDirectRanker(Stages([trees[0], Stages(trees[1:])]), random_state=0)
    ranker.fit(*TRAIN, eval_set=SETS[0], eval_metric=["map", "mrr"])
    assert [*ranker.evals_result_["validation"]] == ["map", "mrr"]
    ranker = TreeDirectRanker("linear", random_state=0)
    assert ranker.fit(*TRAIN, eval_set=SETS[0]).evals_result_ == {}


def test_each_label_of_each_set_is_measured_by_each_metric():
    both = [(X_, {"grade": y, "click": y > 2}, qid) for X_, y, qid in (TRAIN, *SETS)]
    trees = HistogramTrees(5, early_stopping_rounds=None, n_jobs=1)
    ranker = TreeDirectRanker(trees, label_weights={"click": 3}, random_state=0)
    ranker.fit(*both[0], eval_set=both[1:], eval_metric=["map", "ndcg@5"])
    first, second = ranker.evals_result_.values()
    labels = ["map of grade", "map of click", "ndcg@5 of grade", "ndcg@5 of click"]
    assert [*second] == [*labels, "map", "ndcg@5"]
    for curves, metric in product((first, second), ("map", "ndcg@5")):
        grade, click = (np.array(curves[f"{metric} of {label}"]) for label in ("grade", "click"))
        assert curves[metric] == pytest.approx((grade + 3 * click) / 4)
    X_, labels, qid = both[2]
    expected = get_metric("ndcg@5")(labels["click"], ranker.predict(X_), qid)
    assert second["ndcg@5 of click"][-1] == pytest.approx(expected)


@pytest.mark.parametrize("n_queries", [(2, 1), (1, 2), (3, 1, 4)])
def test_queries_of_several_sets_stay_apart(n_queries):
    sets = [
        (Rows(np.zeros((2 * n, 1))), {"": np.tile([0.0, 1.0], n)}, QueryGroups.from_qid(pairs))
        for n, pairs in ((n, np.arange(n).repeat(2)) for n in n_queries)
    ]
    held = with_metrics(sets, [get_metric("map")])
    assert held.groups.sizes.tolist() == [2] * sum(n_queries)
    assert held.groups.codes.tolist() == np.arange(sum(n_queries)).repeat(2).tolist()


def test_outputs_are_added_up_before_they_are_measured():
    measure = get_metric("ndcg").prepared([1, 0])
    watched = RecordedMetrics("ndcg", {("validation", "ndcg"): measure})
    outputs = np.array([[1.0, -3.0], [0.5, 0.0]])  # the first alone would rank the other way round
    assert watched(outputs) == watched(np.array([-2.0, 0.5])) == measure(np.array([0.0, 1.0])) < 1


class TwoWorkers:
    """Documents of the first of two workers, of which the second holds given labels and sums."""

    is_shard = True

    def __init__(self, labels, other_n, other_sum, other_ideal):
        self.labels, self.other_n, self.other_sum = labels, other_n, other_sum
        self.other_ideal = other_ideal

    def of_all(self, values):
        other = self.labels if len(values) == 4 else np.array([self.other_sum])
        return np.concatenate([values, other])

    def numbers_of(self, n):
        return np.arange(n)

    def any(self, flag):
        return flag or self.other_ideal

    def total(self, values):
        return values + self.other_n


def test_the_mean_over_workers_counts_the_queries_of_all_that_are_defined():
    ndcg = get_metric("ndcg")
    y, groups = np.array([0.0, 1.0, 0.0, 0.0]), QueryGroups.from_qid([7, 7, 8, 8])
    scores = np.array([2.0, 1.0, 0.0, 0.0])
    # Query 8 has no relevant document; three queries of the other worker have values of 1.5 in all.
    documents = TwoWorkers(np.array([1.0, 1.0]), 3, 1.5, other_ideal=False)
    mean = mean_over_all(ndcg, y, groups, documents)
    assert mean(scores) == pytest.approx((1 / np.log2(3) + 1.5) / 4)
    curve = _curve(
        ndcg, np.array([np.nan, *y]), QueryGroups.from_qid([7, 7, 7, 8, 8]), 2, documents
    )
    assert curve(np.array([9.0, 9.0, 9.0, *scores])) == mean(scores)
    nothing = TwoWorkers(np.zeros(2), 0, 0.0, other_ideal=False)
    with pytest.raises(ValueError, match="6 documents"):
        mean_over_all(ndcg, np.zeros(4), groups, nothing)
    elsewhere = TwoWorkers(np.ones(2), 1, 0.25, other_ideal=True)
    assert mean_over_all(ndcg, np.zeros(4), groups, elsewhere)(scores) == 0.25


def test_an_empty_list_of_metrics_is_refused():
    for nothing in ([], ()):
        with pytest.raises(ValueError, match="eval_metric must be a metric or several"):
            metrics_of(TreeDirectRanker(), nothing)
    assert len(metrics_of(TreeDirectRanker(), ["map", "mrr"])) == 2


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["map", "mrr", "map"], r"got 'map' twice\.$"),
        ([partial(max), partial(min)], r"got 'partial' twice\. Give functions different names\."),
    ],
)
def test_two_metrics_of_one_name_are_refused(metrics, message):
    with pytest.raises(ValueError, match=f"eval_metric must have different names; {message}"):
        TreeDirectRanker().fit(*TRAIN, eval_set=SETS[0], eval_metric=metrics)


def test_the_share_of_judged_documents_is_refused_where_unjudged_ones_are_left_out():
    with pytest.raises(ValueError, match=r"eval_metric must not have judged@5.* get_metric\('jud"):
        TreeDirectRanker().fit(*TRAIN, eval_set=SETS[0], eval_metric=["map", "judged@5"])
    with pytest.raises(ValueError, match="metric must not have judged, since"):
        TreeDirectRanker(metric="judged").fit(*TRAIN, eval_set=0.3)
