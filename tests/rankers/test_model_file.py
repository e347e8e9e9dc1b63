import json
import subprocess
import sys
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_rankers import PARTS, Column, every_part
from lightgbm import LGBMRanker
from numba import njit
from sklearn.base import clone

from treerank import NDCG, HistogramTrees, TreeDirectRanker, get_metric, load, make_objective
from treerank.baselines import RankSVM
from treerank.feature_parts import Ensemble, Stages, StreamingTrees
from treerank.files.archive import write_archive
from treerank.objectives import ApproxNDCG, Pairs
from treerank.objectives.lists.losses import HalfSquaredError
from treerank.rankers import ForestRanker, NestedRanker, saved_values
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.model_file import _check_scores, columns_in, save


class Chosen(Column):
    """A feature part of the user's own, with a state."""

    def get_state(self):
        return {"n_outputs": self.n_outputs_}

    def set_state(self, state):
        self.n_outputs_ = state["n_outputs"]


X = np.random.default_rng(0).normal(size=(120, 3))
X[::7, 1] = np.nan
y, qid = (X[:, 0] > 0).astype(int) + (X[:, 2] > 1), np.repeat(np.arange(6), 20)
DATA = X, y, qid


@pytest.fixture(scope="module")
def ranker():
    settings = {"metric": get_metric("map"), "random_state": np.random.RandomState(0)}
    return TreeDirectRanker(PARTS["lightgbm"], **settings).fit(*DATA)


