"""Propensities from documents that were shown at several positions."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from treerank.clicks import (
    ClickCounts,
    ClickLog,
    estimate_propensities,
    evaluate_from_log,
    propensities,
)

TRUE = 1 / np.arange(1.0, 13.0)


def counts_of(shown, clicked):
    """Return counts of one query; the arguments have a row for each document."""
    document, slot = np.nonzero(shown)
    columns = {"document": document, "position": slot + 1, "query": ["q"] * len(slot)}
    cells = {"shown": shown[document, slot], "clicked": clicked[document, slot]}
    return ClickCounts.from_table(columns | cells)


def swapped_neighbors(share):
    """Return how often each document was shown where; a ``share`` of each was a position off."""
    shown = 1e7 * np.eye(len(TRUE))
    for k in range(len(TRUE) - 1):
        shown[[k, k + 1], [k + 1, k]] += share * 1e7
    return shown


@pytest.mark.parametrize("share", [0.1, 0.001])
def test_propensities_are_exact_where_only_neighbors_were_swapped_and_clicks_have_no_noise(share):
    shown = swapped_neighbors(share)
    relevance = np.random.default_rng(0).uniform(0.1, 0.9, size=(len(TRUE), 1))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Position bias can only be estimated")
        found = estimate_propensities(counts_of(shown, np.round(shown * relevance * TRUE)))
    np.testing.assert_allclose(found, TRUE, rtol=2e-3 if share < 0.1 else 2e-5)


def test_propensities_maximize_the_likelihood_of_clicks():
    rng = np.random.default_rng(1)
    shown = rng.poisson(swapped_neighbors(0.2) / 1e4)
    clicked = rng.binomial(shown, 0.5 * TRUE)
    clicks = clicked.sum(axis=1)

    def loss(logs):
        theta = np.exp(np.append(0.0, logs))
        return clicks @ np.log(shown @ theta) - clicked.sum(axis=0) @ np.log(theta)

    expected = minimize(loss, np.zeros(len(TRUE) - 1), options={"gtol": 1e-4}).x
    found = estimate_propensities(counts_of(shown, clicked))
    np.testing.assert_allclose(np.log(found[1:]), expected, atol=1e-3)


def test_positions_of_a_page_that_no_document_left_begin_as_the_page_before_ends():
    shown = np.kron(np.eye(2), np.full((3, 3), 900.0))
    counts = counts_of(shown, np.round(shown * TRUE[:6]))
    with pytest.warns(UserWarning, match=r"Position bias at 4 cannot be estimated"):
        found = estimate_propensities(counts)
    expected = [1, 1 / 2, 1 / 3, 1 / 3, 4 / 15, 2 / 9]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("is_clicked_above", [True, False])
def test_a_document_shown_at_two_positions_connects_them_only_if_clicks_say_how(is_clicked_above):
    """The likelihood has no maximum without a click of the moved document, or with one side's."""
    shown = np.array([[90, 0], [0, 90], [50, 50]])
    clicked = np.array([[30, 0], [0, 20], [9 * is_clicked_above, 0]])
    with pytest.warns(UserWarning, match=r"Position bias at 2 cannot be estimated"):
        found = estimate_propensities(counts_of(shown, clicked))
    assert found.tolist() == [1, 1]


def test_sessions_left_out_leave_the_propensities_of_the_others_in_fewer_steps(monkeypatch):
    n, k = 6000, 8
    documents, swapped = np.tile(np.arange(k), (n, 1)), np.arange(n // 4)
    first = np.random.default_rng(0).integers(k - 1, size=len(swapped))
    documents[swapped, first], documents[swapped, first + 1] = first + 1, first
    clicks = np.random.default_rng(1).random((n, k)) < 0.9 * TRUE[:k]
    position = np.tile(np.arange(1, k + 1), n)
    columns = np.repeat(np.arange(n), k), ["q"] * n * k, documents.ravel(), position
    log = ClickLog.from_columns(*columns, clicks.ravel())
    kept = np.random.default_rng(2).random(n) < 0.995
    steps, take = [], propensities._newton_step
    monkeypatch.setattr(propensities, "_newton_step", lambda *a: steps.append(0) or take(*a))
    expected = estimate_propensities(log.taking(np.flatnonzero(kept)))
    from_ones = len(steps)
    theta = propensities.SessionPropensities(log, None)
    steps.clear()
    found = theta.of(kept.astype(np.int64))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert len(steps) < from_ones


def test_unconnected_positions_are_named_where_few_documents_move_too():
    moved, fixed = np.kron(np.eye(2), np.full((3, 3), 9.0)), 900.0 * np.eye(6)
    for shown, starts in ((np.block([[moved], [fixed]]), ["at 4 cannot"]), (fixed, [])):
        with warnings.catch_warnings(record=True, action="always") as caught:
            estimate_propensities(counts_of(shown, shown / 3))
        first, *others = (str(warning.message) for warning in caught)
        assert first.startswith("Position bias can only be estimated from documents")
        assert [text[len("Position bias ") :][:11] for text in others] == starts


def test_a_position_with_clicks_in_one_session_alone_leaves_intervals_to_other_estimates():
    rng, n, k = np.random.default_rng(0), 200, 6
    documents = np.array([rng.permutation(k) for _ in range(n)])
    clicks = rng.random((n, k)) < (documents + 1) / 7 * TRUE[:k]
    clicks[:, -1] = False
    clicks[7, -1] = True
    session, position = np.repeat(np.arange(n), k), np.tile(np.arange(1, k + 1), n)
    columns = session, ["q"] * n * k, documents.ravel(), position, clicks.ravel()
    log = ClickLog.from_columns(*columns, extra={"propensity": np.full(n * k, 1 / k)})
    found = evaluate_from_log(log, log.items.document, random_state=0).estimates
    assert all(np.isfinite(interval.ends).all() for interval in found.values())
