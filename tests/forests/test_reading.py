import functools
import gzip
import json
import pickle
import re
import tracemalloc

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from drawn_forests import drawn_documents, drawn_forest, one_leaf
from scoring_programs import lightgbm_scores, xgboost_scores

import treerank
from treerank import compare, export, load, make_web_search, read_forest, report
from treerank.documents.columns import Columns
from treerank.exports.conversion import converted
from treerank.feature_parts.components import Components
from treerank.files.archive import read_archive, write_archive
from treerank.forests.recoding import recoded
from treerank.forests.scoring import forest_scores
from treerank.inspection import effect, explain_lead, permutation_importance
from treerank.rankers import ForestRanker

NAMES = ["a", "b", "c", "d"]
DATA = make_web_search(12, documents_per_query=20, n_features=6, random_state=0)
#: Formats that can be read, and how a value becomes a category in them.
FORMATS = {"json": "exact", "lightgbm": "truncated", "ranklib": None, "xgboost": "single"}
LEAF = "<split><output>1</output></split>"
TREE = f'<ensemble><tree id="1" weight="0.1">{LEAF}</tree></ensemble>'
RIGHT = '<split pos="right"><output>0.7</output></split>'
SPLIT = (
    "<split><feature> 2 </feature><threshold> 0.5 </threshold>"
    f'<split pos="left"><output>3</output></split>{RIGHT}</split>'
)


def read(tmp_path, content, **options):
    path = tmp_path / "model"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_forest(path, **options)


#: What scores a file; RankLib is no program of the tests, and JSON is our own format.
PROGRAMS = {"lightgbm": lightgbm_scores, "xgboost": xgboost_scores}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_a_file_is_read_as_its_program_reads_it(format, seed, tmp_path):
    random = np.random.default_rng(seed)
    dtype = "float32" if format == "ranklib" else random.choice(["float64", "float32"])
    forest = drawn_forest(random, rule=FORMATS[format], sum_dtype=dtype, constant=True)
    X = drawn_documents(random, forest, 100, missing=format != "ranklib")
    conversion = converted(format, Components(forest), NAMES, X)
    content = conversion.content()
    found = read(tmp_path, content, n_features=4)
    scored = PROGRAMS.get(format, lambda _, X: conversion.scores(X))
    np.testing.assert_array_equal(forest_scores(found, X)[:, 0], scored(content, X))
    assert found.feature_names == (None if format == "ranklib" else tuple(NAMES))


def test_a_ranker_of_lightgbm_scores_as_before_and_goes_to_another_format(tmp_path):
    X, y, qid = DATA
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    old = lightgbm.LGBMRanker(n_estimators=8, n_jobs=1, verbosity=-1)
    old.fit(X, y, group=np.bincount(qid)).booster_.save_model(tmp_path / "old.txt")
    for model in (tmp_path / "old.txt", old, old.booster_):
        ranker = ForestRanker(read_forest(model))
        np.testing.assert_array_equal(ranker.predict(X), old.booster_.predict(X))
    assert not hasattr(ranker, "feature_names_in_")
    treerank.export(ranker, tmp_path / "new.json", format="solr", check=X)


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("stem", "first"), [("f", 0), ("Column_", 0), ("feature_", 1)])
def test_columns_with_default_names_are_found_by_name_and_others_by_position(stem, first):
    X, y, qid = DATA
    old = lightgbm.LGBMRanker(n_estimators=8, n_jobs=1, verbosity=-1)
    trees = read_forest(old.fit(X, y, group=np.bincount(qid)))
    ranker, expected = ForestRanker(trees), old.booster_.predict(X)
    frame = pd.DataFrame(X, columns=[f"{stem}{i + first}" for i in range(6)])
    reversed_frame = frame[frame.columns[::-1]]
    for documents in (frame, reversed_frame, frame.set_axis(list("fedcba"), axis=1)):
        np.testing.assert_array_equal(ranker.predict(documents), expected)
        np.testing.assert_array_equal(ranker.scorer()(documents), expected)
    columns = Columns(names=tuple(reversed_frame.columns))
    scores = forest_scores(recoded(trees, columns, 6), X[:, ::-1])[:, 0]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("use", [lambda ranker: ranker.predict, lambda ranker: ranker.scorer()])
