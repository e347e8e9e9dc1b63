import itertools
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from example_rankers import PARTS, fitted_rankers, ranking_data, some_ranker
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_array

from treerank import (
    MLP,
    NDCG,
    QueryKFold,
    XGBoostTrees,
    compare,
    get_metric,
    make_objective,
    report,
)
from treerank.baselines import ListNet, RankSVM
from treerank.documents.ranking_data import Batches, RankingData
from treerank.documents.reading import accepted_by
from treerank.inspection import effect, permutation_importance, slices
from treerank.rankers.ranker import Ranker
from treerank.rankers.refreshing import refresh
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

pytestmark = pytest.mark.usefixtures("one_thread")
X, y, qid = DATA = ranking_data()


def test_nothing_works_before_fit():
    ranker = TreeDirectRanker()
    calls = {"predict": [X], "rank": [X], "top_k": [X], "compare": [X, X], "save": ["nowhere"]}
    for name, arguments in (calls | {"predict_pair_proba": [X, X]}).items():
        with pytest.raises(NotFittedError):
            getattr(ranker, name)(*arguments)
    with pytest.raises(NotFittedError):
        ranker.feature_importances_  # noqa: B018


def test_a_wrong_call_says_how_to_write_it():
    ranker = some_ranker().fit(X, y, qid)
    wrong = {
        r"predict: too many .* Write predict\(X\)\. rank\(X, qid\)": lambda: ranker.predict(X, qid),
        r"predict: .*'qid'\. Write predict\(X\)": lambda: ranker.predict(X, qid=qid),
        r"score: .*'metric'.* TreeDirectRanker\(metric=": lambda: ranker.score(X, y, metric="map"),
        r"explain: missing .*'X_b'.* documents of a pair": lambda: ranker.explain(X[0]),
        r"rank: missing .*'X'\. Write rank\(X, qid=None\)": lambda: ranker.rank(),
        r"save: missing .*'path'\. Write save\(path\)": lambda: ranker.save(),
        r"X must be documents alone; .* fit\(\*data\)": lambda: ranker.fit((X, y, qid)),
        r"slices: .* Write slices\(values, .*per_query": lambda: slices(ranker, X, y, qid),
        r"compare: .* compare\(rankers, \(X, y, qid\)\)": lambda: compare({"a": ranker}, X, y, qid),
        r"compare: .*'metric'\. Did you mean 'metrics'\?": lambda: compare(
            {}, (X, y), metric="map"
        ),
        r"fit: .*'validation'\. Write fit\(X, .*eval_set=": lambda: ranker.fit(X, y, validation=1),
        r"TreeDirectRanker: .*\. Write TreeDirectRanker\(feature_part=": lambda: TreeDirectRanker(
            color=1
        ),
        r"TreeDirectRanker.fit has no query; write qid": lambda: ranker.fit(X, y, query=qid),
        r"y must be numbers; got text; the order is X, y, qid": lambda: ranker.fit(X, ["a"], y),
        r"metric must be .*; got the class NDCG, no object": lambda: get_metric(NDCG),
    }
    for message, call in wrong.items():
        with pytest.raises(TypeError, match=message):
            call()


