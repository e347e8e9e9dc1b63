"""What torch sees of an objective is what its kernels compute."""

import numpy as np
import pytest
import torch
from network_parts import QID, Y

from treerank.feature_parts.networks.objective_function import ObjectiveFunction
from treerank.objectives import make_objective
from treerank.objectives.dense import dense_gradient, is_dense
from treerank.objectives.losses import PAIR_LOSSES

rng = np.random.default_rng(1)


@pytest.mark.parametrize("iteration", [0, 5])
def test_autograd_sees_value_and_gradient_of_the_objective(iteration):
    objective = make_objective(Y, QID, weight="ndcg", smoothing=1.0)
    scores = torch.from_numpy(rng.normal(size=120)).requires_grad_()
    value = ObjectiveFunction.apply(scores, objective, iteration)
    assert value.dtype == torch.float64  # as the scores are
    (3 * value).backward()
    expected_value, gradient, _ = objective(scores.detach().numpy(), iteration=iteration)
    assert value.item() == pytest.approx(expected_value)
    np.testing.assert_allclose(scores.grad.numpy(), 3 * gradient, rtol=1e-12)


def _weighted_objective(**settings):
    weights = {"sample_weight": rng.random(120) + 0.5, "query_weight": 1.0 + QID}
    return make_objective(Y, QID, **weights, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        *[{"loss": loss} for loss in PAIR_LOSSES],
        {"loss": "half_squared_tanh", "pairs": "adjacent", "sigma": 0.7},
        {"loss": "logistic", "weight": "query"},
        {"loss": "logistic", "weight": "label", "query_normalization": "log"},
        {"loss": "hinge", "target_margin": "label_gap"},
    ],
)
def test_the_dense_gradient_is_that_of_the_kernels(settings):
    objective = _weighted_objective(**settings)
    scores = rng.normal(size=120)
    assert is_dense(objective)
    dense = dense_gradient(torch.from_numpy(scores), objective)
    np.testing.assert_allclose(dense.numpy(), objective(scores)[1], rtol=1e-9, atol=1e-11)


def test_every_pair_loss_has_a_slope_and_ranks_go_by_the_kernels():
    assert all(loss.of_tensor for loss in PAIR_LOSSES.values())
    assert not is_dense(make_objective(Y, QID, weight="ndcg"))
    assert not is_dense(make_objective(Y, QID, loss="listnet"))
