import functools
import json
import os
import re
import subprocess
import sys
import threading
from collections import OrderedDict

import numpy as np
import pandas as pd
import pytest
from noting_rankers import DATA, FITS, Weigher, X, lines, qid, y
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from treerank import NDCG
from treerank.evaluation import compare, store
from treerank.evaluation.store import Store, describe, key_of

pytestmark = pytest.mark.slow


def test_what_is_stored_is_not_fitted_again(tmp_path):
    options = {"cv": 3, "store": tmp_path / "store"}
    first = compare(lines(), DATA, **options)
    assert len(FITS) == 3
    again = compare(lines(), DATA, metrics=("p@2",), **options)  # metrics cost no fit
    assert len(FITS) == 3
    assert again.metrics == ("p@2",)
    same = compare(lines(), DATA, **options)
    np.testing.assert_array_equal(same.values["value"], first.values["value"])
    compare({"first": Weigher(weight=2.0)}, DATA, **options)
    assert len(FITS) == 6
    compare({"first": Weigher()}, (X + 1, y, qid), **options)
    assert len(FITS) == 9
    compare({"first": Weigher()}, DATA, **options, grid={"first": {"weight": [1.0]}})
    assert len(FITS) == 9 + 3 * (3 + 1)


@pytest.mark.parametrize("package", ["treerank", "lightgbm", "xgboost", "catboost"])
def test_another_version_of_a_package_is_another_fit(tmp_path, monkeypatch, package):
    compare({"first": Weigher()}, DATA, cv=2, store=tmp_path)
    real = store.version
    monkeypatch.setattr(store, "version", lambda name: "99" if name == package else real(name))
    compare({"first": Weigher()}, DATA, cv=2, store=tmp_path)
    assert len(FITS) == 4


def test_damaged_files_are_done_again(tmp_path):
    options = {"cv": 2, "store": tmp_path}
    expected = compare({"first": Weigher()}, DATA, **options).by_query("map")
    whole, *_ = files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    with np.load(whole) as file:
        about = json.loads(str(file["about"]))
    assert about["configuration"]["ranker"]["params"] == {"random_state": 0, "weight": 1.0}
    assert {"treerank", "numpy", "python"} <= set(about["configuration"]["versions"])
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(b"")
    again = compare({"first": Weigher()}, DATA, **options)
    np.testing.assert_array_equal(again.by_query("map"), expected)
    assert len(FITS) == 4
    assert sorted(tmp_path.iterdir()) == files


def test_a_store_that_fails_later_is_an_error_of_its_own(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "fits/first.npz")

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(OSError, match=r"No space left on device: 'fits/first\.npz'"):
        compare({"first": Weigher()}, DATA, cv=3, store=tmp_path)
    assert len(FITS) == 1


def power(exponent, values):
    return np.sign(values) * np.abs(values) ** exponent


class Power:
    def __init__(self, exponent):
        self.exponent = exponent

    def __call__(self, values):
        return power(self.exponent, values)

    def of(self, values):
        return self(values)


class Slotted:
    __slots__ = ("exponent",)

    def __init__(self, exponent):
        self.exponent = exponent


def closing_over(exponent):
    def inner(values):
        return power(exponent, values)

    return inner


def with_default(exponent):
    def inner(values, exponent=exponent):
        return power(exponent, values)

    return inner


#: Values that differ in what is not an attribute, by what makes them of a number.
APART = {
    "partial": lambda n: functools.partial(power, n),
    "bound method": lambda n: Power(n).of,
    "object": Power,
    "slots": Slotted,
    "closure": closing_over,
    "default": with_default,
    "lambda": lambda n: (lambda x: x + 1) if n == 1 else (lambda x: x + 2),
    "random state": np.random.RandomState,
    "generator": np.random.default_rng,
    "bytes": lambda n: bytes([n]),
    "objects": lambda n: np.array([None, str(n)], dtype=object),
    "frozen": lambda n: FrozenEstimator(StandardScaler().fit(X[: 10 * n])),
    "frozen pipeline": lambda n: FrozenEstimator(make_pipeline(StandardScaler()).fit(X[: 10 * n])),
    "metric": lambda n: NDCG(5, gain=[0, n, 9]),
    "keys": lambda n: {"1": 0} if n == 1 else {1: 0},
    "infinity": lambda n: "inf" if n == 1 else float("inf"),
}


