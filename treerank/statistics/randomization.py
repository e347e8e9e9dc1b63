"""Randomization and bootstrap: tests and intervals that assume no distribution of the values.

Fisher's randomization flips the sign of each query's difference at random, which under the null
hypothesis changes nothing. Turned around, the test gives an interval: the differences that it would
not reject. The bootstrap draws the queries again, with replacement. Where queries are not
independent, such as those of one user, both take whole clusters of them. A seed fixes every draw
and no state is shared, so results do not depend on threads or processes.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.documents.queries import ByRow
from treerank.parameters import Count, Level, Whole, check_arguments
from treerank.statistics.clusters import ClusterSums, check_clusters
from treerank.statistics.paired import PairedResult, are_equal, check_values, paired_differences
from treerank.statistics.resampled import Interval

#: Numbers drawn at a time, a bound on memory.
_BATCH = 4_000_000


@check_arguments
def randomization_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: ByRow = None,
    n_resamples: Count = 9999,
    random_state: Whole = 0,
) -> PairedResult:
    """Test whether two rankers differ, by their values on the same queries.

    The test is exact, over all sign patterns, if there are at most ``n_resamples`` of them.
    :func:`randomization_interval` is its interval.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of the two rankers; NaN in both if the metric is undefined for a query.
    clusters : array-like of shape (n_queries,), default=None
        Cluster of each query, such as its user, if queries of a cluster are correlated: the
        signs of its differences are then flipped together. None means that queries are independent.
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

    If three queries are of one user, there are 3 clusters and 8 sign patterns:

    >>> users = ["ann", "ann", "ann", "bob", "eve"]
    >>> print(randomization_test([2, 3, 4, 5, 6], [1, 1, 1, 1, 1], clusters=users))
    paired randomization test by cluster: difference +3.0000 over 5 pairs of 3 clusters, \
statistic 3, p = 0.250
    """
    differences, units = _differences(a, b, clusters)
    means, n_empty = _means_of_flipped(differences, units, n_resamples, random_state)
    # Flipping some queries leaves the mean at least as large where their mean is not above 0.
    fewest = min(np.count_nonzero(means <= 0), np.count_nonzero(means >= 0)) + n_empty + 1
    p_value = min(1.0, 2 * fewest / (len(means) + n_empty + 1))
    mean = float(differences.mean())
    result = PairedResult("paired randomization test", len(differences), mean, mean, float(p_value))
    if clusters is None:
        return result
    return replace(result, test=f"{result.test} by cluster", n_clusters=len(units.sums))


@check_arguments
def randomization_interval(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: ByRow = None,
    level: Level = 0.95,
    n_resamples: Count = 9999,
    random_state: Whole = 0,
) -> Interval:
    r"""Return the interval of a mean difference that matches :func:`randomization_test`.

    It holds the differences that the test would not reject, so it excludes 0 exactly where the
    p-value of the test is at most ``1 - level``. Its bounds are quantiles of the means of random
    subsets of the queries (Hartigan, 1969). With few queries, there may be no bounds: with five,
    the p-value of the test is never below 1/16, so the 95 % interval is infinite.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of the two rankers; NaN in both if the metric is undefined for a query.
    clusters : array-like of shape (n_queries,), default=None
        As in :func:`randomization_test`: subsets are then of whole clusters.
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
    differences, units = _differences(a, b, clusters)
    means, n_empty = _means_of_flipped(differences, units, n_resamples, random_state)
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


def _differences(a: ArrayLike, b: ArrayLike, clusters: ByRow) -> tuple[np.ndarray, ClusterSums]:
    """Return the differences of queries that are not NaN, and their sums by cluster."""
    differences = paired_differences(a, b)
    of_differences = check_clusters(clusters, check_values("a", a))
    return differences, ClusterSums.of(differences, of_differences)


def _means_of_flipped(
    differences: np.ndarray, units: ClusterSums, n_resamples: int, random_state: int
) -> tuple[np.ndarray, int]:
    """Return ``(means, n_empty)``: the mean of the differences that each sign pattern flips.

    A pattern has a sign for each of the ``units``, the sums of the differences by cluster.
    ``n_empty`` counts the patterns that flip nothing, which have no mean. All patterns but the one
    that flips nothing are taken if there are at most ``n_resamples``, else as many random ones.
    """
    n = len(units.sums)
    size = max(_BATCH // n, 1)
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
        counts = (patterns * units.sizes).sum(axis=1)
        sums = (patterns * units.sums).sum(axis=1)
        n_empty += int(np.count_nonzero(counts == 0))
        means.append(sums[counts > 0] / counts[counts > 0])
    all_means = np.concatenate(means)
    # What rounding has left of a sum of 0 would count on one side only.
    all_means[np.abs(all_means) <= 1e-14 * np.abs(differences).max()] = 0.0
    return all_means, n_empty


@check_arguments
def bootstrap_interval(
    values: ArrayLike,
    *,
    clusters: ByRow = None,
    level: Level = 0.95,
    n_resamples: Count = 9999,
    random_state: Whole = 0,
) -> Interval:
    """Return a bootstrap interval for the mean of values, or of differences, over queries.

    It is bias-corrected and accelerated. On few or very skewed values, it is a little too short.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value per query; NaN is left out.
    clusters : array-like of shape (n_queries,), default=None
        Cluster of each query, such as its user, if queries of a cluster are correlated: bootstrap
        samples are then of whole clusters. None means that queries are independent.
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
    checked = check_values("values", values)
    of_measured, measured = check_clusters(clusters, checked), checked[~np.isnan(checked)]
    n = len(measured)
    if n < 2 or are_equal(measured):
        got = f"{n} equal values" if n > 1 else n
        raise ValueError(f"values must be at least two that are not all equal; got {got}.")
    units = ClusterSums.of(measured, of_measured)
    if clusters is not None and units.have_equal_means:
        raise ValueError(
            "values must differ between clusters; got equal means of all "
            f"{len(units.sums)} clusters."
        )
    data = (measured,) if clusters is None else (units.sums, units.sizes)
    bootstrap = stats.bootstrap(
        data,
        np.mean if clusters is None else _mean_of_sums,
        paired=clusters is not None,
        confidence_level=level,
        n_resamples=n_resamples,
        batch=max(_BATCH // len(units.sums), 1),
        vectorized=True,
        random_state=np.random.default_rng(random_state),
    ).confidence_interval
    return Interval(
        float(measured.mean()), float(bootstrap.low), float(bootstrap.high), float(level)
    )


def _mean_of_sums(sums: np.ndarray, sizes: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the mean of values, of which there are sums and numbers by cluster."""
    return np.asarray(sums.sum(axis=axis) / sizes.sum(axis=axis))


def mean_interval(
    values: np.ndarray, *, clusters: ByRow = None, level: float = 0.95, **options: Any
) -> Interval:
    """Return the bootstrap interval of a mean, of zero width if nothing varies.

    That is where all values, or the means of all ``clusters``, are equal. ``values`` have no NaN. A
    single value does not tell how values vary, so its bounds are NaN; without any, the mean is NaN,
    too. ``options`` go to :func:`bootstrap_interval`.
    """
    mean = float(values.mean()) if len(values) else math.nan
    if len(values) < 2:
        return Interval(mean, math.nan, math.nan, level)
    if ClusterSums.of(values, check_clusters(clusters, values)).have_equal_means:
        return Interval(mean, mean, mean, level)
    return bootstrap_interval(values, clusters=clusters, level=level, **options)
