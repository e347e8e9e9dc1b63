"""Categories in files: whoever scores can code texts as the ranker does, from the file alone."""

import ctypes
import json
import shutil

import lightgbm
import numpy as np
import onnx
import pandas as pd
import pytest
from scoring_programs import compiled, onnx_scores
from sklearn.pipeline import make_pipeline

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees, read_forest
from treerank.exports import export, formats_for
from treerank.feature_parts import Ensemble, Stages
from treerank.rankers import ForestRanker

RNG = np.random.default_rng(0)
N = 600
SHOPS = np.array(["zoë's", "b\\b", "", "Ärzte", "ab", "a b", 'say "hi"', "Z"])
SHOP, SIZE = RNG.integers(len(SHOPS), size=N), RNG.integers(3, size=N)
FRAME = pd.DataFrame({"price": RNG.normal(size=N), "shop": SHOPS[SHOP]}).assign(
    size=pd.Categorical(SIZE * 10), color=np.where(SIZE > 1, "red", "blue")
)
Y = np.isin(SHOP, [0, 2, 5]) + (SIZE == 1)
#: The next page has a shop that training did not have, and others in other places.
NEW = FRAME[::-1].assign(shop=np.where(SHOP == 3, "new", FRAME["shop"])[::-1])
TEXTS = NEW.astype({"size": str})


