import numpy as np
import pytest

from treerank.objectives import make_objective

Y, QID = np.array([0, 1, 2, 4, 0, 1]), np.array([0, 0, 0, 0, 1, 1])
SCORES = np.random.default_rng(0).normal(size=(6, 3))


def test_each_column_is_the_objective_of_one_threshold():
    value, gradient, hessian = make_objective(Y, QID, per_level=True)(SCORES)
    parts = [make_objective(Y >= level, QID)(SCORES[:, c]) for c, level in enumerate([1, 2, 4])]
    np.testing.assert_allclose(value, sum(part[0] for part in parts))
    np.testing.assert_allclose(gradient, np.column_stack([part[1] for part in parts]))
    np.testing.assert_allclose(hessian, np.column_stack([part[2] for part in parts]))


def test_each_threshold_needs_a_column():
    with pytest.raises(ValueError, match=r"scores must have 3 columns.*got shape \(6,\)"):
        make_objective(Y, QID, per_level=True)(SCORES[:, 0])
