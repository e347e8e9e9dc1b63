import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treerank import NDCG, compare_scores, get_metric
from treerank.metrics import Recall
from treerank.statistics import randomization_interval, randomization_test

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(40), 5)
Y = RNG.integers(3, size=200).astype(float)
Y[QID == 39] = 0.0
MISSING = np.array([2.0, np.nan, 1.0])
MISSING.flags.writeable = False
SCORES = {"old": RNG.normal(size=200), "new": Y + RNG.normal(scale=2.0, size=200)}


def test_scores_are_compared_over_queries():
    order = RNG.permutation(200)
    shuffled = {name: scores[order].tolist() for name, scores in SCORES.items()}
    names = np.array([f"q{query:02d}" for query in QID])[order]
    comparison = compare_scores(shuffled, Y[order], names, metrics=["ndcg@3", NDCG(gain="linear")])
    assert comparison.metrics == ("ndcg@3", "ndcg(gain='linear')")
    values = [get_metric("ndcg@3").per_query(Y, scores, QID) for scores in SCORES.values()]
    np.testing.assert_allclose(comparison.by_query("ndcg@3").T, values)
    found = comparison.difference("ndcg@3", "old", "new")
    assert found.n_queries == 39
    expected = randomization_interval(*comparison.by_query("ndcg@3").T)
    assert found.interval == expected
    p_value = comparison.test("ndcg@3", "old", "new").p_value
    assert p_value == randomization_test(*comparison.by_query("ndcg@3").T).p_value
    assert (found.interval.high < 0) == (p_value <= 0.05)
    text = str(comparison.summary())
    assert "fit (s)" not in text
    assert "One test set, 40 queries; ± is the standard error over queries." in text
    assert "fitted" not in text


@pytest.mark.parametrize("weights", [None, {"b": 3.0}, {"a": 0.0}])
def test_several_labels_have_the_mean_that_rankers_score(weights):
    labels = {"a": Y, "b": np.where(QID < 10, np.nan, RNG.integers(2, size=200))}
    comparison = compare_scores(SCORES, labels, QID, metrics=["map"], label_weights=weights)
    assert comparison.metrics == ("map", "map of a", "map of b")
    weight = [(weights or {}).get(label, 1.0) for label in labels]
    for column, scores in enumerate(SCORES.values()):
        means = [get_metric("map")(label, scores, QID) for label in labels.values()]
        found = comparison.by_split("map")[0, column]
        assert found == pytest.approx(np.average(means, weights=weight))
        by_label = [comparison.by_split(f"map of {label}")[0, column] for label in labels]
        assert by_label == pytest.approx(means)
    table = compare_scores(SCORES, np.column_stack([*labels.values()]), QID, metrics=["map"])
    assert table.metrics == ("map", "map of 0", "map of 1")


def test_equal_scores_differ_by_0():
    comparison = compare_scores({"a": SCORES["old"], "b": 2 * SCORES["old"]}, Y, QID)
    assert "b - a by map: 0.0000 (95 %: 0.0000 to 0.0000) over 39 queries, not significant." in str(
        comparison
    )
    constant = compare_scores({"none": np.zeros(200), "new": SCORES["new"]}, Y, QID)
    assert constant.difference("map", "new", "none").interval.low > 0


def test_an_interval_is_never_beside_a_p_value_that_contradicts_it():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scores = {"a": Y + rng.normal(scale=3.0, size=200), "b": Y + rng.normal(3.0, 3.0, 200)}
        n = 40 if seed % 2 else 8
        few = QID < n
        scores = {name: column[few] for name, column in scores.items()}
        comparison = compare_scores(scores, Y[few], QID[few], metrics=["ndcg@3"])
        interval = comparison.difference("ndcg@3", "a", "b").interval
        p_value = comparison.test("ndcg@3", "a", "b").p_value
        assert (interval.low > 0 or interval.high < 0) == (p_value <= 0.05)


