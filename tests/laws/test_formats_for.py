"""What is said before a fit of where its model can go is true: over all rankers and formats."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_rankers import NAMES, PART_SETTINGS, SMALL_TREES, made

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.documents.reading import accepted_by
from treerank.exports import export, formats_for
from treerank.exports.exporting import REASONS, refuse_format
from treerank.exports.formats import FORMATS, VERSIONS
from treerank.exports.hybrid import HYBRID_FORMATS
from treerank.feature_parts import MLP, Ensemble, LinearModel, NewtonBoosting, Stages

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
N = 300
QID = np.repeat(np.arange(30), 10)
PRICE, SIZE, SHOP = RNG.normal(size=N), RNG.integers(0, 5, N), RNG.integers(0, 4, N)
Y = np.digitize(PRICE + np.array([0.0, 3.0, 0.0, 1.0])[SHOP], [0.5, 2.5])
NUMBERS = np.column_stack([PRICE, SIZE, SHOP == 1, SHOP == 3]).astype(float)
ODD = pd.DataFrame(NUMBERS, columns=["a b", "score", "größe", "A B"])
SHOPS = pd.DataFrame({"price": PRICE, "size": 1.0 * SIZE, "shop": np.array([*"abcd"])[SHOP]})
DATA = {
    "numbers": NUMBERS,
    "odd names": ODD,
    "categories": SHOPS,
    "codes": pd.DataFrame({"price": PRICE, "shop": 1.0 * SHOP}),
    "normalized": pd.DataFrame({"a.min_max": PRICE - PRICE.min(), "b.min_max": 1.0 * (SHOP == 1)}),
    "normalized, one against": pd.DataFrame(
        {"a.min_max": PRICE - PRICE.min(), "b.min_max": 1.0 * (SHOP != 1)}
    ),
}
HISTOGRAM = HistogramTrees(3, min_child_samples=5)
XGBOOST = XGBoostTrees(3, n_jobs=1)
#: Rankers over several parts and over parts of other libraries.
FURTHER = {
    "linear beside trees": ["linear", SMALL_TREES],
    "trees of three engines": [SMALL_TREES, HISTOGRAM, XGBOOST],
    "one engine twice": Ensemble([XGBOOST, XGBOOST], n_bags=2),
    "stages of engines": Stages([SMALL_TREES, HISTOGRAM]),
    "a stage": Stages([XGBOOST]),
    "a linear network": MLP((), n_epochs=1),
    "two outputs": MLP((4,), n_outputs=2, n_epochs=1),
    "network beside trees": [MLP((4,), n_epochs=1), HISTOGRAM],
    "positive": LinearModel(positive=True),
    "transformer": Nystroem(n_components=3),
    "regressor": NewtonBoosting(Ridge(), n_estimators=2),
    "codes": LightGBMTrees(3, min_child_samples=5, categorical_features=[1]),
    "codes of engines": [
        LightGBMTrees(3, min_child_samples=5, categorical_features=[1]),
        HistogramTrees(3, min_child_samples=5, categorical_features=[1]),
    ],
}
PARTS = {"lightgbm", "xgboost", "histogram", "streaming", "linear", "mlp", "polynomial"}


def unfitted(name):
    ranker = TreeDirectRanker(FURTHER[name]) if name in FURTHER else made(name)
    seeds = [each for each in ranker.get_params() if each.split("__")[-1] == "random_state"]
    return ranker.set_params(**dict.fromkeys(seeds, 0))


def with_trees(name, ranker):
    """Return a ranker that is given trees, of which the documents here have the columns."""
    forest = unfitted("lightgbm").fit(NUMBERS, Y, QID).forest()
    if name == "ForestRanker":
        return type(ranker)(forest)
    return ranker.set_params(feature_part__trees=forest)


def name_of(format):
    """Return the name by which a format of an older version of a program is listed."""
    return next((name for name, by in VERSIONS.items() if format in by.values()), format)


def why_refused(function, *arguments, **options):
    """Return why a function refuses its arguments; None if it takes them."""
    try:
        with warnings.catch_warnings(action="ignore"):
            function(*arguments, **options)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", [*NAMES, *FURTHER])
def test_what_is_listed_exports_and_what_is_not_is_refused(name, data, tmp_path):
    X, ranker = DATA[data], unfitted(name)
    if name in ("ForestRanker", "RefitTrees"):
        X, ranker = NUMBERS, with_trees(name, ranker)
    if data == "categories" and not accepted_by(ranker).categories:
        assert formats_for(ranker, X) == []
        return
    before = formats_for(ranker, X)
    expected = {format: why_refused(refuse_format, ranker, format, X) for format in FORMATS}
    with warnings.catch_warnings(action="ignore"):
        fitted = ranker.fit(X, Y, QID)
    after = formats_for(fitted)
    assert set(before) <= set(after)
    if name in PARTS:  # whose fits to these documents use all that they can
        assert [name for name in after if name in FORMATS] == [n for n in before if n in FORMATS]
    for format in (*FORMATS, *HYBRID_FORMATS):
        path, options = tmp_path / format, {"format": format, "allow": REASONS}
        reason = why_refused(export, fitted, path, **options)
        assert (reason is None) == (name_of(format) in after) == path.exists(), reason
    for format, reason in expected.items():
        assert (reason is None) == (name_of(format) in before), reason


def test_without_documents_an_unfitted_ranker_is_asked_for_numbers():
    for name in ("lightgbm", "linear", "xgboost", "mlp"):
        assert formats_for(made(name)) == formats_for(made(name), NUMBERS)
    assert formats_for(made("lightgbm"), csr_matrix(NUMBERS)) == formats_for(made("lightgbm"))
    assert formats_for(made("lightgbm"), NUMBERS.tolist()) == formats_for(made("lightgbm"))
    assert formats_for(TreeDirectRanker.best()) == formats_for(made("stages"))


def test_best_with_categories_is_said_to_go_where_it_goes():
    best = TreeDirectRanker.best()
    formats = ["c", "javascript", "json", "onnx", "python", "sql", "vespa-expression"]
    assert formats_for(best, SHOPS) == formats
    small = best.set_params(feature_part__n_refits=1, feature_part__n_bags=2)
    with warnings.catch_warnings(action="ignore"):
        assert formats_for(small.fit(SHOPS, Y, QID)) == formats


def test_pipelines_are_refused_before_a_fit_too():
    pipeline = make_pipeline(StandardScaler(), TreeDirectRanker())
    with pytest.raises(TypeError, match="In place of a pipeline, fit the ranker alone"):
        formats_for(pipeline, NUMBERS)
    with pytest.raises(TypeError, match="In place of a pipeline, fit the ranker alone"):
        refuse_format(pipeline, "solr", NUMBERS)


def test_parts_that_have_components_say_so_before_a_fit():
    for name in PART_SETTINGS:
        part = made(name).feature_part
        assert hasattr(part, "components") == hasattr(part, "expected_components")


def test_documents_that_fit_refuses_are_refused():
    for X, message in (
        (pd.DataFrame({"day": ["2026-01-01", "2026-01-02"]}), "'day' of X must be numbers, not"),
        (pd.DataFrame({"v": [[1.0], [1.0, 2.0]]}), "'v' of X must have equally many numbers"),
        (5, "X must be"),
        ([1.0, 2.0], "X must have"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            formats_for(made("lightgbm"), X)
    vectors = pd.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]], "score_1": [1.0, 2.0]})
    assert "sql" not in formats_for(made("lightgbm"), vectors)
    assert "sql" in formats_for(made("lightgbm"), vectors[["v"]])
