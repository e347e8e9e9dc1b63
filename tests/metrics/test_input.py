import warnings

import numpy as np
import pandas as pd
import pytest
from metric_cases import NAMES, every_metric, make_judged
from sklearn.metrics import make_scorer, mean_squared_error

from treerank import NDCG, TreeDirectRanker, get_metric, make_web_search
from treerank.documents.queries import QueryGroups
from treerank.metrics import METRICS, Recall, exposure_by_group, ndcg_bounds
from treerank.metrics import ExpectedReciprocalRank as ERR
from treerank.metrics.judged import judged_share
from treerank.metrics.registry import RankingScorer, with_convention
from treerank.metrics.threshold_metrics import AveragePrecision


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1.0]), r"scores must have one entry per document; got 1 for 2\."),
        (([0, 1], [1.0, 2.0], [1]), r"qid must have one entry per row; got 1 for 2 rows\."),
        (([0, np.inf], [1.0, 2.0]), r"y must be finite; got inf in row 1\."),
        (([np.nan, np.nan], [1.0, 2.0]), r"y must hold a label in some row; .* in all 2\."),
        (([0, np.nan], [1.0, np.nan]), r"scores must be finite; got nan in row 1\."),
        (([0, 1], [-np.inf, 2.0]), r"scores must be finite; got -inf in row 0\."),
        (([0, 1], [2**60, 2**60 + 1]), r"scores must be below 2\*\*53 in size as integers; got 1"),
        (([], []), r"y must have at least one entry; got \[\]\."),
        (([[1, 0]], [[1, 0]]), r"y must be one-dimensional; got shape \(1, 2\)\."),
    ],
)
@every_metric
def test_bad_input_is_named(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        metric(*arguments)


@pytest.mark.parametrize("table", [lambda y: y[:, None], lambda y: pd.DataFrame({"grade": y})])
@pytest.mark.filterwarnings("ignore:.* queries are excluded from")
def test_labels_may_be_a_table_of_one_column(table):
    y, scores, qid = make_judged()
    gaps = np.where(qid % 10 == 3, np.nan, y)
    counts = dict.fromkeys(np.unique(qid), len(y))
    for metric in (
        *map(get_metric, NAMES),
        get_metric(lambda y, *_: y.sum()),
        Recall(k=5, n_relevant=counts),
    ):
        expected = metric.per_query(gaps, scores, qid)
        np.testing.assert_array_equal(metric.per_query(table(gaps), scores, qid), expected)
        assert metric.prepared(table(y), qid)(scores) == metric(y, scores, qid)
    np.testing.assert_array_equal(
        ndcg_bounds(table(gaps), scores, qid), ndcg_bounds(gaps, scores, qid)
    )
    assert judged_share(table(gaps), scores, qid) == judged_share(gaps, scores, qid)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (NDCG(k=5), "ndcg@5"),
        (NDCG(k=5, gain="linear"), "ndcg(gain='linear')@5"),
        (NDCG(gain=np.array([0, 1, 3.5])), "ndcg(gain=(0.0, 1.0, 3.5))"),
        (AveragePrecision(threshold=np.int64(2)), "map(threshold=2)"),
        (NDCG(3, ties="stable", no_relevant=0.0), "ndcg(ties='stable', no_relevant=0.0)@3"),
        (ERR(k=20, max_label=4), "err(max_label=4)@20"),
    ],
)
def test_the_name_of_a_metric_has_its_settings_and_makes_it_again(metric, name):
    assert metric.name == name
    assert get_metric(name) == metric


def test_curves_of_two_settings_of_a_metric_are_recorded_apart():
    X, y, qid = make_web_search(30, documents_per_query=10, n_features=5, random_state=0)
    fit, valid = qid < 15, qid >= 15
    metrics = [NDCG(2), NDCG(2, gain="linear")]
    for part in ("xgboost", "lightgbm", "histogram"):  # XGBoost splits what it prints at spaces
        ranker = TreeDirectRanker(part, metric=NDCG(2, ties="stable", no_relevant=0.0))
        held_out = X[valid], y[valid], qid[valid]
        watched = [ranker.metric, *metrics]
        ranker.fit(X[fit], y[fit], qid[fit], eval_set=held_out, eval_metric=watched)
        names = [ranker.metric.name, "ndcg@2", "ndcg(gain='linear')@2"]
        assert [*ranker.evals_result_["validation"]] == names


