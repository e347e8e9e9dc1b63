r"""Unbiased pairs: propensities of clicks and of skips, estimated jointly with the scores.

A pair is a clicked document ``i`` and a skipped one ``j`` of one session. Documents are clicked at
position :math:`k` with a propensity :math:`t^+_k`, and skipped at :math:`l` with :math:`t^-_l`, so
a pair weighs :math:`1 / (t^+_k t^-_l)`. If :math:`L_{kl}` is the sum of the losses of the pairs at
these positions, the propensities are those that minimize

.. math:: \sum_{kl} \frac{L_{kl}}{t^+_k t^-_l}
          + \lambda \sum_k \frac{(t^+_k)^p - 1}{p} + \lambda \sum_l \frac{(t^-_l)^p - 1}{p},

that is :math:`t^+_k = (\sum_l L_{kl} / (\lambda t^-_l))^\alpha` with :math:`\alpha = 1 / (1 + p)`,
and likewise :math:`t^-_l`. They are a function of the scores, so nothing is remembered from one
round of training to the next, and every feature part can be fitted. Since the sum above is at its
minimum, its gradient by the scores is that of the pairs with these propensities held fixed. (Where
pairs weigh by NDCG, too, propensities come from the losses alone.)
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from scipy.special import boxcox

from treerank.checks import check_column, check_number
from treerank.clicks.counts import spread
from treerank.inputs.grouping import QueryGroups
from treerank.numerics.compiling import njit
from treerank.objectives.base import Derivatives, Priced
from treerank.objectives.factory import PairSettings, bind_loss
from treerank.objectives.judgments import Judgments
from treerank.objectives.losses import logistic
from treerank.objectives.pairwise import PairwiseObjective
from treerank.objectives.weighted_sum import Summable
from treerank.objectives.weights import Weight
from treerank.parameters import Rule, check_parameters

#: Most sweeps over both kinds of propensities, and the change at which they end.
_MAX_SWEEPS, _TOL = 100, 1e-12
#: Least propensity.
_LEAST = 1e-6


class JointPropensities(NamedTuple):
    """Propensities of clicks and of skips.

    Attributes
    ----------
    clicked, skipped : ndarray of shape (n_positions,)
        Propensity of each position, over that of the first one; NaN where nothing was shown.

    Examples
    --------
    >>> JointPropensities(clicked=np.array([1.0, 0.5]), skipped=np.array([1.0, 1.1])).clicked
    array([1. , 0.5])
    """

    clicked: np.ndarray
    skipped: np.ndarray


@dataclass(frozen=True)
class UnbiasedPairs:
    """Pairs of clicked and skipped documents, weighted by joint propensities, as in [1]_.

    Labels are clicks, and queries are sessions; :func:`~treerank.clicks.click_data.session_data`
    returns them with the positions of documents. An ``eval_set`` has judged documents instead,
    since metrics of clicks would prefer the old ranking.

    Parameters
    ----------
    weight : str or PairWeight, default="ndcg"
        Weight of a pair apart from propensities, see :mod:`treerank.objectives.weights`.
    correction : float, default=0.5
        Power of the propensities, above 0 and at most 1: the paper's 1 / (1 + p).

    References
    ----------
    .. [1] Hu, Wang, Peng and Li (2019). Unbiased LambdaMART: an unbiased pairwise learning-to-rank
       algorithm. WWW.

    Examples
    --------
    >>> from treerank import LightGBMTrees, TreeDirectRanker
    >>> from treerank.clicks import session_data, simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid, document = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10), np.arange(400)
    >>> y, old = 2 * (X[:, 0] > 1), X[:, 1]  # what is shown first is not what is relevant
    >>> log = simulate_clicks(y, qid, old, n_sessions=30, random_state=0)
    >>> data = session_data(log, (X, qid, document))
    >>> trees, loss = LightGBMTrees(n_estimators=20), UnbiasedPairs()
    >>> ranker = TreeDirectRanker(trees, loss=loss, random_state=0).fit(**data._asdict())
    >>> ranker.score(X, y, qid) > 0.9
    True
    >>> ranker.propensities_.round(1)[[0, 4, 9]]
    array([1. , 0.7, 0.4])
    """

    weight: Weight = "ndcg"
    correction: Annotated[float, Rule(check_number, above=0, at_most=1)] = 0.5

    reads_positions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings."""
        check_parameters(self)

    def bind(self, judgments: Judgments) -> "UnbiasedPairsObjective":
        """Return the objective of sessions."""
        return UnbiasedPairsObjective(self, judgments)