ONES = np.ones(160)
#: Beside a missing one, NumPy sees these integers as doubles.
LARGE = [None, 2**53 + 1] * 80


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": ONES[:5]}, "y must have one entry per document; got 5"),
        ({"qid": [None] * 160}, "qid must not be missing; got None in row 0"),
        ({"y": ONES * np.nan}, "y must hold a label in some row; got NaN"),
        ({"y": ONES * np.inf}, "y must be finite; got inf in row 0"),
        ({"X": np.full((160, 2), np.inf)}, "X must not hold infinity"),
        ({"sample_weight": -ONES}, "sample_weight must not be negative; got -1"),
        ({"query_weight": "w"}, r"got 'w'. Pass the values of a column, .*query_weight=table\['w'"),
        ({"query_weight": np.arange(160)}, "query_weight must be constant within a q"),
        ({"eval_set": 3}, r"eval_set must be \(X, y, qid\), .* such as 0\.2; got 3"),
        ({"eval_set": (DATA, DATA)}, r"eval_set must be .*a list of such tuples, or .*; got"),
        ({"eval_set": [(np.eye(4),)]}, "eval_set must .*a list of such tuples"),
        ({"eval_set": ((), ())}, "eval_set: y must have at least one entry"),
        ({"eval_metric": "map"}, "eval_set must be given where eval_metric is"),
        ({"eval_metric": [], "eval_set": 0.5}, "eval_metric must be a metric or several, or None"),
        ({"eval_set": ([[1.0]], [1])}, "X has 1 features, but TreeDirectRanker is exp"),
        ({"eval_set": (np.eye(4), [0] * 4, [0] * 4)}, "eval_set: y must define ndcg@10 for"),
        ({"eval_set": (np.eye(4), [1] * 4, [None] * 4)}, "eval_set: qid must not be m"),
        ({"y": pd.Series([2**53, 2**53 + 1] * 80, dtype="Int64")}, "y must be below 2..53 in s"),
        ({"y": pd.Series(LARGE, dtype="Int64")}, r"y must be below 2\*\*53 in size as integers"),
        ({"y": pl.Series(LARGE)}, r"y must be below 2\*\*53 in size as integers"),
        ({"y": pa.chunked_array([LARGE])}, r"y must be below 2\*\*53 in size as integers"),
        ({"y": {"a": pl.Series(LARGE), "b": ONES}}, r"y\['a'\] must be below 2\*\*53 in size as"),
        ({"y": pl.DataFrame({"a": LARGE, "b": ONES})}, r"y\['a'\] must be below 2\*\*53 in size"),
        ({"y": np.full(160, 2**53 + 1, dtype=object)}, "y must be below 2..53 in size as int"),
        ({"y": ["good"] * 160}, "y must be numbers; got"),
        ({"y": ONES + 1j}, "y must be real numbers: Complex data not supported"),
        ({"y": np.ma.array(ONES, mask=ONES > 0)}, "y must have no masked entries"),
        ({"y": np.array(["1"] * 160, np.dtypes.StringDType())}, "y must be numbers; got text"),
        ({"y": [[1], [1, 2]] * 80}, "y: .*inhomogeneous"),
        ({"X": np.array([["a"]] * 160, np.dtypes.StringDType())}, "X must hold numbers, or be"),
        ({"X": np.array([[{}]] * 160)}, "X must hold numbers, or be"),
        ({"X": [["good"]] * 160}, "X must hold numbers, .*convert string to float"),
        ({"X": [[10**400]] * 160}, "X: int too large to convert to float"),
        ({"X": np.ma.array(np.eye(160), mask=True)}, "X must have no masked entries"),
        ({"X": ONES}, "X must have a row for each document; got 160"),
        ({"y": {"a": 1, "b": ONES}}, r"y\['a'\] must be one-dimensional; got shape \(\)"),
        ({"y": sparse.csr_array(ONES[None])}, "y must be an array or a list of labels; got <"),
        ({"y": None}, r"y must be one label per row of X.* y is None.* fit\(\*data\)"),
        ({"sample_weight": ONES * 0}, "must leave a row; got zeros only"),
        ({"given_pairs": [[0, 160, 1]]}, "given_pairs: rows must be integers .* row 0"),
        ({"sample_weight": ONES * 1e-30}, "sample_weight must be 0 or from 1e-15"),
        ({"given_pairs": [["a", "b"]]}, "given_pairs must be numbers; got"),
        ({"eval_set": (np.eye(4), [1] * 4, [0] * 4)}, "eval_set must hold out a qu"),
    ],
)
def test_bad_data_is_refused_before_any_training(changed, message):
    given = dict(zip(["X", "y", "qid"], DATA, strict=True)) | changed
    with pytest.raises((TypeError, ValueError), match=message):
        some_ranker().fit(**given)


