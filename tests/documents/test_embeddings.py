"""A column of lists is as many columns as its lists have entries, wherever documents are read."""

import json
import shutil
import subprocess
import warnings
from decimal import Decimal
from runpy import run_path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import treerank
from treerank import HistogramTrees, TreeDirectRanker, compare, export, load, report
from treerank.baselines import RankSVM
from treerank.datasets import (
    Batches,
    read_csv,
    read_letor,
    read_parquet,
    write_letor,
    write_parquet,
)
from treerank.documents.columns import Columns
from treerank.documents.embeddings import embedding_sizes, sources_of, with_entries
from treerank.documents.features import check_matrix
from treerank.inspection import effect, permutation_importance, single_features
from treerank.rankers import NestedRanker, refresh

RNG = np.random.default_rng(0)
N = 120
VECTORS = RNG.normal(size=(N, 3)).round(2)
PRICE = RNG.normal(size=N)
QID = np.repeat(np.arange(12), 10)
Y = np.digitize(VECTORS[:, 1] + 0.3 * PRICE, [-0.5, 0.5])
MISSING = [4, 50]
EXPECTED = VECTORS.copy()
EXPECTED[MISSING] = np.nan
ROWS = [None if row in MISSING else VECTORS[row] for row in range(N)]
LISTS = [row if row is None else row.tolist() for row in ROWS]
BY_HAND = pd.DataFrame(
    {"price": PRICE, "v_0": EXPECTED[:, 0], "v_1": EXPECTED[:, 1], "v_2": EXPECTED[:, 2]}
).assign(stock=1.0 * QID)


def table(kind):
    """Return the documents as a frame of a kind, with the embeddings in its middle."""
    if kind.startswith("pandas"):
        column = {
            "pandas lists": LISTS,
            "pandas arrays": ROWS,
            "pandas tuples": [row if row is None else tuple(row) for row in LISTS],
            "pandas series": [row if row is None else pd.Series(row) for row in LISTS],
            "pandas arrow": pd.array(LISTS, pd.ArrowDtype(pa.list_(pa.float64()))),
        }[kind]
        columns = {"price": PRICE, "v": column, "stock": 1.0 * QID}
        return pd.DataFrame(columns, index=np.arange(N)[::-1] + 5)
    if kind.startswith("polars"):
        dtype = pl.Array(pl.Float64, 3) if kind == "polars arrays" else pl.List(pl.Float64)
        column = pl.Series("v", LISTS, dtype=dtype)
        return pl.DataFrame({"price": PRICE, "v": column, "stock": 1.0 * QID})
    lists = {
        "arrow lists": pa.list_(pa.float64()),
        "arrow large lists": pa.large_list(pa.float64()),
        "arrow arrays": pa.list_(pa.float64(), 3),
    }
    if kind == "arrow chunks":
        whole = table("arrow lists")
        return pa.concat_tables([whole.slice(0, 50), whole.slice(50, 1), whole.slice(51)])
    column = pa.array(LISTS, lists[kind])
    return pa.table({"price": PRICE, "v": column, "stock": 1.0 * QID})


KINDS = [
    *("pandas lists", "pandas arrays", "pandas tuples", "pandas series", "pandas arrow"),
    *("polars lists", "polars arrays", "arrow lists", "arrow large lists", "arrow arrays"),
    "arrow chunks",
]
FRAME = table("pandas arrays")


def ranker(**settings):
    part = HistogramTrees(5, min_child_samples=5, n_jobs=1)
    return TreeDirectRanker(part, random_state=0, **settings)


