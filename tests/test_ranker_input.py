"""What a ranker cannot learn from is refused or warned of, and what it can is not."""

import warnings

import numpy as np
import pytest
from example_rankers import every_part, ranking_data, some_ranker
from sklearn.exceptions import NotFittedError

from treerank.rankers.tree_direct_ranker import TreeDirectRanker

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    return ranking_data()


def test_nothing_works_before_fit(data):
    X = data[0]
    ranker = TreeDirectRanker()
    calls = [
        lambda: ranker.predict(X),
        lambda: ranker.rank(X),
        lambda: ranker.top_k(X),
        lambda: ranker.compare(X, X),
        lambda: ranker.predict_pair_proba(X, X),
        lambda: ranker.save("nowhere"),
        lambda: ranker.feature_importances_,
    ]
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


@every_part
@pytest.mark.parametrize("y", [np.zeros(160), np.full(160, 2.0)])
def test_labels_without_a_pair_make_a_constant_model_and_a_warning(data, part, y):
    X, _, qid = data
    with pytest.warns(UserWarning, match="the model is constant"):
        ranker = TreeDirectRanker(part, random_state=0).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), 0)


def test_queries_of_one_document_make_a_constant_model_and_a_warning(data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="the model is constant"):
        ranker = some_ranker().fit(X, y, np.arange(160))
    np.testing.assert_array_equal(ranker.predict(X), 0)


def test_pair_losses_take_any_ordered_label(data):
    X, y, qid = data
    there = some_ranker(weight="uniform").fit(X, y, qid)
    fractional = some_ranker(weight="uniform").fit(X, y / 7 - 1e6, qid)
    np.testing.assert_allclose(fractional.predict(X), there.predict(X), rtol=1e-5)


ONES = np.ones(160)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"y": ONES[:5]}, ValueError, "inconsistent numbers of samples"),
        ({"qid": ONES[:5]}, ValueError, "qid must have one entry per row of X; got 5 for 160"),
        ({"qid": [None] * 160}, ValueError, "qid must not be missing; got None in row 0"),
        ({"y": ONES * np.nan}, ValueError, "Input y contains NaN"),
        ({"y": ONES * np.inf}, ValueError, "Input y contains infinity"),
        ({"y": -ONES}, ValueError, "y must not be negative where it has a gain; got -1"),
        ({"y": np.arange(160) * 10}, ValueError, "y must .*; got 1590"),
        ({"X": np.full((160, 2), np.inf)}, ValueError, "Input X contains infinity"),
        ({"sample_weight": -ONES}, ValueError, "sample_weight must not be negative; got -1"),
        ({"query_weight": ONES * np.nan}, ValueError, "query_weight must be finite"),
        ({"query_weight": np.arange(160)}, ValueError, "query_weight must be constant within a q"),
        ({"given_pairs": [[0, 150, 1]]}, ValueError, "i and j must be of one query"),
        ({"given_pairs": [[0, 1, -1]]}, ValueError, "weights must be finite and >= 0"),
        ({"eval_set": 3}, ValueError, r"eval_set must be \(X, y\) or \(X, y, qid\)"),
        ({"eval_set": ([[1.0]], [1])}, ValueError, "X has 1 features, but TreeDirectRanker is exp"),
        ({"eval_set": (np.eye(4), [1])}, ValueError, "y of eval_set must have one entry per row"),
        ({"eval_set": (np.eye(4), [0] * 4)}, ValueError, "y must have something to find"),
        ({"eval_set": (np.eye(4), [1] * 4)}, ValueError, "eval_set must hold out a query with two"),
    ],
)
def test_bad_data_is_refused_before_any_training(data, changed, error, message):
    given = dict(zip(["X", "y", "qid"], data, strict=True)) | changed
    with pytest.raises(error, match=message):
        some_ranker().fit(**given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "logstic"}, "loss must be .*'logistic'.*; got 'logstic'"),
        ({"weight": "ngcd"}, "weight must be .*'ndcg'.*; got 'ngcd'"),
        ({"pairs": "some"}, "pairs must be .*'all'.*; got 'some'"),
        ({"pairs": "with_ties"}, "weight must be one of .* for pairs of equal labels"),
        ({"loss": "listnet", "weight": "map"}, "weight must be None for loss='listnet', which has"),
        ({"sigma": "auto"}, "sigma must be a finite number above 0; got 'auto'"),
        ({"tau": "relu"}, r"tau must be one of .*'tanh'\]; got 'relu'"),
        ({"head_alpha": -1.0}, "head_alpha must be a finite number of at least 0; got -1.0"),
        (
            {"head_penalty": "l0"},
            r"head_penalty must be one of \['l1', 'l2', 'positive'\]; got 'l0'",
        ),
        ({"sigma": 0}, "sigma must be a finite number above 0; got 0"),
        ({"metric": "ngcd"}, "metric must be one of ndcg.*; got 'ngcd'"),
        ({"calibration": "cv"}, "calibration must be 'eval_set', None or a share .*; got 'cv'"),
        ({"calibration": 1.0}, "calibration must be 'eval_set', None or a share .*; got 1.0"),
        ({"calibration": 0.08}, "calibration must hold out .* two different"),
        ({"feature_part": "catboost"}, r"one of .*'lightgbm'.*; got 'catboost'"),
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
