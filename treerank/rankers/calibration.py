r"""Calibration: from scores to probabilities, of pairs and of relevance.

The first document of a pair is more relevant with the probability

.. math:: p(a, b) = \frac{1}{1 + e^{-T (s_a - s_b)}}.

The slope T >= 0 is fitted to pairs that the scores were not fitted to. There is no intercept:
with one, p(a, b) + p(b, a) would not be 1.

The probability that a document is relevant is a function of its score. Scores have no unit;
probabilities can be compared over queries, shown to users, and cut off. For each label t,
:math:`P(y \ge t)` rises with the score, so no order changes: it is Platt's, whose log odds are
linear in the score, or the isotonic fit through the centers of its steps (Oron and Flournoy, 2017)
if its log loss on queries that it was not fitted to is lower by more than a standard error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from treerank.checks import quote, warn_user
from treerank.documents.canonical_order import canonical_order
from treerank.documents.queries import Queries, QueryGroups
from treerank.files.states import array, check_state
from treerank.objectives.factory import make_objective


@np.errstate(under="ignore")
def pair_probability(margin: ArrayLike, calibration_slope: float = 1.0) -> np.ndarray:
    """Return p(a, b) of the margins s_a - s_b; p(a, b) + p(b, a) is exactly 1.

    Examples
    --------
    >>> pair_probability(np.array([0.0, 2.0, -2.0])).round(3)
    array([0.5  , 0.881, 0.119])
    """
    decay = np.exp(-calibration_slope * np.abs(margin))
    upset = decay / (1 + decay)
    # The smaller of the two is computed and the other is 1 minus it: their sum rounds to 1.
    return np.where(np.asarray(margin) < 0, upset, 1 - upset)


def fit_calibration_slope(scores: ArrayLike, y: ArrayLike, qid: Queries = None) -> float:
    """Fit the slope T by maximum likelihood to the outcomes of held-out pairs.

    Every query counts the same, whatever its number of pairs. As in Platt's calibration [1]_, the
    better document of a pair wins with probability (n + 1) / (n + 2) instead of 1, where n is the
    number of queries with a pair. So T is finite even if the scores order all pairs correctly.

    It is 0, with a warning, if the scores order these pairs no better than chance.

    References
    ----------
    .. [1] Platt (1999). Probabilistic outputs for support vector machines.

    Examples
    --------
    >>> scores, qid = np.array([3.0, 0.0, 0.5, 1.0, 2.0, 0.0]), [0, 0, 1, 1, 2, 2]
    >>> round(fit_calibration_slope(scores, [1, 0, 1, 0, 1, 0], qid), 3)
    0.458
    """
    scores, y = np.asarray(scores, dtype=np.float64), np.asarray(y, dtype=np.float64)
    groups = QueryGroups.from_qid(qid, len(y))
    n_queries = int(groups.with_two_labels(y).sum())
    if n_queries == 0:
        raise ValueError(
            "y must hold two different labels in some query to calibrate on; got none such among "
            f"{len(y)} documents."
        )
    scores, objective = _likelihood(scores, y, groups)
    gradient = objective.derivatives(np.zeros(len(y)))[0]
    slope_at_zero = scores @ gradient
    rounding = 1e-12 * (np.abs(scores) @ np.abs(gradient))  # of scores without any information
    if slope_at_zero >= -rounding:
        reason = "The scores order the held-out pairs no better than chance"
        warn_user(f"{reason}: every pair probability is 0.5.")
        return 0.0

    def derivative(calibration_slope):
        # The targets below 1 add a term linear in T, and at T = 0 the derivative is half of it.
        certain = scores @ objective.derivatives(calibration_slope * scores)[0]
        return certain - 2 * slope_at_zero / (n_queries + 2)

    return float(brentq(derivative, 0.0, _too_steep(derivative, scores), xtol=1e-12, rtol=1e-12))


def _likelihood(scores, y, groups):
    """Return ``(scores, objective)``: scores in canonical order, the logistic loss of pairs in it.

    The order depends on the scores, labels and queries alone, so no shuffle changes the last bits.
    """
    groups, _ = canonical_order(scores.reshape(-1, 1), groups, y)
    ordered = QueryGroups(None, groups.indptr)
    objective = make_objective(y[groups.order], ordered, loss="logistic", weight="query")
    return scores[groups.order], objective


def _too_steep(derivative, scores):
    """Return a slope at which ``derivative`` is not negative: an upper bound of the best slope.

    ``derivative(slope)`` is the derivative of the loss; the search starts at 1 / max |score - mean|
    and doubles the slope.
    """
    calibration_slope = 1 / np.abs(scores - scores.mean()).max()
    while derivative(calibration_slope) < 0:
        calibration_slope *= 2
    return calibration_slope


#: Number of points of a curve, of folds that choose between curves, and largest number of labels.
_N_POINTS, _N_FOLDS, _MOST_LABELS = 256, 5, 32
#: Steps of more labels from 0 to 1. A quotient is the double that is next to its decimal.
_STEPS_OF_SHARES = np.arange(21) / 20
_RULES = {
    "labels": array("float64", "n_known"),
    "scores": array("float64", "n_points"),
    "steps": array("float64", "n_labels", "n_points", at_least=0, at_most=1),
    "lines": array("float64", "n_labels", 2),
    "is_line": array("bool", "n_labels"),
}


@dataclass(frozen=True, eq=False)
class RelevanceScale:
    """Calibration curves: from a score to the probability that the label is at least ``t``.

    There is a curve for each label t but the lowest.

    Attributes
    ----------
    labels : ndarray of shape (n_curves + 1,)
        All labels, in ascending order; steps of 0.05 of many labels from 0 to 1.
    scores : ndarray of shape (n_points,)
        Scores at which the isotonic fits are stored, in ascending order.
    steps : ndarray of shape (n_curves, n_points)
        Probabilities of the isotonic fits at ``scores``, interpolated linearly between them.
    lines : ndarray of shape (n_curves, 2)
        Slope and intercept of the log odds, which are linear in the score.
    is_line : ndarray of bool of shape (n_curves,)
        Whether a curve uses ``lines`` instead of ``steps``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=1000)
    >>> y, qid = scores + rng.logistic(size=1000) > 0, np.arange(1000) // 10
    >>> scale = RelevanceScale.fitted(scores, y.astype(float), QueryGroups.from_qid(qid))
    >>> scale.probability(np.array([-1.0, 0.0, 1.0]), 1).round(1)
    array([0.2, 0.5, 0.7])
    """

    labels: np.ndarray
    scores: np.ndarray
    steps: np.ndarray
    lines: np.ndarray
    is_line: np.ndarray

    @staticmethod
    def of(ranker: Any) -> "RelevanceScale":
        """Return the calibration curves of a ranker; refuse a ranker that is not calibrated."""
        check_is_fitted(ranker)
        scale = relevance_scale_of(ranker)
        if scale is None:
            raise ValueError(
                "calibrate(X, y, qid) must be called before, with queries that were not trained "
                f"on and, unless they are from 0 to 1, at most {_MOST_LABELS} different labels; it "
                "was not called, or it got more, with a warning."
            )
        return scale

    @classmethod
    def fitted(cls, scores: np.ndarray, y: np.ndarray, groups: QueryGroups) -> Self | None:
        """Fit the curves to scores and labels of documents that were not trained on.

        More than 32 different labels from 0 to 1 are cut to steps of 0.05: never rounded up, so
        that a label of 0.49 is not "at least 0.5". Return None, with a warning, if there are more
        different labels of another range.
        """
        labels = np.unique(y)
        if len(labels) > _MOST_LABELS and labels[0] >= 0 and labels[-1] <= 1:
            y = _STEPS_OF_SHARES[np.searchsorted(_STEPS_OF_SHARES, y, side="right") - 1]
            labels = np.unique(y)
        if len(labels) > _MOST_LABELS:
            warn_user(
                f"y has {len(labels)} different labels, more than {_MOST_LABELS}, so calibrate "
                "fits probabilities of pairs alone: predict_relevance and threshold_for stay "
                "without. Pass grades, such as y=np.digitize(y, [10, 100]) of sales."
            )
            return None
        groups, _ = canonical_order(scores.reshape(-1, 1), groups, y)
        scores, y = scores[groups.order], y[groups.order]
        fold = np.repeat(np.arange(groups.n_queries) % _N_FOLDS, groups.sizes)
        points = np.quantile(scores, np.linspace(0, 1, _N_POINTS))
        curves = [_curves(scores, y >= label, fold, points) for label in labels[1:]]
        return cls(labels, points, *(np.array(column) for column in zip(*curves, strict=True)))

    def probability(self, scores: np.ndarray, at_least: float) -> np.ndarray:
        """Return the probability that the label of each document is at least ``at_least``.

        It is the minimum over the curves of all labels up to ``at_least``. Refuses an ``at_least``
        that is not above the lowest label, or is above the highest.
        """
        curves = [self._curve(scores, label) for label in range(self._n_curves(at_least))]
        # Where the curves of two labels cross, the higher label is at most as likely as the lower.
        return np.min(curves, axis=0)

    def log_odds(self, at_least: float) -> np.ndarray:
        """Return slopes and intercepts, of shape (n_curves, 2), for the labels up to ``at_least``.

        The log odds that a label is at least ``at_least`` are the minimum of these linear functions
        of the score. Refuses an isotonic fit among them.
        """
        n_curves = self._n_curves(at_least)
        if not self.is_line[:n_curves].all():
            raise ValueError(
                f"the log odds of a label of at least {at_least:g} must be linear in the score; "
                "it is an isotonic fit. predict_relevance gives it, and threshold_for a score that "
                "every program can compare with."
            )
        return self.lines[:n_curves]

    def threshold(self, precision: float, at_least: float) -> float:
        """Return the lowest score above which a share ``precision`` of documents is relevant.

        Relevant are labels of at least ``at_least``; the share is the mean of the fitted
        probabilities at the stored scores. Refuses a precision that no score reaches.
        """
        likely = self.probability(self.scores, at_least)
        above = np.cumsum(likely[::-1])[::-1] / np.arange(len(likely), 0, -1)
        if not (above >= precision).any():
            raise ValueError(
                f"precision must be at most {above.max():.3f}, which the highest scores reach; "
                f"got {quote(precision)}."
            )
        return float(self.scores[np.argmax(above >= precision)])

    def _n_curves(self, at_least: float) -> int:
        """Return the number of curves: one for each label up to and including ``at_least``.

        Refuses an ``at_least`` that is not above the lowest label, or is above the highest. A value
        between two labels counts as the higher one.
        """
        lowest, highest = self.labels[[0, -1]]
        if not lowest < at_least <= highest:
            labels = f"the lowest label, {lowest:g}, and at most the highest, {highest:g}"
            raise ValueError(f"at_least must be above {labels}; got {at_least:g}.")
        return int(np.searchsorted(self.labels, at_least))

    def _curve(self, scores: np.ndarray, label: int) -> np.ndarray:
        if self.is_line[label]:
            return _logistic(scores, *self.lines[label])
        return np.interp(scores, self.scores, self.steps[label])


def relevance_scale_of(ranker: Any) -> RelevanceScale | None:
    """Return the curves that ``calibrate`` has fitted, or None before it."""
    scale: RelevanceScale | None = ranker._relevance_scale
    return scale


def scale_of(state: Mapping[str, Any]) -> RelevanceScale | None:
    """Return the calibration curves in the saved state of a ranker, or None if it has none.

    Refuses curves of wrong shapes, and labels, scores or probabilities that fall.
    """
    curves = state["relevance_scale"]
    if curves is None:
        return None
    sizes = check_state(curves, _RULES)
    if sizes["n_known"] != sizes["n_labels"] + 1:
        raise ValueError("labels of a relevance scale must be one more than its curves.")
    if min(np.diff(curves[name]).min(initial=0) for name in ("labels", "scores", "steps")) < 0:
        raise ValueError("labels, scores and steps of a relevance scale must rise.")
    return RelevanceScale(**curves)


def _curves(
    scores: np.ndarray, won: np.ndarray, fold: np.ndarray, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Fit the curve of one label in both forms.

    ``won`` tells whether each document has at least this label, and ``fold`` is the number of its
    fold for the comparison of the two forms by their log loss.

    Returns
    -------
    tuple
        ``(steps, line, is_line)``: the isotonic fit at ``points``, slope and intercept of the log
        odds, and whether the line is to be used: not if the log loss of the isotonic fit is lower
        by more than a standard error.
    """
    gains = np.zeros(_N_FOLDS)  # in log loss, of the isotonic fit over the linear log odds
    for number in range(_N_FOLDS):
        train, test = fold != number, fold == number
        if test.any() and won[train].any() and not won[train].all():
            line = _logistic(scores[test], *_line(scores[train], won[train]))
            steps = np.interp(scores[test], points, _steps(scores[train], won[train], points))
            gains[number] = _log_loss(line, won[test]) - _log_loss(steps, won[test])
    is_line = bool(gains.sum() <= np.sqrt(_N_FOLDS) * gains.std(ddof=1))
    return _steps(scores, won, points), _line(scores, won), is_line


