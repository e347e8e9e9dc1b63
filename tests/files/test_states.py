import copy

import numpy as np
import pytest

from treerank import MLP, Ensemble, HistogramTrees, SoftTrees, TreeDirectRanker
from treerank.baselines import PRank, QuadraticPRank, RankBoost, RankSVM, SortNet
from treerank.feature_parts import LinearModel, Polynomial, Stages
from treerank.files.states import array, check_state, count, entries, history, numbers, optional
from treerank.rankers.nested_ranker import NestedRanker

SETS = {"categorical_features": [2], "cat_smooth": 0.0, "cat_l2": 0.0}
TREES = HistogramTrees(3, min_child_samples=2, min_child_weight=0, n_jobs=1, **SETS)
RANKERS = {
    "histogram": TreeDirectRanker(TREES, random_state=0),
    "mlp": TreeDirectRanker(MLP((4,), n_epochs=1), random_state=0),
    "one layer": TreeDirectRanker(MLP((), n_epochs=1, n_outputs=2), random_state=0),
    "polynomial": TreeDirectRanker(Polynomial(n_epochs=1), random_state=0),
    "soft_trees": TreeDirectRanker(SoftTrees(2, depth=2, n_epochs=1), random_state=0),
    "linear": TreeDirectRanker(LinearModel()),
    "ensemble": TreeDirectRanker(
        Ensemble([LinearModel(), LinearModel()], n_bags=2), random_state=0
    ),
    "stages": TreeDirectRanker(Stages([LinearModel(), LinearModel()]), random_state=0),
    "nested": NestedRanker(RankSVM(), sizes=(5,)),
    "rankboost": RankBoost(n_estimators=3),
    "ranksvm": RankSVM(),
    "prank": PRank(n_epochs=2),
    "quadratic": QuadraticPRank(n_epochs=2),
    "sortnet": SortNet(max_iter=1, n_epochs=1),
}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[:, 2] = rng.integers(3, size=80)
    y, qid = np.clip(np.round(X[:, 0] + 2 * (X[:, 2] == 1)), 0, 2), np.repeat(np.arange(4), 20)
    return {name: ranker.fit(X, y, qid) for name, ranker in RANKERS.items()}


def state_of(ranker):
    """Return a deep copy of the state of a ranker, and the dict of what it has learned."""
    state = copy.deepcopy(ranker.get_state())
    return state, state["learned"]


def at(state, path):
    """Return the dict that holds the last entry of a path."""
    for key in path[:-1]:
        state = state[key]
    return state


def filled(value):
    return lambda old: np.full_like(old, value)


def shorter(old):
    return old[:-1]


def wider(old):
    return np.stack([old, old])


RANKER_CHANGES = [
    ("rankboost", ("learned", "stumps_", "feature"), filled(3)),
    ("rankboost", ("learned", "stumps_", "weight"), shorter),
    ("rankboost", ("learned", "stumps_", "threshold"), filled(np.nan)),
    ("rankboost", ("learned", "best_iteration_"), lambda old: "3"),
    ("ranksvm", ("learned", "coef_"), shorter),
    ("ranksvm", ("learned", "mean_"), filled(np.inf)),
    ("ranksvm", ("learned", "objective_"), lambda old: None),
    ("ranksvm", ("n_features",), lambda old: 4),
    ("ranksvm", ("calibration_slope",), lambda old: np.nan),
    ("ranksvm", ("head", "weight"), lambda old: [1.0]),
    ("ranksvm", ("head", "tau"), lambda old: []),
    ("ranksvm", ("feature_names",), lambda old: ["a", "b"]),
    ("ranksvm", ("categories",), lambda old: {3: ["red"]}),
    ("prank", ("learned", "thresholds_"), shorter),
    ("quadratic", ("learned", "coef_"), shorter),
    ("sortnet", ("learned", "weights_", "first"), shorter),
    ("sortnet", ("learned", "inputs_", "scale"), filled(0)),
    ("sortnet", ("learned", "qualities_"), lambda old: ["x"]),
    ("nested", ("learned", "rankers_"), lambda old: [3]),
    ("mlp", ("head", "weight"), lambda old: np.ones(2)),
    ("mlp", ("learned", "feature_part_"), lambda old: 3),
    ("mlp", ("learned", "evals_result_"), lambda old: {"validation": {"ndcg": "x"}}),
    ("mlp", ("n_features",), lambda old: 4),
]
PART_CHANGES = [
    ("histogram", ("model", "feature"), filled(7)),
    ("histogram", ("model", "gain"), shorter),
    ("histogram", ("model", "gain"), lambda old: None),
    ("histogram", ("model", "sum_dtype"), lambda old: "float32"),
    ("histogram", ("model", "constant"), filled(1.0)),
    ("histogram", ("model", "categories", "rule"), lambda old: "truncated"),
    ("histogram", ("model", "n_features"), lambda old: 2),
    ("histogram", ("evals_result_",), lambda old: [1]),
    ("histogram", ("measured_after",), lambda old: -1),
    ("histogram", ("measured_after",), lambda old: 4),
    ("histogram", ("n_removed",), lambda old: -1),
    ("linear", ("coef_",), shorter),
    ("ensemble", ("bags_",), lambda old: 3),
    ("ensemble", ("bags_",), lambda old: [bag[:1] for bag in old]),
    ("ensemble", ("n_features_in_",), lambda old: 2),
    ("stages", ("parts_",), lambda old: []),
    ("stages", ("n_outputs_",), lambda old: 0),
    ("stages", ("n_features_in_",), lambda old: 2),
    ("ensemble", ("head_weight_",), shorter),
    ("ensemble", ("head_weight_",), filled(-1)),
    ("ensemble", ("spread_",), filled(np.inf)),
    ("mlp", ("mean",), shorter),
    ("mlp", ("scale",), filled(-1)),
    ("mlp", ("n_features_in_",), lambda old: 30_000),
    ("mlp", ("n_outputs_",), lambda old: 10**9),
    ("mlp", ("weights", "network.0.weight"), wider),
    ("mlp", ("weights", "network.0.weight"), filled(np.nan)),
    ("one layer", ("weights", "head"), shorter),
    ("polynomial", ("n_features_in_",), lambda old: 2),
    ("soft_trees", ("shape", "depth"), lambda old: 10**12),
    ("soft_trees", ("shape", "n_trees"), lambda old: 10**9),
    ("soft_trees", ("weights", "network.layer.gamma"), filled(0)),
]