BY_HAND_RANKER = ranker().fit(BY_HAND, Y, QID)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_with_embeddings_is_that_with_a_column_of_each_entry(kind):
    X = table(kind)
    fitted = ranker().fit(X, Y, QID)
    assert fitted.feature_names_in_.tolist() == ["price", "v_0", "v_1", "v_2", "stock"]
    assert fitted.n_features_in_ == 5
    scores = BY_HAND_RANKER.predict(BY_HAND)
    for model in (fitted, BY_HAND_RANKER):
        for documents in (X, BY_HAND, BY_HAND[BY_HAND.columns[::-1]]):
            np.testing.assert_array_equal(model.predict(documents), scores)
    assert fitted.score(X, Y, QID) == BY_HAND_RANKER.score(BY_HAND, Y, QID)
    np.testing.assert_array_equal(fitted.scorer()(X), scores)
    np.testing.assert_array_equal(check_matrix("X", X), BY_HAND.to_numpy())
    assert X.shape == (N, 3)  # it stays as it is


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_document_and_none_are_read_and_one_without_an_embedding(kind):
    X = table(kind)
    some = X.slice(4, 1) if hasattr(X, "slice") else X[4:5]
    expected = BY_HAND_RANKER.predict(BY_HAND[4:5])
    np.testing.assert_array_equal(BY_HAND_RANKER.predict(some), expected)
    none = X.slice(0, 0) if hasattr(X, "slice") else X[:0]
    assert BY_HAND_RANKER.predict(none).shape == (0,)
    if kind == "pandas arrays":
        row = BY_HAND_RANKER.compare(X.iloc[0], X.iloc[1])
        assert row == BY_HAND_RANKER.compare(BY_HAND.iloc[0], BY_HAND.iloc[1])
        untyped = pd.DataFrame({"price": PRICE[:1], "v": [None], "stock": [0.0]})
        missing = BY_HAND[:1].assign(v_0=np.nan, v_1=np.nan, v_2=np.nan)
        np.testing.assert_array_equal(
            BY_HAND_RANKER.predict(untyped), BY_HAND_RANKER.predict(missing)
        )


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([[0.1, 2.0]], np.float32), np.float32),
        (np.array([[0.1, 2.0]], np.float16), np.float32),
        (np.array([[0.1, 2.0]], np.float64), np.float64),
        (np.array([[-7, 120]], np.int8), np.float64),
        (np.array([[True, False]]), np.float64),
        (np.array([[2**53 - 1, -(2**53) + 1]]), np.float64),
        (np.array([[2**53 - 1, 5]], np.uint64), np.float64),
    ],
)
def test_entries_are_the_numbers_that_a_column_of_them_has(values, dtype):
    values = np.vstack([values, values[:, ::-1]])
    by_hand = pd.DataFrame(values, columns=["v_0", "v_1"])
    if values.dtype == np.float16:  # which no library but pandas has
        by_hand = by_hand.astype(np.float32)
    expected = Columns().numbers(by_hand)
    assert expected.dtype == dtype
    arrow = pa.array(list(map(list, values)), pa.list_(pa.from_numpy_dtype(values.dtype)))
    frames = [pd.DataFrame({"v": [*values]}), pa.table({"v": arrow})]
    if values.dtype != np.float16:
        frames.append(pl.DataFrame({"v": arrow}))
    for frame in frames:
        found = check_matrix("X", frame)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)


def test_entries_may_be_missing_decimals_and_of_several_types():
    expected = np.array([[1.5, np.nan], [2.0, 3.0], [np.nan, np.nan]])
    for lists in (
        [[1.5, None], [2, 3], None],
        [(1.5, pd.NA), np.array([2, 3]), np.nan],
        [np.array([1.5, None], object), np.array([2, 3], np.float32), pd.NaT],
        [[Decimal("1.5"), None], [Decimal(2), Decimal(3)], None],
    ):
        frame = pd.DataFrame({"v": pd.Series(lists, dtype=object)})
        np.testing.assert_array_equal(check_matrix("X", frame), expected)
    for value, of in ((pa.float32(), float), (pa.decimal128(9, 2), Decimal)):
        lists = [[of(1.5), None], [of(2), of(3)], None]
        frame = pa.table({"v": pa.array(lists, pa.list_(value))})
        np.testing.assert_array_equal(check_matrix("X", frame), expected)
    integers = pa.table({"v": pa.array([[7, None], [2, 3]], pa.list_(pa.int64()))})
    np.testing.assert_array_equal(check_matrix("X", integers), [[7, np.nan], [2, 3]])
    nothing = pa.table({"v": pa.array([[None, None]])})
    np.testing.assert_array_equal(check_matrix("X", nothing), [[np.nan, np.nan]])


