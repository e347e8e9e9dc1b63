"""Names of features in files: those of the columns, or others that the real programs take."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scoring_programs import onnx_scores

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.exports import export, write_feature_set
from treerank.exports.formats import FORMATS
from treerank.exports.uploads import FEATURE_SETS, UPLOADS

random = np.random.default_rng(0)
X = random.integers(0, 9, (60, 4)).astype(float)
y, qid = X @ [3, 2, 1, 0] > 24, np.repeat(range(6), 10)
TREES = TreeDirectRanker(LightGBMTrees(4, min_child_samples=2), random_state=0)

#: Names of columns, each list with what some program does not take.
ODD = [
    ["a[", "a]", "a_", "b"],
    ["größe", "цена", "価格", "\u2028"],
    ["a\n", "a\r", "a\t", "a "],
    ["a\x08", "a\x0c", "a\x01", "a\x7f"],
    ["a\0x", "a\0y", "\0", "b"],
    ["", "_", "__2", "_2"],
    ['"a"', "a\\", "\\u00e4", "a:b,{c}"],
]


def X_named(names):
    return pd.DataFrame(X, columns=names)


def assert_named(written, names, refused):
    """Compare names: they differ, and are those of the columns where all characters are taken."""
    assert len(set(written)) == len(names)
    for name, other in zip(names, written, strict=True):
        if name and not set(name) & set(refused):
            assert other == name


def fitted(names):
    return TREES.fit(X_named(names), y, qid)


@pytest.mark.parametrize("names", ODD)
def test_xgboost_reads_its_file_and_takes_documents_by_the_names_in_it(names, tmp_path):
    ranker = fitted(names)
    export(ranker, tmp_path / "m.json", format="xgboost", check=X_named(names))
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    written = booster.feature_names
    assert_named(written, names, "[]<\0\x01\x08\x0c")
    scores = booster.predict(xgboost.DMatrix(X, feature_names=written), output_margin=True)
    frame = xgboost.DMatrix(pd.DataFrame(X, columns=written))
    np.testing.assert_array_equal(booster.predict(frame, output_margin=True), scores)
    np.testing.assert_allclose(scores, ranker.predict(X_named(names)), rtol=1e-6)
    booster.save_model(tmp_path / "m.ubj")
    assert xgboost.Booster(model_file=tmp_path / "m.ubj").feature_names == written


@pytest.mark.parametrize("names", ODD)
def test_lightgbm_reads_its_file_and_takes_documents_by_the_names_in_it(names, tmp_path):
    ranker = fitted(names)
    export(ranker, tmp_path / "m.txt", format="lightgbm")
    booster = lightgbm.Booster(model_file=tmp_path / "m.txt")
    written = booster.feature_name()
    assert_named(written, names, ' ,:[]{}"\\\0\x01\x08\x0c\x7f\n\r\t\u2028')
    frame = pd.DataFrame(X, columns=written)
    scores = booster.predict(frame, validate_features=True, raw_score=True)
    np.testing.assert_array_equal(scores, ranker.predict(X_named(names)))
    assert booster.dump_model()["feature_names"] == written


@pytest.mark.parametrize("names", ODD)
def test_the_names_in_a_file_of_onnx_are_as_many_as_the_columns(names, tmp_path):
    onnx = pytest.importorskip("onnx")
    export(fitted(names), tmp_path / "m.onnx", format="onnx")
    model = onnx.load(tmp_path / "m.onnx")
    (entry,) = [each for each in model.metadata_props if each.key == "feature_names"]
    assert_named(entry.value.split("\n"), names, "\n")
    onnx_scores((tmp_path / "m.onnx").read_bytes(), X)


def test_a_report_tells_the_names_that_a_program_does_not_take(tmp_path):
    report = export(fitted(ODD[0]), tmp_path / "m", format="lightgbm")
    assert report.renamed == {"a[": "a__2", "a]": "a__3"}
    assert "The file names 'a[' as 'a__2', 'a]' as 'a__3'." in str(report)
    plain = export(fitted(["a", "b", "c", "d"]), tmp_path / "m", format="lightgbm")
    assert plain.renamed == {}
    assert "names" not in str(plain)


def test_a_refusal_names_the_column_as_the_data_do(tmp_path):
    holes = X_named(ODD[0])
    holes.iloc[3, 0] = 1e300
    with pytest.raises(ValueError, match=r"got 1e\+300 in feature 'a\['"):
        export(fitted(ODD[0]), tmp_path / "m", format="xgboost", check=holes)
    ranker = fitted(ODD[0])
    threshold = max(ranker.forest().threshold[ranker.forest().feature == 0])
    near = np.nextafter(threshold, np.inf)  # which single precision cannot tell apart
    holes.iloc[:2, 0] = threshold, near
    with pytest.raises(ValueError, match=r"feature 'a\[' is rounded over a threshold in 1"):
        export(ranker, tmp_path / "m", format="xgboost", check=holes.fillna(0).clip(upper=9))


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_that_utf_8_cannot_write_is_refused_before_a_file_is_written(format, tmp_path):
    names = np.array(["a", "b\ud800", "c", "d"], dtype=object)
    ranker = TREES.fit(X, y, qid)
    ranker.feature_names_in_ = names
    with pytest.raises(ValueError, match=r"must be text that UTF-8 can write; got 'b\\ud800'"):
        export(ranker, tmp_path / "m", format=format, allow="unchecked")
    if format in FEATURE_SETS:
        with pytest.raises(ValueError, match="must be text that UTF-8 can write"):
            write_feature_set(ranker, tmp_path / "m", format=format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["größe", "a.", "a..b", "a b", "1a", "a()", "", "a\n"])
def test_a_name_that_is_no_rank_feature_is_refused_by_vespa(name, tmp_path):
    frame = X_named([name, "bm25(title)", "fieldMatch(title,1).completeness", "freshness_2"])
    ranker = TREES.fit(frame, y, qid)
    with pytest.raises(ValueError, match="names must be rank features of Vespa; got"):
        export(ranker, tmp_path / "m", format="vespa-expression", check=frame)
    assert not list(tmp_path.iterdir())
    frame = frame.rename(columns={name: "attribute(price)"})
    export(TREES.fit(frame, y, qid), tmp_path / "m", format="vespa-expression", check=frame)


@pytest.mark.parametrize("format", sorted({*UPLOADS} - {"elasticsearch"}))
def test_a_draft_of_features_needs_names_that_a_field_can_have(format, tmp_path):
    ranker = fitted(["", "b", "c", "d"])
    with pytest.raises(ValueError, match="names of columns must not be empty in drafts"):
        write_feature_set(ranker, tmp_path / "f.json", format=format)
    ranker = fitted(["{{a}}", "b", "c", "d"])
    if format.startswith("solr"):
        write_feature_set(ranker, tmp_path / "f.json", format=format)
        assert json.loads((tmp_path / "f.json").read_text())[0]["name"] == "{{a}}"
    else:
        with pytest.raises(ValueError, match=r"must not have '{{' in drafts of features"):
            write_feature_set(ranker, tmp_path / "f.json", format=format)
        assert not list(tmp_path.iterdir())


def test_a_request_of_elastic_needs_names_that_a_field_can_have(tmp_path):
    for name, message in (("", "must not be empty"), ("{{a}}", "must not have '{{'")):
        frame = X_named([name, "b", "c", "d"])
        ranker = TREES.fit(frame, y, qid)
        with pytest.raises(ValueError, match=message):
            export(ranker, tmp_path / "m.json", format="elasticsearch", check=frame, name="shop")
        assert not list(tmp_path.iterdir())
