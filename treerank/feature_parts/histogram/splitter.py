"""Splitter: the search for the best split of a leaf by the features of one block.

A cut sends all bins up to a bin left and the other bins right. Missing values go to the side where
the gain is larger. The gain of a cut is twice the decrease of the objective by a Newton step on
each side, compared with one Newton step of the leaf.

A split by category sends a set of categories left and all others right. If categories are sorted by
the Newton step of their documents, the best of all sets is a prefix of that order [1]_. So it is a
cut of sorted bins.

References
----------
.. [1] Fisher (1958). On grouping for maximum homogeneity. Journal of the American Statistical
   Association 53.
"""

from math import copysign
from typing import Any, NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import N_BINS, STRIDE
from treerank.feature_parts.histogram.packing import Layout, unpack
from treerank.numerics.compiling import register_jitable

#: Gains smaller than this share of the gain of the unsplit leaf are rounding errors.
_NOISE = 1e-11
#: A gain below this share of another gain, up to a tiny number, is smaller despite rounding.
_CLOSE, _TINY = 1 - 1e-13, 1e-290


#: Unused bytes after a record: what two threads write is never in one cache line, for which they
#: would wait.
PADDING = ("unused", np.uint8, (128,))
#: The best split of a leaf so far, with fields as in ``tree.NODE``. The gain is the gain of both
#: sides, from which the gain of the unsplit leaf is not yet subtracted. Sums are over the documents
#: that go left. ``goes_left`` is 1 for each bin that goes left.
SPLIT = np.dtype(
    [(name, np.int64) for name in ("column", "bin", "missing_left")]
    + [(name, np.float64) for name in ("gain", "gradient", "hessian", "n_documents")]
    + [("goes_left", np.uint8, (N_BINS,)), PADDING]
)


#: Working memory of a search: the sums that ``packing.unpack`` writes, and its own memory. As parts
#: of a record, these arrays have no count of references, which would take time in each feature.
#: And the number of rows of a part of a leaf that go left, see ``partition``.
MEMORY = np.dtype(
    [
        ("sums", np.float64, (3, N_BINS)),
        ("running", np.int64, (2, N_BINS)),
        ("n_left", np.int64),
        ("unused", np.uint8, (120,)),  # as ``PADDING``, and whole cache lines
    ]
)


class TreeRules(NamedTuple):
    """Rules for trees, named like the parameters of :class:`HistogramTrees`."""

    num_leaves: int
    max_depth: int
    level_by_level: bool
    is_monotone: bool
    min_child_samples: int
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    min_split_gain: float
    cat_smooth: float
    cat_l2: float


@register_jitable(error_model="numpy")
def newton_step(gradient: float, hessian: float, rules: TreeRules, leaf: Any) -> float:
    """Return the value of a leaf that lowers the loss most, by its sums of both derivatives.

    ``rules`` has the L1 and L2 penalties; the value is clipped to the bounds of ``leaf``.
    """
    shrunk = max(abs(gradient) - rules.reg_alpha, 0.0)
    step = -copysign(shrunk, gradient) / (hessian + rules.reg_lambda)
    return min(max(step, leaf.lower), leaf.upper)


@register_jitable(error_model="numpy")
def _leaf_gain(gradient, hessian, rules, leaf):
    """Return twice the decrease of the objective by the best value of a leaf with these sums.

    The value is within the bounds of ``leaf``.
    """
    value = newton_step(gradient, hessian, rules, leaf)
    slope = 2 * (gradient * value + rules.reg_alpha * abs(value))
    return -slope - (hessian + rules.reg_lambda) * value * value


@register_jitable(error_model="numpy")
def net_gain(gain: float, leaf: Any, rules: TreeRules) -> float:
    """Return the gain of both sides of a split of ``leaf``, minus the gain of the unsplit leaf.

    It is -inf if the difference is not above ``min_split_gain`` and rounding errors.
    """
    if gain == -np.inf:  # such a leaf may have no hessian
        return gain
    unsplit = _leaf_gain(leaf.gradient, leaf.hessian, rules, leaf)
    gain -= unsplit
    return gain if gain > rules.min_split_gain + _NOISE * abs(unsplit) else -np.inf


