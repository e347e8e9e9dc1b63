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
from treerank.numerics.compiling import register_jitable

#: Gains smaller than this share of the gain of the whole leaf are rounding errors.
_NOISE = 1e-11
#: A gain that is not above this share of another one is not above that one, whatever is rounded.
_CLOSE, _TINY = 1 - 1e-13, 1e-290


#: The best split of a leaf so far, with fields as in ``tree.NODE``. The gain is that of both sides,
#: that of the whole leaf not yet subtracted; sums are those over the documents that go left.
#: ``goes_left`` is 1 for each bin that does.
SPLIT = np.dtype(
    [(name, np.int64) for name in ("place", "bin", "missing_left")]
    + [(name, np.float64) for name in ("gain", "gradient", "hessian", "n_documents")]
    + [("goes_left", np.uint8, (N_BINS,))]
)


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


@register_jitable(error_model="numpy")
def newton_step(gradient: float, hessian: float, rules: TreeRules, leaf: Any) -> float:
    """Return the best value of a leaf with these sums, within the bounds of ``leaf``."""
    shrunk = max(abs(gradient) - rules.reg_alpha, 0.0)
    step = -copysign(shrunk, gradient) / (hessian + rules.reg_lambda)
    return min(max(step, leaf.lower), leaf.upper)


@register_jitable(error_model="numpy")
def _leaf_gain(gradient, hessian, rules, leaf):
    """Return twice what the best value of a leaf lowers the objective by."""
    value = newton_step(gradient, hessian, rules, leaf)
    slope = 2 * (gradient * value + rules.reg_alpha * abs(value))
    return -slope - (hessian + rules.reg_lambda) * value * value


@register_jitable(error_model="numpy")
def whole_gain(gain: float, leaf: Any, rules: TreeRules) -> float:
    """Return the gain of both sides less that of the whole leaf; -inf if it is too small."""
    if gain == -np.inf:  # such a leaf may have no hessian
        return gain
    whole = _leaf_gain(leaf.gradient, leaf.hessian, rules, leaf)
    gain -= whole
    return gain if gain > rules.min_split_gain + _NOISE * abs(whole) else -np.inf


@register_jitable(error_model="numpy")
def may_split(leaf: Any, rules: Any) -> bool:
    """Return whether a leaf is large enough to be split, and not too deep."""
    enough = leaf.n_documents >= 2 * rules.min_child_samples
    heavy = leaf.hessian >= 2 * rules.min_child_weight
    return enough and heavy and not 0 < rules.max_depth <= leaf.depth


def record_of(layout: Layout, rules: TreeRules) -> np.ndarray:
    """Return an array of one record with the fields of both, which kernels take faster."""
    values = layout._asdict() | rules._asdict()
    fields = [(name, type(value)) for name, value in values.items()]
    return np.array([tuple(values.values())], dtype=fields)


@register_jitable(error_model="numpy")
def search_blocks(
    piece: int, first: int, small: np.ndarray, data: Any, how: Any, tree: Any
) -> None:
    """Find the best splits of one leaf or two sisters in some blocks, from number ``first`` on.

    ``small`` are the histograms of the first leaf, which are kept where a node below may need them.
    Those of the second one are those of its parent, from which they are subtracted here. Splits
    that are better than those that the piece has found before replace them. ``data`` is a
    ``tree.Data``, ``tree`` a ``tree.Growth``, and ``how`` layout and rules.
    """
    sums, step = np.empty((3, N_BINS)), tree.step[0]
    for block in range(first, first + len(small)):
        sister = small[block - first]
        for child in range(1 + (step.pair[1] >= 0)):
            number, is_open = step.pair[child], False
            leaf, split = tree.nodes[number], tree.found[piece, child]
            slot = tree.slots[number, block]
            if slot < 0 or not may_split(leaf, how):
                continue
            words = data.histograms[slot, block] if child else sister
            for at in range(block * WIDTH, (block + 1) * WIDTH):
                if not _is_on_path(at, data.groups, tree.paths[number]):
                    continue
                place, begin = data.places[at], at % WIDTH * STRIDE
                n = place.n_values + place.is_category  # codes without a bin are a category, too
                if child:
                    start, stop = begin * how.n_words, (begin + n) * how.n_words
                    for i in range(np.uint64(start), np.uint64(stop)):  # unsigned: in vectors
                        words[i] -= sister[i]
                unpack(words, begin + place.zero, 1, how, sums)
                if leaf.n_documents - sums[2, 0] < how.min_child_samples:
                    continue  # so are all cuts of its bins, in this leaf and below
                is_open = True
                unpack(words, begin, n, how, sums)
                if _search_feature(sums, n, place, leaf, how, split):
                    split.place = at
            if not is_open:
                tree.slots[number, block] = -1
            elif child == 0:
                _keep(sister, block, number, data, tree)


@register_jitable(error_model="numpy")
def _keep(words, block, number, data, tree):
    """Keep the histogram of a node."""
    slot = tree.n_kept[block]
    tree.n_kept[block] += 1
    tree.slots[number, block] = slot
    for i in range(len(words)):  # to assign a slice takes longer to compile
        data.histograms[slot, block, i] = words[i]


@register_jitable(error_model="numpy")
def _is_on_path(place, groups, path):
    """Return whether one group has a place and all features above the leaf."""
    for group in range(len(groups)):  # noqa: SIM110  (numba compiles no generators)
        if groups[group, place] and path[group]:
            return True
    return False


