"""Splits: the search for the best cut of a feature in a leaf.

A cut sends the bins up to one of them left and the other bins right. Missing values go to the
side where the gain is larger. The gain of a cut is twice what separate Newton steps of both sides
lower the objective by, compared with one step of the whole leaf.
"""

from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import register_jitable

#: The best split so far: its gain, the place of its feature, the last bin that goes left, whether
#: missing values go left, and the sums over the documents that go left.
_INTEGERS, _NUMBERS = ("place", "bin", "missing_left"), ("gain", "gradient", "hessian", "count")
_FIELDS = [(name, np.int64) for name in _INTEGERS] + [(name, np.float64) for name in _NUMBERS]
SPLIT = np.dtype((np.record, _FIELDS))
#: Gains smaller than this share of the gain of the whole leaf are rounding errors.
_NOISE = 1e-11
#: A gain that is not above this share of another one is not above that one, whatever is rounded.
_CLOSE, _TINY = 1 - 1e-13, 1e-290


class Rules(NamedTuple):
    """Rules for splits; the names are those of :class:`HistogramTrees`."""

    is_monotone: bool
    min_child_samples: int
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    min_split_gain: float
    cat_smooth: float
    cat_l2: float


@register_jitable(error_model="numpy")
def newton_step(gradient: float, hessian: float, rules: Rules, lower: float, upper: float) -> float:
    """Return the best value of a leaf, within bounds."""
    shrunk = max(abs(gradient) - rules.reg_alpha, 0.0)
    step = -np.copysign(shrunk, gradient) / (hessian + rules.reg_lambda)
    return min(max(step, lower), upper)


@register_jitable(error_model="numpy")
def leaf_gain(gradient: float, hessian: float, rules: Rules, lower: float, upper: float) -> float:
    """Return twice what the best value of a leaf lowers the objective by."""
    value = newton_step(gradient, hessian, rules, lower, upper)
    slope = 2 * (gradient * value + rules.reg_alpha * abs(value))
    return -slope - (hessian + rules.reg_lambda) * value * value


@register_jitable(error_model="numpy")
def best_cut(
    sums: np.ndarray,
    n_values: int,
    leaf: np.record,
    rules: Rules,
    sign: int,
    extra: float,
    split: np.record,
) -> bool:
    """Write the best cut of ordered bins to ``split`` if it is better; return whether it is.

    Parameters
    ----------
    sums : ndarray of shape (4, n)
        Sums of gradient, hessian and count up to each bin of values; the last row is memory for
        the gains of cuts.
    n_values : int
        Number of bins of values. The documents of the leaf that are in none of them lack the
        value.
    leaf : NODE
        The leaf.
    rules : Rules
        Rules for splits.
    sign : int
        1 if the right side must not have the lower value, -1 if it must not have the higher.
    extra : float
        L2 penalty in addition to that of the rules.
    split : SPLIT
        The best split so far. Its gain is that of both sides; :func:`finish_gain` subtracts that
        of the whole leaf.
    """
    n_missing = leaf.count - sums[2, n_values - 1]
    found = False
    for missing_left in range(2 if n_missing > 0 else 1):
        g, h, n, n_cuts = 0.0, 0.0, 0.0, n_values - 1
        if missing_left:
            g = leaf.gradient - sums[0, n_values - 1]
            h, n = leaf.hessian - sums[1, n_values - 1], n_missing
        elif n_missing > 0:
            n_cuts = n_values  # the last cut sends all values left and missing values right
        least = -1.0 if rules.is_monotone else max(split.gain, -1.0)  # gains are not negative
        if not _may_gain(sums, n_cuts, g, h, n, leaf, rules, extra, least):
            continue
        _score_cuts(sums, n_cuts, g, h, n, leaf, rules, extra)
        if rules.is_monotone:
            _score_bounded_cuts(sums, n_cuts, g, h, leaf, rules, sign)
        best = -1
        for b in range(n_cuts):
            if sums[3, b] > split.gain:
                best, split.gain = b, sums[3, b]
        if best >= 0:
            found = True
            count = sums[2, best] + n
            follows_most = n_missing == 0 and 2 * count >= leaf.count
            split.bin, split.count = best, count
            split.missing_left = missing_left or follows_most
            split.gradient, split.hessian = sums[0, best] + g, sums[1, best] + h
    return found