#: Lists that are no embeddings, and what is said of them.
REFUSED = {
    "other lengths": ([[1.0, 2.0], None, [1.0]], ValueError, "equally many .* got 1 in row 2, not"),
    "an empty one": ([[1.0], []], ValueError, "equally many numbers .* got 0 in row 1, not 1"),
    "empty ones": ([[], []], ValueError, r"have numbers in its lists; got \[\]"),
    "nested": ([None, [[1.0], [2.0]]], TypeError, "hold numbers alone in its lists; got .* row 1"),
    "text": ([["a", "b"], ["c", "d"]], TypeError, "hold numbers alone in its lists; got .* row 0"),
    "digits": ([["1", "2"], ["3", "4"]], TypeError, r"alone in its lists; got \['1', '2'\] in row"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("module", [pd.DataFrame, pl.DataFrame, pa.table])
def test_what_is_no_embedding_is_named_with_its_row(name, module):
    lists, error, message = REFUSED[name]
    frame = module({"price": [0.5] * len(lists), "v": lists})
    with pytest.raises(error, match=f"Column 'v' of X must .*{message}"):
        TreeDirectRanker("linear").fit(frame, [*range(len(lists))])


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1.0, 2.0], 5.0], r"numbers alone in its lists; got 5\.0 in row 1"),
        ([np.ones(2), np.ones((2, 2))], "numbers alone in its lists; got .* in row 1"),
        ([np.ones(2), "no"], "numbers alone in its lists; got 'no' in row 1"),
        ([np.ones(2), np.array([1j, 2])], "numbers alone in its lists; got .* in row 1"),
        ([np.ones(2), [1.0, [2.0]]], "numbers alone in its lists; got .* in row 1"),
        ([np.ones(2), np.array(["2026-01-01"] * 2, "M8[D]")], "numbers alone .* in row 1"),
        ([np.ones(2), [1.0, b"2"]], "numbers alone in its lists; got .* in row 1"),
    ],
)
def test_one_value_among_lists_that_is_no_list_of_numbers_is_named(lists, message):
    frame = pd.DataFrame({"price": [0.5, 1.0], "v": pd.Series(lists, dtype=object)})
    with pytest.raises(TypeError, match=f"Column 'v' of X must hold {message}"):
        TreeDirectRanker("linear").fit(frame, [0, 1])


@pytest.mark.parametrize("large", [2**53, -(2**60), 2**64 - 1, 2**70])
def test_whole_numbers_that_would_be_rounded_are_refused_with_their_row(large):
    lists = [[1, 2], [large, 7]]
    frames = [pd.DataFrame({"v": lists}), pd.DataFrame({"v": [[None, 2], [large, None]]})]
    if abs(large) < 2**63:
        frames += [pa.table({"v": lists}), pl.DataFrame({"v": lists})]
        frames += [
            pa.table({"v": [None, [large, None]]}),
            pd.DataFrame({"v": [*map(np.array, lists)]}),
        ]
    if large == 2**64 - 1:
        frames += [pd.DataFrame({"v": [*np.array(lists, np.uint64)]})]
    for frame in frames:
        with pytest.raises(ValueError, match=r"'v' of X must hold numbers below 2.*53 .* in row 1"):
            check_matrix("X", frame)
    floats = pd.DataFrame({"v": [*np.array(lists, float)]})
    np.testing.assert_array_equal(check_matrix("X", floats), np.array(lists, float))


def test_lists_without_values_names_of_numbers_and_infinite_entries_are_refused():
    missing = pa.table({"v": pa.array([None, None], pa.list_(pa.float64())), "a": [0.0, 1.0]})
    with pytest.raises(ValueError, match="Column 'v' of X must have a list of numbers in some row"):
        TreeDirectRanker("linear").fit(missing, [0, 1])
    numbered = pd.DataFrame({0: [[1.0], [2.0]], 1: [0.0, 1.0]})
    with pytest.raises(TypeError, match="Column 0 of X must have text as its name"):
        TreeDirectRanker("linear").fit(numbered, [0, 1])
    infinite = pd.DataFrame({"v": [[1.0], [np.inf]]})
    with pytest.raises(ValueError, match="infinity"):
        TreeDirectRanker("linear").fit(infinite, [0, 1])


