"""Evaluation from a log: what a new ranker would earn, from clicks on the lists of an old one.

Errors of estimates from a log, by the parts of its sessions that are left out (jackknife).

Whatever an estimate needs is estimated anew without each part. A bootstrap draws no session that
shows a rare document anew, so it takes estimates of few impressions for too certain; leaving
sessions out does not. Amounts such as clicks are skewed, so their intervals are even in logarithms.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils import check_random_state

from treerank.checks import check_column, quote, warn_user
from treerank.clicks.estimators import ESTIMATORS, NEED_LOGGED, NEED_RELEVANCE, ItemSums
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.propensities import SessionPropensities
from treerank.clicks.rewards import Ranking, worth_of_positions
from treerank.documents.queries import QueryGroups
from treerank.parameters import Level, Positive, Seed, Several, check_arguments
from treerank.statistics.resampled import Interval


def left_out_errors(
    estimate: Callable[[np.ndarray], np.ndarray],
    n_sessions: int,
    n_parts: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Return standard errors; sessions are dealt to ``n_parts`` at random.

    ``estimate`` returns estimates where each session counts so many times, 0 or 1.
    """
    part = rng.permutation(n_sessions) % n_parts
    found = [estimate((part != p).astype(np.int64)) for p in range(n_parts)]
    return np.asarray(np.sqrt((n_parts - 1) * np.var(found, axis=0)))


def interval_of(
    value: float, error: float, n_parts: int, level: float, *, is_amount: bool
) -> Interval:
    """Return the interval of an estimate; that of an amount, never negative, is skewed."""
    reach = float(stats.t.ppf((1 + level) / 2, n_parts - 1)) * error
    if is_amount and value > 0:
        ratio = reach / value
        low, high = np.exp(-ratio), np.exp(min(ratio, 1)) * max(ratio, 1)  # soon a straight line
        return Interval(value, value * float(low), value * float(high), level)
    return Interval(value, value - reach, value + reach, level)


#: Name of the extra column of a log that holds logged propensities.
_LOGGED = "propensity"
#: Share of the new exposure that may be unknown without a warning.
_FREE_SHARE = 0.05


