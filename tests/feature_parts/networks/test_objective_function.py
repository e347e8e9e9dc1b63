"""What torch sees of an objective is what its kernels compute."""

import numpy as np
import pytest
import torch
from network_parts import QID, Y

from treerank.feature_parts.networks.objective_function import ObjectiveFunction
from treerank.objectives import make_objective

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