def test_names_with_spaces_are_given_where_lightgbm_writes_underscores(use):
    X, y, qid = DATA
    frame = pd.DataFrame(X, columns=["bm 25", "price", "age", "x y z", "e", "f"])
    frame["shop kind"] = pd.Categorical(np.where(qid < 1, "a", "b"))  # which no tree uses
    old = lightgbm.LGBMRanker(n_estimators=3, verbosity=-1, n_jobs=1, min_data_per_group=10**6)
    old.fit(frame, y, group=np.bincount(qid))
    with pytest.raises(ValueError, match=r"'bm_25' is missing .*feature_names=\[\*X.columns\]"):
        use(ForestRanker(read_forest(old)))(frame)
    ranker = ForestRanker(read_forest(old, feature_names=[*frame.columns]))
    np.testing.assert_array_equal(use(ranker)(frame[frame.columns[::-1]]), old.predict(frame))
    with pytest.raises(ValueError, match=r"'age' is missing from \['price'\]\.$"):
        use(ForestRanker(read_forest(old, feature_names=["age", *frame.columns])))(frame[["price"]])


@pytest.mark.parametrize("program", ["lightgbm", "xgboost", "xgboost's dump", "ranklib"])
def test_features_without_names_take_given_names_in_their_order(program, tmp_path):
    X, y, qid = DATA
    names = [*"fedcba"]
    model = xgboost.XGBRanker(n_estimators=3, n_jobs=1)
    if program == "lightgbm":
        model = lightgbm.LGBMRanker(n_estimators=3, verbosity=-1, n_jobs=1)
    if program == "ranklib":
        path = tmp_path / "model"
        path.write_text(TREE.replace(LEAF, SPLIT))
        with pytest.raises(ValueError, match="feature_names must be at least 2 names, one for"):
            read_forest(path, feature_names=["a"])
    else:
        groups = {"group": np.bincount(qid)} if program == "lightgbm" else {"qid": qid}
        path = model.fit(X, y, **groups)
    if program == "xgboost's dump":
        path = tmp_path / "model"
        path.write_text("[" + ",".join(model.get_booster().get_dump(dump_format="json")) + "]")
    elif program != "ranklib":
        with pytest.raises(ValueError, match=r"must be 6 names, one for each .* got \['a', 'b'\]"):
            read_forest(path, feature_names=["a", "b"])
    expected = ForestRanker(read_forest(path, n_features=6)).predict(X)
    trees = read_forest(path, feature_names=names)
    assert (trees.feature_names, trees.has_all_columns) == (tuple(names), True)
    frame = pd.DataFrame(X, columns=names)
    np.testing.assert_array_equal(ForestRanker(trees).predict(frame[sorted(names)]), expected)
    by_default_name = read_forest(path, feature_names=[f"f{j}" for j in range(6)][::-1])
    np.testing.assert_array_equal(forest_scores(by_default_name, X[:, ::-1])[:, 0], expected)


def test_too_few_features_are_answered_by_their_number(tmp_path):
    model = TREE.replace(LEAF, SPLIT)
    with pytest.raises(ValueError, match=r"^n_features must be at least 2, the features that the"):
        read(tmp_path, model, n_features=1)
    with pytest.raises(ValueError, match=r"^n_features must be a whole number"):
        read(tmp_path, model, n_features="2")
    with pytest.raises(TypeError, match=r"^feature_names must be a sequence; got 'ab'"):
        read(tmp_path, model, feature_names="ab")


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_trees_of_catboost_are_read(policy, nan_mode, tmp_path):
    catboost = pytest.importorskip("catboost")
    X, y, qid = DATA
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    settings = {"grow_policy": policy, "nan_mode": nan_mode, "depth": 3, "thread_count": 1}
    settings |= {"allow_writing_files": False, "loss_function": "QueryRMSE", "verbose": False}
    old = catboost.CatBoostRanker(8, **settings).fit(X, y, group_id=qid)
    old.set_scale_and_bias(0.5, 3.0)
    old.save_model(tmp_path / "old.json", format="json")
    for model in (tmp_path / "old.json", old):
        ranker = ForestRanker(read_forest(model))
        np.testing.assert_allclose(ranker.predict(X), old.predict(X), rtol=0, atol=1e-14)


