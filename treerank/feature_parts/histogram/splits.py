"""Splits: where a feature parts the documents of a leaf best.

A split sends the bins up to one of them left and the others right, the missing values to the
side where they gain more. The gain is what two Newton steps lower the objective by more than
one does, times two.
"""

from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import njit

#: The best split so far: its gain, the place of its feature, the last bin that goes left,
#: whether missing values do, and the sums of the documents that go left.
SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("place", np.int64),
        ("bin", np.int64),
        ("missing_left", np.int64),
        ("gradient", np.float64),
        ("hessian", np.float64),
        ("count", np.float64),
    ]
)
#: Gains smaller than this share of the leaf's own worth come from rounding.
_NOISE = 1e-11


class Rules(NamedTuple):
    """What a split must keep to; named as in :class:`HistogramTrees`."""

    min_child_samples: int
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    min_split_gain: float
    cat_smooth: float
    cat_l2: float
    is_monotone: bool


@njit(error_model="numpy")
def newton_step(gradient, hessian, rules, lower, upper):
    """Return the best value of a leaf, within bounds."""
    shrunk = max(abs(gradient) - rules.reg_alpha, 0.0)
    step = -np.copysign(shrunk, gradient) / (hessian + rules.reg_lambda)
    return min(max(step, lower), upper)


@njit(error_model="numpy")
def worth(gradient, hessian, rules, lower, upper):
    """Return twice what the best value of a leaf lowers the objective by."""
    value = newton_step(gradient, hessian, rules, lower, upper)
    slope = 2 * (gradient * value + rules.reg_alpha * abs(value))
    return -slope - (hessian + rules.reg_lambda) * value * value


@njit(error_model="numpy")
def best_cut(sums, n_values, leaf, rules, sign, extra, split):
    """Keep the best cut of ordered bins in ``split``, if it is better; say whether it is.

    Parameters
    ----------
    sums : ndarray of shape (4, n)
        Sums of gradient, hessian and count up to each bin of values; the last row is room.
    n_values : int
        Bins of values; what they lack to the sums of the leaf are documents without the value.
    leaf : NODE
        The leaf.
    rules : Rules
        What the split must keep to.
    sign : int
        Whether the right side must not have the lower value (1), or the higher (-1).
    extra : float
        L2 penalty on top of that of the rules.
    split : SPLIT
        The best so far, and its worth in place of a gain.
    """
    n_missing = leaf.count - sums[2, n_values - 1]
    found = False
    for missing_left in range(2 if n_missing > 0 else 1):
        g, h, n, n_cuts = 0.0, 0.0, 0.0, n_values - 1
        if missing_left:
            g = leaf.gradient - sums[0, n_values - 1]
            h, n = leaf.hessian - sums[1, n_values - 1], n_missing
        elif n_missing > 0:
            n_cuts = n_values  # all values left, the missing ones right
        _weigh_cuts(sums, n_cuts, g, h, n, leaf, rules, extra)
        if rules.is_monotone:
            _weigh_bounded_cuts(sums, n_cuts, g, h, leaf, rules, sign)
        best = -1
        for b in range(n_cuts):
            if sums[3, b] > split.gain:
                best, split.gain = b, sums[3, b]
        if best >= 0:
            found = True
            split.bin, split.count = best, sums[2, best] + n
            follows_most = n_missing == 0 and 2 * split.count >= leaf.count
            split.missing_left = missing_left or follows_most
            split.gradient, split.hessian = sums[0, best] + g, sums[1, best] + h
    return found


@njit(error_model="numpy")
def _weigh_cuts(sums, n_cuts, g, h, n, leaf, rules, extra):
    """Write what both sides of each cut are worth; -inf where rules forbid it.

    ``g``, ``h`` and ``n`` are the sums of the documents without a value, if they go left.
    """
    gradients, hessians, counts, worths = sums[0], sums[1], sums[2], sums[3]
    fewest, lightest = rules.min_child_samples, rules.min_child_weight
    alpha, penalty = rules.reg_alpha, rules.reg_lambda + extra
    for b in range(n_cuts):
        g_left, h_left, n_left = gradients[b] + g, hessians[b] + h, counts[b] + n
        g_right, h_right = leaf.gradient - g_left, leaf.hessian - h_left
        enough = (n_left >= fewest) & (leaf.count - n_left >= fewest)
        heavy = (h_left >= lightest) & (h_right >= lightest)
        left, right = max(abs(g_left) - alpha, 0.0), max(abs(g_right) - alpha, 0.0)
        both = left * left / (h_left + penalty) + right * right / (h_right + penalty)
        worths[b] = both if enough & heavy else -np.inf


@njit(error_model="numpy")
def _weigh_bounded_cuts(sums, n_cuts, g, h, leaf, rules, sign):
    """Do so where values have bounds, and drop cuts that go against the sign."""
    low, high = leaf.lower, leaf.upper
    for b in range(n_cuts):
        if sums[3, b] == -np.inf:
            continue
        g_left, h_left = sums[0, b] + g, sums[1, b] + h
        g_right, h_right = leaf.gradient - g_left, leaf.hessian - h_left
        left = newton_step(g_left, h_left, rules, low, high)
        right = newton_step(g_right, h_right, rules, low, high)
        sums[3, b] = -np.inf
        if sign * (right - left) >= 0:
            sums[3, b] = worth(g_left, h_left, rules, low, high)
            sums[3, b] += worth(g_right, h_right, rules, low, high)


@njit(error_model="numpy")
def make_gain(split, leaf, rules):
    """Turn the worth of the two sides into the gain, -inf if that does not suffice."""
    alone = worth(leaf.gradient, leaf.hessian, rules, leaf.lower, leaf.upper)
    split.gain -= alone
    if not split.gain > rules.min_split_gain + _NOISE * abs(alone):
        split.gain = -np.inf
