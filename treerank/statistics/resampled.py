r"""The corrected resampled t-test, for splits that share training data.

Over J splits with differences d, as in Nadeau and Bengio (2003),

.. math:: t = \bar d \Big/ \sqrt{\Big(\frac1J + \frac{n_2}{n_1}\Big) S^2}, \qquad
          S^2 = \frac{1}{J - 1} \sum_j (d_j - \bar d)^2

with J - 1 degrees of freedom, n1 queries to train on and n2 to test on. Splits that share training
data are not independent: without the second term the test finds differences where there are none.

Interval: an estimate with its lower and upper bound.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.display.results import Shown
from treerank.parameters import Level, Positive, check_arguments
from treerank.statistics.paired import PairedResult, are_equal, measured, paired_differences


@dataclass(frozen=True, repr=False)
class Interval(Shown):
    """An estimate between two bounds.

    Parameters
    ----------
    estimate, low, high : float
        The mean and its bounds, which are NaN if the values do not tell them, such as a single one.
    level : float
        Share of such intervals that hold the true mean.

    Examples
    --------
    >>> print(Interval(0.5, 0.45, 0.55, level=0.95))
    0.5000 (95 %: 0.4500 to 0.5500)
    """

    estimate: float
    low: float
    high: float
    level: float

    @property
    def ends(self) -> tuple[float, float, float]:
        """``(estimate, low, high)``."""
        return self.estimate, self.low, self.high

    def __str__(self) -> str:
        """Return the estimate, the level and the bounds; the estimate alone if bounds are NaN."""
        if math.isnan(self.low):
            return f"{self.estimate:.4f}"
        return f"{self.estimate:.4f} ({100 * self.level:g} %: {self.low:.4f} to {self.high:.4f})"

    _shown = __str__


#: Share of samples in which the number of queries of :func:`queries_needed` shows a difference.
POWER = 0.8
#: Largest number of needed queries that is printed; more means that almost no difference was seen.
_MOST_NEEDED = 10_000


def queries_needed(interval: Interval, n_queries: float) -> float:
    """Return about how many queries a test needs to detect a difference of the observed size.

    ``interval`` is the confidence interval of the mean difference over ``n_queries`` queries. Its
    width is assumed to shrink with the square root of their number; with the returned number of
    queries, it excludes 0 in 80 % of samples. Infinite if the difference is 0.

    Examples
    --------
    >>> queries_needed(Interval(0.01, -0.02, 0.04, level=0.95), 200)
    3678.0
    """
    gap, low, high = interval.estimate, interval.low, interval.high
    if gap == 0:
        return np.inf
    reach = (gap - low if gap > 0 else high - gap) / abs(gap)
    wider = 1 + stats.norm.ppf(POWER) / stats.norm.ppf((1 + interval.level) / 2)
    with np.errstate(over="ignore"):  # a gap that next to nothing shows
        return float(np.ceil(n_queries * np.square(reach * wider)))


def needed_text(interval: Interval, n_units: float, units: str = "queries") -> str:
    """Return as text how many queries, or other units, a test needs to detect the difference.

    The number is capped where it says that nothing was found. It is "" if the difference is 0. An
    interval of so few units that it has no bounds needs at least as many as give it bounds, see
    :func:`~treerank.statistics.randomization.randomization_interval`.

    Examples
    --------
    >>> needed_text(Interval(0.01, -0.02, 0.04, level=0.95), 200)
    'about 3,678 queries'
    >>> needed_text(Interval(0.001, -0.02, 0.022, level=0.95), 200)
    'more than 10,000 queries'
    >>> needed_text(Interval(0.01, -np.inf, np.inf, level=0.95), 5, "clusters")
    'at least 6 clusters'
    """
    if np.isinf(interval.high - interval.low):
        # Of n differences, the smallest p-value is that of one sign: 2 of 2^n sign patterns.
        fewest = math.ceil(1 - math.log2(1 - interval.level) - 1e-9)
        return f"at least {fewest} {units}" if n_units < fewest else ""
    if interval.estimate == 0:
        return ""
    needed = queries_needed(interval, n_units)
    number = f"more than {_MOST_NEEDED:,}" if needed > _MOST_NEEDED else f"about {needed:,.0f}"
    return f"{number} {units}"


@check_arguments
def corrected_resampled_t_test(
    a: ArrayLike, b: ArrayLike, *, test_to_train: Positive
) -> PairedResult:
    """Test whether two rankers differ, by their means on several splits of one data set.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Mean values of the two rankers on the same splits, in the same order.
    test_to_train : float
        Size of the test sets over size of the training sets: 1/4 for hold-outs of 20 %, and
        1 / (k - 1) for k folds.

    Returns
    -------
    PairedResult
        Its statistic is t. Where the two are equal on all splits, it is 0 and the p-value is 1.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> a, b = [0.52, 0.55, 0.54, 0.51], [0.50, 0.52, 0.50, 0.50]
    >>> print(corrected_resampled_t_test(a, b, test_to_train=1 / 4))
    corrected resampled t-test: difference +0.0250 over 4 pairs, statistic 2.739, p = 0.071
    """
    differences = paired_differences(a, b)
    mean = differences.mean()
    if not differences.any():
        return PairedResult("corrected resampled t-test", len(differences), 0.0, 0.0, 1.0)
    if are_equal(differences, size=np.abs(measured("a", a)).max()):
        raise ValueError(
            "a and b must differ by more in some pairs than in others; got a constant difference "
            f"of {differences[0]:.4g} in all {len(differences)}."
        )
    statistic = mean / corrected_standard_error(differences, test_to_train)
    p_value = 2 * stats.t.sf(abs(statistic), len(differences) - 1)
    name = "corrected resampled t-test"
    return PairedResult(name, len(differences), float(mean), float(statistic), float(p_value))


@check_arguments
def corrected_interval(
    values: ArrayLike, *, test_to_train: Positive, level: Level = 0.95
) -> Interval:
    """Return an interval for the mean of values, or of differences, over splits.

    It excludes 0 exactly where :func:`corrected_resampled_t_test` finds a difference. Values that
    are equal but not 0, which the test refuses, have no bounds: these are NaN.

    Parameters
    ----------
    values : array-like of shape (n_splits,)
        One value per split, or one difference of two rankers; NaN is left out.
    test_to_train : float
        Size of the test sets over size of the training sets.
    level : float, default=0.95
        Share of such intervals that hold the true mean.

    Examples
    --------
    >>> print(corrected_interval([0.02, 0.03, 0.04, 0.01], test_to_train=1 / 4))
    0.0250 (95 %: -0.0041 to 0.0541)
    """
    values = measured("values", values)
    if len(values) < 2:
        raise ValueError(f"values must be at least two that are not NaN; got {len(values)}.")
    return interval_over_splits(values, test_to_train, level)


def interval_over_splits(
    values: np.ndarray, test_to_train: float, level: float, *, size: float = 0.0
) -> Interval:
    """Return :func:`corrected_interval` of at least two values without NaN.

    ``size`` is that of the largest number of which they are differences, as in :func:`are_equal`.

    Examples
    --------
    >>> print(interval_over_splits(np.array([0.02, 0.02, 0.02]), 1 / 4, 0.95))
    0.0200
    """
    mean = float(values.mean())
    if values.any() and are_equal(values, size=size):
        return Interval(mean, math.nan, math.nan, float(level))
    quantile = stats.t.ppf((1 + level) / 2, len(values) - 1)
    reach = float(quantile * corrected_standard_error(values, test_to_train))
    return Interval(mean, mean - reach, mean + reach, float(level))


def corrected_standard_error(values: np.ndarray, test_to_train: float) -> float:
    """Return the standard error of a mean over splits whose training sets overlap.

    The variance of the n values is multiplied by 1 / n + ``test_to_train`` (Nadeau and Bengio,
    2003).

    Examples
    --------
    >>> corrected_standard_error(np.array([1.0, 2.0, 3.0, 4.0]), 0.25).round(4)
    np.float64(0.9129)
    """
    # A power of two changes no bit; with it, no square of a tiny value is 0.
    exponent = np.frexp(np.abs(values).max())[1]
    variance = np.var(np.ldexp(values, -exponent), ddof=1)
    return np.ldexp(np.sqrt(variance * (1 / len(values) + test_to_train)), exponent)
