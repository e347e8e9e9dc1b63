"""Both engines obey the same laws, whatever the objective."""

import pickle
from dataclasses import dataclass, field

import numba as nb
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from treerank.feature_parts.lightgbm import LightGBMTrees
from treerank.feature_parts.rows import Rows
from treerank.feature_parts.xgboost import XGBoostTrees

PARTS = [LightGBMTrees, XGBoostTrees]
SMALL = {"n_estimators": 15, "n_jobs": 1, "random_state": 0, "learning_rate": 0.3}


@dataclass
class HalfSquare:
    """Half the squared distance to a target: what the engines' own regression fits."""

    target: np.ndarray
    seen: list = field(default_factory=list)

    @property
    def n_outputs(self):
        return 1 if self.target.ndim == 1 else self.target.shape[1]

    def derivatives(self, scores, *, iteration=0):
        self.seen.append((iteration, scores.copy(), nb.get_num_threads()))
        return scores - self.target, np.ones_like(scores)


@dataclass
class Given:
    """An objective that returns what it is told."""

    gradient: np.ndarray
    hessian: np.ndarray
    n_outputs: int = 1

    def derivatives(self, scores, *, iteration=0):
        return self.gradient, self.hessian


RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
TARGET = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=600)
TARGETS = np.column_stack([TARGET, X[:, 3], np.abs(X[:, 0])])
HELD_OUT = RNG.normal(size=(200, 4))


def held_out_fit(scores):
    return -float(((scores - HELD_OUT[:, 0] - HELD_OUT[:, 1] * HELD_OUT[:, 2]) ** 2).mean())


def fitted(part_class, target=TARGET, data=X, validation=None, **params):
    return part_class(**{**SMALL, **params}).fit(data, HalfSquare(target), validation=validation)


@pytest.fixture(params=PARTS, ids=lambda part_class: part_class.__name__)
def part_class(request):
    return request.param


# What is fitted


def test_half_squared_error_gives_lightgbms_own_regression():
    import lightgbm

    params = {"objective": "regression", "boost_from_average": False, "learning_rate": 0.3}
    params |= {"verbosity": -1, "num_threads": 1}
    own = lightgbm.train(params, lightgbm.Dataset(X, TARGET), num_boost_round=15)
    np.testing.assert_allclose(fitted(LightGBMTrees).transform(X)[:, 0], own.predict(X), atol=1e-5)


def test_half_squared_error_gives_xgboosts_own_regression():
    import xgboost

    params = {"tree_method": "hist", "base_score": 0, "nthread": 1}
    own = xgboost.train(params, xgboost.QuantileDMatrix(X, TARGET), num_boost_round=15)
    np.testing.assert_allclose(
        fitted(XGBoostTrees).transform(X)[:, 0], own.inplace_predict(X), atol=1e-5
    )


def test_the_objective_sees_the_scores_of_the_trees_so_far_and_the_count_from_zero(part_class):
    objective = HalfSquare(TARGET)
    part = part_class(**SMALL).fit(X, objective)
    assert [iteration for iteration, _, _ in objective.seen] == list(range(15))
    assert not objective.seen[0][1].any()
    part.set_params(output="trees")
    before_last = part.transform(X)[:, :-1].sum(axis=1)
    np.testing.assert_allclose(objective.seen[-1][1], before_last, atol=1e-5)
    assert all(scores.dtype == np.float64 for _, scores, _ in objective.seen)


def test_missing_values_are_told_from_all_others(part_class):
    data = X.copy()
    missing = RNG.random(600) < 0.3
    data[missing, 0] = np.nan
    part = fitted(part_class, target=missing.astype(float), data=data)
    np.testing.assert_allclose(part.transform(data)[:, 0], missing, atol=0.05)


