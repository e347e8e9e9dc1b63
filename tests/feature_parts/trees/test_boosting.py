import re

import lightgbm
import numba as nb
import numpy as np
import pytest
import xgboost
from boosted_regression import ALL, SMALL, TARGET, TARGETS, VALIDATION, X, fitted, own_trees_too
from forest_cases import values_of_trees
from own_objective import Given, HalfSquare

from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.feature_parts import HistogramTrees, LightGBMTrees, XGBoostTrees
from treerank.feature_parts.trees import lightgbm as lightgbm_trees
from treerank.feature_parts.trees import xgboost as xgboost_trees
from treerank.feature_parts.trees.boosting import BoostedTrees

RNG = np.random.default_rng(1)
HELD_OUT, held_out_fit = VALIDATION
BY_LEAF = {LightGBMTrees: {}, XGBoostTrees: {"grow_policy": "lossguide", "max_depth": 0}}


def test_half_squared_error_gives_the_engines_own_regression():
    params = {"objective": "regression", "boost_from_average": False, "learning_rate": 0.3}
    params |= {"verbosity": -1, "num_threads": 1}
    own = lightgbm.train(params, lightgbm.Dataset(X, TARGET), num_boost_round=15).predict(X)
    np.testing.assert_allclose(fitted(LightGBMTrees).transform(X)[:, 0], own, atol=1e-5)
    params = {"tree_method": "hist", "base_score": 0, "nthread": 1, "max_bin": 128}
    params |= {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}
    data = xgboost.QuantileDMatrix(X, TARGET, max_bin=128)
    own = xgboost.train(params, data, num_boost_round=15).inplace_predict(X)
    np.testing.assert_allclose(fitted(XGBoostTrees).transform(X)[:, 0], own, atol=1e-5)


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
    categories = {1: [*range(20)]} if how == "rows" else {}
    rows = Rows(data, columns=Columns(categories, names=("price", "shop")))
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
@pytest.mark.parametrize("given", [[], ["size"], ["size", "shop"]])
def test_columns_of_codes_are_added_to_the_categories_of_a_frame(part_class, given):
    codes = np.arange(1200).reshape(600, 2) % (4, 6)
    columns = Columns({1: [*"abcdef"]}, names=("size", "shop"))
    target, rows = np.isin(codes[:, 1], [1, 5]).astype(float), Rows(codes * 1.0, columns=columns)
    settings = {"n_estimators": 1, "categorical_features": given}
    forest = fitted(part_class, target, rows, **settings).forest()
    assert 1 in forest.feature
    assert forest.is_by_set[forest.feature == 1].all()
    with pytest.raises(ValueError, match="monotone_constraints must be 0 for categories"):
        fitted(part_class, target, rows, monotone_constraints={"shop": 1}, **settings)


@own_trees_too
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_score_never_turns(part_class, sign):
    grid = np.zeros((50, 4))
    grid[:, 0] = np.linspace(-3, 3, 50)
    target = sign * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 0]
    assert (sign * np.diff(fitted(part_class, target).transform(grid)[:, 0])).min() < 0
    for constraints in ([sign, 0, 0, 0], {0: sign}):
        part = fitted(part_class, target, monotone_constraints=constraints, n_estimators=40)
        ranges = []
        for other in (-2.0, 0.0, 2.0):
            grid[:, 1] = other
            assert (sign * np.diff(part.transform(grid)[:, 0])).min() >= 0
            ranges.append(np.ptp(part.transform(grid)))
        assert max(ranges) > 0.5


@own_trees_too
def test_features_that_may_not_meet_add_up(part_class):
    target = X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 0] * X[:, 2] + X[:, 3]
    part = fitted(part_class, target, interaction_constraints=[[0, 1], [1, 2]])

    def excess(*features):
        corners = np.zeros((4, 4))
        corners[:, features] = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
        return abs(part.transform(corners)[:, 0] @ [1, -1, -1, 1])

    assert excess(0, 2) < 1e-5 < 0.1 < min(excess(0, 1), excess(1, 2))
    # Others leave out what is in no group.
    assert (part.feature_importances_[3] > 0) == (part_class is XGBoostTrees)
    free = [fitted(part_class, interaction_constraints=none) for none in (None, [], [[]])]
    assert len({each.transform(X).tobytes() for each in free}) == 1


def test_one_word_per_quantity_serves_every_engine(part_class):
    assert set(BoostedTrees().get_params()) <= set(part_class().get_params())
    few_leaves = fitted(part_class, num_leaves=3, n_estimators=1, **BY_LEAF[part_class])
    assert few_leaves.forest().is_leaf.sum() == 3
    assert not fitted(part_class, min_split_gain=1e9).feature_importances_.any()


