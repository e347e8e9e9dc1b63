"""Errors of estimates from a log, by the parts of its sessions that are left out (jackknife).

Whatever an estimate needs is estimated anew without each part. A bootstrap draws no session that
shows a rare document anew, so it takes estimates of few impressions for too certain; leaving
sessions out does not. Amounts such as clicks are skewed, so their intervals are even in logarithms.
"""

from collections.abc import Callable

import numpy as np
from scipy import stats

from treerank.statistics.resampled import Interval


def left_out_errors(
    estimate: Callable[[np.ndarray], np.ndarray],
    n_sessions: int,
    n_parts: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Return standard errors.

    Parameters
    ----------
    estimate : callable
        Returns estimates where each session counts so many times, 0 or 1.
    n_sessions, n_parts : int
        Numbers of sessions, and of parts that they are dealt to at random.
    rng : RandomState
        Random numbers.

    Returns
    -------
    ndarray of shape (n_estimates,)

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> rng = np.random.RandomState(0)
    >>> left_out_errors(lambda copies: x[copies > 0].mean(keepdims=True), 3, 3, rng).round(2)
    array([1.53])
    """
    part = rng.permutation(n_sessions) % n_parts
    found = [estimate((part != p).astype(np.int64)) for p in range(n_parts)]
    return np.asarray(np.sqrt((n_parts - 1) * np.var(found, axis=0)))


def interval_of(
    value: float, error: float, n_parts: int, level: float, *, is_amount: bool
) -> Interval:
    """Return the interval of an estimate; that of an amount, never negative, is skewed.

    Examples
    --------
    >>> print(interval_of(1.0, 0.2, 100, 0.95, is_amount=False))
    1.0000 (95 %: 0.6032 to 1.3968)
    >>> print(interval_of(1.0, 0.2, 100, 0.95, is_amount=True))
    1.0000 (95 %: 0.6724 to 1.4871)
    """
    reach = float(stats.t.ppf((1 + level) / 2, n_parts - 1)) * error
    if is_amount and value > 0:
        ratio = reach / value
        low, high = np.exp(-ratio), np.exp(min(ratio, 1)) * max(ratio, 1)  # soon a straight line
        return Interval(value, value * float(low), value * float(high), level)
    return Interval(value, value - reach, value + reach, level)
