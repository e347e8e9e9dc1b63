"""Off-policy evaluation: the reward of a new ranker, estimated from the click log of an old one.

Standard errors come from a delete-a-group jackknife over sessions: the estimate, with its
propensities, is computed again without each group of sessions. A bootstrap would
underestimate the error of documents with few impressions, since it draws no new session that shows
them. Rewards such as clicks are skewed, so their intervals are symmetric in logarithms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils import check_random_state

from treerank.checks import check_column, quote, refuse_other_order, warn_user
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.off_policy import (
    ESTIMATORS,
    NEED_LOGGING_POLICY,
    NEED_RELEVANCE_MODEL,
    DocumentStatistics,
    Ranking,
    rewards_of_positions,
)
from treerank.clicks.propensities import SessionPropensities
from treerank.display.charts import Intervals
from treerank.display.results import Shown
from treerank.display.tables import Table
from treerank.documents.queries import QueryGroups
from treerank.parameters import Level, Positive, Seed, Several, check_arguments
from treerank.statistics.resampled import Interval


def jackknife_errors(
    estimate: Callable[[np.ndarray], np.ndarray],
    n_sessions: int,
    n_groups: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Return jackknife standard errors of estimates, over groups of sessions drawn at random.

    Parameters
    ----------
    estimate : callable
        ``estimate(weights)`` takes the weight of each session, 0 or 1, and returns an array.
    n_sessions, n_groups : int
        Number of sessions, and of the groups of which one after the other is left out.
    rng : RandomState
        Draws the groups.

    Returns
    -------
    ndarray
        Standard error of each estimate.
    """
    group = rng.permutation(n_sessions) % n_groups
    estimates = [estimate((group != g).astype(np.int64)) for g in range(n_groups)]
    return np.asarray(np.sqrt((n_groups - 1) * np.var(estimates, axis=0)))


def confidence_interval(
    value: float, error: float, n_groups: int, level: float, *, is_amount: bool
) -> Interval:
    """Return the confidence interval of an estimate, by the t-distribution.

    ``error`` is the standard error, by a jackknife of ``n_groups`` groups. The interval is
    symmetric, but for an estimate above 0 with ``is_amount``, which cannot be negative: then it is
    symmetric in logarithms, with its upper end growing linearly once the half width exceeds the
    estimate.
    """
    half_width = float(stats.t.ppf((1 + level) / 2, n_groups - 1)) * error
    if is_amount and value > 0:
        ratio = half_width / value
        low, high = np.exp(-ratio), np.exp(min(ratio, 1)) * max(ratio, 1)  # linear from 1 on
        return Interval(value, value * float(low), value * float(high), level)
    return Interval(value, value - half_width, value + half_width, level)


#: Name of the extra column of a log with the probabilities of the logging policy.
_PROPENSITY = "propensity"
#: Largest share of the reward at documents that the log never shows, without a warning.
_MOST_UNSHOWN = 0.05


