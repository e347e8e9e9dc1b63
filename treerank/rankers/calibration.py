r"""Calibration: from a margin of two scores to the probability that the one document wins.

.. math:: p(a, b) = \frac{1}{1 + e^{-T (s_a - s_b)}}

One number, the steepness T > 0, is fitted to pairs that the scores were not fitted to; a second
one, a bias, would break p(a, b) + p(b, a) = 1.
"""

import warnings

import numpy as np
from scipy.optimize import brentq

from treerank.inputs.canonical import canonical_order
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.factory import make_objective


def pair_probability(margin, steepness=1.0):
    """Return p(a, b) of the margins s_a - s_b; p(a, b) + p(b, a) is exactly 1.

    Examples
    --------
    >>> pair_probability(np.array([0.0, 2.0, -2.0])).round(3)
    array([0.5  , 0.881, 0.119])
    """
    decay = np.exp(-steepness * np.abs(margin))
    upset = decay / (1 + decay)
    # The smaller of the two is computed and the other is 1 minus it: their sum rounds to 1.
    return np.where(np.asarray(margin) < 0, upset, 1 - upset)


def fit_steepness(scores, y, qid=None):
    """Fit T by maximum likelihood of the outcomes of held-out pairs.

    Every query counts the same, whatever its number of pairs. As in Platt's calibration, a pair
    is won not for sure but with probability (n + 1) / (n + 2), n being the number of queries
    with a pair, so that T stays finite where the scores separate all pairs.

    Parameters
    ----------
    scores, y : array-like of shape (n_documents,)
        Scores of a fitted model and labels.
    qid : array-like of shape (n_documents,) or QueryGroups, default=None
        Queries; ``None`` is one query.

    Returns
    -------
    float
        0, with a warning, if the scores order these pairs no better than chance.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines.

    Examples
    --------
    >>> scores, qid = np.array([3.0, 0.0, 0.5, 1.0, 2.0, 0.0]), [0, 0, 1, 1, 2, 2]
    >>> round(fit_steepness(scores, [1, 0, 1, 0, 1, 0], qid), 3)
    0.458
    """
    scores = np.asarray(scores, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    groups = qid if isinstance(qid, QueryGroups) else QueryGroups.from_qid(qid, len(y))
    n_queries = int(groups.with_two_labels(y).sum())
    if n_queries == 0:
        raise ValueError(
            "y must hold two different labels in some query to calibrate on; got none such among "
            f"{len(y)} documents."
        )
    # In an order that depends on content alone, so that no shuffle changes the last bits.
    groups = canonical_order(scores.reshape(-1, 1), groups, y)
    scores, y = scores[groups.order], y[groups.order]
    groups = QueryGroups(None, groups.indptr)
    objective = make_objective(y, groups, loss="logistic", weight="query")
    slope_at_zero = scores @ objective.derivatives(np.zeros(len(y)))[0]
    if slope_at_zero >= 0:
        warnings.warn(
            "The scores order the held-out pairs no better than chance: every pair probability "
            "is 0.5.",
            UserWarning,
            stacklevel=3,
        )
        return 0.0

    def slope(steepness):
        # The targets below 1 add a term linear in T, and at T = 0 the slope is half of it.
        certain = scores @ objective.derivatives(steepness * scores)[0]
        return certain - 2 * slope_at_zero / (n_queries + 2)

    return brentq(slope, 0.0, _too_steep(slope, scores), xtol=1e-12, rtol=1e-12)


def _too_steep(slope, scores):
    steepness = 1 / np.abs(scores - scores.mean()).max()
    while slope(steepness) < 0:
        steepness *= 2
    return steepness
