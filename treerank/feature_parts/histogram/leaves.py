"""Leaves: the values of a grown tree, and their addition to the scores of documents."""

from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts

_BYTE = np.uint64(255)


class GrownTree(NamedTuple):
    """A tree whose splits are by bins.

    Attributes
    ----------
    nodes : ndarray of ``tree.NODE``
        The nodes, the root first.
    goes_left : ndarray of uint8 of shape (n_nodes, 256)
        1 for each bin that goes left.
    values : ndarray of shape (n_nodes, n_outputs)
        Values of leaves; 0 in other nodes.
    """

    nodes: np.ndarray  # of ``tree.NODE``, the root first
    goes_left: np.ndarray  # 1 for each bin that goes left; of uint8 and shape (n_nodes, 256)
    values: np.ndarray  # of shape (n_nodes, n_outputs), 0 in nodes that are no leaves


def leaf_sums(
    nodes: np.ndarray, rows: np.ndarray, derivatives: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the sums of derivatives over the leaves of a tree, of shape (2, n_leaves, n_outputs).

    ``rows``, on which the tree was grown, are sorted by leaf. ``derivatives`` are the exact
    gradient and hessian of all rows, of shape (n_rows, n_outputs).
    """
    spans = _spans(nodes[nodes["column"] < 0])
    sums = np.empty((2, len(spans), derivatives[0].shape[1]))
    ends = np.append(0, np.cumsum(spans[:, 1] - spans[:, 0]))
    in_parts(_sum_leaves, ends, spans, rows, *derivatives, sums)  # one thread sums one leaf
    return sums


def stored_sums(nodes: np.ndarray) -> np.ndarray:
    """Return the sums over the leaves that the nodes of a tree of one output hold.

    They are the sums over the rows of all workers of the derivatives as they were packed.
    """
    leaves = nodes[nodes["column"] < 0]
    return np.stack([leaves["gradient"], leaves["hessian"]])[:, :, None]


def _spans(leaves: np.ndarray) -> np.ndarray:
    """Return begin and end of the rows of each leaf, of shape (n_leaves, 2)."""
    return np.column_stack([leaves["begin"], leaves["end"]])


def add_leaves(
    nodes: np.ndarray,
    rows: np.ndarray,
    sums: np.ndarray,
    rules: TreeRules,
    learning_rate: float,
    scores: np.ndarray,
) -> np.ndarray:
    """Add leaf values to the scores of the rows on which a tree was grown; return values by node.

    ``rows`` are sorted by leaf, ``sums`` come from :func:`leaf_sums` or :func:`stored_sums`, and
    ``scores`` are of shape (n_rows, n_outputs).
    """
    values = np.zeros((len(nodes), scores.shape[1]))
    if len(nodes) == 1:  # a constant changes no ranking, and would consist of rounding errors
        return values
    is_leaf = nodes["column"] < 0
    leaves = nodes[is_leaf]
    g, h = sums
    # As in ``newton_step``. With several outputs, a leaf may be too light in one of them.
    shrunk = np.copysign(np.maximum(np.abs(g) - rules.reg_alpha, 0.0), g)
    heavy = h >= rules.min_child_weight
    steps = -np.divide(shrunk, h + rules.reg_lambda, out=np.zeros_like(g), where=heavy)
    bounds = leaves["lower"][:, None], leaves["upper"][:, None]
    values[is_leaf] = np.where(heavy, learning_rate * np.clip(steps, *bounds), 0.0)
    in_parts(add_runs, len(scores), _spans(leaves), rows, values[is_leaf], scores)
    return values


@njit(error_model="numpy", nogil=True)
def _sum_leaves(first, last, spans, rows, gradient, hessian, sums):
    for leaf in range(first, last):
        for k in range(gradient.shape[1]):
            g = h = 0.0
            for i in range(spans[leaf, 0], spans[leaf, 1]):
                g += gradient[rows[i], k]
                h += hessian[rows[i], k]
            sums[0, leaf, k], sums[1, leaf, k] = g, h


@njit(error_model="numpy", nogil=True)
def add_runs(
    first: int,
    last: int,
    runs: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Add the values of runs of rows to the scores of those rows from ``first`` to ``last`` - 1.

    So a thread writes to neighboring scores only: two threads that write to one cache line wait for
    each other. ``runs`` has begin and end of each run in ``rows``, which are ascending in a run.
    """
    for run in range(len(runs)):
        begin = _first_row_from(first, rows, runs[run, 0], runs[run, 1])
        end = _first_row_from(last, rows, begin, runs[run, 1])
        for k in range(scores.shape[1]):
            value = values[run, k]
            for i in range(np.uint64(begin), np.uint64(end)):
                scores[rows[i], k] += value


@register_jitable(error_model="numpy")
def _first_row_from(row, rows, begin, end):
    """Return the index of the first of the ascending ``rows[begin:end]`` that is not below a row.

    It is ``end`` if there is none.
    """
    while begin < end:
        middle = (begin + end) // 2
        if rows[middle] < row:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(error_model="numpy", nogil=True)
def add_tree(
    first: int, last: int, binned: np.ndarray, tree: GrownTree, rows: np.ndarray, scores: np.ndarray
) -> None:
    """Add the values of a tree to the scores of the rows ``rows[first:last]``, in place.

    The leaf of a row is found from its bins, so the tree need not have been grown on these rows.
    """
    nodes, goes_left, values = tree
    for i in range(first, last):
        row, node = rows[i], 0
        while nodes[node].column >= 0:
            column = nodes[node].column
            bin_ = (binned[row, column // WIDTH] >> np.uint64(8 * (column % WIDTH))) & _BYTE
            node = nodes[node].first + 1 - np.int64(goes_left[node, bin_])
        for k in range(scores.shape[1]):
            scores[row, k] += values[node, k]
