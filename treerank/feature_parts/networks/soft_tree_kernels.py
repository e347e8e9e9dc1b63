r"""Soft tree kernels for CPUs: everything between the two matrix products, in one pass.

``z`` of shape (n_trees, n_splits, n_rows) holds the signed distance of each row from each split.
The reach of a node is the probability that a row arrives there. Nodes are numbered level by level:
node k of level l is :math:`2^l - 1 + k`, and its children are k (left) and :math:`2^l + k` (right)
of the level below. So a level, its left children and its right children each lie contiguously in
memory, over nodes and rows, and one loop takes all of them.

With the reach r of a node and the values V of its children, the chain rule gives

.. math:: \partial f / \partial z = r (V_{left} - V_{right}) \, 6 u (1 - u) / \gamma,
          \quad u = z / \gamma + 1/2

which needs no division by a probability.
"""

from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import njit, register_jitable

#: What vectorized loops need: sums in any order. NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Number of groups of trees that are summed separately, which all bits depend on.
N_GROUPS = 16


class Trees(NamedTuple):
    """Trees and their distances from some rows.

    Attributes
    ----------
    z : ndarray of shape (n_trees, n_splits, n_rows)
        Signed distance of each row from each split.
    leaf : ndarray of shape (n_trees, n_leaves, n_outputs)
        Values of the leaves.
    sharpness : floating
        1 / gamma in the type of the leaves: with a double, all sums would be in double.
    """

    z: np.ndarray
    leaf: np.ndarray
    sharpness: np.floating