def test_a_model_of_catboost_with_several_outputs_is_refused(tmp_path):
    tree = {"splits": [], "leaf_values": [1, 2, 3]}
    model = CATS | {"oblivious_trees": [tree], "scale_and_bias": [1, [0, 0, 0]]}
    with pytest.raises(ValueError, match=r"got a ranker has one output; got 3$"):
        read(tmp_path, json.dumps(model))


def test_a_model_of_ranklib_is_weighted_and_its_missing_values_are_zero(tmp_path):
    forest = read(tmp_path, f"## LambdaMART\n## x\n\n{TREE.replace(LEAF, SPLIT)}\n")
    assert (forest.n_features, forest.n_trees) == (2, 1)
    X = np.array([[0, 0.5], [0, np.nextafter(np.float32(0.5), np.float32(1))], [0, np.nan]])
    leaves, weight = np.array([3, np.float32(0.7), 3]), float(np.float32(0.1))
    expected = (leaves * weight).astype(np.float32)
    np.testing.assert_array_equal(forest_scores(forest, X)[:, 0], expected)
    assert read(tmp_path, TREE, n_features=7).n_features == 7


OURS = json.loads(converted("json", Components(one_leaf(4)), NAMES).content())
CATS = {"features_info": {"float_features": [{"feature_index": 0, "flat_feature_index": 0}]}}
DAMAGED = {
    "empty": "",
    "text": "once upon a time",
    "bytes": b"\xff\xfe\x00",
    "list": "[1, 2]",
    "deep JSON": '{"a":' * 100_000,
    "deep lists": '{"learner":' + "[" * 100_000,
    "long number": '{"learner": ' + "9" * 100_000 + "}",
    "LightGBM without trees": "tree\nversion=v4\n",
    "UBJSON": b"{L" + (2**62).to_bytes(8, "big"),
    "XGBoost": '{"learner": {}}',
    "two ensembles": TREE + TREE,
    "half": TREE[:-12],
    "no weight": TREE.replace("weight", "width"),
    "no leaf": TREE.replace(LEAF, ""),
    "NaN": TREE.replace(">1<", ">nan<"),
    "huge": TREE.replace(">1<", ">1e300<"),
    "feature 0": TREE.replace(LEAF, SPLIT.replace(" 2 ", "0")),
    "feature 1.5": TREE.replace(LEAF, SPLIT.replace(" 2 ", "1.5")),
    "huge feature": TREE.replace(LEAF, SPLIT.replace(" 2 ", "9e9")),
    "feature beyond all": TREE.replace(LEAF, SPLIT.replace(" 2 ", "2e9")),
    "NaN threshold": TREE.replace(LEAF, SPLIT.replace("0.5", "nan")),
    "one child": TREE.replace(LEAF, SPLIT.replace(RIGHT, "")),
    "three children": TREE.replace(LEAF, SPLIT.replace(RIGHT, RIGHT + LEAF)),
    "deep XML": "<ensemble>" + "<tree weight='1'>" + "<split>" * 100_000,
    "other elements": TREE.replace("output", "script"),
    "entities": '<ensemble><!DOCTYPE x [<!ENTITY a "b">]></ensemble>',
    "entity": TREE.replace(">1<", ">&lol;<"),
    "no trees of ours": json.dumps({"format": OURS["format"]}),
    "a later format of ours": json.dumps(OURS | {"format": "treerank forest 2"}),
    **{
        f"our {name}={value!r:.30}": json.dumps(OURS | {name: value})
        for name, value in [
            *(("left", [0]), ("left", [-2]), ("left", [2**40]), ("left", [0.5]), ("left", ["0"])),
            *(("feature", [4]), ("feature", [0]), ("roots", [1]), ("roots", [0, 0]), ("roots", 0)),
            *(("values", [float("nan")]), ("values", [1e308, 1]), ("threshold", ["nan"])),
            *(("threshold", [[0]]), ("missing_left", [2]), ("sum_dtype", "int8")),
            *(("missing_up_to", None), ("constant", "x")),
            *(("categories", {}), ("categories", {"rule": "x"})),
        ]
    },
    **{
        f"CatBoost {case!r:.30}": json.dumps(CATS | case)
        for case in [
            {"oblivious_trees": [{"splits": [], "leaf_values": [1, 2]}]},
            {"oblivious_trees": [{"splits": [{"split_type": "OneHot"}], "leaf_values": [1, 2]}]},
            {"oblivious_trees": [{"splits": None, "leaf_values": [[1]]}]},
            {"oblivious_trees": 7},
            {"trees": [{"split": {"split_type": "FloatFeature", "float_feature_index": 3}}]},
            {"trees": [{"value": None}]},
            {"trees": [{"value": 1}], "scale_and_bias": [1, [0, 0]]},
            {"trees": [], "features_info": {"float_features": [{"flat_feature_index": 9}]}},
            {"trees": [], "features_info": {"text_features": [{"flat_feature_index": 0.5}]}},
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_one_error_that_names_it(name, tmp_path):
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "model"))) as caught:
        read(tmp_path, DAMAGED[name])
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"CBM1\0\1\2", r"CatBoost's binary format; .*, format='json'"),
        (b"binf\0\0\0\x3f", r"XGBoost's old binary format; .*`save_model\('model.json'\)"),
        (gzip.compress(b"tree\n"), "a compressed file; decompress it"),
        (pickle.dumps({"a": 1}), r"a pickle, .* pass the model: `read_forest\(model\)`"),
        (b"\xff\xfe\x00", "a file of none of a plugin"),
    ],
    ids=["CatBoost", "XGBoost", "gzip", "pickle", "other"],
)
def test_a_binary_file_is_answered_by_what_to_write_instead(content, advice, tmp_path):
    with pytest.raises(ValueError, match=f"model does not; got {advice}"):
        read(tmp_path, content)


