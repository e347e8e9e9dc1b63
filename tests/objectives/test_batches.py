"""Batches hold every row once, never mix queries wrongly, and price what the whole would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.documents.queries import QueryGroups
from treerank.objectives import make_objective
from treerank.objectives.batches import deal, query_batches, taken


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    batch_size=st.integers(1, 40),
    seed=st.integers(0, 9),
)
def test_every_row_is_dealt_once_and_no_batch_is_too_large(sizes, batch_size, seed):
    qid = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(seed)
    groups = QueryGroups.from_qid(rng.permutation(qid))
    batches = list(deal(groups, batch_size, rng))
    assert sorted(np.concatenate(batches)) == list(range(len(qid)))
    assert max(len(rows) for rows in batches) <= batch_size
    for rows in batches:  # rows of a query stand together
        code = groups.codes[rows]
        assert len(np.unique(code)) == 1 + np.count_nonzero(np.diff(code))


def test_batches_are_filled_as_far_as_whole_queries_go():
    groups = QueryGroups.from_qid(np.repeat(np.arange(8), 3))
    for batch_size, expected in ((3, [3] * 8), (6, [6] * 4), (8, [6] * 4), (9, [9, 9, 6])):
        rng = np.random.default_rng(0)
        assert [len(rows) for rows in deal(groups, batch_size, rng)] == expected


@pytest.mark.parametrize("batch_size", [10, 20])
def test_a_large_query_is_dealt_anew_every_time(batch_size):
    objective = make_objective(np.arange(40) % 3)
    before = objective.groups.order.copy()
    rng = np.random.default_rng(0)
    deals = [list(query_batches(objective, batch_size, rng)) for _ in range(2)]
    first, second = ({frozenset(batch.rows.tolist()) for batch in deal} for deal in deals)
    assert not first & second
    np.testing.assert_array_equal(objective.groups.order, before)


def test_a_piece_of_a_query_costs_what_its_own_pairs_cost():
    y, scores = np.array([2.0, 0, 1, 0, 2]), np.array([0.1, 0.5, -0.3, 0.0, 0.2])
    rows = np.array([4, 1, 2])
    found, expected = taken(make_objective(y), rows), make_objective(y[rows])
    np.testing.assert_allclose(found(scores[rows])[1], expected(scores[rows])[1], atol=1e-14)


def test_given_pairs_go_with_their_queries():
    table = [[1, 0, 2.0, 0.75], [3, 4, 1.0, 1.0], [0, 1, 1.0, 0.5], [2, 5, 3.0, 0.0]]
    qid, scores = [0, 0, 1, 2, 2, 1], np.linspace(-1, 2, 6)
    objective = make_objective(np.zeros(6), qid, given_pairs=table)
    expected = objective(scores)[1]
    batches = list(query_batches(objective, 4, np.random.default_rng(0)))
    assert len(batches) == 2
    for batch in batches:
        found = batch.objective(scores[batch.rows])[1]
        np.testing.assert_allclose(found, expected[batch.rows], atol=1e-14)


class Foreign:
    """An objective of the user's own."""

    n_outputs = 1
    groups = QueryGroups.from_qid(["a", "a", "a", "b"])

    def taking(self, rows, groups):
        return rows.tolist(), groups.indptr.tolist()


def test_an_objective_of_the_users_own_is_given_rows_and_their_queries():
    assert taken(Foreign(), np.array([3])) == ([3], [0, 1])
    assert taken(Foreign(), np.array([3, 0, 2])) == ([3, 0, 2], [0, 1, 3])


def test_queries_that_fit_keep_the_order_of_their_rows():
    groups = QueryGroups.from_qid(np.repeat(np.arange(30), 20))
    for rows in deal(groups, 40, np.random.default_rng(0)):
        assert set(np.diff(rows.reshape(-1, 20)).ravel().tolist()) == {1}
