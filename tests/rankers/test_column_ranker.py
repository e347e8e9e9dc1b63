import warnings
from runpy import run_path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from treerank import NDCG, TreeDirectRanker, compare, export, load, read_runs, report
from treerank.documents.columns import Columns
from treerank.documents.reading import Accepts
from treerank.documents.rows import Rows
from treerank.exports import formats_for
from treerank.exports.exporting import refuse_format
from treerank.rankers import ColumnRanker, ForestRanker
from treerank.rankers.column_ranker import score_below

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "bm25": RNG.normal(size=240),
        "price": RNG.lognormal(size=240),
        "brand": RNG.choice(["a", "b"], size=240),
    }
)
FRAME.loc[::7, "bm25"] = np.nan
Y, QID = RNG.integers(0, 3, size=240), np.repeat(np.arange(24), 10)


def test_predictions_are_the_column_and_missing_values_come_last():
    ranker = ColumnRanker("bm25").fit(FRAME, Y, QID)
    scores, values = ranker.predict(FRAME), FRAME["bm25"].to_numpy()
    present = ~np.isnan(values)
    np.testing.assert_array_equal(scores[present], values[present])
    low, high = values[present].min(), values[present].max()
    assert set(scores[~present]) == {low - (high - low)}
    assert ranker.score(FRAME, Y, QID) == NDCG(10)(Y, scores, QID)
    # By its name, wherever it stands; and the negative where smaller is better.
    others = FRAME[["brand", "price", "bm25"]]
    np.testing.assert_array_equal(ranker.predict(others), scores)
    np.testing.assert_array_equal(ranker.predict(pl.from_pandas(others)), scores)
    cheap = ColumnRanker("price", smaller_is_better=True).fit(FRAME, Y, QID)
    np.testing.assert_array_equal(cheap.predict(FRAME), -FRAME["price"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_other_columns_of_a_frame_may_hold_anything(kind):
    n = len(FRAME)
    frame = FRAME.assign(
        passage_id=[f"p{row:05d}" for row in range(300, 300 + n)],
        text=[f"the passage of row {row}" for row in range(n)],
        updated=pd.date_range("2026-01-01", periods=n),
        embedding=[[0.5, float(row)] for row in range(n)],
        quality=Y,
        question=QID,
    )
    frame = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas}.get(kind, lambda f: f)(frame)
    expected = ColumnRanker("bm25").fit(FRAME, Y, QID).predict(FRAME)
    with warnings.catch_warnings(action="error"):
        for ranker in (
            ColumnRanker("bm25").fit(frame, Y, QID),
            ColumnRanker("bm25").fit(frame, "quality", "question", eval_set=(frame, Y, QID)),
        ):
            np.testing.assert_array_equal(ranker.predict(frame), expected)
            assert [*ranker.feature_names_in_] == ["bm25"]
        entry = ColumnRanker("embedding_1").fit(frame, Y, QID)
    np.testing.assert_array_equal(entry.predict(frame), np.arange(n))
    comparison = compare(
        {"bm25": ColumnRanker("bm25"), "entry": entry}, (frame, Y, QID), metrics="ndcg@10"
    )
    values = NDCG(10).per_query(Y, expected, QID)
    np.testing.assert_array_equal(comparison.by_query("ndcg@10")[:, 0], values[~np.isnan(values)])
    with pytest.raises(ValueError, match=r"column must be one of .*; got 'question'"):
        ColumnRanker("question").fit(frame, "quality", "question")


def test_arrays_have_numbers_of_columns_also_sparse_ones():
    X = RNG.integers(0, 3, size=(240, 4)).astype(float)
    ranker = ColumnRanker(2).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), X[:, 2])
    np.testing.assert_array_equal(ranker.predict(csr_matrix(X)), X[:, 2])
    again = ColumnRanker(2).fit(csr_matrix(X), Y, QID)
    np.testing.assert_array_equal(again.predict(X), X[:, 2])


@pytest.mark.parametrize(
    ("values", "missing"), [(np.full(240, np.nan), -1.0), (np.full(240, 7.0), 6.0)]
)
def test_a_column_of_one_value_gives_finite_scores(values, missing):
    with_missing = np.where(np.arange(240) == 3, np.nan, values)
    ranker = ColumnRanker(0).fit(values[:, None], Y, QID)
    scores = ranker.predict(with_missing[:, None])
    assert (ranker.missing_score_, scores[3]) == (missing, missing)
    assert np.isfinite(scores).all()
    assert scores.argmin() == (3 if values[0] == 7 else 0)


