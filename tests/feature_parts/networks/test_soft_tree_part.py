import numpy as np
import pytest
import torch

from treerank import SoftTrees, make_objective

pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(400, 3)) * [1.0, 10.0, 0.1]
Y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
OBJECTIVE = make_objective(Y, np.repeat(np.arange(20), 20))
SMALL = {"n_estimators": 6, "depth": 3, "n_epochs": 4, "batch_size": 100, "random_state": 0}


def fitted(objective=OBJECTIVE, data=X, **params):
    return SoftTrees(**{**SMALL, **params}).fit(data, objective)


def accuracy(scores):
    """Share of pairs of all queries in which the relevant document is above."""
    return float(np.mean(scores[Y][:, None] > scores[~Y]))


@pytest.mark.parametrize("params", [{}, {"oblivious": True, "batch_norm": True}])
def test_they_learn_what_no_linear_function_can(params):
    part = fitted(n_epochs=40, learning_rate=0.03, **params)
    assert accuracy(part.transform(X)[:, 0]) > 0.95


def test_gamma_falls_from_the_first_to_the_last_epoch_geometrically():
    seen = []
    part = SoftTrees(**SMALL | {"n_epochs": 3}, gamma=1.0, final_gamma=0.01)
    listening = (X, lambda scores: seen.append(float(part.network_.layer.gamma)) or 0.0)
    part.fit(X, OBJECTIVE, validation=listening)
    np.testing.assert_allclose(seen, [1.0, 0.1, 0.01], rtol=1e-6)
    assert float(fitted(gamma=0.5).network_.layer.gamma) == 0.5
    assert float(fitted(gamma=1.0, final_gamma=0.1, n_epochs=1).network_.layer.gamma) == 1.0


def test_the_wider_the_band_the_less_splits_turn():
    def turned(gamma):
        first, last = (
            fitted(gamma=gamma, n_epochs=n, learning_rate=rate).network_.layer.weight.detach()
            for n, rate in [(1, 1e-12), (10, 1e-2)]
        )
        return float(1 - torch.cosine_similarity(first, last, dim=2).mean())

    assert turned(50.0) < turned(1.0) / 10


def test_the_best_epoch_is_kept_with_its_gamma():
    best_first = iter([3.0, 2.0, 1.0, 0.0])
    part = SoftTrees(**SMALL, gamma=1.0, final_gamma=0.1, early_stopping_rounds=3)
    part.fit(X, OBJECTIVE, validation=(X, lambda scores: next(best_first)))
    assert (part.best_iteration_, float(part.network_.layer.gamma)) == (1, 1.0)


def test_a_restored_part_gives_the_same_bits():
    params = {"oblivious": True, "n_outputs": 2, "batch_norm": True}
    part = fitted(final_gamma=0.2, **params)
    # The shape comes from the state: with init_model the parameters do not tell it.
    other = SoftTrees(n_estimators=1, depth=1, **params).set_state(part.get_state())
    np.testing.assert_array_equal(other.transform(X), part.transform(X))


def test_bad_parameters_are_refused_by_name():
    for name, value in (("n_estimators", 0), ("depth", 0), ("gamma", 0), ("final_gamma", -1.0)):
        with pytest.raises(ValueError, match=f"^{name} must be a .*; got {value}"):
            fitted(**{name: value})
