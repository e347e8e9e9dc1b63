"""A sparse matrix is the matrix of numbers that it stands for, and is never made dense."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from example_rankers import Column
from own_objective import HalfSquare
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from treerank import (
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    checkpointing,
    load,
    make_objective,
)
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.documents.columns import as_csr
from treerank.documents.rows import Rows
from treerank.feature_parts.linear import LinearModel
from treerank.feature_parts.rows import as_rows

pytestmark = pytest.mark.slow

SIZES = {"n_estimators": 8, "learning_rate": 0.1, "num_leaves": 31, "colsample_bytree": 1.0}
PARTS = {
    "lightgbm": LightGBMTrees(**SIZES, min_child_samples=5, n_jobs=1),
    "xgboost": XGBoostTrees(**SIZES, n_jobs=1),
}
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


def make_data(seed=0, n_documents=400, n_features=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_documents, n_features)).round(2)
    X[rng.random(X.shape) < 0.7] = 0
    X[rng.random(X.shape) < 0.02] = np.nan
    y = np.clip(np.round(np.nan_to_num(2 * X[:, 0] + X[:, 1] - X[:, 2])), 0, 3)
    return X, y, np.arange(n_documents) // 20


X, Y, QID = make_data()
SPARSE = sparse.csr_matrix(X)


def a_ranker(part, **settings):
    return TreeDirectRanker(part, random_state=0, **settings)


def stored_otherwise():
    """Return the same numbers: unsorted, stored twice, with zeros, with wide indices."""
    backwards = sparse.csr_matrix(X[:, ::-1])
    unsorted = sparse.csr_matrix((backwards.data, 11 - backwards.indices, SPARSE.indptr), X.shape)
    entries = SPARSE.tocoo()
    half = np.tile(entries.data / 2, 2), (np.tile(entries.row, 2), np.tile(entries.col, 2))
    n_rows, n_columns = X.shape
    columns = np.tile(np.arange(n_columns), n_rows)
    every_entry = X.ravel(), columns, np.arange(n_rows + 1) * n_columns
    wide = SPARSE.copy()
    wide.indices, wide.indptr = SPARSE.indices.astype(np.int64), SPARSE.indptr.astype(np.int64)
    return {
        "unsorted": unsorted,
        "twice": sparse.coo_matrix(half, shape=X.shape),
        "zeros": sparse.csr_matrix(every_entry, shape=X.shape),
        "wide": wide,
        "csc": SPARSE.tocsc(),
        "array": sparse.csr_array(SPARSE),
    }


@pytest.mark.parametrize("how", stored_otherwise())
def test_how_a_matrix_is_stored_is_none_of_its_properties(how):
    given = stored_otherwise()[how]
    before = given.copy()
    plain = as_csr(given)
    assert (plain.has_canonical_format, plain.nnz) == (True, SPARSE.nnz)
    np.testing.assert_array_equal(plain.toarray(), X)
    for part in PARTS.values():
        ranker = a_ranker(part).fit(given, Y, QID)
        same = a_ranker(part).fit(SPARSE, Y, QID).predict(SPARSE)
        np.testing.assert_array_equal(ranker.predict(given), same)
    assert given.nnz == before.nnz
    if how in ("unsorted", "zeros"):
        np.testing.assert_array_equal(given.indices, before.indices)


def test_lightgbm_draws_the_same_sample_for_its_bins():
    part = LightGBMTrees(n_estimators=5, n_jobs=1, engine_params={"bin_construct_sample_cnt": 50})
    part.set_params(max_bin=15, min_child_samples=5)
    dense, from_sparse = a_ranker(part).fit(X, Y, QID), a_ranker(part).fit(SPARSE, Y, QID)
    np.testing.assert_array_equal(from_sparse.predict(SPARSE), dense.predict(X))


def test_xgboost_takes_zeros_of_a_sparse_matrix_for_missing_values():
    with_nan = np.where(X == 0, np.nan, X)
    part, objective = PARTS["xgboost"], HalfSquare(Y)
    expected = clone(part).fit(with_nan, objective).transform(with_nan)
    fitted = clone(part).fit(SPARSE, objective)
    np.testing.assert_array_equal(fitted.transform(SPARSE), expected)
    np.testing.assert_array_equal(fitted.transform(X), expected)
    assert not np.array_equal(clone(part).fit(X, objective).transform(X), expected)


@every_part
@pytest.mark.parametrize("fitted_to", [X, SPARSE], ids=["array", "sparse"])
def test_the_same_numbers_get_the_same_scores_in_either_form(part, fitted_to):
    ranker = a_ranker(part).fit(fitted_to, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(SPARSE))
    np.testing.assert_array_equal(ranker.rank(X, QID), ranker.rank(SPARSE, QID))
    np.testing.assert_array_equal(ranker.compare(X, X[:1]), ranker.compare(SPARSE, SPARSE[:1]))


@every_part
@pytest.mark.parametrize("own", [X, SPARSE], ids=["array", "sparse"])
def test_an_eval_set_may_have_either_form(part, own):
    other, *rest = make_data(seed=1)
    fits = [
        a_ranker(part).fit(own, Y, QID, eval_set=(held_out, *rest))
        for held_out in (other, sparse.csr_matrix(other))
    ]
    assert fits[0].evals_result_ == fits[1].evals_result_
    values = fits[0].evals_result_["validation"]["ndcg@10"]
    assert values[-1] == pytest.approx(fits[0].score(other, *rest), abs=1e-12)


@every_part
def test_warm_start_goes_on_from_sparse_to_sparse(part):
    ranker = a_ranker(clone(part).set_params(n_estimators=4), warm_start=True).fit(SPARSE, Y, QID)
    ranker.feature_part.set_params(n_estimators=8)
    ranker.fit(SPARSE, Y, QID)
    whole = a_ranker(part).fit(SPARSE, Y, QID)
    np.testing.assert_allclose(ranker.predict(SPARSE), whole.predict(SPARSE), rtol=1e-5)


def interrupt(n_done, n_total, note):
    if n_done == 3:
        raise KeyboardInterrupt


@every_part
def test_a_fit_does_not_go_on_from_a_checkpoint_of_the_other_form(part, tmp_path):
    for first, second in ((X, SPARSE), (SPARSE, X)):
        done: list[int] = []
        with checkpointing(tmp_path / "fit.checkpoint", every=1):
            with pytest.raises(KeyboardInterrupt):
                a_ranker(part).fit(first, Y, QID, callbacks=[interrupt])
            callbacks = [lambda n_done, n_total, note, done=done: done.append(n_done)]
            resumed = a_ranker(part).fit(second, Y, QID, callbacks=callbacks)
        assert done[0] == 1
        whole = a_ranker(part).fit(second, Y, QID)
        np.testing.assert_array_equal(resumed.predict(second), whole.predict(second))


@pytest.mark.parametrize(("first", "second"), [(X, SPARSE), (SPARSE, X)])
def test_xgboost_does_not_change_its_mind_about_zeros(first, second):
    part, objective = PARTS["xgboost"], HalfSquare(Y)
    earlier = clone(part).set_params(warm_start=True).fit(first, objective)
    form = "dense" if first is X else "sparse"
    with pytest.raises(ValueError, match=f"X must be {form}, as in the earlier fit"):
        earlier.set_params(n_estimators=100).fit(second, objective)


@every_part
def test_a_model_file_remembers_what_a_zero_was(part, tmp_path):
    ranker = a_ranker(part).fit(SPARSE, Y, QID)
    ranker.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(SPARSE), ranker.predict(SPARSE))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))


@every_part
def test_a_wide_matrix_is_never_made_dense(part):
    rng = np.random.default_rng(0)
    wide = sparse.random(2000, 20_000, density=1e-3, format="csr", random_state=rng)
    y = (wide[:, 0].toarray().ravel() > 0).astype(float)
    y[::20] = 1
    part = clone(part).set_params(n_estimators=1)
    tracemalloc.start()
    ranker = a_ranker(part).fit(wide, y, np.arange(2000) // 20)
    ranker.predict(wide)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2000 * 20_000  # an eighth of the array in double precision


def test_views_of_sparse_rows_gather_sparse_rows():
    order = np.random.default_rng(0).permutation(len(X))[:90]
    rows, some = Rows(SPARSE, order), np.array([3, 3, 1])
    np.testing.assert_array_equal(rows.batch(5, 17).toarray(), X[order][5:17])
    np.testing.assert_array_equal(rows.take(some).array().toarray(), X[order][some])
    assert Rows(SPARSE, np.arange(len(X))).array() is SPARSE


DENSE = {
    "TreeDirectRanker.*LinearModel": TreeDirectRanker(LinearModel()),
    "TreeDirectRanker.*mlp": TreeDirectRanker("mlp"),
    "TreeDirectRanker.*Column": TreeDirectRanker(Column()),  # which says nothing of them
    "RankSVM": RankSVM(),
}


@pytest.mark.parametrize("name", DENSE)
def test_what_reads_no_sparse_matrix_is_named(name):
    assert not get_tags(DENSE[name]).input_tags.sparse
    with pytest.raises(TypeError, match=f"X must be dense for {name}.*; got .*csr_matrix"):
        DENSE[name].fit(SPARSE, Y, QID)


def test_a_feature_part_that_reads_none_refuses_them_by_itself():
    with pytest.raises(TypeError, match=r"X must be dense for a feature part .*csr_matrix"):
        LinearModel().fit(SPARSE, make_objective(Y, QID))
    fitted = LinearModel().fit(X, make_objective(Y, QID))
    for call in (fitted.transform, as_rows):
        with pytest.raises(TypeError, match="X must be dense"):
            call(Rows(SPARSE))


def test_a_sparse_matrix_is_checked_as_an_array_is():
    ranker = a_ranker(PARTS["lightgbm"])
    ranker.fit(SPARSE, Y, QID)
    with pytest.raises(ValueError, match="11 features, but TreeDirectRanker is expecting 12"):
        ranker.predict(SPARSE[:, :11])
    with pytest.raises(ValueError, match="y must have one entry per document"):
        ranker.fit(SPARSE[:-1], Y, QID)


def test_a_matrix_without_names_cannot_stand_for_a_frame_with_categories():
    shop = pd.DataFrame({"color": np.where(Y > 0, "red", "blue"), "price": X[:, 1]})
    ranker = a_ranker(PARTS["lightgbm"]).fit(shop, Y, QID)
    with pytest.raises(TypeError, match="X must be a data frame, as in fit"):
        ranker.predict(SPARSE[:, :2])
