"""Start soft trees from boosted ones: copy splits and leaves, to go on by gradient.

A split of one feature at a threshold is the hyperplane whose normal is that feature's axis. Its
band, outside which it decides as before, is as wide as the rows at hand say: a given share of
them lies inside. Where a branch ends early, all leaves below carry its value and the splits there
are drawn afresh: the score is the same whichever way a row takes, and training can use them.

To copy from another engine, list a function that returns its trees in ``ENGINES``.
"""

import json
from dataclasses import dataclass

import numpy as np
import torch

from treerank.feature_parts.engines.boosting import BoostedTrees
from treerank.feature_parts.soft_trees.layer import SoftTreeLayer

#: Deepest trees copied: a soft tree is complete, with 2^depth leaves.
MAX_DEPTH = 10
#: Relative distance at which a row is on a threshold: two roundings to single precision.
_ROUNDING = 2.0**-22


@dataclass(frozen=True, eq=False)
class Split:
    """A node that sends x to ``left`` if ``x[feature]`` is below the threshold, else ``right``."""

    feature: int
    threshold: float
    includes: bool  # whether a row on the threshold goes left
    left: "Split | np.ndarray"
    right: "Split | np.ndarray"


def hard_trees(model):
    """Return the trees of a fitted LightGBMTrees or XGBoostTrees.

    Parameters
    ----------
    model : LightGBMTrees or XGBoostTrees
        Fitted.

    Returns
    -------
    list of Split or ndarray of shape (n_outputs,)
        One root per tree; a leaf is the array of its outputs.
    """
    if not isinstance(model, BoostedTrees) or type(model).__name__ not in ENGINES:
        raise TypeError(f"init_model must be one of {sorted(ENGINES)}, fitted; got {model!r}.")
    if not hasattr(model, "booster_"):
        raise ValueError(f"init_model must be fitted; got {model!r}.")
    return ENGINES[type(model).__name__](model)


