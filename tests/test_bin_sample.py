"""The sample LightGBM finds its bins from: the same columns that it would make itself."""

import lightgbm
import numpy as np
import pytest

from treerank.feature_parts import lightgbm_boundary
from treerank.feature_parts.bin_sample import nonzero_columns
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
