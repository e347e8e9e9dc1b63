"""Agreement of judges who label the same things, each of them some."""

import numpy as np
from scipy.sparse import coo_array

from treerank.checks import check_choice


def krippendorff_alpha(unit: np.ndarray, value: np.ndarray, level: str) -> float:
    """Return Krippendorff's alpha; NaN if all labels are equal.

    Parameters
    ----------
    unit : ndarray of int of shape (n_labels,)
        Number of the thing that each label is of.
    value : ndarray of shape (n_labels,)
        Labels. Things with a single one do not count.
    level : {"nominal", "ordinal", "interval"}
        Whether labels are but equal or not, or in an order, or numbers with a distance.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> krippendorff_alpha(np.array([0, 0, 1, 1]), np.array([1, 1, 2, 2]), "ordinal")
    1.0
    """
    check_choice("level", level, ["nominal", "ordinal", "interval"])
    several = np.bincount(unit)[unit] > 1
    if not several.any():
        raise ValueError("judgments must have a document with two judges to agree; got none.")
    values, column = np.unique(value[several], return_inverse=True)
    row = np.unique(unit[several], return_inverse=True)[1]
    counts = coo_array((np.ones(len(row)), (row, column))).tocsr()
    share = 1 / (counts.sum(axis=1) - 1)
    together = (counts.T @ (counts * share[:, None])).toarray() - np.diag(counts.T @ share)
    n = together.sum(axis=0)
    places = {"nominal": values, "interval": values, "ordinal": np.cumsum(n) - n / 2}[level]
    distance = np.subtract.outer(places, places) ** 2
    if level == "nominal":
        distance = (distance > 0).astype(float)
    expected = (np.outer(n, n) * distance).sum() / (n.sum() - 1)
    return float(1 - (together * distance).sum() / expected) if expected > 0 else np.nan
