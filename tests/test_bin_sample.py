"""The sample LightGBM finds its bins from: the same columns that it would make itself."""

import lightgbm
import numpy as np
import pytest

from treerank.feature_parts.engines import bin_sample, lightgbm_boundary
from treerank.feature_parts.engines.bin_sample import nonzero_columns, sample_of
from treerank.feature_parts.rows import Rows


def sparse_matrix(n_rows, n_columns, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(dtype)
    X[rng.random(X.shape) < 0.4] = 0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = 0
    X[:, 4] = np.where(X[:, 4] > 0, 1e-36, np.inf)
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_hold_what_is_not_zero_and_where_it_was(dtype):
    X = sparse_matrix(50, 35, dtype)
    values, rows = nonzero_columns([X[:20], X[20:21], X[21:]], *X.shape)
    for c in range(X.shape[1]):
        kept = ~(np.abs(X[:, c].astype(np.float64)) <= 1e-35)
        np.testing.assert_array_equal(values[c], X[kept, c])
        np.testing.assert_array_equal(rows[c], np.flatnonzero(kept))
        assert values[c].dtype == np.float64
        assert rows[c].dtype == np.int32


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_dataset_is_lightgbms_own_of_the_gathered_rows(tmp_path, monkeypatch, order):
    monkeypatch.setattr(lightgbm_boundary, "_BATCH", 70)
    asked = []
    monkeypatch.setattr(
        lightgbm_boundary, "nonzero_columns", lambda *a: asked.append(a) or nonzero_columns(*a)
    )
    X = np.asarray(sparse_matrix(500, 6, np.float32), order=order)
    X[~np.isfinite(X)] = np.nan
    rows = Rows(X, order=np.random.default_rng(1).permutation(500))
    options = {"params": {"verbosity": -1, "max_bin": 15, "bin_construct_sample_cnt": 200}}
    ours = lightgbm_boundary.make_dataset(rows, **options)
    theirs = lightgbm.Dataset(rows.array(), label=np.zeros(500, np.float32), **options)
    for name, dataset in (("ours", ours), ("theirs", theirs)):
        dataset.save_binary(tmp_path / name)
    assert asked, "LightGBM no longer asks for our sample"
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_a_sample_is_drawn_of_many_rows_only(monkeypatch):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 200)
    few, many = Rows(np.arange(200.0)[:, None]), Rows(np.arange(2000.0)[:, None])
    assert sample_of(few, 0) is few
    drawn = sample_of(many, 0).array()[:, 0]
    assert 150 < len(drawn) < 250
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(sample_of(many, 0).array()[:, 0], drawn)
    assert len(np.setxor1d(sample_of(many, 1).array()[:, 0], drawn)) > 0


def test_xgboosts_bins_come_from_the_sample_and_hold_every_row(monkeypatch):
    xgboost_boundary = pytest.importorskip("treerank.feature_parts.engines.xgboost_boundary")
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 200)
    X = np.random.default_rng(0).normal(size=(2000, 3))
    order = np.random.default_rng(1).permutation(2000)
    rows = Rows(X, order)
    matrix = xgboost_boundary.make_matrix(rows, (), max_bin=20)
    sample = Rows(sample_of(rows, 0).array())
    monkeypatch.undo()
    of_sample = xgboost_boundary.make_matrix(sample, (), max_bin=20)
    for cuts, expected in zip(matrix.get_quantile_cut(), of_sample.get_quantile_cut(), strict=True):
        np.testing.assert_array_equal(cuts, expected)
    assert matrix.num_row() == 2000
    assert matrix.num_nonmissing() == X.size  # those beyond the sample's extremes, too


def test_xgboost_sees_all_rows_where_a_sample_might_lack_a_category(monkeypatch):
    xgboost_boundary = pytest.importorskip("treerank.feature_parts.engines.xgboost_boundary")
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 20)
    X = np.arange(2000.0)[:, None] // 10  # each of 200 categories ten times
    matrix = xgboost_boundary.make_matrix(Rows(X), (0,))
    assert len(matrix.get_quantile_cut()[1]) == 200


def test_a_small_share_of_the_rows_is_sampled_without_a_word(capfd):
    rows = Rows(np.zeros((300_000, 1)), np.arange(300_000)[::-1])
    params = {"bin_construct_sample_cnt": bin_sample.SAMPLE_SIZE}
    # LightGBM stays as loud as it was last told to be.
    lightgbm_boundary.make_dataset(rows, params=params | {"verbosity": 1}).construct()
    assert "too small" in capfd.readouterr().out
    lightgbm_boundary.make_dataset(rows, params=params | {"verbosity": -1}).construct()
    assert capfd.readouterr() == ("", "")