VECTORS = {"engine_params": {"multi_strategy": "multi_output_tree"}}


@pytest.mark.parametrize(
    ("part_class", "params"), [*[(part, {}) for part in ALL], (XGBoostTrees, VECTORS)]
)
def test_several_outputs_are_each_fitted_to_their_own(part_class, params):
    part = fitted(part_class, TARGETS, n_estimators=40, **params)
    assert part.transform(X).shape == (600, 3)
    assert ((part.transform(X) - TARGETS) ** 2).mean(axis=0).max() < 0.1
    summed = values_of_trees(part, X).reshape(600, 40, 3).sum(axis=1)
    np.testing.assert_allclose(summed, part.transform(X), atol=1e-5)
    restored = part_class(n_jobs=1).set_state(part.get_state())
    np.testing.assert_array_equal(restored.transform(X), part.transform(X))


def test_what_is_drawn_depends_on_the_seed_and_not_on_the_number_of_threads(part_class):
    data = RNG.normal(size=(5000, 3))
    target = np.exp(data[:, 0]) + data[:, 1]
    drawn = {"subsample": 0.7, "colsample_bytree": 0.7, "n_estimators": 5}
    drawn |= {"subsample_freq": 1} if part_class is LightGBMTrees else {}
    one, several, other = (
        fitted(part_class, target, data, **drawn, n_jobs=n_jobs, random_state=seed).transform(data)
        for n_jobs, seed in ((1, 1), (3, 1), (1, 2))
    )
    np.testing.assert_array_equal(several, one)
    assert not np.array_equal(other, one)


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


def test_batches_end_anywhere_and_rows_come_in_any_order(part_class, monkeypatch):
    more = {}
    if part_class is LightGBMTrees:  # which reads few rows at once
        more = {"engine_params": {"bin_construct_sample_cnt": 300}}
    whole = fitted(part_class, validation=VALIDATION, **more)
    monkeypatch.setattr(xgboost_trees, "_BATCH", 70)
    monkeypatch.setattr(lightgbm_trees.RowSequence, "batch_size", 70)
    order = RNG.permutation(600)
    rows = Rows(np.asfortranarray(X[order]), np.argsort(order))
    validation = (Rows(HELD_OUT, np.arange(200)[::-1]), lambda s: held_out_fit(s[::-1]))
    part = fitted(part_class, TARGET, rows, validation=validation, **more)
    np.testing.assert_array_equal(part.transform(rows), whole.transform(X))
    (found,), (expected,) = (each.evals_result_["validation"].values() for each in (part, whole))
    np.testing.assert_allclose(found, expected)


@own_trees_too
def test_kernels_get_the_threads_of_the_part_and_give_them_back(part_class):
    before = nb.get_num_threads()
    objective = HalfSquare(TARGET)
    part_class(**SMALL).fit(X, objective)
    assert {threads for _, _, threads in objective.seen} == {1}
    with pytest.raises(ValueError, match="gradient"):
        part_class(**SMALL).fit(X, Given(np.full(600, np.nan), np.ones(600)))
    assert nb.get_num_threads() == before


def test_a_state_is_made_of_plain_values_and_keeps_more_than_predictions(part_class):
    part = fitted(part_class, validation=VALIDATION)
    copy, state = part_class(n_jobs=1).set_state(part.get_state()), part.get_state()
    assert copy.evals_result_ == part.evals_result_
    np.testing.assert_array_equal(copy.feature_importances_, part.feature_importances_)
    assert isinstance(state.pop("model"), str | bytes)
    assert state.pop("evals_result_")["validation"]["held_out_fit"]
    assert all(type(value) in (int, float) for value in state.pop("sizes").values())
    assert state == {"measured_after": 0, "n_removed": 0}


@own_trees_too
def test_importances_are_shares_of_the_features_that_matter(part_class):
    importances = fitted(part_class, X[:, 2]).feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances.argmax() == 2
    nothing = fitted(part_class, np.zeros(600)).feature_importances_
    assert not nothing.any()


def test_names_reach_the_engine_and_odd_ones_do_no_harm(part_class):
    def names_of(names):
        booster = fitted(part_class, data=Rows(X, columns=Columns(names=names))).booster_
        return booster.feature_name() if part_class is LightGBMTrees else booster.feature_names

    assert names_of(("a", "b", "c", "d")) == ["a", "b", "c", "d"]
    assert len(set(names_of(("a[0]", "a<0]", 'x"', "y: z")))) == 4
    part = fitted(part_class, data=Rows(X, columns=Columns(names=("a", "b", "c", "d"))))
    np.testing.assert_array_equal(part.transform(X), fitted(part_class).transform(X))