@pytest.mark.parametrize("how", ["index", "name", "mask", "rows"])
def test_categories_are_split_as_sets(part_class, how):
    codes = np.arange(2000) % 20  # equally frequent: LightGBM leaves the rarest percent out
    data = np.column_stack([RNG.normal(size=2000), codes])
    target = np.isin(codes, [1, 4, 6, 11, 13, 19]).astype(float)
    given = {"index": [1], "name": ["shop"], "mask": [False, True], "rows": None}[how]
    rows = Rows(data, None, ("price", "shop"), categorical=(1,) if how == "rows" else None)
    stump = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0}
    extra = {
        LightGBMTrees: {"engine_params": {"cat_smooth": 0, "cat_l2": 0, "max_cat_threshold": 32}},
        XGBoostTrees: {"reg_lambda": 0.0, "engine_params": {"max_cat_to_onehot": 1}},
    }[part_class]
    params = {**stump, **extra, "categorical_features": given}
    part = fitted(part_class, target, rows, **params)
    np.testing.assert_allclose(part.transform(data)[:, 0], target, atol=0.02)
    part.set_params(output="leaves")
    assert part.transform(data).shape == (2000, 2)


def test_a_monotone_score_never_falls(part_class):
    grid = np.zeros((50, 4))
    grid[:, 0] = np.linspace(-3, 3, 50)
    target = np.sin(3 * X[:, 0])
    free = fitted(part_class, target).transform(grid)[:, 0]
    assert np.diff(free).min() < 0
    for constraints in ([1, 0, 0, 0], {0: 1}):
        part = fitted(part_class, target, monotone_constraints=constraints)
        assert np.diff(part.transform(grid)[:, 0]).min() >= 0


