"""Regressors of scikit-learn, boosted by Newton steps on an objective."""

import warnings
from threading import Lock

import numpy as np
import pandas as pd
import pytest
import sklearn
from lightgbm import LGBMRanker
from own_objective import Given, HalfSquare
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from treerank import (
    Ensemble,
    LightGBMTrees,
    QueryKFold,
    TreeDirectRanker,
    checkpointing,
    compare,
    make_objective,
    report,
)
from treerank.feature_parts import NewtonBoosting, Stages

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(240, 4)), np.repeat(np.arange(24), 10)
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=240), [0.5, 1.5])
SCALED = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
REGRESSORS = {
    "linear": Ridge(),
    "tree": DecisionTreeRegressor(max_depth=3),
    "forest": ExtraTreesRegressor(10, max_depth=3),
    "boosted": HistGradientBoostingRegressor(max_iter=2),
    "kernel": SCALED,
    "neighbors": KNeighborsRegressor(20),
}
every_regressor = pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)


class Recorder(RegressorMixin, BaseEstimator):
    """A line that keeps what it is fitted to."""

    fits: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.fits.append((X, y, sample_weight))
        self.line_ = Ridge().fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.line_.predict(X)


class OfNoLibrary:
    """A regressor without ``get_params`` and tags, as models of Keras are."""

    def fit(self, x, y, epochs=1):
        self.weights = Ridge().fit(x, y).coef_

    def predict(self, x):
        return (x @ self.weights)[:, None]


class OfMixin(RegressorMixin, OfNoLibrary):
    """Its tags are those of a mixin alone, which are none."""


class Locked(OfNoLibrary):
    def __init__(self):
        self.lock = Lock()


class Drawn(Recorder):
    fits: list = []  # noqa: RUF012

    def fit(self, X, y):
        return super().fit(X, y)


def boosted(regressor=None, X=X, y=Y, **settings):
    regressor = DecisionTreeRegressor(max_depth=3) if regressor is None else regressor
    part = NewtonBoosting(regressor, **{"n_estimators": 4, **settings})
    return TreeDirectRanker(part, random_state=0).fit(X, y, QID)


@every_regressor
def test_any_regressor_ranks(regressor):
    ranker = boosted(regressor, n_estimators=8)
    assert ranker.score(X, Y, QID) > 0.7  # a random order has 0.51
    assert len(ranker.feature_part_.estimators_) == ranker.best_iteration_ == 8
    assert (ranker.feature_part_.estimator_weights_ > 0).all()
    a, b = X[:50], X[50:100]
    np.testing.assert_array_equal(ranker.compare(a, b), -ranker.compare(b, a))


@pytest.mark.parametrize("kind", [OfNoLibrary, OfMixin])
def test_a_regressor_may_be_of_any_class_and_is_copied_as_it_is(kind):
    given = kind()
    ranker = boosted(given, n_estimators=8)
    assert ranker.score(X, Y, QID) > 0.7
    assert not vars(given)  # fitted are copies alone
    assert len({id(model.weights) for model in ranker.feature_part_.estimators_}) == 8


def test_a_regressor_that_cannot_be_copied_is_refused_with_what_can():
    message = r"feature_part must be .* have get_params; got .*Locked.*Let the class inherit from"
    for fit in (boosted, lambda part: NewtonBoosting(part).fit(X, make_objective(Y, QID))):
        with pytest.raises(TypeError, match=message):
            fit(Locked())


@every_regressor
def test_no_step_raises_a_convex_objective(regressor):
    objective, values = make_objective(Y, QID), []
    for n in range(4):
        part = NewtonBoosting(regressor, n_estimators=n + 1, random_state=0).fit(X, objective)
        values.append(objective(part.transform(X)[:, 0])[0])
    assert (np.diff([objective(np.zeros(240))[0], *values]) < 0).all()


def test_the_first_copy_is_fitted_to_newton_steps_with_hessians_as_weights():
    Recorder.fits.clear()
    objective = make_objective(Y, QID, sample_weight=1.0 + (QID > 9))
    part = NewtonBoosting(Recorder(), n_estimators=1, learning_rate=0.5).fit(X, objective)
    gradient, hessian = objective.derivatives(np.zeros(240))
    hessian = np.maximum(hessian, 1e-3 * hessian.mean())
    ((features, target, weight),) = Recorder.fits
    np.testing.assert_array_equal(features, X)
    np.testing.assert_allclose(target, -gradient / hessian)
    np.testing.assert_allclose(weight, hessian / hessian.mean())
    p = part.estimators_[0].predict(X)
    step = -(gradient @ p) / (hessian @ p**2)
    np.testing.assert_allclose(part.estimator_weights_, [0.5 * step])
    np.testing.assert_allclose(part.transform(X)[:, 0], 0.5 * step * p)


