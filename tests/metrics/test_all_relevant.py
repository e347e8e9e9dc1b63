"""Metrics of all relevant documents, also those that are not among the rows."""

import math
import pickle
import re
import warnings
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from worker_fits import assert_same, fit_in_threads, frame_of

from treerank import (
    HistogramTrees,
    QueryKFold,
    TreeDirectRanker,
    compare,
    compare_scores,
    load,
    report,
)
from treerank.documents.queries import QueryGroups
from treerank.inspection import permutation_importance
from treerank.metrics import NDCG, AveragePrecision, Recall, ReciprocalRank, get_metric
from treerank.rankers import ColumnRanker, NestedRanker, refresh

KINDS = {
    "text": lambda n: f"user {n}",
    "numbers that are no codes": lambda n: 1000 - 7 * n,
    "floats": lambda n: n + 0.5,
    "tuples": lambda n: (f"user {n % 3}", n // 3),
    "dates": lambda n: date(2026, 1, 1 + n),
}


def by_hand(metric, y, scores, qid, n_relevant, k):
    """Return a metric at k by query, of untied scores, as a plain program computes it.

    Each relevant document that is not among the rows becomes one of label 1, ranked last.
    """
    values = {}
    for query in sorted({*qid}):
        rows = [row for row in range(len(qid)) if qid[row] == query and not np.isnan(y[row])]
        labels = [y[row] for row in sorted(rows, key=lambda row: -scores[row])]
        n_missed = n_relevant[query] - sum(label >= 1 for label in labels)
        labels += [0.0] * (k - len(labels)) + [1.0] * n_missed
        defined = n_relevant[query] and rows
        values[query] = VALUES[metric](labels, k) if defined else np.nan
    return [*values.values()]


def dcg(labels):
    """Return the discounted cumulative gain of labels in the order of the ranking."""
    return sum((2**label - 1) / math.log2(i + 2) for i, label in enumerate(labels))


def average_precision(labels, k):
    """Return the precision at the relevant documents within k, over all relevant ones."""
    hits = [i for i, label in enumerate(labels) if label >= 1]
    return sum((n + 1) / (i + 1) for n, i in enumerate(hits) if i < k) / len(hits)


VALUES = {
    Recall: lambda labels, k: sum(v >= 1 for v in labels[:k]) / sum(v >= 1 for v in labels),
    NDCG: lambda labels, k: dcg(labels[:k]) / dcg(sorted(labels, reverse=True)[:k]),
    AveragePrecision: average_precision,
    ReciprocalRank: lambda labels, k: next((1 / (i + 1) for i in range(k) if labels[i] >= 1), 0),
}


def purchases(kind, n_queries=12, seed=0):
    """Return documents of which some queries have no relevant one, and the numbers there are."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(np.repeat(np.arange(n_queries), 9))
    X = rng.normal(size=(len(number), 3))
    y = ((X[:, 0] + rng.normal(size=len(number)) > 1) & (number % 4 != 3)).astype(float)
    ids = [KINDS[kind](n) for n in number.tolist()]
    n_relevant = {
        KINDS[kind](n): int(y[number == n].sum()) + (n % 4 == 3) + n % 2 for n in range(n_queries)
    }
    return X, y, ids, n_relevant


@pytest.mark.filterwarnings("ignore:Of the first")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("judged", [1.0, 0.6])
@pytest.mark.parametrize("of_class", VALUES)
def test_a_metric_of_all_relevant_documents_is_that_of_a_plain_program(of_class, kind, judged):
    X, y, qid, n_relevant = purchases(kind)
    y[np.random.default_rng(1).random(len(y)) > judged] = np.nan
    if of_class is NDCG:
        y[y == 1] = np.random.default_rng(2).integers(1, 4, int(np.sum(y == 1)))
    metric, scores = of_class(3, n_relevant=n_relevant), X[:, 1]
    expected = by_hand(of_class, y, scores, qid, n_relevant, 3)
    np.testing.assert_allclose(metric.per_query(y, scores, qid), expected, rtol=1e-14)
    assert metric(y, scores, qid) == pytest.approx(np.nanmean(expected), rel=1e-14)
    assert 0 in expected  # a query without a relevant row counts 0, and is not left out
    (outcome,) = compare_scores({"a": scores}, y, qid, metrics=[metric]).outcomes.values()
    np.testing.assert_array_equal(outcome.values[metric.name], metric.per_query(y, scores, qid))


@pytest.mark.filterwarnings("ignore:12 of 12 queries of eval_set")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_class", [Recall, NDCG])
def test_every_tool_looks_up_the_ids_of_the_user(of_class, kind):
    X, y, qid, n_relevant = purchases(kind)
    metric = of_class(3, n_relevant=n_relevant)
    ranker = TreeDirectRanker(HistogramTrees(5), metric=metric, random_state=0)
    ranker.fit(X, y, qid, eval_set=(X, y, qid))
    scores = ranker.predict(X)  # some are tied
    expected = metric.per_query(y, scores, qid)
    if of_class is Recall:
        np.testing.assert_allclose(expected, by_hand(Recall, y, scores, qid, n_relevant, 3))
    assert ranker.score(X, y, qid) == pytest.approx(np.nanmean(expected), rel=1e-12)
    curve = ranker.evals_result_["validation"][metric.name]
    assert max(curve) == pytest.approx(np.nanmean(expected), rel=1e-12)  # the best is kept

    drops = permutation_importance(ranker, X, y, qid, n_repeats=1).drops
    assert drops.shape == (3, 12)
    assert f"{np.nanmean(expected):.4f}" in report(ranker, X, y, qid, metrics=[metric]).html

    comparison = compare({"a": ColumnRanker(0)}, (X, y, qid), cv=3, metrics=[metric])
    values = np.concatenate([o.values[metric.name] for o in comparison.outcomes.values()])
    assert sorted(values[~np.isnan(values)]) == pytest.approx(
        sorted(v for v in by_hand(of_class, y, X[:, 0], qid, n_relevant, 3) if not np.isnan(v))
    )


def test_ids_are_known_to_a_share_that_is_held_out_and_to_cross_validation():
    X, y, qid, n_relevant = purchases("numbers that are no codes", 30)
    metric = Recall(3, n_relevant=n_relevant)
    ranker = TreeDirectRanker(HistogramTrees(3), metric=metric, random_state=0)
    ranker.fit(X, y, qid, eval_set=0.4)
    assert 0 < max(ranker.evals_result_["validation"][metric.name]) < 1
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(ranker, X, y, cv=QueryKFold(3), params={"qid": np.array(qid)})
    assert np.all((scores > 0) & (scores < 1))


def test_a_query_of_which_nobody_has_judged_a_document_is_left_out_with_a_warning():
    metric = Recall(2, n_relevant={"a": 1, "b": 2, "c": 0, "d": 1})
    y, qid = [1, np.nan, np.nan, np.nan, 0], ["a", "b", "b", "c", "d"]
    with pytest.warns(UserWarning, match="1 of 4 queries are excluded from recall, since their d"):
        values = metric.per_query(y, np.arange(5.0), qid)
    np.testing.assert_array_equal(values, [1, np.nan, np.nan, 0])
    assert metric(np.nan_to_num(y), np.arange(5.0), qid) == pytest.approx(1 / 3)


@pytest.mark.parametrize("no_relevant", [0.0, 0.5])
def test_a_query_without_judgments_does_not_count_as_one_without_relevant_documents(no_relevant):
    counts, y, qid = {"a": 1, "b": 2, "c": 0}, [1, np.nan, 0], ["a", "b", "c"]
    metric = Recall(2, n_relevant=counts, no_relevant=no_relevant)
    with pytest.warns(UserWarning, match="1 of 3 queries are excluded from recall, since their d"):
        values = metric.per_query(y, np.arange(3.0), qid)
    np.testing.assert_array_equal(values, [1, np.nan, no_relevant])
    with warnings.catch_warnings():  # as the warning would advise
        warnings.simplefilter("error")
        values = metric.per_query(np.nan_to_num(y), np.arange(3.0), qid)
    np.testing.assert_array_equal(values, [1, 0, no_relevant])


@pytest.mark.parametrize(
    "counts", [[("a", 4), ("b", 1), ("a", 7)], pd.Series([4, 1, 7], index=["a", "b", "a"])]
)
def test_a_query_that_is_counted_twice_is_refused(counts):
    with pytest.raises(ValueError, match=r"with one entry for each; got 2 for 'a'\."):
        Recall(2, n_relevant=counts)


@pytest.mark.parametrize("n_sets", [1, 2])
def test_stages_know_the_ids_of_evaluation_sets(n_sets):
    X, y, qid, n_relevant = purchases("tuples", 30)
    sets = [purchases("text", 10, seed)[:3] for seed in (1, 2)][:n_sets]
    for _, labels, ids in sets:
        found = {
            query: sum(v for v, q in zip(labels, ids, strict=True) if q == query) for query in ids
        }
        n_relevant |= {query: max(int(n), n_relevant.get(query, 1)) for query, n in found.items()}
    metric = Recall(3, n_relevant=n_relevant)
    inner = TreeDirectRanker(HistogramTrees(3), metric=metric, random_state=0)
    ranker = NestedRanker(inner, sizes=(5,), random_state=0).fit(X, y, qid, eval_set=sets)
    assert len(ranker.rankers_) == 2
    for part, (features, labels, ids) in zip(ranker.evals_result_, sets, strict=True):
        (curve,) = ranker.evals_result_[part].values()
        assert curve[-1] == pytest.approx(metric(labels, ranker.predict(features), ids))


def test_a_series_with_an_index_of_several_levels_is_a_mapping():
    frame = pd.DataFrame({"user": ["a", "a", "b"], "week": [1, 2, 1], "n": [3, 1, 2]})
    metric = Recall(n_relevant=frame.set_index(["user", "week"])["n"])
    assert metric.n_relevant == {("a", 1): 3, ("a", 2): 1, ("b", 1): 2}
    qid = pd.MultiIndex.from_frame(frame[["user", "week"]])
    np.testing.assert_allclose(metric.per_query([1, 1, 0], [1.0, 2, 3], qid), [1 / 3, 1, 0])


@pytest.mark.parametrize("dtype", [float, np.float32, "Float64"])
def test_whole_numbers_may_be_floats(dtype):
    counts = pd.Series({"a": 4, "b": 1}, dtype=dtype)  # as sums of a column of floats are
    assert Recall(n_relevant=counts) == Recall(n_relevant={"a": 4, "b": 1})


def test_numbers_in_place_of_ids_are_never_taken_for_ids():
    # Ids 1 and 0 are numbers of queries, too: in ascending order they are 0 and 1.
    metric = Recall(n_relevant={"b": 4, "a": 1, 0: 9, 1: 9})
    np.testing.assert_array_equal(metric.per_query([1, 1], [1.0, 2.0], ["b", "a"]), [1, 0.25])
    codes = QueryGroups.from_codes(np.array([0, 1]))
    with pytest.raises(ValueError, match="n_relevant must be None where the ids of queries"):
        metric.per_query([1, 1], [1.0, 2.0], codes)
    with pytest.raises(ValueError, match="n_relevant must be None where the ids of queries"):
        metric([1, 1], [1.0, 2.0])
    mixed = np.array(["a", "b", 0, 1], dtype=object).repeat(2), np.tile([1.0, 0], 4)
    with pytest.raises(TypeError, match="qid must be all text, all numbers"):
        compare({"a": ColumnRanker(0)}, (np.eye(8), mixed[1], mixed[0]), metrics=[metric], cv=2)


@pytest.mark.parametrize(
    ("n_relevant", "message"),
    [
        ({"a": 1}, "n_relevant must have an entry for each query of qid; got none for 'b'"),
        (
            {"a": 1, "b": 0},
            "n_relevant must count all relevant documents .* got 0 for query 'b', which has 1. "
            r"Is a document there twice\?$",
        ),
        ({"a": -1, "b": 1}, "a whole number of at least 0; got -1 for 'a'"),
        ({"a": 1.5, "b": 1}, r"a whole number of at least 0; got 1\.5 for 'a'"),
        ({"a": np.nan, "b": 1}, "a whole number of at least 0; got nan for 'a'"),
        ({}, "n_relevant must be a mapping from query id"),
        (7, "n_relevant must be a mapping from query id"),
        ("20 queries", "A metric's name cannot hold it"),
    ],
)
def test_wrong_numbers_of_relevant_documents_are_named(n_relevant, message):
    with pytest.raises(ValueError, match=message) as caught:
        Recall(n_relevant=n_relevant)([1, 1], [1.0, 2.0], ["a", "b"])
    assert ("name cannot hold" in str(caught.value)) is isinstance(n_relevant, str)


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_of_relevant_documents_in_a_data_frame_are_refused_with_what_to_write(frame_of):
    frame = frame_of({"query": ["a", "b"], "n_relevant": [4, 1]})
    message = r"must be a mapping from query id .* Of a data frame, write (.*)\.$"
    with pytest.raises(ValueError, match=message) as caught:
        Recall(10, n_relevant=frame)
    code = re.search(message, str(caught.value))[1]
    n_relevant = eval(code, {"np": np, "frame": frame})
    assert Recall(10, n_relevant=n_relevant) == Recall(10, n_relevant={"a": 4, "b": 1})


@pytest.mark.parametrize("of_class", VALUES)
def test_the_metric_can_be_cloned_saved_and_named(of_class, tmp_path):
    n_relevant = {("a", 1): 2, ("b", 1): 3, 7: 1, "c": 0, 2.5: 1, ("d", 2): 4}
    metric = of_class(5, n_relevant=n_relevant)
    assert metric.name == f"{of_class.stem}_of_all@5"
    assert "6 queries, 11 relevant" in repr(metric)
    assert repr(metric) != repr(of_class(5, n_relevant=n_relevant | {"c": 1, 7: 0}))
    assert metric == pickle.loads(pickle.dumps(metric))
    assert hash(metric) == hash(pickle.loads(pickle.dumps(metric)))
    with pytest.raises(ValueError, match="A metric's name cannot hold"):
        get_metric(metric.name)
    ranker = TreeDirectRanker("linear", metric=metric)
    assert clone(ranker).metric == metric
    ranker.fit(np.eye(4), [1, 0, 1, 0], [0, 0, 1, 1]).save(tmp_path / "model")
    assert load(tmp_path / "model").metric == metric


@pytest.mark.filterwarnings("ignore:12 of 12 queries")
@pytest.mark.parametrize("kind", ["text", "numbers that are no codes"])
@pytest.mark.parametrize("n_workers", [2, 3])
def test_several_workers_measure_as_one(kind, n_workers):
    X, y, qid, n_relevant = purchases(kind)
    ranker = TreeDirectRanker(
        HistogramTrees(6, n_jobs=1), metric=Recall(3, n_relevant=n_relevant), random_state=0
    )
    held_out = X + 0.5, y, np.array(qid)
    several = assert_same(ranker, n_workers, X, y, np.array(qid), held_out)
    scores = several.predict(pd.DataFrame(held_out[0], columns=["f0", "f1", "f2"]))
    curve = several.evals_result_["validation"][ranker.metric.name]
    assert max(curve) == pytest.approx(ranker.metric(y, scores, qid), rel=1e-12)
    incomplete = {query: n for query, n in n_relevant.items() if query != qid[0]}
    lacking = clone(ranker).set_params(metric=Recall(3, n_relevant=incomplete))
    with pytest.raises(ValueError, match="n_relevant must have an entry for each query of qid"):
        fit_in_threads(lacking, n_workers, frame_of(X, y, np.array(qid)), frame_of(*held_out))


@pytest.mark.filterwarnings("ignore:12 of 12 queries")
@pytest.mark.parametrize("kind", ["text", "tuples", "dates"])
def test_stages_and_refreshed_rankers_look_up_the_ids(kind, tmp_path):
    X, y, qid, n_relevant = purchases(kind)
    metric = Recall(3, n_relevant=n_relevant)
    part = HistogramTrees(5, n_jobs=1)
    nested = NestedRanker(TreeDirectRanker(part, metric=metric), sizes=(4,), random_state=0)
    nested.fit(X, y, qid, eval_set=(X, y, qid))
    expected = metric(y, nested.predict(X), qid)
    assert nested.score(X, y, qid) == pytest.approx(expected, rel=1e-12)
    (curve,) = nested.evals_result_["validation"].values()
    assert curve[-1] == pytest.approx(expected, rel=1e-12)
    nested.save(tmp_path / "nested")
    loaded = load(tmp_path / "nested")
    assert loaded.score(X, y, qid) == pytest.approx(expected, rel=1e-12)

    ranker = TreeDirectRanker(part, metric=metric, random_state=0).fit(X, y, qid)
    refreshed = refresh(ranker, X[::-1], y[::-1], qid[::-1])
    expected = metric(y, refreshed.ranker.predict(X), qid)
    assert refreshed.ranker.score(X, y, qid) == pytest.approx(expected, rel=1e-12)
    unknown = [*qid[:-1], "another" if kind == "text" else KINDS[kind](20)]
    with pytest.raises(ValueError, match="n_relevant must have an entry for each query of qid"):
        refresh(ranker, X, y, unknown)


@pytest.mark.parametrize("kind", ["text", "tuples"])
def test_fitted_models_and_scores_are_compared_by_all_that_is_relevant(kind):
    X, y, qid, n_relevant = purchases(kind)
    metric = Recall(3, n_relevant=n_relevant)
    models = {
        name: TreeDirectRanker(HistogramTrees(n, n_jobs=1), random_state=0).fit(X[:54], y[:54])
        for name, n in (("few", 1), ("more", 8))
    }
    comparison = compare(models, (X, y, qid), metrics=[metric])
    for (name, _), outcome in comparison.outcomes.items():
        expected = metric.per_query(y, models[name].predict(X), qid)
        np.testing.assert_allclose(np.sort(outcome.values[metric.name]), np.sort(expected))


def test_a_tie_and_a_gain_of_ones_own_share_the_ideal_of_all_purchases():
    # One of two tied rows is bought, and two more were not retrieved: DCG is the mean of both.
    of_all = NDCG(2, n_relevant={"ann": 3})
    dcg_of_tie = (1 + 1 / math.log2(3)) / 2
    expected = dcg_of_tie / (1 + 1 / math.log2(3))
    np.testing.assert_allclose(of_all.per_query([1, 0], [0.0, 0.0], ["ann"] * 2), [expected])
    # A missed purchase gains 5, as label 1 does, and comes after the found one, which gains 7.
    of_all = NDCG(n_relevant={"ann": 2}, gain=[0, 5, 7])
    expected = 7 / math.log2(3) / (7 + 5 / math.log2(3))
    np.testing.assert_allclose(of_all.per_query([0, 2], [1.0, 0.0], ["ann"] * 2), [expected])
    few = NDCG(3, n_relevant={"ann": 3}, short_lists="zero")
    np.testing.assert_array_equal(few.per_query([1, 0], [1.0, 0.0], ["ann"] * 2), [0])


def test_a_gain_of_0_for_label_1_cannot_count_missed_purchases():
    for gain in ([0.0], [0, 0, 1]):
        with pytest.raises(ValueError, match=r"gain must be positive for label 1 with n_relevant"):
            NDCG(n_relevant={"ann": 3}, gain=gain)


def test_the_ideal_without_missed_documents_has_the_same_bits():
    X, y, qid, _ = purchases("text", 60)
    found = pd.Series(y).groupby(qid).sum().astype(int)
    plain, of_all = (
        NDCG(5, n_relevant=counts).per_query(y, X[:, 1], qid) for counts in (None, found)
    )
    np.testing.assert_array_equal(plain, of_all)
