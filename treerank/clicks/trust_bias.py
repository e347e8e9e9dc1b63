r"""Trust bias: users click top results because of their position, whatever their relevance.

A click at position :math:`k` has probability :math:`\theta_k a + \varepsilon_k` [1]_ [2]_, where
:math:`a` is the attractiveness of the document, a latent variable on a grid. Its distribution is
estimated, too, so documents with few impressions cause no bias. The model is fitted by expectation
maximization (EM), which is accelerated [3]_ and begins at several examination curves, since the
posterior of few documents has several maxima.

.. [1] Agarwal, Wang, Li, Bendersky and Najork (2019). Addressing trust bias for unbiased
   learning-to-rank. WWW.
.. [2] Vardasbi, Oosterhuis and de Rijke (2020). When inverse propensity scoring does not work:
   affine corrections for unbiased learning to rank. CIKM.
.. [3] Varadhan and Roland (2008). Simple and globally convergent methods for accelerating the
   convergence of any EM algorithm. Scandinavian Journal of Statistics 35. Its SQUAREM.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import warn_user
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
#: Iterations and documents of each start, of which the best goes on with all documents. Fewer
#: iterations mistake one maximum for another; more documents only take time.
_TRIAL_ITERATIONS, _TRIAL_ITEMS = 100, 5000


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
        Log likelihood plus log prior per impression, at each iteration. It never decreases.

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
    log: ClickLog | ClickCounts, *, max_iter: Count = 2000, tol: Positive = 1e-4
) -> TrustBias:
    r"""Estimate the examination propensity and the trust bias of each position.

    For identifiability, there is no trust at the last position, and a document of attractiveness 1
    is always clicked at the first. The log must contain some randomization of positions. A warning
    says when ``max_iter`` is too small.

    Parameters
    ----------
    log : ClickLog or ClickCounts
        Impressions and clicks.
    max_iter : int, default=2000
        Largest number of EM iterations.
    tol : float, default=1e-4
        Stop if an EM iteration raises the log posterior of the whole log by less, however many
        impressions it has.

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
    some, n_trial = _some_items(counts), min(max_iter, _TRIAL_ITERATIONS)
    model = _Mixture(some, grid)
    trials = [_maximized(model, start, n_trial, tol) for start in _starts(counts.n_slots)]
    parameters, values, is_maximum = max(trials, key=lambda trial: trial[1][-1])
    n_left = max_iter - n_trial
    if len(some.item) < len(counts.item):
        model, values, is_maximum, n_left = _Mixture(counts, grid), [], False, max_iter
    if not is_maximum and n_left:
        parameters, further, is_maximum = _maximized(model, parameters, n_left, tol)
        values += further
    if not is_maximum:
        warn_user(
            f"The estimate of trust bias has not converged in {max_iter} iterations; write "
            f"estimate_trust_bias(log, max_iter={10 * max_iter}), or a greater tol."
        )
    attracted, other, _ = model.unpacked(parameters)
    examination, trust = (spread(x, positions) for x in (attracted - other, other))
    return TrustBias(examination, trust, tuple(value / counts.shown.sum() for value in values))


def _some_items(counts: ClickCounts) -> ClickCounts:
    """Return the counts of the items, or of every second, third or so if there are many."""
    items = np.unique(counts.item)
    some = np.isin(counts.item, items[:: -(-len(items) // _TRIAL_ITEMS)])
    columns = {name: vars(counts)[name][some] for name in ("item", "slot", "shown", "clicked")}
    return replace(counts, **columns)


def _starts(n_slots: int) -> list[np.ndarray]:
    """Return parameters at which EM begins: examination falls slowly or fast by position."""
    position, other = np.arange(1, n_slots + 1), np.linspace(0.1, 0.0, n_slots)
    curves = np.linspace(1.0, 0.5, n_slots), position**-0.5, 1.0 / position
    rates = [other + (1 - other) * curve for curve in curves]
    weight = np.full(_N_ATTRACTIONS, 1 / _N_ATTRACTIONS)
    return [np.concatenate([attracted[1:], other[:-1], weight]) for attracted in rates]


class _Mixture:
    """Model of click counts: rates by position, and the distribution of attractiveness.

    Its parameters are an array of the rates that are not fixed, and the weight of each value of the
    grid.
    """

    def __init__(self, counts: ClickCounts, grid: np.ndarray):
        self.counts, self.grid = counts, grid
        self.n_items = len(np.unique(counts.item))

    def unpacked(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``(attracted, other, weight)``, of which attracted[0] = 1 and other[-1] = 0.

        These are the click rates of documents of attractiveness 1 and 0 by position.
        """
        attracted, other, weight = np.split(
            parameters, [self.counts.n_slots - 1, 2 * self.counts.n_slots - 2]
        )
        return np.append(1.0, attracted), np.append(other, 0.0), weight

    def step(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log posterior, and the parameters after an iteration of EM."""
        attracted, other, weight = self.unpacked(parameters)
        click = other[:, None] + (attracted - other)[:, None] * self.grid
        value, items, clicks, skips = _expected(self.counts, click, weight)
        value += _log_prior(attracted[1:]) + _log_prior(other[:-1])
        attracted, other = _rates(attracted, other, self.grid, click, clicks, skips)
        return value, np.concatenate([attracted[1:], other[:-1], items / self.n_items])

    def inside(self, parameters: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return parameters moved between the bounds; ``near`` are others, which are there."""
        moved = np.clip(parameters, 0.1 * near, 1 - 0.1 * (1 - near))
        moved[-len(self.grid) :] /= math.fsum(moved[-len(self.grid) :])
        return moved


def _maximized(
    model: _Mixture, parameters: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, list[float], bool]:
    """Return ``(parameters, values, is_maximum)`` after SQUAREM: EM with extrapolation.

    ``values`` are log posteriors, and ``is_maximum`` tells whether the last iteration of EM raised
    it by less than ``tol``. The step is that of an EM iteration where a longer one would not raise
    the log posterior.
    """
    value, once = model.step(parameters)
    values, n_done, longest = [value], 1, 4.0
    while n_done < max_iter:
        value, twice = model.step(once)
        values.append(value)
        n_done += 1
        if value - values[-2] < tol:
            return once, values, True
        change, bend = once - parameters, (twice - once) - (once - parameters)
        norms = [math.sqrt(math.fsum(vector * vector)) for vector in (change, bend)]
        length = float(np.clip(norms[0] / norms[1], 1.0, longest)) if norms[1] else 1.0
        far = parameters + 2 * length * change + length**2 * bend
        parameters = model.inside(far, twice)
        value, once = model.step(parameters)
        n_done += 1
        if length == longest:
            longest = 4 * longest if value >= values[-1] else max(4.0, longest / 4)
        if value < values[-1]:
            parameters = twice
            value, once = model.step(parameters)
            n_done += 1
        values.append(value)
    return parameters, values, False


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
