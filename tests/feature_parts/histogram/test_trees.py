import itertools
import os
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial

import boosted_regression
import numpy as np
import pytest
from boosted_regression import RNG, SMALL, TARGET, TARGETS, X
from forest_cases import values_of_trees
from own_objective import HalfSquare
from scipy.sparse import csr_matrix
from shared_kernels import shared_by
from sklearn.base import clone

from treerank.documents.queries import QueryGroups
from treerank.feature_parts.histogram import grower
from treerank.feature_parts.histogram.trees import HistogramTrees

pytestmark = pytest.mark.slow


fitted = partial(boosted_regression.fitted, HistogramTrees)


def test_trees_are_lightgbms_where_the_answer_is_unique():
    import lightgbm

    data = RNG.integers(0, 40, size=(2000, 5)).astype(float)
    target = RNG.normal(size=40)[data[:, 0].astype(int)] + data[:, 1] * data[:, 2] / 100
    target += 0.1 * RNG.normal(size=2000)
    params = {"objective": "regression", "boost_from_average": False, "learning_rate": 0.3}
    params |= {"verbosity": -1, "num_threads": 1, "min_data_in_bin": 1, "lambda_l2": 1.0}
    own = lightgbm.train(params, lightgbm.Dataset(data, target), num_boost_round=10)
    ours = fitted(target, data, n_estimators=10, reg_lambda=1.0)
    np.testing.assert_allclose(ours.transform(data)[:, 0], own.predict(data), atol=1e-4)


