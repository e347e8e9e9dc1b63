import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.corpus.make import propensities
from treerank.clicks import ClickLog, Items, evaluate_from_log, simulate_clicks
from treerank.clicks.off_policy import ESTIMATORS, NEED_LOGGING_POLICY, REWARDS, Ranking
from treerank.clicks.propensities import estimate_propensities

pytestmark = pytest.mark.slow

Y = np.array([0, 3, 1, 2, 0, 1] * 5)
QID = np.repeat(np.arange(5), 6)
THETA = 1 / np.arange(1.0, 5.0)
#: Scores without equal ones, in which no query has its documents in the best order.
SCORES = Y - 0.7 * np.arange(30) % 3 + np.arange(30) / 100
#: Probability of a click on each document once it is examined.
RELEVANCE = 0.1 + 0.9 * (2.0**Y - 1) / 7
DISCOUNT = 1 / np.log2(np.arange(2.0, 6.0))
#: Options of estimates whose intervals do not matter.
QUICK = {"propensities": THETA, "n_resamples": 2, "random_state": 0}


def drawn(n_sessions, seed, **options):
    return simulate_clicks(
        Y, QID, -Y, n_sessions=n_sessions, n_positions=4, exploration=2.0, random_state=seed
    )


def truth(scores, worth):
    return (in_order_of(scores)[:, : len(worth)] * worth).sum(axis=1).mean()


def in_order_of(scores):
    """Return the relevance of the documents of each query, best first."""
    return RELEVANCE[np.lexsort((-np.asarray(scores), QID)).reshape(5, 6)]


def test_equal_scores_share_what_their_positions_earn():
    ties = Ranking.of("scores", np.zeros(30), Items(QID, np.arange(30)), THETA)
    assert ties.reward == pytest.approx(np.full(30, THETA.sum() / 6))


def everything(log, scores, **options):
    """Return all estimates, given the true relevance and what the old ranker logs."""
    options |= {"candidates": Items(QID, np.arange(30)), "relevance": RELEVANCE}
    return evaluate_from_log(with_propensities(log), scores, **options).estimates


#: Probability of each document at each place, as scores with Gumbel noise draw it.
SCORED = {"scores": (-Y[:6]).tolist(), "temperature": float(2 * Y.std()), "k": 6}
POLICY = np.tile(propensities(SCORED), (5, 1))


def with_propensities(log):
    shown = log.items.document[log.item], log.position - 1
    return replace(log, extra={"propensity": POLICY[shown]})


@pytest.mark.parametrize(
    ("reward", "worth"),
    [("clicks", THETA), ("dcg", DISCOUNT), ([1, 0.5], [1, 0.5]), ([1, -1, 3, -3], [1, -1, 3, -3])],
)
def test_many_sessions_tell_the_truth(reward, worth):
    found = everything(drawn(4000, 0), SCORES, **QUICK, clip=1e6, reward=reward)
    expected, error = truth(SCORES, worth), 0.03 * truth(SCORES, np.abs(worth))
    assert set(found) == set(ESTIMATORS)
    for name, interval in found.items():
        assert interval.estimate == pytest.approx(expected, abs=error), name


@pytest.mark.parametrize("scores", [SCORES, np.zeros(30)])
def test_logged_propensities_tell_the_truth_where_nothing_can_be_counted(scores):
    with warnings.catch_warnings():  # a session of each query shows few documents
        warnings.simplefilter("ignore")
        logs = [everything(drawn(1, seed), scores, **QUICK) for seed in range(800)]
    expected = truth(SCORES, THETA) if scores.any() else RELEVANCE.mean() * THETA.sum()
    found = np.array([estimates["policy_ips"].estimate for estimates in logs])
    error = found.std() / np.sqrt(len(found))
    assert error < 0.07 * expected
    assert abs(found.mean() - expected) < 3 * error
    counted = np.mean([estimates["ips"].estimate for estimates in logs])
    assert counted < expected - 3 * error


def test_logged_propensities_need_no_model_of_clicks():
    log = drawn(4000, 0)
    trusting = log.with_clicks(log.clicked | (log.position == 2))  # whatever is shown there
    expected = 1 + truth(SCORES, THETA * [1, 0, 1, 1])
    found = [
        everything(trusting, SCORES, propensities=p, n_resamples=2)
        for p in (THETA, np.array([1.0, 0.9, 0.9, 0.9, np.nan]))  # one more than the log shows
    ]
    for estimates in found:
        assert estimates["policy_ips"].estimate == pytest.approx(expected, rel=0.03)
        assert estimates["ips"].estimate != pytest.approx(expected, rel=0.04)