@pytest.mark.parametrize("name", ["v_0", "v_2", "v_17"])
def test_a_column_with_the_name_of_an_entry_is_refused(name):
    frame = FRAME.assign(**{name: 1.0})
    with pytest.raises(ValueError, match=f"Column '{name}' of X must have another .* column 'v'"):
        ranker().fit(frame, Y, QID)
    for other in ("v_", "v_00", "v_a", "v", "V_0"):
        with warnings.catch_warnings(action="ignore"):
            ranker().fit(FRAME.assign(**({other: 1.0} if other != "v" else {})), Y, QID)


def test_documents_to_rank_must_have_the_embeddings_of_fit():
    fitted = ranker().fit(FRAME, Y, QID)
    for lists, got in (([*ROWS[:3], np.ones(2)], "2 in row 3"), ([np.ones(4)] * 4, "4 in row 0")):
        other = FRAME[:4].assign(v=lists)
        with pytest.raises(ValueError, match=f"'v' of X must have 3 numbers .* fit; got {got}"):
            fitted.predict(other)
    with pytest.raises(ValueError, match="X must have the columns of fit; 'v_0' is missing"):
        fitted.predict(FRAME.drop(columns="v"))
    with pytest.raises(ValueError, match="X must have the columns of fit; 'v_0' is missing"):
        fitted.predict(FRAME.assign(v=1.0))
    with pytest.raises(TypeError, match="Column 'price' of X must hold numbers"):
        fitted.predict(FRAME.assign(price=ROWS))
    with pytest.raises(ValueError, match="'v_1' of X must have another name"):
        fitted.predict(FRAME.assign(v_1=1.0))
    # Columns that are no features do no harm, whatever they hold.
    further = FRAME.assign(words=[["a"]] * N, w=ROWS, v_9=0.0)
    np.testing.assert_array_equal(fitted.predict(further), BY_HAND_RANKER.predict(BY_HAND))


def test_a_feature_that_ends_in_a_number_is_no_embedding():
    frame = pd.DataFrame({"bm25_0": PRICE, "bm25_2": VECTORS[:, 1]})
    fitted = ranker().fit(frame, Y, QID)
    for other in (frame.rename(columns={"bm25_0": "bm25"}), frame[["bm25_2"]].assign(bm25=ROWS)):
        with pytest.raises(ValueError, match="X must have the columns of fit; 'bm25_0' is missing"):
            fitted.predict(other)
    assert sources_of(["a_0", "a_01", "b"], ["a", "b"]) == ["a", "a_01", "b"]


def test_batches_are_the_rows_in_memory_also_where_a_batch_has_no_embedding(tmp_path):
    first = FRAME[:40].assign(v=[None] * 40)
    frame = pd.concat([first, FRAME[40:]])
    by_hand = BY_HAND.assign(color="red")
    by_hand.loc[:39, ["v_0", "v_1", "v_2"]] = np.nan
    frame["color"] = by_hand["color"] = np.where(np.arange(N) > 60, "red", "blue")
    expected = ranker().fit(by_hand, Y, QID)
    parts = [slice(0, 30), slice(30, 41), slice(41, N)]
    arrow = pa.table({name: pa.array(frame[name]) for name in frame.columns})
    tables = {"pandas": frame, "arrow": arrow}
    for X in tables.values():
        rows = [X[p] if X is frame else X.slice(p.start, p.stop - p.start) for p in parts]
        batches = Batches([(x, Y[p], QID[p]) for x, p in zip(rows, parts, strict=True)])
        fitted = ranker().fit(batches)
        assert fitted.feature_names_in_.tolist() == [*by_hand.columns]
        np.testing.assert_array_equal(fitted.predict(X), expected.predict(by_hand))
        np.testing.assert_array_equal(fitted.predict(batches), expected.predict(by_hand))
    write_parquet(tmp_path / "t.parquet", arrow, Y, QID)
    for size in (25, 60, None):
        batches = treerank.read_batches(tmp_path / "t.parquet", batch_size=size)
        with warnings.catch_warnings(action="ignore"):
            fitted = ranker().fit(batches, eval_set=batches)
            in_memory = ranker().fit(by_hand, Y, QID, eval_set=(by_hand, Y, QID))
        np.testing.assert_array_equal(fitted.predict(frame), in_memory.predict(by_hand))
    other = Batches(
        [(frame[:41], Y[:41], QID[:41]), (frame[41:].assign(v=[[1.0]] * 79), Y[41:], QID[41:])]
    )
    with pytest.raises(
        ValueError, match=r"equally many numbers in each row; got 1 in row 0, not 3\."
    ):
        ranker().fit(other)
    assert embedding_sizes([first, first]) == {}