@register_jitable(error_model="numpy")
def copy_split(split: Any, into: Any) -> None:
    """Copy a record of ``SPLIT``: as a whole, the compiler copies it byte by byte."""
    into.column, into.bin, into.missing_left = split.column, split.bin, split.missing_left
    into.gain, into.gradient, into.hessian = split.gain, split.gradient, split.hessian
    into.n_documents = split.n_documents
    for b in range(N_BINS):
        into.goes_left[b] = split.goes_left[b]


@register_jitable(error_model="numpy")
def may_split(leaf: Any, rules: Any) -> bool:
    """Return whether a leaf is heavy enough for two leaves, and not too deep."""
    enough = leaf.n_documents >= 2 * rules.min_child_samples
    heavy = leaf.hessian >= 2 * rules.min_child_weight
    return enough and heavy and not 0 < rules.max_depth <= leaf.depth


def record_of(layout: Layout, rules: TreeRules) -> np.ndarray:
    """Return an array of one record with the fields of ``layout`` and ``rules``.

    Kernels are called faster with it.
    """
    values = layout._asdict() | rules._asdict()
    fields = [(name, type(value)) for name, value in values.items()]
    return np.array([tuple(values.values())], dtype=fields)


@register_jitable(error_model="numpy")
def search_blocks(
    first: int,
    small: np.ndarray,
    columns: np.ndarray,
    groups: np.ndarray,
    histograms: np.ndarray,
    settings: Any,
    pair: np.ndarray,
    nodes: np.ndarray,
    paths: np.ndarray,
    is_open: np.ndarray,
    best: np.ndarray,
    memory: Any,
    extras: bool | None,
    stores: bool,
) -> None:
    """Find the best splits of one leaf or two sibling leaves in blocks from number ``first`` on.

    ``small`` has the histograms of the first leaf. They are those in ``histograms``, unless
    ``stores``: then they are copied to these where a node below may need them. The histograms of
    the second leaf are the parent's minus the first leaf's, and are computed here. A better split
    replaces the best one of the task. The arrays are fields of ``tree.Data`` and ``tree.Growth``,
    ``settings`` is a record of layout and rules, and ``memory`` one of ``MEMORY``.
    Of equal splits, the one by the first feature is the best, wherever its column is. ``extras``
    may be None only if there are neither categories, nor constraints, nor other workers.
    """
    sums, running = memory.sums, memory.running
    for block in range(first, first + len(small)):
        sibling = small[block - first]
        for child in range(1 + (pair[1] >= 0)):
            number, may_cut = pair[child], False
            leaf, split = nodes[number], best[child]
            if not (is_open[leaf.parent, block] and may_split(leaf, settings)):
                continue
            packed = histograms[leaf.slot, block] if child else sibling
            for at in range(block * WIDTH, (block + 1) * WIDTH):
                if extras is None and not groups[0, at]:
                    continue
                if extras is not None and not _is_on_path(at, groups, paths[number]):
                    continue
                column, begin = columns[at], at % WIDTH * STRIDE
                n = column.n_values + column.is_category  # codes without a bin: one more category
                if child:
                    start, stop = begin * settings.n_integers, (begin + n) * settings.n_integers
                    for i in range(np.uint64(start), np.uint64(stop)):  # unsigned: in vectors
                        packed[i] -= sibling[i]
                unpack(packed, begin + column.zero, 1, settings, running, sums)
                if leaf.n_documents - sums[2, 0] < settings.min_child_samples:
                    continue  # too few documents have other values: no cut, here or below
                may_cut = True
                unpack(packed, begin, n, settings, running, sums)
                is_first = split.gain > -np.inf and column.feature < columns[split.column].feature
                if _search_feature(sums, n, column, leaf, settings, split, is_first, extras):
                    split.column = at
            is_open[number, block] = may_cut
            if extras is not None and stores and may_cut and child == 0:
                slot, n_integers = leaf.slot, settings.n_integers
                _store(small, block - first, block, slot, columns, n_integers, histograms)