@dataclass(frozen=True)
class LogEvaluation:
    """Estimates of what a ranking earns in a session, with intervals.

    Attributes
    ----------
    estimates : dict from str to Interval
        Estimates by name of the estimator.
    effective_sample_size : float
        Number of sessions of the new ranker that would tell as much.
    overlap : float
        Share of the worth of the new ranking that stands at documents that the log shows.

    Examples
    --------
    >>> print(LogEvaluation({"ips": Interval(0.5, 0.4, 0.6, level=0.95)}, 80.0, 1.0))
    ips              0.5000 (95 %: 0.4000 to 0.6000)
    effective sample size 80, overlap 100 %
    """

    estimates: dict[str, Interval]
    effective_sample_size: float
    overlap: float

    def __str__(self) -> str:
        """Return a line for each estimate."""
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
    """Estimate what a new ranker would earn in a session, from the log of an old one.

    Clicks are taken to follow a position-based model: they need an examination, which depends on
    the position, and a relevant document. How often the old ranker shows a document is counted, so
    queries need several sessions each. "policy_ips" and "policy_self_normalized" do not count, but
    need the old ranker's own probabilities; for clicks they do without a model of clicks, too.

    Parameters
    ----------
    log : ClickLog
        Sessions of the old ranker. If ``extra`` has "propensity", the probability that it shows the
        document of each impression at its position, "policy_ips" and "policy_self_normalized" are
        estimated, too.
    scores : array-like of shape (n_candidates,)
        Scores of the new ranker for the documents that it may show.
    baseline : array-like of shape (n_candidates,), default=None
        Scores of another ranker. The estimates are then differences to it.
    candidates : Items, default=None
        These documents; ``None`` is ``log.items``.
    reward : {"clicks", "dcg", "reciprocal_rank"} or array-like, default="clicks"
        What a relevant document earns by its position: the propensity of the position, so that the
        sum is the number of clicks; its discount in DCG; 1 / position; or a number for each
        position from the first one. Other positions earn nothing. A position at which the log
        never shows a document, such as that of an ad, holds none of a new ranking either: the next
        document stands behind it.
    propensities : array-like of shape (n_positions,), default=None
        Probability that each position is examined by users; ``None`` estimates them.
    relevance : array-like of shape (n_candidates,), default=None
        Probability of a click on each document once it is examined, from elsewhere, such as
        ``relevance_`` of :class:`~treerank.clicks.relevance.ClickRelevance`. "doubly_robust" is
        estimated if it is given.
    clip : float, default=10.0
        Largest ratio of the worth of a document to its exposure, for "self_normalized" and
        "doubly_robust".
    n_resamples : int, default=200
        Number of logs for the intervals: each is without another part of the sessions, and its
        propensities are estimated anew. What clipping changes counts as an error, too.
    level : float, default=0.95
        Share of intervals that hold the true value.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> from treerank.clicks import simulate_clicks
    >>> y, qid = np.tile([0, 0, 1], 4), np.repeat(np.arange(4), 3)
    >>> log = simulate_clicks(y, qid, -y, n_sessions=500, exploration=2.0, random_state=0)
    >>> found = evaluate_from_log(log, y[log.items.document], baseline=np.zeros(12), random_state=0)
    >>> found.estimates["ips"].low > 0  # the new ranker earns more clicks
    True
    """
    candidates = log.items if candidates is None else candidates.checked("candidates")
    theta = SessionPropensities(log, propensities)
    if len(log) < 2:
        raise ValueError(f"log must have at least 2 sessions; got {len(log)}.")
    n_parts = min(n_resamples, len(log))
    columns = {"scores": scores} | ({} if baseline is None else {"baseline": baseline})
    if relevance is not None:
        relevance = check_column("relevance", relevance, len(candidates))
    gaps = np.flatnonzero(log.n_at == 0)
    worth_at = _without(gaps, worth_of_positions(reward, theta.whole))
    rankings = [Ranking.of(name, column, candidates, worth_at) for name, column in columns.items()]
    logged = _check_logged(log)
    sums = _Sums(log, candidates, relevance, logged)
    unknown = set(NEED_RELEVANCE if relevance is None else ())
    unknown |= set(NEED_LOGGED if logged is None else ())
    names = [name for name in ESTIMATORS if name not in unknown]
    once = np.ones(len(log), dtype=np.int64)
    theta_at = _without(gaps, theta.whole)
    whole = sums.of(once, rankings[0], theta_at, clip)
    overlap = _overlap(whole, sorted({*NEED_RELEVANCE, *NEED_LOGGED} - unknown))

    def values(copies: np.ndarray, most: float = clip) -> np.ndarray:
        """Return each estimate, less that of the baseline if there is one."""
        of_copies, found = theta.of(copies), []
        for each in rankings:
            ranking = each.earning(_without(gaps, worth_of_positions(reward, of_copies)))
            by = sums.of(copies, ranking, _without(gaps, of_copies), most)
            found.append([float((ranking.worth * ESTIMATORS[n](by)).sum()) for n in names])
        return np.asarray((found[0] - np.sum(found[1:], axis=0)) / copies.sum())

    estimates = values(once)
    errors = left_out_errors(values, len(log), n_parts, check_random_state(random_state))
    errors = np.hypot(errors, values(once, np.inf) - estimates)  # clipping may be a bias
    is_amount = baseline is None and worth_at.min() >= 0
    about = zip(names, estimates.tolist(), errors.tolist(), strict=True)
    found = {
        name: interval_of(value, error, n_parts, level, is_amount=is_amount)
        for name, value, error in about
    }
    return LogEvaluation(found, sums.effective_sample_size(whole, theta_at), overlap)