@dataclass(frozen=True, eq=False)
class UnbiasedPairsObjective(Summable):
    """Unbiased pairs of some sessions.

    Attributes
    ----------
    loss : UnbiasedPairs
        Settings.
    judgments : Judgments
        Clicks, positions, sessions and weights.
    """

    loss: UnbiasedPairs
    judgments: Judgments

    n_outputs: ClassVar[int] = 1

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian under the propensities of these scores."""
        scores = check_column("scores", scores, len(self.judgments.y))
        found = self._solved(scores)
        value, gradient, hessian = self._weighed(found)(scores, iteration=iteration)
        penalty = boxcox(np.concatenate(found), 1 / self.loss.correction - 1).sum()
        return value + self._price * float(penalty), gradient, hessian

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian."""
        scores = np.asarray(scores, dtype=np.float64)
        return self._weighed(self._solved(scores)).derivatives(scores, iteration=iteration)

    def propensities(self, scores: np.ndarray) -> np.ndarray:
        """Return the propensities of clicks that these scores give."""
        return self.joint_propensities(scores).clicked

    def joint_propensities(self, scores: np.ndarray) -> JointPropensities:
        """Return the propensities of clicks and of skips that these scores give."""
        found = self._solved(check_column("scores", scores, len(self.judgments.y)))
        places = np.unique(self._place)
        clicked, skipped = (spread(each[places] / each[places[0]], places) for each in found)
        return JointPropensities(clicked, skipped)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "UnbiasedPairsObjective":
        """Return the objective of the given rows alone, whose sessions are ``groups``."""
        return replace(self, judgments=self.judgments.taking(rows, groups))

    def convex(self) -> PairwiseObjective:
        """Return the logistic loss of the same pairs under the propensities of equal scores."""
        return self._weighed(self._solved(np.zeros(len(self.judgments.y)))).convex()

    @property
    def groups(self) -> QueryGroups:
        """Sessions of the rows."""
        return self.judgments.groups

    @cached_property
    def _pairs(self) -> PairwiseObjective:
        """The pairs of clicked and skipped documents, without propensities."""
        clicks = replace(self.judgments, position=None)
        pairs = bind_loss("logistic", clicks, PairSettings(self.loss.weight))
        assert isinstance(pairs, PairwiseObjective)
        return pairs

    @cached_property
    def _place(self) -> np.ndarray:
        """Number of each row's position, from 0."""
        assert self.judgments.position is not None
        return self.judgments.position - 1

    @cached_property
    def _price(self) -> float:
        """What a propensity costs, so that those without bias are 1 at equal scores."""
        sums = self._sums(np.zeros(len(self.judgments.y)))
        return float(sums.sum()) / len(sums)

    def _sums(self, scores: np.ndarray) -> np.ndarray:
        """Return the sum of the losses of the pairs at each two positions."""
        order, judgments = self.groups.order, self.judgments
        sums = np.zeros((self._place.max() + 1,) * 2)
        rows = scores[order], judgments.y[order] > 0, self._place[order]
        weights = judgments.sample_weight[order], judgments.query_weight
        _add_losses(*rows, *weights, self.groups.indptr, sums)
        return sums

    def _solved(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the propensities of clicks and of skips."""
        sums = self._sums(scores) / (self._price or 1.0)
        clicked, skipped = np.ones((2, len(sums)))
        for _ in range(_MAX_SWEEPS):
            before = clicked
            clicked = self._powered(sums @ (1 / skipped))
            skipped = self._powered((1 / clicked) @ sums)
            if np.abs(clicked / before - 1).max() < _TOL:
                break
        return clicked, skipped

    def _powered(self, sums: np.ndarray) -> np.ndarray:
        """Return propensities; that of a position without pairs is 1."""
        found = np.maximum(sums**self.loss.correction, _LEAST)
        return np.where(sums > 0, found, 1.0)

    def _weighed(self, propensities: tuple[np.ndarray, np.ndarray]) -> PairwiseObjective:
        """Return the pairs, weighted by propensities."""
        clicked, skipped = (each[self._place] for each in propensities)
        weight = self.judgments.sample_weight / np.where(self.judgments.y > 0, clicked, skipped)
        return self._pairs.weighted(weight)


@njit
def _add_losses(
    scores: np.ndarray,
    clicked: np.ndarray,
    place: np.ndarray,
    weight: np.ndarray,
    query_weight: np.ndarray,
    indptr: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the loss of each pair to the sum of its two positions."""
    for q in range(len(indptr) - 1):
        for i in range(indptr[q], indptr[q + 1]):
            if not clicked[i]:
                continue
            for j in range(indptr[q], indptr[q + 1]):
                if not clicked[j]:
                    loss = logistic(scores[i] - scores[j])[0]
                    sums[place[i], place[j]] += query_weight[q] * weight[i] * weight[j] * loss