@pytest.mark.parametrize(("name", "path", "change"), RANKER_CHANGES)
def test_a_ranker_refuses_a_state_that_does_not_fit_together(fitted, name, path, change):
    state, _ = state_of(fitted[name])
    inside = at(state, path)
    inside[path[-1]] = change(inside[path[-1]])
    with pytest.raises((ValueError, TypeError)):
        RANKERS[name].__sklearn_clone__().set_state(state)


@pytest.mark.parametrize(("name", "path", "change"), PART_CHANGES)
def test_a_feature_part_refuses_a_state_that_does_not_fit_together(fitted, name, path, change):
    part = fitted[name].feature_part_
    state = copy.deepcopy(part.get_state())
    inside = at(state, path)
    inside[path[-1]] = change(inside[path[-1]])
    with pytest.raises(ValueError):  # noqa: PT011 - the messages differ
        part.__sklearn_clone__().set_state(state)


@pytest.mark.parametrize("name", RANKERS)
def test_a_state_is_taken_and_none_with_another_entry(fitted, name):
    state, learned = state_of(fitted[name])
    X = np.random.default_rng(1).normal(size=(20, 3))
    scores = fitted[name].predict(X)
    np.testing.assert_array_equal(copy.copy(fitted[name]).set_state(state).predict(X), scores)
    learned["new"] = 1
    with pytest.raises(ValueError, match="must have the entries"):
        copy.copy(fitted[name]).set_state(state)


def empty(state):
    """Change all that a state holds, in place."""
    for value in state.values() if isinstance(state, dict) else state:
        if isinstance(value, np.ndarray):
            value[...] = 0
        elif isinstance(value, dict | list | tuple):
            empty(value)
        elif hasattr(value, "get_state"):
            empty(value.get_state())
    if isinstance(state, dict | list):
        state.clear()


@pytest.mark.parametrize("name", RANKERS)
def test_a_model_stays_as_it_is_if_its_state_is_changed(fitted, name):
    X = np.random.default_rng(1).normal(size=(20, 3))
    scores = fitted[name].predict(X)
    empty(fitted[name].get_state())
    assert fitted[name].get_state()["learned"]
    np.testing.assert_array_equal(fitted[name].predict(X), scores)


OTHERS = [MLP((30_000, 30_000)), MLP((4,) * 3), MLP((1,) * 10**5), Polynomial(3), Polynomial(10**9)]


@pytest.mark.parametrize("part", OTHERS)
def test_a_network_of_other_shapes_than_its_weights_is_not_built(fitted, part):
    state = fitted[type(part).__name__.lower()].feature_part_.get_state()
    with pytest.raises(ValueError, match="must"):
        part.set_state(state)


def test_a_model_trained_on_a_gpu_is_read_without_one(fitted):
    part = fitted["mlp"].feature_part_
    read = MLP((4,), device="cuda").set_state(part.get_state())
    assert read.set_params(device="cpu").get_state().keys() == part.get_state().keys()
    np.testing.assert_array_equal(read.transform(np.eye(3)), part.transform(np.eye(3)))


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (count(1), 3, 0),
        (optional(count()), None, "x"),
        (array("int64", "n", at_least=0, below="m"), np.array([0, 4]), np.array([5])),
        (array("float64", 2, "n"), np.ones((2, 3)), np.ones((3, 2))),
        (array("float64", "n", infinite=True), np.array([np.inf]), np.array([np.nan])),
        (array("float64", "m"), np.ones(5), np.ones(4)),
        (array("float64"), np.zeros(()), np.zeros(1)),
        (entries({"a": count()}), {"a": 1}, {"a": 1, "b": 1}),
        (numbers, [1, 0.5], [True]),
        (history, {"validation": {"ndcg": [0.5]}}, {"training": {}}),
    ],
)
def test_a_rule_takes_and_refuses(rule, good, bad):
    check_state({"entry": good}, {"entry": rule}, m=5)
    with pytest.raises(ValueError, match=r"entry|entries"):
        check_state({"entry": bad}, {"entry": rule}, m=5)