def _without(gaps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of positions but for those that show no document."""
    return np.delete(values, gaps[gaps < len(values)])


class _Sums:
    """Sums over sessions by item, for any number of copies of each session of the log."""

    def __init__(self, log, candidates, relevance, logged):
        item = candidates.rows_of(log.items)[log.item]
        known = item >= 0
        self.item, self.session = item[known], log.session[known]
        self.clicked = log.clicked[known].astype(np.float64)
        self.place = np.cumsum(log.n_at > 0)[log.position[known] - 1] - 1
        self.logged = None if logged is None else logged[known]
        self.n_items = len(candidates)
        self.relevance = np.full(self.n_items, np.nan) if relevance is None else relevance
        self.query, self.query_of_session = _queries(log, candidates)
        self.n_queries = int(max(self.query.max(), self.query_of_session.max())) + 1

    def of(self, copies: np.ndarray, ranking: Ranking, theta: np.ndarray, clip: float) -> ItemSums:
        """Return the sums where each session counts so many times."""
        weight, n_items, worth = copies[self.session], self.n_items, ranking.worth
        exposed = theta[self.place]
        clicks = np.bincount(self.item, weight * self.clicked, minlength=n_items)
        exposure = np.bincount(self.item, weight * exposed, minlength=n_items)
        by_query = np.bincount(self.query_of_session, copies, minlength=self.n_queries)
        sessions = by_query[self.query]
        mean = np.divide(exposure, sessions, out=np.zeros(n_items), where=sessions > 0)
        inverse = np.divide(1.0, mean, out=np.zeros(n_items), where=mean > 0)
        most = np.divide(clip, np.abs(worth), out=np.full(n_items, np.inf), where=worth != 0)
        about = clicks, exposure, sessions, worth, inverse, np.minimum(inverse, most)
        matched = [np.full(n_items, np.nan)] * 2
        if self.logged is not None:
            match = ranking.share_at(self.item, self.place) / self.logged
            matches = self.clicked * match / exposed, match
            matched = [np.bincount(self.item, weight * x, minlength=n_items) for x in matches]
        return ItemSums(*about, self.relevance, *matched)

    def effective_sample_size(self, sums: ItemSums, theta: np.ndarray) -> float:
        """Return the number of sessions that weigh alike and tell as much."""
        ratio = np.abs(sums.worth * sums.weight)
        of_session = ratio[self.item] * theta[self.place]
        weight = np.bincount(self.session, of_session, len(self.query_of_session))
        return float(weight.sum() ** 2 / (weight**2).sum()) if weight.any() else 0.0


def _check_logged(log: ClickLog) -> np.ndarray | None:
    """Return the logged propensity of each impression; ``None`` where there are none."""
    if _LOGGED not in log.extra:
        return None
    values = check_column(f"extra[{_LOGGED!r}]", log.extra[_LOGGED])
    wrong = (values <= 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        session = log.sessions[log.session[row : row + 1]].tolist()[0]
        raise ValueError(
            f"extra[{_LOGGED!r}] must be above 0 and at most 1; got {float(values[row])!r} for "
            f"{log.items.quote(log.item[row])} at position {log.position[row]} in session "
            f"{quote(session)}."
        )
    return values


def _queries(log: ClickLog, candidates: Items) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for the query of each candidate, and of each session."""
    if {*log.query.tolist()}.isdisjoint(candidates.query.tolist()):
        rule = "candidates must be of queries of the log; got none of them, but such as"
        raise ValueError(f"{rule} {candidates.quote(0)}.")
    codes = QueryGroups.from_qid(np.concatenate([candidates.query, log.query])).codes
    return codes[: len(candidates)], codes[len(candidates) :]


def _overlap(sums: ItemSums, others: list[str]) -> float:
    """Return the share of worth at documents that the log shows; warn where it is small."""
    worth = np.abs(sums.worth) * sums.sessions
    share = float(worth[sums.exposure > 0].sum() / worth.sum()) if worth.any() else 1.0
    if share < 1 - _FREE_SHARE:
        who = f"Only {quote(others)} count them" if others else "No estimate counts them"
        warn_user(
            f"The log never shows documents that hold {100 * (1 - share):.0f} % of the worth of "
            f"the new ranking. {who}."
        )
    return share
