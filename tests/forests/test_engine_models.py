import re

import lightgbm
import numpy as np
import pytest
import xgboost
from boosted_regression import TARGET, X, fitted
from forest_cases import documents_for, engine_scores, fitted_part
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank.feature_parts import LightGBMTrees, XGBoostTrees
from treerank.forests.readers.lightgbm import read_lightgbm
from treerank.forests.readers.ubjson import read_ubjson
from treerank.forests.readers.xgboost import read_xgboost
from treerank.forests.scoring import forest_scores
from treerank.forests.thresholds import below_in_single

#: Changes of a line of LightGBM's text, in the first tree or the header, that crashed or were read.
LINES = {
    "num_leaves": ("0", "-1", "7", "1000000000", "x", "", "5 5"),
    "num_cat": ("2", "-1", "1000000000"),
    "left_child": ("0", "-100", "", "9999999999", "x"),
    "right_child": ("0 1", "nan"),
    "split_feature": ("4", "-1", "2147483647", ""),
    "threshold": ("", "x", "1e", "0x1", "1_0"),
    "decision_type": ("12", "-1", ""),
    "leaf_value": ("", "nan", "inf", "1e999", "1e308"),
    "leaf_weight": ("", "x"),
    "leaf_count": ("", "x"),
    "internal_value": ("", "0 0"),
    "is_linear": ("1", "2", ""),
    "shrinkage": ("", "1 1"),
    "cat_boundaries": ("0 0", "1 2", "0 1000000000", "0 -1"),
    "cat_threshold": ("-1", "4294967296", ""),
    "num_class": ("0", "2", "-1"),
    "num_tree_per_iteration": ("0", "2", "1000000000"),
    "max_feature_idx": ("-2", "2", "2147483647"),
    "feature_names": ("", "a b  c", "a b c d e"),
    "feature_infos": ("", "a b=1 c d"),
    "tree_sizes": ("", "1 2", "1000000000", "-1"),
    "label_index": ("", "-1", "x"),
    "objective": ("binary",),
    "version": ("v4=5",),
}


def with_line(text, name, value):
    """Return a text with another value in the first line of a name; an array's first entry."""
    line = re.search(rf"^{name}=(.*)$", text, re.MULTILINE)
    if line is None:
        return text.replace("feature_names=", f"{name}={value}\nfeature_names=", 1)
    whole = re.sub(r"^\S+", value, line[1]) if value and " " not in value else value
    changed = text[: line.start(1)] + whole + text[line.end(1) :]
    return changed if name == "tree_sizes" else with_sizes(changed)


def with_sizes(text):
    blocks = re.split(r"^Tree=", text.partition("end of trees")[0], flags=re.MULTILINE)[1:]
    sizes = " ".join(str(len(block) + 5) for block in blocks)
    return re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", text, count=1, flags=re.MULTILINE)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in LINES.items() for v in vs])
def test_a_text_of_lightgbm_with_a_wrong_line_is_refused(name, value):
    state = fitted_part("lightgbm, categories").get_state()
    with pytest.raises(ValueError, match=r"(of LightGBM|values) must|must be .* in a forest"):
        LightGBMTrees().set_state(state | {"model": with_line(state["model"], name, value)})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *[("num_cat", "num_car"), ("num_cat=", "num_cat"), ("\nnum_cat", "\n\nnum_cat")],
        *[("Tree=1", "Tree=7"), ("\nend of trees", ""), ("split_gain", "leaf_value")],
        *[("leaf_value=", "leaf_value=\r"), ("num_leaves=", "num_leaves=\0")],
        ("is_linear=0", "leaf_const=0"),
    ],
)
def test_a_text_of_lightgbm_with_other_lines_is_refused(old, new):
    state = fitted_part("lightgbm").get_state()
    assert old in state["model"]
    with pytest.raises(ValueError, match="A model of LightGBM must have"):
        LightGBMTrees().set_state(state | {"model": with_sizes(state["model"].replace(old, new))})


def test_a_state_of_lightgbm_has_the_trees_without_the_parameters_of_training():
    part = fitted_part("lightgbm")
    text = part.get_state()["model"]
    assert text.endswith("\nend of trees\n")
    assert part.booster_.model_to_string().startswith(text)
    assert LightGBMTrees().set_state({**part.get_state()}).get_state()["model"] == text


def test_models_that_a_sum_of_trees_cannot_hold_are_refused():
    linear = {"linear_tree": True, "verbosity": -1}
    booster = lightgbm.train(linear, lightgbm.Dataset(X, TARGET), 2)
    with pytest.raises(ValueError, match="no linear functions in leaves to be a forest"):
        read_lightgbm(booster.model_to_string())
    for params in ({"booster": "gblinear"}, {"booster": "dart"}, {"objective": "binary:logistic"}):
        booster = xgboost.train(params, xgboost.DMatrix(X, TARGET > 0), 1)
        with pytest.raises(ValueError, match="A model of XGBoost must have"):
            read_xgboost(read_ubjson(bytes(booster.save_raw("ubj"))))


def test_splits_that_treat_zeros_in_two_ways_are_no_forest():
    state = fitted_part("lightgbm, NaN").get_state()
    assert "decision_type=8" in state["model"]
    forged = state["model"].replace("decision_type=8", "decision_type=4", 1)
    with pytest.raises(ValueError, match="zeros that are missing for some splits only"):
        LightGBMTrees().set_state(state | {"model": forged})


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, NaN"])
@pytest.mark.parametrize("threshold", ["nan", "inf", "-inf"])
def test_thresholds_that_are_no_numbers_are_read_as_lightgbm_reads_them(name, threshold):
    state = fitted_part(name).get_state()
    forged = with_line(state["model"], "threshold", threshold)
    assert forged != state["model"]
    part = LightGBMTrees().set_state(state | {"model": forged})
    rows = documents_for(part.forest())
    assert forest_scores(part.forest(), rows).tobytes() == engine_scores(part, rows).tobytes()