@pytest.fixture(scope="module")
def ranker():
    part = LightGBMTrees(10, min_child_samples=5, engine_params={"min_data_per_group": 5})
    return TreeDirectRanker(part, random_state=0).fit(FRAME, Y, np.arange(N) // 20)


def test_onnx_has_the_codes_in_its_metadata(ranker, tmp_path):
    path = tmp_path / "model.onnx"
    report = export(ranker, path, format="onnx", check=FRAME)
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    categories = json.loads(metadata["categories"])
    assert categories == report.categories
    X = np.column_stack([
        [codes.get(value, np.nan) for value in NEW[name]]
        if (codes := {level: code for code, level in enumerate(categories.get(name, []))})
        else NEW[name]
        for name in metadata["feature_names"].split("\n")
    ]).astype(float)  # fmt: skip
    np.testing.assert_array_equal(onnx_scores(path.read_bytes(), X), ranker.predict(NEW))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_has_a_function_from_a_text_to_its_code(ranker, tmp_path):
    path = tmp_path / "model.c"
    export(ranker, path, format="c")
    scores_of = compiled(path.read_bytes(), tmp_path / "built")
    code = ctypes.CDLL(tmp_path / "built.so").treerank_code
    code.argtypes, code.restype = [ctypes.c_size_t, ctypes.c_char_p], ctypes.c_double
    X = [
        [code(column, text.encode()) if column else text for column, text in enumerate(row)]
        for row in TEXTS.to_numpy().tolist()
    ]
    np.testing.assert_array_equal(scores_of(np.array(X)), ranker.predict(NEW))
    assert np.isnan(code(0, b"1.5"))
    assert np.isnan(code(1, b"zz"))


def test_lightgbm_itself_codes_data_frames(ranker, tmp_path):
    path = tmp_path / "model.txt"
    export(ranker, path, format="lightgbm")
    categories = {"shop": "category", "color": "category"}
    found = lightgbm.Booster(model_file=path).predict(NEW.astype(categories))
    np.testing.assert_array_equal(found, ranker.predict(NEW))


@pytest.mark.parametrize("format", ["json", "lightgbm"])
def test_trees_that_are_read_back_read_data_frames(format, ranker, tmp_path):
    path = tmp_path / "model"
    export(ranker, path, format=format)
    again = ForestRanker(read_forest(path))
    assert again.trees.levels == ranker.columns_.categories
    np.testing.assert_array_equal(again.predict(NEW), ranker.predict(NEW))


@pytest.mark.parametrize("format", ["xgboost", "vespa-expression"])
def test_the_report_has_the_codes_for_files_without_them(format, ranker, tmp_path):
    report = export(ranker, tmp_path / "model", format=format, check=FRAME)
    assert report.categories["color"] == ["blue", "red"]
    assert report.categories["size"] == [0, 10, 20]


def test_files_of_numbers_have_no_word_of_categories(tmp_path):
    trees = TreeDirectRanker(HistogramTrees(3)).fit(FRAME[["price"]], Y, np.arange(N) // 20)
    for format in ("c", "json", "lightgbm", "onnx"):
        assert export(trees, tmp_path / format, format=format, check=FRAME).categories == {}
    assert "treerank_code" not in (tmp_path / "c").read_text()
    assert "levels" not in (tmp_path / "json").read_text()
    assert "pandas_categorical" not in (tmp_path / "lightgbm").read_text()


def test_texts_that_are_one_in_c_are_refused(tmp_path):
    color = [1 if size else "1" for size in SIZE]
    frame = FRAME.assign(color=pd.Categorical(color))
    trees = TreeDirectRanker(HistogramTrees(3)).fit(frame, Y, np.arange(N) // 20)
    with pytest.raises(ValueError, match=r"categories that differ as texts .* in column 'color'"):
        export(trees, tmp_path / "model.c", format="c")


MIXED = {
    "ensemble": Ensemble([LightGBMTrees(5), HistogramTrees(5)], n_bags=2),
    "ensemble of XGBoost": Ensemble([XGBoostTrees(5), HistogramTrees(5)], n_bags=2),
    "stages": Stages([LightGBMTrees(5), HistogramTrees(5)]),
    "best": Ensemble([LightGBMTrees(5), LightGBMTrees(5), "linear"], n_bags=2, n_refits=1),
}
AS_TREES = [
    "c",
    "javascript",
    "json",
    "lightgbm",
    "onnx",
    "python",
    "sql",
    "vespa-expression",
    "xgboost",
]


@pytest.mark.parametrize("name", MIXED)
def test_sums_of_trees_of_several_engines_are_exported_and_explained(name, tmp_path):
    parts = TreeDirectRanker(MIXED[name], random_state=0).fit(FRAME, Y, np.arange(N) // 20)
    refused = ("lightgbm", "xgboost") if name == "best" else ()
    formats = [each for each in AS_TREES if each not in refused]
    for format in formats:
        report = export(parts, tmp_path / format, format=format, check=NEW)
        assert report.largest_difference < 1e-5
    scores = parts.predict(NEW)
    np.testing.assert_allclose(parts.scorer()(NEW), scores, rtol=1e-6, atol=1e-9)
    pairs, errors = parts.explain(NEW[:5], NEW[5:10], with_errors=True)
    assert not errors.any()  # exact, and no draws
    np.testing.assert_allclose(np.asarray(pairs).sum(axis=1), scores[:5] - scores[5:10], atol=1e-6)
    if name == "best":
        with pytest.raises(ValueError, match=r"trees and a linear model, which 'c', 'javascript'"):
            export(parts, tmp_path / "model", format="lightgbm")
    assert formats_for(parts) == formats


def test_numbers_as_categories_of_several_engines_are_refused_with_the_way_out():
    X = np.column_stack([FRAME["price"], SHOP])
    settings = {"categorical_features": [1]}
    part = Ensemble([LightGBMTrees(5, **settings), HistogramTrees(5, **settings)], n_bags=2)
    ranker = TreeDirectRanker(part, random_state=0).fit(X, Y, np.arange(N) // 20)
    with pytest.raises(ValueError, match=r"column 'f1' of X must be text or categories of a data"):
        ranker.components()


def test_formats_for_says_which_formats_know_categories(ranker):
    assert formats_for(ranker) == AS_TREES
    numbers = TreeDirectRanker(HistogramTrees(3)).fit(FRAME[["price"]], Y, np.arange(N) // 20)
    assert {"opensearch", "solr", "ranklib", *AS_TREES} < {*formats_for(numbers)}
    with pytest.raises(TypeError, match=r"In place of a pipeline, fit the ranker alone"):
        formats_for(make_pipeline(TreeDirectRanker()).fit(FRAME[["price"]], Y))
