"""Adjustment: p-values of several tests, raised so that many tests do not find too much.

To add an adjustment, write a function from p-values to p-values, as :func:`adjust_holm` is one.
"""

import numpy as np
from numpy.typing import ArrayLike

from treerank.statistics.paired import check_values


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
