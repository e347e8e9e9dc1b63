"""Tables: a file, or a data frame with the names of columns, gives the model of plain arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, compare, load
from treerank.datasets.parquet import read_parquet, write_parquet
from treerank.documents.columns import taken_rows
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import stacked_rows, take_columns

rng = np.random.default_rng(0)
QID = np.repeat([f"q{i}" for i in range(12)], 20)
COLORS = rng.choice(np.array(["red", "blue", None], dtype=object), size=240)
FRAME = pd.DataFrame(rng.normal(size=(240, 3)).astype(np.float32), columns=["a", "b", "c"])
FRAME = FRAME.mask(rng.random(FRAME.shape) < 0.1).assign(color=pd.Categorical(COLORS))
Y = (FRAME["a"].fillna(0).to_numpy() + (COLORS == "red") > 0).astype(float)
TABLE = FRAME.assign(clicks=Y, user=QID)
OTHER = TABLE[["user", "color", "clicks", "c", "b", "a"]].assign(sku=np.arange(240))
FORMS = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
VERBS = {
    "predict": lambda ranker, X: ranker.predict(X),
    "rank": lambda ranker, X: ranker.rank(X, "user"),
    "score": lambda ranker, X: ranker.score(X, "clicks", "user"),
    "explain": lambda ranker, X: ranker.explain(X[:5], X[5:10]),
    "scorer": lambda ranker, X: ranker.scorer()(X),
    "compare": lambda ranker, X: ranker.compare(X[:5], X[5:10]),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def small():
    part = HistogramTrees(n_estimators=5, early_stopping_rounds=None, n_jobs=1)
    return TreeDirectRanker(part, random_state=0)


@pytest.fixture(scope="module")
def expected():
    return small().fit(FRAME, Y, QID)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "folder"
    folder.mkdir()
    for name, rows in {"0": slice(100), "1": slice(100, None)}.items():
        write_parquet(folder / f"{name}.parquet", FRAME[rows], Y[rows], QID[rows])
    path = folder.parent / "train.parquet"
    write_parquet(path, FRAME, Y, QID)
    return path


@every_form
def test_columns_of_a_data_frame_may_be_named(form, expected):
    table = form(TABLE)
    ranker = small().fit(table, "clicks", "user", eval_set=(form(FRAME), Y + 1, QID))
    np.testing.assert_array_equal(ranker.predict(FRAME), expected.predict(FRAME))
    assert ranker.score(table, "clicks", "user") == expected.score(FRAME, Y, QID)
    unlabeled, _ = take_columns(table, y="clicks")
    np.testing.assert_array_equal(ranker.rank(unlabeled, "user"), expected.rank(FRAME, QID))


@every_form
@pytest.mark.parametrize("verb", VERBS)
def test_columns_may_be_in_any_order_among_others(expected, verb, form):
    found = VERBS[verb](expected, form(OTHER))
    np.testing.assert_array_equal(found, VERBS[verb](expected, TABLE))


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_column_is_named(expected, verb):
    with pytest.raises(ValueError, match="columns of fit; 'b' is missing from"):
        VERBS[verb](expected, OTHER.drop(columns="b"))


@pytest.mark.parametrize("ids", [np.arange(240), np.arange(240).astype(str)])
def test_an_id_among_the_features_is_told(ids):
    with pytest.warns(UserWarning, match=r"'doc_id' of X is a feature.*drop\(columns='doc_id'\)"):
        small().fit(TABLE.assign(doc_id=ids), "clicks", "user")


@pytest.mark.filterwarnings("ignore:.* are in the training set")
def test_every_verb_takes_what_a_reader_of_a_file_or_a_folder_returns(file, expected):
    for path in (file, str(file.parent / "folder")):
        data = read_parquet(path)
        ranker = small().fit(*data, eval_set=data).calibrate(*data)
        np.testing.assert_array_equal(ranker.predict(data.X), expected.predict(FRAME))
        np.testing.assert_array_equal(ranker.rank(data.X, data.qid), expected.rank(FRAME, QID))
        assert ranker.score(*data) == expected.score(FRAME, Y, QID)
        assert len(compare({"trees": small()}, path, cv=2).outcomes) == 2


def test_a_series_of_rows_in_another_order_is_refused():
    shuffled = TABLE.sample(frac=1, random_state=0)
    X, y, qid = shuffled[["a", "b"]], TABLE["clicks"], shuffled["user"]
    with pytest.raises(ValueError, match=r"y must have the rows of X .* else y\.loc\[X\.index\]"):
        small().fit(X, y, qid)
    with pytest.raises(ValueError, match="qid must have the rows of X in their order"):
        small().fit(X, y.loc[X.index], TABLE["user"])
    fitted = small().fit(X, y.loc[X.index], qid)
    again = small().fit(X, y.loc[X.index].to_numpy(), qid.tolist())
    np.testing.assert_array_equal(fitted.predict(X), again.predict(X))


def test_a_path_is_refused_with_what_to_write_instead(file, expected):
    for call in (small().fit, expected.predict, expected.rank, expected.score):
        with pytest.raises(TypeError, match=r"X must be documents in memory; .*read_parquet"):
            call(str(file))
    with pytest.raises(TypeError, match="X must be documents in memory"):
        expected.compare(file, file)


RANKER, TWO = TreeDirectRanker("linear"), [[1], [2]]


def of_loss(name):
    return TreeDirectRanker(loss=name)


NDCG_TEN, LAMBDARANK = TreeDirectRanker(metric="ndcg@ten"), TreeDirectRanker(loss="lambdarank")


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (RANKER.fit, (FRAME, "clicks"), r"y must name a column of X; got 'clicks' and a data fr"),
        (RANKER.fit, (TABLE, ["clicks"], "user"), "y must be the name of one .* y='clicks'"),
        (RANKER.fit, (TABLE, ["clicks", "a"]), r"and y=X\[\['clicks', 'a'\]\]"),
        (RANKER.fit, (TWO, [0, 1], "user"), "qid must name a column of X; got 'user' and an array"),
        (RANKER.fit, ([["a"], ["b"]], [0, 1]), "X must hold numbers, or be a data frame, whose"),
        (RANKER.fit, ([[1, 2], [3]], [0, 1]), "X must have equally many numbers in each row; got"),
        (RANKER.fit, (3, [0, 1]), "X must be a matrix in memory; got <class 'int'>"),
        (RANKER.fit, (TWO, [np.nan, np.nan]), r"y must hold a label in some row; .* in all 2"),
        (LAMBDARANK.fit, (TWO, [0, 1]), "'lambdarank'. Write loss='logistic', weight='ndcg', "),
        (of_loss("YetiRank").fit, (TWO, [0, 1]), "'YetiRank'. Write loss='logistic', weight='ndc"),
        (of_loss("PairLogit").fit, (TWO, [0, 1]), "Write loss='logistic', weight='uniform', smo"),
        (of_loss("QueryRMSE").fit, (TWO, [0, 1]), "'QueryRMSE'. Write loss='half_squared_error'"),
        (NDCG_TEN.fit, (TWO, [0, 1]), r"got 'ndcg@ten'\.$"),
        (LightGBMTrees().fit, (np.eye(2), np.array([0, 1])), r"Write TreeDirectRanker\(part\)"),
        (
            compare,
            ({"a": RANKER}, (np.eye(2), [0, 1])),
            r"data must be \(X, y, qid\), with the query",
        ),
        (load, (None,), "path: .*str"),
    ],
)
def test_mistakes_of_newcomers_are_named_with_what_to_write(call, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(*arguments)


def test_mistakes_after_a_fit_are_named():
    fitted = TreeDirectRanker("linear").fit(TWO, [0, 1])
    with pytest.raises(ValueError, match=r"y must be one label per row.*; got None\. Write score"):
        fitted.score(TWO)
    with pytest.raises(TypeError, match=r"path: .*str"):
        fitted.save(None)


def test_rows_of_sparse_matrices_of_any_form_are_rows_that_can_be_taken():
    dense = np.eye(3)[[0, 2]]
    for form in (csc_matrix, coo_matrix, csr_matrix):
        stacked = stacked_rows([form(dense), form(2 * dense)])
        np.testing.assert_array_equal(stacked[[3, 0]].toarray(), [2 * dense[1], dense[0]])


def test_values_that_are_names_of_columns_by_chance_are_values():
    for values in (["user", "other"], ["user"] * len(TABLE)):
        assert take_columns(TABLE, qid=values)[1] == [values]


@pytest.mark.filterwarnings("ignore:.*queries of eval_set")
@pytest.mark.filterwarnings("ignore:.*was fitted to 3 of the 3 test queries")
@pytest.mark.parametrize("names", [("user", "week"), ["user", "week"]])
@pytest.mark.parametrize("module", [pd.DataFrame, pl.DataFrame])
def test_queries_by_names_of_several_columns(module, names):
    user, week = ["b", "a", "b", "a", "b", "b"], [1, 1, 2, 1, 1, 2]
    frame = module({"x": [3.0, 1, 2, 5, 4, 1], "user": user, "week": week, "y": [1, 0, 1, 1, 0, 0]})
    ids, X = list(zip(user, week, strict=True)), np.array([[3.0], [1], [2], [5], [4], [1]])
    ranker = TreeDirectRanker("linear").fit(frame, "y", names, eval_set=(frame, "y", names))
    plain = TreeDirectRanker("linear").fit(X, frame["y"], ids, eval_set=(X, frame["y"], ids))
    assert list(ranker.feature_names_in_) == ["x"]
    rows = frame[["x"]]
    np.testing.assert_array_equal(ranker.predict(rows), plain.predict(X))
    assert ranker.score(frame, "y", names) == plain.score(X, frame["y"], ids)
    in_ranks = frame[["x", "user", "week"]]
    np.testing.assert_array_equal(ranker.rank(in_ranks, names), plain.rank(X, ids))
    (outcome,) = compare({"r": ranker}, (frame, "y", names)).outcomes.values()
    assert list(outcome.queries) == [("a", 1), ("b", 1), ("b", 2)]


def test_wrong_names_of_queries_are_named():
    frame = pd.DataFrame({"x": [1.0, 2, 3], "user": ["a", None, "b"], "week": [1, 2, 3]})
    with pytest.raises(ValueError, match="qid must name columns of X; got 'month' and a data fr"):
        take_columns(frame, qid=("user", "month"))
    with pytest.raises(ValueError, match=r"qid must not be missing; got .* column 'user', row 1"):
        take_columns(frame, qid=("user", "week"))
    with pytest.raises(ValueError, match=r"qid must not be missing; got .*a.*nan.* in row 1"):
        QueryGroups.from_qid([("a", 1.0), ("a", float("nan"))])
    with pytest.raises(
        ValueError, match=r"qid must name columns of X; got \('user', 'week'\) and an"
    ):
        take_columns(np.ones((3, 1)), qid=("user", "week"))
    assert take_columns(np.ones((2, 1)), qid=("user", "week"))[1] == [("user", "week")]


def test_columns_named_by_numbers_have_their_order_alone():
    X = pd.DataFrame(rng.normal(size=(240, 3)))
    ranker = small().fit(X, Y, QID)
    assert ranker.columns_.names is None
    with pytest.raises(
        ValueError, match=r"ascending order where .* got \[2, 0, 1\]\. Write X\[sor"
    ):
        ranker.predict(X[[2, 0, 1]])
    with pytest.raises(ValueError, match="ascending order where their names are numbers"):
        small().fit(X[[1, 0, 2]], Y, QID)
    by_text = X.set_axis(X.columns.astype(str), axis=1)
    named = small().fit(by_text, Y, QID)
    np.testing.assert_array_equal(named.predict(by_text[["2", "0", "1"]]), ranker.predict(X))


def test_rows_of_columns_are_taken_by_number():
    series = pd.Series(["a", "b", "c"], index=[2, 0, 1])
    for column in (series, pl.Series(["a", "b", "c"]), pa.chunked_array([["a"], ["b", "c"]])):
        assert list(map(str, taken_rows(column, [2, 0]))) == ["c", "a"]


@pytest.mark.parametrize("kind", [list, tuple])
def test_several_labels_by_name_are_answered_by_what_to_write(kind):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0, 1, 0], "c": [1, 0, 0], "q": [1, 1, 1]})
    advice = r"X.drop\(columns=\['b', 'c'\]\) and y=X\[\['b', 'c'\]\]"
    with pytest.raises(TypeError, match=advice):
        TreeDirectRanker("linear").fit(table, kind(["b", "c"]), "q")


def test_labels_that_are_a_dict_of_names_are_answered_by_what_to_write():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [0, 1], "c": [1, 0], "q": [1, 1]})
    advice = r"got a dict of names.* X.drop\(columns=\['b', 'c'\]\) and y=X\[\['b', 'c'\]\]"
    with pytest.raises(TypeError, match=advice):
        TreeDirectRanker("linear").fit(table, {"b": "b", "c": "c"}, "q")
    with pytest.raises(TypeError, match=r"got a dict of names\. Write y='b'"):
        TreeDirectRanker("linear").fit(table, {"b": "b"}, "q")
