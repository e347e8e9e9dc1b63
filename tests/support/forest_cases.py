"""Forests, fitted trees and documents for the tests of forests."""

from dataclasses import replace
from functools import cache

import drawn_forests
import numpy as np
from boosted_regression import TARGET, TARGETS, X, fitted
from scipy.sparse import csr_matrix

from treerank.feature_parts import HistogramTrees, LightGBMTrees, XGBoostTrees
from treerank.feature_parts.trees.xgboost import stored_as
from treerank.forests.scoring import forest_leaves

_ZEROS, _CODED = {"engine_params": {"zero_as_missing": True}}, {"categorical_features": [3]}
_VECTORS = {"engine_params": {"multi_strategy": "multi_output_tree"}}
#: Fitted feature parts by name: class, data and parameters.
FITTED = {
    "lightgbm": (LightGBMTrees, "dense", {}),
    "lightgbm, NaN": (LightGBMTrees, "missing", {}),
    "lightgbm, categories": (LightGBMTrees, "codes", _CODED),
    "lightgbm, zeros": (LightGBMTrees, "missing", _ZEROS),
    "lightgbm, zeros and categories": (LightGBMTrees, "codes", _ZEROS | _CODED),
    "lightgbm, no NaN": (LightGBMTrees, "missing", {"engine_params": {"use_missing": False}}),
    "lightgbm, outputs": (LightGBMTrees, "outputs", {}),
    "lightgbm, sparse": (LightGBMTrees, "sparse", {}),
    "xgboost": (XGBoostTrees, "dense", {}),
    "xgboost, NaN": (XGBoostTrees, "missing", {}),
    "xgboost, categories": (XGBoostTrees, "codes", _CODED),
    "xgboost, outputs": (XGBoostTrees, "outputs", {}),
    "xgboost, vectors": (XGBoostTrees, "outputs", _VECTORS),
    "xgboost, sparse": (XGBoostTrees, "sparse", {}),
    "xgboost, sparse categories": (XGBoostTrees, "sparse codes", _CODED),
    "histogram": (HistogramTrees, "dense", {}),
    "histogram, NaN": (HistogramTrees, "missing", {}),
    "histogram, categories": (HistogramTrees, "codes", _CODED),
    "histogram, outputs": (HistogramTrees, "outputs", {}),
}
#: Those of them that an engine scores in its own way, too.
ENGINES = [name for name in FITTED if "histogram" not in name]
_EDGES = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-35, -1e-35, 1e-36, -1e-36, 5e-324, -5e-324, 1e-45),
    *(1e300, -1e300, 3.4028235677973366e38, -3.5e38, float(np.float32(1e-35))),
)
_CODES = (
    *(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -1.0, -0.5, 0.5, 2.7, 3.99999999999, np.nan, np.inf),
    *(1e10, -1e10, 2.0**31, 2.0**24, 2.0**24 - 1, -0.0, 1e-36, -1e-36, 1e300),
)


@cache
def fitted_part(name):
    """Return a fitted feature part."""
    part_class, kind, params = FITTED[name]
    rng = np.random.default_rng(0)
    data, target = X.copy(), TARGETS if kind == "outputs" else TARGET
    if kind != "dense":
        data[rng.random(X.shape) < 0.15] = 0
    if kind in ("missing", "codes"):
        data[rng.random(X.shape) < 0.15] = np.nan
    if "codes" in kind:
        data[:, 3] = np.where(rng.random(len(X)) < 0.1, np.nan, rng.integers(0, 7, len(X)))
        target = target + 2 * np.isin(data[:, 3], (0, 4, 5))
    if "sparse" in kind:
        data = csr_matrix(np.nan_to_num(data))
    own = {} if part_class is XGBoostTrees else {"min_child_samples": 5}
    return fitted(part_class, target=target, data=data, **own, **params)


def values_of_trees(part, X):
    """Return the value of each tree, side by side."""
    leaves = forest_leaves(part.forest(), X)
    return part.forest().values[leaves].reshape(len(leaves), -1)


