"""Dumps that search engines hold, random forests and DART: the scores of the program itself."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from treerank import TreeDirectRanker, load, read_forest
from treerank.exports import export
from treerank.feature_parts import HistogramTrees
from treerank.forests.scoring import forest_scores
from treerank.rankers import ForestRanker

random = np.random.default_rng(0)
X = random.normal(size=(600, 4))
X[:, 3] = random.integers(0, 6, 600)
TARGET = X[:, 0] * X[:, 1] + 2.0 * np.isin(X[:, 3], [1, 4]) + random.normal(0, 0.1, 600)
X[::7, 0] = np.nan
X[::11, 3] = np.nan
NEW = np.where(random.random(X.shape) < 0.1, np.nan, X + random.normal(size=X.shape))
NEW[:, 3] = random.integers(0, 9, 600)
NEW[::5, 3] = np.nan
LIGHTGBM = {"verbosity": -1, "num_leaves": 9, "min_data_in_leaf": 5, "num_threads": 1}
BAGGED = {"bagging_freq": 1, "bagging_fraction": 0.6, "seed": 1}


def scores(forest):
    return forest_scores(forest, NEW)[:, 0]


def lightgbm_model(**params):
    data = lightgbm.Dataset(X, TARGET, categorical_feature=[3], params={"verbosity": -1})
    return lightgbm.train(LIGHTGBM | params, data, 12)


def xgboost_model(names=None, *, categories=True, **params):
    kinds = ["q", "q", "q", "c" if categories else "q"]
    data = xgboost.DMatrix(
        X, TARGET, feature_types=kinds, feature_names=names, enable_categorical=True
    )
    return xgboost.train({"max_depth": 4, "nthread": 1, "base_score": 0.0} | params, data, 12)


def xgboost_margins(model, rows=NEW):
    """Return margins; codes that training did not have go where none is in the set."""
    data = xgboost.DMatrix(
        rows, feature_types=model.feature_types, feature_names=model.feature_names,
        enable_categorical=True,
    )  # fmt: skip
    return model.predict(data, output_margin=True).astype(np.float64)


@pytest.mark.parametrize("params", [{}, {"zero_as_missing": True}, {"use_missing": False}])
def test_lightgbm_dumps_score_as_the_model(params, tmp_path):
    model = lightgbm_model(**params)
    (tmp_path / "model.json").write_text(json.dumps(model.dump_model()))
    dump = read_forest(tmp_path / "model.json")
    np.testing.assert_array_equal(scores(dump), model.predict(NEW, raw_score=True))
    np.testing.assert_array_equal(scores(dump), scores(read_forest(model)))
    assert dump.feature_names is None


def test_lightgbm_dumps_know_names_and_categories_of_frames(tmp_path):
    frame = pd.DataFrame({"price": X[:, 0], "brand": pd.Categorical.from_codes(
        np.nan_to_num(X[:, 3], nan=-1).astype(int), list("abcdef"))})  # fmt: skip
    model = lightgbm.train(LIGHTGBM, lightgbm.Dataset(frame, TARGET), 5)
    (tmp_path / "model.json").write_text(json.dumps(model.dump_model()))
    ranker = ForestRanker(read_forest(tmp_path / "model.json"))
    np.testing.assert_array_equal(ranker.predict(frame[["brand", "price"]]), model.predict(frame))
    assert read_forest(tmp_path / "model.json").levels == {1: list("abcdef")}


@pytest.mark.parametrize("as_dump", [False, True])
def test_random_forests_of_lightgbm_are_means(as_dump, tmp_path):
    model = lightgbm_model(boosting="rf", **BAGGED)
    path = tmp_path / "model"
    path.write_text(json.dumps(model.dump_model()) if as_dump else model.model_to_string())
    found = scores(read_forest(path))
    np.testing.assert_allclose(found, model.predict(NEW), rtol=1e-13)
    np.testing.assert_allclose(found, model.predict(NEW, raw_score=True) / 12, rtol=1e-13)


@pytest.mark.parametrize("ranks", [False, True])
def test_dart_of_xgboost_scores_by_the_weights_of_its_trees(ranks, tmp_path):
    params = {"booster": "dart", "rate_drop": 0.5, "seed": 3}
    model = xgboost_model(**params)
    model.save_model(tmp_path / "model.ubj" if ranks else tmp_path / "model.json")
    forest = read_forest(model) if ranks else read_forest(tmp_path / "model.json")
    np.testing.assert_array_equal(scores(forest), xgboost_margins(model))
    weights = json.loads(model.save_raw("json"))["learner"]["gradient_booster"]["weight_drop"]
    assert min(weights) < 1
    known = [xgboost_margins(model[:i]) for i in (1, 2)]
    assert not np.array_equal(*known)


def test_dart_without_a_weight_for_each_tree_is_refused(tmp_path):
    document = json.loads(xgboost_model(booster="dart").save_raw("json"))
    document["learner"]["gradient_booster"]["weight_drop"].pop()
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="a weight for each tree of DART"):
        read_forest(tmp_path / "model.json")


NAMES = ["title", "price", "age", "brand"]


def dump_of(model):
    return "[" + ",".join(model.get_dump(dump_format="json", with_stats=True)) + "]"


@pytest.mark.parametrize("names", [None, NAMES])
@pytest.mark.parametrize("categories", [False, True])
def test_xgboost_dumps_score_as_the_margins(names, categories, tmp_path):
    one_hot = {"max_cat_to_onehot": 1}
    model = xgboost_model(names, categories=categories, **one_hot)
    (tmp_path / "model.json").write_text(dump_of(model))
    forest = read_forest(tmp_path / "model.json", feature_names=names)
    np.testing.assert_array_equal(scores(forest), xgboost_margins(model))
    if names is not None:
        assert forest.feature_names == tuple(NAMES)
        alphabetical = read_forest(tmp_path / "model.json")
        assert alphabetical.feature_names == tuple(sorted(NAMES))
        frame = pd.DataFrame(NEW, columns=NAMES)
        found = ForestRanker(alphabetical).predict(frame[sorted(NAMES)])
        np.testing.assert_array_equal(found, scores(forest))
        with pytest.raises(ValueError, match=r"Trees must have .* title, price; got age"):
            read_forest(tmp_path / "model.json", feature_names=["title", "price"])


@pytest.mark.parametrize(("feature_names", "source"), [(None, "file"), (NAMES, "feature_names")])
def test_another_number_than_that_of_the_names_is_refused(feature_names, source, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(dump_of(xgboost_model(NAMES, categories=False)))
    rule = rf"^n_features must be \d, the features that have names in (the )?{source}; got 136\."
    with pytest.raises(ValueError, match=rule):
        read_forest(path, n_features=136, feature_names=feature_names)


@pytest.mark.parametrize("n_features", [2, 136])
def test_names_of_some_columns_leave_their_number_open(n_features, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(dump_of(xgboost_model(NAMES, categories=False)))
    with pytest.raises(ValueError, match=r"^n_features must be .*; got .*"):
        read_forest(path, n_features=n_features)
    path.write_text(json.dumps([SPLIT | {"children": LEAVES}]))
    with pytest.raises(
        ValueError, match=r"^n_features must be 1, .* Write feature_names=\[\.\.\.\]"
    ):
        read_forest(path, n_features=n_features)
    assert read_forest(path, n_features=1).feature_names == ("price",)
    columns = [f"column {j}" for j in range(n_features - 1)] + ["price"]
    forest = read_forest(path, n_features=n_features, feature_names=columns)
    assert (forest.n_features, forest.feature[0]) == (n_features, n_features - 1)


def test_a_dump_that_is_a_constant_has_any_number_of_columns(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps([{"nodeid": 0, "leaf": 0.5}]))
    forest = read_forest(path, n_features=4)
    assert (forest.feature_names, forest.has_all_columns) == (None, True)
    np.testing.assert_array_equal(scores(forest), np.full(len(NEW), 0.5))
    assert read_forest(path, feature_names=NAMES).feature_names == tuple(NAMES)


def test_a_dump_of_xgboost_as_text_is_told_how_to_be_written(tmp_path):
    xgboost_model(NAMES, categories=False).dump_model(tmp_path / "model.txt")
    with pytest.raises(ValueError, match=r"got XGBoost's dump as text, .* dump_format='json'"):
        read_forest(tmp_path / "model.txt")


def test_numbered_features_are_columns_by_their_number(tmp_path):
    model = xgboost_model(categories=False)
    (tmp_path / "model.json").write_text(dump_of(model))
    assert read_forest(tmp_path / "model.json", n_features=9).n_features == 9
    assert read_forest(tmp_path / "model.json").feature_names is None


def test_trees_know_whether_they_have_all_columns(tmp_path):
    path = tmp_path / "model.json"
    for names in (None, NAMES):
        model = xgboost_model(names, categories=False)
        path.write_text(dump_of(model))
        assert read_forest(model).has_all_columns
        assert not read_forest(path).has_all_columns
        assert read_forest(path, n_features=4).has_all_columns == (names is None)
        assert read_forest(path, feature_names=names or ["f0", "f1", "f2", "f3"]).has_all_columns
    ForestRanker(read_forest(path)).save(tmp_path / "saved")
    assert not load(tmp_path / "saved").trees.has_all_columns


@pytest.mark.parametrize("kind", ["json", "objective", "text", "raw", "ranklib"])
@pytest.mark.parametrize("form", ["alone", "request", "answer"])
def test_models_of_the_plugins_are_read_in_every_form_that_they_have(kind, form, tmp_path):
    model = xgboost_model(NAMES, categories=False)
    definition, name = json.loads(dump_of(model)), "model/xgboost+json"
    if kind == "objective":
        definition = {"objective": "rank:pairwise", "splits": definition}
    elif kind == "text":
        definition = json.dumps(definition)
    elif kind == "raw":
        definition, name = json.loads(model.save_raw("json")), "model/xgboost+json+raw"
    elif kind == "ranklib":
        tree = "<tree id='1' weight='0.5'><split><output>3.0</output></split></tree>"
        definition, name = f"## LambdaMART\n<ensemble>{tree}</ensemble>", "model/ranklib"
    inner = {"name": "shop", "model": {"type": name, "definition": definition}}
    features = {"name": "set", "features": [{"name": each} for each in NAMES]}
    document = {
        "alone": definition,
        "request": {"model": inner},
        "answer": {"_index": ".ltrstore", "_source": {
            "type": "model", "model": inner | {"feature_set": features}}},
    }[form]  # fmt: skip
    text = document if isinstance(document, str) else json.dumps(document)
    (tmp_path / "model").write_text(text)
    named = {} if form == "answer" or kind == "ranklib" else {"feature_names": NAMES}
    forest = read_forest(tmp_path / "model", **named)
    want = np.full(len(NEW), 1.5) if kind == "ranklib" else xgboost_margins(model)
    if form == "answer":
        assert forest.n_features == 4
    elif kind == "ranklib":
        forest = read_forest(tmp_path / "model", n_features=4)
    np.testing.assert_array_equal(scores(forest), want)


@pytest.mark.parametrize("format", ["opensearch", "elasticsearch-plugin"])
@pytest.mark.parametrize("named", [False, True])
def test_what_was_exported_to_the_plugins_is_read_again(format, named, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).astype(np.float32)
    y, qid = np.digitize(TARGET, [0, 1, 2]), np.repeat(range(30), 20)
    ranker = TreeDirectRanker(HistogramTrees(10), random_state=0).fit(frame, y, qid)
    options = {"name": "shop"} if named else {}
    export(ranker, tmp_path / "model", format=format, check=(frame, y, qid), **options)
    again = ForestRanker(read_forest(tmp_path / "model", feature_names=NAMES))
    np.testing.assert_allclose(again.predict(frame), ranker.predict(frame), rtol=0, atol=1e-5)


def test_a_linear_model_of_a_plugin_is_named_as_such(tmp_path):
    model = {"type": "model/linear", "definition": {"price": 2.0}}
    (tmp_path / "model").write_text(json.dumps({"model": {"name": "shop", "model": model}}))
    with pytest.raises(ValueError, match="not the factors of a linear model"):
        read_forest(tmp_path / "model")


def plugin_answer(kind, definition, **entries):
    """Return what a plugin answers to GET _ltr/_model/shop, as text."""
    features = {"name": "set", "features": [{"name": name} for name in NAMES]}
    model = {"type": kind, "definition": definition} | entries
    inner = {"name": "shop", "feature_set": features, "model": model}
    return json.dumps({"_index": ".ltrstore", "_source": {"type": "model", "model": inner}})


def ranklib_stump(feature):
    sides = ["<split><output>-1</output></split>", "<split><output>1</output></split>"]
    split = f"<feature>{feature}</feature><threshold>0.5</threshold>{''.join(sides)}"
    tree = f"<tree id='1' weight='1'><split>{split}</split></tree>"
    return f"## LambdaMART\n<ensemble>{tree}</ensemble>"


def test_features_of_ranklib_have_the_names_of_the_feature_set(tmp_path):
    path = tmp_path / "model"
    path.write_text(plugin_answer("model/ranklib", ranklib_stump(feature=2)))
    ranker = ForestRanker(read_forest(path))
    frame = pd.DataFrame({"brand": [9.0, 9.0], "price": [0.0, 1.0], "age": 9.0, "title": 9.0})
    np.testing.assert_array_equal(ranker.predict(frame), [-1, 1])
    assert ranker.trees.feature_names == tuple(NAMES)
    path.write_text(plugin_answer("model/ranklib", ranklib_stump(feature=5)))
    with pytest.raises(ValueError, match="features up to 4, as its feature set does; got 5"):
        read_forest(path)


@pytest.mark.parametrize("kind", ["model/ranklib", "model/xgboost+json"])
def test_normalizers_of_a_plugin_are_refused(kind, tmp_path):
    definition = [SPLIT | {"children": LEAVES}] if "json" in kind else ranklib_stump(feature=2)
    normalizers = {"price": {"standard": {"mean": 5.0, "standard_deviation": 2.0}}}
    path = tmp_path / "model"
    path.write_text(plugin_answer(kind, definition, feature_normalizers=normalizers))
    with pytest.raises(ValueError, match=r"no feature_normalizers, .*\['price'\]. Delete them"):
        read_forest(path)
    path.write_text(plugin_answer(kind, definition, feature_normalizers={}))
    assert read_forest(path).feature_names == tuple(NAMES)


def test_random_forests_of_ranklib_are_means_of_their_bags(tmp_path):
    def bag(*values):
        trees = "".join(
            f"<tree id='{i}' weight='0.5'><split><feature>1</feature><threshold>0.25</threshold>"
            f"<split pos='left'><output>{value}</output></split>"
            f"<split pos='right'><output>{value + 1}</output></split></split></tree>"
            for i, value in enumerate(values)
        )
        return f"<ensemble>\n{trees}\n</ensemble>\n"

    text = "## Random Forests\n## No. of bags = 3\n\n" + bag(1.0) + bag(2.0, 4.0) + bag(-5.0)
    (tmp_path / "model.txt").write_text(text)
    forest = read_forest(tmp_path / "model.txt")
    found = forest_scores(forest, np.array([[0.0], [1.0]]))[:, 0]
    np.testing.assert_allclose(found, [(0.5 + 3 - 2.5) / 3, (1 + 4 - 2) / 3], rtol=1e-15)


LEAVES = [{"nodeid": 1, "leaf": -1.0}, {"nodeid": 2, "leaf": 1.0}]
SPLIT = {"nodeid": 0, "split": "price", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"children": LEAVES[:1]}, "two children for each split"),
        ({"yes": 3}, "two children for each split"),
        ({"missing": 3}, "two children for each split"),
        ({"split_condition": "0.5"}, "numbers; got '0.5'"),
        ({"split_condition": True}, "numbers; got True"),
        ({"split_condition": float("nan")}, "numbers; got nan"),
        ({"split_condition": float("-inf")}, "thresholds above minus infinity"),
        ({"split_condition": [-1]}, "codes of categories from 0 to"),
        ({"split_condition": [2**60]}, "codes of categories from 0 to"),
        ({"split": 3}, "texts as names of features"),
        ({"children": [LEAVES[0], {"nodeid": 2, "leaf": None}]}, "numbers; got None"),
        ({"children": [LEAVES[0], LEAVES[0]]}, "two children for each split"),
        ({"children": 3}, "path must hold a model"),
    ],
)
def test_damaged_dumps_of_xgboost_are_refused(changes, rule, tmp_path):
    (tmp_path / "model").write_text(json.dumps([SPLIT | {"children": LEAVES} | changes]))
    with pytest.raises(ValueError, match=rule):
        read_forest(tmp_path / "model")
    indicator = {k: v for k, v in SPLIT.items() if k != "split_condition"} | {"children": LEAVES}
    (tmp_path / "model").write_text(json.dumps([indicator]))
    with pytest.raises(ValueError, match="train without features of type 'i'"):
        read_forest(tmp_path / "model")


def test_linear_boosters_are_said_to_have_no_trees(tmp_path):
    model = xgboost.train({"booster": "gblinear"}, xgboost.DMatrix(np.nan_to_num(X), TARGET), 2)
    (tmp_path / "model").write_text(dump_of(model))
    with pytest.raises(ValueError, match="trees, not the weights of a linear model"):
        read_forest(tmp_path / "model")
    with pytest.raises(ValueError, match="trees of booster 'gbtree'"):
        read_forest(model)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("feature_names", ["a"], "a name for each feature"),
        ("tree_info", [], "the same number of trees"),
        ("max_feature_idx", 1, "a name for each feature"),
        ("num_tree_per_iteration", 2, "a ranker has one output"),
        ("monotone_constraints", [0, 2, 0, 0], "monotone_constraints must be -1 or 1 by column"),
        ("monotone_constraints", [0, 0, 0, 0, 1], "monotone_constraints must be -1 or 1 by column"),
    ],
)
def test_damaged_dumps_of_lightgbm_are_refused(key, value, rule, tmp_path):
    document = lightgbm_model().dump_model() | {key: value}
    (tmp_path / "model").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rule):
        read_forest(tmp_path / "model")


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("split_feature", 9, "features of splits among its features"),
        ("decision_type", "<", "decisions '<=' and '=='"),
        ("missing_type", "Sometimes", "KeyError"),
        ("threshold", None, "numbers; got None"),
        ("left_child", None, "path must hold a model"),
    ],
)
def test_damaged_splits_of_lightgbm_are_refused(key, value, rule, tmp_path):
    document = lightgbm_model().dump_model()
    document["tree_info"][0]["tree_structure"]["decision_type"] = "<="
    document["tree_info"][0]["tree_structure"]["threshold"] = 0.5
    document["tree_info"][0]["tree_structure"][key] = value
    (tmp_path / "model").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rule):
        read_forest(tmp_path / "model")


def test_linear_leaves_of_lightgbm_are_refused(tmp_path):
    data = lightgbm.Dataset(X, TARGET, params={"verbosity": -1, "linear_tree": True})
    model = lightgbm.train(LIGHTGBM | {"linear_tree": True}, data, 2)
    (tmp_path / "model.json").write_text(json.dumps(model.dump_model()))
    for linear in (tmp_path / "model.json", model):
        with pytest.raises(ValueError, match="no linear functions in leaves"):
            read_forest(linear)


def test_cut_and_deep_files_end_in_one_error(tmp_path):
    text = dump_of(xgboost_model(NAMES))
    for content in (text[: len(text) // 2], "[" * 100_000, "[1]", "[[]]", '[{"a": 1}]', "[]x"):
        (tmp_path / "model").write_text(content)
        with pytest.raises(ValueError, match="path must hold a model that is a sum of trees"):
            read_forest(tmp_path / "model")


def test_a_high_number_of_a_feature_takes_no_memory(tmp_path):
    (tmp_path / "model").write_text(
        json.dumps([SPLIT | {"split": "f900000000", "children": LEAVES}])
    )
    assert read_forest(tmp_path / "model").n_features == 900_000_001
    named = read_forest(tmp_path / "model", feature_names=["a", "f900000000"])
    assert (named.n_features, named.feature[0]) == (2, 1)
