import numpy as np
import pandas as pd
import pytest

from treerank.clicks import interleaving_preference, team_draft
from treerank.documents.queries import objects

pytestmark = pytest.mark.slow


def test_each_ranker_places_a_document_in_every_round():
    lists = [np.roll(np.arange(12), shift) for shift in (0, 6)]
    orders = set()
    for seed in range(30):
        found = team_draft(*lists, k=12, random_state=seed)
        assert sorted(found.documents.tolist()) == list(range(12))
        assert (np.sort(found.team.reshape(-1, 2), axis=1) == [0, 1]).all()
        orders.add(tuple(found.team[:4].tolist()))
    assert len(orders) == 4
    assert len(team_draft(*lists, k=5).documents) == 5


def test_lists_may_differ_in_length_and_repeat_documents():
    found = team_draft(["a", "a"], ["b", "a", "c", "d"], k=10, random_state=0)
    assert sorted(found.documents.tolist()) == ["a", "b", "c", "d"]
    assert len(team_draft([], [], random_state=0).documents) == 0
    with pytest.raises(ValueError, match=r"^second must not be missing"):
        team_draft([1], [np.nan])


@pytest.mark.parametrize("kind", [list, tuple, lambda ids: np.array(ids, dtype=object), pd.Series])
def test_ids_of_both_kinds_stay_what_they_are(kind):
    found = team_draft([1, 2], kind(["a", 2]), random_state=0)
    assert sorted(found.documents.tolist(), key=str) == [1, 2, "a"]
    both = team_draft([1, 2], ["1", "2"], random_state=0).documents.tolist()
    assert sorted(both, key=repr) == ["1", "2", 1, 2]
    assert team_draft([1, 2.0], [2, 1], random_state=0).documents.dtype.kind in "if"


@pytest.mark.parametrize("kind", [list, objects, pd.Series])
def test_ids_of_several_columns_are_tuples(kind):
    found = team_draft(kind([("ann", 1), ("ann", 2)]), [("ann", 2), ("ann", 1)], random_state=0)
    assert sorted(found.documents.tolist()) == [("ann", 1), ("ann", 2)]
    assert "('ann', 2)" in repr(found)
    mixed = team_draft(kind([("ann", 1)]), ["ann"], random_state=0).documents.tolist()
    assert sorted(mixed, key=str) == [("ann", 1), "ann"]


def test_the_better_ranker_wins_and_sessions_without_clicks_are_ties():
    rng, relevance, clicks = np.random.RandomState(0), np.arange(10) < 3, np.zeros((200, 2))
    for session in clicks:
        documents, team = team_draft(rng.permutation(10), np.arange(10), k=5, random_state=rng)
        clicked = rng.random_sample(5) < relevance[documents] / np.arange(1, 6)
        session += np.bincount(team[clicked], minlength=2)
    found = interleaving_preference(*clicks.T)
    assert found.wins[1] > found.wins[0]
    assert found.p_value < 0.001
    assert interleaving_preference([0, 0], [0, 0]) == ((0, 0), 2, 1.0)