def test_a_saved_ranker_is_read_by_load(tmp_path):
    ForestRanker(one_leaf(4)).save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"got a zip file; treerank\.load\(path\) reads a ranker"):
        read_forest(tmp_path / "model")


def test_a_high_number_of_a_feature_takes_no_memory(tmp_path):
    tracemalloc.start()
    try:
        found = read(tmp_path, TREE.replace(LEAF, SPLIT.replace(" 2 ", str(2**24))))
        assert found.n_features == 2**24
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", FORMATS)
def test_a_changed_file_is_refused_or_scores_some_numbers(format, tmp_path):
    random = np.random.default_rng(0)
    forest = drawn_forest(random, rule=FORMATS[format], sum_dtype="float32")
    X = drawn_documents(random, forest, 20)
    text = converted(format, Components(forest), NAMES, X).content()
    n_read = 0
    for _ in range(150):
        changed = bytearray(text)
        for place in random.integers(len(text), size=random.integers(1, 3)):
            changed[place] = random.choice([*b'0123456789-.<>/[]{}",: en', random.integers(256)])
        found = read_or_refused(tmp_path, changed[: random.integers(1, 3 * len(text))])
        if found is not None and found.n_features < 99:
            assert np.isfinite(forest_scores(found, np.zeros((3, found.n_features)))).all()
            n_read += 1
    assert 0 < n_read < 150


def read_or_refused(tmp_path, content):
    """Return a forest, or ``None`` if it is refused by name."""
    try:
        return read(tmp_path, bytes(content))
    except ValueError as error:
        assert str(tmp_path) in str(error)  # noqa: PT017
        return None


def test_a_forest_ranker_is_saved_with_its_trees_and_its_calibration(tmp_path):
    random = np.random.default_rng(0)
    forest = drawn_forest(random, rule="exact")
    X = drawn_documents(random, forest, 60)
    ranker = ForestRanker(forest, n_jobs=1)
    y, qid = (ranker.predict(X) + random.normal(size=60) > 0).astype(int), np.repeat([0, 1], 30)
    ranker.fit(X, y, qid)
    assert ranker.calibration_slope_ not in (0, 1)
    ranker.save(tmp_path / "ranker")
    assert treerank.load(tmp_path / "ranker").calibration_slope_ == ranker.calibration_slope_
    content = read_archive(tmp_path / "ranker")
    for name, value in {"left": forest.right, "missing_up_to": "x", "feature_names": (1,)}.items():
        content["object"][1]["params"]["trees"]["object"][1] |= {name: value}
        write_archive(tmp_path / "forged", content)
        with pytest.raises(ValueError, match="forged"):
            treerank.load(tmp_path / "forged")


