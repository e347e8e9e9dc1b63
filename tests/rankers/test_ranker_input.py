"""What a ranker cannot learn from is refused or warned of, and what it can is not."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_rankers import PARTS, some_ranker
from scipy import sparse
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning

from treerank.datasets.ranking_data import RankingData
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

pytestmark = pytest.mark.usefixtures("one_thread")


def test_nothing_works_before_fit(data):
    X, ranker = data[0], TreeDirectRanker()
    calls = {"predict": [X], "rank": [X], "top_k": [X], "compare": [X, X], "save": ["nowhere"]}
    for name, arguments in (calls | {"predict_pair_proba": [X, X]}).items():
        with pytest.raises(NotFittedError):
            getattr(ranker, name)(*arguments)
    with pytest.raises(NotFittedError):
        ranker.feature_importances_  # noqa: B018


def test_pair_losses_take_any_ordered_label(data):
    X, y, qid = data
    there = some_ranker(weight="uniform").fit(X, y, qid)
    fractional = some_ranker(weight="uniform").fit(X, y / 7 - 1e6, qid)
    np.testing.assert_allclose(fractional.predict(X), there.predict(X), rtol=1e-5)


ONES = np.ones(160)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"y": ONES[:5]}, ValueError, "y must have one entry per row of X; got 5"),
        ({"qid": ONES[:5]}, ValueError, "qid must have one entry per row; got 5 for 160"),
        ({"qid": [None] * 160}, ValueError, "qid must not be missing; got None in row 0"),
        ({"y": ONES * np.nan}, ValueError, "y must hold a label in some row; got NaN"),
        ({"y": ONES * np.inf}, ValueError, "y must be finite; got inf in row 0"),
        ({"y": -ONES}, ValueError, "y must not be negative where it .*; got -1"),
        ({"y": np.arange(160) * 10}, ValueError, "y must .*; got 1590"),
        ({"X": np.full((160, 2), np.inf)}, ValueError, "X must not hold infinity"),
        ({"sample_weight": -ONES}, ValueError, "sample_weight must not be negative; got -1"),
        ({"query_weight": ONES * np.nan}, ValueError, "query_weight must be finite"),
        ({"query_weight": np.arange(160)}, ValueError, "query_weight must be constant within a q"),
        ({"given_pairs": [[0, 150, 1]]}, ValueError, "i and j must be of one query"),
        ({"given_pairs": [[0, 1, -1]]}, ValueError, "weights must be finite and >= 0"),
        ({"eval_set": 3}, ValueError, r"eval_set must be \(X, y\) or \(X, y, qid\)"),
        ({"eval_set": [np.eye(4)]}, ValueError, "eval_set must .*or a list of such tuples"),
        ({"eval_set": [(np.eye(4),)]}, ValueError, "eval_set must .*or a list of such tuples"),
        ({"eval_metric": "map"}, ValueError, "eval_set must be given where eval_metric is"),
        ({"eval_set": ([[1.0]], [1])}, ValueError, "X has 1 features, but TreeDirectRanker is exp"),
        ({"eval_set": (np.eye(4), [1])}, ValueError, "eval_set: y must have one entry per row"),
        ({"eval_set": (np.eye(4), [0] * 4)}, ValueError, "eval_set: y must have something to find"),
        ({"eval_set": (np.eye(4), [1] * 4, [None] * 4)}, ValueError, "eval_set: qid must not be m"),
        ({"y": [0, None] + [np.inf] * 158}, ValueError, "y must be finite; got inf in row 2"),
        ({"y": ["good"] * 160}, TypeError, "y must be numbers; got"),
        ({"y": np.array([b"1"] * 160)}, TypeError, "y must be numbers; got"),
        ({"y": ONES + 1j}, ValueError, "y: Complex data not supported"),
        ({"y": ONES.astype("M8[s]")}, TypeError, "y must be numbers; got"),
        ({"y": [10**400] * 160}, TypeError, "y must be numbers; got"),
        ({"y": np.ma.array(ONES, mask=ONES > 0)}, ValueError, "y must have no masked entries"),
        ({"X": [["good"]] * 160}, ValueError, "X must hold numbers, .*convert string to float"),
        ({"X": [[10**400]] * 160}, ValueError, "X: int too large to convert to float"),
        ({"X": np.ones((160, 2), "M8[s]")}, TypeError, "X must be numbers; got datetime64"),
        ({"X": np.ma.array(np.eye(160), mask=True)}, ValueError, "X must have no masked entries"),
        ({"X": ONES}, ValueError, "X must have a row for each document; got 160"),
        ({"y": None}, ValueError, r"y must be one label per row of X.* y is None.* fit\(\*data\)"),
        ({"sample_weight": [1]}, ValueError, "sample_weight must have one entry per document; got"),
        ({"sample_weight": ONES * np.nan}, ValueError, "sample_weight must be finite; got nan"),
        ({"sample_weight": ONES * 0}, ValueError, "must leave a row; got zeros only"),
        ({"query_weight": [1]}, ValueError, "query_weight must have one entry per document; got 1"),
        ({"query_weight": -ONES}, ValueError, "query_weight must not be negative; got -1.0 in ro"),
        ({"given_pairs": [[0, 160, 1]]}, ValueError, "given_pairs: rows must be integers .* row 0"),
        ({"sample_weight": ["a"] * 160}, TypeError, "sample_weight must be numbers; got"),
        ({"sample_weight": ONES * 1e-30}, ValueError, "sample_weight must be 0 or from 1e-15"),
        ({"given_pairs": [["a", "b"]]}, TypeError, "given_pairs must be numbers; got"),
        ({"eval_set": (np.eye(4), [1] * 4, [0] * 4)}, ValueError, "eval_set must hold out a qu"),
    ],
)
def test_bad_data_is_refused_before_any_training(data, changed, error, message):
    given = dict(zip(["X", "y", "qid"], data, strict=True)) | changed
    with pytest.raises(error, match=message):
        some_ranker().fit(**given)


def test_an_eval_set_may_be_what_a_reader_returned(data):
    ranker = some_ranker()
    expected = ranker.fit(*data, eval_set=data).evals_result_
    assert ranker.fit(*data, eval_set=RankingData(*data)).evals_result_ == expected
    frame = pl.DataFrame({"X": [1.0], "y": [1.0], "qid": [1]})
    with pytest.raises(ValueError, match=r"eval_set must be \(X, y\) or .*DataFrame"):
        ranker.fit(*data, eval_set=frame.to_pandas())


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_frames_that_are_not_in_memory_are_refused(data):
    X, y, qid = data
    lazy = pl.DataFrame(X, schema=[f"f{i}" for i in range(X.shape[1])]).lazy()
    with pytest.raises(TypeError, match=r"X must be in memory; got .*LazyFrame.* Collect its rows"):
        some_ranker().fit(lazy, y, qid)
    ranker = some_ranker().fit(lazy.collect(), y, qid)
    with pytest.raises(TypeError, match="X must be in memory"):
        ranker.predict(lazy)


def test_arrays_to_predict_are_checked_and_those_of_other_layouts_converted(data):
    X, y, qid = data
    ranker = some_ranker().fit(X, y, qid)
    for dtype, value in itertools.product((np.float64, np.float32), (np.inf, -np.inf)):
        wrong = X.astype(dtype)
        wrong[0, 0], wrong[3, 1] = np.nan, value
        with pytest.raises(ValueError, match="X must not hold infinity"):
            ranker.predict(wrong)
    for message, wrong in {
        "0 sample": X[:0],
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


def test_an_index_out_of_range_is_refused_before_compiled_code_follows_it(data):
    X, y, qid = data
    ranker = some_ranker().fit(sparse.csr_matrix(X), y, qid)
    for form, index in itertools.product(("csr", "csc", "coo"), (-5, 10**6)):
        wrong = sparse.coo_matrix(X).asformat(form)
        (wrong.col if form == "coo" else wrong.indices)[0] = index
        for call in (lambda X: some_ranker().fit(X, y, qid), ranker.predict):
            with pytest.raises(ValueError, match=r"^X: .*ind"):
                call(wrong)


def test_labels_of_another_length_are_not_blamed_on_the_queries(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="y must have one entry per document; got 159 for 160"):
        some_ranker().fit(X, y, qid).score(X, y[:-1], qid)


def test_pairs_for_a_loss_without_pairs_are_refused_without_row_numbers(data):
    message = "given_pairs must be None for loss='listnet', which does not read them; got 1"
    with pytest.raises(ValueError, match=message):
        some_ranker(loss="listnet").fit(*data, given_pairs=[[0, 1]])


@pytest.mark.parametrize("weight", [np.zeros(160), np.ones(160)])
def test_a_score_of_nothing_to_find_is_nan_with_a_warning_whatever_the_weights(data, weight):
    X, y, qid = data
    ranker = some_ranker().fit(X, y, qid)
    with pytest.warns(UndefinedMetricWarning, match="ndcg@10 is undefined"):
        assert np.isnan(ranker.score(X, y * (weight == 0), qid, sample_weight=weight))


@pytest.mark.parametrize("part", ["lightgbm", "histogram"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 1e-36])
def test_features_that_are_zero_make_a_constant_model(data, part, form, value):
    _, y, qid = data
    X = np.full((160, 2), value)
    if part == "histogram" and form is not np.asarray:
        pytest.skip("reads no sparse matrices")
    X = form(X)
    ranker = TreeDirectRanker(part, random_state=0, warm_start=True).fit(X, y, qid)
    ranker.set_params(feature_part__n_estimators=201).fit(X, y, qid, eval_set=(X, y, qid))
    np.testing.assert_array_equal(ranker.predict(np.ones((3, 2))), 0)


def test_a_sample_of_zeros_alone_makes_a_constant_model():
    X = np.zeros((100_000, 1))
    X[0] = 1.0
    y, qid = np.tile([0, 1], 50_000), np.repeat(np.arange(10_000), 10)
    ranker = TreeDirectRanker(PARTS["lightgbm"], random_state=0).fit(X, y, qid)
    assert np.isfinite(ranker.predict(X[:2])).all()


def test_numbers_beyond_single_precision_are_refused_by_xgboost_alone(data):
    X, y, qid = data
    X = X * np.array([1e39, 1, 1, 1])
    with pytest.raises(ValueError, match=r"X must be at most 3.4e\+38 in size for XGBoost"):
        TreeDirectRanker(PARTS["xgboost"]).fit(X, y, qid)
    assert np.isfinite(some_ranker().fit(X, y, qid).predict(X)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "logstic"}, "loss must be .*; got 'logstic'.* Did you mean 'logistic'"),
        ({"weight": "ngcd"}, "weight must be .*'ndcg'.*; got 'ngcd'"),
        ({"pairs": "adjacnt"}, "pairs must be .*; got 'adjacnt'.* Did you mean 'adjacent'"),
        ({"pairs": "with_ties"}, "weight must be one of .* for pairs of equal labels"),
        ({"loss": "listnet", "weight": "map"}, "weight must be None for loss='listnet', which d"),
        ({"sigma": "auto"}, "sigma must be a finite number above 0; got 'auto'"),
        ({"tau": "tan"}, r"tau must be one of .*'tanh'\]; got 'tan'. Did you mean 'tanh'"),
        ({"head_alpha": -1.0}, "head_alpha must be a finite number of at least 0; got -1.0"),
        ({"sigma": 0}, "sigma must be a finite number above 0; got 0"),
        ({"metric": "NDCG@10"}, "metric must be one of ndcg.*Did you mean 'ndcg@10'"),
        ({"calibration": "cv"}, "calibration must be 'eval_set', None or a share .*; got 'cv'"),
        ({"calibration": 1.0}, "calibration must be 'eval_set', None or a share .*; got 1.0"),
        ({"calibration": 0.08}, "calibration must hold out .* two different"),
        ({"feature_part": "lightgmb"}, r"one of .*; got 'lightgmb'. Did you mean 'lightgbm'"),
        ({"feature_part": 3}, r"one of .*'lightgbm'.*; got 3"),
    ],
)
def test_unknown_settings_are_refused_with_the_known_ones(data, settings, message):
    X, y, qid = data
    qid = np.where(qid == 0, np.arange(160), qid + 1000)  # queries of one document to hold out
    with pytest.raises(ValueError, match=message):
        some_ranker().set_params(**settings).fit(X, y, qid)


def test_missing_values_are_no_obstacle(data):
    X, y, qid = data
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert some_ranker().fit(X, y, qid).score(X, y, qid) > 0.8