def test_a_score_without_labels_says_what_to_pass():
    frame = pd.DataFrame(X).add_prefix("f").assign(grade=y, query=qid)
    data = RankingData(frame, "grade", "query")
    ranker = TreeDirectRanker("linear").fit(*data)
    message = r"y must be one label per row .* Write score\(X, y, qid\), or score\(\*data\)"
    for documents in (X, frame):
        with warnings.catch_warnings(action="error"), pytest.raises(ValueError, match=message):
            ranker.score(documents)
    assert ranker.score(frame, "grade", "query") == ranker.score(*data)


@pytest.mark.parametrize(
    ("use", "call"),
    [
        (TreeDirectRanker.predict, "predict(data.X)"),
        (TreeDirectRanker.rank, "rank(data.X, data.qid)"),
        (TreeDirectRanker.top_k, "top_k(data.X, data.qid)"),
        (TreeDirectRanker.score, "score(*data)"),
        (TreeDirectRanker.calibrate, "calibrate(*data)"),
        (report, "report(ranker, *data)"),
        (refresh, "refresh(ranker, *data)"),
        (permutation_importance, "permutation_importance(ranker, *data)"),
        (partial(effect, feature="f0"), "effect(ranker, data.X, data.qid, feature=...)"),
    ],
)
def test_data_that_are_passed_whole_are_refused_by_what_to_write(use, call):
    data = RankingData(pd.DataFrame(X).add_prefix("f"), y, qid)
    ranker = TreeDirectRanker("linear").fit(*data)
    rule = rf"X must be documents alone; got RankingData\(.*\). Write {re.escape(call)}\.$"
    with pytest.raises(TypeError, match=rule):
        use(ranker, data)


def test_large_integers_of_a_frame_of_one_column_are_refused():
    rule = r"y must be below 2\*\*53 in size as integers"
    with pytest.warns(DataConversionWarning), pytest.raises(ValueError, match=rule):
        TreeDirectRanker("linear").fit(np.zeros((len(LARGE), 1)), pl.DataFrame({"a": LARGE}))


@pytest.mark.parametrize("name", ["sample_weight", "query_weight"])
def test_a_weight_per_query_is_answered_by_one_per_row(name):
    weight = [1.0 + query for query in range(len(np.unique(qid)))]
    calls = (partial(some_ranker().fit, *DATA), partial(make_objective, y, qid))
    for call in calls:
        with pytest.raises(ValueError, match="one per query") as error:
            call(**{name: weight})
        code = str(error.value).partition("Write ")[2].removesuffix(".")
        by_row = eval(f"dict({code})", {"np": np, "qid": qid, name: weight})
        np.testing.assert_array_equal(by_row["query_weight"], np.take(weight, qid - qid.min()))
        call(**by_row)


def test_callbacks_may_be_none_as_in_the_fits_of_engines():
    expected = some_ranker().fit(*DATA).predict(X)
    np.testing.assert_array_equal(some_ranker().fit(*DATA, callbacks=None).predict(X), expected)


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore:A column-vector", "ignore:.*was fitted to 8 of the 8")
def test_labels_in_a_table_of_one_column_are_taken_wherever_fit_takes_them():
    labels = pd.DataFrame({"grade": y})
    ranker, same = some_ranker().fit(X, y, qid), some_ranker().fit(X, labels, qid)
    np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
    assert ranker.score(X, labels, qid) == ranker.score(X, y, qid)
    scores = [str(compare({"a": ranker}, (X, column, qid))) for column in (labels, y)]
    assert scores[0] == scores[1]
    search = GridSearchCV(some_ranker(), {"sigma": [1.0, 2.0]}, cv=QueryKFold(2))
    found = [search.fit(X, column, qid=qid).best_score_ for column in (labels, y)]
    assert found[0] == found[1]


def test_an_eval_set_may_be_what_a_reader_returned():
    ranker = some_ranker()
    others = X, y + 1, qid
    expected = ranker.fit(*DATA, eval_set=others).evals_result_
    assert ranker.fit(*DATA, eval_set=RankingData(*others)).evals_result_ == expected
    frame = pl.DataFrame({"X": [1.0], "y": [1.0], "qid": [1]})
    with pytest.raises(ValueError, match=r"eval_set must be \(X, y\) or .*DataFrame"):
        ranker.fit(*DATA, eval_set=frame.to_pandas())


