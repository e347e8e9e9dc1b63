"""Transformers of scikit-learn under the convex head."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from treerank import (
    Ensemble,
    QueryKFold,
    TreeDirectRanker,
    checkpointing,
    make_objective,
    make_web_search,
)
from treerank.feature_parts import Stages, TransformerPart
from treerank.feature_parts.head_fitting import fit_head

X, Y, QID = make_web_search(20, documents_per_query=10, n_features=4, random_state=0)
SCALED = make_pipeline(StandardScaler(), Nystroem(n_components=20))


def fitted(part, X=X, **settings):
    return TreeDirectRanker(part, random_state=0, **settings).fit(X, Y, QID)


@pytest.mark.parametrize(
    "transformer",
    [SCALED, SplineTransformer(n_knots=3), RandomTreesEmbedding(5, max_depth=3), StandardScaler()],
    ids=["kernel", "splines", "sparse outputs", "linear"],
)
def test_the_outputs_meet_the_convex_head(transformer):
    ranker = fitted(transformer, weight="query", smoothing=0.0, head_alpha=0.1)
    outputs = ranker.transform(X)
    objective = make_objective(Y, QID, weight="query")
    expected = fit_head(outputs, objective, alpha=0.1)
    # The rows of the fit stand in another order, and so their sums do.
    np.testing.assert_allclose(ranker.head_.weight, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(ranker.predict(X), outputs @ ranker.head_.weight, atol=1e-12)
    assert ranker.score(X, Y, QID) > 0.5


def test_splines_follow_a_curve_that_a_line_cannot():
    x = np.linspace(-1, 1, 200)
    y = np.digitize(-((x - 0.3) ** 2), [-0.5, -0.1])
    data = x[:, None], y, np.arange(200) % 10
    splines = TreeDirectRanker(SplineTransformer(), head_alpha=0.01).fit(*data)
    assert splines.score(*data) > 0.99 > TreeDirectRanker("linear").fit(*data).score(*data) + 0.2


def test_the_seed_of_the_ranker_is_that_of_the_transformer():
    first, again = (fitted(Nystroem(n_components=5)).transform(X) for _ in range(2))
    other = TreeDirectRanker(Nystroem(n_components=5), random_state=1).fit(X, Y, QID).transform(X)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    of_its_own = Nystroem(n_components=5, random_state=3)
    same = TreeDirectRanker(of_its_own, random_state=1).fit(X, Y, QID).transform(X)
    np.testing.assert_array_equal(fitted(of_its_own).transform(X), same)


def test_a_score_does_not_depend_on_the_documents_beside_it():
    ranker = fitted(SCALED)
    alone = np.concatenate([ranker.predict(X[row : row + 1]) for row in range(20)])
    np.testing.assert_array_equal(alone, ranker.predict(X)[:20])


def test_missing_values_need_an_imputer_and_the_error_writes_it():
    gaps = np.where(X > 1, np.nan, X)
    message = r"X must have no missing values for PCA\(\); got \d+ that are NaN. Write make_pi"
    with pytest.raises(ValueError, match=message):
        fitted(PCA(), gaps)
    ranker = fitted(make_pipeline(SimpleImputer(), PCA()), gaps)
    assert np.isfinite(ranker.predict(gaps)).all()
    with pytest.raises(ValueError, match="X must have no missing values"):
        fitted(PCA()).predict(gaps)
    with pytest.raises(ValueError, match="X must have no missing values"):
        fitted(StandardScaler(), gaps)  # which passes them on
    with pytest.raises(ValueError, match="transformer must return finite numbers"):
        fitted(FunctionTransformer(partial(np.full_like, fill_value=np.inf)), X)


def test_categories_are_columns_of_zeros_and_ones():
    shop = np.array(["b", "a", "c"])[np.arange(len(X)) % 3]
    frame = pd.DataFrame({"price": X[:, 0], "shop": shop, "age": X[:, 1]})
    ranker = fitted(FunctionTransformer(), frame)
    expected = np.column_stack([X[:, 0], X[:, 1], *(shop == name for name in "abc")])
    np.testing.assert_array_equal(ranker.transform(frame), expected)
    new = frame.assign(shop=[None, *["a new one"] * (len(X) - 1)])[["age", "shop", "price"]]
    expected[:, 2:] = 0
    np.testing.assert_array_equal(ranker.transform(new), expected)


def test_more_categories_than_columns_can_be_are_refused():
    frame = pd.DataFrame({"shop": pd.Categorical(np.arange(1200).astype(str))})
    data = frame, np.arange(1200) % 2, np.arange(1200) // 10
    with pytest.raises(ValueError, match=r"X must have at most 1000 categories .* got 1200"):
        TreeDirectRanker(StandardScaler()).fit(*data)


def test_a_sparse_matrix_stays_sparse_where_the_transformer_takes_one():
    sparse = csr_matrix(np.where(np.abs(X) > 1, X, 0))
    ranker = fitted(TruncatedSVD(2), sparse)
    np.testing.assert_allclose(ranker.predict(sparse), ranker.predict(sparse.toarray()), atol=1e-9)
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse|dense"):
        fitted(SplineTransformer(sparse_output=False), sparse)


@pytest.mark.parametrize("make", [partial(Ensemble, n_bags=2), Stages])
def test_in_a_composite_the_part_weighs_its_columns(make):
    ranker = fitted(make([SCALED, "linear"]))
    assert np.isfinite(ranker.predict(X)).all()
    part = ranker.feature_part_
    inner = part.bags_[0][0] if isinstance(part, Ensemble) else part.parts_[0]
    assert inner.head_weight_.shape == (20,)
    assert fitted(SCALED).feature_part_.head_weight_ is None


def test_a_search_finds_the_parameters_of_the_transformer():
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"feature_part__nystroem__gamma": [0.01, 0.1], "head_alpha": [0.1, 10.0]}
        search = GridSearchCV(TreeDirectRanker(SCALED, random_state=0), grid, cv=QueryKFold(2))
        search.fit(X, Y, qid=QID)
    assert len(search.cv_results_["params"]) == 4


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_a_global_output_of_scikit_learn_changes_nothing(output):
    brands = pd.DataFrame({"brand": [*"abcde"] * (len(X) // 5), "price": X[:, 0]})
    for part, documents in (
        (OneHotEncoder(handle_unknown="ignore"), brands),
        (SplineTransformer(n_knots=3), X),
        (SCALED, X),
    ):
        expected = fitted(part, documents).predict(documents)
        with sklearn.config_context(transform_output=output):
            ranker = fitted(part, documents)
            np.testing.assert_array_equal(ranker.predict(documents), expected)


def test_what_needs_labels_is_sent_before_the_ranker():
    with pytest.raises(ValueError, match=r"SelectKBest.* learns from labels, which no"):
        fitted(SelectKBest(k=2))
    with pytest.raises(ValueError, match="transformer must need no labels; TargetEncoder"):
        fitted(TransformerPart(TargetEncoder()))
    for wrong in (Ridge(), TreeDirectRanker(), StandardScaler, 7):
        with pytest.raises(ValueError, match=r"transformer must have fit\(X\) and transform\(X\)"):
            fitted(TransformerPart(wrong))


def test_a_save_is_refused_with_what_to_do_instead(tmp_path):
    for part in (SCALED, [SCALED, "linear"]):
        with pytest.raises(TypeError, match=r"feature_part must be of arrays to be saved.*joblib"):
            fitted(part).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_copy_keeps_its_parameters():
    part = TransformerPart(SCALED, head_alpha=2.0)
    assert repr(clone(part)) == repr(part)
    assert part.get_params()["transformer__nystroem__n_components"] == 20


def test_no_documents_have_no_outputs():
    part = TransformerPart(SCALED, random_state=0).fit(X, make_objective(Y, QID))
    assert part.transform(X[:0]).shape == (0, 20)


@pytest.mark.parametrize(
    "change", [lambda X: X[:0], lambda X: X[:, :0], lambda X: np.tile(X, (2, 1))]
)
def test_other_numbers_of_rows_and_no_columns_are_refused(change):
    with pytest.raises(ValueError, match="transformer must return a row of numbers for each of"):
        fitted(FunctionTransformer(change))


def test_a_checkpoint_is_refused(tmp_path):
    with checkpointing(tmp_path / "c"), pytest.raises(ValueError, match="whose fits start anew"):
        TreeDirectRanker(SCALED, random_state=0).fit(X, Y, QID)


def test_a_transformer_that_names_columns_is_answered():
    named = ColumnTransformer([("a", StandardScaler(), ["price"])])
    with pytest.raises(ValueError, match="must not name columns: a feature part gets a matrix"):
        TreeDirectRanker(named).fit(pd.DataFrame(X, columns=["price", "a", "b", "c"]), Y, QID)


def test_columns_that_do_not_vary_give_equal_scores_and_a_warning():
    with pytest.warns(UserWarning, match="All 200 documents get the same score: no feature varies"):
        ranker = TreeDirectRanker(SplineTransformer()).fit(np.ones_like(X), Y, QID)
    assert np.ptp(ranker.predict(X)) == 0


@pytest.mark.parametrize("wrap", [lambda frozen: frozen, make_pipeline], ids=["alone", "pipeline"])
def test_a_frozen_transformer_stays_as_it_was_fitted(wrap, tmp_path):
    scaler = StandardScaler().fit(X[:50])
    ranker = TreeDirectRanker(wrap(FrozenEstimator(scaler)), random_state=0)
    for each in (ranker, clone(ranker), pickle.loads(pickle.dumps(ranker))):
        each.fit(X, Y, QID)
        np.testing.assert_array_equal(each.transform(X), scaler.transform(X))
    with pytest.raises(TypeError, match="feature_part must be of arrays to be saved"):
        ranker.save(tmp_path / "model")
    with pytest.raises(NotFittedError, match="StandardScaler instance is not fitted yet"):
        TreeDirectRanker(wrap(FrozenEstimator(StandardScaler()))).fit(X, Y, QID)


def test_a_frozen_transformer_may_have_learned_from_labels():
    selector = SelectKBest(k=2).fit(X, Y)
    ranker = TreeDirectRanker(FrozenEstimator(selector)).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.transform(X), selector.transform(X))


FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])


@pytest.mark.parametrize("wrap", [lambda frozen: frozen, make_pipeline], ids=["alone", "pipeline"])
@pytest.mark.parametrize("names", [["b", "a", "c", "d"], ["a", "b", "c"], ["a", "b", "c", "e"]])
def test_a_frozen_transformer_of_other_columns_is_refused(wrap, names):
    frozen = FrozenEstimator(SplineTransformer().fit(FRAME.assign(e=1.0)[names]))
    message = (
        r"transformer must be fitted to the columns of X in their order, \['a', 'b', 'c', 'd'\]; "
        r"got \['"
    )
    with pytest.raises(ValueError, match=message):
        fitted(wrap(frozen), FRAME)


@pytest.mark.parametrize(
    "wrap",
    [lambda frozen: frozen, lambda frozen: make_pipeline(frozen, StandardScaler())],
    ids=["alone", "pipeline"],
)
def test_a_frozen_transformer_of_the_same_columns_gives_no_warning_of_names(wrap):
    splines = SplineTransformer().fit(FRAME)
    with warnings.catch_warnings(action="error"):
        ranker = fitted(wrap(FrozenEstimator(splines)), FRAME)
        ranker.predict(FRAME)
        ranker.predict(FRAME[["b", "a", "d", "c"]])
    plain = fitted(wrap(FrozenEstimator(SplineTransformer().fit(X))))
    np.testing.assert_array_equal(ranker.predict(FRAME), plain.predict(X))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted(wrap(FrozenEstimator(splines)))


def test_a_frozen_transformer_reads_numbers_before_categories():
    shop = np.array(["x", "y"])[np.arange(len(X)) % 2]
    frame = pd.DataFrame({"a": X[:, 0], "shop": shop, "b": X[:, 1]})
    encoded = pd.get_dummies(frame)[["a", "b", "shop_x", "shop_y"]].astype(float)
    ranker = fitted(FrozenEstimator(StandardScaler().fit(encoded)), frame)
    expected = StandardScaler().fit_transform(encoded)
    np.testing.assert_allclose(ranker.transform(frame), expected, atol=1e-12)
    swapped = StandardScaler().fit(encoded[["b", "a", "shop_x", "shop_y"]])
    message = r"to the columns of numbers of X in their order, \['a', 'b'\], then one of zeros and"
    with pytest.raises(ValueError, match=message):
        fitted(FrozenEstimator(swapped), frame)


class PlainScaler:
    """A transformer without ``get_params``: a copy of it has the names of an earlier fit."""

    def fit(self, X):
        self.scaler_ = StandardScaler().fit(X)
        self.feature_names_in_ = getattr(self.scaler_, "feature_names_in_", None)
        return self

    def transform(self, X):
        return self.scaler_.transform(X)


def test_a_transformer_that_is_fitted_anew_may_have_been_fitted_to_other_columns():
    for scaler in (StandardScaler(), PlainScaler()):
        ranker = fitted(TransformerPart(scaler.fit(FRAME[["b", "a"]])), FRAME)
        expected = StandardScaler().fit_transform(X)
        np.testing.assert_allclose(ranker.transform(FRAME), expected, atol=1e-12)
