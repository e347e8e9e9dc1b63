"""Folding: a forest of several outputs, and the weights of a head, as a forest of one output."""

from dataclasses import replace

import numpy as np

from treerank.forests.forest import Forest


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