@pytest.mark.parametrize("kind", ["boolean", "bool[pyarrow]"])
def test_labels_that_pandas_calls_missing_are_no_judgments_wherever_they_are_passed(kind):
    judged = np.where(np.arange(160) % 20, y > 0, np.nan)
    labels = pd.Series([pd.NA if np.isnan(label) else label > 0 for label in judged], dtype=kind)
    ranker = some_ranker().fit(X, labels, qid, eval_set=(X + 0.01, labels, qid))
    same = some_ranker().fit(X, judged, qid, eval_set=(X + 0.01, judged, qid))
    scores = ranker.predict(X)
    np.testing.assert_array_equal(scores, same.predict(X))
    assert ranker.score(X, labels, qid) == ranker.score(X, judged, qid)
    np.testing.assert_array_equal(
        NDCG(5).per_query(labels, scores, qid), NDCG(5).per_query(judged, scores, qid)
    )
    data = X + 0.01, y, np.arange(160) // 5
    results = [compare({"a": ranker}, data, human_labels=of) for of in (labels, judged)]
    assert repr(results[0]) == repr(results[1])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_frames_that_are_not_in_memory_are_refused():
    lazy = pl.DataFrame(X, schema=[f"f{i}" for i in range(X.shape[1])]).lazy()
    with pytest.raises(TypeError, match=r"X must be in memory; got .*LazyFrame.* Collect its rows"):
        some_ranker().fit(lazy, y, qid)
    ranker = some_ranker().fit(lazy.collect(), y, qid)
    with pytest.raises(TypeError, match="X must be in memory"):
        ranker.predict(lazy)
    with pytest.raises(TypeError, match="y must be in memory"):
        ranker.fit(X, pl.LazyFrame({"y": y}), qid)


@pytest.mark.parametrize("library", ["pandas", "arrow"])
def test_two_columns_of_one_name_are_refused(library):
    frame = pd.DataFrame(X, columns=["price", "size", "age", "price"])
    if library == "arrow":
        frame = pa.table(list(X.T), names=list(frame.columns))
    rule = r"X must have a different name for each column; got 2 columns named 'price'\. Rename or"
    ranker = some_ranker().fit(pd.DataFrame(X, columns=["price", "size", "age", "stock"]), y, qid)
    for call in (
        lambda: some_ranker().fit(frame, y, qid),
        lambda: some_ranker().fit(X, y, qid, eval_set=(frame, y, qid)),
        lambda: ranker.predict(frame),
        lambda: ranker.explain(frame[:1], frame[1:2]),
        lambda: compare({"a": ranker}, (frame, y, qid)),
    ):
        with pytest.raises(ValueError, match=rule):
            call()


def test_arrays_to_predict_are_checked_and_those_of_other_layouts_converted():
    ranker = some_ranker().fit(X, y, qid)
    infinite = np.where(np.arange(len(X))[:, None] == 3, -np.inf, np.full(4, np.nan))
    for message, wrong in {
        "X must not hold infinity": infinite,
        "^X must not hold infinity": infinite.astype(np.float32),
        "got 4 numbers": X[0],
        "has 1 feat": X[:, :1],
    }.items():
        with pytest.raises(ValueError, match=message):
            ranker.predict(wrong)
    assert len(ranker.predict(np.full_like(X, np.nan))) == len(X)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        some_ranker().fit(pd.DataFrame(X).rename(columns=str), y, qid).predict(X)
    for same in (X.astype(">f8"), np.asfortranarray(X), X[::-1][::-1], X.tolist()):
        np.testing.assert_array_equal(ranker.predict(same), ranker.predict(X))


