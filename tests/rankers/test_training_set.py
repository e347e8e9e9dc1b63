"""What is aligned with the rows stays aligned, whatever the order of rows."""

import numpy as np
import pytest

from treerank.rankers.training_set import training_set

N = 40


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(N, 2)).astype(float)  # equal rows on purpose
    qid = rng.integers(5, size=N)
    i, j = np.nonzero(np.triu(qid[:, None] == qid, 1))
    pairs = np.column_stack([i, j, rng.random(len(i)), rng.integers(2, size=len(i))])[::3]
    return {
        "X": X,
        "y": rng.integers(3, size=N).astype(float),
        "qid": qid,
        "sample_weight": rng.integers(4, size=N).astype(float),
        "query_weight": np.array([1.0, 2.0, 0.0, 0.5, 3.0])[qid],
        "given_pairs": pairs,
    }


def content(data):
    """Everything that training may depend on, as comparable values."""
    columns = [data.X[data.rows], data.y, data.groups.codes, data.sample_weight, data.query_weight]
    if data.pairs is not None:
        columns += [data.pairs.i, data.pairs.j, data.pairs.weight, data.pairs.target]
    return [column.tolist() for column in columns if column is not None]


@pytest.mark.parametrize("seed", range(2))
def test_no_shuffle_of_rows_and_no_renaming_of_queries_changes_anything(given, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(N)
    changed = {name: values[order] for name, values in given.items() if name != "given_pairs"}
    pairs = given["given_pairs"][::-1].copy()
    pairs[:, :2] = np.argsort(order)[pairs[:, :2].astype(int)]
    names = np.array(["c", "a", "e", "b", "d"])[rng.permutation(5)]
    changed["qid"] = names[changed["qid"]]
    assert content(training_set(**changed, given_pairs=pairs)) == content(training_set(**given))


def test_equal_documents_at_other_positions_are_other_rows(given):
    rng = np.random.default_rng(0)
    X, y, qid, position = given["X"], given["y"] > 1, given["qid"], rng.integers(1, 9, size=N)
    data = training_set(X, y, qid, position=position)
    order = rng.permutation(N)
    again = training_set(X[order], y[order], qid[order], position=position[order])
    assert data.position.tolist() == position[data.rows].tolist() == again.position.tolist()
    assert content(again) == content(data)


def test_every_row_keeps_what_belongs_to_it(given):
    data = training_set(**given)
    for name in ("y", "sample_weight", "query_weight"):
        np.testing.assert_array_equal(getattr(data, name), given[name][data.rows])
    named = set(zip(data.groups.codes, given["qid"][data.rows], strict=True))
    assert len(named) == data.groups.n_queries
    pairs = data.pairs
    back = np.column_stack([data.rows[pairs.i], data.rows[pairs.j], pairs.weight, pairs.target])
    assert {tuple(pair) for pair in back} <= {tuple(pair) for pair in given["given_pairs"]}


def test_rows_of_weight_zero_and_their_pairs_are_gone(given):
    data = training_set(**given)
    kept = (given["sample_weight"] > 0) & (given["query_weight"] > 0)
    assert sorted(data.rows) == np.flatnonzero(kept).tolist()
    assert data.groups.codes.max() + 1 == data.groups.n_queries == 4
    i, j = given["given_pairs"][:, :2].astype(int).T
    assert len(data.pairs.i) == (kept[i] & kept[j]).sum()
