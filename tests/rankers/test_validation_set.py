import inspect
from functools import partial

import numpy as np
import pytest

from treerank import TreeDirectRanker, load
from treerank.feature_parts.registry import make_feature_part
from treerank.feature_parts.trees.auto_sizes import auto_sizes
from treerank.registry import RANKERS, ranker_class

RNG = np.random.default_rng(1)
X = RNG.normal(size=(240, 4))
Y = (X[:, 0] + 2 * RNG.normal(size=240) > 0.5).astype(int)
QID = np.repeat(np.arange(16), 15)
LENGTHS = {"n_estimators", "n_epochs", "n_generations"}


def makers():
    """Return the names of all that stop early, and what makes them with some settings."""
    found = {}
    for name in sorted(RANKERS):
        params = inspect.signature(ranker_class(name)).parameters
        if "early_stopping_rounds" in params and "best_iteration_" in ranker_class(name)._learned:
            (length,) = params.keys() & LENGTHS
            found[name] = partial(ranker_class(name), **{length: 30})
    for name in ("lightgbm", "xgboost", "histogram", "mlp"):
        found[name] = partial(of_part, name)
    return [pytest.param(make, id=name) for name, make in found.items() if "PRank" not in name]


def of_part(name, **params):
    part = make_feature_part(name)
    (length,) = part.get_params().keys() & LENGTHS
    return TreeDirectRanker(part.set_params(**{length: 30}, random_state=0, **params))


def fitted(make, **params):
    ranker = make(**params)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)
    return ranker.fit(X[:150], Y[:150], QID[:150], eval_set=(X[150:], Y[150:], QID[150:]))


def smoothed(values, newest):
    """Return exponential means, written as the sums that they are."""
    old = (1 - newest) ** np.arange(len(values) + 1)
    return [newest * old[:i] @ values[i:0:-1] + old[i] * values[0] for i in range(len(values))]


@pytest.mark.parametrize("make", makers())
def test_the_best_iteration_is_kept_and_none_keeps_all(make):
    best, whole = fitted(make), fitted(make, early_stopping_rounds=None)
    (history,) = best.evals_result_["validation"].values()
    (all_values,) = whole.evals_result_["validation"].values()
    assert whole.best_iteration_ == len(all_values)
    np.testing.assert_allclose(history, all_values[: len(history)])
    rate = getattr(getattr(best, "feature_part_", None), "learning_rate_", 1.0)
    assert best.best_iteration_ == 1 + np.argmax(smoothed(np.array(history), rate))


@pytest.mark.parametrize("numbers", [(700, 30, 39), (10**6, 8000, 700), (9, 1, 1)])
def test_what_is_given_stays_and_changes_no_other_size(numbers):
    sizes = auto_sizes(*numbers)
    for name, value in sizes._asdict().items():
        given = auto_sizes(*numbers, chosen={name: 2 * value})
        assert getattr(given, name) == 2 * value
        others = set(sizes._fields) - {name, "n_estimators", "learning_rate"}
        assert all(getattr(given, other) == getattr(sizes, other) for other in others)


def test_more_queries_get_more_leaves_and_the_rates_of_all_trees_add_up():
    sizes = [auto_sizes(24 * n, n, 40) for n in (10, 30, 100, 300, 1000, 3000, 10_000, 10**6)]
    leaves = [size.num_leaves for size in sizes]
    assert leaves == sorted(leaves)
    assert (leaves[0], leaves[-1]) == (4, 127)
    for size in sizes:
        assert 6.9 < size.n_estimators * size.learning_rate < 10.1
        assert 0.05 <= size.learning_rate <= 0.15
    assert auto_sizes(2400, 100, 40, {"n_estimators": 50}).learning_rate == pytest.approx(7 / 50)
    assert auto_sizes(2400, 100, 40, {"learning_rate": 0.1}).n_estimators == 70


@pytest.mark.parametrize("part", ["lightgbm", "xgboost", "histogram"])
def test_a_fit_says_which_sizes_it_chose_and_a_model_file_keeps_them(part, tmp_path):
    ranker = TreeDirectRanker(part, random_state=0).fit(X, Y, QID)
    sizes = auto_sizes(240, 16, 4)._asdict()
    if part == "xgboost":
        del sizes["min_child_samples"]
    ranker.save(tmp_path / "m")
    for fit in (ranker, load(tmp_path / "m")):
        assert {name: getattr(fit.feature_part_, f"{name}_") for name in sizes} == sizes


@pytest.mark.parametrize("part", ["lightgbm", "xgboost", "histogram"])
def test_trees_that_are_added_are_as_the_earlier_ones(part):
    ranker = TreeDirectRanker(part, warm_start=True, random_state=0)
    ranker.set_params(feature_part__n_estimators=20).fit(X, Y, QID)
    before = ranker.feature_part_.learning_rate_
    ranker.set_params(feature_part__n_estimators=40).fit(X, Y, QID)
    assert ranker.feature_part_.best_iteration_ == 40
    assert ranker.feature_part_.learning_rate_ == before == pytest.approx(0.3)