def test_the_step_lands_in_the_least_of_a_square():
    """Half a square has the same Newton step from anywhere: one whole step is a regression."""
    target = X @ [1.0, 2.0, 0.0, -1.0]
    part = NewtonBoosting(Ridge(1e-9), n_estimators=1, learning_rate=1.0)
    part.fit(X, HalfSquare(target - target.mean()))
    np.testing.assert_allclose(part.transform(X)[:, 0], target - target.mean(), atol=1e-6)
    np.testing.assert_allclose(part.estimator_weights_, [1.0], atol=1e-6)


def test_without_weights_rows_are_drawn_in_proportion_to_the_hessian():
    Drawn.fits.clear()
    hessian = np.where(X[:, 0] > 0, 3.0, 1.0)
    part = NewtonBoosting(Drawn(), n_estimators=30, random_state=0)
    part.fit(X, Given(-hessian * X[:, 0], hessian))
    drawn = np.concatenate([features[:, 0] > 0 for features, _, _ in Drawn.fits])
    expected = hessian[X[:, 0] > 0].sum() / hessian.sum()
    assert abs(drawn.mean() - expected) < 0.02
    for features, target, weight in Drawn.fits:
        np.testing.assert_allclose(target, features[:, 0])
        assert weight is None
        assert len(features) == 240
    assert (Drawn.fits[0][0] != Drawn.fits[1][0]).any()


@pytest.mark.parametrize("routing", [True, False])
def test_the_last_step_of_a_pipeline_gets_the_weights(routing):
    Recorder.fits.clear()
    with sklearn.config_context(enable_metadata_routing=routing):
        NewtonBoosting(
            make_pipeline(StandardScaler(), make_pipeline(Recorder())), n_estimators=1
        ).fit(X, make_objective(Y, QID))
    assert np.ptp(Recorder.fits[0][2]) > 0


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_a_global_output_of_scikit_learn_changes_nothing(output):
    expected = boosted(SCALED, n_estimators=2).predict(X)
    Recorder.fits.clear()
    with sklearn.config_context(transform_output=output):
        np.testing.assert_array_equal(boosted(SCALED, n_estimators=2).predict(X), expected)
        boosted(make_pipeline(StandardScaler(), Recorder()), n_estimators=1)
    assert type(Recorder.fits[0][0]) is np.ndarray


def test_seeds_of_copies():
    forest = ExtraTreesRegressor(3, max_depth=2)
    seeds = [
        [copy.random_state for copy in boosted(each, n_estimators=3).feature_part_.estimators_]
        for each in (forest, clone(forest).set_params(random_state=5))
    ]
    assert len(set(seeds[0])) == 3
    assert seeds[1] == [5, 6, 7]
    np.testing.assert_array_equal(boosted(forest).predict(X), boosted(forest).predict(X))
    state = clone(forest).set_params(random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(boosted(state).predict(X), boosted(state).predict(X))
    inner = make_pipeline(StandardScaler(), forest)
    np.testing.assert_array_equal(boosted(inner).predict(X), boosted(inner).predict(X))


def test_constant_predictions_lead_nowhere():
    with pytest.warns(UserWarning, match="All 240 documents get the same score"):
        ranker = boosted(DummyRegressor())
    assert (ranker.feature_part_.estimator_weights_ == 0).all()
    assert (ranker.predict(X) == 0).all()


def test_a_validation_set_keeps_the_best_number_of_copies():
    part = NewtonBoosting(DecisionTreeRegressor(), n_estimators=12, learning_rate=1.0)
    ranker = TreeDirectRanker(part, random_state=0).fit(X, Y, QID, eval_set=0.3)
    curve = ranker.evals_result_["validation"]["ndcg@10"]
    assert len(curve) == 12
    assert ranker.best_iteration_ == 1 + int(np.argmax(curve)) < 12
    assert len(ranker.feature_part_.estimators_) == ranker.best_iteration_
    stopped = clone(ranker).set_params(feature_part__early_stopping_rounds=2)
    short = stopped.fit(X, Y, QID, eval_set=0.3).evals_result_["validation"]["ndcg@10"]
    assert len(short) < 12
    np.testing.assert_array_equal(short, curve[: len(short)])
    with pytest.raises(ValueError, match="validation must be given"):
        stopped.fit(X, Y, QID)


def test_a_callback_ends_the_fit():
    part = NewtonBoosting(Ridge(), n_estimators=9)
    ranker = TreeDirectRanker(part).fit(X, Y, QID, callbacks=[lambda done, total, note: done == 2])
    assert ranker.best_iteration_ == 2


def test_missing_values_need_a_regressor_that_knows_them_or_an_imputer():
    gaps = np.where(X > 1, np.nan, X)
    with pytest.raises(
        ValueError, match=r"X must have no missing values for Ridge\(\).*Write Newto"
    ):
        boosted(Ridge(), gaps)
    for regressor in (
        HistGradientBoostingRegressor(max_iter=2),
        DecisionTreeRegressor(max_depth=3),
        make_pipeline(SimpleImputer(), Ridge()),
    ):
        assert boosted(regressor, gaps).score(gaps, Y, QID) > 0.6
    with pytest.raises(ValueError, match="X must have no missing values"):
        boosted(Ridge()).predict(gaps)


def test_forests_learn_from_missing_values_as_they_are():
    """A value is missing where the label is high, which only a split on NaN can see."""
    gaps = np.where(Y[:, None] > 1, np.nan, X)
    ranker = boosted(RandomForestRegressor(10, max_depth=3, random_state=0), gaps)
    assert ranker.score(gaps, Y, QID) > 0.95


def test_a_regressor_that_predicts_only_once_it_is_fitted_ranks():
    stacked = StackingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=2))])
    assert not hasattr(stacked, "predict")
    assert boosted(stacked, n_estimators=2).score(X, Y, QID) > 0.6


