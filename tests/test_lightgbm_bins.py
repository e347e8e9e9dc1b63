"""Rows that LightGBM gets in bins: every byte is as if LightGBM had binned them."""

import lightgbm
import numpy as np
import pytest

from treerank import TreeDirectRanker
from treerank.feature_parts.engines import lightgbm_bins, lightgbm_boundary
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.lightgbm_bins import Template, UnknownFormat
from treerank.feature_parts.rows import Rows

N = 3001
PARAMS = {"verbosity": -1, "num_threads": 1, "feature_pre_filter": False, "max_bin": 255}


def drawn(n_columns=8, seed=0):
    return np.random.default_rng(seed).normal(size=(N, n_columns))


def some(X, share, value, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, value, X)


def with_specials():
    X = drawn(12)
    for c, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, 1e-34, 1e300)):
        X[:, c] = some(X[:, c], 0.1, value)
    X[:, 8], X[:, 9], X[:-1, 10] = np.nan, 7.0, 0.0
    X[:, 11] = some(X[:, 11], 0.98, np.nan)
    return X


def with_few_values():
    """Return columns with 2 to 18 values each: 4 bits hold up to 16 of them."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, n, N) - n // 3 for n in range(2, 19)]).astype(float)
    return np.column_stack([X, some(X, 0.05, np.nan)])


def at_bounds():
    """Return numbers of which many lie at the bounds between others."""
    X = np.arange(6 * N).reshape(N, 6) % 1200 / 4
    return np.random.default_rng(0).permuted(X, axis=0)


def one_of_many(n_columns, n_values, share=1.0):
    """Return columns of which one is not zero in each row, or in a share of the rows."""
    rng = np.random.default_rng(0)
    X = np.zeros((N, n_columns))
    rows = np.flatnonzero(rng.random(N) < share)
    X[rows, rng.integers(0, n_columns, len(rows))] = rng.integers(1, n_values + 1, len(rows))
    return X


def conflicting():
    """Return columns that are mostly zero, or mostly two, and not where others are."""
    X = some(drawn(30).round(1), 0.85, 0.0)
    X[:, :10] = some(X[:, :10], 0.9, 0.0, seed=2)
    X[:, 10:15] = some(drawn(5), 0.6, 2.0, seed=3)
    X[:, 15:20] = some(X[:, 15:20], 0.2, np.nan, seed=4)
    return X


def with_gaps():
    """Return columns that are zero for hundreds of rows, up to exactly 255, 256, 510 and 511."""
    X = np.zeros((N, 8))
    for c, step in enumerate((200, 254, 255, 256, 257, 510, 511, 512)):
        X[c % 3 :: step, c] = np.arange(len(X[c % 3 :: step])) % 3 + 1
        X[5::7, c] += np.arange(len(X[5::7])) < 30
    return X


SHAPES = {
    "numbers": drawn(),
    "special numbers": with_specials(),
    "few values": with_few_values(),
    "bounds": at_bounds(),
    "one column": drawn(1),
    "many columns": drawn(150),
    "bundles": one_of_many(30, 4),
    "bundles of few bins": one_of_many(5, 2, 0.5),
    "bundles of many bins": one_of_many(20, 60),
    "conflicts": conflicting(),
    "gaps": with_gaps(),
    "all of it": np.column_stack([with_specials(), conflicting(), one_of_many(9, 3), drawn(3)]),
    "zeros": np.zeros((N, 2)),
}


def content_of(dataset, folder):
    dataset.construct().save_binary(folder / "theirs")
    return (folder / "theirs").read_bytes()


def theirs(rows, params, folder, **options):
    label = np.zeros(len(rows), np.float32)
    sequence = lightgbm_boundary.RowSequence(rows)
    return content_of(
        lightgbm_boundary.BatchedDataset(sequence, label=label, params=params, **options), folder
    )


def ours(rows, params, **options):
    few = lightgbm_boundary._few_rows(rows)
    sequence = lightgbm_boundary.FewRowsSequence(rows, few)
    template = Template.read(lightgbm_boundary._file_of(sequence, params, **options), few)
    with template.file_of(rows) as path, open(path, "rb") as file:
        return file.read(), template


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_file_is_lightgbms_own(tmp_path, shape, dtype):
    with np.errstate(over="ignore"):
        X = SHAPES[shape].astype(dtype)
    rows = Rows(X, order=np.random.default_rng(0).permutation(N))
    assert ours(rows, PARAMS)[0] == theirs(rows, PARAMS, tmp_path)
