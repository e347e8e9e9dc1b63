import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, TargetEncoder
from xgboost import XGBRanker

from treerank import TreeDirectRanker
from treerank.feature_parts import TransformerPart
from treerank.feature_parts.registry import make_feature_part


class Own(BaseEstimator):
    """A part that passes on what its ``fit`` is given."""

    def fit(self, X, *args, **options):
        return self

    def transform(self, X):
        return X


class WithoutObjective:
    """A transformer without a base class whose ``fit`` takes no labels."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def get_params(self, deep=True):
        return {"factor": self.factor}

    def set_params(self, **params):
        self.factor = params["factor"]
        return self

    def fit(self, X):
        return self

    def transform(self, X):
        return self.factor * X


def test_a_part_of_ones_own_may_pass_on_its_arguments():
    assert isinstance(make_feature_part(Own()), Own)


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(), make_pipeline(StandardScaler(), FunctionTransformer()), WithoutObjective()],
    ids=["scaler", "pipeline", "without y"],
)
def test_a_transformer_becomes_a_part_over_its_copy(transformer):
    part = make_feature_part(transformer)
    assert type(part) is TransformerPart
    assert type(part.transformer) is type(transformer)
    assert part.transformer is not transformer


@pytest.mark.parametrize("given", [TreeDirectRanker(), 7, None, Own])
def test_what_is_fitted_to_no_objective_is_refused(given):
    with pytest.raises(ValueError, match="feature_part must have fit") as caught:
        make_feature_part(given)
    assert "Write" not in str(caught.value)


@pytest.mark.parametrize(
    "regressor",
    [Ridge(), make_pipeline(Ridge()), PLSRegression(), StackingRegressor([("ridge", Ridge())])],
)
def test_a_regressor_is_refused_with_what_boosts_it(regressor):
    with pytest.raises(ValueError, match=r"Write NewtonBoosting\(.*\)"):
        make_feature_part(regressor)


@pytest.mark.parametrize("bases", [(), (RegressorMixin,)])
def test_a_regressor_of_no_library_is_refused_with_what_boosts_it(bases):
    members = {"fit": lambda self, x, y: None, "predict": lambda self, x: None}
    with pytest.raises(ValueError, match=r"Write NewtonBoosting\(Net\(\.\.\.\)\) for a regressor"):
        make_feature_part(type("Net", bases, members)())


@pytest.mark.parametrize("ranker", [LGBMRanker(), XGBRanker()])
def test_a_ranker_of_another_library_is_sent_to_compare(ranker):
    with pytest.raises(ValueError, match=r"It ranks by itself: compare\(rankers, data\) takes it"):
        make_feature_part(ranker)


@pytest.mark.parametrize("transformer", [TargetEncoder(), LinearDiscriminantAnalysis()])
def test_a_transformer_that_learns_from_labels_is_sent_before_the_ranker(transformer):
    with pytest.raises(ValueError, match=r"no feature part sees: put it before the ranker"):
        make_feature_part(transformer)


def test_a_class_in_place_of_an_object_is_refused_as_one():
    with pytest.raises(ValueError, match="got the class LinearDiscriminantAnalysis, no object"):
        make_feature_part(LinearDiscriminantAnalysis)


def test_a_module_of_torch_is_refused_with_what_trains_it():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"Write TorchModule\(build\)"):
        make_feature_part(torch.nn.Linear(2, 1))


def test_copies_are_independent():
    given = Own()
    given.weight = np.ones(2)
    assert make_feature_part(given) is not given