@pytest.mark.parametrize(
    ("scores", "y", "qid", "message"),
    [
        ({}, Y, QID, "scores must name some, such as {'old': old, 'new': new}; got none"),
        ([1, 2], Y, QID, "scores must be a dict"),
        ({"a": SCORES["old"][1:]}, Y, QID, r"scores\['a'\] must have"),
        (
            {"a": np.full(200, np.nan)},
            Y,
            QID,
            r"scores\['a'\] must be finite; got nan in row 0\. If the .*np\.nanmin\(scores\) - 1, ",
        ),
        ({1: SCORES["old"]}, Y, QID, "scores must be a dict like {.name"),
        (SCORES, Y[1:], QID, r"scores\['old'\] must"),
        (SCORES, Y, QID[1:], "qid must"),
        (SCORES, {"a": Y, "b": Y[1:]}, QID, r"y\['b'\] must"),
    ],
)
def test_wrong_arguments_are_named(scores, y, qid, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compare_scores(scores, y, qid)


@pytest.mark.parametrize(
    "scores",
    [
        MISSING,
        MISSING.tolist(),
        [2.0, None, 1.0],
        pd.Series(MISSING, index=[7, 7, 9]),
        pd.Series([2, None, 1], dtype="Int64"),
        pl.Series([2, None, 1]),
        pa.table({"bm25": MISSING})["bm25"],
    ],
)
def test_the_advice_on_missing_scores_works_for_any_column(scores):
    y, qid = [1, 0, 0], [7, 7, 7]
    with pytest.raises(ValueError, match=r"got nan in row 1\. If the score") as caught:
        compare_scores({"bm25": scores}, y, qid)
    code = str(caught.value).partition("below all others, ")[2].partition(", or let compare")[0]
    names = {"np": np, "scores": scores}
    exec(code, names)
    np.testing.assert_array_equal(names["scores"], [2, 0, 1])
    compare_scores({"bm25": names["scores"]}, y, qid)


def test_unjudged_documents_are_warned_of():
    with pytest.warns(
        UserWarning, match="Of the first 10 documents of judged queries, .* are judged"
    ):
        compare_scores(SCORES, np.where(np.arange(len(Y)) % 2, np.nan, Y), QID)
    compare_scores(SCORES, np.where(QID % 2, np.nan, Y), QID)  # without whole queries: no warning
    with pytest.raises(ValueError, match="metrics must have different names; got 'map' twice"):
        compare_scores(SCORES, Y, QID, metrics=["map", "map"])


def test_ids_of_several_types_stay_what_they_are():
    numbered = [f"q{query:02d}" if query % 2 else int(query) for query in QID]
    swapped = [int(query) if query % 2 else f"q{query:02d}" for query in QID]
    expected = np.sort(compare_scores(SCORES, Y, QID).by_query("map"), axis=0)
    for ids in (numbered, np.array(numbered, dtype=object), swapped):
        found = compare_scores(SCORES, Y, ids).by_query("map")
        np.testing.assert_array_equal(np.sort(found, axis=0), expected)
        metric = Recall(3, n_relevant=dict.fromkeys(ids, 5))
        with pytest.raises(TypeError, match="qid must be all text, all numbers or all tuples for"):
            compare_scores(SCORES, Y, ids, metrics=[metric])
    # 7 and "7" are two queries.
    alike = ["7" if query == 1 else 7 if query == 0 else int(query) + 100 for query in QID]
    with pytest.raises(ValueError, match="qid must be ids that differ as text"):
        compare_scores(SCORES, Y, alike)
    found = compare_scores(SCORES, Y, np.array(alike, dtype=object)).by_query("map")
    np.testing.assert_array_equal(np.sort(found, axis=0), expected)


def test_columns_over_different_queries_say_how_many_each_has():
    y, qid = [1, 0, 0, 0, 0, 0], ["a", "a", "b", "b", "c", "c"]
    of_all = Recall(1, n_relevant={"a": 1, "b": 2, "c": 0})
    scores = {"old": np.arange(6.0), "new": -np.arange(6.0)}
    text = str(compare_scores(scores, y, qid, metrics=["ndcg@10", of_all]))
    assert (
        "One test set, 3 queries, of which 1 by ndcg@10 and 2 by recall_of_all@1 have a defined "
        "metric; ±" in text
    )
    same = str(compare_scores(scores, y, qid, metrics=["ndcg@10", "map"]))
    assert "One test set, 3 queries, of which 1 have a defined metric; ±" in same
    one = str(compare_scores(scores, y, [0] * 6, metrics="map"))
    assert "One test set, 1 query; ±" in one
    some = [1, 0, 0, 0, np.nan, np.nan]
    text = str(compare_scores(scores, some, qid, metrics="ndcg@10"))
    assert "3 queries, of which 2 are judged, and 1 have a defined metric; ±" in text
    text = str(compare_scores(scores, {"a": y, "b": some}, qid, metrics="ndcg@10"))
    assert "judged" not in text


@pytest.mark.parametrize(("n", "is_warned"), [(999, False), (1000, True)])
def test_scores_of_many_documents_without_queries_are_warned_of(n, is_warned):
    scores = {"old": np.arange(n) + 0.0, "new": -np.arange(n) + 0.0}
    with warnings.catch_warnings(record=True, action="always") as caught:
        compare_scores(scores, np.arange(n) % 2, metrics=["map"])
    texts = " ".join(str(warning.message) for warning in caught)
    assert (f"all {n} documents are treated as one query" in texts) is is_warned
