"""Conditional evaluation: outputs of soft trees from the nodes that a row can reach.

A split sends a row to one side only if the row is further than gamma/2 from the hyperplane. In
trees that are deep, and hard after training, a row reaches few of the many nodes. Following those
is then much less work than the matrix product over all splits. For shallow or soft trees the
product is faster, since it uses the processor better than single distances do.
"""

import numpy as np
import torch

from treerank.feature_parts.soft_trees.functions import is_oblivious, sharpness_of, threads_of_torch
from treerank.feature_parts.soft_trees.kernels import FASTMATH
from treerank.feature_parts.soft_trees.layer import SoftTreeLayer
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts

#: Number of rows that one thread takes through a tree, whose splits then stay in the cache.
_BLOCK = np.uint64(512)
#: Measured cost of following a split, relative to a split of the product: 6 for many features;
#: with few features, the cost of getting to a split at all weighs more.
_COST, _COST_TIMES_FEATURES = 6.0, 50.0


def conditional_outputs(layer: SoftTreeLayer, x: torch.Tensor) -> torch.Tensor:
    """Return ``layer(x)``, up to rounding, by following reachable nodes only.

    A row's outputs do not depend on the other rows, nor on the number of threads.

    Parameters
    ----------
    layer : SoftTreeLayer
        A layer on a CPU, in single or double precision.
    x : Tensor of shape (n_rows, in_features)
        Features.

    Returns
    -------
    Tensor of shape (n_rows, out_features)
        Outputs, without a gradient.

    Examples
    --------
    >>> layer, x = SoftTreeLayer(3, depth=7, gamma=1e-3), torch.randn(10, 3)
    >>> torch.allclose(conditional_outputs(layer, x), layer(x), atol=1e-6)
    True
    """
    return _follow(layer, x)[0]


def splits_followed(layer: SoftTreeLayer, x: torch.Tensor) -> float:
    """Return how many splits of a tree a row reaches on average.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> layer = SoftTreeLayer(3, depth=7)
    >>> splits_followed(layer, torch.zeros(10, 3)), splits_followed(layer, torch.ones(1, 3) * 1e6)
    (127.0, 7.0)
    """
    return _follow(layer, x)[1] / max(1, len(x) * layer.n_trees)


def conditional_pays(layer: SoftTreeLayer, x: torch.Tensor) -> bool:
    """Tell, from some rows, whether following nodes is less work than the product of all splits.

    Examples
    --------
    >>> layer, x = SoftTreeLayer(3, depth=9), torch.ones(10, 3) * 1e6
    >>> conditional_pays(layer, x), conditional_pays(layer, torch.zeros(10, 3))
    (True, False)
    """
    if layer.oblivious or len(x) == 0:  # an oblivious tree has few splits anyway
        return False
    cost = _COST + _COST_TIMES_FEATURES / layer.in_features
    return cost * splits_followed(layer, x) < layer.weight.shape[1]


@torch.no_grad()
def _follow(layer: SoftTreeLayer, x: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return the outputs, and the number of splits reached by all rows in all trees."""
    weight, bias, leaf = (p.contiguous().numpy() for p in (layer.weight, layer.bias, layer.leaf))
    values = x.to(layer.weight).contiguous().numpy()
    out = np.empty((len(values), leaf.shape[2]), leaf.dtype)
    n_followed = np.zeros(-(-len(values) // int(_BLOCK)), np.int64)
    sharpness = sharpness_of(layer.gamma, leaf)
    oblivious = is_oblivious(weight.shape[1], leaf.shape[1])
    with threads_of_torch():
        tree_data = weight, bias, leaf, oblivious, sharpness
        in_parts(_follow_trees, len(n_followed), values, *tree_data, out, n_followed)
    return torch.from_numpy(out), int(n_followed.sum())


@njit(nogil=True, error_model="numpy", fastmath=FASTMATH)
def _follow_trees(
    first_block, last_block, x, weight, bias, leaf, oblivious, sharpness, out, n_followed
):
    """Fill ``out`` and count the splits followed, for some blocks of rows."""
    n_trees, n_leaves, n_outputs = leaf.shape
    for block in range(first_block, last_block):
        start = np.uint64(block) * _BLOCK
        stop = min(start + _BLOCK, np.uint64(len(x)))
        row, node = np.empty((2, np.int64(_BLOCK) * n_leaves), np.uint64)
        reach, distance = np.empty((2, np.int64(_BLOCK) * n_leaves), x.dtype)
        out[start:stop] = 0
        for t in range(n_trees):
            n_reached = 0
            for i in range(start, stop):
                row[n_reached], node[n_reached], reach[n_reached] = i, 0, 1
                n_reached += 1
            first, width = np.uint64(0), np.uint64(1)
            while width < np.uint64(n_leaves):
                _measure(x, weight, bias, t, first, oblivious, row, node, n_reached, distance)
                n_followed[block] += n_reached
                n_reached = _go_down(distance, sharpness, width, row, node, reach, n_reached)
                first += np.uint64(1) if oblivious else width
                width *= np.uint64(2)
            for a in range(n_reached):
                for o in range(n_outputs):
                    out[row[a], o] += reach[a] * leaf[t, node[a], o]


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _measure(x, weight, bias, t, first, oblivious, row, node, n_reached, distance):
    """Fill in the distances of rows from the splits of their nodes.

    Four distances are computed at a time, without a branch, so that the processor works on all of
    them at once. The last ones are repeated where fewer are left, so that the order of sums is the
    same for every row.
    """
    n_features, last = np.uint64(x.shape[1]), np.uint64(n_reached - 1)
    for a in range(np.uint64(0), np.uint64(n_reached), np.uint64(4)):
        b, c = min(a + np.uint64(1), last), min(a + np.uint64(2), last)
        d = min(a + np.uint64(3), last)
        i, j, k, m = row[a], row[b], row[c], row[d]
        p = first if oblivious else first + node[a]
        q = first if oblivious else first + node[b]
        r = first if oblivious else first + node[c]
        s = first if oblivious else first + node[d]
        at_a, at_b, at_c, at_d = bias[t, p], bias[t, q], bias[t, r], bias[t, s]
        for f in range(n_features):
            at_a += x[i, f] * weight[t, p, f]
            at_b += x[j, f] * weight[t, q, f]
            at_c += x[k, f] * weight[t, r, f]
            at_d += x[m, f] * weight[t, s, f]
        distance[a], distance[b], distance[c], distance[d] = at_a, at_b, at_c, at_d


@register_jitable(error_model="numpy", fastmath=FASTMATH)
def _go_down(distance, sharpness, width, row, node, reach, n_reached):
    """Move rows to the children of their nodes; a row that goes both ways is listed twice."""
    half, two, three = reach.dtype.type(0.5), reach.dtype.type(2), reach.dtype.type(3)
    for a in range(n_reached):
        u = distance[a] * sharpness + half
        node[a] += width * np.uint64(u <= 0)  # a branch would be mispredicted half the time
        if not (u <= 0 or u >= 1):  # NaN goes both ways
            left = reach[a] * (u * u * (three - two * u))
            row[n_reached], node[n_reached] = row[a], node[a] + width
            reach[n_reached] = reach[a] - left
            reach[a] = left
            n_reached += 1
    return n_reached