@pytest.mark.parametrize("kind", ["pandas arrays", "polars arrays", "arrow lists", "arrow chunks"])
def test_files_keep_embeddings(kind, tmp_path):
    X = table(kind)
    write_parquet(tmp_path / "t.parquet", X, Y, QID)
    data = read_parquet(tmp_path / "t.parquet")
    assert data.X.column_names == ["price", "v", "stock"]
    fitted = ranker().fit(*data)
    np.testing.assert_array_equal(fitted.predict(data.X), BY_HAND_RANKER.predict(BY_HAND))
    train, test = data.split(test=0.25)
    assert ranker().fit(*train, eval_set=test).score(*test) > 0
    write_parquet(tmp_path / "t.csv", X, Y, QID)
    again = read_csv(tmp_path / "t.csv").X
    assert again.column_names == [*BY_HAND.columns]
    np.testing.assert_array_equal(fitted.predict(again), BY_HAND_RANKER.predict(BY_HAND))
    write_letor(tmp_path / "t.txt", X, Y, QID)
    np.testing.assert_array_equal(read_letor(tmp_path / "t.txt").X, BY_HAND.to_numpy())


def test_single_precision_is_kept_by_files(tmp_path):
    vectors = VECTORS.astype(np.float32)
    X = pd.DataFrame({"price": PRICE.astype(np.float32), "v": [*vectors]})
    write_parquet(tmp_path / "t.parquet", X, Y, QID)
    matrix = check_matrix("X", read_parquet(tmp_path / "t.parquet").X)
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix[:, 1:], vectors)


def test_lists_of_text_in_a_file_are_refused_and_can_be_left_out(tmp_path):
    path = tmp_path / "t.parquet"
    X = pa.table({"price": PRICE, "words": [["a", "b"]] * N})
    write_parquet(path, X, Y, QID)
    with pytest.raises(ValueError, match=r"'words': must hold numbers, text or cat.*; got list"):
        read_parquet(path)
    assert read_parquet(path, drop="words").X.column_names == ["price"]