def engine_scores(part, X):
    """Return the scores that the engine itself gives, of shape (n_documents, n_outputs)."""
    if isinstance(part, LightGBMTrees):
        scores = part.booster_.predict(X, raw_score=True)
    else:
        sparse = part.booster_.attr("treerank_zeros") == "missing"
        scores = part.booster_.inplace_predict(stored_as(X, sparse=sparse), predict_type="margin")
    return scores.astype(np.float64).reshape(X.shape[0], part.n_outputs_)


def documents_for(forest, n=400, seed=0):
    """Documents on and beside the thresholds, with all numbers that are treated specially."""
    rng = np.random.default_rng(seed)
    thresholds = forest.threshold[np.isfinite(forest.threshold)]
    with np.errstate(over="ignore"):
        singles = thresholds.astype(np.float32)
    near = [np.nextafter(thresholds, side) for side in (-np.inf, np.inf)]
    with np.errstate(over="ignore"):  # beyond the last cut of XGBoost, the largest number, is inf
        near += [np.nextafter(singles, np.float32(side)) for side in (-np.inf, np.inf)]
    pool = np.concatenate([thresholds, singles, *near, _EDGES, rng.normal(size=200)])
    rows = rng.choice(pool, (n, forest.n_features))
    if forest.categories is not None:
        rows[:, 3] = rng.choice(_CODES, n)
    return rows


def drawn_forest(rng, n_outputs=1):
    """Draw trees of several outputs, whose nodes are in any order, without any data."""
    rule = (None, "exact", "truncated", "single")[rng.integers(4)]
    sum_dtype = str(rng.choice(["float64", "float32"]))
    n_trees = int(rng.integers(1, 6))
    drawn = drawn_forests.drawn_forest(
        rng, n_trees=n_trees, huge=sum_dtype == "float64", rule=rule, sum_dtype=sum_dtype
    )
    n, width = len(drawn.feature), int(rng.choice([1, n_outputs]))
    place = rng.permutation(n).astype(np.int32)  # new number of each node
    order = np.argsort(place)
    left, right = (np.where(side < 0, side, place[side]) for side in (drawn.left, drawn.right))
    values = rng.normal(size=(n, width)) * 10.0 ** rng.integers(-5, 5)
    outputs = rng.integers(0, n_outputs, n_trees) if width == 1 else np.zeros(n_trees)
    sets = drawn.categories
    return replace(
        drawn,
        **{name: getattr(drawn, name)[order] for name in ("feature", "threshold", "missing_left")},
        roots=place[drawn.roots],
        left=left[order],
        right=right[order],
        values=np.where(drawn.is_leaf[:, None], values, 0.0)[order],
        tree_output=outputs.astype(np.int32),
        constant=rng.normal(size=n_outputs),
        categories=sets and replace(sets, of_node=sets.of_node[order]),
        missing_up_to=rng.choice([-1.0, 0.0, 0.5]),
    )


def scores_by_hand(forest, rows):
    """Score row after row in plain Python."""
    add = np.float32 if forest.sum_dtype == "float32" else np.float64
    scores = np.tile(forest.constant, (len(rows), 1))
    for i, row in enumerate(rows):
        for tree, root in enumerate(forest.roots):
            node = root
            while forest.feature[node] >= 0:
                is_left = goes_left(forest, node, row[forest.feature[node]])
                node = (forest.left if is_left else forest.right)[node]
            first = forest.tree_output[tree]
            for k, value in enumerate(forest.values[node]):
                scores[i, first + k] = add(scores[i, first + k] + value)
    return scores


def goes_left(forest, node, x):
    """Tell whether a split sends a value left."""
    sets = forest.categories
    number = -1 if sets is None else sets.of_node[node]
    is_tiny = abs(x) <= forest.missing_up_to and (number < 0 or sets.rule == "single")
    if np.isnan(x) or is_tiny:
        return forest.missing_left[node]
    if number < 0:
        return x <= forest.threshold[node]
    with np.errstate(over="ignore"):
        code = {"exact": x, "truncated": np.trunc(x), "single": np.floor(np.float32(x))}[sets.rule]
    return code in sets.codes[sets.starts[number] : sets.starts[number + 1]]
