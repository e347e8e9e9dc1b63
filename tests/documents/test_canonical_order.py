import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from treerank.documents.canonical_order import canonical_order, row_hashes
from treerank.documents.queries import QueryGroups

# Hashes are meant to overflow; only interpreted kernels (NUMBA_DISABLE_JIT=1) warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")


def make_data(n_documents=300, n_features=5, n_queries=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_documents, n_features)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = rng.integers(0, n_queries, n_documents)
    return X, rng.integers(0, 3, n_documents).astype(float), qid, rng.random(n_documents)


def in_canonical_order(X, y, qid, weight):
    groups, _ = canonical_order(X, QueryGroups.from_qid(qid, len(X)), y, weight)
    return X[groups.order], y[groups.order], weight[groups.order], groups.indptr


def plain_row_hash(row):
    def mix(bits):
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) % 2**64
        return bits ^ (bits >> 31)

    total = 0
    for column, value in enumerate(row):
        key = ((column + 1) * 0x9E3779B97F4A7C15) % 2**64
        bits = int(np.float64(value).view(np.uint64))
        total += mix(bits ^ key)
    return total % 2**64


def test_row_hashes_are_those_of_plain_python():
    X, y, _, weight = make_data(n_documents=20)
    X = np.nan_to_num(X, nan=7.0) + 0.0
    expected = [plain_row_hash(row) for row in np.column_stack([X, y, weight])]
    assert row_hashes(X, y, weight).tolist() == expected


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, csr_matrix])
def test_a_row_has_the_same_hash_alone_as_among_many(layout):
    X = np.random.default_rng(0).normal(size=(70_000, 2))
    y = np.arange(70_000.0)
    hashes = row_hashes(layout(X), y)
    assert len(np.unique(hashes)) == len(X)
    for rows in ([0, 4095], [4096, 8191], [65_535, 65_536], [69_999]):
        np.testing.assert_array_equal(hashes[rows], row_hashes(layout(X[rows]), y[rows]))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_shuffle_and_any_naming_of_queries_give_the_same_rows_in_the_same_order(seed):
    X, y, qid, weight = make_data()
    rng = np.random.default_rng(seed)
    shuffle, names = rng.permutation(len(X)), rng.permutation(100)
    expected = in_canonical_order(X, y, qid, weight)
    actual = in_canonical_order(X[shuffle], y[shuffle], names[qid[shuffle]], weight[shuffle])
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "integer"])
def test_layout_and_type_do_not_matter(layout):
    X, y, _, _ = make_data(n_documents=5000)
    X = np.nan_to_num(X).round()
    same = {
        "C": X.copy(),
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "float32": X.astype(np.float32),
        "integer": X.astype(np.int64),
    }[layout]
    np.testing.assert_array_equal(row_hashes(same, y), row_hashes(X, y))


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_row_hashes_as_the_dense_one(index_type, dtype):
    X, y, _, _ = make_data(n_documents=50)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.7, 0, X).astype(dtype)
    X[7], X[8] = 0, 1
    sparse = csr_matrix(X)
    sparse.indices = sparse.indices.astype(index_type)
    sparse.indptr = sparse.indptr.astype(index_type)
    np.testing.assert_array_equal(row_hashes(sparse, y), row_hashes(X, y))
    sparse.data[sparse.indptr[8]] = 0  # stored, but a zero all the same
    X[8, 0] = -0.0
    np.testing.assert_array_equal(row_hashes(sparse, y), row_hashes(X, y))


def test_numbers_that_are_equal_hash_equal_whatever_their_bits():
    other_nan = np.array([0xFFF8000000000123], dtype=np.uint64).view(np.float64)[0]
    hashes = row_hashes(np.array([[0.0, np.nan], [-0.0, other_nan], [-np.nan, 0.0]]))
    assert hashes[0] == hashes[1] != hashes[2]


def test_trading_a_value_between_rows_of_a_query_changes_its_place():
    # The sums over (row, column) cells are equal; only mixing row hashes tells the two apart.
    straight, crossed = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    X, qid = np.vstack([straight, crossed]), np.array([0, 0, 1, 1])
    orders = []
    for shuffle in (np.array([0, 1, 2, 3]), np.array([2, 3, 0, 1])):
        groups, _ = canonical_order(X[shuffle], QueryGroups.from_qid(qid), np.zeros(4))
        orders.append(X[shuffle][groups.order])
    np.testing.assert_array_equal(*orders)


def test_weights_may_be_absent_and_the_data_empty():
    X, y, qid, _ = make_data(n_documents=10)
    groups = QueryGroups.from_qid(qid)
    expected, _ = canonical_order(X, groups, y)
    np.testing.assert_array_equal(canonical_order(X, groups, y, None)[0].order, expected.order)
    nothing, _ = canonical_order(X[:0], QueryGroups.from_qid(None, 0), y[:0])
    assert nothing.n_documents == 0
