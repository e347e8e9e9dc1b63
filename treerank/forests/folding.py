"""Folding: a forest of several outputs, and the weights of a head, as a forest of one output."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.forests.forest import CategorySets, Forest


def folded(forest: Forest, weight: np.ndarray) -> Forest:
    """Return a forest of one output, the weighted sum of the outputs of a forest.

    A single output of weight 1 stays as it is, bit for bit. Otherwise trees are added in double
    precision, so the last bits of the sum may differ.

    Parameters
    ----------
    forest : Forest
        The trees.
    weight : ndarray of shape (n_outputs,)
        Weight of each output.

    Returns
    -------
    Forest
    """
    if len(weight) == 1 and weight[0] == 1:
        return forest
    if forest.values.shape[1] > 1:
        values = forest.values @ weight
    else:
        values = forest.values[:, 0] * weight[forest.tree_output[tree_of_node(forest)]]
    return replace(
        forest,
        values=values[:, None],
        tree_output=np.zeros(forest.n_trees, dtype=np.int32),
        constant=np.array([forest.constant @ weight]),
        sum_dtype="float64",
    )


def side_by_side(forests: Sequence[Forest], outputs: Sequence[int], scale: float) -> Forest:
    """Return the forest whose outputs are sums of forests of one output, times a number.

    Trees are added in double precision, so the last bits may differ.

    Parameters
    ----------
    forests : sequence of Forest
        Forests of one output, and of the same features.
    outputs : sequence of int
        Output that each forest is added to, from 0.
    scale : float
        Factor of all values.

    Returns
    -------
    Forest

    Raises
    ------
    ValueError
        If other numbers are missing or other codes are categories in some forest.
    """
    first = forests[0]
    rules = {each.categories.rule for each in forests if each.categories is not None}
    if len({each.missing_up_to for each in forests}) > 1 or len(rules) > 1:
        raise ValueError("forests must have the same missing values and rules of categories.")
    shift = np.cumsum([0, *(each.n_nodes for each in forests)])
    constant = np.zeros(max(outputs) + 1)
    np.add.at(constant, list(outputs), [scale * each.constant[0] for each in forests])

    def joined(name: str, *, children: bool = False) -> np.ndarray:
        arrays = [getattr(each, name) for each in forests]
        if children:
            pairs = zip(arrays, shift.tolist(), strict=False)
            arrays = [np.where(array < 0, -1, array + begin) for array, begin in pairs]
        return np.concatenate(arrays).astype(getattr(first, name).dtype)

    return Forest(
        n_features=first.n_features,
        roots=joined("roots", children=True),
        feature=joined("feature"),
        threshold=joined("threshold"),
        left=joined("left", children=True),
        right=joined("right", children=True),
        missing_left=joined("missing_left"),
        values=joined("values") * scale,
        tree_output=np.repeat(outputs, [each.n_trees for each in forests]).astype(np.int32),
        constant=constant,
        categories=_joined_sets(forests),
        missing_up_to=first.missing_up_to,
    )


def _joined_sets(forests: Sequence[Forest]) -> CategorySets | None:
    """Return the sets of all forests, one after the other."""
    known = [forest.categories for forest in forests if forest.categories is not None]
    if not known:
        return None
    of_node, n_sets = [], 0
    for forest in forests:
        sets = forest.categories
        if sets is None:
            of_node.append(np.full(forest.n_nodes, -1))
        else:
            of_node.append(np.where(sets.of_node < 0, -1, sets.of_node + n_sets))
            n_sets += len(sets.starts) - 1
    sizes = np.concatenate([np.diff(sets.starts) for sets in known])
    return CategorySets(
        np.concatenate(of_node).astype(np.int32),
        np.append(0, np.cumsum(sizes)),
        np.concatenate([sets.codes for sets in known]),
        known[0].rule,
    )


def with_constant_tree(forest: Forest, *, always: bool = False) -> Forest:
    """Return a forest of one output whose constant is 0, and a first tree of one leaf if needed.

    The scores stay as they are, bit for bit. With ``always`` there is such a tree, maybe of 0.
    """
    if forest.constant[0] == 0 and not always:
        return forest
    added = {"feature": -1, "threshold": 0.0, "left": -1, "right": -1, "missing_left": False}
    arrays: dict[str, Any] = {}
    for name, last in added.items():
        array = getattr(forest, name)
        arrays[name] = np.append(array, array.dtype.type(last))
    sets = forest.categories
    if sets is not None:
        sets = replace(sets, of_node=np.append(sets.of_node, np.int32(-1)))
    return replace(
        forest,
        **arrays,
        roots=np.append(np.int32(forest.n_nodes), forest.roots),
        values=np.append(forest.values, forest.constant[:, None], axis=0),
        tree_output=np.zeros(forest.n_trees + 1, dtype=np.int32),
        constant=np.zeros(1),
        categories=sets,
    )


def tree_of_node(forest: Forest) -> np.ndarray:
    """Return the number of the tree of each node."""
    tree = np.full(forest.n_nodes, -1)
    nodes, numbers = forest.roots, np.arange(forest.n_trees)
    while len(nodes):
        tree[nodes] = numbers
        is_split = ~forest.is_leaf[nodes]
        nodes, numbers = nodes[is_split], np.tile(numbers[is_split], 2)
        nodes = np.concatenate([forest.left[nodes], forest.right[nodes]])
    return tree