@pytest.mark.parametrize(
    ("gradient", "hessian", "message"),
    [
        (np.full(600, np.nan), np.ones(600), "gradient must be finite .*; got nan from Given in"),
        (np.full(600, -1e150), np.ones(600), r"gradient must be finite .*; got -1e\+150 from"),
        (TARGET, np.full(600, np.inf), r"hessian must be .*; got inf from Given in iteration 0\."),
        (np.ones(600), -np.ones(600), "hessian must be non-negative"),
        (np.ones(600), np.zeros(600), "hessian must be non-negative, and positive somewhere"),
        (np.ones(599), np.ones(599), r"gradient must have shape \(600,\).*got \(599,\)"),
        (np.ones(600), np.ones((600, 1)), r"hessian must have shape \(600,\)"),
    ],
)
def test_derivatives_no_tree_can_grow_from_are_refused(part_class, gradient, hessian, message):
    with pytest.raises(ValueError, match=message):
        part_class(**SMALL).fit(X, Given(gradient, hessian))


@own_trees_too
def test_large_derivatives_split_trees(part_class):
    for factor in (1e12, 1e17):  # sums of all documents cancel
        steep = Given(TARGET * factor, np.full(600, factor))
        assert np.std(part_class(**SMALL).fit(X, steep).transform(X)) > 0


def test_xgboost_refuses_sums_whose_squares_are_infinite_in_single_precision():
    steep = Given(1e18 + np.abs(TARGET) * 1e18, np.full(600, 1e18))
    assert np.std(LightGBMTrees(**SMALL).fit(X, steep).transform(X)) > 0
    with pytest.raises(ValueError, match=r"gradient must have sums of at most 1\.84e.* Given"):
        XGBoostTrees(**SMALL).fit(X, steep)
    with pytest.raises(ValueError, match="gradient must be finite and at most"):
        XGBoostTrees(**SMALL).fit(X, Given(TARGET * 1e20, np.full(600, 1e20)))


