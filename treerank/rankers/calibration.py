r"""Calibration: from a difference of two scores to the probability that the first document wins.

.. math:: p(a, b) = \frac{1}{1 + e^{-T (s_a - s_b)}}

One number, the steepness T >= 0, is fitted to pairs that the scores were not fitted to. There is
no second number: with a bias, p(a, b) + p(b, a) would not be 1.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from treerank.checks import shown, warn_user
from treerank.inputs.canonical import canonical_order
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.factory import make_objective
from treerank.parameters import Rule


def check_calibration(name: str, value: Any) -> None:
    """Refuse what says nothing about the documents that pair probabilities are calibrated on.

    Examples
    --------
    >>> check_calibration("calibration", 0.2)
    >>> check_calibration("calibration", 1)
    Traceback (most recent call last):
    ...
    ValueError: calibration must be 'eval_set', None or a share between 0 and 1; got 1.
    """
    is_share = isinstance(value, float | np.floating) and 0 < value < 1
    if not is_share and value is not None and not (isinstance(value, str) and value == "eval_set"):
        raise ValueError(
            f"{name} must be 'eval_set', None or a share between 0 and 1; got {shown(value)}."
        )


#: Documents that pair probabilities are calibrated on.
Calibration = Annotated[str | float | None, Rule(check_calibration)]


def pair_probability(margin: ArrayLike, steepness: float = 1.0) -> np.ndarray:
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


def fit_steepness(
    scores: ArrayLike, y: ArrayLike, qid: ArrayLike | QueryGroups | None = None
) -> float:
    """Fit the steepness T by maximum likelihood to the outcomes of held-out pairs.

    Every query counts the same, whatever its number of pairs. As in Platt's calibration [1]_, the
    better document of a pair wins with probability (n + 1) / (n + 2) instead of 1, where n is the
    number of queries with a pair. So T is finite even if the scores order all pairs correctly.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Scores by a fitted model.
    y : array-like of shape (n_documents,)
        Labels.
    qid : array-like of shape (n_documents,) or QueryGroups, default=None
        Query of each document; None is a single query.

    Returns
    -------
    float
        The steepness; 0, with a warning, if the scores order these pairs no better than chance.

    References
    ----------
    .. [1] Platt (1999). Probabilistic outputs for support vector machines.

    Examples
    --------
    >>> scores, qid = np.array([3.0, 0.0, 0.5, 1.0, 2.0, 0.0]), [0, 0, 1, 1, 2, 2]
    >>> round(fit_steepness(scores, [1, 0, 1, 0, 1, 0], qid), 3)
    0.458
    """
    scores, y = np.asarray(scores, dtype=np.float64), np.asarray(y, dtype=np.float64)
    groups = qid if isinstance(qid, QueryGroups) else QueryGroups.from_qid(qid, len(y))
    n_queries = int(groups.with_two_labels(y).sum())
    if n_queries == 0:
        raise ValueError(
            "y must hold two different labels in some query to calibrate on; got none such among "
            f"{len(y)} documents."
        )
    scores, objective = _likelihood(scores, y, groups)
    slope_at_zero = scores @ objective.derivatives(np.zeros(len(y)))[0]
    if slope_at_zero >= 0:
        reason = "The scores order the held-out pairs no better than chance"
        warn_user(f"{reason}: every pair probability is 0.5.")
        return 0.0

    def slope(steepness):
        # The targets below 1 add a term linear in T, and at T = 0 the slope is half of it.
        certain = scores @ objective.derivatives(steepness * scores)[0]
        return certain - 2 * slope_at_zero / (n_queries + 2)

    return float(brentq(slope, 0.0, _too_steep(slope, scores), xtol=1e-12, rtol=1e-12))


def _likelihood(scores, y, groups):
    """Return the scores in an order of their own, and the logistic loss in this order.

    The order depends on the scores, labels and queries alone, so no shuffle changes the last bits.
    """
    groups = canonical_order(scores.reshape(-1, 1), groups, y)
    own = QueryGroups(None, groups.indptr)
    objective = make_objective(y[groups.order], own, loss="logistic", weight="query")
    return scores[groups.order], objective


def _too_steep(slope, scores):
    """Return a steepness above the best one, where the slope is not negative."""
    steepness = 1 / np.abs(scores - scores.mean()).max()
    while slope(steepness) < 0:
        steepness *= 2
    return steepness