def test_a_model_of_an_engine_in_place_of_a_ranker_is_answered_by_a_forest_ranker(tmp_path):
    X, y, qid = DATA
    ranker, sizes = ForestRanker(one_leaf(6)), np.bincount(qid)
    lgbm = lightgbm.LGBMRanker(n_estimators=2, verbosity=-1, n_jobs=1).fit(X, y, group=sizes)
    xgb = xgboost.XGBRanker(n_estimators=2, n_jobs=1).fit(X, y, qid=qid)
    uses = (
        lambda model: report(model, X, y, qid),
        lambda model: report(ranker, X, y, qid, baseline=model),
        lambda model: explain_lead(model, X, qid),
        lambda model: permutation_importance(model, X, y, qid),
        lambda model: effect(model, X, qid, feature=0),
        lambda model: export(model, tmp_path / "model", format="c"),
    )
    for model in (lgbm, lgbm.booster_, xgb, xgb.get_booster()):
        for use in uses:
            with pytest.raises(TypeError, match=r"[Ww]rite .*ForestRanker\(read_forest\(model\)\)"):
                use(model)
        for use in (
            ForestRanker(model).predict,
            functools.partial(explain_lead, ForestRanker(model)),
        ):
            with pytest.raises(TypeError, match=r"trees must be .* Write trees=read_forest\(model"):
                use(X)


def test_trees_that_are_none_or_of_several_outputs_are_refused():
    with pytest.raises(TypeError, match=r"path must be a file, a Booster .* got 7\.$"):
        read_forest(7)
    with pytest.raises(TypeError, match=r"trees must be a Forest, .* got 'model\.txt'"):
        ForestRanker("model.txt").predict(np.zeros((1, 4)))
    X, y, _ = DATA
    params = {"objective": "multiclass", "num_class": 3, "verbosity": -1}
    classes = lightgbm.train(params, lightgbm.Dataset(X, np.minimum(y, 2)), 1)
    with pytest.raises(ValueError, match="a ranker has one output; got 3"):
        read_forest(classes)


def test_a_model_that_is_neither_in_a_file_nor_a_booster_is_answered_by_what_to_pass():
    X, y, qid = DATA
    groups = np.bincount(qid)
    booster = lightgbm.LGBMRanker(n_estimators=2, verbosity=-1, n_jobs=1).fit(X, y, group=groups)
    dump = booster.booster_.dump_model()
    for model in (dump, json.dumps(dump), [dump], booster.booster_.model_to_string(), b"tree\n"):
        with pytest.raises(
            TypeError, match=r"path must be .* Pass the Booster, or write the model"
        ):
            read_forest(model)
    with pytest.raises(FileNotFoundError):
        read_forest("tree.txt")


@pytest.mark.parametrize("objective", ["binary:logistic", "binary:logitraw", "count:poisson"])
def test_margins_of_other_objectives_are_read(objective, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4)).astype(np.float32).astype(np.float64)
    params = {"objective": objective, "base_score": 0.3, "max_depth": 3}
    model = xgboost.train(params, xgboost.DMatrix(X, X[:, 0] > 0), 5)
    margins = model.predict(xgboost.DMatrix(X), output_margin=True)
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        scores = forest_scores(read_forest(tmp_path / name), X)[:, 0]
        np.testing.assert_array_equal(scores, margins)


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"objective": "multi:softprob", "num_class": 3}, r"a ranker has one output; got 3$"),
        (
            {"objective": "survival:cox"},
            "must have an objective among binary:hinge, binary:logistic, .*reg:tweedie",
        ),
        ({"booster": "gblinear"}, "must have trees of booster 'gbtree' or 'dart'"),
    ],
)
def test_what_is_read_of_xgboost_is_named_where_a_model_is_refused(params, rule):
    X, y, _ = DATA
    model = xgboost.train(params, xgboost.DMatrix(X, np.minimum(y, 2)), 1)
    with pytest.raises(ValueError, match=rule):
        read_forest(model)