@register_jitable(error_model="numpy")
def _may_gain(sums, n_cuts, g, h, n, leaf, rules, extra, least):
    """Return whether the gain of a cut that the rules allow may be above ``least``.

    Both are multiplied by the denominators, because divisions take most of the time of
    :func:`_score_cuts`. Rounding errors are smaller than what ``_CLOSE`` and ``_TINY`` leave.
    """
    gradients = sums[0]
    hessians = sums[1]
    counts = sums[2]
    fewest, lightest = rules.min_child_samples, rules.min_child_weight
    alpha, penalty = rules.reg_alpha, rules.reg_lambda + extra
    least *= _CLOSE
    n_found = np.int64(0)
    for b in range(n_cuts):
        g_left, h_left, n_left = gradients[b] + g, hessians[b] + h, counts[b] + n
        g_right, h_right = leaf.gradient - g_left, leaf.hessian - h_left
        enough = (n_left >= fewest) & (leaf.count - n_left >= fewest)
        heavy = (h_left >= lightest) & (h_right >= lightest)
        left, right = max(abs(g_left) - alpha, 0.0), max(abs(g_right) - alpha, 0.0)
        h_left += penalty
        h_right += penalty
        gain = left * left * h_right + right * right * h_left + _TINY
        n_found += enough & heavy & (gain > least * (h_left * h_right))
    return n_found > 0


@register_jitable(error_model="numpy")
def _score_cuts(sums, n_cuts, g, h, n, leaf, rules, extra):
    """Write the gain of both sides of each cut; -inf where the rules forbid it.

    ``g``, ``h`` and ``n`` are the sums over the documents without a value if these go left, else
    0.
    """
    gradients = sums[0]
    hessians = sums[1]
    counts = sums[2]
    gains = sums[3]
    fewest, lightest = rules.min_child_samples, rules.min_child_weight
    alpha, penalty = rules.reg_alpha, rules.reg_lambda + extra
    for b in range(n_cuts):
        g_left, h_left, n_left = gradients[b] + g, hessians[b] + h, counts[b] + n
        g_right, h_right = leaf.gradient - g_left, leaf.hessian - h_left
        enough = (n_left >= fewest) & (leaf.count - n_left >= fewest)
        heavy = (h_left >= lightest) & (h_right >= lightest)
        left, right = max(abs(g_left) - alpha, 0.0), max(abs(g_right) - alpha, 0.0)
        both = left * left / (h_left + penalty) + right * right / (h_right + penalty)
        gains[b] = both if enough & heavy else -np.inf


@register_jitable(error_model="numpy")
def _score_bounded_cuts(sums, n_cuts, g, h, leaf, rules, sign):
    """Write the gain of both sides of each cut where leaf values have bounds.

    A cut whose values violate the monotone constraint ``sign`` gets -inf.
    """
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
            sums[3, b] = leaf_gain(g_left, h_left, rules, low, high)
            sums[3, b] += leaf_gain(g_right, h_right, rules, low, high)


@register_jitable(error_model="numpy")
def finish_gain(split: np.record, leaf: np.record, rules: Rules) -> None:
    """Subtract the gain of the whole leaf; a split that gains too little gets -inf."""
    whole = leaf_gain(leaf.gradient, leaf.hessian, rules, leaf.lower, leaf.upper)
    split.gain -= whole
    if not split.gain > rules.min_split_gain + _NOISE * abs(whole):
        split.gain = -np.inf
