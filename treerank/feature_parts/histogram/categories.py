"""Splits by category: a set of categories goes left, all others go right.

If categories are sorted by their own Newton steps, the best of all sets is a prefix of that
order [1]_. So only prefixes are tried.

References
----------
.. [1] Fisher (1958). On grouping for maximum homogeneity. Journal of the American Statistical
   Association 53.
"""

import numpy as np

from treerank.feature_parts.histogram.histograms import STRIDE
from treerank.feature_parts.histogram.packed_derivatives import Layout, add_up
from treerank.feature_parts.histogram.splits import Rules, best_cut
from treerank.numerics.compiling import register_jitable


@register_jitable(error_model="numpy")
def best_set(
    words: np.ndarray,
    n_bins: int,
    layout: Layout,
    leaf: np.record,
    rules: Rules,
    sums: np.ndarray,
    split: np.record,
    goes_left: np.ndarray,
    ordered: np.ndarray | None,
) -> bool:
    """Write the best set of bins to ``split`` if it is better; return whether it is.

    ``goes_left`` is then 1 for the bins of the set. ``rules.cat_smooth`` dampens the Newton steps
    that bins are sorted by. A bin without documents goes right. ``ordered`` is memory for the words
    of sorted bins and, behind them, for their numbers. It is None if no feature has categories:
    then nothing else of this function is compiled.
    """
    if ordered is None:
        return False
    add_up(words, n_bins, layout, sums)
    order = ordered[STRIDE * layout.n_words :]
    n = _sort_bins(sums, n_bins, rules.cat_smooth, order)
    for i in range(n * layout.n_words):
        ordered[i] = words[order[i // layout.n_words] * layout.n_words + i % layout.n_words]
    add_up(ordered, n, layout, sums)
    no_sign = 0 * n  # a literal 0 has a numba type of its own, and would be compiled once more
    found = best_cut(sums, n, leaf, rules, no_sign, rules.cat_l2, split)
    if found:
        goes_left[:] = 0
        for i in range(split.bin + 1):
            goes_left[order[i]] = 1
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
