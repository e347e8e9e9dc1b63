"""Trust bias: users click some documents because they stand high, not because they attract."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from treerank.clicks.counts import ClickCounts
from treerank.clicks.models.click_model import RATE_PRIOR, log_prior, rate
from treerank.clicks.models.position_based import PositionBased
from treerank.numerics.compiling import njit

#: Attractions that the prior knows: their number, the lowest over the mean one, and the highest.
_N_ATTRACTIONS, _LOWEST, _HIGHEST = 20, 0.05, 0.99


@dataclass(eq=False, repr=False)
class TrustBias(PositionBased):
    r"""A click at position k has the probability :math:`\theta_k a + \varepsilon_k` [1]_ [2]_.

    The attraction :math:`a` is that of the document. It follows a distribution that is estimated,
    too, so that few impressions of a document cause no bias. Nothing at the last position is
    clicked by trust, and a document of attraction 1 is always clicked at the first.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations of expectation maximization.
    tol : float, default=1e-6
        Stop once an iteration raises the log likelihood of an impression by less.
    prior_shows : float, default=None
        Impressions that a Beta prior of an attraction is worth. ``None`` is no Beta distribution,
        but the most likely one of any form.

    Attributes
    ----------
    attraction_ : ndarray of shape (n_items,)
        Mean attraction of each item of the log, given its clicks.
    examination_ : ndarray of shape (n_positions,)
        Weight :math:`\theta` of the attraction at each position.
    trust_ : ndarray of shape (n_positions,)
        Probability :math:`\varepsilon` of a click by trust at each position; 0 at the last.

    References
    ----------
    .. [1] Agarwal, Wang, Li, Bendersky and Najork (2019). Addressing trust bias for unbiased
       learning-to-rank. WWW.
    .. [2] Vardasbi, Oosterhuis and de Rijke (2020). When inverse propensity scoring does not work:
       affine corrections for unbiased learning to rank. CIKM.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> log = make_click_log(n_sessions=2000, random_state=0)
    >>> TrustBias().fit(log).trust_.shape
    (5,)
    """

    def _fit_counts(self, counts: ClickCounts) -> None:
        table = counts.item, counts.slot, counts.shown, counts.clicked
        grid = np.geomspace(_LOWEST * self.prior_mean_, _HIGHEST, _N_ATTRACTIONS)
        weight = self._prior_of(grid)
        n_items = len(np.unique(counts.item))
        attracted, other = np.linspace([1.0, 0.1], [0.5, 0.0], counts.n_slots).T  # rates of clicks

        def step() -> float:
            nonlocal weight
            click = other[:, None] + (attracted - other)[:, None] * grid
            with np.errstate(divide="ignore"):
                logs = np.log(click), np.log1p(-click), np.log(weight)
            items, clicks, skips = np.zeros(len(grid)), *np.zeros((2, *click.shape))
            self.attraction_ = np.full(len(counts.items), weight @ grid)
            value = _expect(*table, *logs, grid, self.attraction_, items, clicks, skips)
            value += log_prior(attracted[1:], *RATE_PRIOR) + log_prior(other[:-1], *RATE_PRIOR)
            by_attraction = attracted[:, None] * grid / click * clicks
            skipped = (1 - attracted)[:, None] * grid / (1 - click) * skips
            sums = np.array([by_attraction, clicks - by_attraction]).sum(axis=2)
            trials = sums + np.array([skipped, skips - skipped]).sum(axis=2)
            rates = rate(sums, trials, *RATE_PRIOR)
            attracted[1:], other[:-1] = rates[0, 1:], rates[1, :-1]
            if self.prior_shows is None:
                weight = items / n_items
            return value

        self._maximize(step, counts.shown.sum())
        self.prior_mean_ = float(weight @ grid)
        self.slots_, self.trust_ = attracted - other, other

    def _prior_of(self, grid: np.ndarray) -> np.ndarray:
        """Return the weights of some attractions: equal ones, or those of a Beta prior."""
        if self.prior_shows is None:
            return np.full(len(grid), 1 / len(grid))
        shape = self.prior_mean_ * self.prior_shows, (1 - self.prior_mean_) * self.prior_shows
        log_density = beta.logpdf(grid, *shape) + np.log(grid)  # the grid is even in logarithms
        weight = np.exp(log_density - log_density.max())
        return np.asarray(weight / weight.sum())

    def _clicked(self, examined: np.ndarray, attraction: np.ndarray, place: Any) -> np.ndarray:
        return np.asarray(examined * attraction + self.trust_[place])


@njit
def _expect(
    item: np.ndarray,
    slot: np.ndarray,
    shown: np.ndarray,
    clicked: np.ndarray,
    log_click: np.ndarray,
    log_skip: np.ndarray,
    log_weight: np.ndarray,
    grid: np.ndarray,
    attraction: np.ndarray,
    items: np.ndarray,
    clicks: np.ndarray,
    skips: np.ndarray,
) -> float:
    """Add the items, clicks and skips expected of each attraction; return the log likelihood."""
    value, start, n_grid = 0.0, 0, len(grid)
    likely = np.empty(n_grid)
    while start < len(item):
        likely[:] = log_weight
        end = start
        while end < len(item) and item[end] == item[start]:
            k, n_clicks = slot[end], clicked[end]
            for g in range(n_grid):
                likely[g] += n_clicks * log_click[k, g] + (shown[end] - n_clicks) * log_skip[k, g]
            end += 1
        top, total, mean = likely.max(), 0.0, 0.0
        for g in range(n_grid):
            likely[g] = math.exp(likely[g] - top)
            total += likely[g]
        value += top + math.log(total)
        for g in range(n_grid):
            likely[g] /= total
            items[g] += likely[g]
            mean += likely[g] * grid[g]
        attraction[item[start]] = mean
        for i in range(start, end):
            for g in range(n_grid):
                clicks[slot[i], g] += clicked[i] * likely[g]
                skips[slot[i], g] += (shown[i] - clicked[i]) * likely[g]
        start = end
    return value