#: Modules with a function that reads a global variable, with the text for one value and another.
GLOBALS = {
    "number": ("K = 1", "K = 2"),
    "text": ("K = '1'", "K = '2'"),
    "tuple": ("K = (0, (1, 2))", "K = (0, (1, 3))"),
    "dict": ("K = {'a': [1]}", "K = {'a': [2]}"),
    "array": ("K = numpy.arange(3)", "K = numpy.arange(3) * 2"),
    "frame": ("K = pandas.DataFrame({'a': [1]})", "K = pandas.DataFrame({'a': [2]})"),
    "fitted": (
        "K = StandardScaler().fit([[1.0], [2.0]])",
        "K = StandardScaler().fit([[1.0], [3.0]])",
    ),
    "module": ("import math as K", "import cmath as K"),
    "class": ("K = int", "K = float"),
    "function of another module": ("from math import sin as K", "from math import cos as K"),
    "function": ("def K(): return 1", "def K(): return 2"),
    "number of a function": ("N = 1\ndef K(): return N", "N = 2\ndef K(): return N"),
    "cached function": (
        "@functools.cache\ndef K(): return 1",
        "@functools.cache\ndef K(): return 2",
    ),
    "functions in a dict": ("K = {'a': lambda: 1}", "K = {'a': lambda: 2}"),
    "function that reads the first one": (
        "N = 1\ndef K(): return read, K, N",
        "N = 2\ndef K(): return read, K, N",
    ),
    "list that holds itself": ("K = [1]\nK.append(K)", "K = [2]\nK.append(K)"),
}
READERS = ["def read(x): return K", "def read(x): return [(lambda: K) for _ in x]"]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", GLOBALS)
def test_functions_that_read_other_globals_are_described_apart(name, reader):
    imports = "import functools, numpy, pandas\nfrom sklearn.preprocessing import StandardScaler\n"

    def described(text):
        names = {"__name__": "of_a_user"}
        exec(imports + text + "\n" + reader, names)
        return json.dumps(describe(functools.partial(names["read"], 1)), sort_keys=True)

    first, second = GLOBALS[name]
    assert described(first) == described(first) != described(second)


#: Classes before and after a change that matters to what they compute.
CLASSES = {
    "method": ("def of(self): return 1", "def of(self): return 2"),
    "property": ("of = property(lambda self: 1)", "of = property(lambda self: 2)"),
    "cached property": (
        "of = functools.cached_property(lambda self: 1)",
        "of = functools.cached_property(lambda self: 2)",
    ),
    "class method": ("of = classmethod(lambda cls: 1)", "of = classmethod(lambda cls: 2)"),
    "cached method": (
        "of = functools.cache(lambda self: 1)",
        "of = functools.cache(lambda self: 2)",
    ),
    "decorated method": ("of = around(lambda self: 1)", "of = around(lambda self: 2)"),
    "default": ("def of(self, x=1): return x", "def of(self, x=2): return x"),
    "keyword": ("def of(self, *, x=1): return x", "def of(self, *, x=2): return x"),
    "constant": ("x = 1", "x = 2"),
    "global number": ("def of(self): return N", "def of(self): return N", "N = 2"),
    "global function": (
        "def of(self): return f()",
        "def of(self): return f()",
        "def f(): return 2",
    ),
    "base": ("pass", "pass", "Base.of = lambda self: 2"),
    "other class": ("def of(self): return Base()", "def of(self): return Base()", "Base.x = 2"),
}
AROUND = """
import functools
N = 1
def f(): return 1
def around(function):
    @functools.wraps(function)
    def inner(self): return function(self)
    return inner
class Base: pass
"""


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("value", ["Own()", "Own", "lambda: Own()"])
def test_edited_classes_of_ones_own_are_described_apart(name, value):
    def described(body, more=""):
        base = "" if name == "other class" else "(Base)"
        names = {"__name__": "of_a_user"}
        exec(f"{AROUND}\n{more}\nclass Own{base}:\n    {body}\nvalue = {value}", names)
        return json.dumps(describe(names["value"]), sort_keys=True)

    first, *second = CLASSES[name]
    assert described(first) == described(first) != described(*second)


def test_variables_that_change_while_a_class_is_fitted_tell_nothing_of_it():
    names = {"__name__": "of_a_user"}
    exec(
        "CACHE, LOG = {}, []\n"
        "class Own:\n"
        "    seen = []\n"
        "    def fit(self, memo=[]):\n"
        "        CACHE[1] = self.seen.append(1) or memo.append(1) or LOG.append(1)\n"
        "        return Own, self.again\n"
        "    def again(self): return lambda: Own().fit()\n",
        names,
    )
    before = describe(names["Own"]())
    names["Own"]().fit()
    assert describe(names["Own"]()) == before


def test_the_version_of_a_package_stands_for_the_code_of_its_classes():
    for value in (StandardScaler(), pd.Series([1]), OrderedDict(a=1), StandardScaler):
        assert "code" not in describe(value)


def test_a_fit_is_repeated_when_the_class_of_the_ranker_was_edited(tmp_path, monkeypatch):
    first = compare({"same": Weigher()}, DATA, cv=2, store=tmp_path).by_query("map")
    monkeypatch.setattr(Weigher, "predict", lambda self, X: -X[:, 0])
    edited = compare({"same": Weigher()}, DATA, cv=2, store=tmp_path).by_query("map")
    assert not np.array_equal(edited, first, equal_nan=True)


@pytest.mark.parametrize("module", ["sklearn", "treerank.of_a_test", "numpy.of_a_test"])
def test_the_version_of_a_package_stands_for_its_globals(module):
    described = []
    for value in (1, 2):
        names = {"__name__": module, "K": value}
        exec("def read(x): return K", names)
        described.append(describe(names["read"]))
    assert described[0] == described[1]
    assert "globals" not in described[0]