def start_layer(
    model, x, *, mean=0.0, scale=1.0, gamma=1.0, softness=0.2, generator=None, dtype=None
):
    """Return a layer that computes what a fitted model does, but for rows near a threshold.

    Parameters
    ----------
    model : LightGBMTrees or XGBoostTrees
        Fitted, without splits by category; of at most 10 splits on a path.
    x : Tensor of shape (n_rows, n_features)
        Rows like those to come, to measure widths by.
    mean, scale : float or ndarray of shape (n_features,), default=0.0 and 1.0
        What was subtracted from the features that the model knows, and what they were divided by
        then, to give ``x``.
    gamma : float, default=1.0
        Of the layer.
    softness : float, default=0.2
        Share of the rows that lie in the soft band of each split; with 0 none does.
    generator : torch.Generator, default=None
        Source of the splits that no branch of the model reaches.
    dtype : torch.dtype, default=None
        Of the layer.

    Returns
    -------
    SoftTreeLayer

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
    trees = hard_trees(model)
    if x.shape[1] != model.n_features_in_:
        raise ValueError(
            f"init_model must have as many features as X, {x.shape[1]}; got {model.n_features_in_}."
        )
    options = {"n_trees": len(trees), "depth": _checked_depth(trees), "gamma": gamma}
    layer = SoftTreeLayer(model.n_features_in_, model.n_scores_, **options, dtype=dtype)
    layer.place_splits(x, generator=generator)
    rows = x.double().cpu().numpy()
    mean, scale = (np.broadcast_to(a, layer.in_features) for a in (mean, scale))
    placed: dict[tuple[int, float, bool], tuple[float, float]] = {}
    with torch.no_grad():
        for tree, root in enumerate(trees):
            for node, level, k in walk(root):
                if not isinstance(node, Split):  # the leaves below node k of level l
                    layer.leaf[tree, k :: 2**level] = torch.as_tensor(node).to(layer.leaf)
                    continue
                key = node.feature, node.threshold, node.includes
                if key not in placed:
                    at = mean[node.feature], scale[node.feature]
                    placed[key] = _placed(node, rows[:, node.feature], *at, softness)
                threshold, half_width = placed[key]
                steepness, split = gamma / (2 * half_width), 2**level - 1 + k
                layer.weight[tree, split] = 0
                layer.weight[tree, split, node.feature] = -steepness
                layer.bias[tree, split] = steepness * threshold
    return layer


def _checked_depth(trees):
    depth = max([1, *(level for root in trees for _, level, _ in walk(root))])
    if depth > MAX_DEPTH:
        raise ValueError(
            f"init_model must have at most {MAX_DEPTH} splits on a path (max_depth sees to it); "
            f"got {depth}."
        )
    return depth


def walk(node, level=0, k=0):
    """Yield all nodes below one, with level and number as soft trees have them."""
    yield node, level, k
    if isinstance(node, Split):
        yield from walk(node.left, level + 1, k)
        yield from walk(node.right, level + 1, k + 2**level)


def _placed(node, values, mean, scale, softness):
    """Return threshold and half the width of the band of a split, in units of the rows."""
    threshold = (node.threshold - mean) / scale
    # Rows and, with XGBoost, thresholds have been rounded to single precision.
    rounding = _ROUNDING * (abs(threshold) + abs(node.threshold) / scale)
    threshold = _between(values, threshold, rounding, node.includes)
    distances = np.abs(values - threshold)
    half_width = max(distances.min() / 2, np.quantile(distances, softness) if softness else 0.0)
    return threshold, max(half_width, rounding, np.finfo(np.float32).tiny)


def _between(values, threshold, rounding, includes):
    """Move a threshold that values lie on into the gap on the side that they do not go to."""
    if not (np.abs(values - threshold) <= rounding).any():
        return threshold
    if includes:
        beyond = values[values > threshold + rounding]
        return (threshold + beyond.min()) / 2 if len(beyond) else threshold + 1.0
    before = values[values < threshold - rounding]
    return (threshold + before.max()) / 2 if len(before) else threshold - 1.0


def _lightgbm_trees(model):
    dump = model.booster_.dump_model()
    n_outputs = dump["num_tree_per_iteration"]

    def read(node, output):
        if "leaf_coeff" in node:
            raise ValueError("init_model must have constant leaves; got linear_tree.")
        if "leaf_value" in node:
            return node["leaf_value"] * np.eye(n_outputs)[output]
        if node["decision_type"] != "<=":
            raise ValueError("init_model must have no splits by category; got some.")
        left, right = read(node["left_child"], output), read(node["right_child"], output)
        return Split(node["split_feature"], node["threshold"], True, left, right)

    trees = enumerate(dump["tree_info"])
    return [read(tree["tree_structure"], i % n_outputs) for i, tree in trees]


def _xgboost_trees(model):
    learner = json.loads(model.booster_.save_raw("json"))["learner"]
    boosted = learner["gradient_booster"]
    if boosted["name"] != "gbtree":
        raise ValueError(f"init_model must be of booster 'gbtree'; got {boosted['name']!r}.")
    base = np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"].lower()))
    if base.any():
        raise ValueError(f"init_model must start at a score of 0; got {base.tolist()!r}.")
    trees, outputs = boosted["model"]["trees"], boosted["model"]["tree_info"]
    read = zip(trees, outputs, model.leaf_values(), strict=True)
    return [_xgboost_tree(tree, o, values, model.n_scores_) for tree, o, values in read]


def _xgboost_tree(tree, output, values, n_outputs):
    if any(tree["split_type"]):
        raise ValueError("init_model must have no splits by category; got some.")

    def read(node):
        left, right = tree["left_children"][node], tree["right_children"][node]
        if left == -1:
            value = values[node]
            return value if len(value) == n_outputs else value * np.eye(n_outputs)[output]
        feature, threshold = tree["split_indices"][node], tree["split_conditions"][node]
        return Split(feature, threshold, False, read(left), read(right))

    return read(0)


ENGINES = {"LightGBMTrees": _lightgbm_trees, "XGBoostTrees": _xgboost_trees}
