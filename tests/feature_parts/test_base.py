"""A feature part of the user's own: what is asked for, and what it does without."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV

from treerank import QueryKFold, TreeDirectRanker, compare, load, report
from treerank.documents.rows import Rows
from treerank.feature_parts import Stages
from treerank.feature_parts.base import n_outputs_of, outputs_of

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(300, 4)), np.repeat(np.arange(30), 10)
Y = np.digitize(X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=300), [0.5, 1.5])


class Descent:
    """Exactly what is asked for: a line by gradient descent, without a base class."""

    def __init__(self, rate=0.1):
        self.rate = rate

    def fit(self, X, objective, validation=None):
        assert isinstance(X, np.ndarray)
        self.weight = np.zeros(X.shape[1])
        for _ in range(20):
            gradient, _ = objective.derivatives(X @ self.weight)
            self.weight = self.weight - self.rate * X.T @ gradient / len(X)

    def transform(self, X):
        assert isinstance(X, np.ndarray)
        return X @ self.weight


class Ranges(Descent):
    """Several outputs, which nobody has counted."""

    def transform(self, X):
        return np.column_stack([X @ self.weight, X[:, 0]])


class AsEstimator(BaseEstimator, Descent):
    """The same as an estimator, which is cloned."""


class WithoutValidation(Descent):
    def fit(self, X, objective):
        Descent.fit(self, X, objective)


class WithState(Descent):
    def get_state(self):
        return {"weight": self.weight}

    def set_state(self, state):
        self.weight = state["weight"]


def fitted(part, **given):
    return TreeDirectRanker(part, random_state=0).fit(X, Y, QID, **given)


@pytest.mark.parametrize("part", [Descent(), AsEstimator(), WithoutValidation()])
def test_fit_and_transform_are_enough(part):
    ranker = fitted(part)
    assert ranker.transform(X).shape == (300, 1)
    assert ranker.score(X, Y, QID) > fitted(type(part)(-0.1)).score(X, Y, QID)
    np.testing.assert_array_equal(ranker.compare(X[:9], X[9:18]), -ranker.compare(X[9:18], X[:9]))
    parts = ranker.explain(X[:1], X[1:2])
    np.testing.assert_allclose(parts.sum(), np.diff(ranker.predict(X[1::-1])), rtol=1e-9)
    assert "weight" not in vars(part)  # a copy was fitted


def test_the_outputs_are_counted_and_weighed():
    ranker = fitted(Ranges())
    assert ranker.transform(X).shape == (300, 2)
    assert len(ranker.get_feature_names_out()) == len(ranker.head_.weight) == 2
    assert n_outputs_of(ranker.feature_part_, Rows(X)) == 2


def test_a_data_frame_comes_as_a_matrix_of_numbers_and_codes():
    frame = pd.DataFrame(X, columns=[*"abcd"]).assign(shop=np.where(X[:, 0] > 1, "x", "y"))
    ranker = TreeDirectRanker(Descent(), random_state=0).fit(frame, Y, QID)
    np.testing.assert_array_equal(ranker.predict(frame[[*"dabc", "shop"]]), ranker.predict(frame))


@pytest.mark.parametrize("part", [Descent(), Ranges(), WithoutValidation()])
@pytest.mark.parametrize("make", [list, Stages])
def test_a_composite_takes_it_or_says_that_nobody_weighs_its_outputs(part, make):
    if type(part) is Ranges:
        with pytest.raises(ValueError, match=r"parts must have a single output .* got 2 of Ranges"):
            fitted(make([part, "linear"]))
    else:
        assert np.isfinite(fitted(make([part, "linear"])).predict(X)).all()


def test_labels_with_gaps_weights_and_several_labels_reach_it_by_the_objective():
    labels = {"grade": np.where(QID < 3, np.nan, Y), "sale": Y > 1}
    ranker = TreeDirectRanker(Descent(), label_weights={"sale": 0.5}, random_state=0)
    ranker.fit(X, labels, QID, sample_weight=1.0 + (QID > 9))
    assert np.ptp(ranker.predict(X)) > 0


def test_what_it_lacks_is_refused_by_name(tmp_path):
    ranker = fitted(Descent())
    with pytest.raises(TypeError, match="feature_part must have get_state to be saved; got"):
        ranker.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(AttributeError, match=r"feature_importances_ .* Descent has none"):
        _ = ranker.feature_importances_
    with pytest.raises(ValueError, match="feature_part must be trees, a linear model, a network"):
        ranker.scorer()
    with pytest.raises(ValueError, match="warm_start must be False for feature_part="):
        TreeDirectRanker(Descent(), warm_start=True).fit(X, Y, QID)
    with pytest.raises(ValueError, match=r"eval_set must be None .* fit takes no validation"):
        fitted(WithoutValidation(), eval_set=0.2)
    with pytest.raises(ValueError, match="feature_part must have get_params and set_params"):
        TreeDirectRanker(Descent()).set_params(feature_part__rate=1.0)
    with pytest.raises(ValueError, match=r"got 2 of Ranges"):
        fitted([Ranges()])


def test_a_validation_set_may_be_ignored_and_calibrates():
    ranker = fitted(Descent(), eval_set=0.2)
    assert ranker.calibration_slope_ != fitted(Descent()).calibration_slope_
    assert ranker.evals_result_ == {}
    assert ranker.best_iteration_ is None


def test_with_a_state_it_is_saved(tmp_path):
    ranker = fitted(WithState())
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model", parts={"WithState": WithState})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    with pytest.raises(ValueError, match="Pass your own feature part to load as parts="):
        load(tmp_path / "model")


def test_parameters_of_an_estimator_are_searched():
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"feature_part__rate": [-0.1, 0.1]}
        search = GridSearchCV(TreeDirectRanker(AsEstimator()), grid, cv=QueryKFold(2))
        search.fit(X, Y, qid=QID)
    assert search.best_params_ == {"feature_part__rate": 0.1}


def test_it_is_compared_and_reported():
    ranker = TreeDirectRanker(Descent(), random_state=0)
    found = compare({"own": ranker, "linear": TreeDirectRanker("linear")}, (X, Y, QID))
    assert not found.failures
    assert "Descent" in str(ranker)
    assert "<html" in report(ranker.fit(X, Y, QID), X, Y, QID).html


@pytest.mark.parametrize(
    "outputs",
    [np.zeros((3, 2)), np.zeros((4, 1, 1)), np.zeros((4, 0)), np.array(["a"] * 4), "text"],
)
def test_outputs_that_are_no_rows_of_numbers_are_refused(outputs):
    class Wrong:
        def transform(self, X):
            return outputs

    with pytest.raises(ValueError, match="feature_part must return a row of numbers for each"):
        outputs_of(Wrong(), np.zeros((4, 2)))


def test_scores_that_are_not_finite_are_those_of_the_part():
    class Infinite(Descent):
        def transform(self, X):
            return np.full(len(X), np.inf)

    with pytest.raises(ValueError, match="feature_part must return finite numbers from transform"):
        fitted(Infinite())


class Sum:
    """A feature part of the user's own, which passes missing values on."""

    def fit(self, X, objective):
        pass

    def transform(self, X):
        return X.sum(axis=1)