@njit(nogil=True, error_model="numpy", fastmath=FASTMATH)
def tree_outputs(trees: Trees, partial: np.ndarray) -> None:
    """Fill ``partial`` of shape (n_groups, n_outputs, n_rows) with sums over groups of trees."""
    z, leaf, sharpness = trees
    n_trees, n_leaves, _ = leaf.shape
    n_groups, _, n_rows = partial.shape
    for group in range(n_groups):
        reach = np.empty((2 * n_leaves - 1) * n_rows, z.dtype)
        partial[group] = 0
        for t in range(n_trees * group // n_groups, n_trees * (group + 1) // n_groups):
            _fill_reach(z[t], sharpness, reach)
            _add_leaves(reach[(n_leaves - 1) * n_rows :], leaf[t], partial[group])


@njit(nogil=True, error_model="numpy", fastmath=FASTMATH)
def tree_derivatives(trees: Trees, upstream: np.ndarray, results: tuple[np.ndarray, ...]) -> None:
    """Fill the gradient of z; add the gradients of biases and leaves to their sums.

    ``upstream`` of shape (n_outputs, n_rows) is the gradient of the outputs. ``results`` are
    ``(dz, bias_sum, leaf_sum)``: arrays of the shapes of z, of the biases and of the leaves.
    """
    z, leaf, sharpness = trees
    dz, bias_sum, leaf_sum = results
    n_leaves, n_rows = leaf.shape[1], z.shape[2]
    for t in range(len(leaf)):
        reach = np.empty((2 * n_leaves - 1) * n_rows, z.dtype)
        value = np.empty(n_leaves * n_rows, z.dtype)
        _fill_reach(z[t], sharpness, reach)
        _fill_leaf_values(upstream, reach[(n_leaves - 1) * n_rows :], leaf[t], value, leaf_sum[t])
        _fill_slopes(z[t], sharpness, reach, value, dz[t])
        for split in range(z.shape[1]):
            bias_sum[t, split] += _sum(dz[t, split])


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _fill_reach(z, sharpness, reach):
    """Fill ``reach`` with the probability that each row arrives at each node and leaf.

    ``z`` are the distances of one tree, of shape (n_splits, n_rows). ``reach`` is flat: nodes level
    by level, each with all rows.
    """
    n_rows, distance = z.shape[1], z.reshape(-1)
    reach[:n_rows] = 1
    start, end = 0, n_rows
    while end < len(reach):
        size = end - start
        left, right = reach[end : end + size], reach[end + size : end + 2 * size]
        _split_reach(distance[start:end], sharpness, reach[start:end], left, right)
        start, end = end, end + 2 * size


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _split_reach(distance, sharpness, here, left, right):
    """Fill in the probabilities that rows arrive at the children of the nodes of one depth.

    ``here`` has the probability of each node and row. A smooth step from 0 to 1, of ``distance *
    sharpness + 0.5`` clipped to [0, 1], is the share that goes left; the rest goes right. ``left``
    and ``right`` are filled. NaN stays NaN.
    """
    half, two, three = distance.dtype.type(0.5), distance.dtype.type(2), distance.dtype.type(3)
    none, one = distance.dtype.type(0), distance.dtype.type(1)
    for i in range(len(distance)):
        u = distance[i] * sharpness + half
        u = none if u < none else u  # in this order, NaN stays NaN
        u = one if u > one else u
        goes_left = here[i] * (u * u * (three - two * u))
        left[i] = goes_left
        right[i] = here[i] - goes_left


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _add_leaves(arriving, leaf, total):
    """Add the leaf values, times the probability that each row arrives there, to ``total``.

    ``arriving`` is flat, of n_leaves * n_rows entries; ``leaf`` is of shape (n_leaves, n_outputs)
    and ``total`` of shape (n_outputs, n_rows).
    """
    n_rows = np.uint64(total.shape[1])
    for o in range(len(total)):
        for k in range(len(leaf)):
            height, start = leaf[k, o], np.uint64(k) * n_rows
            for i in range(n_rows):
                total[o, i] += height * arriving[start + i]


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _fill_leaf_values(upstream, arriving, leaf, value, leaf_sum):
    """Fill ``value`` with the product of leaf values and upstream gradient, by leaf and row.

    Add the gradient with respect to the leaves to ``leaf_sum``. ``arriving`` are the probabilities
    that rows arrive at the leaves.
    """
    n_rows = np.uint64(upstream.shape[1])
    value[:] = 0
    for o in range(len(upstream)):
        for k in range(len(leaf)):
            height, start = leaf[k, o], np.uint64(k) * n_rows
            for i in range(n_rows):
                value[start + i] += height * upstream[o, i]
            leaf_sum[k, o] += _dot(upstream[o], arriving[start : start + n_rows])


@njit(error_model="numpy", fastmath=FASTMATH, forceinline=True)
def _sum(x):
    total = x.dtype.type(0)
    for i in range(len(x)):
        total += x[i]
    return total


@njit(error_model="numpy", fastmath=FASTMATH, forceinline=True)
def _dot(x, y):
    total = x.dtype.type(0)
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _fill_slopes(z, sharpness, reach, value, dz):
    """Fill ``dz`` with the gradient of the distances ``z``, from the leaves to the root.

    ``value`` has the values of leaves, and is replaced by those of their ancestors.
    """
    n_rows, distance, slope = z.shape[1], z.reshape(-1), dz.reshape(-1)
    dz[:] = 0
    size = len(value) // 2
    while size >= n_rows:
        start, end = size - n_rows, 2 * size - n_rows
        left, right = value[:size], value[size : 2 * size]
        _merge_values(distance[start:end], sharpness, reach[start:end], left, right, slope[start:])
        size //= 2


@njit(error_model="numpy", fastmath=FASTMATH, forceinline=True)
def _merge_values(distance, sharpness, here, left, right, slope):
    """Replace the value of each left child by its parent's; add the gradient to ``slope``.

    ``here`` are the probabilities that rows arrive at the parents, and ``distance`` their distances
    from the splits.
    """
    half, two, three = distance.dtype.type(0.5), distance.dtype.type(2), distance.dtype.type(3)
    none, one, six = distance.dtype.type(0), distance.dtype.type(1), distance.dtype.type(6)
    for i in range(len(distance)):
        u = distance[i] * sharpness + half
        u = none if u < none else u
        u = one if u > one else u
        gain = left[i] - right[i]
        left[i] = right[i] + u * u * (three - two * u) * gain
        slope[i] += gain * here[i] * u * (one - u) * (six * sharpness)
