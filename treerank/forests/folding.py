"""Folding: a forest of several outputs, and the weights of a head, as a forest of one output."""

from dataclasses import replace
from typing import Any

import numpy as np

from treerank.forests.forest import Forest


def folded(forest: Forest, weight: np.ndarray) -> Forest:
    """Return a forest of one output, the weighted sum of the outputs of a forest.

    A single output of weight 1 stays as it is, bit for bit. Otherwise trees are added in double
    precision, so the last bits of the sum may differ.
    """
    if len(weight) == 1 and weight[0] == 1:
        return forest
    if forest.values.shape[1] > 1:
        values = forest.values @ weight
    else:
        values = forest.values[:, 0] * weight[forest.tree_output[forest.tree_of_node]]
    return replace(
        forest,
        values=values[:, None],
        tree_output=np.zeros(forest.n_trees, dtype=np.int32),
        constant=np.array([forest.constant @ weight]),
        sum_dtype="float64",
    )


def without_empty_sets(forest: Forest) -> Forest:
    """Return a forest in which splits by a set without codes are splits by number.

    Only missing values go left there, so the threshold is below all numbers. Many programs do not
    read a set without codes. A split stays where zeros would then go left, too.
    """
    sets = forest.categories
    if sets is None:
        return forest
    is_empty = np.append(np.diff(sets.starts) == 0, False)[sets.of_node]
    if forest.missing_up_to >= 0 and sets.rule != "single":
        is_empty &= ~forest.missing_left  # zeros are missing at splits by number alone
    if not is_empty.any():
        return forest
    of_node = np.where(is_empty, np.int32(-1), sets.of_node)
    return replace(
        forest,
        threshold=np.where(is_empty, -np.inf, forest.threshold),
        categories=replace(sets, of_node=of_node) if (of_node >= 0).any() else None,
    )


def with_constant_tree(forest: Forest, *, always: bool = False) -> Forest:
    """Return a forest of one output whose constant is 0, and a first tree of one leaf if needed.

    The scores stay as they are, bit for bit. With ``always`` there is such a tree, maybe of 0.
    """
    if forest.constant[0] == 0 and not always:
        return forest
    added = {"feature": -1, "threshold": 0.0, "left": -1, "right": -1, "missing_left": False}
    arrays: dict[str, Any] = {
        name: np.pad(getattr(forest, name), (0, 1), constant_values=last)
        for name, last in added.items()
    }
    sets = forest.categories
    return replace(
        forest,
        **arrays,
        roots=np.append(np.int32(forest.n_nodes), forest.roots),
        values=np.append(forest.values, forest.constant[:, None], axis=0),
        tree_output=np.zeros(forest.n_trees + 1, dtype=np.int32),
        constant=np.zeros(1),
        categories=sets and replace(sets, of_node=np.append(sets.of_node, np.int32(-1))),
        gain=None,
    )