def test_logged_propensities_are_in_a_column_of_the_log():
    log, scores = drawn(50, 0), SCORES[drawn(50, 0).items.document]
    assert not set(NEED_LOGGING_POLICY) & set(evaluate_from_log(log, scores, **QUICK).estimates)
    found = evaluate_from_log(with_propensities(log), scores, **QUICK)
    assert set(NEED_LOGGING_POLICY) <= set(found.estimates)
    never = replace(log, extra={"propensity": log.item * 0})
    with pytest.raises(
        ValueError, match=r"'propensity'\] must .* got 0.0 for \(0, \d\) at position"
    ):
        evaluate_from_log(never, scores, **QUICK)


def test_a_wrong_relevance_does_not_mislead_the_doubly_robust_estimate():
    log = drawn(4000, 0)
    options = QUICK | {"relevance": np.full(30, 0.9), "clip": 1e6}
    found = evaluate_from_log(log, Y[log.items.document], **options).estimates
    assert found["doubly_robust"].estimate == pytest.approx(truth(Y, THETA), rel=0.03)


def test_clipping_lowers_an_estimate_and_is_part_of_its_error():
    log = drawn(200, 0)
    loose, tight = (
        everything(log, Y, propensities=THETA, clip=clip, random_state=0) for clip in (1e6, 1.0)
    )
    tight, loose = tight["self_normalized"], loose["self_normalized"]
    assert tight.estimate < loose.estimate < tight.high


def test_a_baseline_makes_differences():
    log = drawn(4000, 0)
    items = log.items.document
    scores, other = Y[items], -Y[items]
    options = QUICK | {"n_resamples": 20}
    found = evaluate_from_log(log, scores, baseline=other, **options).estimates["ips"]
    assert found.estimate == pytest.approx(truth(Y, THETA) - truth(-Y, THETA), rel=0.05)
    assert found.low > 0
    same = evaluate_from_log(log, scores, baseline=scores, **options)
    assert same.estimates["ips"].estimate == 0


@pytest.mark.parametrize("propensities", [THETA, None])
def test_intervals_cover_the_truth(propensities):
    expected, held = truth(SCORES, THETA), dict.fromkeys(ESTIMATORS, 0)
    options = {"propensities": propensities, "reward": THETA, "n_resamples": 50}
    for seed in range(100):
        found = everything(drawn(30, seed), SCORES, **options, random_state=seed)
        for name in held:
            held[name] += found[name].low <= expected <= found[name].high
    assert {name: n for name, n in held.items() if n < 90} == {}


def test_a_log_of_one_session_has_no_intervals():
    log = drawn(1, 0).taking(np.array([0]))
    with pytest.raises(ValueError, match="at least 2 sessions of queries with candidates; got 1"):
        evaluate_from_log(log, np.zeros(30), propensities=THETA)


def test_the_old_ranking_needs_no_weights():
    old = np.random.default_rng(0).normal(size=30)
    log = simulate_clicks(Y, QID, old, n_sessions=500, n_positions=4, exploration=0, random_state=0)
    scores = old[log.items.document]
    found = evaluate_from_log(log, scores, propensities=THETA, n_resamples=20, random_state=0)
    assert found.estimates["ips"].estimate == pytest.approx(log.clicked.sum() / len(log))
    assert found.effective_sample_size == pytest.approx(len(log))
    assert found.overlap == 1.0


@pytest.mark.parametrize("propensities", [THETA, None])
@pytest.mark.parametrize("baseline", [None, -SCORES])
def test_sessions_of_queries_without_candidates_do_not_count(propensities, baseline):
    log = with_propensities(drawn(30, 0))
    held_out = QID >= 3

    def evaluated(log):
        return evaluate_from_log(
            log,
            SCORES[held_out],
            baseline=None if baseline is None else baseline[held_out],
            candidates=Items(QID[held_out], np.flatnonzero(held_out)),
            relevance=RELEVANCE[held_out],
            propensities=propensities,
            n_resamples=20,
            random_state=0,
        )

    query, document = log.items.query[log.item], log.items.document[log.item]
    columns = log.session, query, document, log.position, log.clicked, log.extra["propensity"]
    *columns, propensity = (column[query >= 3] for column in columns)
    cut = ClickLog.from_columns(*columns, extra={"propensity": propensity})
    assert len(cut) < len(log)
    assert evaluated(log) == evaluated(cut)
    with pytest.raises(ValueError, match="at least 2 sessions of queries with candidates; got 1"):
        evaluated(log.taking(np.append(np.flatnonzero(log.query < 3), log.query.argmax())))


