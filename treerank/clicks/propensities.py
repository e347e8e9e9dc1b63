r"""Examination propensities: how likely each position is examined, relative to the first one.

Documents that were shown at several positions identify the propensities, since their relevance is
the same at each.
If an item was clicked :math:`c_i` times in all and shown :math:`n_{ik}` times at position
:math:`k`, it is expected to have been clicked there

.. math:: c_i \frac{n_{ik} \theta_k}{\sum_l n_{il} \theta_l}

times. The propensities :math:`\theta` are those for which these expectations sum to the clicks of
each position. They maximize the likelihood of the position-based model with Poisson counts,
conditional on the clicks of each item. The relevance of items cancels out, so items with few
impressions cause no bias.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import quote, refuse_where, warn_user
from treerank.clicks.counts import ClickCounts, spread
from treerank.clicks.log import ClickLog
from treerank.display.charts import Curve, Curves
from treerank.display.results import html_of
from treerank.display.tables import column_table
from treerank.parameters import check_arguments
from treerank.statistics.paired import check_values

_MAX_ITER, _TOL = 2000, 1e-7
#: Share of impressions of documents shown at several positions below which a warning is given.
_LEAST_MOVED = 0.1


class Propensities(np.ndarray):
    """Examination propensities of positions from 1: an array that plots itself.

    Examples
    --------
    >>> Propensities.of(np.array([1.0, 0.5, np.nan])).chart().curves[0].x
    array([1, 2, 3])
    """

    @classmethod
    def of(cls, values: ArrayLike) -> Self:
        """Return an array of shape (n_positions,) as propensities."""
        return np.array(values, dtype=np.float64).view(cls)

    def chart(self) -> Curves:
        """Return the propensity of each position as a chart, which :meth:`plot` draws."""
        values = np.asarray(self).ravel()
        curve = Curve("propensity", np.arange(1, len(values) + 1), values)
        y, title = "examination propensity", "Position bias"
        return Curves((curve,), x="position", y=y, from_zero=True, title=title)

    def plot(self, ax: Any = None) -> Any:
        """Plot the propensity of each position; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart().plot(ax)

    def __repr__(self) -> str:
        values = np.asarray(self)
        return f"array({np.array2string(values, separator=', ', threshold=100, prefix='array(')})"

    def _repr_html_(self) -> str | None:
        if self.ndim != 1:
            return None
        columns = {"position": np.arange(1, len(self) + 1), "propensity": np.asarray(self)}
        return html_of(column_table("Position bias: examination propensities.", columns))


@check_arguments
def estimate_propensities(log: ClickLog | ClickCounts) -> Propensities:
    """Estimate the examination propensity of each position, relative to the first one.

    The log must contain some randomization, such as exploration, swapped documents, or an A/B test
    of two rankers: a position whose documents were never shown elsewhere cannot be estimated.

    Parameters
    ----------
    log : ClickLog or ClickCounts
        Impressions and clicks.

    Returns
    -------
    Propensities of shape (n_positions,)
        An array with ``plot()``. The propensity of the first position that shows documents is 1,
        and others may be above it. Positions that never show one, such as ad slots, have NaN.

    Examples
    --------
    >>> from treerank.clicks import simulate_clicks
    >>> y, qid, old = np.tile([0, 1], 40), np.repeat(np.arange(20), 4), np.arange(80) % 3
    >>> log = simulate_clicks(y, qid, old, n_sessions=1000, exploration=9.0, random_state=0)
    >>> estimate_propensities(log).round(2)
    array([1.  , 0.5 , 0.33, 0.26])
    """
    counts = log.counts()
    _check_clicked(counts)
    counts, positions = counts.without_gaps()
    _warn_of_fixed_rankings(counts)
    return Propensities.of(spread(_most_likely(counts, np.ones(counts.n_slots)), positions))


