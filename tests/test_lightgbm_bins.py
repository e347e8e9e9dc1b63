"""Rows that LightGBM gets in bins: every byte is as if LightGBM had binned them itself."""

import os
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from treerank import TreeDirectRanker
from treerank.feature_parts.engines import lightgbm_boundary
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.lightgbm_bins import Template
from treerank.feature_parts.engines.lightgbm_format import UnknownFormat
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
    X[:, 13:20] = some(X[:, 13:20], 0.2, np.nan, seed=4)
    return X


def with_gaps():
    """Return columns that are zero for hundreds of rows, up to exactly 255, 256, 510 and 511."""
    X = np.zeros((N, 8))
    for c, step in enumerate((200, 254, 255, 256, 257, 510, 511, 512)):
        X[c % 3 :: step, c] = np.arange(len(X[c % 3 :: step])) % 3 + 1
        X[5::7, c] += np.arange(len(X[5::7])) < 30
    return X


def two_or_missing():
    """Return columns whose bundles depend on where LightGBM leaves missing values in its sample."""
    return np.column_stack([some(np.full((N, 9), 2.0), 0.03, np.nan), drawn(3)])


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
    "two or missing": two_or_missing(),
    "all of it": np.column_stack([with_specials(), conflicting(), one_of_many(9, 3), drawn(3)]),
    "zeros": np.zeros((N, 2)),
}


def theirs(rows, params, folder, **options):
    """Return LightGBM's own file of the rows as an array; it makes none of zeros alone."""
    label = np.zeros(len(rows), np.float32)
    data = lightgbm.Dataset(rows.array(), label=label, params=params, **options)
    data.construct().save_binary(folder / "theirs")
    return (folder / "theirs").read_bytes()


def ours(rows, params, **options):
    with lightgbm_boundary._template(rows, params, **options).file_of(rows) as path:
        return Path(path).read_bytes()


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "zeros"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_file_is_lightgbms_own(tmp_path, shape, dtype):
    with np.errstate(over="ignore"):
        X = SHAPES[shape].astype(dtype)
    rows = Rows(X, order=np.random.default_rng(0).permutation(N))
    assert ours(rows, PARAMS) == theirs(rows, PARAMS, tmp_path)


@pytest.mark.parametrize("max_bin", [2, 15, 16, 17, 100])
@pytest.mark.parametrize("more", [{}, {"enable_bundle": False}, {"zero_as_missing": True}])
def test_the_file_is_lightgbms_own_with_other_parameters(tmp_path, max_bin, more):
    rows, params = Rows(SHAPES["all of it"]), PARAMS | more | {"max_bin": max_bin}
    assert ours(rows, params) == theirs(rows, params, tmp_path)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_file_of_categories_is_lightgbms_own(tmp_path, dtype):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 100, (N, 6)) // [1, 2, 7, 20, 60, 100]
    X = np.column_stack([codes, 3 * codes[:, :2], codes[:, :2] + 1e7, drawn(1)]).astype(dtype)
    X[:, 1] = some(X[:, 1], 0.1, np.nan)
    X[:, 2] += rng.choice([0, 0.9, -0.9], N, p=[0.98, 0.01, 0.01])
    X[:, 3] = some(X[:, 3], 0.05, -3.0)
    X[:, 6] = some(X[:, 6], 0.05, np.inf)
    options = {"categorical_feature": list(range(10)), "feature_name": [f"f{i}" for i in range(11)]}
    rows = Rows(X)
    assert ours(rows, PARAMS, **options) == theirs(rows, PARAMS, tmp_path, **options)


def test_the_file_of_long_steps_is_lightgbms_own(tmp_path):
    rows = Rows(SHAPES["gaps"])
    assert any(store.is_sparse for group in template_of("gaps").groups for store in group.stores)
    assert ours(rows, PARAMS) == theirs(rows, PARAMS, tmp_path)


@pytest.mark.parametrize("layout", ["C", "F", "read-only"])
def test_the_file_does_not_depend_on_how_values_are_stored(tmp_path, layout):
    X = np.asarray(drawn().round(1), order="F" if layout == "F" else "C")
    X.flags.writeable = layout != "read-only"
    assert ours(Rows(X), PARAMS) == theirs(Rows(X), PARAMS, tmp_path)


def test_shapes_have_all_kinds_of_stores():
    stores = [
        store
        for shape in ("few values", "bundles of many bins", "conflicts")
        for group in lightgbm_boundary._template(Rows(SHAPES[shape]), PARAMS).groups
        for store in group.stores
    ]
    kinds = {(store.is_sparse, store.dtype.itemsize, store.is_halved) for store in stores}
    assert kinds >= {(False, 1, False), (False, 1, True), (False, 2, False), (True, 1, False)}
    assert any(len(store.features) > 1 for store in stores)
    assert any(len(group.stores) > 1 for group in template_of("conflicts").groups)


def template_of(shape):
    return lightgbm_boundary._template(Rows(SHAPES[shape]), PARAMS)