def test_large_ids_with_and_without_sign_are_those_of_the_same_queries():
    log, estimates = drawn(200, 0), []
    for dtype, first in ((np.int64, 0), (np.int64, 2**53), (np.uint64, 2**53)):
        query = (log.items.query[log.item] + first).astype(dtype)
        columns = log.session, query, log.items.document[log.item], log.position, log.clicked
        candidates = Items(QID + first, np.arange(30))
        found = evaluate_from_log(
            ClickLog.from_columns(*columns), SCORES, candidates=candidates, **QUICK
        )
        estimates.append(found.estimates["ips"].estimate)
    assert estimates[0] == estimates[1] == estimates[2]


def test_documents_that_the_log_never_shows_are_a_warning():
    log = drawn(500, 0)
    shown_to_nobody = Items(np.append(QID, 0), np.arange(31))
    scores = np.append(Y, 9)
    with pytest.warns(UserWarning, match=r"never shows documents that hold \d+ % of the reward"):
        found = evaluate_from_log(log, scores, candidates=shown_to_nobody, propensities=THETA)
    assert found.overlap == pytest.approx(1 - 1 / (5 * THETA.sum()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": [1.0]}, "baseline must have one entry per document; got 1 for 30"),
        ({"relevance": [1.0]}, "relevance must have one entry per document; got 1 for 30"),
        ({"candidates": Items(QID + 77, np.arange(30))}, r"of the log; got none .* as \(77, 0\)"),
        ({"candidates": Items(QID.astype(str), np.arange(30))}, r"of the log; .* as \('0', 0\)"),
        (
            {"candidates": Items([*QID], [0] * 30)},
            "candidates must have each document of a query on",
        ),
        ({"reward": "money"}, r"reward must be one of \['clicks', 'dcg', 'reciprocal_r"),
        ({"propensities": [0.5, 0]}, r"propensities must be above 0 .* got 0.0 in row 1"),
        ({"propensities": [1.0]}, "propensities must have an entry for each of 4 positions; got 1"),
        ({"propensities": [1, np.nan, 1, 1]}, "propensities must be known at .* at position 2"),
        ({"propensities": [[0.5]]}, r"propensities must be one-dimensional; got shape \(1, 1\)"),
    ],
)
def test_bad_input_is_named(options, message):
    log = drawn(50, 0)
    with pytest.raises(ValueError, match=message):
        evaluate_from_log(log, **{"scores": np.zeros(30)} | options)


def test_estimated_propensities_above_1_are_those_that_are_estimated():
    log = drawn(200, 0)
    ids = log.session, log.items.query[log.item], log.items.document[log.item]
    position = np.array([2, 1, 3, 4])[log.position - 1]  # users look at the second one first
    log, options = ClickLog.from_columns(*ids, position, log.clicked), {"n_resamples": 2}
    found = estimate_propensities(log)
    assert found[1] > 1.5
    given = evaluate_from_log(log, Y[log.items.document], propensities=found, **options)
    estimated = evaluate_from_log(log, Y[log.items.document], **options)
    for name, interval in estimated.estimates.items():
        assert given.estimates[name].estimate == interval.estimate


@pytest.mark.parametrize("name", ["dcg", "reciprocal_rank"])
def test_rewards_in_an_array_are_those_of_the_positions_of_the_log(name):
    log = drawn(50, 0)
    rewards = REWARDS[name](np.arange(1.0, 11.0), None)
    given, named = (everything(log, SCORES, **QUICK, reward=reward) for reward in (rewards, name))
    assert given == named


def test_rewards_at_positions_that_show_no_document_alone_are_0():
    ids = ["a", "b"], ["q", "q"], ["x", "y"], [2, 2], [1, 1]
    found = evaluate_from_log(ClickLog.from_columns(*ids), [2, 1], reward=[1], propensities=[1, 1])
    assert found.estimates["ips"].ends == (0, 0, 0)


def test_an_ad_that_always_stands_at_one_position_changes_no_estimate():
    log = with_propensities(drawn(60, 0))
    ids = log.session, log.items.query[log.item], log.items.document[log.item]
    position = log.position + (log.position > 1)
    moved = ClickLog.from_columns(*ids, position, log.clicked, extra=log.extra)
    given = {"candidates": Items(QID, np.arange(30)), "relevance": RELEVANCE, "n_resamples": 5}
    expected = evaluate_from_log(log, SCORES, random_state=0, **given)
    assert evaluate_from_log(moved, SCORES, random_state=0, **given) == expected
    given |= {"propensities": np.insert(THETA, 1, np.nan), "reward": [1.0, 9.0, 0.5, 0.4, 0.3, 0.2]}
    found = evaluate_from_log(moved, SCORES, random_state=0, **given)
    given |= {"propensities": THETA, "reward": np.delete(given["reward"], 1)}
    assert found == evaluate_from_log(log, SCORES, random_state=0, **given)