def test_a_saved_ranker_and_a_report_have_its_scores(tmp_path):
    ranker = ColumnRanker("price", smaller_is_better=True, metric="map")
    train, test = QID < 16, QID >= 16
    ranker.fit(FRAME[train], Y[train], QID[train], eval_set=(FRAME[test], Y[test], QID[test]))
    ranker.save(tmp_path / "price.treerank")
    loaded = load(tmp_path / "price.treerank")
    np.testing.assert_array_equal(loaded.predict(FRAME), ranker.predict(FRAME))
    assert loaded.get_params() == ranker.get_params()
    page = report(loaded, FRAME[test], Y[test], QID[test])
    assert "price" in page.html


def test_comparisons_take_it_beside_what_learns():
    queries = [str(q) for q in range(40)]
    truth = {q: {str(d): int(RNG.integers(0, 2)) for d in range(12)} for q in queries}
    runs = {
        name: {
            q: {d: y * skill + RNG.normal() for d, y in labels.items()}
            for q, labels in truth.items()
        }
        for name, skill in {"bm25": 0.5, "dense": 1.0}.items()
    }
    data = read_runs(runs, truth)
    rankers = {
        "RRF": ColumnRanker("rrf"),
        "BM25": ColumnRanker("bm25"),
        "linear": TreeDirectRanker("linear"),
    }
    comparison = compare(rankers, data, cv=2, metrics=["ndcg@10"])
    scores = np.array(data.X["bm25"].to_pylist())
    expected = NDCG(10).per_query(data.y, scores, data.qid)
    np.testing.assert_array_equal(comparison.by_query("ndcg@10")[:, 1], expected)