@register_jitable(error_model="numpy")
def _store(small, at, block, slot, columns, n_integers, histograms):
    """Copy row ``at`` of ``small``, the histogram of a leaf in one block, to ``histograms``.

    Only bins that are read are copied to the histograms at ``slot``.
    """
    for j in range(WIDTH):
        column, begin = columns[block * WIDTH + j], j * STRIDE * n_integers
        end = begin + (column.n_values + column.is_category) * n_integers
        for i in range(np.uint64(begin), np.uint64(end)):  # to assign a slice compiles longer
            histograms[slot, block, i] = small[at, i]


@register_jitable(error_model="numpy")
def _is_on_path(column, groups, path):
    """Return whether some group of features contains a column and all columns above the leaf.

    ``path`` tells which groups contain those above it.
    """
    for group in range(len(groups)):  # noqa: SIM110  (numba compiles no generators)
        if groups[group, column] and path[group]:
            return True
    return False


@register_jitable(error_model="numpy")
def _search_feature(sums, n, column, leaf, settings, split, is_first, extras):
    """Write the best split by a feature to ``split`` if it is better; return whether it is better.

    ``sums`` has the running sums of gradient, hessian and count over the ``n`` bins of the feature.
    They are changed. ``is_first`` makes a split better that gains as much.
    """
    if extras is not None and column.is_category:
        order = _sort_bins(sums, n, settings.cat_smooth)
        if _best_cut(sums, len(order), column, leaf, settings, split, is_first, extras):
            for b in range(N_BINS):
                split.goes_left[b] = 0
            for i in range(split.bin + 1):
                split.goes_left[order[i]] = 1
            return True
        return False
    is_better = _best_cut(sums, n, column, leaf, settings, split, is_first, extras)
    if is_better:
        for b in range(N_BINS):
            split.goes_left[b] = b <= split.bin
        split.goes_left[n] = split.missing_left
    return is_better


@register_jitable(error_model="numpy")
def _sort_bins(sums, n_bins, smooth):
    """Sort the bins that have documents by smoothed Newton step; return their numbers.

    ``smooth`` is added to each hessian. ``sums`` become the running sums over the bins in this
    order, which are exact, see ``packing``.
    """
    of_bin, order, n = np.empty((4, N_BINS)), np.empty(n_bins, np.int64), 0
    steps = of_bin[3]
    for b in range(n_bins):
        for k in range(3):
            of_bin[k, b] = sums[k, b] - (sums[k, b - 1] if b else 0.0)
        if of_bin[2, b] > 0:
            step, at = of_bin[0, b] / (of_bin[1, b] + smooth), n
            while at > 0 and steps[at - 1] > step:  # insertion sort: stable and short
                order[at], steps[at] = order[at - 1], steps[at - 1]
                at -= 1
            order[at], steps[at] = b, step
            n += 1
    for k in range(3):
        total = 0.0
        for i in range(n):
            total += of_bin[k, order[i]]
            sums[k, i] = total
    return order[:n]