@pytest.fixture(scope="module")
def saved(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    ranker.save(path)
    return path


def round_trip(ranker, path, **settings):
    ranker.save(path)
    return load(path, **settings)


@every_part
def test_everything_fitted_comes_back_bit_for_bit(tmp_path, part):
    ranker = TreeDirectRanker(part, tau="tanh", random_state=0).fit(X, y, qid)
    loaded = round_trip(ranker, tmp_path / "model")
    proba = ranker.predict_pair_proba(X, X[:1])
    np.testing.assert_array_equal(loaded.predict_pair_proba(X, X[:1]), proba)
    np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
    assert repr(loaded) == repr(ranker)
    assert loaded.evals_result_ == ranker.evals_result_
    assert loaded.best_iteration_ == ranker.best_iteration_
    assert loaded.n_features_in_ == 3


def test_names_and_categories_come_back(tmp_path):
    table = pd.DataFrame({"price": X[:, 0], "color": np.where(X[:, 2] > 1, "red", "blue")})
    ranker = TreeDirectRanker(PARTS["lightgbm"], random_state=0).fit(table, y, qid)
    loaded = round_trip(ranker, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(table), ranker.predict(table))
    assert loaded.feature_names_in_.tolist() == ["price", "color"]
    with pytest.raises(ValueError, match="'price' is missing from"):
        loaded.predict(table[["color"]])


GROWING = PARTS | {
    "histogram": HistogramTrees(5, min_child_samples=5),
    "streaming": StreamingTrees(5, max_estimators=9, forgetting=0.1, min_child_samples=5),
}
HELD_OUT = X + np.random.default_rng(1).normal(size=X.shape) / 2, y, qid


@pytest.mark.parametrize("eval_set", [None, HELD_OUT], ids=["alone", "with an eval_set"])
@pytest.mark.parametrize("part", GROWING.values(), ids=GROWING)
def test_a_loaded_ranker_goes_on_as_the_saved_one_would(tmp_path, part, eval_set):
    longer = {} if isinstance(part, StreamingTrees) else {"feature_part__n_estimators": 9}
    given = {"eval_set": eval_set} | ({"eval_metric": ["mrr", "ndcg"]} if eval_set else {})
    ranker = TreeDirectRanker(clone(part), warm_start=True, random_state=0)
    ranker.set_params(feature_part__learning_rate=0.1).fit(*DATA, **given)
    loaded = round_trip(ranker, tmp_path / "model")
    before = ranker.predict(X)
    for fitted in (loaded, ranker):
        fitted.set_params(**longer).fit(*DATA, **given)
    assert loaded.best_iteration_ == ranker.best_iteration_
    assert loaded.evals_result_ == ranker.evals_result_
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert (before != ranker.predict(X)).any()


@njit
def my_loss(margin):
    return max(1 - margin, 0.0), -1.0 if margin < 1 else 0.0, 1.0


def test_the_users_own_settings_are_kept_by_name_and_predictions_need_none(tmp_path):
    ranker = TreeDirectRanker(PARTS["lightgbm"], loss=my_loss).fit(*DATA)
    loaded = round_trip(ranker, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.loss == "my_loss (not saved)"
    with pytest.raises(ValueError, match=r"got 'my_loss \(not saved\)'.* again by set_params"):
        loaded.fit(*DATA)


def own_metric(y, scores, qid):
    return float(np.mean(y * scores))


class OwnLoss:
    """A loss without pairs, of the user's own."""

    def bind(self, judgments):
        return HalfSquaredError().bind(judgments)


OF_THE_USER = {
    "own_metric": {"metric": own_metric},
    "my_loss": {"loss": my_loss},
    "OwnLoss": {"feature_part": Ensemble([PARTS["lightgbm"], "linear"], losses=[OwnLoss(), None])},
}


@pytest.mark.parametrize("name", OF_THE_USER)
def test_a_loaded_ranker_is_saved_again_without_the_users_own_settings(tmp_path, name):
    params = {"feature_part": PARTS["lightgbm"], "random_state": 0} | OF_THE_USER[name]
    ranker = TreeDirectRanker(**params).fit(*DATA)
    for fitted in (ranker, NestedRanker(ranker, sizes=(3,)).fit(*DATA)):
        once = round_trip(fitted, tmp_path / "once")
        again = round_trip(once, tmp_path / "again")
        params = [str(saved_values.saved(loaded, fitted=False)) for loaded in (once, again)]
        assert params[0] == params[1]
        assert f"'{name} (not saved)'" in params[0]
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


OF_THE_LIBRARY = {
    "metric": {"metric": NDCG(5)},
    "pairs": {"pairs": Pairs(top=5)},
    "loss": {"loss": ApproxNDCG(0.5)},
    "seed of the ranker": {"random_state": np.random.RandomState(1)},
    "seed of the part": {"feature_part": HistogramTrees(3, random_state=np.random.RandomState(1))},
}


@pytest.mark.parametrize("settings", OF_THE_LIBRARY.values(), ids=OF_THE_LIBRARY)
def test_settings_that_are_objects_of_the_library_come_back(tmp_path, settings):
    given = {"feature_part": PARTS["lightgbm"], "random_state": 0} | settings
    ranker = TreeDirectRanker(**given).fit(*DATA)
    loaded = round_trip(ranker, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.score(*DATA) == ranker.score(*DATA)
    np.testing.assert_array_equal(loaded.fit(*DATA).predict(X), ranker.fit(*DATA).predict(X))


def test_a_feature_part_of_the_users_own_is_named_to_load(tmp_path):
    ranker = TreeDirectRanker(Chosen((0, 2)), weight="uniform").fit(*DATA)
    loaded = round_trip(ranker, tmp_path / "model", parts={"Chosen": Chosen})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.feature_part.columns == (0, 2)
    with pytest.raises(ValueError, match=r"one of .*'LightGBMTrees', .*; got 'Chosen'. Pass your"):
        load(tmp_path / "model")


class Mapped(Chosen):
    """A feature part with a function, which no file holds."""

    def __init__(self, columns, fn=None):
        super().__init__(columns)
        self.fn = fn

    def transform(self, X):
        return self.fn(super().transform(X))


def test_a_parameter_that_no_file_holds_comes_with_the_class(tmp_path):
    ranker = TreeDirectRanker(Mapped((0, 2), np.tanh), weight="uniform").fit(*DATA)
    loaded = round_trip(ranker, tmp_path / "model", parts={"Mapped": partial(Mapped, fn=np.tanh)})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.feature_part.fn is np.tanh
    anew = load(tmp_path / "model", parts={"Mapped": partial(Mapped, (0, 2), np.sinh)})
    assert anew.feature_part.fn is np.sinh
    with pytest.raises(TypeError, match=r"parts\['Mapped'\]: too many positional arguments"):
        load(tmp_path / "model", parts={"Mapped": partial(Mapped, (0, 2), np.sinh, 3)})


def test_several_functions_come_by_their_names_and_one_in_place_of_several_is_refused(tmp_path):
    parts = Stages([Mapped((0,), np.tanh), Mapped((2,), np.arctan)])
    ranker = TreeDirectRanker(parts, weight="uniform").fit(*DATA)
    given = partial(Mapped, fn={"tanh": np.tanh, "arctan": np.arctan, "sinh": np.sinh})
    loaded = round_trip(ranker, tmp_path / "model", parts={"Mapped": given})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    message = (
        r"^fn of parts\['Mapped'\] must have a function for each name of one in the file, as in "
        r"load\(path, parts={'Mapped': partial\(Mapped, fn={'arctan': arctan, 'tanh': tanh}\)}\); "
    )
    for fn, shown in (
        (np.tanh, "got <ufunc 'tanh'>"),
        ({"tanh": np.tanh}, r"got \['tanh'\] alone"),
    ):
        with pytest.raises(ValueError, match=f"{message}{shown}"):
            load(tmp_path / "model", parts={"Mapped": partial(Mapped, fn=fn)})


class Optional(Mapped):
    """A feature part with a function, or with a dict of one, or with none."""

    def transform(self, X):
        fn = self.fn["f"] if isinstance(self.fn, dict) else self.fn
        scores = Chosen.transform(self, X)
        return scores if fn is None else fn(scores)


def test_a_part_without_the_function_of_another_one_stays_without_it(tmp_path):
    parts = Stages([Optional((0,)), Optional((2,), np.tanh)])
    ranker = TreeDirectRanker(parts, weight="uniform").fit(*DATA)
    given = partial(Optional, fn={"tanh": np.tanh})
    loaded = round_trip(ranker, tmp_path / "model", parts={"Optional": given})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    with pytest.raises(ValueError, match=r"fn={'tanh': tanh}\)}\); got <ufunc 'tanh'>"):
        load(tmp_path / "model", parts={"Optional": partial(Optional, fn=np.tanh)})


def test_a_parameter_that_is_a_dict_of_functions_comes_as_it_is(tmp_path):
    ranker = TreeDirectRanker(Optional((0,), {"f": np.tanh}), weight="uniform").fit(*DATA)
    given = partial(Optional, fn={"f": np.tanh})
    loaded = round_trip(ranker, tmp_path / "model", parts={"Optional": given})
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))


def of_the_name(name, base):
    """Return a new class of a name, as another module would hold it."""
    return type(name, (base,), {"__qualname__": f"other.{name}"})


#: Parts of classes that a file cannot tell apart by their names, with what is said of them.
OF_ONE_NAME = {
    "two of the user's": (
        lambda: [Chosen((0,)), of_the_name("Chosen", Mapped)((2,), np.tanh)],
        r"other\.Chosen beside .*file\.Chosen\. Rename .*other\.Chosen",
    ),
    "beside the package's": (
        lambda: ["linear", of_the_name("LinearModel", Chosen)((0,))],
        r"\.other\.LinearModel beside treerank\.feature_parts\.linear\.LinearModel\.",
    ),
    "as the package's": (
        lambda: of_the_name("LinearModel", Chosen)((0, 2)),
        r"\.other\.LinearModel beside treerank\.feature_parts\.linear\.LinearModel\.",
    ),
}


@pytest.mark.parametrize(("part", "message"), OF_ONE_NAME.values(), ids=OF_ONE_NAME)
def test_classes_of_one_name_are_not_saved_because_one_would_be_read_as_the_other(
    tmp_path, part, message
):
    parts = part()
    parts = Stages(parts) if isinstance(parts, list) else parts
    ranker = TreeDirectRanker(parts, weight="uniform").fit(*DATA)
    with pytest.raises(ValueError, match=f"^feature_part must be of classes .*{message}"):
        ranker.save(tmp_path / "model")
    assert not any(tmp_path.iterdir())


def power(exponent):
    def raised(X):
        return np.sign(X) * np.abs(X) ** exponent

    return raised


def to_the(exponent, X):
    return power(exponent)(X)


#: Two functions of one name, and whether they are saved: the same function twice is.
FUNCTIONS = {
    "of one def": (power(2), power(3), False),
    "lambdas": (lambda X: X, lambda X: -X, False),
    "partials": (partial(to_the, 2), partial(to_the, 3), False),
    "function and itself": (np.tanh, np.tanh, True),
    "equal partials": (partial(to_the, 2), partial(to_the, 2), True),
}


@pytest.mark.parametrize(("first", "second", "is_saved"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_of_one_name_are_not_saved_because_one_would_be_read_as_the_other(
    tmp_path, first, second, is_saved
):
    parts = Stages([Mapped((0,), first), Mapped((2,), second)])
    ranker = TreeDirectRanker(parts, weight="uniform").fit(*DATA)
    if is_saved:
        loaded = round_trip(ranker, tmp_path / "m", parts={"Mapped": partial(Mapped, fn=first)})
        np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
        return
    with pytest.raises(ValueError, match=r"^fn of Mapped must be functions of different names"):
        ranker.save(tmp_path / "m")
    assert not any(tmp_path.iterdir())


def test_metrics_of_one_name_are_saved_because_predictions_need_none(tmp_path):
    ranker = TreeDirectRanker(PARTS["lightgbm"], metric=lambda y, scores, qid: 1.0).fit(*DATA)
    nested = NestedRanker(ranker, sizes=(3,)).fit(*DATA)
    nested.set_params(ranker__metric=lambda y, scores, qid: 2.0)
    loaded = round_trip(nested, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), nested.predict(X))


NO_CLASSES = {
    "list": ([Chosen], "'Chosen': Chosen"),
    "class": (Chosen, "'Own': Own"),
    "object": ({"Mine": Chosen()}, "'Mine': Mine"),
    "text": ("Chosen", "'Own': Own"),
    "text by name": ({"Chosen": "Chosen"}, "'Chosen': Chosen"),
    "partial of a function": ({"Chosen": partial(max)}, "'Chosen': Chosen"),
    "list of a partial": ([partial(Chosen)], "'Chosen': Chosen"),
}


@pytest.mark.parametrize(("parts", "example"), NO_CLASSES.values(), ids=NO_CLASSES)
def test_parts_that_are_no_classes_by_name_are_refused_and_not_the_file(tmp_path, parts, example):
    TreeDirectRanker(Chosen((0, 2)), weight="uniform").fit(*DATA).save(tmp_path / "model")
    message = (
        r"^parts must be a dict from names to classes, as in load\(path, parts={"
        rf"{example}}}\); got "
    )
    with pytest.raises(TypeError, match=message):
        load(tmp_path / "model", parts=parts)


def test_a_feature_part_without_a_state_cannot_be_saved(tmp_path):
    class Stateless(Chosen):
        get_state = property()

    ranker = TreeDirectRanker(Stateless((0, 2))).fit(*DATA)
    with pytest.raises(TypeError, match="feature_part must have get_state"):
        ranker.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_prediction_in_a_new_process_loads_no_other_engine(ranker, saved):
    code = (
        f"import sys; from treerank import load; print(load({str(saved)!r}).predict([[1, 2, 3]])); "
        "assert not {'xgboost', 'torch'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == f"{ranker.predict([[1, 2, 3]])}\n"


def forged(source, target, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            blob = old.read(name)
            if name == "treerank.json":
                manifest = json.loads(blob)
                change(manifest["content"])
                blob = json.dumps(manifest).encode()
            new.writestr(name, blob)
    return target


RANKER = "object", 1
PART = *RANKER, "state", "learned", "feature_part_", "object", 1
CHANGES = {
    "class must be one of .*'TreeDirectRanker'.*; got 'os.s": (*RANKER, "class", "os.system"),
    "class must be one of .*; got 'LightGBMTrees'": (*RANKER, "class", "LightGBMTrees"),
    "class must be one of .*; got 'subprocess": (*PART, "class", "subprocess.Popen"),
    "a model must be an estimator; got 'settings'": ("object", 0, "settings"),
    "got KeyError: 'nonsense'": ("object", 1, "params", "metric", {"object": ["nonsense", []]}),
    "got KeyError: 'Popen'": (*RANKER, "params", "metric", {"object": ["settings", ["Popen", {}]]}),
    "threshold must be": (*RANKER, "params", "metric", "object", 1, 1, "threshold", "x"),
    "unexpected keyword argument '__class__'": (*RANKER, "params", "__class__", "x"),
    "unexpected keyword argument 'new'": (*PART, "params", "new", 1),
    "got KeyError: 'weight'": (*RANKER, "state", "head", {}),
    "tau must be one of": (*RANKER, "state", "head", "tau", "system"),
    "calibration_slope must be": (*RANKER, "state", "calibration_slope", -1),
    "metric must be": (*RANKER, "params", "metric", "nonsense"),
    "feature_part must have fit": (*RANKER, "params", "feature_part", "nonsense"),
    "n_features must be": (*RANKER, "state", "n_features", 0),
    "must be a fitted feature part of 7 features": (*RANKER, "state", "n_features", 7),
    "pos must be": (*RANKER, "params", "random_state", "object", 1, "pos", 625),
    "A state must have the entries": (*RANKER, "params", "random_state", "object", 1, "new", 1),
    "whole ranker that this version knows": (*RANKER, "state", 3),
}


def set_in(content, *path):
    """Set a value in a tree of dicts; the path ends in the value."""
    *places, name, value = path
    for place in places:
        content = content[place]
    content[name] = value


@pytest.mark.parametrize("message", CHANGES)
def test_a_forged_file_creates_nothing_but_what_the_registries_hold(saved, tmp_path, message):
    def change(content):
        set_in(content, *CHANGES[message])

    with pytest.raises(ValueError, match=message):
        load(forged(saved, tmp_path / "forged", change))


def test_a_ranker_whose_scores_overflow_is_refused(tmp_path):
    ranker = RankSVM().fit(*DATA)
    ranker.coef_[:] = 1e308
    with pytest.raises(ValueError, match=r"model does not; got the scores .* are not finite"):
        round_trip(ranker, tmp_path / "model")


def test_a_head_whose_scores_overflow_is_refused_without_a_warning_of_numpy(tmp_path):
    ranker = TreeDirectRanker("linear").fit(*DATA)
    ranker.head_ = AntisymmetricHead(np.array([1e308]))
    ranker.feature_part_.coef_[:] = 10.0
    with pytest.raises(ValueError, match=r"model does not; got the scores .* are not finite"):
        round_trip(ranker, tmp_path / "model")


class Learned(Chosen):
    """A feature part whose state is a value of the test."""

    def __init__(self, value=None):
        super().__init__((0, 2))
        self.value = value

    def get_state(self):
        return super().get_state() | {"value": self.value}

    def set_state(self, state):
        super().set_state(state)
        self.value = state["value"]


NOT_PLAIN = {
    "function": (np.tanh, r"\['value'\] must be .*; got <ufunc 'tanh'>"),
    "complex": (1j, r"\['value'\] must be .*; got 1j"),
    "complex of numpy": (np.complex128(1j), r"\['value'\] must be .*; got np.complex128"),
    "date": (np.datetime64("2026-01-01"), r"\['value'\] must be .*; got np.datetime64"),
    "object": (object(), r"\['value'\] must be .*; got <object"),
    "set": ({1, 2}, r"\['value'\] must be .*; got \{1, 2\}"),
    "bytearray": (bytearray(b"a"), r"\['value'\] must be .*; got bytearray"),
    "column": (pd.Series([1.0]), r"\['value'\] must be .*; got 0 +1.0"),
    "records": (np.zeros(1, [("a", int)]), r"\['value'\] must be "),
    "matrix of objects": (np.array([[None, "a"]]), r"\['value'\] must be "),
    "masked array": (np.ma.array([1.0, 2.0], mask=[0, 1]), r"\['value'\] must be .*; got masked_"),
    "masked objects": (np.ma.array([1, None]), r"\['value'\] must be .*; got masked_array"),
    "list": ([1.0, {"f": [0, max]}], r"\['value'\]\[1\]\['f'\]\[1\] must be .*; got <built-in"),
    "array of functions": (np.array([max, None]), r"\['value'\]\[0\] must be .*; got <built-in"),
    "dict of the key object": ({"object": max}, r"\['value'\]\['object'\] must be "),
    "key": ({max: 1.0}, r"each key of .*\['value'\] must be .*; got <built-in"),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_would_not_come_back_in_a_state_is_refused_by_its_entry(tmp_path, name):
    value, message = NOT_PLAIN[name]
    ranker = TreeDirectRanker(Chosen((0, 2)), weight="uniform").fit(*DATA)
    ranker.feature_part_ = Learned(value).fit(X, None)
    with pytest.raises(TypeError, match=message):
        ranker.save(tmp_path / "model")
    assert not any(tmp_path.iterdir())


def test_plain_values_and_arrays_in_a_state_come_back(tmp_path):
    value = {
        "plain": [None, True, 7, -0.5, np.inf, "text", b"bytes", (1, "a")],
        (1, "b"): np.array(["a", None, 1.5], dtype=object),
        "arrays": [np.array([1j]), np.array(["2026-01-01"], dtype="M8[D]"), np.array(["a"])],
        "scalars": [np.float32(0.5), np.int8(3), np.bool_(True), np.str_("a")],
        "object": {"nested": HistogramTrees(2).fit(X, make_objective(y, qid)).forest()},
    }
    ranker = TreeDirectRanker(Chosen((0, 2)), weight="uniform").fit(*DATA)
    ranker.feature_part_ = Learned(value).fit(X, None)
    loaded = round_trip(ranker, tmp_path / "m", parts={"Chosen": Chosen, "Learned": Learned})
    found = loaded.feature_part_.value
    assert found.pop("object")["nested"].n_trees == value.pop("object")["nested"].n_trees
    np.testing.assert_equal(found, value)


@pytest.mark.parametrize("key", ["object", "ranker"])  # the first is that of a mark in the file
def test_a_setting_that_holds_a_ranker_is_saved_as_if_it_was_never_fitted(key):
    fitted = RankSVM().fit(X[:, :1], y, qid)
    saved = saved_values.saved
    assert saved({key: fitted}, fitted=False) == saved({key: clone(fitted)}, fitted=False)
    assert saved({key: fitted}) != saved({key: fitted}, fitted=False)


@pytest.mark.parametrize("column", [pd.Series([1.5, 2.5]), pl.Series([1.5, 2.5])])
def test_a_column_of_a_data_frame_is_saved_as_an_array(column):
    array = saved_values.saved({"gain": column})["gain"]
    assert isinstance(array, np.ndarray)
    assert array.tolist() == [1.5, 2.5]


class Noting:
    """Stands for a loaded ranker, and keeps the documents that it is asked to score."""

    _given_columns = ()

    def __init__(self, n_features, scores=lambda rows: rows[:, 0] * 0 + 1):
        self.n_features_in_, self.given, self.scores = n_features, [], scores

    def _scores(self, rows):
        self.given.append(rows)
        return self.scores(np.nan_to_num(rows))


def test_sixteen_simple_documents_are_scored_on_loading_unless_they_are_long():
    ranker = Noting(3)
    _check_scores(ranker)
    (rows,) = ranker.given
    for row, value in zip(rows, [np.nan, 0.0, 1.0, -1.0], strict=False):
        np.testing.assert_array_equal(row, [value] * 3)
    np.testing.assert_array_equal(rows[4:], np.random.default_rng(0).normal(size=(12, 3)))
    for n_features, n_scored in ((2**16, 1), (2**16 + 1, 0)):
        ranker = Noting(n_features)
        _check_scores(ranker)
        assert len(ranker.given) == n_scored
    for wrong in (lambda rows: rows[:, :1], lambda rows: np.where(rows[:, 0] == 1, np.inf, 0)):
        with pytest.raises(ValueError, match="scores of some simple documents are not finite"):
            _check_scores(Noting(3, wrong))


@pytest.mark.parametrize(("name", "wrong"), [("sigma", -1.0), ("metric", "ndgc"), ("k", 0)])
def test_settings_in_a_file_are_checked_as_a_fit_checks_them(name, wrong):
    content = saved_values.saved(TreeDirectRanker("histogram", random_state=0).fit(*DATA))
    classes = {"TreeDirectRanker": TreeDirectRanker, "HistogramTrees": HistogramTrees}
    saved_values.restored(content, classes)
    content["object"][1]["params"][name] = wrong
    with pytest.raises(ValueError, match=f"{name} must"):
        saved_values.restored(content, classes)


@pytest.mark.parametrize(("name", "wrong"), [("sigma", -1.0), ("metric", "ndgc"), ("k", 0)])
def test_nothing_is_written_that_reading_would_refuse(tmp_path, name, wrong):
    ranker = TreeDirectRanker("histogram", random_state=0).fit(*DATA).set_params(**{name: wrong})
    with pytest.raises(ValueError, match=f"{name} must"):
        ranker.save(tmp_path / "model")
    with pytest.raises(
        TypeError, match=r"trees must be a Forest.* Write trees=read_forest\(model\)"
    ):
        ForestRanker(LGBMRanker()).save(tmp_path / "model")
    assert not any(tmp_path.iterdir())


def test_columns_are_saved_by_all_roles_and_others_are_refused(tmp_path):
    path, fitted = tmp_path / "m", RankSVM().fit(*DATA)
    roles = dict.fromkeys(["label", "query", "document", "days_since"], "a")
    save(fitted, path, roles)
    assert columns_in(path) == roles
    save(fitted, path)
    assert columns_in(path) == {}
    for wrong in ({"price": "a"}, {"label": 3}, {"price": 3}):
        save(fitted, path, wrong)
        with pytest.raises(ValueError, match="columns must be texts by their role"):
            columns_in(path)


def test_a_model_is_an_estimator_that_ranks(tmp_path):
    write_archive(tmp_path / "pairs", saved_values.saved(Pairs()))
    with pytest.raises(ValueError, match="a model must be an estimator; got 'settings'"):
        load(tmp_path / "pairs")
    part = TreeDirectRanker("histogram").fit(*DATA).feature_part_
    write_archive(tmp_path / "part", saved_values.saved(part))
    with pytest.raises(ValueError, match="The class must be one of"):
        load(tmp_path / "part")
