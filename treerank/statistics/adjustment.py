"""Adjustment: p-values of several tests at once, so that none is found by trying often."""

import numpy as np

from treerank.statistics.paired import check_values


def adjust_holm(p_values):
    """Return p-values that may each be held against the level for all of them together.

    The smallest is multiplied by the number of tests m, the next by m - 1, and so on; none is
    smaller than one before it.

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
    p_values = check_values(p_values, "p_values")
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"p_values must be between 0 and 1; got {p_values.tolist()}.")
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(np.minimum(p_values[order] * factors, 1.0))
    return adjusted