def test_a_loss_that_overflows_is_named_with_the_iteration():
    class Growing(Given):
        name = "growing"

        def derivatives(self, scores, *, iteration=0):
            return self.gradient * 1e20**iteration, self.hessian

    found = r"got 1e\+40 from growing in iteration 2\. Lower learning_rate\?"
    with pytest.raises(ValueError, match=found):
        LightGBMTrees(**SMALL).fit(X, Growing(np.ones(600), np.ones(600)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be 'auto' or a whole number of at least 1; got 0"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number but 0"),
        ({"early_stopping_rounds": 3}, "validation must be given where early_stopping_rounds is"),
        ({"engine_params": {"no_such": 1}}, "engine_params must be known to .*; got 'no_such'"),
        ({"engine_params": {"learning_rate": 1}}, "engine_params must not hold .*'learning_rate'"),
        ({"monotone_constraints": [2, 0, 0, 0]}, "monotone_constraints must be -1, 0 or 1"),
        (
            {
                "monotone_constraints": [1, 0, 0, 0],
                "categorical_features": [0],
                "data": np.abs(X).round(),
            },
            "monotone_constraints must be 0 for categories, which have no order; got .1, 0, 0, 0.",
        ),
        ({"categorical_features": [4]}, "categorical_features must be columns from 0 to 3; got 4"),
        ({"categorical_features": ["a"]}, "categorical_features must name features of X"),
        ({"categorical_features": [True]}, "categorical_features must be columns .*; got True"),
        ({"interaction_constraints": [[0, 9]]}, "interaction_constraints must be columns"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(part_class, params, message):
    with pytest.raises(ValueError, match=message):
        fitted(part_class, **params)


def test_a_check_of_engine_params_prints_nothing(capsys):
    lightgbm.Dataset(X, params={"verbosity": 1}).construct()  # from now on LightGBM prints
    capsys.readouterr()
    lightgbm_trees.with_main_names({"force_col_wise": True, "subsample_for_bin": 500})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("part_class", "name", "value", "main"),
    [
        *[(XGBoostTrees, name, 1, name) for name in ("gamma", "max_leaves")],
        (LightGBMTrees, "reg_lambda", 3, "reg_lambda"),
        (LightGBMTrees, "lambda", 3, "lambda_l2"),
        (LightGBMTrees, "app", "binary", "objective"),
        *[
            (LightGBMTrees, name, value, name)
            for name in ("boosting", "boosting_type", "boost")
            for value in ("dart", "goss", "rf")
        ],
        (LightGBMTrees, "linear_tree", True, "linear_tree"),
    ],
)
def test_no_name_of_an_argument_passes_as_an_engine_parameter(part_class, name, value, main):
    with pytest.raises(ValueError, match=f"engine_params must not hold .*'{main}'"):
        fitted(part_class, engine_params={name: value})


#: Parameters that change no tree, under some name of the engine, and the end of their message.
NO_EFFECT = {
    (LightGBMTrees, "drop_rate"): (0.5, "'drop_rate': trees are boosted as by gbdt"),
    (LightGBMTrees, "eval_at"): ([3], "'eval_at'. Write eval_metric="),
    (LightGBMTrees, "group_column"): ("0", "'group_column'. Write qid in fit"),
    (LightGBMTrees, "ignore_feature"): ("0,1", "'ignore_column'. Write X without the columns"),
    (LightGBMTrees, "is_unbalance"): (True, "'is_unbalance'. Write sample_weight"),
    (LightGBMTrees, "label_column"): ("0", "'label_column'. Write y in fit."),
    (LightGBMTrees, "label_gain"): (
        [0, 1],
        "'label_gain'. Write TreeDirectRanker(LightGBMTrees(), gain=...).",
    ),
    (LightGBMTrees, "lambdarank_norm"): (False, "Write TreeDirectRanker(query_normalization="),
    (LightGBMTrees, "lambdarank_truncation_level"): (2, "(LightGBMTrees(), k=...)."),
    (LightGBMTrees, "neg_subsample"): (0.3, "'neg_bagging_fraction'. Write sample_weight"),
    (LightGBMTrees, "num_machines"): (2, "Write treerank.distributed.fit"),
    (LightGBMTrees, "pos_bagging_fraction"): (0.3, "'pos_bagging_fraction'. Write sample_weight"),
    (LightGBMTrees, "reg_sqrt"): (True, "'reg_sqrt'."),
    (LightGBMTrees, "scale_pos_weight"): (5.0, "'scale_pos_weight'. Write sample_weight"),
    (LightGBMTrees, "sigmoid"): (3.0, "(LightGBMTrees(), sigma=...)."),
    (LightGBMTrees, "weight_column"): ("0", "'weight_column'. Write sample_weight"),
    (XGBoostTrees, "scale_pos_weight"): (5.0, "'scale_pos_weight'. Write sample_weight"),
}


@pytest.mark.parametrize(("part_class", "name"), NO_EFFECT)
def test_engine_parameters_without_an_effect_are_refused(part_class, name, monkeypatch):
    value, end = NO_EFFECT[part_class, name]
    rule = "engine_params must have an effect on trees, which see neither labels nor queries; got "
    draws = {"subsample": 0.7, "subsample_freq": 1} if part_class is LightGBMTrees else {}
    with pytest.raises(ValueError, match=re.escape(rule) + f".*{re.escape(end)}"):
        fitted(part_class, engine_params={name: value})
    monkeypatch.setattr(lightgbm_trees, "_UNUSED", ())
    monkeypatch.setattr(xgboost_trees, "_UNUSED", ())
    scores = [
        fitted(part_class, engine_params=params, **draws).transform(X)
        for params in (None, {name: value})
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("name", ["forcedbins_filename", "fs"])
def test_files_for_lightgbm_must_exist(name, tmp_path):
    with pytest.raises(ValueError, match=r"filename must be a file that exists; got '.*no.json'"):
        fitted(LightGBMTrees, engine_params={name: str(tmp_path / "no.json")})
    (tmp_path / "bins.json").write_text('[{"feature": 0, "bin_upper_bound": [0.0]}]')
    settings = {"engine_params": {"forcedbins_filename": str(tmp_path / "bins.json")}, "max_bin": 2}
    part = fitted(LightGBMTrees, **settings)
    assert 0.0 in part.forest().threshold[part.forest().feature == 0].round(20)


@own_trees_too
def test_another_number_of_features_or_outputs_is_refused(part_class):
    part = fitted(part_class)
    with pytest.raises(ValueError, match="X must have 4 features; got 3"):
        part.transform(X[:, :3])
    with pytest.raises(ValueError, match="X must have 4 features; got 2"):
        fitted(part_class, validation=(HELD_OUT[:, :2], held_out_fit))
    part.set_params(warm_start=True, n_estimators=50)
    with pytest.raises(ValueError, match=r"X must have as many features as in .* 4; got 3"):
        part.fit(X[:, :3], HalfSquare(TARGET))
    with pytest.raises(ValueError, match=r"objective must have as many outputs as in .* 1; got 3"):
        part.fit(X, HalfSquare(TARGETS))


def test_a_metric_that_is_no_number_is_refused(part_class):
    nowhere = type("Nowhere", (), {"name": "nowhere", "__call__": lambda *_: np.nan})()
    with pytest.raises(ValueError, match="metric 'nowhere' must return a number; got nan"):
        fitted(part_class, validation=(HELD_OUT, nowhere))
