"""Randomization and bootstrap: tests and intervals that assume no distribution of the values.

Fisher's randomization flips the sign of each query's difference at random, which under the null
hypothesis changes nothing. The bootstrap draws the queries again, with replacement. A seed fixes
every draw and no state is shared, so results do not depend on threads or processes.
"""

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
    result = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=_batch(differences),
        random_state=np.random.default_rng(random_state),
    )
    mean = float(differences.mean())
    name = "paired randomization test"
    return PairedResult(name, len(differences), mean, mean, float(result.pvalue))


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
    found = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=n_resamples,
        batch=_batch(values),
        vectorized=True,
        random_state=np.random.default_rng(random_state),
    ).confidence_interval
    return Interval(float(values.mean()), float(found.low), float(found.high), float(level))


def mean_interval(values: np.ndarray, *, level: float = 0.95, **options: Any) -> Interval:
    """Return the bootstrap interval of a mean; of values that are all alike it has no width."""
    if len(values) < 2 or np.ptp(values) == 0:
        mean = float(values.mean()) if len(values) else 0.0
        return Interval(mean, mean, mean, level)
    return bootstrap_interval(values, level=level, **options)


def _batch(values):
    """Return how many resamples to draw at a time."""
    return max(_BATCH // len(values), 1)
