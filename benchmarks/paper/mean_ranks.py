"""Mean ranks: how far apart they must be for rankers to differ by the test of Nemenyi.

Nemenyi (1963), Distribution-free multiple comparisons. Demsar (2006), Statistical comparisons of
classifiers over multiple data sets.
"""

import numpy as np
from scipy.stats import studentized_range

LEVEL = 0.05


def critical_difference(n_rankers, n_rows):
    """Return by how much mean ranks over so many data sets or queries differ at the level."""
    error = np.sqrt(n_rankers * (n_rankers + 1) / (6 * n_rows))
    return float(studentized_range.ppf(1 - LEVEL, n_rankers, np.inf) / np.sqrt(2) * error)
