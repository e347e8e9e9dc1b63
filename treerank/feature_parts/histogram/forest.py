"""Grown trees as a forest: features and thresholds instead of columns of bins and bin numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treerank.feature_parts.histogram.binning import Bins
from treerank.feature_parts.histogram.leaves import GrownTree
from treerank.forests.forest import CategorySets, Forest

#: A split by category: its node, the codes that have a bin in ascending order, and an array that
#: is 1 for each of these codes that goes left; its next entry holds for all other values.
CodeSplit = tuple[int, np.ndarray, np.ndarray]


def make_forest(trees: Sequence[GrownTree], bins: Bins) -> Forest:
    """Return grown trees as a forest with thresholds instead of bins, and with gains."""
    sizes = [len(tree.nodes) for tree in trees]
    roots = np.cumsum([0, *sizes])[:-1]
    nodes = np.concatenate([tree.nodes for tree in trees])
    goes_left = np.concatenate([tree.goes_left for tree in trees])
    splits = np.flatnonzero(nodes["column"] >= 0)
    columns = bins.columns[nodes["column"][splits]]
    feature, threshold = np.full(len(nodes), -1), np.zeros(len(nodes))
    feature[splits] = columns["feature"]
    # Bounds end with infinity. A split there sends all values left and missing values right.
    threshold[splits] = bins.bounds[columns["feature"], np.minimum(nodes["bin"][splits], 255)]
    is_category = columns["is_category"] != 0
    by_code = [
        (node, bins.bounds[feature[node], :n], goes_left[node])
        for node, n in zip(splits[is_category], columns["n_values"][is_category], strict=True)
    ]
    return forest_of_nodes(
        feature=feature,
        threshold=threshold,
        missing_left=nodes["missing_left"] != 0,
        first=nodes["first"] + np.repeat(roots, sizes),
        by_code=by_code,
        n_features=len(bins.bounds),
        roots=roots.astype(np.int32),
        values=np.concatenate([tree.values for tree in trees]),
        gain=nodes["gain"],
    )


def forest_of_nodes(
    *,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
    first: np.ndarray,
    by_code: Sequence[CodeSplit],
    **fields: Any,
) -> Forest:
    """Return a forest from arrays with one entry per node.

    ``first`` is the index of the left child; the right child is the next node. ``by_code`` holds
    the categorical splits, see ``CodeSplit``. Codes outside a category set go right in a
    ``Forest``; for a split that sends them left, the set is complemented and the children are
    swapped. ``fields`` are the other arguments of ``Forest``.
    """
    is_split = feature >= 0
    is_number, outside_left = is_split.copy(), np.zeros(len(feature), dtype=np.int64)
    set_of_node = np.full(len(feature), -1, dtype=np.int32)
    sets = []
    for number, (node, codes, goes_left) in enumerate(by_code):
        is_left = goes_left[: len(codes) + 1]
        is_number[node], set_of_node[node], outside_left[node] = False, number, is_left[-1]
        sets.append(codes[is_left[:-1] != is_left[-1]])
    starts = np.cumsum([0, *map(len, sets)])
    codes_of_sets = np.concatenate([[], *sets])
    categories = CategorySets(set_of_node, starts, codes_of_sets, "exact")
    return Forest(
        feature=feature.astype(np.int32),
        threshold=np.where(is_number, threshold, 0.0),
        left=np.where(is_split, first + outside_left, -1).astype(np.int32),
        right=np.where(is_split, first + 1 - outside_left, -1).astype(np.int32),
        missing_left=is_number & missing_left,
        tree_output=np.zeros(len(fields["roots"]), dtype=np.int32),
        constant=np.zeros(fields["values"].shape[1]),
        categories=categories if sets else None,
        **fields,
    )