@register_jitable(error_model="numpy")
def _best_cut(sums, n_values, column, leaf, rules, split, is_first, extras):
    """Write the best cut of ordered bins to ``split`` if it is better; return whether it is better.

    Documents of the leaf that are in none of the ``n_values`` bins have a missing value.
    ``is_first`` makes a cut better that gains as much as the best one of another feature.
    """
    last, is_better = n_values - 1, False
    g, h = leaf.gradient - sums[0, last], leaf.hessian - sums[1, last]
    n_missing = leaf.n_documents - sums[2, last]
    penalty = rules.reg_lambda
    if extras is not None and column.is_category:
        penalty += rules.cat_l2
    # With missing values on the right, the last cut sends all present values left.
    n_cuts = last + (n_missing > 0)
    for missing_left in range(2 if n_missing > 0 else 1):
        if missing_left:
            n_cuts = last
            for b in range(last):
                sums[0, b] += g
                sums[1, b] += h
                sums[2, b] += n_missing
        least = split.gain if split.gain > -1.0 else -1.0  # gains are not negative
        if extras is not None and rules.is_monotone:
            least = -1.0
        if not may_gain(sums, n_cuts, leaf, rules, penalty, least):
            continue
        for b in range(n_cuts):
            left = sums[0, b], sums[1, b], sums[2, b]
            gain = cut_gain(left, leaf, rules, penalty, column.sign, extras)
            if gain > split.gain or (is_first and gain == split.gain):
                is_better, is_first, split.gain, split.bin = True, False, gain, b
                split.gradient, split.hessian, split.n_documents = left
                follows_most = n_missing == 0 and 2 * left[2] >= leaf.n_documents
                split.missing_left = missing_left or follows_most
    return is_better


@register_jitable(error_model="numpy")
def may_gain(
    sums: np.ndarray, n_cuts: int, leaf: Any, rules: TreeRules, penalty: float, least: float
) -> bool:
    """Return whether one of the first ``n_cuts`` cuts is allowed and may gain more than ``least``.

    ``sums`` are running sums over bins, and ``penalty`` is the L2 penalty of leaves. Most features
    of a leaf have no such cut, and this loop finds that out without divisions and branches: both
    sides of the comparison are multiplied by the denominators of :func:`cut_gain`. ``_CLOSE`` and
    ``_TINY`` are a margin that is larger than all rounding errors.
    """
    gradients, hessians, counts = sums[0], sums[1], sums[2]
    g, h, n = leaf.gradient, leaf.hessian, leaf.n_documents
    alpha, fewest, lightest = rules.reg_alpha, rules.min_child_samples, rules.min_child_weight
    least *= _CLOSE
    n_better = np.int64(0)
    for b in range(n_cuts):
        g_left, h_left, n_left = gradients[b], hessians[b], counts[b]
        g_right, h_right = g - g_left, h - h_left
        enough = (n_left >= fewest) & (n - n_left >= fewest)
        heavy = (h_left >= lightest) & (h_right >= lightest)
        left, right = max(abs(g_left) - alpha, 0.0), max(abs(g_right) - alpha, 0.0)
        h_left += penalty
        h_right += penalty
        gain = left * left * h_right + right * right * h_left + _TINY
        n_better += enough & heavy & (gain > least * (h_left * h_right))
    return bool(n_better > 0)


@register_jitable(error_model="numpy")
def cut_gain(
    left: tuple[float, float, float],
    leaf: Any,
    rules: TreeRules,
    penalty: float,
    sign: int,
    extras: bool | None,
) -> float:
    """Return the gain of both sides of a cut; -inf where the rules forbid it.

    ``left`` has the sums of gradient, hessian and count over the documents that go left,
    ``penalty`` is the L2 penalty of leaves, and ``sign`` is the monotone constraint. With monotone
    constraints, values of leaves have bounds; there are none if ``extras`` is None.
    """
    g, h, n = left
    g_right, h_right, n_right = leaf.gradient - g, leaf.hessian - h, leaf.n_documents - n
    if n < rules.min_child_samples or n_right < rules.min_child_samples:
        return -np.inf
    if not (h >= rules.min_child_weight and h_right >= rules.min_child_weight):
        return -np.inf
    if extras is not None and rules.is_monotone:
        rise = newton_step(g_right, h_right, rules, leaf) - newton_step(g, h, rules, leaf)
        if sign * rise < 0:
            return -np.inf
        return _leaf_gain(g, h, rules, leaf) + _leaf_gain(g_right, h_right, rules, leaf)
    left_slope = max(abs(g) - rules.reg_alpha, 0.0)
    right_slope = max(abs(g_right) - rules.reg_alpha, 0.0)
    gain = left_slope * left_slope / (h + penalty)
    return gain + right_slope * right_slope / (h_right + penalty)
