r"""Kernels of soft trees on CPUs: what lies between the two matrix products, in one pass.

``z`` of shape (n_trees, n_splits, n_rows) holds the signed distance of each row from each split.
Nodes are numbered level by level, node k of level l as :math:`2^l - 1 + k`, and its children are k
(left) and :math:`2^l + k` (right) of the level below: a level, its left children and its right
children are each one run of memory, over nodes and rows alike, which one loop walks. In oblivious
trees a level has a single split, so that the run is walked node by node.

With reach r of a node and values V of its children, the chain rule comes to

.. math:: \partial f / \partial z = r (V_{left} - V_{right}) \, 6 u (1 - u) / \gamma,
          \quad u = z / \gamma + 1/2

which needs no division by a probability. Outputs run in parallel over groups of trees, whose
number is fixed, and derivatives over trees; each owns its places: the same bits for any number of
threads.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit

#: What the vectorizer needs: order of sums free; NaN and infinity still mean what they mean.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Groups of trees that are summed up on their own; the most threads that outputs can use.
N_GROUPS = 16


@njit(parallel=True, error_model="numpy", fastmath=FASTMATH)
def tree_outputs(z, leaf, oblivious, sharpness, partial):
    """Fill ``partial`` of shape (n_groups, n_outputs, n_rows) with sums over groups of trees."""
    n_trees, n_leaves, _ = leaf.shape
    n_groups, _, n_rows = partial.shape
    for group in prange(n_groups):
        reach = np.empty((2 * n_leaves - 1) * n_rows, z.dtype)
        partial[group] = 0
        for t in range(n_trees * group // n_groups, n_trees * (group + 1) // n_groups):
            _fill_reach(z[t], oblivious, sharpness, reach)
            _add_leaves(reach[(n_leaves - 1) * n_rows :], leaf[t], partial[group])


@njit(parallel=True, error_model="numpy", fastmath=FASTMATH)
def tree_derivatives(z, leaf, oblivious, sharpness, upstream, dz, bias_sum, leaf_sum):
    """Fill ``dz`` and add up the gradients of biases and leaves.

    ``upstream`` of shape (n_outputs, n_rows) is the gradient of the outputs.
    """
    n_trees, n_leaves, _ = leaf.shape
    n_rows = z.shape[2]
    for t in prange(n_trees):
        reach = np.empty((2 * n_leaves - 1) * n_rows, z.dtype)
        value = np.empty(n_leaves * n_rows, z.dtype)
        _fill_reach(z[t], oblivious, sharpness, reach)
        _pass_leaves(upstream, reach[(n_leaves - 1) * n_rows :], leaf[t], value, leaf_sum[t])
        _climb(z[t], oblivious, sharpness, reach, value, dz[t])
        for split in range(z.shape[1]):
            bias_sum[t, split] += dz[t, split].sum()


@njit(error_model="numpy", fastmath=FASTMATH)
def _fill_reach(z, oblivious, sharpness, reach):
    """Fill ``reach`` with the probabilities that the rows arrive at each node and leaf."""
    n_rows, distance = z.shape[1], z.reshape(-1)
    reach[:n_rows] = 1
    start, size, split = 0, n_rows, 0
    while start + size < len(reach):
        run = n_rows if oblivious else size
        for a in range(start, start + size, run):
            left, right = reach[a + size : a + size + run], reach[a + 2 * size : a + 2 * size + run]
            _descend(distance[split : split + run], sharpness, reach[a : a + run], left, right)
        start, size, split = start + size, 2 * size, split + run


@njit(error_model="numpy", fastmath=FASTMATH)
def _descend(distance, sharpness, here, left, right):
    """Share out the reach of a run of nodes among their children."""
    half, two, three = distance.dtype.type(0.5), distance.dtype.type(2), distance.dtype.type(3)
    none, one = distance.dtype.type(0), distance.dtype.type(1)
    for i in range(len(distance)):
        u = distance[i] * sharpness + half
        u = none if u < none else u  # in this order, NaN stays NaN
        u = one if u > one else u
        goes_left = here[i] * (u * u * (three - two * u))
        left[i] = goes_left
        right[i] = here[i] - goes_left


@njit(error_model="numpy", fastmath=FASTMATH)
def _add_leaves(arriving, leaf, total):
    """Add each leaf's outputs times the share of it that every row arrives at."""
    n_rows = np.uint64(total.shape[1])
    for o in range(len(total)):
        for k in range(len(leaf)):
            height, start = leaf[k, o], np.uint64(k) * n_rows
            for i in range(n_rows):
                total[o, i] += height * arriving[start + i]


@njit(error_model="numpy", fastmath=FASTMATH)
def _pass_leaves(upstream, arriving, leaf, value, leaf_sum):
    """Fill ``value`` with what each leaf earns per row; add up the leaves' own gradients."""
    n_rows = np.uint64(upstream.shape[1])
    value[:] = 0
    for o in range(len(upstream)):
        for k in range(len(leaf)):
            height, total, start = leaf[k, o], leaf.dtype.type(0), np.uint64(k) * n_rows
            for i in range(n_rows):
                value[start + i] += height * upstream[o, i]
                total += upstream[o, i] * arriving[start + i]
            leaf_sum[k, o] += total


@njit(error_model="numpy", fastmath=FASTMATH)
def _climb(z, oblivious, sharpness, reach, value, dz):
    """Turn values of children into those of parents, up to the root; note each dz on the way."""
    n_rows, distance, slope = z.shape[1], z.reshape(-1), dz.reshape(-1)
    dz[:] = 0
    size, split = len(value) // 2, z.size
    while size >= n_rows:
        run = n_rows if oblivious else size
        split -= run
        for a in range(0, size, run):
            here = reach[size - n_rows + a : size - n_rows + a + run]
            left, right = value[a : a + run], value[size + a : size + a + run]
            _ascend(distance[split : split + run], sharpness, here, left, right, slope[split:])
        size //= 2


@njit(error_model="numpy", fastmath=FASTMATH)
def _ascend(distance, sharpness, here, left, right, slope):
    """Put the value of each node where that of its left child was; add to its slope."""
    half, two, three = distance.dtype.type(0.5), distance.dtype.type(2), distance.dtype.type(3)
    none, one, six = distance.dtype.type(0), distance.dtype.type(1), distance.dtype.type(6)
    for i in range(len(distance)):
        u = distance[i] * sharpness + half
        u = none if u < none else u
        u = one if u > one else u
        gain = left[i] - right[i]
        left[i] = right[i] + u * u * (three - two * u) * gain
        slope[i] += gain * here[i] * u * (one - u) * (six * sharpness)
