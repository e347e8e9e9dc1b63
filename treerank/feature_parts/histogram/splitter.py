"""Splitter: the search for the best split of a leaf by the features of one block.

A cut sends the bins up to one of them left and the other bins right. Missing values go to the
side where the gain is larger. The gain of a cut is twice what separate Newton steps of both sides
lower the objective by, compared with one step of the whole leaf.

Of categories, a set goes left and all others go right. If categories are sorted by their own Newton
steps, the best of all sets is a prefix of that order [1]_. So it is a cut of sorted bins.

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
from treerank.numerics.compiling import njit, register_jitable

#: Gains smaller than this share of the gain of the whole leaf are rounding errors.
_NOISE = 1e-11
#: A gain that is not above this share of another one is not above that one, whatever is rounded.
_CLOSE, _TINY = 1 - 1e-13, 1e-290


class BestSplit(NamedTuple):
    """The best split so far.

    Attributes
    ----------
    place : int
        Place of its feature, see ``binning.PLACE``.
    bin, missing_left : int
        The last bin that goes left, and whether missing values go left.
    gain : float
        Gain of both sides, that of the whole leaf not yet subtracted.
    gradient, hessian, n_documents : float
        Sums over the documents that go left.
    goes_left : ndarray of uint8, shape (256,)
        1 for the bins that go left, if the feature has categories.
    """

    place: int
    bin: int
    missing_left: int
    gain: float
    gradient: float
    hessian: float
    n_documents: float
    goes_left: np.ndarray


_FIELDS = [
    (name, kind) for name, kind in BestSplit.__annotations__.items() if kind is not np.ndarray
]
SPLIT = np.dtype([*_FIELDS, ("goes_left", np.uint8, (N_BINS,))])


class TreeRules(NamedTuple):
    """Rules for trees; the names are those of :class:`HistogramTrees`."""

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


class Cuts(NamedTuple):
    """The cuts of a feature: their number, and the sums of what goes left at all of them.

    That is the documents without a value, if they go left, and else nothing.
    """

    n: int
    gradient: float
    hessian: float
    n_documents: float


@register_jitable(error_model="numpy")
def newton_step(
    gradient: float, hessian: float, rules: TreeRules, lower: float, upper: float
) -> float:
    """Return the best value of a leaf, within bounds."""
    shrunk = max(abs(gradient) - rules.reg_alpha, 0.0)
    step = -copysign(shrunk, gradient) / (hessian + rules.reg_lambda)
    return min(max(step, lower), upper)


@register_jitable(error_model="numpy")
def _leaf_gain(gradient, hessian, rules, lower, upper):
    """Return twice what the best value of a leaf lowers the objective by."""
    value = newton_step(gradient, hessian, rules, lower, upper)
    slope = 2 * (gradient * value + rules.reg_alpha * abs(value))
    return -slope - (hessian + rules.reg_lambda) * value * value


def whole_gain(gain: float, leaf: Any, rules: TreeRules) -> float:
    """Return the gain of both sides less that of the whole leaf; -inf if it is too small."""
    if gain == -np.inf:  # such a leaf may have no hessian
        return gain
    whole = _leaf_gain(leaf.gradient, leaf.hessian, rules, leaf.lower, leaf.upper)
    gain -= whole
    return gain if gain > rules.min_split_gain + _NOISE * abs(whole) else -np.inf


@register_jitable(error_model="numpy")
def may_split(leaf: Any, rules: Any) -> bool:
    """Return whether a leaf is large enough to be split, and not too deep."""
    enough = leaf.n_documents >= 2 * rules.min_child_samples
    heavy = leaf.hessian >= 2 * rules.min_child_weight
    return enough and heavy and not 0 < rules.max_depth <= leaf.depth


class SplitSearch(NamedTuple):
    """What all searches for the splits of a tree need: its features, and how to judge cuts.

    Attributes
    ----------
    places : ndarray of PLACE
        Description of each byte of the blocks that are searched.
    layout, rules : ndarray of one record
        Layout of the words, and rules for trees. Kernels take records faster than named tuples.
    """

    places: np.ndarray
    layout: np.ndarray
    rules: np.ndarray


def record_of(values: Layout | TreeRules) -> np.ndarray:
    """Return an array of one record with the fields of a named tuple."""
    fields = [(name, type(value)) for name, value in values._asdict().items()]
    return np.array([tuple(values)], dtype=fields)


@njit(error_model="numpy", nogil=True)
def search_blocks(
    first: int,
    last: int,
    search: SplitSearch,
    leaves: np.ndarray,
    histograms: np.ndarray,
    splits: np.ndarray,
) -> None:
    """Find the best splits of one leaf or two sisters in some blocks.

    Parameters
    ----------
    first, last : int
        First block, and the one after the last.
    search : SplitSearch
        Features, and how to judge cuts.
    leaves : ndarray of NODE, shape (1,) or (2,)
        The leaves. The histogram of the second one is that of its parent, from which that of the
        first one is subtracted here.
    histograms : ndarray of int64, shape (n_leaves, n_blocks, words)
        Histograms of all leaves.
    splits : ndarray of SPLIT, shape (n_blocks, 2)
        Row ``first`` gets the best splits; their gains are -inf before.
    """
    rules, layout = search.rules[0], search.layout[0]
    scratch = np.empty((4, N_BINS)), np.empty(3 * STRIDE, dtype=np.int64)
    for block in range(first, last):
        for child in range(len(leaves)):
            leaf, split = leaves[child], splits[first, child]
            if not may_split(leaf, rules):
                continue
            words = histograms[leaf.slot, block]
            if child:
                of_sister = histograms[leaves[0].slot, block]
                for i in range(len(words)):
                    words[i] -= of_sister[i]
            for number in range(block * WIDTH, (block + 1) * WIDTH):
                place = search.places[number]
                if place.usable:
                    own = words[number % WIDTH * STRIDE * layout.n_words :]
                    if _search_feature(own, place, leaf, (rules, layout), scratch, split):
                        split.place = number


@register_jitable(error_model="numpy")
def _search_feature(words, place, leaf, how, scratch, split):
    """Write the best split by one feature to ``split`` if it is better; return whether it is.

    ``scratch`` is memory: running sums of gradient, hessian and count over the bins, and the gains
    of cuts; words of the bins of categories in the order of their Newton steps, and their numbers.
    """
    rules, layout = how
    sums, ordered = scratch
    n, order = place.n_values, ordered[2 * STRIDE :]
    if place.is_category:
        n_bins = n + place.has_missing
        unpack(words, n_bins, layout, sums)
        n = _sort_bins(sums, n_bins, rules.cat_smooth, order)
        for i in range(n * layout.n_words):
            ordered[i] = words[order[i // layout.n_words] * layout.n_words + i % layout.n_words]
        words = ordered
    unpack(words, n, layout, sums)
    found = _best_cut(sums, n, place, leaf, rules, split)
    if found and place.is_category:
        for b in range(N_BINS):
            split.goes_left[b] = 0
        for i in range(split.bin + 1):
            split.goes_left[order[i]] = 1
    return found


@register_jitable(error_model="numpy")
def _sort_bins(sums, n_bins, smooth, order):
    """Sort the bins that have documents by dampened Newton step; return their number."""
    steps, n = sums[3], 0  # the memory for gains
    g, h, count = 0.0, 0.0, 0.0
    for b in range(n_bins):
        if sums[2, b] > count:
            step, place = (sums[0, b] - g) / (sums[1, b] - h + smooth), n
            while place > 0 and steps[place - 1] > step:  # insertion sort: stable and short
                order[place], steps[place] = order[place - 1], steps[place - 1]
                place -= 1
            order[place], steps[place] = b, step
            n += 1
        g, h, count = sums[0, b], sums[1, b], sums[2, b]
    return n


@register_jitable(error_model="numpy")
def _best_cut(sums, n_values, place, leaf, rules, split):
    """Write the best cut of ordered bins to ``split`` if it is better; return whether it is.

    The documents of the leaf that are in none of the ``n_values`` bins lack the value.
    """
    last, found = n_values - 1, False
    n_missing = leaf.n_documents - sums[2, last]
    penalty = rules.reg_lambda + (rules.cat_l2 if place.is_category else 0.0)
    for missing_left in range(2 if n_missing > 0 else 1):
        # Without missing values on the left, the last cut has all values there, if others lack it.
        cuts = Cuts(last + (n_missing > 0), 0.0, 0.0, 0.0)
        if missing_left:
            g, h = leaf.gradient - sums[0, last], leaf.hessian - sums[1, last]
            cuts = Cuts(last, g, h, n_missing)
        least = -1.0 if rules.is_monotone else max(split.gain, -1.0)  # gains are not negative
        if not may_gain(sums, cuts, leaf, rules, penalty, least):
            continue
        score_cuts(sums, cuts, leaf, rules, penalty)
        if rules.is_monotone:
            _score_bounded_cuts(sums, cuts, leaf, rules, place.sign)
        best = -1
        for b in range(cuts.n):
            if sums[3, b] > split.gain:
                best, split.gain = b, sums[3, b]
        if best >= 0:
            found = True
            split.bin, split.n_documents = best, sums[2, best] + cuts.n_documents
            follows_most = n_missing == 0 and 2 * split.n_documents >= leaf.n_documents
            split.missing_left = missing_left or follows_most
            split.gradient = sums[0, best] + cuts.gradient
            split.hessian = sums[1, best] + cuts.hessian
    return found


@register_jitable(error_model="numpy")
def may_gain(
    sums: np.ndarray, cuts: Cuts, leaf: np.record, rules: TreeRules, penalty: float, least: float
) -> bool:
    """Return whether the gain of a cut that the rules allow may be above ``least``.

    Both are multiplied by the denominators, because divisions take most of the time of
    :func:`score_cuts`. Rounding errors are smaller than what ``_CLOSE`` and ``_TINY`` leave.
    """
    gradients, hessians, counts = sums[0], sums[1], sums[2]
    g, h, n = leaf.gradient, leaf.hessian, leaf.n_documents
    alpha, fewest, lightest = rules.reg_alpha, rules.min_child_samples, rules.min_child_weight
    least *= _CLOSE
    n_found = np.int64(0)
    for b in range(cuts.n):
        g_left, h_left = gradients[b] + cuts.gradient, hessians[b] + cuts.hessian
        n_left = counts[b] + cuts.n_documents
        g_right, h_right = g - g_left, h - h_left
        enough = (n_left >= fewest) & (n - n_left >= fewest)
        heavy = (h_left >= lightest) & (h_right >= lightest)
        left, right = max(abs(g_left) - alpha, 0.0), max(abs(g_right) - alpha, 0.0)
        h_left += penalty
        h_right += penalty
        gain = left * left * h_right + right * right * h_left + _TINY
        n_found += enough & heavy & (gain > least * (h_left * h_right))
    return bool(n_found > 0)


@register_jitable(error_model="numpy")
def score_cuts(
    sums: np.ndarray, cuts: Cuts, leaf: np.record, rules: TreeRules, penalty: float
) -> None:
    """Write the gain of both sides of each cut; -inf where the rules forbid it."""
    gradients, hessians, counts, gains = sums[0], sums[1], sums[2], sums[3]
    g, h, n = leaf.gradient, leaf.hessian, leaf.n_documents
    alpha, fewest, lightest = rules.reg_alpha, rules.min_child_samples, rules.min_child_weight
    for b in range(cuts.n):
        g_left, h_left = gradients[b] + cuts.gradient, hessians[b] + cuts.hessian
        n_left = counts[b] + cuts.n_documents
        g_right, h_right = g - g_left, h - h_left
        enough = (n_left >= fewest) & (n - n_left >= fewest)
        heavy = (h_left >= lightest) & (h_right >= lightest)
        left, right = max(abs(g_left) - alpha, 0.0), max(abs(g_right) - alpha, 0.0)
        both = left * left / (h_left + penalty) + right * right / (h_right + penalty)
        gains[b] = both if enough & heavy else -np.inf


@register_jitable(error_model="numpy")
def _score_bounded_cuts(sums, cuts, leaf, rules, sign):
    """Write the gain of both sides of each cut where leaf values have bounds.

    A cut whose values violate the monotone constraint ``sign`` gets -inf.
    """
    low, high = leaf.lower, leaf.upper
    for b in range(cuts.n):
        if sums[3, b] == -np.inf:
            continue
        g_left, h_left = sums[0, b] + cuts.gradient, sums[1, b] + cuts.hessian
        g_right, h_right = leaf.gradient - g_left, leaf.hessian - h_left
        left = newton_step(g_left, h_left, rules, low, high)
        right = newton_step(g_right, h_right, rules, low, high)
        sums[3, b] = -np.inf
        if sign * (right - left) >= 0:
            sums[3, b] = _leaf_gain(g_left, h_left, rules, low, high)
            sums[3, b] += _leaf_gain(g_right, h_right, rules, low, high)
