"""What no network could be trained by or on is refused by name."""

import numpy as np
import pytest
from network_parts import OBJECTIVE, PARTS, QID, X, Y
from sklearn.base import clone

from treerank.feature_parts.networks.mlp import MLP
from treerank.feature_parts.networks.polynomial import LinearNetwork, Polynomial
from treerank.objectives import make_objective


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_epochs", 0),
        ("batch_size", 2.5),
        ("n_outputs", 0),
        ("learning_rate", 0.0),
        ("weight_decay", -1.0),
        ("momentum", np.nan),
        ("gradient_clip", 0),
        ("batches", "rows"),
        ("optimizer", "lion"),
        ("decay", "slow"),
        ("device", "tpu"),
        ("early_stopping_rounds", 3),
        ("hidden", (3, 0)),
        ("activation", "swish"),
        ("dropout", 1.0),
        ("dropout", "half"),
        ("start", "warm"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameter, value):
    name = "validation" if parameter == "early_stopping_rounds" else parameter
    with pytest.raises(ValueError, match=f"{name} must be"):
        MLP(**{parameter: value}).fit(X, OBJECTIVE)


@pytest.mark.parametrize("hidden", [5, "5", None])
def test_hidden_layers_come_as_a_sequence(hidden):
    with pytest.raises(TypeError, match="hidden must be a sequence; got"):
        MLP(hidden).fit(X, OBJECTIVE)


def test_a_batch_has_room_for_a_pair():
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 2; got 1"):
        MLP((4,), batch_size=1).fit(X, OBJECTIVE)


def test_a_learning_rate_that_blows_up_is_an_error():
    part = LinearNetwork(optimizer="sgd", learning_rate=1e6, n_epochs=20, random_state=0)
    with pytest.raises(ValueError, match="learning_rate must be low enough"):
        part.fit(X, make_objective(Y, QID, loss="half_squared"))


def test_data_of_another_width_are_refused():
    part = clone(PARTS["mlp"]).fit(X, OBJECTIVE)
    with pytest.raises(ValueError, match="X must have 4 features; got 3"):
        part.transform(X[:, :3])
    with pytest.raises(ValueError, match="at most 100000 monomials"):
        Polynomial(9).fit(np.tile(X, (1, 10)), OBJECTIVE)
