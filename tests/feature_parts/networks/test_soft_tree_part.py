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


def test_they_learn_what_no_linear_function_can():
    part = fitted(n_epochs=40, learning_rate=0.03)
    assert accuracy(part.transform(X)[:, 0]) > 0.95


def test_the_wider_the_band_the_less_splits_turn():
    def turned(gamma):
        first, last = (
            fitted(gamma=gamma, n_epochs=n, learning_rate=rate).network_.layer.weight.detach()
            for n, rate in [(1, 1e-12), (10, 1e-2)]
        )
        return float(1 - torch.cosine_similarity(first, last, dim=2).mean())

    assert turned(50.0) < turned(1.0) / 10


def test_a_restored_part_gives_the_same_bits():
    part = fitted(n_outputs=2)
    other = SoftTrees(n_estimators=1, depth=1, n_outputs=2).set_state(part.get_state())
    np.testing.assert_array_equal(other.transform(X), part.transform(X))


def test_the_weights_are_averages_over_all_steps_the_later_the_heavier():
    """With a batch of all rows, an epoch is a step."""

    def weights(n_epochs, average_weights):
        settings = {"batch_size": 400, "learning_rate": 0.03, "n_outputs": 2}
        part = fitted(n_epochs=n_epochs, average_weights=average_weights, **settings)
        return part.get_state()["weights"]

    steps = [weights(n, average_weights=False) for n in (1, 2, 3)]
    for name, found in weights(3, average_weights=True).items():
        one, two, three = (step[name].astype(float) for step in steps)
        np.testing.assert_allclose(found, (one + 2 * two + 3 * three) / 6, rtol=1e-5, atol=1e-7)


def test_the_average_at_the_best_epoch_is_kept():
    queries = np.repeat(np.arange(20), 20)

    def best_is_the_third(scores):
        seen.append(scores)
        return -abs(len(seen) - 3.0)

    seen: list[np.ndarray] = []
    part = SoftTrees(**SMALL | {"n_epochs": 6, "learning_rate": 0.03})
    part.fit(X, make_objective(Y, queries), validation=(X, best_is_the_third))
    assert part.best_iteration_ == 3
    alone = fitted(n_epochs=3, learning_rate=0.03).transform(X)
    np.testing.assert_array_equal(part.transform(X), alone)
    np.testing.assert_allclose(seen[2], alone[:, 0], rtol=1e-4, atol=1e-5)


def test_bad_parameters_are_refused_by_name():
    for name, value in (("n_estimators", 0), ("depth", 0), ("gamma", 0), ("average_weights", 2)):
        with pytest.raises(ValueError, match=f"^{name} must be .*; got {value}"):
            fitted(**{name: value})


def test_by_default_splits_learn():
    """The median correlation of a split before and after training, over the rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(800, 40))
    objective = make_objective(rows[:, 0] > rows[:, 1] * rows[:, 2], np.repeat(np.arange(40), 20))
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)

    def decisions(**params):
        part = SoftTrees(16, batch_size=40, random_state=0, **params).fit(rows, objective)
        layer = part.network_.layer
        z = standard @ layer.weight.detach().double().flatten(0, 1).numpy().T
        u = np.clip((z + layer.bias.detach().flatten().numpy()) / float(layer.gamma) + 0.5, 0, 1)
        return u * u * (3 - 2 * u)

    def correlation(**params):
        first, last = decisions(learning_rate=1e-12, **params), decisions(**params)
        each = [np.corrcoef(a, b)[0, 1] for a, b in zip(first.T, last.T, strict=True)]
        return np.median(each)

    assert correlation() < 0.8
    assert correlation(gamma=50.0, spread=0.2) > 0.98
