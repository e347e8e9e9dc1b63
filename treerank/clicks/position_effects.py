r"""Position effects: an effect of each position on clicks, learned beside any function of features.

A document with score :math:`s` at position :math:`k` is clicked at the rate :math:`e^{s + b_k}`.
With Poisson clicks :math:`c_i` and weights :math:`w_i` of impressions, the loss of the scores is

.. math:: L(s) = \min_b \sum_i w_i \left( e^{s_i + b_{k_i}} - c_i (s_i + b_{k_i}) \right)
          + \lambda \frac{C}{2K} \sum_k (b_k - \bar b)^2,

where :math:`C` are all clicks and :math:`K` is the number of positions. So the effects are a
function of the scores: nothing is remembered from one round of training to the next, and every
feature part can be fitted. Since the sum is at its minimum, its gradient by the scores is that
with these effects held fixed. A tower of a network that reads nothing but the position is such a
number for each position. With :math:`\lambda \to 0` this is
:class:`~treerank.clicks.click_shares.ClickShares` with a position for a query; with
:math:`\lambda \to \infty`, all positions are alike.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from treerank.checks import check_column
from treerank.clicks.counts import spread
from treerank.objectives.judgments import Judgments
from treerank.objectives.listwise_objective import ListwiseLoss, ListwiseObjective, PricedQueries
from treerank.parameters import Positive

#: Most Newton steps to the effects, the length of the longest, and the length at which they end.
_MAX_STEPS, _LONGEST, _TOL = 100, 1.0, 1e-12


@dataclass(frozen=True)
class PositionEffects(ListwiseLoss):
    """Poisson loss of clicks whose logarithmic rate is a score plus an effect of the position [1]_.

    Labels are clicks; :func:`~treerank.clicks.click_data.count_data` returns them with positions.
    The effects play no part in prediction. Where the old ranking is a good one, losses that learn
    from :class:`~treerank.clicks.relevance.ClickRelevance` rank better. The hessian is the exact
    diagonal.

    Parameters
    ----------
    penalty : float, default=1.0
        Strength of the penalty on the spread of the effects. The smaller, the more positions are
        corrected, and the more few clicks at low positions decide.

    References
    ----------
    .. [1] Guo, Yu, Liu, Tang and Zhang (2019). PAL: a position-bias aware learning framework for
       CTR prediction in live recommender systems. RecSys.

    Examples
    --------
    >>> from treerank import LightGBMTrees, TreeDirectRanker
    >>> from treerank.clicks import count_data, simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid, document = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10), np.arange(400)
    >>> y, old = 2 * (X[:, 0] > 1), X[:, 1]  # what is shown first is not what is relevant
    >>> log = simulate_clicks(y, qid, old, n_sessions=30, random_state=0)
    >>> data = count_data(log, (X, qid, document))
    >>> trees, loss = LightGBMTrees(n_estimators=20), PositionEffects(penalty=0.01)
    >>> ranker = TreeDirectRanker(trees, loss=loss, random_state=0).fit(**data._asdict())
    >>> ranker.score(X, y, qid) > 0.9
    True
    >>> ranker.propensities_.round(1)[[0, 1, 9]]
    array([1. , 0.5, 0.1])
    """

    penalty: Positive = 1.0

    reads_positions: ClassVar[bool] = True

    def bind(self, judgments: Judgments) -> "PositionEffectsObjective":
        """Return the objective of clicks at positions."""
        return PositionEffectsObjective(self, judgments)

    def order(self, judgments: Judgments) -> np.ndarray:
        """Return the rows as they are: queries play no part."""
        return np.arange(len(judgments.y))

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> PricedQueries:
        """Return the loss of each document, then the penalty, and derivatives of documents."""
        assert isinstance(lists, PositionEffectsObjective)
        if not lists.clicks.any():
            nothing = np.zeros(len(scores))
            return nothing, nothing, nothing
        effects, slack = lists.solved(scores)
        log_rate, clicks = scores + effects[lists.place], lists.weight * lists.y
        expected = lists.weight * np.exp(log_rate)
        penalty = lists.stiffness / 2 * np.square(effects - effects.mean()).sum()
        values = np.append(expected - clicks * log_rate, penalty)
        return values, expected - clicks, expected * (1 - expected * slack[lists.place])


@dataclass(frozen=True, eq=False)
class PositionEffectsObjective(ListwiseObjective):
    """Clicks at positions, with the effects that the scores give."""

    loss: PositionEffects

    def convex(self) -> "PositionEffectsObjective":  # type: ignore[override]
        """Return the objective itself, which is convex."""
        return self

    def propensities(self, scores: np.ndarray) -> np.ndarray:
        """Return the rate of clicks of each position over that of the first, at given scores."""
        scores = check_column("scores", scores, len(self.judgments.y))
        effects = self.solved(scores)[0]
        return spread(np.exp(effects - effects[0]), self.positions - 1)

    def solved(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the effects, and how far each moves by one expected click less at its position."""
        stiffness, log_mass = self.stiffness, self._log_mass(scores)
        effects = np.full(len(log_mass), np.log(self.clicks.sum()) - logsumexp(log_mass))
        for _ in range(_MAX_STEPS):
            expected = np.exp(log_mass + effects)
            pull = expected - self.clicks + stiffness * (effects - effects.mean())
            # The matrix of second derivatives is diagonal, but for the mean.
            inverse = 1 / (expected + stiffness)
            of_mean = stiffness / (expected @ inverse)
            step = inverse * (pull + of_mean * (inverse @ pull))
            effects -= step * min(1.0, _LONGEST / max(np.abs(step).max(), _TOL))
            if np.abs(step).max() < _TOL:
                break
        return effects, inverse + of_mean * inverse**2

    @cached_property
    def positions(self) -> np.ndarray:
        """Positions, ascending and each once."""
        return np.unique(self._position)

    @cached_property
    def place(self) -> np.ndarray:
        """Number of each document's position among these."""
        return np.searchsorted(self.positions, self._position)

    @cached_property
    def clicks(self) -> np.ndarray:
        """Weighted clicks of each position."""
        return np.bincount(self.place, self.weight * self.y)

    @property
    def stiffness(self) -> float:
        """Weight of the squared effects."""
        return self.loss.penalty * float(self.clicks.mean())

    @property
    def _position(self) -> np.ndarray:
        assert self.judgments.position is not None
        return self.judgments.position

    def _log_mass(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithm of the summed rates of each position, without effects."""
        top = np.full(len(self.positions), -np.inf)
        np.maximum.at(top, self.place, scores)
        mass = np.bincount(self.place, self.weight * np.exp(scores - top[self.place]))
        with np.errstate(divide="ignore"):  # positions whose impressions weigh nothing
            return top + np.log(mass)