def test_globals_that_cannot_be_described_count_by_their_classes():
    names = {"__name__": "of_a_user", "K": threading.Lock()}
    exec("def read(x): return K.locked", names)
    one = describe(names["read"])
    names["K"] = threading.Lock()
    assert describe(names["read"]) == one
    names["K"] = (n for n in range(3))
    assert describe(names["read"]) != one


def test_functions_that_read_each_other_are_described_in_time():
    """Each function reads the two after it, so there are more ways through them than seconds."""
    lines = [f"def f{i}(): return f{i + 1}, f{i + 2}" for i in range(60)]
    names = {"__name__": "of_a_user", "f60": 1, "f61": 2}
    exec("\n".join(lines), names)
    one = describe(names["f0"])
    names["f61"] = 3
    assert describe(names["f0"]) != one


FACTOR = 1.0


def scaled(values):
    return np.asarray(values) - FACTOR * np.abs(values)


def test_a_fit_is_repeated_when_a_global_that_its_function_reads_has_changed(tmp_path, monkeypatch):
    def compared(**options):
        ranker = make_pipeline(FunctionTransformer(scaled), LinearRegression())
        return compare({"same": ranker}, DATA, cv=2, **options).by_query("map")

    first = compared(store=tmp_path)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    np.testing.assert_array_equal(compared(store=tmp_path), compared())
    assert len([*tmp_path.iterdir()]) == 4
    monkeypatch.undo()
    np.testing.assert_array_equal(compared(store=tmp_path), first)
    assert len([*tmp_path.iterdir()]) == 4


@pytest.mark.parametrize("name", APART)
def test_what_gives_other_results_is_described_apart(name):
    one, again, two = (json.dumps(describe(APART[name](n)), sort_keys=True) for n in (1, 1, 2))
    assert one == again != two


def test_descriptions_are_those_of_another_process():
    code = """
import functools, json, operator
import numpy as np
from treerank.evaluation.store import describe
class Own:
    def __init__(self, kind):
        self.is_known = kind in {"a", "b", "c"}
values = [functools.partial(operator.add, 2), Own("a"), np.random.RandomState(3),
          {"a", "b", "c"}, np.exp, np.random.default_rng(4)]
print(json.dumps([describe(value) for value in values]))
"""
    run = [sys.executable, "-c", code]
    first, second = (subprocess.run(run, capture_output=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout != b""


def test_a_store_does_not_mix_up_two_pipelines(tmp_path):
    rankers = {
        str(n): make_pipeline(FunctionTransformer(functools.partial(power, n)), LinearRegression())
        for n in (1, 5)
    }
    expected = compare(rankers, DATA, cv=2).by_query("map")
    assert (expected[:, 0] != expected[:, 1]).any()
    for _ in range(2):  # fitted, and from the store
        found = {
            name: compare({"same": ranker}, DATA, cv=2, store=tmp_path).by_query("map")
            for name, ranker in rankers.items()
        }
        np.testing.assert_array_equal(np.hstack([*found.values()]), expected)


class Closed:
    """Can be copied, and tells nothing of itself."""

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        raise TypeError("no")


def test_what_tells_its_address_alone_is_not_stored(tmp_path):
    rule = "store must be None for what cannot be told apart from others; got <"
    for value in (threading.Lock(), (n for n in range(3)), Closed()):
        with pytest.raises(ValueError, match=re.escape(rule)):
            describe(Weigher(random_state=value))
    with pytest.raises(ValueError, match=re.escape(rule)):
        compare({"a": Weigher(random_state=Closed())}, DATA, cv=2, store=tmp_path)
    assert FITS == []


class Trap:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_stored_files_run_no_code(tmp_path):
    folder, trap = tmp_path / "store", tmp_path / "trap"
    expected = compare({"first": Weigher()}, DATA, cv=2, store=folder).by_query("map")
    for path in folder.iterdir():
        with np.load(path) as file:
            about = file["about"]
        np.savez(path, scores=np.array([Trap(trap)], dtype=object), about=about)
    again = compare({"first": Weigher()}, DATA, cv=2, store=folder).by_query("map")
    np.testing.assert_array_equal(again, expected)
    assert not trap.exists()


def test_the_key_of_a_fit_is_that_of_its_settings_in_any_order():
    one = {"ranker": {"rate": 0.5, "trees": 3}, "data": "a"}
    other = {"data": "a", "ranker": {"trees": 3, "rate": 0.5}}
    assert key_of(one) == key_of(other) != key_of(one | {"data": "b"})


def made(value, by):
    return Made(value, by)


def remade(value, by):
    return Made(value, by)


class Made:
    """An object that says by which function it is made."""

    def __init__(self, value, by):
        self.value, self.by = value, by

    def __reduce__(self):
        return self.by, (self.value, None)


def test_objects_that_are_made_by_other_functions_are_described_apart():
    assert describe(Made(1, made)) == describe(Made(1, made))
    assert describe(Made(1, made)) != describe(Made(1, remade))
    assert describe(Made(1, made)) != describe(Made(2, made))
    assert "by" not in describe(Power(1))
