"""Files of each format, scored by the real programs: equal to what is said of them, bit for bit."""

import json
import shutil
import subprocess
from itertools import permutations

import lightgbm
import numpy as np
import onnx
import pytest
import xgboost
from drawn_forests import drawn_documents, drawn_forest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring_programs import (
    ARITHMETIC,
    compiled,
    lightgbm_scores,
    onnx_scores,
    xgboost_scores,
)

from treerank import TreeDirectRanker
from treerank.exports import write_feature_set
from treerank.exports.conversion import converted
from treerank.exports.formats import FORMATS
from treerank.feature_parts.components import Components, no_trees
from treerank.feature_parts.linear_component import LinearComponent
from treerank.forests.scoring import forest_scores

NAMES = ["a", "b", "c", "d"]


def written(format, forest, X=None):
    conversion = converted(format, Components(forest), NAMES, X)
    return conversion, conversion.content()


def drawn_case(seed, rule, *, huge):
    """Return a forest and documents; everything that may be hard for a program is drawn."""
    random = np.random.default_rng(seed)
    forest = drawn_forest(
        random,
        n_trees=int(random.integers(1, 8)),
        huge=huge and random.random() < 0.3,
        rule=rule if random.random() < 0.5 else None,
        zeros=random.random() < 0.2,
        sum_dtype=random.choice(["float64", "float32"]),
        constant=random.random() < 0.5,
    )
    return forest, drawn_documents(random, forest, 100)


#: Scorers by format, and the rule of their categories.
READERS = {
    "lightgbm": (lightgbm_scores, "truncated"),
    "xgboost": (xgboost_scores, "single"),
    "onnx": (onnx_scores, "exact"),
}


