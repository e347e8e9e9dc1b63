r"""Propensity pairs: pairs of clicked and skipped documents, weighted by known propensities.

A document that is examined with probability :math:`\theta_k` at its position :math:`k` is clicked
that much less often. So a click stands for :math:`1 / \theta_k` clicks of documents that everybody
sees. The weights of clicks are clipped, since rare clicks at low positions would decide all, and
divided by their mean over all clicks.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_number
from treerank.clicks.propensities import check_propensities
from treerank.objectives.base import SummableObjective
from treerank.objectives.factory import PairSettings, bind_loss
from treerank.objectives.judgments import Judgments
from treerank.objectives.weights import Weight
from treerank.parameters import Rule, check_parameters


@dataclass(frozen=True, eq=False)
class PropensityPairs:
    """Pairs of clicked and skipped documents, weighted by inverse propensities, as in [1]_.

    Labels are clicks, and queries are sessions; :func:`~treerank.clicks.click_data.session_data`
    returns them with positions. Few clicks make such weights noise: without a loss that reads
    positions, rankers learn from the relevance of documents, which is better in most worlds.

    Parameters
    ----------
    propensities : array-like of shape (n_positions,)
        Probability that each position is examined, as
        :func:`~treerank.clicks.propensities.estimate_propensities` returns it. That of a position
        without clicks may be NaN.
    clip : float, default=10.0
        Largest weight of a click, at least 1, before weights are divided by their mean.
    weight : str or PairWeight, default="ndcg"
        Weight of a pair apart from propensities, see :mod:`treerank.objectives.weights`.

    References
    ----------
    .. [1] Joachims, Swaminathan and Schnabel (2017). Unbiased learning-to-rank with biased
       feedback. WSDM.

    Examples
    --------
    >>> from treerank import LightGBMTrees, TreeDirectRanker
    >>> from treerank.clicks import estimate_propensities, session_data, simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid, document = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10), np.arange(400)
    >>> y, old = 2 * (X[:, 0] > 1), X[:, 1]  # what is shown first is not what is relevant
    >>> log = simulate_clicks(y, qid, old, n_sessions=30, exploration=0.5, random_state=0)
    >>> data = session_data(log, (X, qid, document))
    >>> trees, loss = LightGBMTrees(n_estimators=20), PropensityPairs(estimate_propensities(log))
    >>> ranker = TreeDirectRanker(trees, loss=loss, random_state=0).fit(**data._asdict())
    >>> ranker.score(X, y, qid) > 0.9
    True
    """

    propensities: ArrayLike
    clip: Annotated[float, Rule(check_number, at_least=1)] = 10.0
    weight: Weight = "ndcg"

    reads_positions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings."""
        check_parameters(self)
        check_propensities(self.propensities, np.zeros(1, dtype=bool))  # positions come with bind

    def bind(self, judgments: Judgments) -> SummableObjective:
        """Return the logistic loss of the pairs of sessions, clicks weighted by propensities."""
        weights = judgments.sample_weight * self._weights_of(judgments)
        pairs = replace(judgments, sample_weight=weights, position=None)
        return bind_loss("logistic", pairs, PairSettings(self.weight))

    def _weights_of(self, judgments: Judgments) -> np.ndarray:
        """Return the weight of each click, 1 on average, and 1 for what was skipped."""
        position, clicked = judgments.position, judgments.y > 0
        assert position is not None
        has_click = np.bincount(position - 1, clicked) > 0
        theta = check_propensities(self.propensities, has_click)[position - 1]
        weights = np.where(clicked, np.minimum(1 / theta, self.clip), 1.0)
        if clicked.any():
            clicks = judgments.sample_weight[clicked]
            weights[clicked] /= np.average(weights[clicked], weights=clicks)
        return weights