@pytest.fixture
def binned(monkeypatch):
    """Bin few rows, too; return the datasets that were asked for, or None where LightGBM bins."""
    found, usual = [], lightgbm_boundary._binned_dataset

    def noting(*arguments, **options):
        found.append(usual(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(lightgbm_boundary, "_binned_dataset", noting)
    monkeypatch.setattr(lightgbm_boundary, "_MANY_CELLS", 1)
    return found


QID = np.arange(N) // 20
Y = np.random.default_rng(5).integers(0, 4, N)
FITS = {
    "plain": {},
    "threads": {"n_jobs": 2},
    "draws": {"subsample": 0.3, "subsample_freq": 1, "colsample_bytree": 0.5},
    "categories": {"categorical_features": [4, 9]},
    "signs": {"monotone_constraints": {0: 1, 3: -1}},
    "sums by columns": {"engine_params": {"force_col_wise": True}},
    "sums by rows": {"engine_params": {"force_row_wise": True}},
    "small sample": {"engine_params": {"bin_construct_sample_cnt": 500}},
    "goss": {"engine_params": {"data_sample_strategy": "goss"}},
    "early stopping": {"early_stopping_rounds": 3},
    "few bins": {"max_bin": 7},
}


def fitted(X, eval_set=None, **options):
    part = LightGBMTrees(8, **{"n_jobs": 1, **options})
    ranker = TreeDirectRanker(part, random_state=0).fit(X, Y, QID, eval_set=eval_set)
    return ranker.feature_part_


def same_trees(ours, theirs):
    models = [part.booster_.model_to_string() for part in (ours, theirs)]
    return models[0] == models[1] and ours.evals_result_ == theirs.evals_result_


@pytest.mark.parametrize("name", FITS)
def test_trees_are_the_same(monkeypatch, binned, capfd, name):
    X = SHAPES["all of it"].clip(-1e30, 1e30).astype(np.float32)
    X[:, [4, 9]] = np.random.default_rng(0).integers(0, 30, (N, 2))
    eval_set = (X[::-1], Y[::-1], QID[::-1]) if name == "early stopping" else None
    ours = fitted(X, eval_set, **FITS[name])
    assert len(binned) == 1 + (eval_set is not None)
    assert None not in binned
    monkeypatch.setattr(lightgbm_boundary, "_MANY_ROWS", N + 1)
    assert same_trees(ours, fitted(X, eval_set, **FITS[name]))
    assert binned[-1] is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("shape", SHAPES)
def test_trees_of_rows_that_are_in_order_are_the_same(monkeypatch, binned, shape):
    X = SHAPES[shape].clip(-1e30, 1e30)
    ours = fitted(X)
    assert None not in binned
    monkeypatch.setattr(lightgbm_boundary, "_MANY_ROWS", N + 1)
    assert same_trees(ours, fitted(X))


def content_of_few(shape):
    """Return LightGBM's file of few rows, and these."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "read", lambda *arguments: found.append(arguments))
        template_of(shape)
    return found[0]


def is_refused(content, few):
    try:
        Template.read(bytes(content), few)
    except UnknownFormat:
        return True
    return False


@pytest.mark.parametrize("shape", ["all of it", "few values"])
def test_a_file_with_a_wrong_byte_is_refused_or_read(shape):
    content, few = content_of_few(shape)
    assert not is_refused(content, few)
    places = range(0, len(content), 61)
    refused = 0
    for place in places:
        wrong = bytearray(content)
        wrong[place] ^= 255
        refused += is_refused(wrong, few)
    assert 10 < refused < len(places)  # header, and last bits of bounds, are LightGBM's


def test_a_file_with_a_wrong_bin_is_refused():
    content, few = content_of_few("numbers")
    size = Template.read(content, few).groups[-1].stores[-1].size(len(few))
    for place in range(len(content) - size, len(content)):
        wrong = bytearray(content)
        wrong[place] ^= 1
        assert is_refused(wrong, few)


@pytest.mark.parametrize("change", [lambda b: b[:-8], lambda b: b + bytes(8), lambda b: b[:70]])
def test_a_file_of_another_size_is_refused(change):
    content, few = content_of_few("numbers")
    assert is_refused(change(content), few)


def test_rows_that_the_file_does_not_have_are_refused():
    content, few = content_of_few("numbers")
    assert is_refused(content, few[::-1])


def test_lightgbm_reads_values_where_its_file_is_unknown(monkeypatch, binned):
    ours, usual = fitted(drawn()), Template.read
    wrong = lambda content, few: usual(content[:-1] + bytes([content[-1] ^ 1]), few)  # noqa: E731
    monkeypatch.setattr(Template, "read", wrong)
    assert same_trees(ours, fitted(drawn()))
    assert [each is None for each in binned] == [False, True]


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (csr_matrix(drawn()), {}),
        (drawn(), {"max_bin": 300}),
        (drawn(), {"engine_params": {"linear_tree": True}}),
        (drawn(), {"init_model": "fitted"}),
        (3.0 * (np.arange(N)[:, None] % 200), {"categorical_features": [0]}),
    ],
)
def test_lightgbm_reads_values_that_no_file_takes(binned, X, options):
    if "init_model" in options:
        options = {"init_model": fitted(X)}
    binned.clear()
    fitted(X, **options)
    assert binned in ([None], [])


@pytest.mark.parametrize("missing", ["memfd_create", "folder"])
def test_lightgbm_reads_values_where_there_are_no_files(monkeypatch, binned, missing):
    if missing == "folder":
        monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    else:
        monkeypatch.delattr(os, missing)
    fitted(drawn())
    assert binned == [None]


def test_lightgbm_may_draw_the_sample_itself(monkeypatch, binned):
    ours = fitted(drawn())
    monkeypatch.delattr(lightgbm_boundary.BatchedDataset, "_Dataset__sample")
    assert same_trees(ours, fitted(drawn()))
    assert None not in binned


def test_few_rows_are_left_to_lightgbm(monkeypatch, binned):
    monkeypatch.setattr(lightgbm_boundary, "_MANY_CELLS", 8 * N + 1)
    fitted(drawn())
    monkeypatch.setattr(lightgbm_boundary, "_MANY_CELLS", 8 * N)
    fitted(drawn())
    assert [each is None for each in binned] == [True, False]