def test_many_documents_without_qid_are_told_to_be_one_query():
    y = np.tile([1, 0], 500)
    with pytest.warns(UserWarning, match="qid is None, so all 1000 documents are treated as one"):
        NDCG(10)(y, y)
    with warnings.catch_warnings(action="error"):
        assert NDCG(10)(y, y, np.zeros(1000)) == NDCG(k=10)(y[1:], y[1:])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NDCG(k=10)([-1], [0]), r"y must not be negative .*; got -1\.0\."),
        (lambda: NDCG(k=10)([1001], [0]), r"y must be at most 1000 for gain='exponential'; got"),
        (lambda: NDCG(k=10, gain="linear")([1e308], [0]), r"y must have gains below .*; got 1e"),
        (lambda: NDCG(k=10, gain=[0, 1])([2], [0]), r"y must be integers below 2, .*; got 2\.0\."),
        (lambda: NDCG(gain="cubic"), r"gain must be an array or one of \['exp.*; got 'cubic'\."),
        (lambda: NDCG(gain=[0, -1]), r"gain must not be negative; got -1\.0\."),
        (lambda: NDCG(k=0), r"k must be a whole number of at least 1; got 0\."),
        (lambda: NDCG(ties="best"), r"ties must be one of \['average', .*; got 'best'\."),
        (lambda: NDCG(no_relevant="zero"), r"no_relevant must be 'exclude' or a finite .*; got 'z"),
        (lambda: AveragePrecision(threshold=None), r"threshold must be a finite number; got N"),
        (lambda: get_metric("ndgc@5"), r"metric must be one of ndcg, map, .*; got 'ndgc@5'\."),
        (lambda: get_metric("ndgc@" + "9" * 19), r"Did you mean 'ndcg'\?$"),
        (lambda: get_metric("ndcg10"), r"got 'ndcg10'\. Did you mean 'ndcg@10'\?$"),
        (lambda: get_metric("ndcg(gain=linear)@5"), r"as in \"ndcg\(gain='linear'\)@5\"; got 'ndc"),
        (lambda: get_metric("ndcg('linear')"), r"must be a name, settings and a cutoff, as in"),
        (lambda: get_metric("ndcg(k=3)@5"), r"must be a name, settings and a cutoff, as in"),
        (lambda: get_metric("ndcg(persistence=0.5)"), r"must have settings among \['k', 'ties', "),
        (lambda: get_metric("ndcg(gain='cubic')"), r"gain must be .*; got 'cubic'"),
        (lambda: get_metric("ndcg(gain=__import__('os'))"), r"must be a name, settings and"),
        (lambda: get_metric("P_5"), r"Did you mean 'p@5'\?$"),
        (lambda: get_metric("ndcg_at_10"), r"got 'ndcg_at_10'\. Did you mean 'ndcg@10'\?$"),
        (lambda: get_metric("NDCGat5"), r"Did you mean 'ndcg@5'\?$"),
        (lambda: get_metric("precision@5"), r"Did you mean 'p@5'\?$"),
        (lambda: get_metric("hit@10"), r"Did you mean 'success@10'\?$"),
        (lambda: get_metric("HitRate@10"), r"Did you mean 'success@10'\?$"),
        (lambda: get_metric("pre@5"), r"Did you mean 'p@5'\?$"),
        (lambda: get_metric("ndcg@10-"), r"Did you mean 'ndcg\(no_relevant=0\.0\)@10'\?$"),
        (lambda: get_metric("map-"), r"Did you mean 'map\(no_relevant=0\.0\)'\?$"),
        (lambda: get_metric("NDCG:top=10;type=Exp"), r"Did you mean 'ndcg@10'\?$"),
        (lambda: get_metric("PrecisionAt:top=5"), r"Did you mean 'p@5'\?$"),
        (lambda: get_metric("MAP:top=10"), r"Did you mean 'map@10'\?$"),
        (lambda: get_metric("MRR:top=10"), r"Did you mean 'mrr@10'\?$"),
        (lambda: get_metric("RecallAt:top=5"), r"Did you mean 'recall@5'\?$"),
        (lambda: get_metric("auc@5"), r"Did you mean 'pairwise_accuracy'\?$"),
        (lambda: get_metric("auc"), r"Did you mean 'pairwise_accuracy'\?$"),
        (lambda: get_metric("reciprocal_rank_at_3"), r"Did you mean 'mrr@3'\?$"),
        (lambda: get_metric("ndcg@five"), r"metric must be one of .*; got 'ndcg@five'\."),
        (lambda: get_metric("err@99999999999999999999"), r"metric must be .*@k; got"),
        (lambda: get_metric("ndcg@" + "9" * 5000), r"metric must be one of .*\.\.\."),
        (lambda: get_metric("ndcg@0"), r"k must be a whole number of at least 1; got 0\."),
        (lambda: get_metric("pairwise_accuracy@5"), r"k must be None for pairwise_acc.*; got 5\."),
        (lambda: RankingScorer("auc"), r"metric must be one of .*; got 'auc'\."),
        (lambda: with_convention("ndcg", "trec"), r"convention must be one of .*; got 'trec'\."),
        (lambda: with_convention("mrr", "letor4"), r"one of \['ndcg', 'map', 'p'\] .*; got 'mrr'"),
        (lambda: with_convention(max, "letor4"), r"convention='letor4'; got 'max'\."),
        (lambda: NDCG(discount="log10"), r"discount must be one of .*; got 'log10'\."),
        (lambda: NDCG(short_lists="pad"), r"short_lists must be one of .*; got 'pad'\."),
        (lambda: ERR(max_label=3000), r"max_label must be .*at most 1000; got 3000"),
        (lambda: ERR(max_label=2)([2.5], [0]), r"y must be at most max_label=2\.0; got 2\.5"),
        (lambda: ndcg_bounds([2, np.nan], [1, 0], highest=1), r"highest must .* least 2; got 1"),
        (lambda: exposure_by_group(["x"], [0.0, 1.0]), "group must have 2 entries; got 1"),
        (lambda: exposure_by_group(["x"], [1.0], discount="e"), r"discount must be one of .*'e'"),
        (lambda: METRICS["map"].prepared([1, 0], QueryGroups.from_qid([1, 1, 2])), "got 3 for 2"),
    ],
)
def test_bad_policies_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("build", [lambda: get_metric(5), lambda: NDCG(k=10)(["good"], [0])])
def test_wrong_types_are_type_errors(build):
    with pytest.raises(TypeError, match=r"must be .*; got"):
        build()