@pytest.mark.parametrize("params", [{}, {"categorical_features": [2]}, {"max_bin": 7}])
def test_a_sparse_matrix_gives_the_trees_of_the_array_that_it_stands_for(params):
    data = np.where(X > 0.3, X.round(1), -X.round(1) * (X < -0.5))
    data[::7, 1], data[:, 2] = np.nan, np.floor(4 * abs(X[:, 2]))
    sparse = csr_matrix(data)
    sparse.data[::5] = 0  # stored zeros
    data = sparse.toarray()
    ours = fitted(data=sparse, **params)
    expected = fitted(data=data, **params).transform(data)
    assert np.ptp(expected) > 0
    np.testing.assert_array_equal(ours.transform(sparse), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_predictions_are_the_scores_in_training_bit_for_bit(dtype, order):
    data = np.asarray(X * 10, dtype=dtype, order=order)
    if dtype != np.int64:
        data[::7, 1] = np.nan
    objective = HalfSquare(TARGET)
    part = HistogramTrees(**{**SMALL, "subsample": 0.7}).fit(data, objective)
    first = clone(part).set_params(n_estimators=14).fit(data, HalfSquare(TARGET))
    np.testing.assert_array_equal(objective.seen[-1][1], first.transform(data)[:, 0])


def test_whole_numbers_lose_nothing():
    errors = dict.fromkeys(("float32", "int16", "int8"), 0.0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        data = rng.normal(size=(12_000, 6))
        truth = data[:, 0] * data[:, 1] + np.sin(2 * data[:, 2])
        noisy = truth[:6000] + rng.normal(size=6000)
        objective = HalfSquare(noisy, weight=rng.exponential(size=6000))
        sizes = SMALL | {"n_estimators": 40, "learning_rate": 0.1, "random_state": seed}
        for name in errors:
            part = HistogramTrees(**sizes, precision=name).fit(data[:6000], objective)
            scores = part.transform(data[6000:])[:, 0]
            errors[name] += np.mean((scores - truth[6000:]) ** 2)
    assert max(errors.values()) < 1.03 * errors["float32"]


@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_the_same_bits_for_any_number_of_threads_and_any_memory_layout(precision):
    data = np.random.default_rng(1).normal(size=(60_000, 9))  # threads share rows of large leaves
    target = data[:, 0] * data[:, 1]
    params = {"precision": precision, "subsample": 0.8, "n_estimators": 4}
    one = fitted(target, data, **params)
    two = fitted(target, np.asfortranarray(data), n_jobs=-1, **params)
    np.testing.assert_array_equal(one.transform(data), two.transform(data))
    assert one.booster_.gain.tobytes() == two.booster_.gain.tobytes()


def test_a_value_missing_in_prediction_only_goes_where_most_documents_went():
    part = fitted((X[:, 0] > 1).astype(float), n_estimators=1, num_leaves=2)
    gap = np.array([[np.nan, 0, 0, 0]])
    assert part.transform(gap) == part.transform([[-1.0, 0, 0, 0]])
    part = fitted((X[:, 0] > -1).astype(float), n_estimators=1, num_leaves=2)
    assert part.transform(gap) == part.transform([[1.0, 0, 0, 0]])


def test_codes_that_are_unknown_or_missing_are_one_category():
    data = np.column_stack([RNG.normal(size=2000), np.arange(2000) % 20])
    part = fitted(np.isin(data[:, 1], [1, 4]).astype(float), data, categorical_features=[1])
    assert len(np.unique(part.transform([[0.0, 77.0], [0.0, np.nan]]))) == 1


def test_categories_survive_continuation_on_other_codes():
    codes = RNG.integers(0, 6, size=(600, 1)).astype(float)
    first = fitted((codes[:, 0] % 2), codes, categorical_features=[0])
    shifted, objective = codes + 3, HalfSquare(TARGET)
    scores, values = first.transform(shifted)[:, 0], values_of_trees(first, codes)
    first.set_params(warm_start=True, n_estimators=30).fit(shifted, objective)
    np.testing.assert_array_equal(objective.seen[0][1], scores)
    np.testing.assert_array_equal(values_of_trees(first, codes)[:, :15], values)


def test_whole_queries_are_drawn():
    codes = np.repeat(np.arange(30), 20)
    groups = QueryGroups.from_qid(codes)
    part = HistogramTrees(**{**SMALL, "n_estimators": 1, "subsample_queries": 0.5})
    part.set_params(num_leaves=64, min_child_samples=1, learning_rate=1.0)
    data = codes[:, None].astype(float)
    scores = part.fit(data, HalfSquare(codes + 1.0, groups=groups)).transform(data)[:, 0]
    exact = scores.reshape(30, 20) == codes.reshape(30, 20) + 1
    drawn = exact.all(axis=1)
    assert 5 <= drawn.sum() <= 25
    assert (exact.any(axis=1) == drawn).all()


def test_no_more_features_are_used_than_drawn():
    part = fitted(n_estimators=30, colsample_bytree=0.25)
    features = np.split(part.booster_.feature, part.booster_.roots[1:])
    used = [set(feature[feature >= 0]) for feature in features]
    assert max(map(len, used)) == 1
    assert set.union(*used) == {0, 1, 2, 3}


def test_several_outputs_share_trees():
    assert fitted(TARGETS, n_estimators=6).booster_.n_trees == 6


def test_the_unit_of_an_output_does_not_matter():
    unit = np.array([1.0, 4.0, 0.25])
    part = HistogramTrees(**{**SMALL, "min_child_weight": 0.0})
    scores = part.fit(X, HalfSquare(TARGETS * unit, weight=unit**-2.0)).transform(X)
    np.testing.assert_allclose(scores / unit, fitted(TARGETS).transform(X), atol=1e-4)


#: Values that are refused, by parameter.
WRONG = {
    "grow_policy": "lossguide", "min_child_samples": 0, "subsample_queries": 1.5, "max_bin": 256,
    "precision": "float64",
}  # fmt: skip


def test_bad_parameters_data_and_models_are_refused():
    for name, value in WRONG.items():
        with pytest.raises(ValueError, match=f"^{name} must"):
            fitted(**{name: value})
    foreign = replace(fitted().forest(), sum_dtype="float32").as_state()
    with pytest.raises(ValueError, match="must be one that they have grown"):
        HistogramTrees().restore_booster(foreign)
    with pytest.raises(ValueError, match="monotone_constraints must be None with several"):
        fitted(TARGETS, monotone_constraints=[1, 0, 0, 0])
    with pytest.raises(ValueError, match="monotone_constraints must be 0 for categories"):
        fitted(data=np.abs(X).round(), monotone_constraints=[1, 0, 0, 0], categorical_features=[0])


def test_nothing_to_learn_gives_a_constant():
    assert np.ptp(fitted(np.zeros(600)).transform(X)) == 0
    assert np.ptp(fitted(data=np.ones((600, 2))).transform(X[:, :2])) == 0
    assert fitted(TARGET[:1], X[:1]).transform(X).shape == (600, 1)


def test_a_thread_that_fails_ends_the_others(monkeypatch):
    work, failed, n_calls = grower._work, threading.Event(), itertools.count()

    def fail_in_this_thread(*arguments):
        if threading.current_thread() is threading.main_thread():
            counters = arguments[1][-1]
            counters[1] = 0  # has taken the first task
            failed.set()
            raise MemoryError
        assert failed.wait(60)
        return next(n_calls) < 1000 and work(*arguments)

    monkeypatch.setattr(grower, "_work", fail_in_this_thread)
    with pytest.raises(MemoryError), shared_by(2):
        fitted(RNG.normal(size=2000), RNG.normal(size=(2000, 3)), n_jobs=2)
    assert next(n_calls) < 1000


def test_more_threads_than_cores_grow_the_same_trees():
    lines = [
        "import numpy as np",
        "from treerank import HistogramTrees, TreeDirectRanker",
        "rng = np.random.default_rng(0)",
        "X, y = rng.integers(0, 12, size=(20_000, 40)).astype(float), rng.integers(0, 5, 20_000)",
        "for n_jobs in (1, 2, 3, 5, 8):",
        "    part = HistogramTrees(10, num_leaves=8, n_jobs=n_jobs)",
        "    ranker = TreeDirectRanker(part, random_state=0).fit(X, y, np.arange(20_000) // 20)",
        "    print(repr(ranker.predict(X[:1000]).tolist()))",
    ]
    environment = os.environ | {"NUMBA_NUM_THREADS": "8", "OMP_NUM_THREADS": "8"}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    scores = done.stdout.splitlines()
    assert len(scores) == 5
    assert len(set(scores)) == 1