def test_all_that_reads_documents_reads_embeddings(tmp_path):
    eval_set = (FRAME, Y, QID)
    with warnings.catch_warnings(action="ignore"):
        fitted = ranker().fit(FRAME, Y, QID, eval_set=eval_set)
        expected = ranker().fit(BY_HAND, Y, QID, eval_set=(BY_HAND, Y, QID))
    assert fitted.evals_result_ == expected.evals_result_
    fitted.save(tmp_path / "m")
    scores = expected.predict(BY_HAND)
    np.testing.assert_array_equal(load(tmp_path / "m").predict(FRAME), scores)
    fresh = refresh(fitted, FRAME[::-1], Y[::-1], QID[::-1] + 100)
    by_hand = refresh(expected, BY_HAND[::-1], Y[::-1], QID[::-1] + 100)
    np.testing.assert_array_equal(fresh.ranker.predict(FRAME), by_hand.ranker.predict(BY_HAND))
    np.testing.assert_array_equal(
        fitted.explain(FRAME[:3], FRAME[3:6]), expected.explain(BY_HAND[:3], BY_HAND[3:6])
    )
    drops = permutation_importance(fitted, FRAME, Y, QID, n_repeats=1).drops
    np.testing.assert_array_equal(
        drops, permutation_importance(expected, BY_HAND, Y, QID, n_repeats=1).drops
    )
    groups = {"text": ["v"], "price": ["price"]}, {"text": ["v_0", 2, 3], "price": [0]}
    by_name, by_entry = (permutation_importance(fitted, FRAME, Y, QID, groups=g) for g in groups)
    assert str(by_name) == str(by_entry)
    with pytest.raises(ValueError, match=r"feature must be one of .*; got 'w'"):
        permutation_importance(fitted, FRAME, Y, QID, groups={"text": ["w"]})
    given, by_hand = (effect(fitted, X, QID, feature="v_1") for X in (FRAME, BY_HAND))
    assert str(given) == str(by_hand)
    np.testing.assert_array_equal(single_features(FRAME, Y, QID), single_features(BY_HAND, Y, QID))
    with warnings.catch_warnings(action="ignore"):
        assert "v_1" in report(fitted, FRAME, Y, QID, n_examples=1).html
    nested = NestedRanker(ranker(), sizes=(5,)).fit(FRAME, Y, QID)
    np.testing.assert_array_equal(
        nested.predict(FRAME), clone(nested).fit(BY_HAND, Y, QID).predict(BY_HAND)
    )
    linear = RankSVM().fit(FRAME, Y, QID)
    np.testing.assert_array_equal(linear.predict(FRAME), linear.predict(BY_HAND))


@pytest.mark.parametrize("format", ["python", "javascript", "sql", "json", "c", "solr", "onnx"])
def test_exports_name_the_entries(format, tmp_path):
    fitted = ranker().fit(FRAME, Y, QID)
    given = export(fitted, tmp_path / "a", format=format, check=(FRAME, Y, QID), allow="rounding")
    by_hand = export(
        BY_HAND_RANKER, tmp_path / "b", format=format, check=(BY_HAND, Y, QID), allow="rounding"
    )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert given.n_changed_pairs == by_hand.n_changed_pairs == 0
    assert (given.embeddings, by_hand.embeddings) == ({"v": 3}, {})
    says_names = "It takes the entries of 'v' as v_0 to v_2." in str(given)
    assert says_names == (format not in ("python", "javascript"))


def records():
    """Return the documents as dicts, in which a missing embedding is None."""
    rows = zip(PRICE.tolist(), LISTS, (1.0 * QID).tolist(), strict=True)
    return [{"price": price, "v": vector, "stock": stock} for price, vector, stock in rows]


def test_a_scorer_takes_dicts_with_the_lists_or_with_their_entries():
    fitted = ranker().fit(FRAME, Y, QID)
    scorer, scores = fitted.scorer(), fitted.predict(FRAME)
    np.testing.assert_array_equal(scorer(records()), scores)
    np.testing.assert_array_equal(scorer(BY_HAND.to_dict("records")), scores)
    np.testing.assert_array_equal(scorer(tuple(records()[4:6])), scores[4:6])
    np.testing.assert_array_equal(scorer([records()[4] | {"id": "a"}]), scores[[4]])
    rows = records()
    del rows[7]["stock"]
    with pytest.raises(ValueError, match="'stock' is missing in row 7"):
        scorer(rows)
    with pytest.raises(TypeError, match=r"'stock' of X must hold numbers, .* all of one kind"):
        scorer([records()[0], records()[1] | {"stock": "many"}])
    with pytest.raises(TypeError, match="got a list of dicts"):  # of features without names
        ranker().fit(PRICE[:, None], Y, QID).scorer()(records())


