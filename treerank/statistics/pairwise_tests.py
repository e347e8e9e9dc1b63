"""Pairwise tests: every ranker against every other, for tables and figures.

To add a test by name, list it in ``PAIRED_TESTS``: it takes two columns and its own settings.

Adjustment: p-values of several tests, raised so that many tests do not find too much.

To add an adjustment, write a function from p-values to p-values, as :func:`adjust_holm` is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_choice, check_instance, check_sequence, shown
from treerank.parameters import check_arguments
from treerank.statistics.paired import (
    PairedResult,
    PairedTest,
    check_values,
    format_p,
    wilcoxon_test,
)
from treerank.statistics.randomization import randomization_test
from treerank.statistics.resampled import corrected_resampled_t_test


def adjust_holm(p_values: ArrayLike) -> np.ndarray:
    """Return p-values adjusted by Holm; each may be compared with the level for all tests together.

    The smallest is multiplied by the number of tests m, the next by m - 1, and so on. None
    becomes smaller than one before it.

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
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"p_values must be between 0 and 1; got {p_values.tolist()}.")
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(np.minimum(p_values[order] * factors, 1.0))
    return adjusted


PAIRED_TESTS: dict[str, PairedTest] = {
    "corrected_t": corrected_resampled_t_test,
    "randomization": randomization_test,
    "wilcoxon": wilcoxon_test,
}


@dataclass(frozen=True, eq=False)
class PairwiseResult:
    """The results of the tests of every ranker against every other.

    Parameters
    ----------
    test : str
        Name of the test.
    names : tuple of str
        The rankers.
    differences : ndarray of shape (n_rankers, n_rankers)
        Mean of the row's ranker minus mean of the column's.
    p_values : ndarray of shape (n_rankers, n_rankers)
        Two-sided p-values; NaN on the diagonal.
    adjusted : bool
        Whether the p-values are adjusted for all pairs together, by Holm.

    Examples
    --------
    >>> values = [[5, 1, 1], [6, 1, 2], [7, 1, 3], [8, 1, 1], [9, 1, 2]]
    >>> print(pairwise_tests(values, ["tree", "forest", "stump"], adjust=False))
    p-values of the paired randomization test
               tree   forest    stump
    tree              0.062    0.062
    forest    0.062             0.250
    stump     0.062    0.250
    """

    test: str
    names: tuple[str, ...]
    differences: np.ndarray
    p_values: np.ndarray
    adjusted: bool

    def __str__(self) -> str:
        """Return the matrix of p-values as text."""
        first = max(map(len, self.names))
        lines = [" " * first + "".join(f"  {name:>7}" for name in self.names)]
        for name, row in zip(self.names, self.p_values, strict=True):
            cells = ("" if np.isnan(p) else format_p(p) for p in row)
            about = zip(cells, self.names, strict=True)
            lines.append(
                f"{name:<{first}}" + "".join(f"  {p:>{max(len(of), 7)}}" for p, of in about)
            )
        adjusted = ", adjusted by Holm" if self.adjusted else ""
        return "\n".join([f"p-values of the {self.test}{adjusted}", *lines])


@check_arguments
def pairwise_tests(
    values: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    test: str | PairedTest = "randomization",
    adjust: bool = True,
    **settings: Any,
) -> PairwiseResult:
    """Test every ranker against every other.

    Parameters
    ----------
    values : array-like of shape (n, n_rankers)
        One row per query or split, one column per ranker.
    names : sequence of str, default=None
        Names of the rankers; None numbers them.
    test : str or callable, default="randomization"
        A name in ``PAIRED_TESTS``, or a function of two columns that returns a PairedResult.
    adjust : bool, default=True
        Whether to adjust the p-values for the number of pairs, by Holm.
    **settings
        Settings of the test. All pairs get the same seed, so an unadjusted p-value does not
        depend on the other rankers.

    Examples
    --------
    >>> values = [[5, 1, 1], [6, 1, 2], [7, 1, 3], [8, 1, 1], [9, 1, 2]]
    >>> result = pairwise_tests(values, ["tree", "forest", "stump"], adjust=False)
    >>> result.p_values.round(3)
    array([[  nan, 0.062, 0.062],
           [0.062,   nan, 0.25 ],
           [0.062, 0.25 ,   nan]])
    """
    values = check_values("values", values, n_dimensions=2)
    k = values.shape[1]
    if len(values) < 2:
        raise ValueError(f"values must have at least two rows; got {len(values)}.")
    if names is None:
        names = [str(i) for i in range(k)]
    check_sequence("names", names)
    if len(names) != k or k < 2:
        raise ValueError(
            f"names must name at least two rankers, one per column of values; got {shown(names)}."
        )
    paired_test = find_test(test)
    above = np.triu_indices(k, 1)
    results = [
        _test_pair(paired_test, values, names, i, j, settings) for i, j in zip(*above, strict=True)
    ]
    p_values = np.array([result.p_value for result in results])
    p_values = adjust_holm(p_values) if adjust else p_values
    differences, matrix = np.zeros((k, k)), np.full((k, k), np.nan)
    differences[above] = [result.difference for result in results]
    matrix[above] = p_values
    matrix.T[above] = p_values
    differences -= differences.T
    return PairwiseResult(results[0].test, tuple(names), differences, matrix, adjust)


def find_test(test: str | PairedTest) -> PairedTest:
    """Return the test of two columns of a name; a function is returned as it is."""
    if callable(test):
        return test
    check_choice("test", test, PAIRED_TESTS)
    return PAIRED_TESTS[test]


def _test_pair(paired_test, values, names, i, j, settings):
    """Test two rankers; name them in the message of an error."""
    try:
        result = paired_test(values[:, i], values[:, j], **settings)
    except ValueError as error:
        raise ValueError(f"{names[i]} and {names[j]} cannot be compared: {error}") from error
    check_instance("the result of test", result, [PairedResult])
    return result
