r"""Examination propensities: how likely each position is examined, relative to the first one.

Documents that were shown at several positions identify the propensities, since their relevance is
the same at each.
If an item was clicked :math:`c_i` times in all and shown :math:`n_{ik}` times at position
:math:`k`, it is expected to have been clicked there

.. math:: c_i \frac{n_{ik} \theta_k}{\sum_l n_{il} \theta_l}

times. The propensities :math:`\theta` are those for which these expectations sum to the clicks of
each position. They maximize the likelihood of the position-based model with Poisson counts,
conditional on the clicks of each item. The relevance of items cancels out, so items with few
impressions cause no bias. The logarithm of the likelihood is a concave function of
:math:`\log \theta`, so Newton's method finds its maximum.

The likelihood has a maximum where positions are connected: from each, a path leads to each other
one, by items that were shown at one position of a step and clicked at the next.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import bmat, csr_matrix, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from treerank.checks import quote, refuse_where, warn_user
from treerank.clicks.counts import ClickCounts, spread
from treerank.clicks.log import ClickLog
from treerank.display.charts import Curve, Curves
from treerank.display.results import html_of
from treerank.display.tables import column_table, listed
from treerank.parameters import check_arguments
from treerank.statistics.paired import check_values

#: Largest number of Newton steps, of which 5 to 10 are usual.
_MAX_ITER = 100
#: Changes of log propensities: of the last Newton step, one that needs no search, and the largest.
_TOL, _NEAR, _FAR = 1e-8, 0.1, 4.0
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
    of two rankers: a position whose documents were never shown elsewhere cannot be estimated. It
    is taken to be examined as often as the position before it, with a warning.

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
    if _warn_of_fixed_rankings(counts) > 0:  # else there was a warning of all positions
        _warn_of_unconnected(counts, positions)
    return Propensities.of(spread(_most_likely(counts, np.ones(counts.n_slots)), positions))


def _most_likely(counts: ClickCounts, start: np.ndarray) -> np.ndarray:
    """Return the maximum likelihood propensities by slot, relative to the first slot.

    Slots that are not connected with the ones before them are taken to begin as those end. Newton's
    method begins at ``start``, which are propensities above 0.
    """
    shown, clicked = _matrices(counts)
    component_of_slot, component_of_item = _components(shown, clicked)
    propensities = np.ones(counts.n_slots)
    for first in _first_slots(component_of_slot):
        slots = np.flatnonzero(component_of_slot == component_of_slot[first])
        if first > 0:
            propensities[slots] = propensities[first - 1]
        if len(slots) > 1:
            items = np.flatnonzero(component_of_item == component_of_slot[first])
            inside = (matrix[items][:, slots] for matrix in (shown, clicked))
            propensities[slots] *= _relative_propensities(start[slots] / start[first], *inside)
    return propensities


def _matrices(counts: ClickCounts) -> tuple[csr_matrix, csr_matrix]:
    """Return the numbers of impressions and of clicks, of shape (n_items, n_slots)."""
    shape, cells = (len(counts.items), counts.n_slots), (counts.item, counts.slot)
    shown, clicked = (
        csr_matrix((values, cells), shape=shape, dtype=np.float64)
        for values in (counts.shown, counts.clicked)
    )
    return shown, clicked


def _components(shown: csr_matrix, clicked: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the component of each slot, and of each item, of the graph that connects slots.

    An edge leads from a slot to each item that was shown there, and from an item to each slot at
    which it was clicked. The components are the strongly connected ones.
    """
    edges = bmat([[None, shown.T > 0], [clicked > 0, None]])
    component = connected_components(edges, connection="strong")[1]
    return component[: shown.shape[1]], component[shown.shape[1] :]


def _first_slots(component_of_slot: np.ndarray) -> np.ndarray:
    """Return the first slot of each component, ascending."""
    return np.sort(np.unique(component_of_slot, return_index=True)[1])


