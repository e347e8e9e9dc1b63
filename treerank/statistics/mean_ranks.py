r"""Mean ranks: the tests of Friedman and Nemenyi for many rankers on many data sets.

Each data set (or query) ranks the k rankers, 1 for the best. Under the null hypothesis all mean
ranks R over n data sets are equal. Friedman's statistic is chi-squared with k - 1 degrees of
freedom, Iman and Davenport's is F-distributed and less conservative. With ranks r, and their mean
m = (k + 1) / 2,

.. math:: \chi^2 = n^2 (k - 1) \frac{\sum_j (R_j - m)^2}{\sum_{ij} (r_{ij} - m)^2},
          \qquad F = \frac{(n - 1) \chi^2}{n (k - 1) - \chi^2}

Two rankers differ by Nemenyi if their mean ranks differ by more than the critical difference
q sqrt(k (k + 1) / (6 n)), where q is the quantile of the studentized range divided by sqrt(2).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.parameters import Level, check_arguments
from treerank.statistics.paired import check_values, format_p


@dataclass(frozen=True, eq=False)
class FriedmanResult:
    """The result of Friedman's test of whether any of several rankers differ.

    Parameters
    ----------
    n : int
        Number of data sets.
    mean_ranks : ndarray of shape (n_rankers,)
        Mean rank of each ranker; 1 is the best possible.
    chi_squared, p_value : float
        Friedman's statistic and its p-value.
    f_statistic, f_p_value : float
        Iman and Davenport's statistic and its p-value.

    Examples
    --------
    >>> print(friedman_test([[0.9, 0.8, 0.7], [0.8, 0.6, 0.5], [0.7, 0.5, 0.6]]))
    Friedman test over 3: mean ranks 1.000, 2.333, 2.667; chi-squared 4.667, p = 0.097; F 7,
    p = 0.049
    """

    n: int
    mean_ranks: np.ndarray
    chi_squared: float
    p_value: float
    f_statistic: float
    f_p_value: float

    def __str__(self) -> str:
        """Return the result in one line."""
        ranks = ", ".join(f"{rank:.3f}" for rank in self.mean_ranks)
        return (
            f"Friedman test over {self.n}: mean ranks {ranks}; chi-squared "
            f"{self.chi_squared:.4g}, p = {format_p(self.p_value)}; F {self.f_statistic:.4g}, "
            f"p = {format_p(self.f_p_value)}"
        )


@dataclass(frozen=True, eq=False)
class NemenyiResult:
    """The result of Nemenyi's test of which of several rankers differ.

    Parameters
    ----------
    n, mean_ranks
        As in :class:`FriedmanResult`.
    p_values : ndarray of shape (n_rankers, n_rankers)
        The p-value of each pair, adjusted for all pairs together.
    alpha : float
        Level of the critical difference.
    critical_difference : float
        Mean ranks that are further apart than this differ at the level ``alpha``.

    Examples
    --------
    >>> values = [[0.9, 0.8, 0.7], [0.8, 0.6, 0.5], [0.7, 0.5, 0.6], [0.9, 0.8, 0.6]]
    >>> nemenyi_test(values).p_values[0].round(3)
    array([1.   , 0.181, 0.036])
    """

    n: int
    mean_ranks: np.ndarray
    p_values: np.ndarray
    alpha: float
    critical_difference: float

    def __str__(self) -> str:
        """Return the result in one line."""
        ranks = ", ".join(f"{rank:.3f}" for rank in self.mean_ranks)
        return (
            f"Nemenyi test over {self.n}: mean ranks {ranks}; critical difference "
            f"{self.critical_difference:.4g} at {self.alpha:g}"
        )


@check_arguments
def friedman_test(values: ArrayLike) -> FriedmanResult:
    """Test whether any of several rankers differ, with the correction for ties.

    Parameters
    ----------
    values : array-like of shape (n, n_rankers)
        Higher is better. Rows are independent: data sets or queries, not splits of one data set.

    References
    ----------
    Friedman (1937), The use of ranks to avoid the assumption of normality. Iman and Davenport
    (1980), Approximations of the critical region of the Friedman statistic.

    Examples
    --------
    >>> values = [[0.9, 0.8, 0.7], [0.8, 0.6, 0.5], [0.7, 0.5, 0.6], [0.9, 0.8, 0.6]]
    >>> result = friedman_test(values)
    >>> result.mean_ranks, round(result.chi_squared, 6)
    (array([1.  , 2.25, 2.75]), 6.5)
    """
    values = _check_table(values)
    ranks = stats.rankdata(-values, axis=1)
    n, k = ranks.shape
    mean_ranks = ranks.mean(axis=0)
    middle = (k + 1) / 2
    spread = np.sum((mean_ranks - middle) ** 2) / np.sum((ranks - middle) ** 2)
    chi_squared = n**2 * (k - 1) * spread
    divisor = n * (k - 1) - chi_squared
    f_statistic = (n - 1) * chi_squared / divisor if divisor > 1e-9 else np.inf
    f_p_value = stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1))
    p_value = stats.chi2.sf(chi_squared, k - 1)
    numbers = (chi_squared, p_value, f_statistic, f_p_value)
    return FriedmanResult(n, mean_ranks, *(float(number) for number in numbers))


@check_arguments
def nemenyi_test(values: ArrayLike, *, alpha: Level = 0.05) -> NemenyiResult:
    """Test which of several rankers differ.

    Parameters
    ----------
    values : array-like of shape (n, n_rankers)
        As in :func:`friedman_test`.
    alpha : float, default=0.05
        Level of the critical difference.

    References
    ----------
    Nemenyi (1963), Distribution-free multiple comparisons. Demsar (2006), Statistical
    comparisons of classifiers over multiple data sets.

    Examples
    --------
    >>> values = [[0.9, 0.8, 0.7], [0.8, 0.6, 0.5], [0.7, 0.5, 0.6], [0.9, 0.8, 0.6]]
    >>> print(nemenyi_test(values))
    Nemenyi test over 4: mean ranks 1.000, 2.250, 2.750; critical difference 1.657 at 0.05
    """
    values = _check_table(values)
    return compare_mean_ranks(stats.rankdata(-values, axis=1).mean(axis=0), len(values), alpha)


@np.errstate(under="ignore")
def compare_mean_ranks(mean_ranks: np.ndarray, n: int, alpha: float = 0.05) -> NemenyiResult:
    """Return the result of Nemenyi's test for mean ranks over ``n`` rows."""
    k = len(mean_ranks)
    gaps = np.abs(mean_ranks[:, None] - mean_ranks)
    error = np.sqrt(k * (k + 1) / (6 * n))  # standard error of the difference of two mean ranks
    p_values = stats.studentized_range.sf(np.sqrt(2) * gaps / error, k, np.inf)
    quantile = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    critical_difference = float(quantile * error)
    return NemenyiResult(n, mean_ranks, np.clip(p_values, 0, 1), alpha, critical_difference)


def _check_table(values: ArrayLike) -> np.ndarray:
    """Return the rows of values without NaN; refuse what cannot be tested."""
    table = check_values("values", values, n_dimensions=2)
    table = table[~np.isnan(table).all(axis=1)]
    n, k = table.shape
    if n < 2 or k < 2:
        raise ValueError(
            f"values must be of at least two rows and two rankers; got {n} rows and {k} rankers."
        )
    if np.isnan(table).any():
        raise ValueError("values must be paired; got NaN for some rankers but not for all.")
    if (np.ptp(table, axis=1) == 0).all():
        raise ValueError(f"values must differ in some row; got {k} equal rankers in all {n}.")
    return table
