"""Categories: splits of bins without an order into two sets.

Put into the order of their own Newton steps, some prefix of them is the best set of all [1]_.

References
----------
.. [1] Fisher (1958). On grouping for maximum homogeneity. Journal of the American Statistical
   Association 53.
"""

import numpy as np

from treerank.feature_parts.histogram.packed_derivatives import add_up
from treerank.feature_parts.histogram.splits import best_cut
from treerank.numerics.compiling import njit


@njit(error_model="numpy")
def best_set(words, n_bins, layout, leaf, rules, sums, split, goes_left):
    """Keep the best set of bins in ``split``, if it is better; say whether it is.

    ``goes_left`` is then 1 for its bins. Steps are dampened; a bin without documents goes right.
    """
    add_up(words, n_bins, layout, sums)
    order, n = _ordered(sums, n_bins, rules.cat_smooth)
    ordered = np.empty(n * layout.n_words, dtype=np.int64)
    for i in range(n * layout.n_words):
        ordered[i] = words[order[i // layout.n_words] * layout.n_words + i % layout.n_words]
    add_up(ordered, n, layout, sums)
    no_sign = 0 * n  # a literal would be a type of its own, and compiled once more
    found = best_cut(sums, n, leaf, rules, no_sign, rules.cat_l2, split)
    if found:
        goes_left[:] = 0
        for i in range(split.bin + 1):
            goes_left[order[i]] = 1
    return found


@njit(error_model="numpy")
def _ordered(sums, n_bins, smooth):
    """Sort the bins that have documents by dampened step; return them and their number."""
    order, steps, n = np.empty(n_bins, dtype=np.int64), np.empty(n_bins), 0
    g, h, count = 0.0, 0.0, 0.0
    for b in range(n_bins):
        if sums[2, b] > count:
            step, place = (sums[0, b] - g) / (sums[1, b] - h + smooth), n
            while place > 0 and steps[place - 1] > step:  # insertion sort: stable, and little
                order[place], steps[place] = order[place - 1], steps[place - 1]
                place -= 1
            order[place], steps[place] = b, step
            n += 1
        g, h, count = sums[0, b], sums[1, b], sums[2, b]
    return order, n