@pytest.mark.parametrize("format", READERS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_a_program_scores_its_file_as_expected(format, seed):
    scores, rule = READERS[format]
    forest, X = drawn_case(seed, rule, huge=format != "xgboost")
    conversion, content = written(format, forest, X)
    np.testing.assert_array_equal(scores(content, X), conversion.scores(X))


@pytest.mark.parametrize("linear", [None, LinearComponent(np.zeros(4), np.zeros(4))])
def test_programs_read_a_model_that_scores_all_documents_alike(linear):
    X, nothing = np.random.default_rng(0).normal(size=(10, 4)), Components(no_trees(4), linear)
    content = {name: converted(name, nothing, NAMES, X).content() for name in FORMATS}
    for format, (scores, _) in READERS.items():
        np.testing.assert_array_equal(scores(content[format], X), np.zeros(10))
    assert len(json.loads(content["solr"])["params"]["trees"]) == 1
    assert content["vespa-expression"].strip() == b"0.0"
    assert b'<tree id="1"' in content["ranklib"]


def test_the_checker_of_onnx_accepts_the_graph_in_which_one_leaf_is_a_split_of_two():
    forest = drawn_forest(np.random.default_rng(0), constant=True)
    model = onnx.load_from_string(written("onnx", forest)[1])
    onnx.checker.check_model(model)
    (entry,), (node,) = model.metadata_props, model.graph.node
    shapes = [each.type.tensor_type.shape.dim for each in (*model.graph.input, *model.graph.output)]
    sizes = [[size.dim_param or size.dim_value for size in shape] for shape in shapes]
    assert sizes == [["n_documents", len(NAMES)], ["n_documents", 1]]
    assert (entry.key, entry.value) == ("feature_names", "\n".join(NAMES))
    trees = {each.name: np.array(onnx.helper.get_attribute_value(each)) for each in node.attribute}
    both = (trees["nodes_trueleafs"] & trees["nodes_falseleafs"]) == 1
    assert both.any()
    assert (trees["nodes_truenodeids"] != trees["nodes_falsenodeids"])[both].all()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("sum_dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", [None, "exact", "truncated", "single"])
def test_compiled_c_scores_as_the_forest_bit_for_bit(rule, sum_dtype, tmp_path):
    random = np.random.default_rng(0)
    for zeros in (False, True):
        options = {"rule": rule, "zeros": zeros, "sum_dtype": sum_dtype, "constant": True}
        forest = drawn_forest(random, n_trees=60, huge=sum_dtype == "float64", **options)
        X = drawn_documents(random, forest, 1001)
        scores = compiled(written("c", forest)[1], tmp_path / f"model{zeros}")
        np.testing.assert_array_equal(scores(X), forest_scores(forest, X)[:, 0])
        np.testing.assert_array_equal(scores(X[:1]), forest_scores(forest, X[:1])[:, 0])


@pytest.mark.parametrize("format", ARITHMETIC)
def test_the_arithmetic_of_other_programs_gives_the_scores_expected(format):
    random = np.random.default_rng(0)
    for trial in range(12):
        forest = drawn_forest(random, sum_dtype=["float64", "float32"][trial % 2], constant=True)
        X = drawn_documents(random, forest, 40, missing=format != "ranklib")
        conversion, content = written(format, forest, X)
        np.testing.assert_array_equal(ARITHMETIC[format](content, X, NAMES), conversion.scores(X))


def test_leaf_values_of_xgboost_are_weights_of_nodes_as_in_its_own_files():
    forest = drawn_forest(np.random.default_rng(0), rule="single")
    model = json.loads(written("xgboost", forest)[1])["learner"]["gradient_booster"]["model"]
    for tree in model["trees"]:
        is_leaf = np.array(tree["left_children"]) < 0
        weights, conditions = np.array(tree["base_weights"]), np.array(tree["split_conditions"])
        np.testing.assert_array_equal(weights, np.where(is_leaf, conditions, 0.0))


def mean_and_leaves(forest, node, x, known):
    """Return the mean of the leaves that a document may reach by known features, and their number.

    At splits by other features, both sides are open, and all leaves weigh alike.
    """
    if forest.is_leaf[node]:
        return forest.values[node, 0], 1
    left, right = (
        mean_and_leaves(forest, child, x, known)
        for child in (forest.left[node], forest.right[node])
    )
    n_leaves, value = left[1] + right[1], x[forest.feature[node]]
    if forest.feature[node] not in known:
        return (left[0] * left[1] + right[0] * right[1]) / n_leaves, n_leaves
    is_left = forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node]
    return (left if is_left else right)[0], n_leaves


def shap_values(forest, x):
    """Return the path-dependent SHAP value of each feature, then the mean of the leaves."""
    values, orders = np.zeros(5), [*permutations(range(4))]
    for order in orders:
        means = [
            sum(mean_and_leaves(forest, root, x, order[:n])[0] for root in forest.roots)
            for n in range(5)
        ]
        values[[*order]] += np.diff(means) / len(orders)
        values[4] = means[0]
    return values


@pytest.mark.parametrize("format", ["lightgbm", "xgboost"])
def test_shap_values_that_a_program_computes_from_its_file_weigh_all_leaves_alike(format):
    random = np.random.default_rng(0)
    forest, X = drawn_forest(random, n_trees=4), random.normal(size=(10, 4)).astype(np.float32)
    X[random.random((10, 4)) < 0.2] = np.nan
    content = written(format, forest, X)[1]
    if format == "lightgbm":
        model = lightgbm.Booster(model_str=content.decode())
        contributions = model.predict(X, pred_contrib=True)
    else:
        model = xgboost.Booster(model_file=bytearray(content))
        matrix = xgboost.DMatrix(X, feature_names=NAMES, feature_types=model.feature_types)
        contributions = model.predict(matrix, pred_contribs=True)
    expected = [shap_values(forest, x) for x in X]
    np.testing.assert_allclose(contributions, expected, atol=1e-5)
    np.testing.assert_allclose(contributions.sum(axis=1), forest_scores(forest, X)[:, 0], atol=1e-5)


