r"""Power: how many queries a test needs to show a difference.

A two-sided paired t-test at a level finds a mean difference, of d standard deviations, with
probability ``power`` over about this number of queries (Guenther, 1981):

.. math:: n = \Big(\frac{z_{1 - \text{level}/2} + z_\text{power}}{d}\Big)^2
          + \frac{z_{1 - \text{level}/2}^2}{2}

The randomization test needs as many. Both take the models as given.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.parameters import Level, check_arguments
from treerank.statistics.paired import measured


@check_arguments
def queries_needed(differences: ArrayLike, *, power: Level = 0.8, level: Level = 0.05) -> float:
    """Return how many queries would show a difference, if it is as large as that observed.

    The observed difference is uncertain, and so is this number: it is for planning, and no test.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Value of one ranker minus value of the other, one per query; NaN is left out.
    power : float, default=0.8
        Probability to find the difference.
    level : float, default=0.05
        Level of significance.

    Returns
    -------
    float
        A whole number; infinity if the mean difference is 0.

    References
    ----------
    Guenther (1981), Sample size formulas for normal theory t tests.

    Examples
    --------
    >>> queries_needed([0.2, -0.1, 0.1, 0.0, 0.3, -0.2])
    112.0
    """
    values = measured("differences", differences)
    if len(values) < 2:
        raise ValueError(f"differences must be at least two; got {len(values)}.")
    values = values / (np.abs(values).max() or 1.0)  # whose squares are no overflow
    mean, quantile = abs(values.mean()), stats.norm.ppf(1 - level / 2)
    if mean == 0:
        return math.inf
    steps = (quantile + stats.norm.ppf(power)) * np.std(values, ddof=1) / mean
    return float(max(math.ceil(steps**2 + quantile**2 / 2), 2))
