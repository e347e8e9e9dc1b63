r"""Trust bias: users click top results because of their position, whatever their relevance.

A click at position :math:`k` has probability :math:`\theta_k a + \varepsilon_k` [1]_ [2]_, where
:math:`a` is the attractiveness of the document, a latent variable on a grid. Its distribution is
estimated, too, so documents with few impressions cause no bias. The model is fitted by expectation
maximization (EM).

.. [1] Agarwal, Wang, Li, Bendersky and Najork (2019). Addressing trust bias for unbiased
   learning-to-rank. WWW.
.. [2] Vardasbi, Oosterhuis and de Rijke (2020). When inverse propensity scoring does not work:
   affine corrections for unbiased learning to rank. CIKM.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from treerank.clicks.counts import ClickCounts, spread
from treerank.clicks.log import ClickLog
from treerank.display.charts import Curve, Curves
from treerank.display.results import html_of, text_of
from treerank.display.tables import Table, column_table
from treerank.documents.positions import check_any_click
from treerank.numerics.compiling import njit
from treerank.parameters import Count, Positive, check_arguments

#: Grid of attractiveness: number of values, lowest relative to the mean click rate, and highest.
_N_ATTRACTIONS, _LOWEST, _HIGHEST = 20, 0.05, 0.99
#: Beta prior of click rates: its mean, and its weight in trials.
_PRIOR_MEAN, _PRIOR_TRIALS = 0.5, 2.0


class TrustBias(NamedTuple):
    """Effect of positions on clicks: examination propensity and trust bias.

    Attributes
    ----------
    examination : ndarray of shape (n_positions,)
        Examination propensity of each position; NaN for positions that show no document.
    trust : ndarray of shape (n_positions,)
        Probability of a click by trust at each position: 0 at the last one, NaN where no document
        is shown.
    log_posterior : tuple of float
        Log likelihood plus log prior per impression, before each iteration. It never decreases.

    Examples
    --------
    >>> TrustBias(np.array([0.8]), np.array([0.0]), ()).trust
    array([0.])
    """

    examination: np.ndarray
    trust: np.ndarray
    log_posterior: tuple[float, ...]

    def chart(self) -> Curves:
        """Return examination and trust by position as a chart, which :meth:`plot` draws."""
        position = np.arange(1, len(self.examination) + 1)
        curves = [
            Curve("examination", position, self.examination),
            Curve("trust", position, self.trust),
        ]
        y, title = "probability", "Position bias and trust bias"
        return Curves(tuple(curves), x="position", y=y, from_zero=True, title=title)

    def plot(self, ax: Any = None) -> Any:
        """Plot examination and trust by position; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart().plot(ax)

    def _shown(self) -> Table:
        return column_table(
            "Position bias and trust bias.",
            {
                "position": np.arange(1, len(self.examination) + 1),
                "examination": self.examination,
                "trust": self.trust,
            },
        )

    def __repr__(self) -> str:
        return text_of(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())


@check_arguments
def estimate_trust_bias(
    log: ClickLog | ClickCounts, *, max_iter: Count = 100, tol: Positive = 1e-6
) -> TrustBias:
    r"""Estimate the examination propensity and the trust bias of each position.

    For identifiability, there is no trust at the last position, and a document of attractiveness 1
    is always clicked at the first. The log must contain some randomization of positions.

    Parameters
    ----------
    log : ClickLog or ClickCounts
        Impressions and clicks.
    max_iter : int, default=100
        Largest number of EM iterations.
    tol : float, default=1e-6
        Stop if an iteration raises the log posterior per impression by less.

    Examples
    --------
    >>> from treerank.clicks import simulate_clicks
    >>> log = simulate_clicks([0, 1, 2, 0, 1], [1] * 5, [1, 2, 3, 4, 5], random_state=0)
    >>> estimate_trust_bias(log).trust.shape
    (5,)
    """
    counts = log.counts()
    check_any_click("click", counts.clicked)
    counts, positions = counts.without_gaps()
    first = counts.slot == 0
    rate = counts.clicked[first].sum() / counts.shown[first].sum()
    grid = np.geomspace(_LOWEST * np.clip(rate, 1e-4, 1 - 1e-4), _HIGHEST, _N_ATTRACTIONS)
    weight, n_items = np.full(len(grid), 1 / len(grid)), len(np.unique(counts.item))
    attracted, other = np.linspace([1.0, 0.1], [0.5, 0.0], counts.n_slots).T  # rates of clicks
    values: list[float] = []
    for _ in range(max_iter):
        click = other[:, None] + (attracted - other)[:, None] * grid
        value, items, clicks, skips = _expected(counts, click, weight)
        value += _log_prior(attracted[1:]) + _log_prior(other[:-1])
        attracted, other = _rates(attracted, other, grid, click, clicks, skips)
        weight = items / n_items
        values.append(value / counts.shown.sum())
        if len(values) > 1 and np.diff(values[-2:])[0] < tol:
            break
    examination, trust = (spread(x, positions) for x in (attracted - other, other))
    return TrustBias(examination, trust, tuple(values))


