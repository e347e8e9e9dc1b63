import lightgbm
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from treerank.documents.rows import Rows
from treerank.feature_parts.trees import bin_sample
from treerank.feature_parts.trees import lightgbm as lightgbm_trees
from treerank.feature_parts.trees import xgboost as xgboost_trees
from treerank.feature_parts.trees.bin_sample import quantile_rows, sample_of


def uneven_columns(n_rows):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 40))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 5] = rng.integers(0, 7, n_rows)
    X[:, 6] = np.maximum(X[:, 6], 0.3)  # most are equal
    X[:, 7] = np.round(X[:, 7], 1)
    X[:, 8] = np.nan
    X[:, 9] = -2.5
    X[:, 20] = np.minimum(X[:, 20], 0.3)
    X[rng.random(n_rows) < 0.4, 21] = 0
    X[:, 22] = np.where(X[:, 22] > 0, 1e-36, X[:, 22])
    return X


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_drawn", [200, 500])
def test_the_dataset_is_lightgbms_own_of_the_gathered_rows(tmp_path, monkeypatch, order, n_drawn):
    monkeypatch.setattr(lightgbm_trees.RowSequence, "batch_size", 70)
    X = np.asarray(uneven_columns(500), dtype=np.float32, order=order)
    rows = Rows(X, order=np.random.default_rng(1).permutation(500))
    options = {"params": {"verbosity": -1, "max_bin": 15, "bin_construct_sample_cnt": n_drawn}}
    ours = lightgbm_trees.make_dataset(rows, **options)
    theirs = lightgbm.Dataset(rows.array(), label=np.zeros(500, np.float32), **options)
    for name, dataset in (("ours", ours), ("theirs", theirs)):
        dataset.save_binary(tmp_path / name)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("n_rows", [200, 300])
def test_lightgbm_makes_trees_of_zeros_too(n_rows):
    rows = Rows(np.zeros((400, 2)), np.arange(n_rows)[::-1])
    params = {"verbosity": -1, "feature_pre_filter": False, "bin_construct_sample_cnt": 250}
    data = lightgbm_trees.make_dataset(rows, params=params)
    squares = {"objective": lambda scores, _: (scores - 1, np.ones(n_rows))}
    assert lightgbm.train(params | squares, data, 2).num_trees() == 1


def test_a_sample_is_drawn_of_many_rows_only(monkeypatch):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 200)
    few, many = Rows(np.arange(200.0)[:, None]), Rows(np.arange(2000.0)[:, None])
    assert sample_of(few, 0) is few
    drawn = sample_of(many, 0).array()[:, 0]
    assert 150 < len(drawn) < 250
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(sample_of(many, 0).array()[:, 0], drawn)
    assert len(np.setxor1d(sample_of(many, 1).array()[:, 0], drawn)) > 0


def pruned(values, n_bins):
    """Return what XGBoost's sketch keeps of values where it knows all of them (its SetPrune)."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(distinct) <= n_bins + 1:
        return distinct
    ends = np.cumsum(counts)
    starts, begin, i = ends - counts, ends[0], 0
    kept = [0]
    for k in range(1, n_bins):
        rank = begin + k * (starts[-1] - begin) // n_bins
        while i + 1 < len(ends) and 2 * rank >= starts[i + 1] + ends[i + 1]:
            i += 1
        kept.append(i if rank < ends[i] else i + 1)
    return distinct[np.unique([*kept, len(ends) - 1])]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_quantiles_are_what_an_exact_sketch_of_xgboost_keeps(n_threads):
    X = uneven_columns(3000)
    found = quantile_rows(Rows(X), 20, n_threads=n_threads)
    assert found.shape == (21, X.shape[1])
    for column, values in zip(found.T, X.T, strict=True):
        expected = pruned(values, 20)
        np.testing.assert_array_equal(column[: len(expected)], expected)
        assert np.isnan(column[len(expected) :]).all()


def test_quantiles_of_a_sparse_matrix_are_those_of_what_it_stores():
    X = np.nan_to_num(uneven_columns(500))
    stored = np.where(X == 0, np.nan, X)
    found = quantile_rows(Rows(csr_matrix(X)), 9)
    np.testing.assert_array_equal(found, quantile_rows(Rows(stored), 9))


def test_quantiles_of_integers_are_numbers():
    assert quantile_rows(Rows(np.array([[3], [1], [1]])), 4)[:3, 0].tolist()[:2] == [1.0, 3.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_xgboosts_bins_come_from_the_sample_and_hold_every_row(monkeypatch, sparse):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 200)
    X = uneven_columns(2000)
    X = csr_matrix(np.where(np.isnan(X), 0, X)) if sparse else X
    rows = Rows(X, np.random.default_rng(1).permutation(2000))
    matrix = xgboost_trees.make_matrix(rows, (), max_bin=20, sparse=sparse)
    ends, cuts = matrix.get_quantile_cut()
    for column, values in enumerate(quantile_rows(sample_of(rows, 0), 20).T):
        inner = cuts[ends[column] : ends[column + 1]][1:-1]  # without the ends
        expected = values[~np.isnan(values)].astype(np.float32)[1:20]
        np.testing.assert_array_equal(inner, expected)
    assert matrix.num_row() == 2000
    # Those beyond the sample's extremes, too.
    assert matrix.num_nonmissing() == (X.nnz if sparse else (~np.isnan(X)).sum())


@pytest.mark.parametrize("size", [500, 2000])
def test_xgboosts_bins_are_the_same_where_rows_have_places_or_columns_few_values(monkeypatch, size):
    few = np.random.default_rng(0).integers(0, 21, size=(2000, 5)).astype(np.float64)
    own = xgboost_trees.make_matrix(Rows(few), (), max_bin=21).get_quantile_cut()
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", size)
    X = uneven_columns(2000)
    alone = xgboost_trees.make_matrix(Rows(X), (), max_bin=20).get_quantile_cut()
    placed, sampled = Rows(X, global_indices=np.arange(2000)), Rows(few)
    for rows, most, expected in ((placed, 20, alone), (sampled, 21, own)):
        found = xgboost_trees.make_matrix(rows, (), max_bin=most).get_quantile_cut()
        for cuts, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(cuts, right)


def test_xgboost_sees_all_rows_where_a_sample_might_lack_a_category(monkeypatch):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 20)
    X = np.arange(2000.0)[:, None] // 10  # each of 200 categories ten times
    matrix = xgboost_trees.make_matrix(Rows(X), (0,))
    assert len(matrix.get_quantile_cut()[1]) == 200


def test_a_small_share_of_the_rows_is_sampled_without_a_word(capfd):
    rows = Rows(np.arange(300_000.0)[:, None], np.arange(300_000)[::-1])
    params = {"bin_construct_sample_cnt": bin_sample.SAMPLE_SIZE}
    # LightGBM stays as loud as it was last told to be.
    lightgbm_trees.make_dataset(rows, params=params | {"verbosity": 1}).construct()
    assert "too small" in capfd.readouterr().out
    lightgbm_trees.make_dataset(rows, params=params | {"verbosity": -1}).construct()
    assert capfd.readouterr() == ("", "")
