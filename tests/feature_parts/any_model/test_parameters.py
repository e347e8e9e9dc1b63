"""Parameters of models of other libraries are checked before any training, by name."""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from treerank import make_objective
from treerank.feature_parts import NewtonBoosting, TransformerPart

torch = pytest.importorskip("torch")
from treerank.feature_parts import TorchModule  # noqa: E402


class Begun(Ridge):
    def fit(self, X, y, sample_weight=None):
        pytest.fail("training began")


def begun(n_features):
    pytest.fail("training began")


GIVEN = {
    NewtonBoosting: {"regressor": Begun()},
    TransformerPart: {"transformer": StandardScaler()},
    TorchModule: {"build": begun},
}
BAD = [b"x", 1 + 2j, object(), np.nan, np.zeros((2, 2)), [[[]]], int]
CASES = [(cls, name) for cls in GIVEN for name in inspect.signature(cls).parameters]
X, Y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 3


@pytest.mark.parametrize(("cls", "name"), CASES, ids=lambda each: getattr(each, "__name__", each))
def test_a_wrong_parameter_is_named_before_training(cls, name):
    for value in BAD:
        if name == "build" and value is int:  # which can be called
            continue
        part = cls(**GIVEN[cls] | {name: value})
        with pytest.raises((ValueError, TypeError), match=name) as caught:
            part.fit(X, make_objective(Y))
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("cls", GIVEN)
def test_all_parameters_but_the_first_are_keywords(cls):
    first, *others = inspect.signature(cls).parameters.values()
    assert first.name in GIVEN[cls]
    assert {each.kind for each in others} == {inspect.Parameter.KEYWORD_ONLY}
