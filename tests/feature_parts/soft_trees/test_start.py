"""Soft trees that start from boosted ones score as those do."""

import numpy as np
import pytest

from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.histogram.trees import HistogramTrees

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
XGBoostTrees = pytest.importorskip("treerank.feature_parts.engines.xgboost").XGBoostTrees
start = pytest.importorskip("treerank.feature_parts.soft_trees.start")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 1000.0, 0.0, 5.0]
X[:, 3] = X[:, 3].round()  # values that thresholds lie on
TARGET = np.sin(3 * X[:, 0]) + (X[:, 1] > 1000) * X[:, 3] + 500 * X[:, 2]
FRESH = RNG.normal(size=(300, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 1000.0, 0.0, 5.0]
FRESH[:, 3] = FRESH[:, 3].round()
SMALL = {"n_estimators": 8, "n_jobs": 1, "learning_rate": 0.3, "random_state": 0}
SMALL |= {"num_leaves": 31, "colsample_bytree": 1.0}
PARTS = [LightGBMTrees, XGBoostTrees, HistogramTrees]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class HalfSquare:
    def __init__(self, target):
        self.target = target
        self.n_outputs = 1 if target.ndim == 1 else target.shape[1]

    def derivatives(self, scores, *, iteration=0):
        return scores - self.target, np.ones_like(scores)


def fitted(part, target=TARGET, data=X, **params):
    return part(**{**SMALL, "max_depth": 4, **params}).fit(data, HalfSquare(target))


def started(model, data=X, **options):
    generator = torch.Generator().manual_seed(0)
    x = torch.from_numpy(data)
    return start.start_layer(model, x, generator=generator, dtype=torch.float64, **options)


def outputs(layer, data):
    return layer(torch.from_numpy(data)).detach().numpy()


def away_from_thresholds(model, data):
    """Rows none of whose features lies in a gap of ``X`` that the model has a threshold at."""
    near = np.zeros(len(data), dtype=bool)
    forest = model.forest()
    thresholds, _ = start.thresholds_of(forest)
    for node in np.flatnonzero(forest.feature >= 0):
        feature, threshold = forest.feature[node], thresholds[node]
        known, values = np.sort(X[:, feature]), data[:, feature]
        rounding = 1e-6 * abs(threshold)  # to single precision
        gaps = np.searchsorted(known, threshold + np.array([-rounding, rounding]))
        near |= np.isin(np.searchsorted(known, values), gaps) & ~np.isin(values, known)
    return ~near


@pytest.mark.parametrize("part", PARTS)
def test_without_softness_the_rows_at_hand_get_the_scores_of_the_model(part):
    model = fitted(part)
    layer = started(model, softness=0)
    np.testing.assert_allclose(outputs(layer, X), model.transform(X), rtol=1e-6, atol=1e-6)
    assert (layer.n_trees, layer.depth) == (8, 4)


@pytest.mark.parametrize("part", PARTS)
def test_with_a_small_gamma_new_rows_away_from_thresholds_get_the_scores_of_the_model(part):
    model = fitted(part)
    layer = started(model, softness=0.1)
    soft = outputs(layer, FRESH)
    layer.set_gamma(1e-4)
    kept = away_from_thresholds(model, FRESH)
    assert kept.sum() > 100
    expected = model.transform(FRESH)[kept]
    np.testing.assert_allclose(outputs(layer, FRESH)[kept], expected, rtol=1e-5, atol=1e-5)
    assert np.abs(soft[kept] - expected).max() > 1e-3


@pytest.mark.parametrize("part", PARTS)
def test_standardized_rows_get_the_same_scores(part):
    model, mean, scale = fitted(part), X.mean(axis=0), X.std(axis=0)
    layer = started(model, (X - mean) / scale, mean=mean, scale=scale, softness=0)
    ours = outputs(layer, (X - mean) / scale)
    np.testing.assert_allclose(ours, model.transform(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("part", "params"),
    [
        (LightGBMTrees, {}),
        (XGBoostTrees, {}),
        (XGBoostTrees, {"multi_strategy": "multi_output_tree"}),
    ],
)
def test_every_output_keeps_its_trees(part, params):
    targets = np.column_stack([TARGET, -X[:, 0], X[:, 3]])
    model = fitted(part, targets, n_estimators=3, **params)
    layer = started(model, softness=0)
    np.testing.assert_allclose(outputs(layer, X), model.transform(X), rtol=1e-5, atol=1e-5)


def test_rows_on_a_threshold_go_where_the_model_sends_them():
    model = fitted(LightGBMTrees, n_estimators=1, max_depth=1)
    forest, data = model.forest(), X.copy()
    data[:5, forest.feature[0]] = forest.threshold[0]
    np.testing.assert_allclose(
        outputs(started(model, data, softness=0), data), model.transform(data), rtol=1e-6
    )


def test_a_branch_that_ends_early_can_still_learn():
    model = fitted(LightGBMTrees, n_estimators=1, max_depth=-1, num_leaves=4)
    layer = started(model, softness=0)
    x = torch.from_numpy(X)
    (layer(x)[:, 0] - torch.from_numpy(TARGET)).square().mean().backward()
    values, slopes = (leaf[0, :, 0].view(2, -1) for leaf in (layer.leaf, layer.leaf.grad))
    copies = values[0] == values[1]
    assert copies.any()
    assert (slopes[0] != slopes[1])[copies].any()


def test_a_model_without_a_split_is_a_constant():
    model = fitted(LightGBMTrees, min_child_samples=400)
    np.testing.assert_allclose(outputs(started(model), X), model.transform(X), atol=1e-12)


@pytest.mark.parametrize("softness", [0.05, 0.5])
def test_softness_is_the_share_of_rows_inside_the_band(softness):
    model = fitted(LightGBMTrees, max_depth=1, n_estimators=3)
    layer, x = started(model, softness=softness), torch.from_numpy(X)
    z = torch.einsum("bd,tnd->tnb", x, layer.weight) + layer.bias[..., None]
    share = (z.abs() < layer.gamma / 2).double().mean(dim=2)
    torch.testing.assert_close(share, torch.full_like(share, softness), atol=0.01, rtol=0)


CODES = np.column_stack([X, RNG.integers(0, 5, len(X))])


@pytest.mark.parametrize(
    ("target", "data", "params", "message"),
    [
        (CODES[:, 4] % 2.0, CODES, {"categorical_features": [4]}, "no splits by category"),
        (TARGET, X, {"engine_params": {"linear_tree": True}}, "constant leaves"),
        (X[:, 0] ** 9, X, {"max_depth": -1, "num_leaves": 200}, "at most 10 splits on a path"),
    ],
)
def test_trees_that_cannot_be_copied_are_refused(target, data, params, message):
    model = fitted(LightGBMTrees, target, data, **{"min_child_samples": 1, **params})
    with pytest.raises(ValueError, match=f"init_model must have {message}"):
        started(model, data)


def test_models_that_are_not_fitted_or_no_trees_are_refused():
    with pytest.raises(ValueError, match="init_model must be fitted"):
        started(LightGBMTrees())
    with pytest.raises(TypeError, match="init_model must be boosted trees"):
        started("lightgbm")
