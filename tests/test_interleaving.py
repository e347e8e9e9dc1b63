"""Interleaving: fair lists, and a test that finds the better ranker and no others."""

import numpy as np
import pytest

from treerank.clicks import interleaving_preference, optimized_interleaving, team_draft
from treerank.clicks.interleaving import lists_and_odds


def preference_of(better, n_sessions, seed):
    """Return the preference of users who click on relevant documents at the top."""
    rng = np.random.RandomState(seed)
    relevance = np.arange(10) < 3
    clicks = np.zeros((n_sessions, 2))
    for session in clicks:
        worse = rng.permutation(10)
        ranked = np.argsort(~relevance, kind="stable") if better else rng.permutation(10)
        documents, team = team_draft(worse, ranked, k=5, random_state=rng)
        clicked = rng.random_sample(5) < relevance[documents] / np.arange(1, 6)
        session += np.bincount(team[clicked], minlength=2)
    return interleaving_preference(*clicks.T)


def test_a_mixed_list_begins_with_the_best_of_either_ranker():
    firsts = [
        team_draft([1, 2, 3], [3, 2, 1], random_state=seed).documents[0] for seed in range(50)
    ]
    assert set(firsts) == {1, 3}


def test_each_ranker_places_as_many_documents_in_every_two_positions():
    for seed in range(20):
        found = team_draft(np.arange(20), np.arange(20)[::-1], k=10, random_state=seed)
        assert len(set(found.documents.tolist())) == 10
        assert (np.diff(found.team.reshape(-1, 2), axis=1) != 0).all()


def test_each_of_three_rankers_places_a_document_in_every_round():
    lists = [np.roll(np.arange(12), shift) for shift in (0, 4, 8)]
    orders = set()
    for seed in range(30):
        found = team_draft(*lists, k=12, random_state=seed)
        assert sorted(found.documents.tolist()) == list(range(12))
        assert (np.sort(found.team.reshape(-1, 3), axis=1) == [0, 1, 2]).all()
        orders.add(tuple(found.team[:3].tolist()))
    assert len(orders) == 6


def test_a_list_of_documents_without_an_id_is_named():
    with pytest.raises(ValueError, match=r"others\[0\] must not be missing"):
        team_draft([1], [2], [np.nan])


def test_the_best_of_three_rankers_wins_against_each_other():
    rng, relevance = np.random.RandomState(0), np.arange(10) < 3
    clicks = np.zeros((200, 3))
    for session in clicks:
        others = rng.permutation(10), rng.permutation(10)
        documents, team = team_draft(*others, np.arange(10), k=6, random_state=rng)
        clicked = rng.random_sample(6) < relevance[documents] / np.arange(1, 7)
        session += np.bincount(team[clicked], minlength=3)
    best = clicks[:, 2]
    assert all(interleaving_preference(best, clicks[:, i]).p_value < 0.01 for i in (0, 1))


def test_lists_may_differ_in_length_and_repeat_documents():
    found = team_draft(["a", "a"], ["b", "a", "c", "d"], k=10, random_state=0)
    assert sorted(found.documents.tolist()) == ["a", "b", "c", "d"]
    assert len(team_draft([], [], random_state=0).documents) == 0


def test_the_better_ranker_wins():
    found = preference_of(True, 200, 0)
    assert found.wins[1] > found.wins[0]
    assert found.p_value < 0.001


def test_rankers_that_are_alike_differ_rarely():
    p_values = [preference_of(False, 60, seed).p_value for seed in range(60)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.1


@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_random_clicks_prefer_no_ranker_at_any_position_of_an_optimized_list(k):
    rng = np.random.default_rng(k)
    for _ in range(12 // k + 1):
        first, second = (rng.permutation(k + 3)[:k] for _ in range(2))
        lists, credit, odds = lists_and_odds(first, second, k)
        table = np.array([[credit[document] for document in each] for each in lists])
        assert odds.sum() == pytest.approx(1)
        assert odds @ table == pytest.approx(np.zeros(k), abs=1e-9)
        for each in lists:
            taken = [{*ranking[:n]} for ranking in (first, second) for n in range(k + 1)]
            assert all(
                any(set(each[:n]) == one | two for one in taken for two in taken)
                for n in range(1, k + 1)
            )


def test_of_two_documents_in_opposite_order_both_lists_are_as_likely():
    lists, credit, odds = lists_and_odds(["a", "b"], ["b", "a"], 2)
    assert lists == [("a", "b"), ("b", "a")]
    assert credit == {"a": 0.5, "b": -0.5}
    assert odds == pytest.approx([0.5, 0.5])


def test_an_optimized_list_is_drawn_by_its_odds():
    lists, credit, odds = lists_and_odds([1, 2, 3], [3, 4, 1], 3)
    rng, seen = np.random.RandomState(0), dict.fromkeys(lists, 0)
    for _ in range(150):
        found = optimized_interleaving([1, 2, 3], [3, 4, 1], k=3, random_state=rng)
        seen[tuple(found.documents.tolist())] += 1
        assert found.credit.tolist() == [credit[each] for each in found.documents.tolist()]
    assert np.array([*seen.values()]) / 150 == pytest.approx(odds, abs=0.12)


def test_clicks_on_optimized_lists_find_the_better_ranker():
    rng, relevance, won = np.random.RandomState(0), np.arange(10) < 3, np.zeros(150)
    for session in range(150):
        found = optimized_interleaving(np.arange(10), rng.permutation(10), k=5, random_state=rng)
        clicked = rng.random_sample(5) < relevance[found.documents] / np.arange(1, 6)
        won[session] = found.credit[clicked].sum()
    assert interleaving_preference(won, np.zeros(150)).p_value < 0.001


def test_an_optimized_list_is_as_long_as_the_shorter_one():
    assert len(optimized_interleaving([], [7], random_state=0).documents) == 0
    for seed in range(5):
        found = optimized_interleaving([1, 2, 2], [3, 4, 5], random_state=seed)
        assert len(found.documents) == 2


def test_more_lists_than_can_be_weighed_are_refused():
    with pytest.raises(ValueError, match=r"k must be a whole number .*at most 10; got 11"):
        optimized_interleaving([1], [2], k=11)


def test_sessions_without_clicks_are_ties():
    assert interleaving_preference([0, 0], [0, 0]) == ((0, 0), 2, 1.0)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="other_clicks must have one entry per document"):
        interleaving_preference([1, 0], [1])