@dataclass(frozen=True, repr=False)
class LogEvaluation(Shown):
    """Off-policy estimates of the reward of a ranking per session, with confidence intervals.

    Attributes
    ----------
    estimates : dict from str to Interval
        Estimates by name of the estimator.
    effective_sample_size : float
        Number of sessions of the new ranker that would be as informative as the log.
    overlap : float
        Share of the new ranking's reward at documents that the log shows.
    reward : str, default="reward"
        Name of the reward.
    is_difference : bool, default=False
        Whether the estimates are differences from a baseline.

    Examples
    --------
    >>> print(LogEvaluation({"ips": Interval(0.5, 0.4, 0.6, level=0.95)}, 80.0, 1.0))
    ips              0.5000 (95 %: 0.4000 to 0.6000)
    effective sample size 80, overlap 100 %
    """

    estimates: dict[str, Interval]
    effective_sample_size: float
    overlap: float
    reward: str = "reward"
    is_difference: bool = False

    def chart(self) -> Intervals:
        """Return the estimates with their intervals as a chart, which :meth:`plot` draws."""
        ends = [interval.ends for interval in self.estimates.values()]
        label = f"{self.reward} per session" + ", minus the baseline" * self.is_difference
        reference = 0.0 if self.is_difference else None
        settings = {"reference": reference, "title": "Off-policy estimates"}
        return Intervals.of(self.estimates, ends, x=label, **settings)

    @check_arguments
    def plot(self, ax: Any = None) -> Any:
        """Plot the estimates with their confidence intervals; needs Matplotlib.

        Differences from a baseline are gray if the interval includes 0.

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
        rows = [[name, *interval.ends] for name, interval in self.estimates.items()]
        label = f"{self.reward} per session" + ", minus the baseline" * self.is_difference
        about = f"effective sample size {self.effective_sample_size:.0f}"
        title = f"Off-policy estimates of {label}: {about}, overlap {100 * self.overlap:.0f} %."
        return Table(title, ["estimator", "estimate", "low", "high"], rows)

    def __str__(self) -> str:
        """Return one line per estimate."""
        lines = [f"{name:16} {interval}" for name, interval in self.estimates.items()]
        about = f"effective sample size {self.effective_sample_size:.0f}"
        return "\n".join([*lines, f"{about}, overlap {100 * self.overlap:.0f} %"])


@check_arguments
def evaluate_from_log(
    log: ClickLog,
    scores: ArrayLike,
    *,
    baseline: ArrayLike | None = None,
    candidates: Items | None = None,
    reward: str | ArrayLike = "clicks",
    propensities: ArrayLike | None = None,
    relevance: ArrayLike | None = None,
    clip: Positive = 10.0,
    n_resamples: Several = 200,
    level: Level = 0.95,
    random_state: Seed = None,
) -> LogEvaluation:
    """Estimate the reward of a new ranker per session from the click log of an old one.

    Clicks are assumed to follow the position-based model: a click needs an examination, which
    depends on the position, and a relevant document. How often the old ranker shows a document is
    counted in the log, so each query needs several sessions. "policy_ips" and
    "policy_self_normalized" use the old ranker's logged probabilities instead; with
    ``reward="clicks"`` they need no click model.

    Parameters
    ----------
    log : ClickLog
        Sessions of the old ranker. If ``extra`` has "propensity", the probability with which the
        old ranker shows the document of each impression at its position, "policy_ips" and
        "policy_self_normalized" are estimated, too.
    scores : array-like of shape (n_candidates,)
        Scores of the new ranker for the documents that it may show, in the order of ``candidates``.
    baseline : array-like of shape (n_candidates,), default=None
        Scores of another ranker. The estimates are then differences from it.
    candidates : Items, default=None
        The documents that the new ranker may show; ``None`` is ``log.items``. Sessions of queries
        without candidates are left out, as if the log had only the others. So candidates may be the
        documents of held-out queries, to which the ranker was not fitted.
    reward : {"clicks", "dcg", "reciprocal_rank"} or array-like, default="clicks"
        Reward of a relevant document by position: the propensity of the position, so that the sum
        is the number of clicks; its DCG discount; 1 / position; or an array with the reward of each
        position from the first one. Positions beyond the array, or beyond the log's lists, have no
        reward. A position at which the log never shows a document, such as an ad slot, is skipped
        in the new ranking, too.
    propensities : array-like of shape (n_positions,), default=None
        Probability that users examine each position, or its ratio to that of the first one, which
        may be above 1; ``None`` estimates the ratios from the sessions of queries with candidates.
    relevance : array-like of shape (n_candidates,), default=None
        Probability of a click on each examined document, predicted by a model, such as
        ``relevance_`` of :class:`~treerank.clicks.relevance.ClickRelevance`. Adds "doubly_robust".
    clip : float, default=10.0
        Largest ratio of the reward of a document to its exposure, for "self_normalized" and
        "doubly_robust".
    n_resamples : int, default=200
        Number of groups of the jackknife. The change made by clipping counts as an error, too.
    level : float, default=0.95
        Coverage of the confidence intervals.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> from treerank.clicks import simulate_clicks
    >>> y, qid = np.tile([0, 0, 1], 4), np.repeat(np.arange(4), 3)
    >>> log = simulate_clicks(y, qid, -y, n_sessions=500, exploration=2.0, random_state=0)
    >>> scores = y[log.items.document]
    >>> evaluation = evaluate_from_log(log, scores, baseline=np.zeros(12), random_state=0)
    >>> evaluation.estimates["ips"].low > 0  # significantly more clicks than the baseline
    True
    """
    candidates = log.items if candidates is None else candidates
    ids = {"candidates.query": candidates.query, "candidates.document": candidates.document}
    refuse_other_order({**ids, "scores": scores, "baseline": baseline, "relevance": relevance})
    candidates = candidates.checked("candidates")
    log = _with_candidates(log, candidates)
    if len(log) < 2:
        raise ValueError(
            f"log must have at least 2 sessions of queries with candidates; got {len(log)}."
        )
    theta = SessionPropensities(log, propensities)
    n_groups = min(n_resamples, len(log))
    columns = {"scores": scores} | ({} if baseline is None else {"baseline": baseline})
    if relevance is not None:
        relevance = check_column("relevance", relevance, len(candidates), or_table=True)
    gaps = np.flatnonzero(log.n_at == 0)
    position_rewards = _without(gaps, rewards_of_positions(reward, theta.all_sessions))
    rankings = [
        Ranking.of(name, column, candidates, position_rewards) for name, column in columns.items()
    ]
    policy = _check_policy(log)
    log_sums = _LogSums(log, candidates, relevance, policy)
    unavailable = set(NEED_RELEVANCE_MODEL if relevance is None else ())
    unavailable |= set(NEED_LOGGING_POLICY if policy is None else ())
    names = [name for name in ESTIMATORS if name not in unavailable]
    all_sessions = np.ones(len(log), dtype=np.int64)
    theta_at = _without(gaps, theta.all_sessions)
    statistics = log_sums.statistics(all_sessions, rankings[0], theta_at, clip)
    overlap = _overlap(
        statistics, sorted({*NEED_RELEVANCE_MODEL, *NEED_LOGGING_POLICY} - unavailable)
    )

    def rewards(weights: np.ndarray, largest_ratio: float = clip) -> np.ndarray:
        """Return each estimate by weighted sessions, minus the baseline's if there is one."""
        propensity, by_ranking = theta.of(weights), []
        for ranking in rankings:
            ranking = ranking.rewarded(_without(gaps, rewards_of_positions(reward, propensity)))
            weighted = log_sums.statistics(
                weights, ranking, _without(gaps, propensity), largest_ratio
            )
            by_ranking.append(
                [float((ranking.reward * ESTIMATORS[name](weighted)).sum()) for name in names]
            )
        return np.asarray((by_ranking[0] - np.sum(by_ranking[1:], axis=0)) / weights.sum())

    estimates = rewards(all_sessions)
    errors = jackknife_errors(rewards, len(log), n_groups, check_random_state(random_state))
    errors = np.hypot(errors, rewards(all_sessions, np.inf) - estimates)  # the bias of clipping
    is_amount = baseline is None and bool((position_rewards >= 0).all())
    intervals = {
        name: confidence_interval(value, error, n_groups, level, is_amount=is_amount)
        for name, value, error in zip(names, estimates.tolist(), errors.tolist(), strict=True)
    }
    return LogEvaluation(
        intervals,
        log_sums.effective_sample_size(statistics, theta_at),
        overlap,
        reward=reward if isinstance(reward, str) else "reward",
        is_difference=baseline is not None,
    )


