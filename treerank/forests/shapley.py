r"""Exact Shapley values of the difference of two scores, in closed form.

The players are the features in which a document a differs from a reference b. The features in a
coalition have the values of a, and all others the values of b. In each tree, the paths of the two
documents part at some splits. A leaf is reached if the features at which its path follows a are in
the coalition, and the features at which it follows b are not. With u features of the first kind and
v of the second, the leaf adds
:math:`\frac{(u-1)!\,v!}{(u+v)!}` of its value to each of the u features, and subtracts
:math:`\frac{u!\,(v-1)!}{(u+v)!}` of it from each of the v features. A single traversal of the nodes
that a coalition can reach computes both sums for all features.

A traversal explains 64 pairs at once. Masks of 64 bits, with one bit for each pair, say whether
document a, or document b, goes left at a split, whether the pair can still reach a node, and
whether only one of the two documents takes the step to the node.

The contributions for (b, a) are the negatives of those for (a, b), bit for bit: every traversal
visits the left child of a node first, whichever document goes left.
"""

from functools import cache
from typing import Any

import numpy as np
from scipy.special import beta, betaln

from treerank.forests.forest import Forest
from treerank.forests.scoring import doubles, for_blocks, goes_left, lowest_bit, node_arrays
from treerank.numerics.compiling import njit, register_jitable

_LANES = 64  # pairs that are explained together
_ALL, _ONE, _NONE = np.uint64(2**64 - 1), np.uint64(1), np.uint64(0)
_BITS = _ONE << np.arange(_LANES, dtype=np.uint64)
#: Masks of each level of a walk: documents that agree with all steps by the feature of this level,
#: pairs that reach the level, and pairs in which the step to this level is one of a or b alone.
_A_FITS, _B_FITS, _ALIVE, _BY_A, _BY_B = 0, 1, 2, 3, 4
_A_LEFT, _B_LEFT = 5, 6  # documents that go left at the split of this level
#: Numbers of each level: its split (~split while right is walked), the feature of the step to it,
#: and the level of the last step by the same feature.
_SPLIT, _FEATURE, _BEFORE = 0, 1, 2


