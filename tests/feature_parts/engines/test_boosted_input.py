"""What neither engine could boost is refused by name."""

import lightgbm
import numpy as np
import pytest
from boosted_regression import (
    HELD_OUT,
    PARTS,
    SMALL,
    TARGET,
    TARGETS,
    Given,
    X,
    fitted,
    held_out_fit,
    values_of_trees,
)
from sklearn.exceptions import NotFittedError

from treerank.feature_parts.engines import lightgbm_boundary
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.histogram.trees import HistogramTrees


@pytest.fixture(params=PARTS, ids=lambda part_class: part_class.__name__)
def part_class(request):
    return request.param


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


@pytest.mark.parametrize("part_class", [*PARTS, HistogramTrees])
def test_large_derivatives_split_trees(part_class):
    steep = Given(TARGET * 1e12, np.full(600, 1e12))
    assert np.std(part_class(**SMALL).fit(X, steep).transform(X)) > 0


def test_xgboost_refuses_sums_whose_squares_are_infinite_in_single_precision():
    steep = Given(1e18 + np.abs(TARGET) * 1e18, np.full(600, 1e18))
    assert np.std(LightGBMTrees(**SMALL).fit(X, steep).transform(X)) > 0
    with pytest.raises(ValueError, match=r"gradient must have sums of at most 1\.84e.* Given"):
        XGBoostTrees(**SMALL).fit(X, steep)
    with pytest.raises(ValueError, match="gradient must be finite and at most"):
        XGBoostTrees(**SMALL).fit(X, Given(TARGET * 1e20, np.full(600, 1e20)))


def test_large_weights_serve_xgboost_as_long_as_it_finds_splits():
    steep = Given(TARGET * 1e17, np.full(600, 1e17))  # sums of all documents cancel
    assert np.std(XGBoostTrees(**SMALL).fit(X, steep).transform(X)) > 0


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
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1; got 0"),
        ({"importance_type": "cover"}, "importance_type must be one of"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number but 0"),
        ({"early_stopping_rounds": 3}, "validation must be given where early_stopping_rounds is"),
        ({"engine_params": {"no_such": 1}}, "engine_params must be known to .*; got 'no_such'"),
        ({"engine_params": {"learning_rate": 1}}, "engine_params must not hold .*'learning_rate'"),
        ({"monotone_constraints": [2, 0, 0, 0]}, "monotone_constraints must be -1, 0 or 1"),
        ({"categorical_features": [4]}, "categorical_features must be columns from 0 to 3; got 4"),
        ({"categorical_features": ["a"]}, "categorical_features must name features of X"),
        ({"categorical_features": [True]}, "categorical_features must be columns .*; got True"),
        ({"interaction_constraints": [[0, 9]]}, "interaction_constraints must be columns"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(part_class, params, message):
    with pytest.raises(ValueError, match=message):
        fitted(part_class, **params)


@pytest.mark.parametrize("name", ["gamma", "max_leaves", "num_leaves"])
def test_no_name_of_an_argument_passes_as_an_engine_parameter_of_xgboost(name):
    with pytest.raises(ValueError, match=f"engine_params must not hold .*'{name}'"):
        fitted(XGBoostTrees, engine_params={name: 1})


def test_a_check_of_engine_params_prints_nothing(capsys):
    lightgbm.Dataset(X, params={"verbosity": 1}).construct()  # from now on LightGBM prints
    capsys.readouterr()
    lightgbm_boundary.with_main_names({"force_col_wise": True, "subsample_for_bin": 500})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "value", "main"),
    [
        ("reg_lambda", 3, "reg_lambda"),
        ("lambda", 3, "lambda_l2"),
        ("app", "binary", "objective"),
        ("linear_tree", True, "linear_tree"),
    ],
)
def test_no_name_of_an_argument_passes_as_an_engine_parameter_of_lightgbm(name, value, main):
    with pytest.raises(ValueError, match=f"engine_params must not hold .*'{main}'"):
        fitted(LightGBMTrees, engine_params={name: value})


def test_dropped_trees_and_early_stopping_exclude_each_other():
    params = {"boosting": "dart", "early_stopping_rounds": 3}
    with pytest.raises(ValueError, match="early_stopping_rounds must be None with boosting='dart'"):
        fitted(LightGBMTrees, validation=(HELD_OUT, held_out_fit), **params)
    with pytest.raises(ValueError, match="boosting must be one of"):
        fitted(LightGBMTrees, boosting="rf")
    dart = fitted(LightGBMTrees, boosting="dart")
    np.testing.assert_allclose(
        values_of_trees(dart, X).sum(axis=1), dart.transform(X)[:, 0], atol=1e-9
    )


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device must be one that XGBoost knows; got 'abacus'"):
        fitted(XGBoostTrees, device="abacus")
    with pytest.raises(ValueError, match="device must be one that is there; got 'cuda:99'"):
        fitted(XGBoostTrees, device="cuda:99")


@pytest.mark.parametrize("part_class", [*PARTS, HistogramTrees])
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
