import ctypes
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xgboost
from drawn_forests import drawn_documents, drawn_forest
from forest_cases import goes_left
from lightgbm import LGBMRanker
from scipy.sparse import csr_matrix
from scoring_programs import compiled, onnx_scores
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import MLP, LightGBMTrees, TreeDirectRanker, read_letor
from treerank.baselines import SortNet
from treerank.datasets import make_web_search, read_batches, write_letor
from treerank.documents import QueryGroups
from treerank.exports import export, write_feature_set
from treerank.exports.adaptation import find_deviations
from treerank.exports.conversion import converted
from treerank.exports.formats import FORMATS, format_named
from treerank.exports.report import compare_scores
from treerank.exports.uploads import FEATURE_SETS, UPLOADS
from treerank.feature_parts import LinearModel
from treerank.feature_parts.components import Components
from treerank.feature_parts.registry import feature_part_class
from treerank.forests.building import GrowingForest
from treerank.forests.scoring import forest_scores
from treerank.rankers import ForestRanker
from treerank.rankers.calibration import relevance_scale_of

NAMES = ["a", "b", "c", "d"]
TREES = LightGBMTrees(n_estimators=8)
X, y, qid = DATA = make_web_search(12, documents_per_query=20, n_features=10, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return TreeDirectRanker(TREES, random_state=0).fit(*DATA)


@pytest.mark.parametrize("format", FORMATS)
def test_no_document_that_a_program_scores_differently_is_silent(format):
    random = np.random.default_rng(0)
    for _ in range(15):
        knows_categories = getattr(format_named(format).consumer, "categories", "exact")
        rule = random.choice(["exact", "truncated", "single"]) if knows_categories else None
        single = random.choice(["float64", "float32"])
        if format == "sql":  # which refuses single precision, and codes without their categories
            rule, single = None, "float64"
        zeros = random.random() < 0.3
        forest = drawn_forest(random, rule=rule, sum_dtype=single, zeros=zeros, constant=True)
        X = drawn_documents(random, forest, 60)
        conversion = converted(format, Components(forest), NAMES, X)
        scores, others = forest_scores(forest, X)[:, 0], conversion.scores(X)
        is_off = np.abs(scores - others) > 1e-5
        found = conversion.deviations(X)
        assert sum(len(each.rows) for each in found) >= is_off.sum()
        assert not conversion.is_exact or np.array_equal(scores, others)


@pytest.fixture(params=[TREES, LinearModel()], ids=["trees", "linear"])
def calibrated(request):
    ranker = TreeDirectRanker(request.param, random_state=0).fit(*DATA).calibrate(*DATA)
    lines = np.array([[2.0, 0.5], [5.0, 0.0], [1.0, -2.0], [1.0, -3.0]])
    scale = replace(relevance_scale_of(ranker), lines=lines, is_line=np.array([True] * 3 + [False]))
    ranker._relevance_scale = scale
    return ranker


def test_onnxruntime_computes_probabilities_as_the_ranker(calibrated, tmp_path):
    path = tmp_path / "model.onnx"
    for label in (0.5, 2, 3):
        export(calibrated, path, format="onnx", check=DATA, relevance=label)
        found = onnx_scores(path.read_bytes(), X, "relevance")
        np.testing.assert_allclose(found, calibrated.predict_relevance(X, label), rtol=1e-12)
        scores = onnx_scores(path.read_bytes(), X)
        np.testing.assert_allclose(scores, calibrated.predict(X), rtol=1e-12)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_compiled_c_computes_probabilities_as_the_ranker(calibrated, tmp_path):
    for label in (0.5, 2, 3):
        path = tmp_path / f"model{10 * label:g}"
        export(calibrated, path, format="c", check=DATA, relevance=label)
        scores = compiled(path.read_bytes(), path)(X)
        relevance = ctypes.CDLL(f"{path}.so").treerank_relevance
        relevance.argtypes, relevance.restype = [ctypes.c_double], ctypes.c_double
        found = [relevance(score) for score in scores]
        np.testing.assert_allclose(found, calibrated.predict_relevance(X, label), rtol=1e-12)
        assert (relevance(-1e308), relevance(1e308)) == (0, 1)
        assert np.isnan(relevance(np.nan))


def test_a_probability_that_cannot_be_written_is_refused(calibrated, fitted, tmp_path):
    for ranker, format, label, message in [
        (
            calibrated,
            "solr",
            1,
            "format 'solr' cannot express the probability of relevance; 'c', 'javascript',",
        ),
        (
            calibrated,
            "c",
            4,
            "relevance: .* at least 4 must be linear in the score; it is an",
        ),
        (calibrated, "c", 5, "relevance: at_least must be above .* at most the highest, 4; got 5"),
        (calibrated, "c", True, "relevance must be a finite number; got True"),
        (fitted, "c", 1, r"relevance: calibrate\(X, y, qid\) must be called before"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            export(ranker, tmp_path / "model", format=format, relevance=label)
    assert not [*tmp_path.iterdir()]


def test_a_document_counts_once_for_a_feature_and_only_for_the_first_that_differs():
    random = np.random.default_rng(3)
    forest = drawn_forest(random, n_trees=3)
    X = drawn_documents(random, forest, 100)
    other = drawn_forest(np.random.default_rng(3), n_trees=3)
    other.threshold[~other.is_leaf & (other.feature == 1)] += 0.3
    other.missing_left[~other.is_leaf & (other.feature == 2)] ^= True
    expected = {}
    for row, x in enumerate(X):
        for root in forest.roots:
            node = root
            while forest.feature[node] >= 0:
                feature = forest.feature[node]
                sides = [goes_left(each, node, x[feature]) for each in (forest, other)]
                if sides[0] != sides[1]:
                    reason = "missing" if np.isnan(x[feature]) else "rounding"
                    expected.setdefault((reason, NAMES[feature]), set()).add(row)
                    break
                node = forest.left[node] if sides[0] else forest.right[node]
    found = find_deviations(forest, other, X, NAMES)
    assert {(each.reason, each.feature): len(each.rows) for each in found} == {
        key: len(rows) for key, rows in expected.items()
    }
    assert len(found) >= 2


@pytest.mark.parametrize("seed", range(5))
def test_changed_pairs_are_those_of_brute_force(seed):
    random = np.random.default_rng(seed)
    scores = random.integers(6, size=40).astype(float)
    others = np.where(random.random(40) < 0.7, scores, random.integers(6, size=40))
    qid = random.integers(3, size=40)
    scores += random.choice([0.0, 2e-6, 9e-6], 40)
    others += random.choice([0.0, 2e-6, 9e-6], 40)
    differences = [each[:, None] - each for each in (scores, others)]
    is_changed = (np.sign(differences[0]) != np.sign(differences[1])) & (qid[:, None] == qid)
    is_near = np.max(np.abs(differences), axis=0) <= 1e-6 * np.ptp(scores)
    report = compare_scores("c", scores, others, None, QueryGroups.from_qid(qid, 40))
    assert report.n_changed_pairs == (is_changed & ~is_near).sum() / 2 > 0
    assert report.n_near_ties == (is_changed & is_near).sum() / 2 > 0
    assert report.largest_difference == np.abs(scores - others).max()


def test_missing_values_are_refused_with_feature_and_count_and_allowed_with_a_warning(tmp_path):
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    ranker = TreeDirectRanker(TREES, random_state=0).fit(holes, y, qid)
    path = tmp_path / "model.json"
    refusal = r"format 'solr-8' differs: feature 'f\d+' is missing in \d+; .* of 240 documents"
    with pytest.raises(ValueError, match=refusal):
        export(ranker, path, format="solr-8", check=holes)
    assert not path.exists()
    with pytest.warns(UserWarning, match="is missing in"):
        report = export(ranker, path, format="solr-8", check=(holes, y, qid), allow={"missing"})
    assert report.n_changed_pairs > 0
    assert report.value != report.value_of_program
    assert "pairs change order, ndcg@10 " in str(report)
    assert export(ranker, path, format="solr", check=holes).n_changed_pairs == 0
    model = json.loads(path.read_text())["params"]
    assert model["isNullSameAsZero"] is False
    assert model["trees"][0]["root"]["missing"] in ("left", "right")


@pytest.mark.parametrize("format", ["opensearch", "solr", "vespa-expression", "xgboost"])
def test_scores_that_differ_by_rounding_alone_are_no_reason_to_refuse(format, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y, qid = X[:, 0] > 0, np.repeat(range(15), 20)
    ranker = TreeDirectRanker(LightGBMTrees(5), random_state=0).fit(X, y, qid)
    report = export(ranker, tmp_path / "m", format=format, check=(X, y, qid))
    assert report.n_changed_pairs == 0
    assert f"{report.n_near_ties} pairs that differ by at most 1e-06 of the range" in str(report)
    assert report.n_near_ties > 0


def test_a_changed_order_is_not_hidden_by_other_differences():
    growing = GrowingForest()
    left, right = growing.split(growing.add_tree(), 0, 0.0, False)
    growing.values[left], growing.values[right] = 1.0, 1.0 + 1e-9
    ranker, X = ForestRanker(growing.forest(1)), np.array([[-1.0], [1.0], [np.nan]])
    # No other leaf makes the range larger, so that 1e-9 is all of it.
    order = r"changes the order of 1 pairs by rounding sums \(of all documents; "
    with pytest.warns(UserWarning, match="is missing in 1"), pytest.raises(ValueError, match=order):
        export(ranker, "m", format="opensearch-2", check=X, allow="missing")


def test_what_may_differ_is_checked_and_what_cannot_differ_needs_no_check(fitted, tmp_path):
    for format in ("c", "json", "lightgbm", "onnx"):
        report = export(fitted, tmp_path / format, format=format)
        assert str(report) == f"{format}: no documents were checked."
    needed = "check must be given: documents"
    with pytest.raises(ValueError, match=f"{needed}; allow='unchecked' accepts this"):
        export(fitted, tmp_path / "solr", format="solr")
    with pytest.warns(UserWarning, match=needed):
        export(fitted, tmp_path / "solr", format="solr", allow="unchecked")


LINE, FOREIGN = TreeDirectRanker("linear"), LGBMRanker(n_estimators=1, verbose=-1)
NETWORK = TreeDirectRanker(MLP((2,), n_epochs=1), random_state=0)
#: Ranker, what else is said, and the error.
REFUSED = [
    (LINE, {"format": "word"}, "format must be one of"),
    (LINE, {"allow": ["everything"]}, "allow must be one of"),
    (LINE, {"allow": 3}, "allow must be a sequence; got 3"),
    (LINE, {"check": (1, 2, 3, 4)}, r"check must be X, .* or \(X, y, qid\); got 4 parts"),
    (FOREIGN, {}, r"got LGBMRanker\(.*write ForestRanker\(read_forest\(model"),
    (make_pipeline(StandardScaler(), LINE), {}, "In place of a pipeline, fit the ranker alone"),
    (NETWORK, {}, "format 'c' has no words for a network"),
    (NETWORK, {"format": "solr"}, "has no words for a network, which 'json' and 'onnx' have"),
    (SortNet(n_epochs=1), {}, "ranker must be a sum of trees and linear models; got SortNet"),
    (LINE, {"format": "onnx", "name": "shop"}, "name must be None for format 'onnx', whose prog"),
    (
        LINE,
        {"format": "solr", "name": "my shop/1"},
        "name must be 1 to 64 small letters, .*'my shop/1'",
    ),
    (LINE, {"format": "solr", "name": ""}, "name must be 1 to 64 small letters"),
]


@pytest.mark.parametrize(("ranker", "options", "message"), REFUSED)
def test_what_cannot_be_exported_is_refused(ranker, options, message, tmp_path):
    own = {"group": [len(y)]} if ranker is FOREIGN else {"qid": qid}
    own = {"treedirectranker__qid": qid} if isinstance(ranker, Pipeline) else own
    fitted = clone(ranker).fit(X, y, **own)
    with pytest.raises((ValueError, TypeError), match=message):
        export(fitted, tmp_path / "model", **{"format": "c"} | options)
    assert not list(tmp_path.iterdir())


def test_what_is_not_fitted_has_no_folder_or_is_too_deep_is_refused(fitted, tmp_path):
    with pytest.raises(TypeError, match=r"a ranker of treerank; got LightGBMTrees\("):
        export(fitted.feature_part_, tmp_path / "model", format="c")
    with pytest.raises(TypeError, match=r"a ranker of treerank; got LightGBMTrees\("):
        write_feature_set(fitted.feature_part_, tmp_path / "f", format="solr")
    with pytest.raises(ValueError, match="not fitted"):
        export(LINE, tmp_path / "model", format="c")
    with pytest.raises(FileNotFoundError):
        export(fitted, tmp_path / "none" / "model", format="c")
    deep = drawn_forest(np.random.default_rng(2), n_trees=8, most_splits=500)
    with pytest.raises(ValueError, match=r"takes trees of at most 200 splits on a path; got \d+"):
        converted("solr", Components(deep), NAMES)


def test_what_a_reader_returned_is_checked_and_is_in_memory(fitted, tmp_path):
    path = tmp_path / "data.txt"
    write_letor(path, *DATA)
    read, others = (
        export(fitted, tmp_path / "m", format="solr", check=each)
        for each in (read_letor(path), DATA)
    )
    assert read == others
    for file in (path, str(path)):
        with pytest.raises(TypeError, match="check: X must be documents in memory"):
            export(fitted, tmp_path / "m", format="solr", check=file)
    for batches in (read_batches(path), (read_batches(path),)):
        with pytest.raises(TypeError, match=r"check: X must be a matrix in memory; got .*Batches"):
            export(fitted, tmp_path / "m", format="solr", check=batches)


def test_names_of_columns_are_the_names_of_features(tmp_path):
    frame = pd.DataFrame(X, columns=[f"price {i}" for i in range(X.shape[1])])
    ranker = TreeDirectRanker(TREES, random_state=0).fit(frame, y, qid)
    path = tmp_path / "model.json"
    export(ranker, path, format="solr", check=(frame, y, qid))
    model = json.loads(path.read_text())
    assert model["features"][3] == {"name": "price 3"}
    assert f"price {model['params']['trees'][0]['root']['feature'].split()[1]}" in frame


@pytest.mark.parametrize("format", UPLOADS)
def test_a_name_makes_the_file_the_request_that_uploads_the_model(format, fitted, tmp_path):
    path, alone = tmp_path / "request.json", tmp_path / "model"
    documents = np.abs(X), y, qid  # no query has a negative score
    export(fitted, alone, format=format, check=documents)
    report = export(fitted, path, format=format, check=documents, name="shop-1")
    assert report.upload == UPLOADS[format].model.format(name="shop-1")
    assert str(report).endswith(f"Send the file by {report.upload}.")
    body, names = json.loads(path.read_text()), [f"f{i}" for i in range(10)]
    if format.startswith("solr"):
        assert body == json.loads(alone.read_text()) | {"name": "shop-1", "store": "shop-1"}
    elif format == "elasticsearch":
        assert body["definition"] == json.loads(alone.read_text())
        assert "input" not in body  # "cannot specify [input.field_names]", from 8.15 on
        extractors = body["inference_config"]["learning_to_rank"]["feature_extractors"]
        assert [each["query_extractor"]["feature_name"] for each in extractors] == names
    else:
        kind = "model/ranklib" if format == "ranklib" else "model/xgboost+json"
        model = {"type": kind, "definition": alone.read_text()}
        assert body == {"model": {"name": "shop-1", "model": model}}


def test_features_have_the_name_of_the_model(tmp_path):
    ranker = TreeDirectRanker("linear").fit(*DATA)
    export(ranker, tmp_path / "m", format="opensearch", check=DATA, name="shop")
    assert json.loads((tmp_path / "m").read_text())["model"]["model"]["type"] == "model/linear"
    for format in FEATURE_SETS:
        request = write_feature_set(ranker, tmp_path / "f", format=format, name="shop")
        assert request == UPLOADS[format].features.format(name="shop")
        assert request.endswith(("_featureset/shop", "schema/feature-store"))
        features = json.loads((tmp_path / "f").read_text())
        named = features[0]["store"] if "solr" in format else features["featureset"]["name"]
        assert named == "shop"


@pytest.mark.filterwarnings("ignore:Format .* may score some documents differently")
def test_a_model_can_use_a_feature_set_of_another_name(tmp_path):
    ranker = TreeDirectRanker("lightgbm").fit(*DATA)
    for format in FEATURE_SETS:
        arguments = {"format": format, "allow": "unchecked", "name": "shop-2"}
        report = export(ranker, tmp_path / "m", **arguments, feature_set="shop")
        assert report.upload == UPLOADS[format].model.format(name="shop")
        body = json.loads((tmp_path / "m").read_text())
        if "solr" in format:
            assert (body["name"], body["store"]) == ("shop-2", "shop")
        else:
            assert "shop-2" not in report.upload
            assert body["model"]["name"] == "shop-2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"format": "elasticsearch", "name": "shop-2"},
            "feature_set must be left out for format 'ela",
        ),
        (
            {"format": "c", "name": "shop"},
            "feature_set must be left out for format 'c', which has no",
        ),
        (
            {"format": "opensearch-hybrid", "name": "shop"},
            "must be left out for format 'opensearch-hy",
        ),
        ({"format": "solr"}, "feature_set must come with the name of the model; got 'shop' alone"),
        ({"format": "solr", "name": "shop-2", "feature_set": "My"}, "feature_set: name must be 1"),
    ],
)
def test_a_feature_set_that_no_request_names_is_refused(arguments, message, tmp_path):
    ranker = TreeDirectRanker("linear").fit(*DATA)
    with pytest.raises(ValueError, match=message):
        export(ranker, tmp_path / "m", check=DATA, **{"feature_set": "shop"} | arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_documents_that_xgboost_refuses_are_no_proof(tmp_path, form):
    X = np.random.default_rng(0).normal(size=(40, 2))
    ranker = TreeDirectRanker("lightgbm").fit(form(X), (X[:, 0] > 0).astype(int))
    X[3] = 1.0, -1e300
    with pytest.raises(ValueError, match=r"at most 3\.4e\+38 in size.* 1e\+300 in feature 'f1'"):
        export(ranker, tmp_path / "model.json", format="xgboost", check=form(X))
    with pytest.raises(xgboost.core.XGBoostError, match="too large"):
        xgboost.DMatrix(X)
    export(ranker, tmp_path / "model.txt", format="lightgbm", check=form(X))
    X[3, 1] = np.nan
    export(ranker, tmp_path / "model.json", format="xgboost", check=np.asarray(X))


def test_what_a_format_cannot_say_of_categories_is_named():
    forest = drawn_forest(np.random.default_rng(1), rule="exact")
    sets, feature = forest.categories, forest.feature.copy()
    feature[sets.of_node == 0] = 1
    assert sets.of_node[np.argmax(sets.of_node >= 0)] == 0
    with pytest.raises(ValueError, match="has no categories; got some in column 'b'"):
        converted("ranklib", Components(replace(forest, feature=feature)), NAMES)
    sets.codes[sets.starts[1] - 1] = 2**16 - 1
    converted("xgboost", Components(forest), NAMES)
    for place, code in ((sets.starts[1] - 1, 2**16), (sets.starts[1] - 1, 65535.5), (0, -1)):
        sets.codes[place] = code
        with pytest.raises(ValueError, match=f"whole numbers from 0 to 65535; got {code}"):
            converted("xgboost", Components(forest), NAMES)
    for place, code in (
        (sets.starts[1] - 1, 2**31),
        (sets.starts[1] - 1, 65535.5),
        (0, -(2**31) - 1),
    ):
        sets.codes[place] = code
        with pytest.raises(ValueError, match=f"from -2147483648 to 2147483647; got {code}"):
            converted("onnx", Components(forest), NAMES)
        sets.codes[place] = np.clip(np.trunc(code), -(2**31), 2**31 - 1)
        converted("onnx", Components(forest), NAMES)


def test_five_features_that_differ_are_listed(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 7))
    ranker = TreeDirectRanker("linear").fit(X, X.sum(axis=1) > 0)
    for n_missing, end in ((5, r"'f4' is missing in 1"), (6, "1 more features")):
        X[np.arange(n_missing), np.arange(n_missing)] = np.nan
        with pytest.raises(ValueError, match=f"{end} of 60 documents; allow='missing'"):
            export(ranker, tmp_path / "model.json", format="solr", check=X)


@pytest.mark.parametrize(("part", "format"), [("histogram", "onnx"), ("lightgbm", "lightgbm")])
def test_a_program_that_reads_categories_as_the_engine_does_is_exact_and_no_other(part, format):
    codes = np.column_stack([np.arange(240) % 6, X[:, :2]])
    trees = feature_part_class(part)(5, categorical_features=[0], min_child_samples=2)
    components = TreeDirectRanker(trees, random_state=0).fit(codes, y, qid).components()
    for other in ("onnx", "lightgbm"):
        assert converted(other, components, NAMES[:3]).is_exact == (other == format)


def test_an_export_measures_by_the_metric_of_the_ranker(tmp_path):
    def first_id(labels, scores, qid=None):
        return float(qid[np.argmax(scores)])

    shares, path = (y / 5).round(2), tmp_path / "model.py"
    for metric in ("ndcg@10", "map", "ndcg(gain=[0, 2])@3", first_id):
        settings = {"metric": metric, "gain": "linear", "threshold": 0.5}
        ranker = TreeDirectRanker(TREES, random_state=0, **settings).fit(X, shares, qid)
        labels = (shares > 0.3) * 1.0 if "gain=" in str(metric) else shares
        report = export(ranker, path, format="python", check=(X, labels, qid))
        assert report.value == report.value_of_program == ranker.score(X, labels, qid)
        assert f", {report.metric} {report.value:.4f} and " in str(report)
    ranker = TreeDirectRanker(TREES, metric="map", random_state=0).fit(X, shares, qid)
    with pytest.warns(UserWarning, match="No label reaches threshold=1"):
        report = export(ranker, path, format="python", check=(X, shares, qid))
    assert (report.metric, report.value) == ("map", None)
    assert "map" not in str(report)
