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
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import boxcox

from treerank.checks import check_column, check_number
from treerank.clicks.features import features_of
from treerank.clicks.log import ClickLog
from treerank.datasets.ranking_data import RankingData
from treerank.inputs.grouping import QueryGroups
from treerank.numerics.compiling import njit
from treerank.objectives.base import Derivatives, Priced
from treerank.objectives.factory import PairSettings, bind_loss
from treerank.objectives.judgments import Judgments
from treerank.objectives.losses import logistic
from treerank.objectives.pairwise import PairwiseObjective
from treerank.objectives.weighted_sum import Summable
from treerank.objectives.weights import Weight
from treerank.parameters import Rule, check_arguments, check_parameters
from treerank.team import current_team

#: Most sweeps over both kinds of propensities, and the change at which they end.
_MAX_SWEEPS, _TOL = 100, 1e-12
#: Least propensity.
_LEAST = 1e-6
#: Largest position: there is a sum for each two positions.
_LAST_POSITION = 1000


class JointPropensities(NamedTuple):
    """Propensities of clicks and of skips.

    Attributes
    ----------
    clicked, skipped : ndarray of shape (n_positions,)
        Propensity of each position, over that of the first one.

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

    The queries of the objective are sessions. A label is the position of a document, from 1, with
    a minus sign if it was not clicked; :func:`session_data` returns such labels. An ``eval_set``
    has judged documents instead, since metrics of clicks would prefer the old ranking.

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
    >>> from treerank import LightGBMTrees, TreeDirectRanker, make_objective
    >>> from treerank.clicks import session_data, simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid, document = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10), np.arange(400)
    >>> y, old = 2 * (X[:, 0] > 1), X[:, 1]  # what is shown first is not what is relevant
    >>> log = simulate_clicks(y, qid, old, n_sessions=30, random_state=0)
    >>> data = session_data(log, (X, qid, document))
    >>> trees, loss = LightGBMTrees(n_estimators=20), UnbiasedPairs()
    >>> ranker = TreeDirectRanker(trees, loss=loss, random_state=0).fit(*data)
    >>> ranker.score(X, y, qid) > 0.9
    True
    >>> objective = make_objective(data.y, data.qid, loss=loss)
    >>> objective.propensities(ranker.predict(data.X)).clicked.round(1)[[0, 4, 9]]
    array([1. , 0.7, 0.4])
    """

    weight: Weight = "ndcg"
    correction: Annotated[float, Rule(check_number, above=0, at_most=1)] = 0.5

    def __post_init__(self) -> None:
        """Check the settings."""
        check_parameters(self)

    def bind(self, judgments: Judgments) -> "UnbiasedPairsObjective":
        """Return the objective of sessions; refuse labels that are no positions."""
        _check_positions(judgments.y)
        if current_team().size > 1:
            raise ValueError("loss must not be UnbiasedPairs where several workers train.")
        return UnbiasedPairsObjective(self, judgments)


@dataclass(frozen=True, eq=False)
class UnbiasedPairsObjective(Summable):
    """Unbiased pairs of some sessions.

    Attributes
    ----------
    loss : UnbiasedPairs
        Settings.
    judgments : Judgments
        Positions, with a minus sign where there was no click; sessions and weights.
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

    def propensities(self, scores: np.ndarray) -> JointPropensities:
        """Return the propensities that these scores give."""
        found = self._solved(check_column("scores", scores, len(self.judgments.y)))
        return JointPropensities(*(each / each[0] for each in found))

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
        whole = self.judgments.whole._replace(largest_label=1.0)
        clicks = replace(self.judgments, y=(self.judgments.y > 0).astype(np.float64), whole=whole)
        pairs = bind_loss("logistic", clicks, PairSettings(self.loss.weight))
        assert isinstance(pairs, PairwiseObjective)
        return pairs

    @cached_property
    def _place(self) -> np.ndarray:
        """Number of each row's position, from 0."""
        return np.abs(self.judgments.y).astype(np.int64) - 1

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


@check_arguments
def session_data(
    log: ClickLog, features: Any, *, query: str = "query", document: str = "document"
) -> RankingData:
    """Return the impressions of a log as X, y and qid: features, positions and sessions.

    Parameters
    ----------
    log : ClickLog
        Sessions and their clicks.
    features : data frame, path of a Parquet file, or tuple (X, query, document)
        Features of each document of a query that the log shows.
    query, document : str, default="query" and "document"
        Columns of a data frame that are no features.

    Returns
    -------
    RankingData
        ``y`` is the position, from 1, with a minus sign where there was no click. Only
        :class:`UnbiasedPairs` reads such labels; metrics do not.

    Examples
    --------
    >>> log = ClickLog.from_columns(["s", "s"], ["q", "q"], ["a", "b"], [1, 2], [0, 1])
    >>> session_data(log, ([[0.5], [0.7]], ["q", "q"], ["a", "b"])).y
    array([-1.,  2.])
    """
    log = log.repeated()
    shown = log.items.taking(log.item)
    X = features_of(shown, features, query=query, document=document)
    return RankingData(X, np.where(log.clicked, 1.0, -1.0) * log.position, log.session)


def _check_positions(y: np.ndarray) -> None:
    """Refuse labels that are no positions."""
    position = np.abs(y)
    wrong = (position != np.floor(position)) | (position < 1) | (position > _LAST_POSITION)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y must be a position from 1 to {_LAST_POSITION:,} where there was a click, and minus "
            f"that where there was none; got {float(y[row])!r} in row {row}."
        )


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
