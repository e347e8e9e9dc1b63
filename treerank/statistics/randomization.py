"""Randomization and bootstrap: tests and intervals that assume no distribution of the values.

Fisher's randomization flips the sign of each query's difference at random, which under the null
hypothesis changes nothing. Turned around, the test gives an interval: the differences that it would
not reject. The bootstrap draws the queries again, with replacement. A seed fixes every draw and no
state is shared, so results do not depend on threads or processes.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.parameters import Count, Level, Whole, check_arguments
from treerank.statistics.paired import PairedResult, measured, paired_differences
from treerank.statistics.resampled import Interval

#: Numbers drawn at a time, a bound on memory.
_BATCH = 4_000_000


@check_arguments
def randomization_test(
    a: ArrayLike, b: ArrayLike, *, n_resamples: Count = 9999, random_state: Whole = 0
) -> PairedResult:
    """Test whether two rankers differ, by their values on the same queries.

    The test is exact, over all sign patterns, if there are at most ``n_resamples`` of them.
    :func:`randomization_interval` is its interval.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of the two rankers; NaN in both if a query has nothing to find.
    n_resamples : int, default=9999
        Number of random sign patterns.
    random_state : int, default=0
        Seed.

    Returns
    -------
    PairedResult
        Its statistic is the mean difference.

    References
    ----------
    Smucker, Allan and Carterette (2007), A comparison of statistical significance tests for
    information retrieval evaluation.

    Examples
    --------
    All differences have one sign, so 2 of the 32 sign patterns are as extreme.

    >>> randomization_test([2, 3, 4, 5, 6], [1, 1, 1, 1, 1]).p_value
    0.0625
    """
    differences = paired_differences(a, b)
    means, n_empty = _means_of_flipped(differences, n_resamples, random_state)
    # Flipping some queries leaves the mean at least as large where their mean is not above 0.
    fewest = min(np.count_nonzero(means <= 0), np.count_nonzero(means >= 0)) + n_empty + 1
    p_value = min(1.0, 2 * fewest / (len(means) + n_empty + 1))
    mean = float(differences.mean())
    return PairedResult("paired randomization test", len(differences), mean, mean, float(p_value))


@check_arguments
def randomization_interval(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: Level = 0.95,
    n_resamples: Count = 9999,
    random_state: Whole = 0,
) -> Interval:
    r"""Return the interval of a mean difference that belongs to :func:`randomization_test`.

    It holds the differences that the test would not reject, so it excludes 0 exactly where the
    p-value of the test is at most ``1 - level``. Its bounds are quantiles of the means of random
    subsets of the queries (Hartigan, 1969). Few queries may allow no bounds at all: of five, the
    test never finds a p-value below 1/16, and the interval of 95 % is infinite.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of the two rankers; NaN in both if a query has nothing to find.
    level : float, default=0.95
        Share of such intervals that hold the true difference.
    n_resamples, random_state
        As in :func:`randomization_test`, and the same for the same test.

    References
    ----------
    Hartigan (1969), Using subsample values as typical values.

    Examples
    --------
    >>> a, b = [0.6, 0.5, 0.75, 0.5, 0.9, 0.6, 0.5], [0.5, 0.25, 0.75, 0.4, 0.6, 0.5, 0.4]
    >>> print(randomization_interval(a, b))
    0.1357 (95 %: 0.0500 to 0.2500)
    >>> round(randomization_test(a, b).p_value, 3)
    0.031
    """
    differences = paired_differences(a, b)
    means, n_empty = _means_of_flipped(differences, n_resamples, random_state)
    n_patterns = len(means) + n_empty + 1
    # Number of means that must be beyond a difference that the test rejects, on either side.
    rank = math.floor((1 - level) * n_patterns / 2 + 1e-9) - n_empty
    mean, low, high = float(differences.mean()), -math.inf, math.inf
    if not differences.any():  # there is nothing to be uncertain about
        low, high = 0.0, 0.0
    elif rank >= 1:
        means = np.sort(means)
        low, high = float(means[rank - 1]), float(means[-rank])
    return Interval(mean, low, high, float(level))


def _means_of_flipped(
    differences: np.ndarray, n_resamples: int, random_state: int
) -> tuple[np.ndarray, int]:
    """Return ``(means, n_empty)``: the mean of the differences that each sign pattern flips.

    ``n_empty`` counts the patterns that flip nothing, which have no mean. All patterns but the one
    that flips nothing are taken if there are at most ``n_resamples``, else as many random ones.
    """
    n, size = len(differences), max(_BATCH // len(differences), 1)
    is_exact = n < 63 and 2**n <= n_resamples
    n_patterns = 2**n - 1 if is_exact else n_resamples
    rng, means, n_empty = np.random.default_rng(random_state), [], 0
    for start in range(0, n_patterns, size):
        n_rows = min(size, n_patterns - start)
        if is_exact:
            numbers = np.arange(start + 1, start + n_rows + 1)[:, None]
            patterns = (numbers >> np.arange(n) & 1).astype(np.uint8)
        else:
            octets = rng.integers(256, size=(n_rows, -(-n // 8)), dtype=np.uint8)
            patterns = np.unpackbits(octets, axis=1, count=n)
        counts = patterns.sum(axis=1, dtype=np.int64)
        sums = (patterns * differences).sum(axis=1)
        n_empty += int(np.count_nonzero(counts == 0))
        means.append(sums[counts > 0] / counts[counts > 0])
    all_means = np.concatenate(means)
    # What rounding has left of a sum of 0 would count on one side only.
    all_means[np.abs(all_means) <= 1e-14 * np.abs(differences).max()] = 0.0
    return all_means, n_empty


@check_arguments
def bootstrap_interval(
    values: ArrayLike, *, level: Level = 0.95, n_resamples: Count = 9999, random_state: Whole = 0
) -> Interval:
    """Return a bootstrap interval for the mean of values, or of differences, over queries.

    It is bias-corrected and accelerated. On few or very skewed values it is a little too short.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value per query; NaN is left out.
    level : float, default=0.95
        Share of such intervals that hold the true mean.
    n_resamples : int, default=9999
        Number of bootstrap samples.
    random_state : int, default=0
        Seed.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals.

    Examples
    --------
    >>> print(bootstrap_interval([0.0, 0.5, 0.5, 1.0, 0.75, 0.25, 0.5, 0.6]))
    0.5125 (95 %: 0.3125 to 0.7000)
    """
    values = measured("values", values)
    if len(values) < 2 or np.ptp(values) == 0:
        raise ValueError(f"values must be at least two that are not all equal; got {len(values)}.")
    bootstrap = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=n_resamples,
        batch=_batch(values),
        vectorized=True,
        random_state=np.random.default_rng(random_state),
    ).confidence_interval
    return Interval(float(values.mean()), float(bootstrap.low), float(bootstrap.high), float(level))


def mean_interval(values: np.ndarray, *, level: float = 0.95, **options: Any) -> Interval:
    """Return the bootstrap interval of a mean, of zero width if all values are equal.

    ``values`` have no NaN; without any, the mean is 0. ``options`` go to
    :func:`bootstrap_interval`.
    """
    if len(values) < 2 or np.ptp(values) == 0:
        mean = float(values.mean()) if len(values) else 0.0
        return Interval(mean, mean, mean, level)
    return bootstrap_interval(values, level=level, **options)


def _batch(values):
    """Return how many resamples of the values to draw at a time, to bound memory."""
    return max(_BATCH // len(values), 1)