def test_a_margin_outside_of_its_range_is_refused(tmp_path):
    data = xgboost.DMatrix(np.arange(8.0)[:, None], np.arange(8) % 2)
    model = xgboost.train({"objective": "binary:logistic", "base_score": 0.5}, data, 1)
    text = bytes(model.save_raw("json")).decode().replace("5E-1", "2E0")
    with pytest.raises(ValueError, match="base_score in the range of its objective"):
        read(tmp_path, text)


STOPPED = {"early_stopping_rounds": 3, "learning_rate": 0.9}
SEVERAL = {"num_parallel_tree": 3, "subsample": 0.5, "base_score": 0.7}
UNBIASED = {"lambdarank_unbiased": True}


@pytest.mark.parametrize(
    "settings", [STOPPED, STOPPED | {"num_parallel_tree": 2}, UNBIASED, SEVERAL]
)
@pytest.mark.parametrize("name", ["model.json", "model.ubj", None])
def test_rankers_of_xgboost_score_as_they_do_there(settings, name, tmp_path):
    X, y, qid = (values.repeat(4, axis=0) for values in DATA)
    y = np.minimum(y, 4)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    old = xgboost.XGBRanker(n_estimators=20, max_depth=3, n_jobs=1, random_state=0, **settings)
    watched = {"eval_set": [(X[::-1], y)], "eval_qid": [qid]}
    old.fit(X, y, qid=qid, verbose=False, **(watched if "learning_rate" in settings else {}))
    if name is not None:
        old.save_model(tmp_path / name)
    forest = read_forest(old if name is None else tmp_path / name)
    np.testing.assert_array_equal(forest_scores(forest, X)[:, 0].astype(np.float32), old.predict(X))
    booster = old.get_booster()
    margins = booster.predict(xgboost.DMatrix(X), output_margin=True)
    all_trees = read_forest(booster)
    np.testing.assert_array_equal(forest_scores(all_trees, X)[:, 0].astype(np.float32), margins)
    assert (all_trees.n_trees > forest.n_trees) == ("learning_rate" in settings)
    assert ("best_iteration" in booster.attributes()) == ("learning_rate" in settings)
    n_trees = 20 * settings.get("num_parallel_tree", 1)
    assert (forest.n_trees < n_trees) == ("learning_rate" in settings)


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("n_parallel", [1, 4])
def test_models_of_xgboost_1_end_at_their_best_iteration(booster, n_parallel, tmp_path):
    X, y, qid = DATA
    settings = STOPPED | {"booster": booster, "num_parallel_tree": n_parallel, "subsample": 0.5}
    old = xgboost.XGBRanker(n_estimators=20, max_depth=3, n_jobs=1, random_state=0, **settings)
    old.fit(X, y, qid=qid, eval_set=[(X[::-1], y)], eval_qid=[qid], verbose=False)
    document = json.loads(old.get_booster().save_raw("json"))
    boosted = document["learner"]["gradient_booster"]
    model = boosted["gbtree"]["model"] if booster == "dart" else boosted["model"]
    del model["iteration_indptr"], model["cats"]  # which XGBoost 1 does not write
    forest = read(tmp_path, json.dumps(document))
    assert forest.n_trees == n_parallel * (old.best_iteration + 1) < len(model["trees"])
    scores = forest_scores(forest, X)[:, 0].astype(np.float32)
    np.testing.assert_array_equal(scores, old.predict(X))


def test_nodes_that_xgboost_has_pruned_are_skipped(tmp_path):
    X, y, qid = DATA
    settings = {"tree_method": "exact", "gamma": 1.0, "n_jobs": 1, "n_estimators": 5}
    old = xgboost.XGBRanker(**settings).fit(X, y, qid=qid)
    document = json.loads(old.get_booster().save_raw("json"))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    deleted = [int(tree["tree_param"]["num_deleted"]) for tree in trees]
    assert max(deleted) > 0
    found = read(tmp_path, json.dumps(document))
    assert found.n_nodes == sum(len(tree["parents"]) for tree in trees) - sum(deleted)
    np.testing.assert_array_equal(forest_scores(found, X)[:, 0], old.predict(X))
    tree = trees[deleted.index(max(deleted))]
    for changes in ({"num_deleted": "1"}, {"num_deleted": str(len(tree["parents"]))}):
        kept, tree["tree_param"] = tree["tree_param"], tree["tree_param"] | changes
        with pytest.raises(ValueError, match="as many nodes without a parent as num_deleted"):
            read(tmp_path, json.dumps(document))
        tree["tree_param"] = kept
    for name, value in [("left_children", 10**6), ("parents", 5), ("right_children", 0)]:
        kept, tree[name] = tree[name], [tree[name][0], value, *tree[name][2:]]
        with pytest.raises(ValueError, match="path must hold a model that is a sum of trees"):
            read(tmp_path, json.dumps(document))
        tree[name] = kept