def _without(gaps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values by position without the positions ``gaps``, which show no document."""
    return np.delete(values, gaps[gaps < len(values)])


class _LogSums:
    """Sums over weighted sessions of a log, by candidate document.

    It is made from the log, the candidates, the predicted relevance of each candidate or None, and
    the logged probability of each impression or None.
    """

    def __init__(self, log, candidates, relevance, policy):
        document = candidates.rows_of(log.items)[log.item]
        is_candidate = document >= 0
        self.document, self.session = document[is_candidate], log.session[is_candidate]
        self.clicked = log.clicked[is_candidate].astype(np.float64)
        self.position = np.cumsum(log.n_at > 0)[log.position[is_candidate] - 1] - 1
        self.policy = None if policy is None else policy[is_candidate]
        self.n_documents = len(candidates)
        self.relevance = np.full(self.n_documents, np.nan) if relevance is None else relevance
        self.query, self.query_of_session = _queries(log, candidates)
        self.n_queries = int(max(self.query.max(), self.query_of_session.max())) + 1

    def statistics(
        self, session_weights: np.ndarray, ranking: Ranking, theta: np.ndarray, clip: float
    ) -> DocumentStatistics:
        """Return clicks, exposure and weights of each candidate document, summed over sessions.

        Parameters
        ----------
        session_weights : ndarray of shape (n_sessions,)
            How often each session counts.
        ranking : Ranking
            The ranking to evaluate, with the reward of each document.
        theta : ndarray
            Propensity of each position at which the log shows documents.
        clip : float
            Largest ``abs(reward) * weight``, at which inverse propensity weights are clipped.

        Returns
        -------
        DocumentStatistics
            Sums of matched clicks and impressions are NaN if the log has no policy.
        """
        weight, n, reward = session_weights[self.session], self.n_documents, ranking.reward
        examined = theta[self.position]
        clicks = np.bincount(self.document, weight * self.clicked, minlength=n)
        exposure = np.bincount(self.document, weight * examined, minlength=n)
        by_query = np.bincount(self.query_of_session, session_weights, minlength=self.n_queries)
        n_sessions = by_query[self.query]
        mean = np.divide(exposure, n_sessions, out=np.zeros(n), where=n_sessions > 0)
        ips_weight = np.divide(1.0, mean, out=np.zeros(n), where=mean > 0)
        largest = np.divide(clip, np.abs(reward), out=np.full(n, np.inf), where=reward != 0)
        counted = clicks, exposure, n_sessions, reward, ips_weight, np.minimum(ips_weight, largest)
        matched = [np.full(n, np.nan)] * 2
        if self.policy is not None:
            match = ranking.share_at(self.document, self.position) / self.policy
            matches = self.clicked * match / examined, match
            matched = [np.bincount(self.document, weight * x, minlength=n) for x in matches]
        return DocumentStatistics(*counted, self.relevance, *matched)

    def effective_sample_size(self, statistics: DocumentStatistics, theta: np.ndarray) -> float:
        """Return Kish's effective sample size, in sessions, by the inverse propensity weights.

        ``statistics`` sums over all sessions, and ``theta`` the propensities of positions.
        """
        ratio = np.abs(statistics.reward * statistics.ips_weight)
        impression_weight = ratio[self.document] * theta[self.position]
        weight = np.bincount(self.session, impression_weight, len(self.query_of_session))
        return float(weight.sum() ** 2 / (weight**2).sum()) if weight.any() else 0.0


def _check_policy(log: ClickLog) -> np.ndarray | None:
    """Return the logged probability of each impression, or None if the log has none.

    Refuses probabilities that are not above 0 and at most 1.
    """
    if _PROPENSITY not in log.extra:
        return None
    values = check_column(f"extra[{_PROPENSITY!r}]", log.extra[_PROPENSITY])
    wrong = (values <= 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        session = log.sessions[log.session[row : row + 1]].tolist()[0]
        raise ValueError(
            f"extra[{quote(_PROPENSITY)}] must be above 0 and at most 1; got "
            f"{quote(float(values[row]))} for {log.items.quote(log.item[row])} at position "
            f"{log.position[row]} in session {quote(session)}."
        )
    return values


def _with_candidates(log: ClickLog, candidates: Items) -> ClickLog:
    """Return the sessions of queries with candidates; refuse a log without any."""
    if {*log.query.tolist()}.isdisjoint(candidates.query.tolist()):
        rule = "candidates must be of queries of the log; got none of them, but such as"
        raise ValueError(f"{rule} {candidates.quote(0)}.")
    of_candidates, of_sessions = _queries(log, candidates)
    is_kept = np.isin(of_sessions, of_candidates)
    return log if is_kept.all() else log.taking(np.flatnonzero(is_kept))


def _queries(log: ClickLog, candidates: Items) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(codes of the candidates' queries, codes of the sessions' queries)``.

    Equal queries have equal codes.
    """
    # Not concatenated arrays: of integers with and without sign, NumPy makes floats, which round.
    codes = QueryGroups.from_qid([*candidates.query.tolist(), *log.query.tolist()]).codes
    return codes[: len(candidates)], codes[len(candidates) :]


def _overlap(statistics: DocumentStatistics, covering: list[str]) -> float:
    """Return the share of the reward at documents that the log shows; warn if it is small.

    ``covering`` are the estimators that also count documents that the log does not show.
    """
    reward = np.abs(statistics.reward) * statistics.n_sessions
    shown_reward = reward[statistics.exposure > 0]
    share = float(shown_reward.sum() / reward.sum()) if reward.any() else 1.0
    if share < 1 - _MOST_UNSHOWN:
        who = f"Only {quote(covering)} count them" if covering else "No estimate counts them"
        warn_user(
            f"The log never shows documents that hold {100 * (1 - share):.0f} % of the reward of "
            f"the new ranking. {who}."
        )
    return share