def test_regressors_of_positive_targets_and_of_named_columns_are_answered():
    with pytest.raises(ValueError, match=r"targets of both signs, .* got PoissonRegressor\(\): So"):
        boosted(PoissonRegressor())
    chosen = make_column_transformer((StandardScaler(), make_column_selector()))
    frame = pd.DataFrame(X, columns=["price", "a", "b", "c"])
    with pytest.raises(ValueError, match="must not name columns: a feature part gets a matrix"):
        boosted(make_pipeline(chosen, Ridge()), frame)


def test_frames_with_names_categories_and_labels_with_gaps():
    shop = np.array(["b", "a", "c", "d"])[np.arange(240) % 4]
    frame = pd.DataFrame({"price": X[:, 0], "shop": shop, "age": X[:, 1]})
    y = np.where(QID == 3, np.nan, np.isin(shop, ["b", "c"]) + (X[:, 0] > 0))
    ranker = TreeDirectRanker(NewtonBoosting(Ridge()), smoothing=0.0)
    ranker.fit(frame, y, QID, sample_weight=1.0 + (QID > 9))
    assert ranker.score(frame, y, QID) > 0.98
    np.testing.assert_array_equal(
        ranker.predict(frame[["age", "shop", "price"]]), ranker.predict(frame)
    )
    numbers = np.column_stack([X[:, 0], X[:, 1], *(shop == name for name in "abcd")])
    same = clone(ranker).fit(numbers, y, QID, sample_weight=1.0 + (QID > 9))
    np.testing.assert_allclose(ranker.predict(frame), same.predict(numbers), atol=1e-9)


def test_several_labels():
    labels = {"grade": Y, "first": (X[:, 3] > 0).astype(int)}
    ranker = TreeDirectRanker(NewtonBoosting(Ridge()), random_state=0).fit(X, labels, QID)
    assert abs(ranker.explain(X[:1], X[1:2])[0, 3]) > 1e-3


def test_a_sparse_matrix_stays_sparse_where_the_regressor_takes_one():
    sparse = csr_matrix(np.where(np.abs(X) > 1, X, 0))
    ranker = boosted(Ridge(), sparse)
    np.testing.assert_allclose(ranker.predict(sparse), ranker.predict(sparse.toarray()), atol=1e-9)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        boosted(HistGradientBoostingRegressor(), sparse)


@pytest.mark.parametrize("make", [lambda parts: Ensemble(parts, n_bags=2), Stages])
def test_beside_trees_in_a_composite(make):
    trees = LightGBMTrees(5, min_child_samples=5, n_jobs=1)
    ranker = TreeDirectRanker(
        make([NewtonBoosting(Ridge(), n_estimators=3), trees]), random_state=0
    )
    ranker.fit(X, Y, QID)
    assert ranker.score(X, Y, QID) > 0.7
    again = clone(ranker).fit(X[::-1], Y[::-1], QID[::-1]).predict(X)
    np.testing.assert_array_equal(again, ranker.predict(X))
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = ranker.feature_importances_


