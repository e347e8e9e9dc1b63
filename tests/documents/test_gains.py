import warnings

import numpy as np
import pytest

from treerank import TreeDirectRanker, compare, get_metric, report
from treerank.documents.gains import is_relevant, label_gains

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
QUALITY = np.round(0.99 / (1 + np.exp(1 - X[:, 0] - RNG.normal(size=200))), 2)


@pytest.mark.filterwarnings("ignore:.* is undefined for every query")
@pytest.mark.parametrize("metric", ["map", "mrr", "p@5", "recall@3", "bpref", "success@1", "rbp"])
def test_labels_below_a_threshold_that_nobody_has_chosen_are_warned_of(metric):
    scores = X[:, 0]
    rule = r"No label reaches threshold=1, so nothing is relevant. .* write threshold=0.5, as in"
    with pytest.warns(UserWarning, match=rule):
        get_metric(metric)(QUALITY, scores, QID)
    perfect = np.where(np.arange(200) % 50 == 0, 1.0, QUALITY)
    with pytest.warns(
        UserWarning, match="Only [0-9] of .* labels above 0 reach threshold=1, so few"
    ):
        get_metric(metric)(perfect, scores, QID)
    named, _, cutoff = metric.partition("@")
    chosen = f"{named}(threshold=0.5)@{cutoff}" if cutoff else f"{named}(threshold=0.5)"
    with warnings.catch_warnings(action="error"):
        assert 0 < get_metric(chosen)(QUALITY, scores, QID) < 1


def test_a_warning_from_a_cached_property_is_placed_at_the_call_of_the_user(tmp_path):
    ranker = TreeDirectRanker("linear").fit(X, QUALITY, QID)
    y = np.where(np.arange(200) % 50 == 0, 1.0, QUALITY)
    with pytest.warns(UserWarning, match="labels above 0 reach threshold=1") as caught:
        report(ranker, X, y, QID, metrics=["map"], n_examples=1).save(tmp_path / "report.html")
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.filterwarnings("ignore:No pair of documents counts")
@pytest.mark.filterwarnings("ignore:.* is undefined for every query")
def test_comparisons_fits_and_early_stopping_warn_and_the_advice_mends_them():
    rule = "No label reaches threshold=1"
    with pytest.warns(UserWarning, match=rule):
        compare(
            {"a": TreeDirectRanker("linear")}, (X, QUALITY, QID), cv=2, metrics=["ndcg@5", "map"]
        )
    with pytest.warns(UserWarning, match=rule):
        TreeDirectRanker("lightgbm", weight="map").fit(X, QUALITY, QID)
    ranker = TreeDirectRanker("lightgbm", weight="map", metric="map", threshold=0.5)
    with warnings.catch_warnings(action="error"):
        ranker.fit(X, QUALITY, QID, eval_set=0.2)
        assert 0 < ranker.score(X, QUALITY, QID) < 1


@pytest.mark.parametrize(
    ("labels", "threshold"),
    [
        ([0.0, 1.0, 2.0, 2.0], 3.0),  # grades, of which somebody has chosen the highest
        ([0.0, 0.0, 0.0], 1.0),
        ([0.0, 0.5, 1.0, 1.0], 1.0),  # the mean of judges: most reach it
        ([0.2, 0.7, 0.9], 0.5),
        ([-0.5, -1.5], 1.0),
    ],
)
def test_other_labels_are_no_reason_to_warn(labels, threshold):
    with warnings.catch_warnings(action="error"):
        relevant = is_relevant(np.array(labels), threshold)
    assert relevant.tolist() == [float(label >= threshold) for label in labels]


def test_labels_up_to_1000_have_an_exponential_gain_and_gains_end_where_sums_would_overflow():
    assert label_gains([0, 1000])[1] == 2.0**1000 - 1
    with pytest.raises(ValueError, match=r"y must be at most 1000 for gain='exp.*; got 1000\.5"):
        label_gains([0, 1000.5])
    assert label_gains([0, 1], gain=[0, 2.0**1000])[1] == 2.0**1000
    with pytest.raises(ValueError, match=r"y must have gains below 1\.07e\+301; got 2\.1"):
        label_gains([0, 1], gain=[0, 2.0**1001])