def _line(scores: np.ndarray, won: np.ndarray) -> np.ndarray:
    """Return slope, at least 0, and intercept of the log odds, fitted to Platt's targets.

    ``won`` tells whether each document is relevant. Platt's targets are slightly above 0 and below
    1.
    """
    from sklearn.linear_model import (
        LogisticRegression,  # imported here: it would delay the import of every ranker
    )

    center, spread = scores.mean(), scores.std() or 1.0
    n_won = won.sum()
    high, low = (n_won + 1) / (n_won + 2), 1 / (len(won) - n_won + 2)
    target = np.where(won, high, low)
    X = np.tile((scores - center) / spread, 2).reshape(-1, 1)
    label, weight = np.repeat([1, 0], len(scores)), np.append(target, 1 - target)
    fitted = LogisticRegression(C=1e6).fit(X, label, sample_weight=weight)
    slope = max(float(fitted.coef_[0, 0]), 0.0) / spread
    share = target.mean()
    intercept = fitted.intercept_[0] if slope > 0 else np.log(share / (1 - share))
    return np.array([slope, intercept - slope * center])


def _steps(scores: np.ndarray, won: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the isotonic fit at the scores ``points``, smoothed so that it is never 0 or 1.

    It is fitted to ``scores`` and the outcomes ``won``, and interpolated between the mean scores of
    its steps.
    """
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression().fit(scores, won).predict(scores)
    levels, step = np.unique(fitted, return_inverse=True)
    centers = np.bincount(step, scores) / np.bincount(step)
    rising = np.maximum.accumulate(np.interp(points, centers, levels))
    return (len(won) * rising + 1) / (len(won) + 2)


def _log_loss(likely: np.ndarray, won: np.ndarray) -> float:
    likely = np.clip(likely, 1e-12, 1 - 1e-12)
    return float(-np.log(np.where(won, likely, 1 - likely)).sum())


def _logistic(scores: np.ndarray, slope: float, intercept: float) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(slope * scores + intercept, -500, 500)))
