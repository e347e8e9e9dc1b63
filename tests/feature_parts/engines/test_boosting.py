"""All engines obey the same laws, whatever the objective."""

import pickle

import numba as nb
import numpy as np
import pytest
from boosted_regression import (
    HELD_OUT,
    PARTS,
    SMALL,
    TARGET,
    TARGETS,
    Given,
    HalfSquare,
    X,
    fitted,
    held_out_fit,
    values_of_trees,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from treerank.feature_parts.engines.boosting import BoostedTrees
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.feature_parts.rows import Rows

RNG = np.random.default_rng(1)
BY_LEAF = {LightGBMTrees: {}, XGBoostTrees: {"grow_policy": "lossguide", "max_depth": 0}}


@pytest.fixture(params=PARTS, ids=lambda part_class: part_class.__name__)
def part_class(request):
    return request.param


own_trees_too = pytest.mark.parametrize("part_class", [*PARTS, HistogramTrees])


# What is fitted


def test_half_squared_error_gives_lightgbms_own_regression():
    import lightgbm

    params = {"objective": "regression", "boost_from_average": False, "learning_rate": 0.3}
    params |= {"verbosity": -1, "num_threads": 1}
    own = lightgbm.train(params, lightgbm.Dataset(X, TARGET), num_boost_round=15)
    np.testing.assert_allclose(fitted(LightGBMTrees).transform(X)[:, 0], own.predict(X), atol=1e-5)


def test_half_squared_error_gives_xgboosts_own_regression():
    import xgboost

    params = {"tree_method": "hist", "base_score": 0, "nthread": 1, "max_bin": 128}
    params |= {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}
    data = xgboost.QuantileDMatrix(X, TARGET, max_bin=128)
    own = xgboost.train(params, data, num_boost_round=15)
    np.testing.assert_allclose(
        fitted(XGBoostTrees).transform(X)[:, 0], own.inplace_predict(X), atol=1e-5
    )


@pytest.mark.parametrize(
    ("n_rows", "max_bin", "n_bins"),
    [(50, 256, 50), (900, 256, 128), (1600, 256, 200), (1600, 9, 9)],
)
def test_few_rows_get_few_bins_of_xgboost(n_rows, max_bin, n_bins):
    shape = {"grow_policy": "lossguide", "max_depth": 0, "min_child_weight": 0.0, "reg_lambda": 0.0}
    shape |= {"num_leaves": 0}
    part = XGBoostTrees(n_estimators=1, max_bin=max_bin, n_jobs=1, **shape)
    target = np.random.default_rng(0).normal(size=n_rows)
    part.fit(np.arange(n_rows, dtype=float)[:, None], HalfSquare(target))
    assert len(np.unique(part.transform(np.arange(n_rows)[:, None]))) == n_bins


@own_trees_too
def test_the_objective_sees_the_scores_of_the_trees_so_far_and_the_count_from_zero(part_class):
    objective = HalfSquare(TARGET)
    part = part_class(**SMALL).fit(X, objective)
    assert [iteration for iteration, _, _ in objective.seen] == list(range(15))
    assert not objective.seen[0][1].any()
    before_last = values_of_trees(part, X)[:, :-1].sum(axis=1)
    np.testing.assert_allclose(objective.seen[-1][1], before_last, atol=1e-5)
    assert all(scores.dtype == np.float64 for _, scores, _ in objective.seen)


@own_trees_too
def test_missing_values_are_told_from_all_others(part_class):
    data = X.copy()
    missing = RNG.random(600) < 0.3
    data[missing, 0] = np.nan
    part = fitted(part_class, target=missing.astype(float), data=data)
    np.testing.assert_allclose(part.transform(data)[:, 0], missing, atol=0.05)


@own_trees_too
@pytest.mark.parametrize("how", ["index", "name", "rows"])
def test_categories_are_split_as_sets(part_class, how):
    codes = np.arange(2000) % 20  # equally frequent: LightGBM leaves the rarest percent out
    data = np.column_stack([RNG.normal(size=2000), codes])
    target = np.isin(codes, [1, 4, 6, 11, 13, 19]).astype(float)
    given = {"index": [1], "name": ["shop"], "rows": None}[how]
    rows = Rows(data, None, ("price", "shop"), categorical=(1,) if how == "rows" else None)
    stump = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0}
    extra = {
        LightGBMTrees: {"engine_params": {"cat_smooth": 0, "cat_l2": 0, "max_cat_threshold": 32}},
        XGBoostTrees: {"reg_lambda": 0.0, "engine_params": {"max_cat_to_onehot": 1}},
        HistogramTrees: {"cat_l2": 0.0},
    }[part_class]
    params = {**stump, **extra, "categorical_features": given}
    part = fitted(part_class, target, rows, **params)
    np.testing.assert_allclose(part.transform(data)[:, 0], target, atol=0.02)
    assert part.forest().is_leaf.sum() == 2