def _relative_propensities(start: np.ndarray, shown: csr_matrix, clicked: csr_matrix) -> np.ndarray:
    """Return the propensities of connected slots relative to the first of them.

    Newton's method begins at ``start``. ``shown`` and ``clicked`` are the numbers of impressions
    and of clicks, of shape (n_items, n_slots).
    """
    moved = np.diff(shown.indptr) > 1  # the others say nothing
    shown, clicked = shown[moved], clicked[moved]
    clicks_of_item, clicks = np.ravel(clicked.sum(axis=1)), np.ravel(clicked.sum(axis=0))

    def loss(logs: np.ndarray) -> float:
        terms = clicks_of_item * np.log(shown @ np.exp(logs))
        return float(terms.sum() - (clicks * logs).sum())

    logs, item = np.log(start), np.repeat(np.arange(shown.shape[0]), np.diff(shown.indptr))
    for _ in range(_MAX_ITER):
        theta = np.exp(logs)
        rates = clicks_of_item / (shown @ theta)
        cells = shown.data * rates[item] * theta[shown.indices], shown.indices, shown.indptr
        expected = csr_matrix(cells, shape=shown.shape)
        step = _newton_step(expected, clicks_of_item, clicks)
        length = np.abs(step).max()
        if length > _NEAR:
            before, shrunk = loss(logs), min(1.0, _FAR / length)  # longer ones might overflow
            step, length = step * shrunk, length * shrunk
            while loss(logs + step) > before and length > _TOL:
                step, length = step / 2, length / 2
        logs += step
        if length <= _TOL:
            return np.exp(logs)
    warn_user(
        f"Position bias is estimated roughly: {_MAX_ITER} steps of Newton's method were not enough."
    )
    return np.exp(logs)


def _newton_step(
    expected: csr_matrix, clicks_of_item: np.ndarray, clicks: np.ndarray
) -> np.ndarray:
    """Return a Newton step for log propensities by slot, of which the first one stays.

    ``expected`` are the expected clicks of each item at each slot, ``clicks`` those by slot.
    """
    at_slot, by_slot = expected.T, np.ravel(expected.sum(axis=0))
    diagonal = by_slot - at_slot.power(2) @ (1 / clicks_of_item)
    shape = (len(clicks) - 1,) * 2

    def times_hessian(direction: np.ndarray) -> np.ndarray:
        of_slot = np.append(0.0, direction)
        of_item = (expected @ of_slot) / clicks_of_item
        product: np.ndarray = by_slot * of_slot - at_slot @ of_item
        return product[1:]

    hessian = LinearOperator(shape, times_hessian, dtype=np.float64)
    inverse = diags_array(1 / diagonal[1:])
    return np.append(0.0, cg(hessian, (clicks - by_slot)[1:], rtol=1e-6, M=inverse)[0])


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


def _warn_of_fixed_rankings(counts: ClickCounts) -> float:
    """Return the share of impressions of documents shown at several positions; warn below 10 %."""
    moved = np.bincount(counts.item, minlength=len(counts.items)) > 1
    share = float((counts.shown * moved[counts.item]).sum() / counts.shown.sum())
    if share < _LEAST_MOVED and counts.n_slots > 1:
        warn_user(
            "Position bias can only be estimated from documents that one query showed at two "
            f"positions; they are {share:.1%} of all impressions. If qid is the session, pass the "
            "query instead, and drop session and position from the features. If rankings never "
            "change, let some sessions see two documents swapped."
        )
    return share


def _warn_of_unconnected(counts: ClickCounts, positions: np.ndarray) -> None:
    """Warn of positions that are not connected with those before them; slots have ``positions``."""
    first = _first_slots(_components(*_matrices(counts))[0])[1:]
    if len(first):
        warn_user(
            f"Position bias at {listed((positions[first] + 1).tolist())} cannot be estimated "
            "relative to the positions before: too few documents were shown at both and clicked. "
            "Documents there are taken to be examined as often as at the position before. Let "
            "some sessions see documents of both swapped, or pass known propensities: to a ranker "
            "as clicks=ClickRelevance(propensities=[1.0, ...]), to evaluate_from_log as "
            "propensities=[1.0, ...]."
        )
