"""Split rules: the rule by which a program sends a value left at a split.

A rule is described by two functions of thresholds. ``reaches(t)`` returns the largest double that
goes left at the threshold ``t``, so that the rule as a whole is ``x <= reaches(t)``, which is the
rule of a :class:`~treerank.forests.forest.Forest`. ``guess(d)`` returns thresholds near the one
whose ``reaches`` is ``d``. To add a rule, write these two.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treerank.forests.thresholds import (
    LIGHTGBM_ZERO,
    below_in_single,
    up_to_in_single,
    with_lightgbm_zero,
)

_ULPS = (0, -1, 1, -2, 2, -3, 3)


@dataclass(frozen=True)
class SplitRule:
    """A rule by which a program sends values left at a split.

    Attributes
    ----------
    reaches : callable
        ``reaches(thresholds)`` returns the largest double that goes left at each threshold.
    guess : callable
        ``guess(values)`` returns a threshold for each double, at which it is about the largest that
        goes left.
    dtype : {"float64", "float32"}
        Precision of the thresholds.
    """

    reaches: Callable[[np.ndarray], np.ndarray]
    guess: Callable[[np.ndarray], np.ndarray]
    dtype: str = "float64"

    def thresholds(
        self, wanted: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None
    ) -> np.ndarray:
        """Return thresholds at which the same values go left as at ``wanted``.

        Parameters
        ----------
        wanted : ndarray of float64
            Largest value that goes left at each split.
        low, high : ndarray of float64, default=None
            Largest value of the documents up to ``wanted``, and smallest one above it. A threshold
            between these two is taken if there is none at which exactly the values up to ``wanted``
            go left.

        Returns
        -------
        ndarray
            Thresholds in the precision of the rule. If none separates ``low`` from ``high``, the
            first guess.
        """
        limit = np.finfo(self.dtype).max  # files have no infinite numbers, nor have documents
        first = np.clip(self.guess(wanted).astype(self.dtype), -limit, limit)
        best, quality = first.copy(), np.full(len(wanted), -1)
        for steps in _ULPS:
            tried = _moved(first, steps)
            reached = self.reaches(tried)
            score = np.where(reached == wanted, 2, 0)
            if low is not None and high is not None:
                parts = (low <= reached) & (reached < high)
                score = np.where(parts, score + 1, 0)
            better = (score > quality) & np.isfinite(tried)
            best, quality = np.where(better, tried, best), np.where(better, score, quality)
        return best


def _moved(thresholds: np.ndarray, steps: int) -> np.ndarray:
    """Return the floating-point numbers ``steps`` above the thresholds, or below if negative."""
    towards = thresholds.dtype.type(np.copysign(np.inf, steps))
    with np.errstate(over="ignore"):
        for _ in range(abs(steps)):
            thresholds = np.nextafter(thresholds, towards)
    return thresholds


def _single(wanted: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return wanted.astype(np.float32)


def _down_to_single(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest number of single precision up to each threshold."""
    nearest = _single(thresholds)
    below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > thresholds, below, nearest)


def _below_in_single(thresholds: np.ndarray) -> np.ndarray:
    largest, never = below_in_single(thresholds.astype(np.float32))
    return np.where(never, -np.inf, largest)


def _up_to_slack(thresholds: np.ndarray) -> np.ndarray:
    return up_to_in_single(thresholds.astype(np.float32) + np.float32(1e-6))


#: ``x <= t`` in double precision.
AT_MOST = SplitRule(lambda t: t, lambda d: d)
#: ``x <= t`` in double precision, where numbers up to 1e-35 are zero.
AT_MOST_LIGHTGBM = SplitRule(
    with_lightgbm_zero, lambda d: np.where(np.abs(d) <= LIGHTGBM_ZERO, 0.0, d)
)
#: ``x < t`` for a value of double and a threshold of single precision.
BELOW_SINGLE_THRESHOLD = SplitRule(
    lambda t: np.nextafter(t.astype(np.float64), -np.inf), _single, "float32"
)
#: ``x <= t`` for a value of single and a threshold of double precision.
AT_MOST_OF_SINGLE = SplitRule(lambda t: up_to_in_single(_down_to_single(t)), _single)
#: ``x <= t`` in single precision.
AT_MOST_SINGLE = SplitRule(up_to_in_single, _single, "float32")
#: ``x < t`` in single precision.
BELOW_SINGLE = SplitRule(_below_in_single, lambda d: _moved(_single(d), 1), "float32")
#: ``x <= t + 1e-6`` in single precision.
AT_MOST_WITH_SLACK = SplitRule(_up_to_slack, lambda d: _single(d) - np.float32(1e-6), "float32")