@own_trees_too
def test_a_monotone_score_never_falls(part_class):
    grid = np.zeros((50, 4))
    grid[:, 0] = np.linspace(-3, 3, 50)
    target = np.sin(3 * X[:, 0])
    free = fitted(part_class, target).transform(grid)[:, 0]
    assert np.diff(free).min() < 0
    for constraints in ([1, 0, 0, 0], {0: 1}):
        part = fitted(part_class, target, monotone_constraints=constraints)
        assert np.diff(part.transform(grid)[:, 0]).min() >= 0


@own_trees_too
def test_features_that_may_not_meet_add_up(part_class):
    target = X[:, 0] * X[:, 1] + X[:, 2]
    part = fitted(part_class, target, interaction_constraints=[[0], [1], [2], [3]])
    corners = np.array([[a, b, 0.0, 0.0] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    low_low, low_high, high_low, high_high = part.transform(corners)[:, 0]
    assert low_low + high_high == pytest.approx(low_high + high_low, abs=1e-5)


@own_trees_too
def test_features_on_one_path_are_of_one_group(part_class):
    groups = [[0, 1], [1, 2]]
    forest = fitted(part_class, X.sum(axis=1), interaction_constraints=groups).forest()
    paths = {root: frozenset() for root in forest.roots.tolist()}
    pending, used = list(paths), set()
    while pending:
        node = pending.pop()
        if not forest.is_leaf[node]:
            used.add(paths[node] | {int(forest.feature[node])})
            for child in (int(forest.left[node]), int(forest.right[node])):
                paths[child] = paths[node] | {int(forest.feature[node])}
                pending.append(child)
    assert {frozenset(group) for group in groups} <= used
    alone = [[3]] if part_class is XGBoostTrees else []  # others leave out what is in no group
    assert all(any(path <= set(group) for group in groups + alone) for path in used)
    free = [fitted(part_class, interaction_constraints=none) for none in (None, [], [[]])]
    assert len({part.transform(X).tobytes() for part in free}) == 1


def test_one_word_per_quantity_serves_every_engine(part_class):
    assert set(BoostedTrees().get_params()) <= set(part_class().get_params())
    few_leaves = fitted(part_class, num_leaves=3, n_estimators=1, **BY_LEAF[part_class])
    assert few_leaves.forest().is_leaf.sum() == 3
    assert not fitted(part_class, min_split_gain=1e9).feature_importances_.any()


# Outputs


@own_trees_too
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_outputs_are_each_fitted_to_their_own(part_class, strategy):
    params = {"multi_strategy": strategy} if part_class is XGBoostTrees else {}
    part = fitted(part_class, TARGETS, n_estimators=40, **params)
    assert part.transform(X).shape == (600, 3)
    assert ((part.transform(X) - TARGETS) ** 2).mean(axis=0).max() < 0.1
    summed = values_of_trees(part, X).reshape(600, 40, 3).sum(axis=1)
    np.testing.assert_allclose(summed, part.transform(X), atol=1e-5)
    restored = part_class(n_jobs=1).set_state(part.get_state())
    np.testing.assert_array_equal(restored.transform(X), part.transform(X))


def test_separate_trees_per_output_are_those_of_separate_fits(part_class):
    together = fitted(part_class, TARGETS).transform(X)
    for k in range(3):
        alone = fitted(part_class, TARGETS[:, k]).transform(X)[:, 0]
        np.testing.assert_allclose(together[:, k], alone, atol=1e-4)


def test_no_rows_give_no_outputs(part_class):
    assert fitted(part_class).transform(X[:0]).shape == (0, 1)


# The same bits


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads_grows_the_same_trees(part_class, n_jobs):
    data = RNG.normal(size=(5000, 3))
    target = np.exp(data[:, 0]) + data[:, 1]
    drawn = {"subsample": 0.7, "colsample_bytree": 0.7, "n_estimators": 5}
    one = fitted(part_class, target, data, **drawn)
    several = fitted(part_class, target, data, **drawn, n_jobs=n_jobs)
    np.testing.assert_array_equal(several.transform(data), one.transform(data))


def test_the_same_seed_draws_the_same_and_another_draws_anew(part_class):
    drawn = {"subsample": 0.5, "engine_params": None}
    drawn |= {"subsample_freq": 1} if part_class is LightGBMTrees else {}
    scores = [fitted(part_class, **drawn, random_state=s).transform(X) for s in (1, 1, 2)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


@pytest.mark.parametrize("layout", ["C", "F", "float32"])
def test_rows_in_an_order_are_the_gathered_array(part_class, layout):
    values = {"C": X, "F": np.asfortranarray(X), "float32": X.astype(np.float32)}[layout]
    order = RNG.permutation(600)[:500]
    gathered = np.ascontiguousarray(values[order])
    validation = (Rows(HELD_OUT, np.arange(200)[::-1]), lambda s: held_out_fit(s[::-1]))
    rows = fitted(part_class, TARGET[order], Rows(values, order), validation=validation)
    array = fitted(part_class, TARGET[order], gathered, validation=(HELD_OUT, held_out_fit))
    np.testing.assert_array_equal(rows.transform(X), array.transform(X))
    np.testing.assert_array_equal(rows.transform(Rows(X, order)), array.transform(X)[order])
    (a,), (b,) = (part.evals_result_["validation"].values() for part in (rows, array))
    np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("target", [TARGET, TARGETS], ids=["one output", "three"])
def test_validation_by_the_training_rows_needs_no_copy_of_them(part_class, target):
    rows, scores_of = Rows(X), []
    for data in (rows, X.copy()):
        seen = []
        validation = (data, lambda s, to=seen: to.append(s) or 0)
        fitted(part_class, target, rows, validation=validation, early_stopping_rounds=None)
        scores_of.append(np.array(seen))
    assert scores_of[0].shape == (SMALL["n_estimators"], *target.shape)
    np.testing.assert_array_equal(*scores_of)


def test_batches_end_anywhere(part_class, monkeypatch):
    from treerank.feature_parts.engines import lightgbm_boundary, xgboost_boundary

    more = {}
    if part_class is LightGBMTrees:  # which reads few rows at once
        more = {"engine_params": {"bin_construct_sample_cnt": 300}}
    whole = fitted(part_class, **more).transform(X)
    monkeypatch.setattr(xgboost_boundary, "_BATCH", 70)
    monkeypatch.setattr(lightgbm_boundary.RowSequence, "batch_size", 70)
    order = RNG.permutation(600)
    part = fitted(part_class, TARGET, Rows(X[order], np.argsort(order)), **more)
    np.testing.assert_array_equal(part.transform(X), whole)


@own_trees_too
def test_kernels_get_the_threads_of_the_part_and_give_them_back(part_class):
    before = nb.get_num_threads()
    objective = HalfSquare(TARGET)
    part_class(**SMALL).fit(X, objective)
    assert {threads for _, _, threads in objective.seen} == {1}
    with pytest.raises(ValueError, match="gradient"):
        part_class(**SMALL).fit(X, Given(np.full(600, np.nan), np.ones(600)))
    assert nb.get_num_threads() == before


# Kept and copied


@own_trees_too
def test_a_state_and_a_pickle_predict_the_same_bits(part_class):
    part = fitted(part_class, validation=(HELD_OUT, held_out_fit))
    restored = part_class(n_jobs=1).set_state(part.get_state())
    for copy in (restored, pickle.loads(pickle.dumps(part))):
        np.testing.assert_array_equal(copy.transform(X), part.transform(X))
        assert copy.evals_result_ == part.evals_result_
        assert copy.n_features_in_ == 4
        np.testing.assert_array_equal(copy.feature_importances_, part.feature_importances_)


def test_a_state_is_made_of_plain_values(part_class):
    state = fitted(part_class, validation=(HELD_OUT, held_out_fit)).get_state()
    assert isinstance(state.pop("model"), str | bytes)
    assert state.pop("evals_result_")["validation"]["held_out_fit"]
    assert all(type(value) in (int, float) for value in state.pop("sizes").values())
    assert not state


@own_trees_too
def test_a_clone_is_unfitted_but_keeps_the_trees_to_start_from(part_class):
    first = fitted(part_class)
    copy = clone(part_class(num_leaves=7, init_model=first))
    assert copy.num_leaves == 7
    assert copy.init_model is first
    with pytest.raises(NotFittedError):
        copy.transform(X)


@own_trees_too
@pytest.mark.parametrize("kind", ["gain", "split"])
def test_importances_are_shares_of_the_features_that_matter(part_class, kind):
    importances = fitted(part_class, X[:, 2], importance_type=kind).feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances.argmax() == 2
    nothing = fitted(part_class, np.zeros(600)).feature_importances_
    assert not nothing.any()


def test_names_reach_the_engine_and_odd_ones_do_no_harm(part_class):
    def names_of(names):
        booster = fitted(part_class, data=Rows(X, None, names)).booster_
        return booster.feature_name() if part_class is LightGBMTrees else booster.feature_names

    assert names_of(("a", "b", "c", "d")) == ["a", "b", "c", "d"]
    assert len(set(names_of(("a[0]", "a<0]", 'x"', "y: z")))) == 4
    part = fitted(part_class, data=Rows(X, None, ("a", "b", "c", "d")))
    np.testing.assert_array_equal(part.transform(X), fitted(part_class).transform(X))