@pytest.mark.parametrize(
    "function",
    [
        lambda y, scores: 0.0,
        lambda y, scores, qid, k: 0.0,
        lambda y, *, scores, qid: 0.0,
        make_scorer(mean_squared_error, greater_is_better=False),
    ],
)
def test_a_function_of_other_arguments_is_refused_by_name(function):
    with pytest.raises(TypeError, match=r"metric must be a function of \(y, scores, qid\); got"):
        get_metric(function)


@pytest.mark.parametrize("value", [None, "high", [0.5, 0.7]])
def test_a_function_that_returns_no_number_is_named(value):
    def first(y, scores, qid):
        return value

    with pytest.raises(TypeError, match=r"metric 'first' must return one number, .*; got .*"):
        get_metric(first)([0, 1], [0.1, 0.2])


def test_a_scorer_of_several_labels_says_that_the_ranker_has_a_score():
    labels = pd.DataFrame({"clicks": [0, 1], "sales": [0, 1]})
    ranker = TreeDirectRanker("linear", metric="map").fit([[1.0], [2.0]], labels)
    message = (
        r"y must be a single label for a RankingScorer; got \['clicks', 'sales'\].*metric='map'"
    )
    with pytest.raises(ValueError, match=message):
        RankingScorer("map")(ranker, [[1.0], [2.0]], labels)
    assert 0 <= ranker.score([[1.0], [2.0]], labels) <= 1