@pytest.mark.parametrize("format", ["solr", "solr-8"])
def test_a_model_of_solr_names_the_store_of_its_features(format, tmp_path):
    ranker = TreeDirectRanker("linear").fit([[1.0], [2.0]], [0, 1], [1, 1])
    write_feature_set(ranker, tmp_path / "features.json", format=format)
    (feature,) = json.loads((tmp_path / "features.json").read_text())
    linear, trees = LinearComponent(np.ones(1), np.zeros(1)), Components(no_trees(1))
    for components in (trees, Components(no_trees(1), linear)):
        model = json.loads(converted(format, components, ["f0"], np.ones((1, 1))).content())
        assert model["store"] == feature["store"]


def test_a_line_in_solr_is_the_sum_of_weights_times_what_its_normalizer_leaves():
    random = np.random.default_rng(0)
    linear = LinearComponent(random.normal(size=4), random.normal(size=4))
    X = random.normal(size=(20, 4)).astype(np.float32)
    conversion = converted("solr", Components(no_trees(4), linear), NAMES, X)
    expected = ARITHMETIC["solr"](conversion.content(), X, NAMES)
    np.testing.assert_array_equal(conversion.scores(X), expected)


def test_names_that_an_engine_refuses_are_changed():
    components = Components(drawn_forest(np.random.default_rng(0)))
    for name, expected in (("", "_"), ('title: "bm25"\n{a}', "title___bm25___a_")):
        text = converted("lightgbm", components, [name, *NAMES[1:]]).content().decode()
        assert lightgbm.Booster(model_str=text).feature_name() == [expected, *NAMES[1:]]
    booster = xgboost.Booster()
    booster.load_model(
        bytearray(converted("xgboost", components, ["a[0]<b", *NAMES[1:]]).content())
    )
    booster.predict(xgboost.DMatrix(np.zeros((1, 4)), feature_names=booster.feature_names))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_reads_no_column_that_there_is_not(tmp_path):
    forest = drawn_forest(np.random.default_rng(0), n_trees=60, rule="exact")
    (tmp_path / "model.c").write_bytes(written("c", forest)[1])
    (tmp_path / "main.c").write_text(
        "#include <stddef.h>\n"
        "void treerank_score(const double *x, size_t n, double *scores);\n"
        "int main(void) { double x[40] = {1, 2, 3, 4}, scores[10];\n"
        "    treerank_score(x, 10, scores); return scores[0] != scores[0]; }\n"
    )
    flags = ["-std=c99", "-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    files = [str(tmp_path / name) for name in ("model.c", "main.c", "model")]
    subprocess.run(["gcc", *flags, *files[:2], "-o", files[2], "-lm"], check=True)
    assert subprocess.run([files[2]]).returncode == 0


@pytest.mark.parametrize("rule", [None, "exact"])
def test_a_ranking_expression_has_the_value_expected(rule):
    random = np.random.default_rng(0)
    for n_trees in (0, 1, 5, 5):
        forest = drawn_forest(random, n_trees=n_trees, rule=rule, constant=n_trees > 0)
        linear = LinearComponent(random.normal(size=4), random.normal(size=4))
        X = drawn_documents(random, forest, 40)
        conversion = converted("vespa-expression", Components(forest, linear), NAMES, X)
        scores = ARITHMETIC["vespa-expression"](conversion.content(), X, NAMES)
        np.testing.assert_array_equal(scores, conversion.scores(X))
    with pytest.raises(ValueError, match="names must be rank features of Vespa; got 'a b'"):
        converted("vespa-expression", Components(forest), ["a b", *NAMES[1:]]).content()


@pytest.mark.parametrize("format", ["elasticsearch", "solr", "xgboost"])
def test_names_of_features_may_be_any_texts(format):
    forest = drawn_forest(np.random.default_rng(0))
    text = converted(format, Components(forest), ["the trees", *NAMES[1:]]).content()
    assert json.loads(text)
    assert b'"the trees"' in text