def test_an_exported_module_of_python_takes_the_lists(tmp_path):
    fitted, path = ranker().fit(FRAME, Y, QID), tmp_path / "model.py"
    export(fitted, path, format="python", check=(FRAME, Y, QID))
    model, scores = run_path(str(path)), fitted.predict(FRAME).tolist()
    of_arrays = [{**row, "v": row["v"] and np.float32(row["v"])} for row in records()]
    assert model["scores"](records()) == [model["score"](row) for row in records()] == scores
    assert len(model["scores"](of_arrays)) == N
    assert model["score"]({**records()[4], "v": float("nan")}) == scores[4]
    by_entry = {"price": PRICE[0], "stock": 0.0, "v": 7.0}  # a value that is no feature
    by_entry.update({f"v_{i}": LISTS[0][i] for i in range(3)})
    assert model["score"](by_entry) == scores[0]
    for wrong, error, message in [
        ([0.5, 2.0], ValueError, "'v' must be a list of 3 numbers; got one of 2"),
        ("[1, 2, 3]", TypeError, r"'v' must be a list of 3 numbers; got '\[1, 2, 3\]'"),
        ([1.0, "2", 3.0], TypeError, "'v_1' must be a number or None; got '2'"),
        (7.0, KeyError, "lacks 'v_0'"),
    ]:
        for call in (model["score"], lambda document: model["scores"]([document])):
            with pytest.raises(error, match=message):
                call({**records()[0], "v": wrong})


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_an_exported_module_of_javascript_takes_the_lists(tmp_path):
    fitted = ranker().fit(FRAME, Y, QID)
    export(fitted, tmp_path / "model.mjs", format="javascript", check=(FRAME, Y, QID))
    (tmp_path / "documents.json").write_text(json.dumps(records()))
    (tmp_path / "run.mjs").write_text(
        """
import fs from "fs";
import { score, scores } from "./model.mjs";
const said = (call) => { try { return call(); } catch (error) { return error.message; } };
const documents = JSON.parse(fs.readFileSync("documents.json"));
const [first] = documents;
const wrong = [[0.5, 2], "[1, 2, 3]", [1, "2", 3], 7];
console.log(JSON.stringify({
  one_by_one: documents.map((document) => score(document)), together: scores(documents),
  typed: score({ ...first, v: new Float64Array(first.v) }),
  entries: score({ ...first, v: 7, v_0: first.v[0], v_1: first.v[1], v_2: first.v[2] }),
  errors: wrong.map((v) => said(() => score({ ...first, v }))),
}));
"""
    )
    run = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, check=True)
    found, expected = json.loads(run.stdout), fitted.predict(FRAME).tolist()
    assert found["one_by_one"] == found["together"] == expected
    assert found["typed"] == found["entries"] == expected[0]
    assert found["errors"] == [
        '"v" must be an array of 3 numbers; got one of 2',
        '"v" must be an array of 3 numbers; got "[1, 2, 3]"',
        '"v_1" must be a number or null; got "2"',
        'document must have every feature, null if missing; lacks "v_0"',
    ]