def test_features_that_may_not_meet_add_up(part_class):
    target = X[:, 0] * X[:, 1] + X[:, 2]
    part = fitted(part_class, target, interaction_constraints=[[0], [1], [2], [3]])
    corners = np.array([[a, b, 0.0, 0.0] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    low_low, low_high, high_low, high_high = part.transform(corners)[:, 0]
    assert low_low + high_high == pytest.approx(low_high + high_low, abs=1e-5)


# Outputs


def test_the_single_trees_add_up_to_the_score(part_class):
    part = fitted(part_class)
    score = part.transform(X)
    assert score.shape == (600, part.n_outputs_) == (600, 1)
    part.set_params(output="trees")
    assert part.transform(X).shape == (600, part.n_outputs_) == (600, 15)
    np.testing.assert_allclose(part.transform(X).sum(axis=1), score[:, 0], atol=1e-5)


def test_leaves_times_their_values_are_the_score(part_class):
    part = fitted(part_class, output="leaves")
    leaves, table = part.transform(X), part.leaf_table()
    assert leaves.shape == (600, part.n_outputs_)
    np.testing.assert_array_equal(leaves.sum(axis=1), 15)
    assert (leaves.sum(axis=0) > 0).all()
    values = table.values[table.leaves >= 0][:, 0]
    part.set_params(output="score")
    np.testing.assert_allclose(leaves @ values, part.transform(X)[:, 0], atol=1e-5)


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_outputs_are_each_fitted_to_their_own(part_class, strategy):
    params = {"multi_strategy": strategy} if part_class is XGBoostTrees else {}
    part = fitted(part_class, TARGETS, n_estimators=40, **params)
    assert part.transform(X).shape == (600, 3)
    assert ((part.transform(X) - TARGETS) ** 2).mean(axis=0).max() < 0.1
    trees = part.set_params(output="trees").transform(X)
    assert trees.shape == (600, part.n_outputs_) == (600, 120)
    summed = trees.reshape(600, 40, 3).sum(axis=1)
    np.testing.assert_allclose(summed, part.set_params(output="score").transform(X), atol=1e-5)
    restored = part_class(n_jobs=1).set_state(part.get_state())
    np.testing.assert_array_equal(restored.transform(X), part.transform(X))


def test_separate_trees_per_output_are_those_of_separate_fits(part_class):
    together = fitted(part_class, TARGETS).transform(X)
    for k in range(3):
        alone = fitted(part_class, TARGETS[:, k]).transform(X)[:, 0]
        np.testing.assert_allclose(together[:, k], alone, atol=1e-4)


def test_no_rows_give_no_outputs(part_class):
    assert fitted(part_class).transform(X[:0]).shape == (0, 1)


# Continuation and early stopping


@pytest.mark.parametrize("how", ["warm_start", "part", "booster", "state", "file"])
def test_a_continued_fit_equals_one_long_fit(part_class, how, tmp_path):
    objective = HalfSquare(TARGET)
    first = fitted(part_class, n_estimators=9)
    if how == "warm_start":
        part = first.set_params(warm_start=True, n_estimators=15).fit(X, objective)
    else:
        path = tmp_path / "model.ubj"
        first.booster_.save_model(path)
        models = {"part": first, "booster": first.booster_, "file": path}
        model = (models | {"state": first.get_state()["model"]})[how]
        part = part_class(**{**SMALL, "n_estimators": 6}, init_model=model).fit(X, objective)
    assert [iteration for iteration, _, _ in objective.seen] == list(range(9, 15))
    assert part.best_iteration_ == 15
    np.testing.assert_array_equal(part.transform(X), fitted(part_class).transform(X))


def test_several_outputs_can_be_continued(part_class):
    part = fitted(part_class, TARGETS, n_estimators=9, warm_start=True)
    part.set_params(n_estimators=15).fit(X, HalfSquare(TARGETS))
    expected = fitted(part_class, TARGETS).transform(X)
    np.testing.assert_allclose(part.transform(X), expected, atol=1e-6)


def test_continuing_on_other_data_starts_from_the_right_scores(part_class):
    first = fitted(part_class)
    other, objective = HELD_OUT, HalfSquare(HELD_OUT[:, 0])
    part_class(**SMALL, init_model=first).fit(other, objective)
    np.testing.assert_allclose(objective.seen[0][1], first.transform(other)[:, 0], atol=1e-5)


def test_a_warm_start_without_more_trees_changes_nothing(part_class):
    part = fitted(part_class, warm_start=True)
    booster = part.booster_
    assert part.fit(X, HalfSquare(TARGET)).booster_ is booster
    with pytest.raises(ValueError, match="n_estimators must be at least 15"):
        part.set_params(n_estimators=14).fit(X, HalfSquare(TARGET))


def test_a_continued_fit_draws_other_rows(part_class):
    params = {"subsample": 0.5}
    params |= {"subsample_freq": 1} if part_class is LightGBMTrees else {}
    objective = Given(TARGET, np.ones(600))  # every tree sees the same gradient
    part = part_class(**{**SMALL, "n_estimators": 1}, **params, warm_start=True, output="trees")
    part.fit(X, objective)
    trees = part.set_params(n_estimators=2).fit(X, objective).transform(X)
    assert np.abs(trees[:, 0] - trees[:, 1]).max() > 1e-3


def test_early_stopping_keeps_the_trees_up_to_the_best(part_class):
    validation = HELD_OUT, held_out_fit
    params = {"n_estimators": 300, "learning_rate": 0.5}
    part = fitted(part_class, validation=validation, early_stopping_rounds=4, **params)
    values = part.evals_result_["validation"]["held_out_fit"]
    best = int(np.argmax(values))
    assert part.best_iteration_ == best + 1 == part.set_params(output="trees").n_outputs_
    assert len(values) == best + 1 + 4 < 300
    part.set_params(output="score")
    assert held_out_fit(part.transform(HELD_OUT)[:, 0]) == pytest.approx(values[best], abs=1e-5)
    whole = fitted(part_class, **{**params, "n_estimators": best + 1})
    np.testing.assert_allclose(part.transform(X), whole.transform(X), atol=1e-6)


def test_of_equal_values_the_fewest_trees_are_kept(part_class):
    part = fitted(part_class, validation=(HELD_OUT, lambda _: 0.5), early_stopping_rounds=3)
    assert part.best_iteration_ == 1
    assert part.evals_result_ == {"validation": {"<lambda>": [0.5] * 4}}


def test_validation_alone_is_written_down_and_stops_nothing(part_class):
    part = fitted(part_class, validation=(HELD_OUT, held_out_fit), warm_start=True)
    assert len(part.evals_result_["validation"]["held_out_fit"]) == 15 == part.best_iteration_
    part.set_params(n_estimators=20)
    part.fit(X, HalfSquare(TARGET), validation=(HELD_OUT, held_out_fit))
    assert len(part.evals_result_["validation"]["held_out_fit"]) == 20 == part.best_iteration_
    assert fitted(part_class).evals_result_ == {}


def test_a_metric_of_several_outputs_sees_them_all(part_class):
    shapes = []

    def metric(scores):
        shapes.append(scores.shape)
        return 0.0

    fitted(part_class, TARGETS, validation=(HELD_OUT, metric))
    assert set(shapes) == {(200, 3)}


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


def test_batches_end_anywhere(part_class, monkeypatch):
    from treerank.feature_parts import lightgbm_boundary, xgboost_boundary

    whole = fitted(part_class).transform(X)
    monkeypatch.setattr(xgboost_boundary, "_BATCH", 70)
    monkeypatch.setattr(lightgbm_boundary.RowSequence, "batch_size", 70)
    order = RNG.permutation(600)
    part = fitted(part_class, TARGET, Rows(X[order], np.argsort(order)))
    np.testing.assert_array_equal(part.transform(X), whole)


def test_kernels_get_the_threads_of_the_part_and_give_them_back(part_class):
    before = nb.get_num_threads()
    objective = HalfSquare(TARGET)
    part_class(**SMALL).fit(X, objective)
    assert {threads for _, _, threads in objective.seen} == {1}
    with pytest.raises(ValueError, match="gradient"):
        part_class(**SMALL).fit(X, Given(np.full(600, np.nan), np.ones(600)))
    assert nb.get_num_threads() == before


# Kept and copied


def test_a_state_and_a_pickle_predict_the_same_bits(part_class):
    part = fitted(part_class, validation=(HELD_OUT, held_out_fit))
    restored = part_class(n_jobs=1).set_state(part.get_state())
    for copy in (restored, pickle.loads(pickle.dumps(part))):
        for output in ("score", "trees", "leaves"):
            expected = part.set_params(output=output).transform(X)
            actual = copy.set_params(output=output).transform(X)
            assert (actual != expected).sum() == 0
        assert copy.evals_result_ == part.evals_result_
        assert copy.n_features_in_ == 4
        np.testing.assert_array_equal(copy.feature_importances_, part.feature_importances_)


def test_a_state_is_made_of_plain_values(part_class):
    state = fitted(part_class, validation=(HELD_OUT, held_out_fit)).get_state()
    assert isinstance(state.pop("model"), str | bytes)
    assert state.pop("evals_result_")["validation"]["held_out_fit"]
    assert all(type(value) is int for value in state.values())


def test_a_clone_is_unfitted_but_keeps_the_trees_to_start_from(part_class):
    first = fitted(part_class)
    copy = (
        clone(part_class(num_leaves=7, init_model=first))
        if part_class is LightGBMTrees
        else (clone(part_class(max_leaves=7, init_model=first)))
    )
    assert 7 in copy.get_params().values()
    assert copy.init_model is first
    with pytest.raises(NotFittedError):
        copy.transform(X)


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
    part.set_params(output="trees").transform(X)


# Refusals


@pytest.mark.parametrize(
    ("gradient", "hessian", "message"),
    [
        (np.full(600, np.nan), np.ones(600), "gradient must be finite; got nan"),
        (np.ones(600), np.full(600, np.inf), "hessian must be finite; got inf"),
        (np.ones(600), -np.ones(600), "hessian must be non-negative"),
        (np.ones(600), np.zeros(600), "hessian must be non-negative, and positive somewhere"),
        (np.ones(599), np.ones(599), r"gradient must have shape \(600,\).*got \(599,\)"),
        (np.ones(600), np.ones((600, 1)), r"hessian must have shape \(600,\)"),
    ],
)
def test_derivatives_no_tree_can_grow_from_are_refused(part_class, gradient, hessian, message):
    with pytest.raises(ValueError, match=message):
        part_class(**SMALL).fit(X, Given(gradient, hessian))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1; got 0"),
        ({"output": "tree"}, "output must be one of .*'leaves', 'score', 'trees'.* got 'tree'"),
        ({"importance_type": "cover"}, "importance_type must be one of"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number but 0"),
        ({"early_stopping_rounds": 3}, "validation must be given where early_stopping_rounds is"),
        ({"engine_params": {"no_such": 1}}, "engine_params must be known to .*; got 'no_such'"),
        ({"engine_params": {"learning_rate": 1}}, "engine_params must not hold .*'learning_rate'"),
        ({"engine_params": {"objective": "l2"}}, "engine_params must not hold .*'objective'"),
        ({"monotone_constraints": [1, 0]}, "monotone_constraints must be -1, 0 or 1"),
        ({"monotone_constraints": [2, 0, 0, 0]}, "monotone_constraints must be -1, 0 or 1"),
        ({"categorical_features": [4]}, "categorical_features must be columns from 0 to 3; got 4"),
        ({"categorical_features": ["a"]}, "categorical_features must name features of X"),
        ({"categorical_features": [True]}, "categorical_features must have one entry per feature"),
        ({"interaction_constraints": [[0, 9]]}, "interaction_constraints must be columns"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(part_class, params, message):
    with pytest.raises(ValueError, match=message):
        fitted(part_class, **params)


def test_dropped_trees_and_early_stopping_exclude_each_other():
    params = {"boosting": "dart", "early_stopping_rounds": 3}
    with pytest.raises(ValueError, match="early_stopping_rounds must be None with boosting='dart'"):
        fitted(LightGBMTrees, validation=(HELD_OUT, held_out_fit), **params)
    with pytest.raises(ValueError, match="boosting must be one of"):
        fitted(LightGBMTrees, boosting="rf")
    dart = fitted(LightGBMTrees, boosting="dart")
    trees = dart.set_params(output="trees").transform(X)
    score = dart.set_params(output="score").transform(X)
    np.testing.assert_allclose(trees.sum(axis=1), score[:, 0], atol=1e-9)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device must be one that XGBoost knows; got 'abacus'"):
        fitted(XGBoostTrees, device="abacus")
    with pytest.raises(ValueError, match="device must be one that is there; got 'cuda:99'"):
        fitted(XGBoostTrees, device="cuda:99")


def test_another_number_of_features_or_outputs_is_refused(part_class):
    part = fitted(part_class)
    with pytest.raises(ValueError, match="X must have 4 features; got 3"):
        part.transform(X[:, :3])
    with pytest.raises(ValueError, match="X must have 4 features; got 2"):
        fitted(part_class, validation=(HELD_OUT[:, :2], held_out_fit))
    with pytest.raises(ValueError, match="init_model must have as many features as X, 3; got 4"):
        fitted(part_class, data=X[:, :3], init_model=part)
    with pytest.raises(ValueError, match=r"init_model must have as many outputs .* 3; got 1"):
        fitted(part_class, TARGETS, init_model=part)
    with pytest.raises(NotFittedError):
        fitted(part_class, init_model=part_class())


def test_a_metric_that_is_no_number_is_refused(part_class):
    nowhere = type("Nowhere", (), {"name": "nowhere", "__call__": lambda *_: np.nan})()
    with pytest.raises(ValueError, match="metric 'nowhere' must return a number; got nan"):
        fitted(part_class, validation=(HELD_OUT, nowhere))


def test_a_leaf_that_is_a_line_has_no_single_value():
    part = fitted(LightGBMTrees, engine_params={"linear_tree": True})
    assert part.transform(X).shape == (600, 1)
    with pytest.raises(ValueError, match="output must be 'score' with linear_tree"):
        part.set_params(output="trees").transform(X)