@given(st.floats(width=32, allow_nan=False), st.floats(allow_nan=False))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_a_double_threshold_says_what_is_below_a_single(threshold, value):
    threshold = np.array([threshold], dtype=np.float32)
    (largest,), (never,) = below_in_single(threshold)
    near = [value, float(threshold[0]), largest, np.nextafter(largest, np.inf), np.inf, -np.inf]
    with np.errstate(over="ignore"):
        for x in (*near, np.nextafter(largest, -np.inf)):
            assert (np.float32(x) < threshold[0]) == (x <= largest and not never)


def test_nothing_is_below_minus_infinity():
    learner = read_ubjson(fitted_part("xgboost").get_state()["model"])["learner"]
    thresholds = learner["gradient_booster"]["model"]["trees"][0]["split_conditions"]
    model = fitted_part("xgboost").get_state()["model"]
    lowest = model.replace(thresholds[:1].astype(">f4").tobytes(), b"\xff\x80\0\0", 1)
    part = XGBoostTrees().set_state(fitted_part("xgboost").get_state() | {"model": lowest})
    rows = documents_for(part.forest())
    with np.errstate(over="ignore"):
        assert (forest_scores(part.forest(), rows) == engine_scores(part, rows)).all()


ONE = (1).to_bytes(8, "big")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"U", b"{", b"{L", b"{}x", b"[" * 100, b"[" + b"Z" * 10_000 + b"]"),
        *(b"[$d#L" + (2**62).to_bytes(8, "big"), b"[#L" + (10**9).to_bytes(8, "big")),
        *(b"[#L" + (2**64 - 1).to_bytes(8, "big"), b"[$x#L" + ONE, b"SL" + ONE + b"\xff"),
        b"{" + 2 * (b"L" + ONE + b"aZ") + b"}",
    ],
)
def test_damaged_ubjson_is_refused(data):
    with pytest.raises(ValueError, match="A model of XGBoost must have"):
        read_ubjson(data)


def test_ubjson_is_read():
    length = (3).to_bytes(8, "big")
    data = (
        b"{L" + length + b"abc[i\xffU\xffI\x01\0l\0\0\0\x02TFZd\x3f\x80\0\0SL" + length + b"xyz]}"
    )
    assert read_ubjson(data) == {"abc": [-1, 255, 256, 2, True, False, None, 1.0, "xyz"]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"left_children", b"left_childrex"),
        (b"gbtree", b"gblink"),
        (b"reg:squarederror", b"reg:squarederrox"),
        (b"treerank_zerosSL\0\0\0\0\0\0\0\x07numbers", b"treerank_zerosSL\0\0\0\0\0\0\0\0"),
        (b"num_nodesSL\0\0\0\0\0\0\0\x01", b"num_nodesSL\0\0\0\0\0\0\0\x09"),
    ],
)
def test_a_model_of_xgboost_with_other_bytes_is_refused(old, new):
    state = fitted(XGBoostTrees, max_depth=1).get_state()
    assert old in state["model"]
    with pytest.raises(ValueError, match="A model of XGBoost must have"):
        XGBoostTrees().set_state(state | {"model": state["model"].replace(old, new)})


@pytest.mark.parametrize("interval", ["", "0", "1 0", "0 99", "-1 2", "a b", "1" * 5000 + " 2"])
def test_iterations_that_a_model_does_not_have_cannot_be_left_out(interval):
    part = fitted(XGBoostTrees, max_depth=1)
    state = part.get_state()
    part.booster_.set_attr(treerank_draws=interval)
    model = part.dump_booster(part.booster_)
    rule = "A model of XGBoost must (have the iterations of treerank_draws|be one .* reads)"
    with pytest.raises(ValueError, match=rule) as caught:
        XGBoostTrees().set_state(state | {"model": model})
    assert len(str(caught.value)) < 500


def test_the_base_score_of_xgboost_is_added():
    state = fitted(XGBoostTrees, max_depth=1).get_state()
    forged = state["model"].replace(b"\x05[0E0]", b"\x05[1E9]")
    assert (XGBoostTrees().set_state(state | {"model": forged}).transform(X) > 9e8).all()


def test_large_codes_of_xgboost_do_not_fill_the_memory():
    state = fitted_part("xgboost, categories").get_state()
    model = read_ubjson(state["model"])["learner"]["gradient_booster"]["model"]
    codes = max((tree["categories"] for tree in model["trees"]), key=len)
    old = codes.astype(">i4").tobytes()
    for code in (2**24, 2**31 - 1, -1):
        new = np.append(codes[:-1], code).astype(">i4").tobytes()
        with pytest.raises(ValueError, match="codes of categories"):
            XGBoostTrees().set_state(state | {"model": state["model"].replace(old, new, 1)})


@pytest.mark.parametrize("part_class", [LightGBMTrees, XGBoostTrees])
@pytest.mark.parametrize("model", ["a path", b"a path", "/dev/zero", None, 7, [], {}])
def test_a_model_in_a_state_is_never_a_path(part_class, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = fitted(part_class)
    saved = whole.get_state()["model"]
    (tmp_path / "a path").write_bytes(saved if isinstance(saved, bytes) else saved.encode())
    with pytest.raises(ValueError, match=r"A model of (LightGBM|XGBoost) must"):
        part_class().set_state(whole.get_state() | {"model": model})


def test_classes_of_xgboost_are_outputs():
    data = xgboost.DMatrix(X, np.arange(len(X)) % 3)
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 3}, data, 1)
    assert XGBoostTrees().describe(booster) == (X.shape[1], 3, 1)