def _expected(counts, click, weight):
    """E-step: return the log likelihood, and the expected items, clicks and skips.

    ``click`` is the probability of a click, of shape (n_slots, n_grid), and ``weight`` the share of
    each attractiveness of the grid.

    Returns
    -------
    tuple
        ``(log likelihood, items, clicks, skips)``: items of shape (n_grid,), the others of shape
        (n_slots, n_grid). A skip is an impression without a click.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(click), np.log1p(-click), np.log(weight)
    items, clicks, skips = np.zeros(len(weight)), *np.zeros((2, *click.shape))
    table = counts.item, counts.slot, counts.shown, counts.clicked
    return _expect(*table, *logs, items, clicks, skips), items, clicks, skips


def _rates(attracted, other, grid, click, clicks, skips):
    """M-step: return the click rates ``(attracted, other)`` by position.

    These are the click rates of documents of attractiveness 1 and 0. The first of ``attracted`` and
    the last of ``other`` stay fixed. ``clicks`` and ``skips`` are expected numbers, of shape
    (n_slots, n_grid).
    """
    by_attraction = attracted[:, None] * grid / click * clicks
    skipped = (1 - attracted)[:, None] * grid / (1 - click) * skips
    sums = np.array([by_attraction, clicks - by_attraction]).sum(axis=2)
    trials = sums + np.array([skipped, skips - skipped]).sum(axis=2)
    rates = (sums + _PRIOR_MEAN * _PRIOR_TRIALS) / (trials + _PRIOR_TRIALS)
    return np.append(attracted[0], rates[0, 1:]), np.append(rates[1, :-1], other[-1])


def _log_prior(rates: np.ndarray) -> float:
    """Return the log density of the Beta prior of rates, up to a constant."""
    terms = _PRIOR_MEAN * np.log(rates) + (1 - _PRIOR_MEAN) * np.log1p(-rates)
    return float(_PRIOR_TRIALS * terms.sum())


@njit
def _expect(
    item, slot, shown, clicked, log_click, log_skip, log_weight, items, clicks, skips
):  # fmt: skip
    """Add the expected items, clicks and skips of each grid value; return the log likelihood.

    ``items`` of shape (n_grid,), and ``clicks`` and ``skips`` of shape (n_slots, n_grid), are
    changed in place. Counts are sorted by item; logarithms are of the probabilities of a click, of
    a skip and of the grid values.
    """
    value, start, n_grid = 0.0, 0, len(log_weight)
    likely = np.empty(n_grid)
    while start < len(item):
        likely[:] = log_weight
        end = start
        while end < len(item) and item[end] == item[start]:
            k, n_clicks = slot[end], clicked[end]
            for g in range(n_grid):
                likely[g] += n_clicks * log_click[k, g] + (shown[end] - n_clicks) * log_skip[k, g]
            end += 1
        top, total = likely.max(), 0.0
        for g in range(n_grid):
            likely[g] = math.exp(likely[g] - top)
            total += likely[g]
        value += top + math.log(total)
        for g in range(n_grid):
            likely[g] /= total
            items[g] += likely[g]
        for i in range(start, end):
            for g in range(n_grid):
                clicks[slot[i], g] += clicked[i] * likely[g]
                skips[slot[i], g] += (shown[i] - clicked[i]) * likely[g]
        start = end
    return value