def margin_parts(forest: Forest, X_a: Any, X_b: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return each feature's contribution to the score of a minus the score of b, row by row.

    These Shapley values, of shape (n_pairs, n_features), add up to the difference of the scores,
    which are of one output. Documents are arrays or sparse matrices, and one of the two may be a
    single row. The values do not depend on the number of threads.
    """
    n_pairs = max(X_a.shape[0], X_b.shape[0])
    parts = np.zeros((n_pairs, forest.n_features))
    shares = _shares(min(forest.depth, forest.n_features))
    arguments = *node_arrays(forest), forest.values[:, 0], shares, _BITS

    def explain(begin: int, end: int) -> None:
        a, b = (doubles(X, begin, end) if X.shape[0] > 1 else doubles(X, 0, 1) for X in (X_a, X_b))
        for first in range(0, end - begin, _LANES):
            out = parts[begin + first : min(begin + first + _LANES, end)]
            columns = (_columns(X, first, len(out)) for X in (a, b))
            out[:] = _parts(len(out), *columns, *arguments, forest.depth)[:, : len(out)].T

    with np.errstate(over="ignore"):  # the product that finds a bit overflows, and numpy would warn
        for_blocks(explain, n_pairs, n_threads, few=8)
    return parts


@cache
def _shares(most: int) -> np.ndarray:
    """Return (u - 1)! v! / (u + v)! at [u, v], for u and v from 0 to ``most``; 0 for u = 0."""
    n = np.arange(most + 1.0)
    shares = np.zeros((most + 1, most + 1))
    shares[1:] = np.exp(betaln(n[1:, None], n + 1)) if most > 40 else beta(n[1:, None], n + 1)
    return shares


def _columns(X: np.ndarray, first: int, n: int) -> np.ndarray:
    """Return ``n`` rows from ``first`` on as columns, of shape (n_features, 64), padded with 0.

    A single row is repeated ``n`` times.
    """
    columns = np.zeros((X.shape[1], _LANES))
    columns[:, :n] = X[first : first + n].T if len(X) > 1 else X.T
    return columns


@njit(error_model="numpy", nogil=True)
def _parts(n, A, B, nodes, sets, values, shares, bits, depth):
    """Return the contributions of features for ``n`` pairs, at most 64, of shape (n_features, 64).

    ``A`` and ``B`` are the documents as columns; ``shares`` are those of :func:`_shares`.
    """
    parts = np.zeros(A.shape)
    masks = np.zeros((depth + 1, 7), dtype=np.uint64)
    masks[0, _A_FITS] = masks[0, _B_FITS] = _ALL
    masks[0, _ALIVE] = _ALL >> np.uint64(_LANES - n)
    state = masks, np.zeros((depth + 1, 3), dtype=np.int64), np.zeros(len(A), dtype=np.int64)
    sums = np.zeros((2 * depth + 2, _LANES))
    for root in nodes[0]:
        _walk(root, A, B, nodes, sets, values, shares, bits, state, sums, parts)
    return parts


@register_jitable(error_model="numpy")
def _walk(root, A, B, nodes, sets, values, shares, bits, state, sums, parts):
    """Add the contributions in the tree at ``root`` to ``parts``, of shape (n_features, 64).

    ``A`` and ``B`` are the documents of 64 pairs as columns. ``state`` and ``sums`` are work
    buffers, a stack each: rows 2i and 2i + 1 of ``sums`` are, for each pair, what the leaves of one
    subtree add to each feature in which its path follows only a, and subtract from each in which it
    follows only b.
    """
    _, feature, threshold, left, right, missing_left, up_to = nodes
    masks, path, last = state
    by_set = sets[0]
    level, row, node = 0, 0, root
    while True:
        while feature[node] >= 0 and masks[level, _ALIVE]:
            f, limit, is_left = feature[node], threshold[node], missing_left[node]
            if up_to >= 0 or (len(by_set) and by_set[node] >= 0):
                masks[level, _A_LEFT] = _find_left(A, f, node, nodes, sets, bits)
                masks[level, _B_LEFT] = _find_left(B, f, node, nodes, sets, bits)
            else:
                masks[level, _A_LEFT] = _find_up_to(A, f, limit, is_left, bits)
                masks[level, _B_LEFT] = _find_up_to(B, f, limit, is_left, bits)
            path[level, _SPLIT] = node
            level += 1
            _step(level, f, masks[level - 1, _A_LEFT], masks[level - 1, _B_LEFT], masks, path, last)
            node = left[node]
        _set_sums(level, values[node], masks, shares, row, sums)
        while True:  # go back to the last split whose right side was not walked
            if level == 0:
                return
            f = path[level, _FEATURE]
            last[f] = path[level, _BEFORE]
            _add(masks[level, _BY_A], masks[level, _BY_B], row, sums, bits, f, parts)
            node = path[level - 1, _SPLIT]
            if node >= 0:
                break
            row -= 2
            if masks[level, _ALIVE]:
                for i in range(_LANES):
                    sums[row, i] += sums[row + 2, i]
                for i in range(_LANES):
                    sums[row + 1, i] += sums[row + 3, i]
            level -= 1
        path[level - 1, _SPLIT] = ~node
        _step(level, f, ~masks[level - 1, _A_LEFT], ~masks[level - 1, _B_LEFT], masks, path, last)
        row += 2
        node = right[node]


@register_jitable(error_model="numpy")
def _find_up_to(columns, f, limit, missing_left, bits):
    """Return the mask of the pairs whose feature ``f`` goes left at the threshold ``limit``."""
    mask = _NONE
    if missing_left:
        for i in range(_LANES):
            mask |= _NONE if columns[f, i] > limit else bits[i]
    else:
        for i in range(_LANES):
            mask |= bits[i] if columns[f, i] <= limit else _NONE
    return mask


@register_jitable(error_model="numpy")
def _find_left(columns, f, node, nodes, sets, bits):
    """Return a bit mask of the pairs that go left at ``node``, which splits by feature ``f``.

    ``columns`` has the values of the pairs by feature, and ``bits`` the bit of each pair.
    """
    mask = _NONE
    for i in range(_LANES):
        mask |= bits[i] if goes_left(columns[f, i], node, nodes, sets) else _NONE
    return mask


@register_jitable(error_model="numpy")
def _step(level, f, a_goes, b_goes, masks, path, last):
    """Step to a child along feature ``f``; set the masks and numbers of its ``level``.

    ``a_goes`` and ``b_goes`` are masks of the pairs whose first and second document go there.
    """
    before = last[f]
    path[level, _FEATURE], path[level, _BEFORE], last[f] = f, before, level
    a_fits, b_fits = masks[before, _A_FITS], masks[before, _B_FITS]
    masks[level, _A_FITS], masks[level, _B_FITS] = a_fits & a_goes, b_fits & b_goes
    alive = masks[level - 1, _ALIVE] & (masks[level, _A_FITS] | masks[level, _B_FITS])
    masks[level, _ALIVE] = alive
    masks[level, _BY_A] = alive & a_fits & b_fits & ~b_goes
    masks[level, _BY_B] = alive & a_fits & b_fits & ~a_goes


@register_jitable(error_model="numpy")
def _set_sums(level, value, masks, shares, row, sums):
    """Write the gain of a leaf for each feature that only a follows, and its loss for b, by pair.

    They are rows ``row`` and ``row + 1`` of ``sums``; ``value`` is the value of the leaf.
    """
    for i in range(_LANES):
        sums[row, i] = 0.0
    for i in range(_LANES):
        sums[row + 1, i] = 0.0
    alive = masks[level, _ALIVE]
    while alive:
        bit: Any = lowest_bit(alive)  # type: ignore[call-arg]
        u = v = np.int64(0)
        for step in range(1, level + 1):
            u += np.int64(masks[step, _BY_A] >> bit & _ONE)
            v += np.int64(masks[step, _BY_B] >> bit & _ONE)
        sums[row, bit], sums[row + 1, bit] = value * shares[u, v], value * shares[v, u]
        alive &= alive - _ONE


@register_jitable(error_model="numpy")
def _add(by_a, by_b, row, sums, bits, f, parts):
    """Add gains to the contributions of feature ``f`` for the pairs in the mask ``by_a``.

    Subtract losses for the pairs in ``by_b``. Both are rows of ``sums`` from ``row`` on.
    """
    if by_a | by_b:
        for i in range(_LANES):
            gain = sums[row, i] if by_a & bits[i] else 0.0
            parts[f, i] += gain - (sums[row + 1, i] if by_b & bits[i] else 0.0)
