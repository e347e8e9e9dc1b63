"""Parameters: documented with the default that holds, and checked before any training."""

import inspect
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import Literal

import numpy as np
import pytest
from documented import default_of, entries, explained, named
from drawn_forests import one_leaf
from sklearn.base import clone

from treerank import QueryKFold, QueryShuffleSplit, make_objective
from treerank.baselines import RankSVM
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.feature_parts.trees.boosting import BoostedTrees
from treerank.metrics import METRICS
from treerank.parameters import Count, check_arguments
from treerank.rankers import Ranker
from treerank.registry import RANKERS, ranker_class

LISTED = [*map(ranker_class, RANKERS), *map(feature_part_class, FEATURE_PARTS)]
LISTED += [*map(type, METRICS.values()), QueryKFold, QueryShuffleSplit]
BASES = dict.fromkeys(base for cls in LISTED for base in cls.__mro__)
EVERY = [cls for cls in BASES if cls.__module__.startswith("treerank") and cls is not Ranker]
every = pytest.mark.parametrize("cls", EVERY)


def signature_of(cls):
    return list(inspect.signature(cls).parameters)


@every
def test_every_parameter_is_explained_here_or_at_the_nearest_base_with_the_same_default(cls):
    signature = inspect.signature(cls)
    found = {name: entry for name, (_, entry) in explained(cls, "Parameters").items()}
    stated = {name: default_of(found[name]) for name in signature.parameters if name in found}
    assert stated == {name: parameter.default for name, parameter in signature.parameters.items()}
    assert entries(cls, "Parameters").keys() <= signature.parameters.keys()


@every
@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_no_entry_repeats_that_of_a_base(cls, section):
    for base in cls.__mro__[1:]:
        assert not set(entries(cls, section).values()) & set(entries(base, section).values())


@every
def test_a_docstring_names_the_bases_that_explain_its_other_parameters(cls):
    found = explained(cls, "Parameters")
    places = {found[name][0] for name in signature_of(cls)}
    assert places - {cls} <= named(cls)


@pytest.mark.parametrize("cls", [cls for cls in EVERY if hasattr(cls, "_learned")])
def test_what_a_ranker_learns_is_explained_here_or_at_a_base_that_is_named(cls):
    found = explained(cls, "Attributes")
    assert {found[name][0] for name in cls._learned} - {cls} <= named(cls)


@every
def test_no_field_repeats_that_of_a_base(cls):
    bases = [base.__dataclass_fields__ for base in filter(is_dataclass, cls.__mro__[1:])]
    for name, kind in vars(cls).get("__annotations__", {}).items():
        before = next((fields[name] for fields in bases if name in fields), None)
        same = before and (before.type, before.default) == (kind, vars(cls).get(name))
        assert name == "_" or not same, name


@pytest.mark.parametrize(
    "cls", [cls for cls in EVERY if signature_of(cls) and not inspect.isabstract(cls)]
)
def test_all_parameters_but_the_first_are_keywords_and_all_have_types(cls):
    first, *others = inspect.signature(cls).parameters.values()
    assert {p.kind for p in others} <= {inspect.Parameter.KEYWORD_ONLY}
    typed = set().union(*(inspect.get_annotations(base) for base in cls.__mro__))
    assert all(p.annotation is not p.empty or p.name in typed for p in (first, *others))
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_estimator'"):
        cls(**{first.name: 3}, n_estimator=3)


@pytest.mark.parametrize("cls", [cls for cls in EVERY if issubclass(cls, BoostedTrees)])
def test_copies_keep_parameters_and_the_text_shows_those_that_were_changed(cls):
    part = cls(7, warm_start=True).set_params(max_depth=3)
    text = f"{cls.__name__}(max_depth=3, n_estimators=7, warm_start=True)"
    assert [repr(p) for p in (part, clone(part), pickle.loads(pickle.dumps(part)))] == [text] * 3
    assert part != clone(part)  # two estimators, as everywhere in scikit-learn


#: No parameter may be one of these.
BAD = [b"x", 1 + 2j, object(), np.nan, np.zeros((2, 2)), [[[]]], [[-1], [0, 0]], int]
X = np.random.default_rng(0).normal(size=(12, 2))
Y, QID = np.arange(12) % 3, np.repeat([0, 1, 2], 4)
RULES = [(name, parameter) for name in RANKERS for parameter in signature_of(ranker_class(name))]
PARTS = [(n, parameter) for n in FEATURE_PARTS for parameter in signature_of(feature_part_class(n))]