def _most_likely(counts: ClickCounts, propensities: np.ndarray) -> np.ndarray:
    """Return the maximum likelihood propensities by slot, relative to the first slot.

    ``propensities`` are those from which the iteration starts.
    """
    clicks_of_item = counts.by_item(counts.clicked)
    clicks = counts.by_slot(counts.clicked)
    for _ in range(_MAX_ITER):
        exposure = counts.by_item(counts.shown * propensities[counts.slot])
        rate = np.divide(
            clicks_of_item, exposure, out=np.zeros(len(counts.items)), where=exposure > 0
        )
        expected = counts.by_slot(counts.shown * rate[counts.item])
        new = np.divide(clicks, expected, out=np.zeros(counts.n_slots), where=expected > 0)
        new /= new[0] or 1.0
        change = np.abs(new - propensities).max()
        propensities = new
        if change < _TOL:
            break
    return propensities


class SessionPropensities:
    """Propensities of a log in which sessions may have weights.

    They are estimated from the weighted sessions, unless ``propensities`` are given.

    Attributes
    ----------
    all_sessions : ndarray of shape (n_positions,)
        Propensities of the whole log; NaN at positions that show no document.
    """

    def __init__(self, log: ClickLog, propensities: Any) -> None:
        self.log, self.is_given = log, propensities is not None
        if self.is_given:
            self.all_sessions = check_propensities(propensities, log.n_at > 0)
            return
        self.all_sessions = np.asarray(estimate_propensities(log))
        self.counts, self.positions = log.counts().without_gaps()
        slot = np.searchsorted(self.positions, log.position - 1)
        key = self.counts.item.astype(np.int64) * self.counts.n_slots + self.counts.slot
        self.row = np.searchsorted(key, log.item.astype(np.int64) * self.counts.n_slots + slot)

    def of(self, session_weights: np.ndarray) -> np.ndarray:
        """Return the propensities estimated from sessions with these weights, or the given ones."""
        if self.is_given or (session_weights == 1).all():
            return self.all_sessions
        weight, n = session_weights[self.log.session], len(self.counts.item)
        impressions, clicks = (
            np.bincount(self.row, weight * x, minlength=n) for x in (1, self.log.clicked)
        )
        counts = replace(self.counts, shown=impressions, clicked=clicks)
        return spread(_most_likely(counts, self.all_sessions[self.positions]), self.positions)


def check_propensities(propensities: Any, is_shown: np.ndarray) -> np.ndarray:
    """Return given propensities, one for each entry of ``is_shown``; further ones are left out.

    Refuses values that are not above 0. Those relative to the first position may be above 1. NaN
    (unknown) is allowed for positions that show no documents (``is_shown`` is false).
    """
    values, n = check_values("propensities", propensities), len(is_shown)
    refuse_where(values <= 0, values, "propensities must be above 0 at each position")
    if len(values) < n:
        raise ValueError(
            f"propensities must have an entry for each of {n} positions; got {len(values)}."
        )
    unknown = is_shown & np.isnan(values[:n])
    if unknown.any():
        rule = "propensities must be known at each position that shows documents"
        raise ValueError(f"{rule}; got nan at position {int(np.argmax(unknown)) + 1}.")
    return values[:n]


def _check_clicked(counts: ClickCounts) -> None:
    """Refuse counts with a position that shows documents and has no click."""
    is_shown, clicks = counts.by_slot(counts.shown) > 0, counts.by_slot(counts.clicked)
    without = np.flatnonzero(is_shown & (clicks == 0))
    if len(without):
        raise ValueError(
            "position must have clicks at each value, to estimate propensities; got none at "
            f"{quote((without + 1).tolist())}. Drop these positions, or pass known propensities: "
            "to a ranker as clicks=ClickRelevance(propensities=[1.0, ...]), to evaluate_from_log "
            "as propensities=[1.0, ...]."
        )


def _warn_of_fixed_rankings(counts: ClickCounts) -> None:
    """Warn if under 10 % of impressions are of documents that were shown at several positions."""
    moved = np.bincount(counts.item, minlength=len(counts.items)) > 1
    share = (counts.shown * moved[counts.item]).sum() / counts.shown.sum()
    if share < _LEAST_MOVED and counts.n_slots > 1:
        warn_user(
            "Position bias can only be estimated from documents that one query showed at two "
            f"positions; they are {share:.1%} of all impressions. If qid is the session, pass the "
            "query instead, and drop session and position from the features. If rankings never "
            "change, let some sessions see two documents swapped."
        )
