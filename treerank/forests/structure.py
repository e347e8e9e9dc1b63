"""Structure of trees: whether all nodes are below the roots, and how deep trees are."""

import numpy as np

from treerank.numerics.compiling import njit


def measure_trees(roots: np.ndarray, left: np.ndarray, right: np.ndarray) -> int:
    """Return the depth of the deepest tree, or -1 if not all nodes are below the roots.

    Every node must be a root or the child of one node, and children of leaves must be -1. Then
    nodes that no root reaches form cycles.

    Examples
    --------
    >>> root, no_child = np.array([0], dtype=np.int32), np.array([-1, -1], dtype=np.int32)
    >>> measure_trees(root, np.append(np.int32(1), no_child), np.append(np.int32(2), no_child))
    1
    """
    return int(_measure(roots, left, right))


@njit
def _measure(roots, left, right):
    waiting, depths = np.empty(len(left), dtype=np.int32), np.empty(len(left), dtype=np.int32)
    n_seen, deepest = 0, 0
    for root in roots:
        waiting[0], depths[0], n = root, 0, 1
        while n > 0:
            n -= 1
            node, depth = waiting[n], depths[n]
            n_seen += 1
            deepest = max(deepest, depth)
            if left[node] >= 0:
                waiting[n], depths[n] = left[node], depth + 1
                waiting[n + 1], depths[n + 1] = right[node], depth + 1
                n += 2
    return deepest if n_seen == len(left) else -1
