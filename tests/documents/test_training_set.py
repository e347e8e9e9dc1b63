import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.training_set import global_indices_of, training_set
from treerank.objectives.pairs.rules import GivenPairs
from treerank.workers import Workers

N = 40
rng = np.random.default_rng(0)
X = rng.integers(3, size=(N, 2)).astype(float)  # equal rows on purpose
QID = rng.integers(5, size=N)
PAIRS = np.argwhere(np.triu(QID[:, None] == QID, 1))
PAIRS = np.column_stack([PAIRS, rng.random(len(PAIRS)), rng.integers(2, size=len(PAIRS))])[::3]
Y, WEIGHT = rng.integers(3, size=N).astype(float), rng.integers(4, size=N).astype(float)
QUERY_WEIGHT = np.array([1.0, 2.0, 0.0, 0.5, 3.0])[QID]
COLUMNS = {"X": X, "y": Y, "qid": QID, "sample_weight": WEIGHT, "query_weight": QUERY_WEIGHT}


def in_training_order(X, y, qid, given_pairs=None, **columns):
    pairs = None
    if given_pairs is not None:
        pairs = GivenPairs.from_table(given_pairs, QueryGroups.from_qid(qid))
    return training_set(Rows(X), y, qid, pairs=pairs, **columns)


def content(data):
    """Everything that training may depend on, as comparable values."""
    columns = [data.X[data.rows], data.y, data.groups.codes, data.sample_weight, data.query_weight]
    if data.pairs is not None:
        columns += [data.pairs.i, data.pairs.j, data.pairs.weight, data.pairs.target]
    return [column.tolist() for column in columns if column is not None]


@pytest.mark.parametrize("seed", range(2))
def test_no_shuffle_of_rows_and_no_renaming_of_queries_changes_anything(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(N)
    changed = {name: values[order] for name, values in COLUMNS.items()}
    pairs = PAIRS[::-1].copy()
    pairs[:, :2] = np.argsort(order)[pairs[:, :2].astype(int)]
    names = np.array(["c", "a", "e", "b", "d"])[rng.permutation(5)]
    changed["qid"] = names[changed["qid"]]
    expected = in_training_order(**COLUMNS, given_pairs=PAIRS)
    assert content(in_training_order(**changed, given_pairs=pairs)) == content(expected)


def test_equal_documents_with_another_second_label_are_other_rows():
    rng = np.random.default_rng(1)
    labels, order = {"a": Y, "b": rng.permutation(N) / N}, rng.permutation(N)
    data = in_training_order(X, Y, QID, labels=labels)
    shuffled = {name: label[order] for name, label in labels.items()}
    again = in_training_order(X[order], Y[order], QID[order], labels=shuffled)
    assert again.labels["b"].tolist() == data.labels["b"].tolist()


def test_equal_documents_at_other_positions_are_other_rows():
    rng = np.random.default_rng(0)
    y, position, order = Y > 1, rng.integers(1, 9, size=N), rng.permutation(N)
    data = in_training_order(X, y, QID, position=position)
    again = in_training_order(X[order], y[order], QID[order], position=position[order])
    assert data.position.tolist() == position[data.rows].tolist() == again.position.tolist()
    assert content(again) == content(data)


def test_every_row_keeps_what_belongs_to_it():
    data = in_training_order(**COLUMNS, given_pairs=PAIRS)
    for name in ("y", "sample_weight", "query_weight"):
        np.testing.assert_array_equal(getattr(data, name), COLUMNS[name][data.rows])
    named = set(zip(data.groups.codes, QID[data.rows], strict=True))
    assert len(named) == data.groups.n_queries
    pairs = data.pairs
    back = np.column_stack([data.rows[pairs.i], data.rows[pairs.j], pairs.weight, pairs.target])
    assert {tuple(pair) for pair in back} <= {tuple(pair) for pair in PAIRS}


def test_rows_of_weight_zero_and_their_pairs_are_gone():
    data = in_training_order(**COLUMNS, given_pairs=PAIRS)
    kept = (WEIGHT > 0) & (QUERY_WEIGHT > 0)
    assert sorted(data.rows) == np.flatnonzero(kept).tolist()
    assert data.groups.codes.max() + 1 == data.groups.n_queries == 4
    i, j = PAIRS[:, :2].astype(int).T
    assert len(data.pairs.i) == (kept[i] & kept[j]).sum()


@pytest.mark.parametrize("weight", [None, "sample_weight", "query_weight"])
@pytest.mark.parametrize("heavy", [1.0, 2.0])
def test_some_queries_are_the_training_set_of_these_alone(weight, heavy):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 3)), np.repeat(np.arange(12), 10)
    y, some = rng.integers(0, 3, 120).astype(float), qid % 3 > 0
    weights = {} if weight is None else {weight: np.where(some, heavy, 3.0)}
    data = training_set(Rows(X), y, qid, **weights)
    chosen = some[data.rows[data.groups.indptr[:-1]]]
    found = data.take_queries(chosen)
    expected = training_set(
        Rows(X[some]), y[some], qid[some], **{name: w[some] for name, w in weights.items()}
    )
    np.testing.assert_array_equal(found.features, expected.features)
    np.testing.assert_array_equal(found.groups.indptr, expected.groups.indptr)
    for name in ("y", "sample_weight", "query_weight", "query_hashes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name, values in expected.queries.as_state().items():
        np.testing.assert_array_equal(getattr(found.queries, name), values)


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_documents_of_several_workers_are_counted_by_query_hash_and_size(n_workers):
    rng = np.random.default_rng(n_workers)
    sizes = [rng.integers(1, 5, 6) for _ in range(n_workers)]
    hashes = [rng.permutation(100).astype(np.uint64)[:6] for _ in range(n_workers)]
    barrier, shown = threading.Barrier(n_workers), [None] * n_workers

    class Worker(Workers):
        def __init__(self, rank):
            self.rank, self.world_size = rank, n_workers

        def gather(self, values):
            shown[self.rank] = values
            barrier.wait(10)
            all_values = list(shown)
            barrier.wait(10)
            return all_values

        def join(self, values):
            return np.concatenate(self.gather(values))

    def indices(rank):
        groups = QueryGroups(None, np.append(0, np.cumsum(sizes[rank])))
        documents = Rows(np.zeros((sizes[rank].sum(), 1)), workers=Worker(rank))
        return global_indices_of(documents, groups, hashes[rank]).tolist()

    with ThreadPoolExecutor(n_workers) as pool:
        found = list(pool.map(indices, range(n_workers)))
    queries = [(hashes[r][q], sizes[r][q], r, q) for r in range(n_workers) for q in range(6)]
    expected, first = [{} for _ in range(n_workers)], 0
    for _, size, rank, query in sorted(queries):
        expected[rank][query] = range(first, first + size)
        first += size
    for rank in range(n_workers):
        assert found[rank] == [index for q in range(6) for index in expected[rank][q]]
