r"""Paired results: the values of two rankers on the same splits or the same queries.

Every test of two rankers takes two such columns, refuses what cannot be tested, and returns a
:class:`PairedResult`. Entries that are NaN in both columns (queries that have nothing to find)
are left out. NaN in one column alone means that the results are not paired.

Wilcoxon's signed-rank test: whether one ranker is better more often and by more.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.checks import as_numbers


@dataclass(frozen=True)
class PairedResult:
    """The result of a test of two rankers.

    Parameters
    ----------
    test : str
        Name of the test.
    n : int
        Number of pairs of values.
    difference : float
        Mean of the first minus mean of the second.
    statistic : float
        The statistic of the test: t, the mean difference, or the smaller sum of ranks.
    p_value : float
        The two-sided p-value.

    Examples
    --------
    >>> print(PairedResult("sign test", n=20, difference=0.01, statistic=15.0, p_value=0.041))
    sign test: difference +0.0100 over 20 pairs, statistic 15, p = 0.041
    """

    test: str
    n: int
    difference: float
    statistic: float
    p_value: float

    def __str__(self) -> str:
        """Return the result in one line."""
        return (
            f"{self.test}: difference {self.difference:+.4f} over {self.n} pairs, "
            f"statistic {self.statistic:.4g}, p = {format_p(self.p_value)}"
        )


#: A test of two columns of values, with settings of its own.
PairedTest = Callable[..., PairedResult]


def format_p(p_value: float) -> str:
    """Return a p-value with three decimals, or ``"< 0.001"``."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def check_values(name: str, values: ArrayLike, n_dimensions: int = 1) -> np.ndarray:
    """Return values as float64; NaN is allowed, infinite values are refused."""
    values = as_numbers(name, values)
    if values.ndim != n_dimensions:
        raise ValueError(f"{name} must have {n_dimensions} dimension(s); got {values.ndim}.")
    if np.isinf(values).any():
        raise ValueError(f"{name} must not be infinite; got {values[np.isinf(values)][0]}.")
    return values


def measured(name: str, values: ArrayLike) -> np.ndarray:
    """Return one-dimensional values without NaN."""
    column = check_values(name, values)
    return column[~np.isnan(column)]


def paired_differences(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Return ``a - b`` without the entries that are NaN in both; refuse what cannot be tested.

    Examples
    --------
    >>> paired_differences([0.5, 0.75, float("nan")], [0.25, 0.25, float("nan")])
    array([0.25, 0.5 ])
    """
    a, b = check_values("a", a), check_values("b", b)
    if len(a) != len(b):
        raise ValueError(f"a and b must be paired; got {len(a)} and {len(b)} values.")
    alone = np.isnan(a) != np.isnan(b)
    if alone.any():
        raise ValueError(
            f"a and b must be paired; got NaN in one of them alone, first at {np.argmax(alone)}."
        )
    differences = (a - b)[~np.isnan(a)]
    if len(differences) < 2:
        raise ValueError(f"a and b must have at least two pairs; got {len(differences)}.")
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():
        raise ValueError(
            "a and b must differ by more in some pairs than in others; got a constant difference "
            f"of {differences[0]:.4g} in all {len(differences)}."
        )
    return differences


def wilcoxon_test(a: ArrayLike, b: ArrayLike) -> PairedResult:
    """Test whether two rankers differ, by the ranks of their differences.

    The ranks of differences of 0 are split evenly between the two sides, as in Demsar (2006).

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Values of the two rankers on the same queries or data sets; not on splits of one data
        set, which are not independent.

    Returns
    -------
    PairedResult
        Its statistic is the smaller of the two sums of ranks.

    References
    ----------
    Wilcoxon (1945), Individual comparisons by ranking methods. Demsar (2006), Statistical
    comparisons of classifiers over multiple data sets.

    Examples
    --------
    >>> wilcoxon_test([5, 6, 7, 8, 9, 4], [4, 4, 4, 4, 4, 5]).statistic
    1.5
    """
    # Rounded so that 0.3 - 0.2 and 0.2 - 0.1 are tied.
    differences = np.round(paired_differences(a, b), 12)
    result = stats.wilcoxon(differences, zero_method="zsplit")
    name, mean = "Wilcoxon's signed-rank test", float(differences.mean())
    return PairedResult(name, len(differences), mean, float(result.statistic), float(result.pvalue))
