"""Start: soft trees that begin as a copy of boosted trees, to be trained further by gradient.

A split of one feature at a threshold becomes the hyperplane whose normal is the axis of that
feature. Outside of a band the hyperplane decides like the split. The band is as wide as the given
rows tell: a given share of them lies inside. Where a branch ends early, all leaves below get its
value and the splits there are drawn at random: the score is the same whichever way a row takes, and
training can use these splits.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch

from treerank.checks import shown
from treerank.feature_parts.engines.boosting import BoostedTrees
from treerank.feature_parts.soft_trees.layer import SoftTreeLayer
from treerank.forests.forest import Forest

#: Depth of the deepest trees that are copied: a soft tree is complete, with 2^depth leaves.
MAX_DEPTH = 10
#: Relative distance at which a row is on a threshold: two roundings to single precision.
_ROUNDING = 2.0**-22


def _checked_forest(model):
    """Return the trees of a fitted model; refuse those that soft trees cannot copy."""
    if not isinstance(model, BoostedTrees):
        raise TypeError(f"init_model must be boosted trees, fitted; got {shown(model)}.")
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"init_model must be fitted; got {shown(model)}.")
    forest = model.read_forest
    if forest is None:
        raise ValueError(f"init_model must have constant leaves; got {shown(model)}.")
    if forest.categories is not None:
        raise ValueError("init_model must have no splits by category; got some.")
    if forest.constant.any():
        raise ValueError(
            f"init_model must start at a score of 0; got {forest.constant.tolist()!r}."
        )
    return forest


def start_layer(
    model: BoostedTrees,
    x: torch.Tensor,
    *,
    mean: float | np.ndarray = 0.0,
    scale: float | np.ndarray = 1.0,
    gamma: float = 1.0,
    softness: float = 0.2,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
) -> SoftTreeLayer:
    """Return a layer that computes the outputs of a fitted model, except near thresholds.

    Parameters
    ----------
    model : BoostedTrees
        The fitted model, without splits by category and with at most 10 splits on a path.
    x : Tensor of shape (n_rows, n_features)
        Typical rows, from which the widths of the soft bands are measured.
    mean : float or ndarray of shape (n_features,), default=0.0
        What was subtracted from the features of the model to get ``x``.
    scale : float or ndarray of shape (n_features,), default=1.0
        What the features were divided by afterwards.
    gamma : float, default=1.0
        Width of the soft band of the layer.
    softness : float, default=0.2
        Share of the rows that lie in the soft band of each split; with 0 none does.
    generator : torch.Generator, default=None
        Source of random numbers, for the splits that no branch of the model reaches.
    dtype : torch.dtype, default=None
        Type of the layer.

    Returns
    -------
    SoftTreeLayer
        The layer, with the splits and leaves of the model.

    Examples
    --------
    >>> from treerank.feature_parts.engines.lightgbm import LightGBMTrees
    >>> from treerank.objectives import make_objective
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> objective = make_objective(X[:, 0] * X[:, 1] > 0, np.repeat(np.arange(10), 20))
    >>> model = LightGBMTrees(5, max_depth=3, n_jobs=1).fit(X, objective)
    >>> x = torch.from_numpy(X)
    >>> layer = start_layer(model, x, softness=0, dtype=torch.float64)
    >>> bool(np.allclose(layer(x).detach(), model.transform(X)))
    True
    """
    forest = _checked_forest(model)
    if x.shape[1] != forest.n_features:
        raise ValueError(
            f"init_model must have as many features as X, {x.shape[1]}; got {forest.n_features}."
        )
    shape: dict[str, Any] = {"n_trees": forest.n_trees, "depth": _checked_depth(forest)}
    layer = SoftTreeLayer(x.shape[1], forest.n_outputs, **shape, gamma=gamma, dtype=dtype)
    layer.place_splits(x, generator=generator)
    rows = x.double().cpu().numpy()
    means, scales = (np.broadcast_to(a, layer.in_features) for a in (mean, scale))
    thresholds, includes = thresholds_of(forest)

    @cache
    def place(feature, threshold):
        inputs = rows[:, feature], means[feature], scales[feature]
        return _place(threshold, includes, *inputs, softness)

    for tree, root in enumerate(forest.roots):
        for node, level, k in walk(forest, root):
            feature = int(forest.feature[node])
            if feature >= 0:
                threshold, half_width = place(feature, thresholds[node])
                split, steepness = (tree, 2**level - 1 + k), gamma / (2 * half_width)
                _set_split(layer, split, feature, threshold, steepness)
            else:  # the leaves below node k of this level
                values = torch.as_tensor(_outputs_of_leaf(forest, tree, node))
                layer.leaf.data[tree, k :: 2**level] = values.to(layer.leaf)
    return layer


def thresholds_of(forest: Forest) -> tuple[np.ndarray, bool]:
    """Return the threshold of each node, and whether a row on it goes left."""
    if forest.sum_dtype != "float32":
        return forest.threshold.astype(np.float64), True
    above = np.nextafter(forest.threshold.astype(np.float32), np.float32(np.inf))
    return above.astype(np.float64), False  # XGBoost asks x < t in single precision


def _outputs_of_leaf(forest, tree, node):
    """Return the value of a leaf for each output."""
    values = forest.values[node]
    is_vector = len(values) == forest.n_outputs
    return values if is_vector else values * np.eye(forest.n_outputs)[forest.tree_output[tree]]


@torch.no_grad()
def _set_split(layer, split, feature, threshold, steepness):
    """Make a split compare one feature with a threshold."""
    layer.weight[split] = 0
    layer.weight[split][feature] = -steepness
    layer.bias[split] = steepness * threshold


def _checked_depth(forest):
    depth = max([1, *(level for root in forest.roots for _, level, _ in walk(forest, root))])
    if depth > MAX_DEPTH:
        raise ValueError(
            f"init_model must have at most {MAX_DEPTH} splits on a path (set max_depth); "
            f"got {depth}."
        )
    return depth


def walk(forest: Forest, node: int, level: int = 0, k: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield a node and all nodes below, each with its level and its number in a soft tree."""
    yield node, level, k
    if forest.feature[node] >= 0:
        yield from walk(forest, forest.left[node], level + 1, k)
        yield from walk(forest, forest.right[node], level + 1, k + 2**level)


def _place(threshold, includes, values, mean, scale, softness):
    """Return the threshold and half the width of the soft band of a split, both standardized."""
    standard = (threshold - mean) / scale
    # Rows and, with XGBoost, thresholds have been rounded to single precision.
    rounding = _ROUNDING * (abs(standard) + abs(threshold) / scale)
    threshold = _between(values, standard, rounding, includes)
    distances = np.abs(values - threshold)
    half_width = max(distances.min() / 2, np.quantile(distances, softness) if softness else 0.0)
    return threshold, max(half_width, rounding, np.finfo(np.float32).tiny)


def _between(values, threshold, rounding, includes):
    """Return a threshold that no value lies on, by moving it away from the values on it."""
    if not (np.abs(values - threshold) <= rounding).any():
        return threshold
    if includes:
        beyond = values[values > threshold + rounding]
        return (threshold + beyond.min()) / 2 if len(beyond) else threshold + 1.0
    before = values[values < threshold - rounding]
    return (threshold + before.max()) / 2 if len(before) else threshold - 1.0