def begin(*arguments, **more):
    pytest.fail("training began")


def refuse_each_bad_value(parameter, fit):
    for value in BAD:
        with pytest.raises((ValueError, TypeError), match=parameter) as caught:
            fit(value)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(("name", "parameter"), RULES)
def test_a_ranker_names_a_wrong_parameter_before_training(name, parameter, monkeypatch):
    cls = ranker_class(name)
    monkeypatch.setattr(cls, "_learn", begin)
    needed = {
        "ColumnRanker": {"column": 0},
        "ForestRanker": {"trees": one_leaf(2)},
        "NestedRanker": {"ranker": RankSVM()},
    }
    make = partial(cls, **needed.get(name, {}))
    refuse_each_bad_value(parameter, lambda value: make(**{parameter: value}).fit(X, Y, QID))


@pytest.mark.parametrize(("name", "parameter"), PARTS)
def test_a_feature_part_names_a_wrong_parameter_before_training(name, parameter, monkeypatch):
    cls, objective = feature_part_class(name), make_objective(Y, QID)
    monkeypatch.setattr(type(objective), "derivatives", begin)
    refuse_each_bad_value(parameter, lambda value: cls(**{parameter: value}).fit(X, objective))


ABSURD = [
    ("soft_trees", {"depth": 10**10}, "depth"),
    ("soft_trees", {"n_estimators": 10**6, "depth": 20}, "n_estimators and depth"),
    ("mlp", {"hidden": (30000, 30000)}, "hidden must give at most 100000000 weights"),
    ("polynomial", {"degree": 10**10}, "degree"),
    ("lightgbm", {"subsample": 1e-5, "subsample_freq": 1}, "subsample must draw one of 12 docum"),
    ("lightgbm", {"engine_params": {"path_smooth": None}}, "engine_params .* got None"),
    ("lightgbm", {"engine_params": {"path_smooth": -1}}, "engine_params must be what LightGBM"),
    ("xgboost", {"engine_params": {"max_cat_threshold": [np.nan]}}, "engine_params .*nan"),
    ("mlp", {"decay": "step", "decay_rate": 2.0}, "decay_rate .* at most 1"),
]


@pytest.mark.parametrize(("name", "params", "message"), ABSURD)
def test_what_no_machine_or_engine_can_do_is_refused_by_name(name, params, message):
    part = feature_part_class(name)(**params)
    with pytest.raises(ValueError, match=message) as caught:
        part.fit(X, make_objective(Y, QID))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["histogram", "lightgbm", "xgboost"])
def test_more_threads_than_a_machine_has_change_nothing(name):
    parts = [feature_part_class(name)(2, n_jobs=n) for n in (1, 10**10)]
    few, many = (part.fit(X, make_objective(Y, QID)).transform(X) for part in parts)
    assert np.array_equal(few, many)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"n_times": 0}, ValueError, "n_times must be a whole number of at least 1; got 0"),
        ({"is_loud": 1}, ValueError, "is_loud must be True or False; got 1"),
        ({"voice": "bass"}, ValueError, "voice must be one of .*; got 'bass'"),
        ({"names": "ab"}, TypeError, "names must be a sequence; got 'ab'"),
        ({"options": [1]}, TypeError, r"options must be a dict like .*; got \[1\]"),
        ({"splitter": 3}, TypeError, "splitter must be a QueryKFold or a QueryShuffleSplit; got 3"),
    ],
)
def test_arguments_of_functions_are_checked_by_their_types(wrong, error, message):
    @check_arguments
    def sing(
        n_times: Count,
        *,
        is_loud: bool = True,
        voice: Literal["alto", "tenor"] | None = None,
        names: Sequence[str] = (),
        options: Mapping[str, int] | None = None,
        splitter: QueryKFold | QueryShuffleSplit | None = None,
        anything: object = None,
    ) -> int:
        return n_times

    right = {"n_times": 2, "names": ["a"], "options": {"a": 1}, "splitter": QueryKFold()}
    assert sing(**right) == sing(2, voice="alto", anything=wrong) == 2
    with pytest.raises(error, match=message):
        sing(**(right | wrong))
    with pytest.raises(TypeError, match=r"sing: missing .* 'n_times'\. Write sing\("):
        sing()