def test_a_query_takes_the_entries_that_duckdb_makes_of_the_lists(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    fitted = ranker().fit(FRAME, Y, QID)
    export(fitted, tmp_path / "model.sql", format="sql", check=FRAME)
    columns = {"price": PRICE, "v": LISTS, "stock": 1.0 * QID, "row": np.arange(N)}
    with duckdb.connect() as connection:
        connection.register("shop", pa.table(columns))
        connection.execute(
            "CREATE VIEW documents AS SELECT *, v[1] AS v_0, v[2] AS v_1, v[3] AS v_2 FROM shop"
        )
        query = (tmp_path / "model.sql").read_text().rstrip().removesuffix(";")
        scores = connection.execute(f"SELECT score FROM ({query}) ORDER BY row").fetchnumpy()
    np.testing.assert_array_equal(scores["score"], fitted.predict(FRAME))


def test_rankers_of_other_packages_get_the_entries_in_a_comparison():
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    rankers = {
        "treerank": ranker(),
        "lightgbm": lightgbm.LGBMRanker(n_estimators=3, verbosity=-1, min_child_samples=5),
        "xgboost": xgboost.XGBRanker(n_estimators=3),
    }
    with warnings.catch_warnings(action="ignore"):
        given = compare(rankers, (FRAME, Y, QID), cv=2, metrics=["ndcg@5"])
        by_hand = compare(rankers, (BY_HAND, Y, QID), cv=2, metrics=["ndcg@5"])
    assert len(given.outcomes) == 6
    for name, outcome in given.outcomes.items():
        np.testing.assert_array_equal(
            outcome.values["ndcg@5"], by_hand.outcomes[name].values["ndcg@5"]
        )


def test_names_by_columns_and_several_embeddings():
    frame = FRAME.assign(grade=Y, search=QID, w=[*VECTORS[:, :2].astype(np.float32)])
    fitted = ranker().fit(frame, "grade", "search")
    names = ["price", "v_0", "v_1", "v_2", "stock", "w_0", "w_1"]
    assert fitted.feature_names_in_.tolist() == names
    assert fitted.score(frame, "grade", "search") > 0.5
    assert with_entries(frame).columns.tolist() == [*names[:5], "grade", "search", *names[5:]]
    array = np.ones((2, 2))
    assert with_entries(array) is array
    assert with_entries(BY_HAND) is BY_HAND


def test_wide_embeddings_are_read_in_one_step():
    vectors = RNG.normal(size=(300, 800)).astype(np.float32)
    for frame in (pd.DataFrame({"v": [*vectors]}), pl.DataFrame({"v": vectors})):
        np.testing.assert_array_equal(check_matrix("X", frame), vectors)


@pytest.mark.parametrize(
    "texts", [["[0.5, 1]", "[1e-3, nan]"], ["[0.5 1. ]", "[ 2.\n 3]"], ["(1,2)"]]
)
@pytest.mark.parametrize("module", [pd.DataFrame, pl.DataFrame, pa.table])
def test_lists_as_text_are_no_categories(texts, module, tmp_path):
    frame = module({"price": [0.5] * 3, "v": [*texts, None, None][:3]})
    with pytest.raises(ValueError, match="Column 'v' of X must hold lists of numbers, not text of"):
        TreeDirectRanker("linear").fit(frame, [0, 1, 2])
    as_categories = pd.DataFrame({"v": pd.Categorical(texts)})
    assert Columns.of(as_categories).categories == {0: sorted(texts)}
    fitted = TreeDirectRanker("linear").fit(pd.DataFrame({"v": [[1.0, 2.0], [3.0, 5.0]]}), [0, 1])
    with pytest.raises(ValueError, match="Column 'v' of X must hold lists of 2 numbers, as in fit"):
        fitted.predict(frame)


def test_other_text_in_brackets_is_categories():
    texts = ["[1, 2]", "[1, a]", "[]", "[1] 2"]
    assert Columns.of(pd.DataFrame({"v": texts})).categories == {0: sorted(texts)}


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int16, np.float64, np.int64])
def test_a_missing_embedding_leaves_a_column_in_single_precision(kind):
    vectors = [np.array([1, 2], dtype=kind), None]
    expected = np.float64 if kind in (np.float64, np.int64) else np.float32
    frames = [pd.DataFrame({"title": vectors}), pa.table({"title": pa.array(vectors)})]
    for X in frames:
        table = with_entries(X)
        entries = np.asarray(table["title_1"])
        assert entries.dtype == expected
        np.testing.assert_array_equal(entries, [2, np.nan])


def test_an_error_names_the_column_that_is_missing_and_no_entry_of_an_embedding():
    X = pd.DataFrame({"title": [[0.5, 1.0], [2.0, 0.0]] * 4, "price": np.arange(8.0)})
    ranker = TreeDirectRanker("linear", random_state=0).fit(X, np.arange(8) % 2, np.arange(8) // 4)
    with pytest.raises(ValueError, match=r"'price' is missing from \['title'\]"):
        ranker.predict(X[["title"]])
    with pytest.raises(ValueError, match=r"'title_0' is missing from \['price'\]"):
        ranker.predict(X[["price"]])
    with pytest.raises(ValueError, match=r"'title_0' is missing from \['title', 'price'\]"):
        ranker.predict(X.assign(title=1.0))


def test_a_column_of_lists_without_a_part_has_no_rows():
    lists = pa.chunked_array([], type=pa.list_(pa.float64()))
    read = with_entries(pa.table({"v": lists, "a": pa.array([], pa.float64())}), {"v": 2})
    assert read.column_names == ["v_0", "v_1", "a"]
    assert read.num_rows == 0