@pytest.mark.parametrize(
    ("column", "X", "message"),
    [
        ("bm26", FRAME, r"column must be one of \['bm25', .*; got 'bm26'. Did you mean 'bm25'"),
        ("bm25", FRAME[["price"]].to_numpy(), "column must be a column number if X has no"),
        ("x" * 1000, FRAME[["price"]].to_numpy(), r"column must be .*; got 'x{198}\.\.\.\.$"),
        (3, FRAME, "column must be below 3, the number of columns; got 3"),
        (-1, FRAME, "column must be a whole number of at least 0; got -1"),
        (1.0, FRAME, "column must be the name of a column or its number from 0; got 1.0"),
        ("brand", FRAME, "column must hold numbers; 'brand' holds categories"),
    ],
)
def test_a_wrong_column_is_named(column, X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ColumnRanker(column).fit(X, Y, QID)


def test_it_is_a_baseline_of_several_labels_too():
    X, labels = FRAME[["price"]], {"relevance": Y, "margin": np.where(Y > 1, np.nan, Y + 1.0)}
    rankers = {"price": ColumnRanker("price"), "linear": TreeDirectRanker("linear")}
    comparison = compare(rankers, (X, labels, QID), cv=2, metrics=["ndcg@10"])
    assert comparison.metrics == ("ndcg@10", "ndcg@10 of relevance", "ndcg@10 of margin")
    expected = NDCG(10).per_query(labels["margin"], X["price"], QID)
    found = comparison.by_query("ndcg@10 of margin")[:, 0]
    np.testing.assert_array_equal(found, expected[~np.isnan(expected)])


def test_documents_without_weight_do_not_decide_where_missing_values_come():
    X, kept = FRAME[["bm25"]].to_numpy(copy=True), QID > 3
    X[1] = -1e6
    ranker = ColumnRanker(0).fit(X, Y, QID, sample_weight=kept.astype(float))
    assert ranker.missing_score_ == ColumnRanker(0).fit(X[kept], Y[kept], QID[kept]).missing_score_


@pytest.mark.parametrize("smaller_is_better", [False, True])
def test_exports_have_its_scores_to_the_last_bit(smaller_is_better, tmp_path):
    ranker = ColumnRanker("bm25", smaller_is_better=smaller_is_better).fit(FRAME, Y, QID)
    formats = ["c", "javascript", "json", "onnx", "python", "sql", "vespa-expression"]
    assert formats_for(ranker) == formats_for(ColumnRanker("bm25"), FRAME) == formats
    assert formats_for(ColumnRanker("bm25")) == formats_for(ColumnRanker(3)) == formats
    edges = [0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, np.nan]
    frame = pd.DataFrame({"bm25": [*FRAME["bm25"], *edges]})
    scores = ranker.predict(frame)
    np.testing.assert_array_equal(ranker.components().scores(frame.to_numpy()), scores)
    np.testing.assert_array_equal(
        [ranker.scorer()(frame[i : i + 1]) for i in range(len(frame))], scores[:, None]
    )
    for format in ("python", "javascript", "sql"):
        report = export(ranker, tmp_path / format, format=format, check=frame)
        assert report.largest_difference == 0
        assert report.n_changed_pairs == 0
    model = run_path(str(tmp_path / "python"))
    written = [model["score"]({"bm25": value}) for value in frame["bm25"]]
    np.testing.assert_array_equal(written, scores)


def test_what_a_format_cannot_hold_is_refused_with_another_way(tmp_path):
    ranker = ColumnRanker("bm25").fit(FRAME, Y, QID)
    with pytest.raises(
        ValueError, match="To rank by column 'bm25' there, sort by the field itself"
    ):
        export(ranker, tmp_path / "model.json", format="solr", check=FRAME)
    with pytest.raises(ValueError, match="sort by the field itself"):
        refuse_format(ColumnRanker("bm25"), "opensearch", FRAME)
    with pytest.raises(ValueError, match="column must be one of"):
        formats_for(ColumnRanker("bm52"), FRAME)
    assert formats_for(ColumnRanker("brand"), FRAME) == []


def test_explanations_are_exact():
    ranker = ColumnRanker("bm25").fit(FRAME, Y, QID)
    explained = ranker.explain(FRAME[:7], FRAME[7:14])
    margins = ranker.predict(FRAME[:7]) - ranker.predict(FRAME[7:14])
    np.testing.assert_allclose(np.asarray(explained)[:, 0], margins, rtol=1e-12)


def test_the_score_of_missing_values_of_no_and_of_equal_values():
    assert score_below(np.array([np.nan])) == score_below(np.array([])) == -1
    assert score_below(np.array([5.0, 5.0])) == 4


@pytest.mark.parametrize("column", [-1, 2])
def test_columns_are_counted_from_0(column):
    X = np.array([[1.0, 5.0], [2.0, 4.0]])
    for good, expected in ((0, [1, 2]), (1, [5, 4])):
        assert ColumnRanker(good).fit(X, [0, 1]).predict(X).tolist() == expected
    with pytest.raises(ValueError, match=rf"column must be .*; got {column}\."):
        ColumnRanker(column).fit(X, [0, 1])
    state = ColumnRanker(1).fit(X, [0, 1]).get_state()
    state["learned"]["column_index_"] = column
    with pytest.raises(ValueError, match="column_index_ must be"):
        ColumnRanker(0).set_state(state)
    state["learned"]["column_index_"] = 0
    assert ColumnRanker(0).set_state(state).predict(X).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("column", "n_features", "expected"),
    [("b", 3, 1), ("z", 3, 0), (2, 3, 2), (3, 3, 0), (0, 1, 0)],
)
@pytest.mark.parametrize("smaller_is_better", [False, True])
def test_what_is_expected_of_a_fit_is_the_column_or_the_first(
    column, n_features, expected, smaller_is_better
):
    columns = Columns({}, names=tuple("abc"[:n_features]))
    ranker = ColumnRanker(column, smaller_is_better=smaller_is_better)
    components = ranker._expected_components(Rows(np.zeros((0, n_features)), columns=columns))
    coef = np.zeros(n_features)
    coef[expected] = -1 if smaller_is_better else 1
    X = np.array([[3.0, -4.0, 0.0], [np.nan] * 3])[:, :n_features]
    scores = components.scores(X)
    assert scores.tolist() == [float(coef @ X[0]), -1.0]
    coded = Rows(np.zeros((0, 2)), columns=Columns({1: ["x"]}, names=("a", "b")))
    with pytest.raises(ValueError, match="column must hold numbers; 'b' holds categories"):
        ColumnRanker("b")._expected_components(coded)


def test_it_reads_sparse_rows_and_several_labels_and_learns_from_none():
    expected = Accepts(sparse=True, several_labels=True, clicks=False, labels=False)
    assert ColumnRanker(0)._accepts == expected
    assert ForestRanker._accepts == Accepts(sparse=True, clicks=False)
    assert (ForestRanker.calibration_slope_, ForestRanker.head_.weight.tolist()) == (1, [1])