def test_a_score_does_not_depend_on_the_documents_beside_it():
    ranker = boosted(SCALED)
    alone = np.concatenate([ranker.predict(X[row : row + 1]) for row in range(20)])
    np.testing.assert_array_equal(alone, ranker.predict(X)[:20])
    assert ranker.predict(X[:0]).shape == (0,)


def test_in_scikit_learn_and_in_comparisons():
    part = NewtonBoosting(Ridge(), n_estimators=2)
    ranker = TreeDirectRanker(part, random_state=0)
    assert repr(clone(part)) == repr(part)
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"feature_part__regressor__alpha": [1.0, 1e9], "feature_part__n_estimators": [2]}
        search = GridSearchCV(ranker, grid, cv=QueryKFold(2)).fit(X, Y, qid=QID)
    assert len(search.cv_results_["params"]) == 2
    found = compare({"ours": ranker, "linear": TreeDirectRanker("linear")}, (X, Y, QID))
    assert not found.failures
    assert "<html" in report(ranker.fit(X, Y, QID), X, Y, QID).html


def test_what_it_cannot_is_refused_by_name(tmp_path):
    ranker = boosted()
    with pytest.raises(TypeError, match=r"feature_part must be of arrays to be saved.*joblib"):
        ranker.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(
        ValueError, match="warm_start must be False for feature_part=NewtonBoosting"
    ):
        clone(ranker).set_params(warm_start=True).fit(X, Y, QID)
    with (
        checkpointing(tmp_path / "fit"),
        pytest.raises(ValueError, match="must be of fits of boosted trees"),
    ):
        boosted()
    with pytest.raises(ValueError, match="feature_part must be trees, a linear model, a network"):
        ranker.scorer()
    with pytest.raises(AttributeError, match="NewtonBoosting has none"):
        _ = ranker.feature_importances_
    with pytest.raises(ValueError, match="objective must have a single output for a regressor"):
        NewtonBoosting(Ridge()).fit(X, HalfSquare(X[:, :2]))


@pytest.mark.parametrize(
    ("regressor", "message"),
    [
        (StandardScaler(), r"regressor must be a regressor with fit\(X, y\) and predict\(X\)"),
        (Ridge, "got the class Ridge, no object"),
        (TreeDirectRanker(), "regressor must be a regressor"),
        (LGBMRanker(), "must be a regressor, which sees no queries; got the ranker LGBMRanker"),
        (LogisticRegression(), "regressor must predict numbers; got the classifier Logist"),
    ],
)
def test_what_is_no_regressor_is_refused_before_training(regressor, message):
    with pytest.raises(ValueError, match=message):
        boosted(regressor)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Given(np.ones(240), np.zeros(240)), "hessian must be positive for some document"),
        (Given(np.full(240, np.nan), np.ones(240)), "gradient and hessian must be finite"),
        (Given(np.ones(9), np.ones(9)), r"gradient must have shape \(240,\), one entry per score"),
        (Given(np.ones(240), np.ones(239)), r"hessian must have shape \(240,\), .* got \(239,\)"),
        (Given(np.ones(240), 1.0), r"hessian must have shape \(240,\), .* got \(\)"),
    ],
)
def test_derivatives_that_give_no_step_are_refused(objective, message):
    with pytest.raises(ValueError, match=message):
        NewtonBoosting(Ridge()).fit(X, objective)


def test_derivatives_may_be_lists():
    gradient, hessian = -X[:, 0], np.linspace(0.5, 1, 240)
    lists = NewtonBoosting(Ridge(), n_estimators=3).fit(X, Given([*gradient], [*hessian]))
    arrays = NewtonBoosting(Ridge(), n_estimators=3).fit(X, Given(gradient, hessian))
    np.testing.assert_array_equal(lists.transform(X), arrays.transform(X))


@pytest.mark.parametrize("predicted", [np.full(240, np.nan), np.zeros((240, 2))])
def test_predictions_that_are_no_numbers_of_documents_are_refused(predicted):
    class Wrong(Ridge):
        def predict(self, X):
            return predicted

    with pytest.raises(ValueError, match="regressor must predict a finite number for each of 240"):
        NewtonBoosting(Wrong()).fit(X, make_objective(Y, QID))


def test_where_there_is_nothing_to_learn_all_scores_are_zero():
    with warnings.catch_warnings(action="ignore"):
        ranker = boosted(y=np.zeros(240))
    assert (ranker.predict(X) == 0).all()


def test_the_largest_seed_goes_on_from_zero():
    largest = DecisionTreeRegressor(max_depth=2, random_state=2**32 - 1)
    copies = boosted(largest, n_estimators=2).feature_part_.estimators_
    assert [copy.random_state for copy in copies] == [2**32 - 1, 0]
