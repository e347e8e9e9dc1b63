r"""Paired results: the values of two rankers on the same splits or the same queries.

Every test of two rankers takes two such columns, refuses what cannot be tested, and returns a
:class:`PairedResult`. Entries that are NaN in both columns, of queries for which the metric is
undefined, are ignored. NaN in one column alone means that the results are not paired.

Adjustment: p-values of several tests are raised to control the family-wise error rate.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, refuse_where
from treerank.display.results import Shown
from treerank.parameters import check_arguments

#: Largest value: the sum of its squares is no overflow.
_MOST = 1e150
#: Values that differ by a smaller share of the numbers that they were computed from are equal but
#: for rounding: 45 units in the last place.
ROUNDING = 1e-14
#: P-value up to which a difference is called significant.
SIGNIFICANT = 0.05


@dataclass(frozen=True, repr=False)
class PairedResult(Shown):
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
        The statistic of the test: t, or the mean difference.
    p_value : float
        The two-sided p-value.
    n_clusters : int, default=None
        Number of clusters of the pairs, if they are not independent.

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
    n_clusters: int | None = None

    def __str__(self) -> str:
        """Return the result in one line."""
        clusters = "" if self.n_clusters is None else f" of {self.n_clusters} clusters"
        return (
            f"{self.test}: difference {self.difference:+.4f} over {self.n} pairs{clusters}, "
            f"statistic {self.statistic:.4g}, p = {format_p(self.p_value)}"
        )

    _shown = __str__


def format_p(p_value: float) -> str:
    """Return a p-value as text with three decimals, or ``"< 0.001"``."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def check_values(name: str, values: ArrayLike) -> np.ndarray:
    """Return one-dimensional values as float64.

    NaN is allowed, other shapes and huge values are not. ``name`` is the argument's name in
    messages.
    """
    values = as_numbers(name, values)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {values.shape}.")
    refuse_where(np.abs(values) > _MOST, values, f"{name} must be at most {_MOST:g} in size")
    return values


def measured(name: str, values: ArrayLike) -> np.ndarray:
    """Return one-dimensional values as float64 without NaN; ``name`` is for messages."""
    column = check_values(name, values)
    return column[~np.isnan(column)]


def are_equal(values: np.ndarray, *, size: float = 0.0) -> bool:
    """Return whether all values are equal, but for rounding; no value may be NaN.

    ``size`` is that of the largest number that they were computed from, as of sums or minuends,
    whose rounding they have.

    Examples
    --------
    >>> are_equal(np.array([0.1, (0.1 + 0.1 + 0.1) / 3])), are_equal(np.array([0.1, 0.1001]))
    (True, False)
    """
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max(initial=size))


def paired_differences(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Return ``a - b`` without the entries that are NaN in both.

    Refuses arrays of different lengths, entries that are NaN in only one of the two, and fewer than
    two pairs.

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
    return differences


@check_arguments
def adjust_holm(p_values: ArrayLike) -> np.ndarray:
    """Adjust p-values by Holm's method, which controls the family-wise error rate.

    The smallest is multiplied by the number of tests m, the next by m - 1, and so on; adjusted
    p-values do not decrease.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_tests,)

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> adjust_holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p_values = check_values("p_values", p_values)
    wrong = ~((p_values >= 0) & (p_values <= 1))
    refuse_where(wrong, p_values, "p_values must be between 0 and 1")
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(np.minimum(p_values[order] * factors, 1.0))
    return adjusted