def frame_of_categories():
    rng = np.random.default_rng(0)
    columns = {
        "price": rng.normal(size=400),
        "color": pd.Categorical(rng.choice(["red", "", "green", "blue"], 400)),
        "size": pd.Categorical(rng.choice([38, 36, 40], 400)),
        "unused": pd.Categorical(rng.choice(["x", "y"], 400), categories=["y", "z", "x"]),
    }
    frame = pd.DataFrame(columns)
    frame.loc[::50, "color"] = None
    y = (frame["color"] == "red") * 1 + (frame["size"] == 36) + (frame["unused"] == "x")
    return frame, y.to_numpy(), np.repeat(np.arange(40), 10)


def test_models_of_xgboost_know_the_categories_of_pandas(tmp_path):
    frame, y, qid = frame_of_categories()
    old = xgboost.XGBRanker(n_estimators=5, enable_categorical=True, n_jobs=1)
    old.fit(frame, y, qid=qid)
    expected = old.predict(frame, output_margin=True)
    assert np.ptp(expected) > 0
    for suffix in ("json", "ubj"):
        old.save_model(tmp_path / f"model.{suffix}")
        ranker = ForestRanker(read_forest(tmp_path / f"model.{suffix}"))
        np.testing.assert_array_equal(ranker.predict(frame), expected)
        others = frame.assign(
            color=frame["color"].cat.set_categories(["red", "blue", "green", ""]),
            unused=frame["unused"].astype(object),
        )
        np.testing.assert_array_equal(ranker.predict(others[others.columns[::-1]]), expected)
    loaded = ForestRanker(read_forest(old))
    loaded.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(frame), expected)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"offsets": [0, 1]}, "categories one after the other"),
        ({"offsets": [0, 3, 2, 12]}, "categories one after the other"),
        ({"values": [300] * 12}, "categories of ASCII, since XGBoost cuts others"),
        ({"values": [-61] * 12}, "categories of ASCII, since XGBoost cuts others"),
        ({"values": ["a"] * 12}, "numbers as values"),
        ({"offsets": []}, "the ends of categories"),
        ({"offsets": [0, 0, 0, 0, 12]}, "different categories"),
        (None, "objects as categories"),
    ],
)
def test_damaged_categories_of_xgboost_are_refused(tmp_path, changed, rule):
    frame, y, qid = frame_of_categories()
    old = xgboost.XGBRanker(n_estimators=1, enable_categorical=True, n_jobs=1)
    old.fit(frame, y, qid=qid).save_model(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    encodings = document["learner"]["gradient_booster"]["model"]["cats"]["enc"]
    encodings[1] = changed and encodings[1] | changed
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=f"A model of XGBoost must have {rule}"):
        read_forest(tmp_path / "model.json")


def test_models_of_catboost_with_categories_say_what_to_do_instead():
    catboost = pytest.importorskip("catboost")
    frame, y, qid = frame_of_categories()
    frame = frame.assign(
        **{name: frame[name].map(str, na_action=None) for name in frame.columns[1:]}
    )
    frame = frame.astype(dict.fromkeys(frame.columns[1:], object)).fillna("none")
    old = catboost.CatBoostRanker(
        iterations=5, silent=True, allow_writing_files=False, cat_features=["color", "size"]
    )
    old.fit(frame.drop(columns="unused"), y, group_id=qid)
    with pytest.raises(ValueError, match=r"take the fitted CatBoostRanker as it is, as compare do"):
        read_forest(old)
    found = compare({"old": old}, (frame.drop(columns="unused"), y, qid))
    assert found.failures == ()
