"""Grown trees as a forest, with features and thresholds instead of places and bins."""

from collections.abc import Sequence

import numpy as np

from treerank.feature_parts.histogram.binning import Bins
from treerank.feature_parts.histogram.leaves import GrownTree
from treerank.forests.forest import CategorySets, Forest

#: A split by category: its node, the known codes in ascending order, and 1 for each code that goes
#: left, with one more entry for all other values.
CodeSplit = tuple[int, np.ndarray, np.ndarray]


def make_forest(trees: Sequence[GrownTree], places: np.ndarray, bins: Bins) -> Forest:
    """Return grown trees as a forest with their gains; ``places`` are those of the rows."""
    sizes = [len(tree.nodes) for tree in trees]
    roots = np.cumsum([0, *sizes])[:-1]
    nodes = np.concatenate([tree.nodes for tree in trees])
    goes_left = np.concatenate([tree.goes_left for tree in trees])
    is_split = nodes["place"] >= 0
    feature = np.full(len(nodes), -1)
    feature[is_split] = places["feature"][nodes["place"][is_split]]
    by_set = np.flatnonzero(is_split & bins.is_category[feature])
    n_codes = bins.n_values[feature[by_set]]
    # Bounds end with infinity. A split there sends all values left and missing values right.
    threshold = np.where(is_split, bins.bounds[feature, np.minimum(nodes["bin"], 255)], 0.0)
    return forest_of_nodes(
        roots=roots,
        feature=feature,
        threshold=threshold,
        missing_left=nodes["missing_left"] != 0,
        first=nodes["first"] + np.repeat(roots, sizes),
        values=np.concatenate([tree.values for tree in trees]),
        gain=nodes["gain"],
        n_features=len(bins.n_values),
        by_code=[
            (node, bins.bounds[feature[node], :n], goes_left[node, : n + 1])
            for node, n in zip(by_set.tolist(), n_codes.tolist(), strict=True)
        ],
    )


def forest_of_nodes(
    *,
    roots: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
    first: np.ndarray,
    values: np.ndarray,
    gain: np.ndarray,
    n_features: int,
    by_code: Sequence[CodeSplit],
) -> Forest:
    """Return the forest of nodes, where the right child is the node after ``first``, the left one.

    In a forest, codes outside of a set go right. Where other values go left, the set is that of the
    codes that go right, and the children change places.
    """
    is_split = feature >= 0
    is_number, others_left = is_split.copy(), np.zeros(len(feature), dtype=np.int64)
    set_of_node = np.full(len(feature), -1, dtype=np.int32)
    sets = []
    for number, (node, codes, goes_left) in enumerate(by_code):
        others = goes_left[-1]
        is_number[node], set_of_node[node], others_left[node] = False, number, others
        sets.append(codes[goes_left[:-1] != others])
    starts = np.cumsum([0, *map(len, sets)])
    return Forest(
        n_features=n_features,
        roots=roots.astype(np.int32),
        feature=feature.astype(np.int32),
        threshold=np.where(is_number, threshold, 0.0),
        left=np.where(is_split, first + others_left, -1).astype(np.int32),
        right=np.where(is_split, first + 1 - others_left, -1).astype(np.int32),
        missing_left=is_number & missing_left,
        values=values,
        tree_output=np.zeros(len(roots), dtype=np.int32),
        constant=np.zeros(values.shape[1]),
        categories=CategorySets(set_of_node, starts, np.concatenate(sets), "exact")
        if sets
        else None,
        gain=gain.astype(np.float64),
    )