@register_jitable(error_model="numpy")
def _search_feature(sums, n, place, leaf, how, split):
    """Write the best split by one feature to ``split`` if it is better; return whether it is.

    ``sums`` are the running sums of gradient, hessian and count over its ``n`` bins.
    """
    if place.is_category:
        order = _sort_bins(sums, n, how.cat_smooth)
        n = len(order)
    found = _best_cut(sums, n, place, leaf, how, split)
    if found:
        for b in range(N_BINS):
            split.goes_left[b] = b <= split.bin and not place.is_category
        if place.is_category:
            for i in range(split.bin + 1):
                split.goes_left[order[i]] = 1
        else:
            split.goes_left[n] = split.missing_left
    return found


@register_jitable(error_model="numpy")
def _sort_bins(sums, n_bins, smooth):
    """Sort the bins that have documents by dampened Newton step; return their numbers.

    ``sums`` become those over the bins in this order. They stay exact, see ``packing``.
    """
    own, steps, order, n = sums.copy(), np.empty(n_bins), np.empty(n_bins, dtype=np.int64), 0
    for b in range(n_bins):
        for k in range(3):
            own[k, b] -= sums[k, b - 1] if b else 0.0
        if own[2, b] > 0:
            step, at = own[0, b] / (own[1, b] + smooth), n
            while at > 0 and steps[at - 1] > step:  # insertion sort: stable and short
                order[at], steps[at] = order[at - 1], steps[at - 1]
                at -= 1
            order[at], steps[at] = b, step
            n += 1
    for k in range(3):
        total = 0.0
        for i in range(n):
            total += own[k, order[i]]
            sums[k, i] = total
    return order[:n]


@register_jitable(error_model="numpy")
def _best_cut(sums, n_values, place, leaf, rules, split):
    """Write the best cut of ordered bins to ``split`` if it is better; return whether it is.

    The documents of the leaf that are in none of the ``n_values`` bins lack the value.
    """
    last, found = n_values - 1, False
    g, h = leaf.gradient - sums[0, last], leaf.hessian - sums[1, last]
    n_missing = leaf.n_documents - sums[2, last]
    penalty = rules.reg_lambda + (rules.cat_l2 if place.is_category else 0.0)
    # Without missing values on the left, the last cut has all values there, if others lack it.
    n_cuts = last + (n_missing > 0)
    for missing_left in range(2 if n_missing > 0 else 1):
        if missing_left:
            n_cuts = last
            for b in range(last):
                sums[0, b] += g
                sums[1, b] += h
                sums[2, b] += n_missing
        least = -1.0 if rules.is_monotone else max(split.gain, -1.0)  # gains are not negative
        if not may_gain(sums, n_cuts, leaf, rules, penalty, least):
            continue
        for b in range(n_cuts):
            left = sums[0, b], sums[1, b], sums[2, b]
            gain = cut_gain(left, leaf, rules, penalty, place.sign)
            if gain > split.gain:
                found, split.gain, split.bin = True, gain, b
                split.gradient, split.hessian, split.n_documents = left
                follows_most = n_missing == 0 and 2 * left[2] >= leaf.n_documents
                split.missing_left = missing_left or follows_most
    return found


@register_jitable(error_model="numpy")
def may_gain(
    sums: np.ndarray, n_cuts: int, leaf: Any, rules: TreeRules, penalty: float, least: float
) -> bool:
    """Return whether one of the first cuts that the rules allow may gain more than ``least``.

    Most features of a leaf have none, and this loop has neither divisions nor branches. Both sides
    of the comparison are multiplied by the denominators of :func:`cut_gain`. Rounding errors are
    smaller than what ``_CLOSE`` and ``_TINY`` leave.
    """
    gradients, hessians, counts = sums[0], sums[1], sums[2]
    g, h, n = leaf.gradient, leaf.hessian, leaf.n_documents
    alpha, fewest, lightest = rules.reg_alpha, rules.min_child_samples, rules.min_child_weight
    least *= _CLOSE
    n_found = np.int64(0)
    for b in range(n_cuts):
        g_left, h_left, n_left = gradients[b], hessians[b], counts[b]
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
def cut_gain(
    left: tuple[float, float, float], leaf: Any, rules: TreeRules, penalty: float, sign: int
) -> float:
    """Return the gain of both sides of a cut; -inf where the rules forbid it.

    ``left`` are the sums of gradient, hessian and count of what goes left, and ``sign`` is the
    monotone constraint. Where there are such constraints, values of leaves have bounds.
    """
    g, h, n = left
    g_right, h_right, n_right = leaf.gradient - g, leaf.hessian - h, leaf.n_documents - n
    enough = min(n, n_right) >= rules.min_child_samples
    if not (enough and min(h, h_right) >= rules.min_child_weight):
        return -np.inf
    if rules.is_monotone:
        rise = newton_step(g_right, h_right, rules, leaf) - newton_step(g, h, rules, leaf)
        if sign * rise < 0:
            return -np.inf
        return _leaf_gain(g, h, rules, leaf) + _leaf_gain(g_right, h_right, rules, leaf)
    left_slope = max(abs(g) - rules.reg_alpha, 0.0)
    right_slope = max(abs(g_right) - rules.reg_alpha, 0.0)
    gain = left_slope * left_slope / (h + penalty)
    return gain + right_slope * right_slope / (h_right + penalty)