def test_infinity_is_refused_where_scikit_learn_is_told_that_there_is_none():
    infinite, ranker = np.where(X > X.max() - 1e-9, np.inf, X), RankSVM()
    with sklearn.config_context(assume_finite=True):
        for wrong in (infinite, pd.DataFrame(infinite), sparse.csr_matrix(infinite)):
            with pytest.raises(ValueError, match="X must not hold infinity"):
                some_ranker().fit(wrong, y, qid)
        with pytest.raises(ValueError, match="X must not hold infinity"):
            ranker.fit(X, y, qid).predict(infinite)


@pytest.mark.filterwarnings("ignore:XGBoost rounds features:UserWarning")
@pytest.mark.parametrize("tau", ["identity", "softsign"])
@pytest.mark.parametrize("part", ["linear", XGBoostTrees(4, n_jobs=1), MLP((4,), n_epochs=2)])
def test_numpy_may_be_told_to_raise_errors(part, tau):
    tiny = X * [1, 0, 1e-300, 1e-160]  # thresholds of 0, variances below the smallest number
    with np.errstate(all="raise"):
        for ranker in (TreeDirectRanker(part, tau=tau), RankSVM()):
            ranker.fit(tiny, y, qid).compare(X[:1], X[:1] + 1e-300)
            ranker.predict_pair_proba(X, 1e9 * X)


def test_an_index_out_of_range_is_refused_before_compiled_code_follows_it():
    ranker = some_ranker().fit(sparse.csr_matrix(X), y, qid)
    for form, index in itertools.product(("csr", "csc", "coo"), (-5, 10**6)):
        wrong = sparse.coo_matrix(X).asformat(form)
        (wrong.col if form == "coo" else wrong.indices)[0] = index
        for call in (lambda X: some_ranker().fit(X, y, qid), ranker.predict):
            with pytest.raises(ValueError, match=r"^X: .*ind"):
                call(wrong)


@pytest.mark.parametrize("weight", [np.zeros(160), np.ones(160)])
def test_a_score_of_nothing_to_find_is_nan_with_a_warning_whatever_the_weights(weight):
    ranker = some_ranker().fit(X, y, qid)
    with pytest.warns(UndefinedMetricWarning, match="ndcg@10 is undefined"):
        assert np.isnan(ranker.score(X, y * (weight == 0), qid, sample_weight=weight))


@pytest.mark.parametrize("part", ["histogram", "lightgbm"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 1e-36])
def test_features_that_are_zero_make_a_constant_model(part, form, value):
    X = form(np.full((160, 2), value))
    ranker = TreeDirectRanker(part, random_state=0, warm_start=True)
    for settings in ({}, {"feature_part__n_estimators": 201}):
        with pytest.warns(UserWarning, match="All 160 documents get the same score"):
            ranker.set_params(**settings).fit(X, y, qid, eval_set=(X, y + 1, qid))
    np.testing.assert_array_equal(ranker.predict(np.ones((3, 2))), 0)


def test_a_sample_of_zeros_alone_makes_a_constant_model():
    X = np.zeros((100_000, 1))
    X[0] = 1.0
    y, qid = np.tile([0, 1], 50_000), np.repeat(np.arange(10_000), 10)
    with pytest.warns(UserWarning, match="All 100000 documents get the same score"):
        ranker = some_ranker().fit(X, y, qid)
    assert np.isfinite(ranker.predict(X[:2])).all()


def test_numbers_beyond_single_precision_are_refused_by_xgboost_alone():
    large = X * np.array([1e39, 1, 1, 1])
    with pytest.raises(ValueError, match=r"X must be at most 3.4e\+38 in size for XGBoost"):
        TreeDirectRanker(PARTS["xgboost"]).fit(large, y, qid)
    assert np.isfinite(some_ranker().fit(large, y, qid).predict(large)).all()


