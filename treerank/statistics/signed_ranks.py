"""Wilcoxon's signed-rank test: whether one ranker is better more often and by more."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.statistics.paired import PairedResult, paired_differences


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