def test_a_class_that_passes_missing_values_on_is_told_what_they_stand_for():
    message = (
        "got others from .* X has missing values or categories that fit has not seen, which are "
        "NaN: fill them in before."
    )
    with pytest.raises(ValueError, match=message):
        outputs_of(Sum(), np.array([[1.0, np.nan], [np.nan, 2.0]]))


def test_a_category_that_fit_has_not_seen_is_not_called_a_missing_value_alone():
    frame = pd.DataFrame(X, columns=[*"abcd"]).assign(shop=np.where(X[:, 0] > 0, "x", "y"))
    ranker = TreeDirectRanker(Sum(), random_state=0).fit(frame, Y, QID)
    message = r"X has missing values or categories that fit has not seen in \['shop'\], which are"
    for method in (ranker.predict, ranker.transform):
        with pytest.raises(ValueError, match=message):
            method(frame.assign(shop="new"))
    missing = frame.assign(b=np.where(X[:, 0] > 0, np.nan, 1.0))
    message = r"X has missing values in \['b'\], which are NaN: fill them in before"
    with pytest.raises(ValueError, match=message):
        ranker.predict(missing)
    with pytest.raises(ValueError, match=message):
        TreeDirectRanker(Sum(), random_state=0).fit(missing, Y, QID)
    with pytest.raises(ValueError, match="X has missing values, which are NaN"):
        TreeDirectRanker(Sum(), random_state=0).fit(X, Y, QID).predict(np.full_like(X, np.nan))


def test_outputs_that_are_not_finite_are_refused_where_a_head_is_fitted():
    class Infinite(Ranges):
        def transform(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ValueError, match="feature_part must return finite numbers from transform"):
        fitted(Infinite())