@pytest.mark.parametrize("ranker", [TreeDirectRanker("linear"), ListNet(n_epochs=1)])
def test_a_score_that_is_no_number_is_refused(ranker):
    ranker.fit(X, y, qid)
    for call in (ranker.predict, ranker.rank, lambda X: ranker.compare(X, X)):
        with pytest.raises(ValueError, match=r"X must be of a size that gives finite .*in row 2"):
            call(np.where(np.arange(160)[:, None] == 2, 1.7e308, X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": "adjacnt"}, "pairs must be .*; got 'adjacnt'.* Did you mean 'adjacent'"),
        ({"tau": "tan"}, r"tau must be one of .*'tanh'\]; got 'tan'. Did you mean 'tanh'"),
        ({"metric": "NDCG@10"}, "metric must be one of ndcg.*Did you mean 'ndcg@10'"),
        ({"feature_part": "lightgmb"}, r"one of .*; got 'lightgmb'. Did you mean 'lightgbm'"),
    ],
)
def test_unknown_settings_are_refused_with_the_known_ones(settings, message):
    with pytest.raises(ValueError, match=message):
        some_ranker().set_params(**settings).fit(X, y, qid)


def empty_parts(X):
    """Return no rows, in each kind of table that a ranker reads."""
    numbers, frame = X[:0], pd.DataFrame(X, columns=[*"abcd"])[:0]
    kinds = [
        numbers,
        numbers.astype(np.float32),
        numbers.astype(int),
        [],
        sparse.csr_matrix(numbers),
    ]
    return kinds, [frame, frame.astype(object), pl.from_pandas(frame), pa.Table.from_pandas(frame)]


@pytest.mark.parametrize("name", PARTS)
def test_no_documents_have_no_scores(name):
    """As an empty partition of a large table, and the candidates that a filter leaves none of."""
    ranker = fitted_rankers()[name]
    for part in empty_parts(X)[0]:
        if sparse.issparse(part) and not accepted_by(ranker).sparse:
            continue
        for method in ("predict", "rank", "top_k"):
            assert getattr(ranker, method)(part).shape == (0,)
        assert ranker.rank(part, qid=[]).dtype == ranker.rank(X, qid).dtype
        assert ranker.explain(part, part).shape == (0, 4)
    assert ranker.predict(Batches([(X[:0], [], []), (X[:3], y[:3], qid[:3])])).shape == (3,)
    with pytest.raises(ValueError, match="X has 3 features, but TreeDirectRanker is expecting 4"):
        ranker.predict(X[:0, :3])


def test_no_documents_are_no_work_for_a_ranker_of_ones_own():
    class FirstFeature(Ranker):
        def _learn(self, data, held_out, seed):
            pass

        def _scores(self, X):
            return check_array(X)[:, 0]  # which refuses no rows, as all of scikit-learn does

    assert FirstFeature().fit(X, y, qid).predict(X[:0]).shape == (0,)


def test_no_rows_of_data_frames_have_no_scores_in_scorers_alike():
    table = pd.DataFrame(X, columns=[*"abcd"]).assign(d=np.where(X[:, 3] > 1, "x", "y"))
    ranker = some_ranker().fit(table, y, qid)
    for part in empty_parts(X)[1]:
        for call in (ranker.predict, ranker.rank, ranker.top_k, ranker.scorer()):
            assert call(part).shape == (0,)
    assert fitted_rankers()["lightgbm"].scorer()([]).shape == (0,)
    with pytest.raises(ValueError, match="y must have at least one entry"):
        some_ranker().fit(X[:0], [])


def test_records_are_made_a_data_frame_and_complex_numbers_are_not_printed():
    ranker, records = fitted_rankers()["lightgbm"], [{"a": 1.0}] * 300
    for call in (ranker.predict, ranker.rank, ranker.scorer(), lambda X: ranker.fit(X, y, qid)):
        with pytest.raises(TypeError, match=r"got a list of dicts. pyarrow.Table.from_pylist\(X\)"):
            call(records)
    with pytest.raises(TypeError, match=r"got a dict. pyarrow.table\(X\)"):
        ranker.predict({"a": [1.0]})
    for kind in (np.asarray, sparse.csr_matrix):
        with pytest.raises(
            ValueError, match="Complex data not supported; got complex128"
        ) as caught:
            ranker.predict(kind(X + 1j))
        assert len(str(caught.value)) < 100
    with pytest.raises(ValueError, match=r"^y must be real numbers: .*; got complex128\.$"):
        some_ranker().fit(X, y + 1j, qid)
