"""Every kind of parameter can be cloned, pickled, saved, loaded, and fitted again.

Parameters are found in the registries of rankers and feature parts. A parameter that is more than
a number, a text or a truth value has examples here; a new one fails until it has.
"""

import inspect
import pickle
import warnings
from collections import OrderedDict
from dataclasses import replace
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import numpy as np
import pandas as pd
import pytest
from laws import Case
from sklearn.base import clone
from small_rankers import DATA, SMALL_TREES, made

from treerank import load
from treerank.clicks import ClickRelevance
from treerank.feature_parts import Stages, StreamingTrees
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.metrics import METRICS
from treerank.metrics.registry import BESIDE
from treerank.objectives import Pairs
from treerank.objectives.factory import LOSSES
from treerank.objectives.lists.losses import ApproxNDCG, HalfSquaredError
from treerank.objectives.pairs.rules import PAIRS
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.rankers.saved_values import saved
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.registry import RANKERS, ranker_class

X, Y, QID = DATA
#: What rankers are fitted to where a parameter is about more than documents with one label.
FITTED_TO = {
    "clicks": {
        "y": Y > 1,
        "position": np.concatenate([np.arange(n) + 1 for n in np.bincount(QID)]),
    },
    "label_weights": {"y": {"y": Y, "object": Y > 0}},
}

#: Values of each parameter that is no number and no text. The last one suits every class.
EXAMPLES = {
    "categorical_features": [[4], np.array([4]), pd.Index([4]), {4}],
    "clicks": [ClickRelevance(SMALL_TREES, propensities=np.linspace(1, 0.5, 16), random_state=3)],
    "engine_params": [{"max_cat_to_onehot": 3}],
    "feature_part": ["xgboost", ["linear", SMALL_TREES], Stages(), StreamingTrees(2)],
    "gain": [[0, 1, 3, 7], (0, 1, 3, 7), np.array([0, 1, 3, 7.0]), pd.Series([0, 1, 3, 7])],
    "hidden": [[4, 2], np.array([4, 2]), (4, 2)],
    "interaction_constraints": [[[0, 1], [2, 4]], ({0, 1}, frozenset([2]))],
    "label_weights": [OrderedDict(y=0.5), {"object": 0.5}],
    "loss": [*LOSSES, *LOSSES.values(), ApproxNDCG(0.5)],
    "losses": [["half_squared_error", None], (None, HalfSquaredError())],
    "metric": [*METRICS, *METRICS.values(), *BESIDE.values(), replace(METRICS["ndcg"], k=5)],
    "monotone_constraints": [[1, 0, 0, 0, 0], {0: 1}, np.array([1, 0, 0, 0, 0])],
    "pairs": [*PAIRS, *PAIRS.values(), Pairs(adjacent=True, top=5), Pairs(adjacent=True)],
    "parts": [["linear", "xgboost"], ("linear", SMALL_TREES)],
    "random_state": [3, np.int64(3), np.random.RandomState(3)],
    "shares": [[1, 0.5], np.array([1, 0.5])],
    "sizes": [[6], range(6, 7)],
    "weight": [*PAIR_WEIGHTS, *PAIR_WEIGHTS.values(), PAIR_WEIGHTS["label_gap"]],
}
#: Parameters that are the whole of a small ranker, which has them.
OF_EVERY_RANKER = "ranker", "trees"
#: What the examples of a parameter need beside them, where a class has it.
TWO_PARTS = {"parts": ("linear", SMALL_TREES)}
NEEDED = {"losses": TWO_PARTS, "shares": TWO_PARTS, "pairs": {"weight": "uniform"}}


def is_plain(hint):
    """Tell whether a type is that of numbers, texts and truth values alone."""
    if get_origin(hint) is Annotated:
        return is_plain(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return all(map(is_plain, get_args(hint)))
    return get_origin(hint) is Literal or hint in (bool, int, float, str, NoneType)


def parameters_of(cls):
    """Return the names of the parameters that are not plain."""
    hints = {}
    for base in reversed(cls.__mro__):
        hints |= inspect.get_annotations(base)
    found = [name for name in inspect.signature(cls).parameters if not is_plain(hints[name])]
    return [name for name in found if name not in OF_EVERY_RANKER]


def cases():
    """Yield the name of a ranker or of a feature part, a parameter, and a value of it."""
    for name, cls in [
        *((name, ranker_class(name)) for name in RANKERS),
        *((name, feature_part_class(name)) for name in FEATURE_PARTS),
    ]:
        for parameter in parameters_of(cls):
            values = EXAMPLES.get(parameter, ["no example"])
            is_own = cls is TreeDirectRanker or (name in FEATURE_PARTS and len(values) < 5)
            for value in values if is_own else values[-1:]:
                yield pytest.param(name, parameter, value, id=f"{name}-{parameter}-{value!s:.40}")


def with_parameter(name, parameter, value):
    """Return a small ranker with a value of a parameter, its own or that of its feature part."""
    ranker = made(name)
    owner = ranker.feature_part if name in FEATURE_PARTS else ranker
    known = owner.get_params(deep=False)
    needed = {key: entry for key, entry in NEEDED.get(parameter, {}).items() if key in known}
    owner.set_params(**needed | {parameter: value})
    return Case(ranker, DATA).unfitted()


def plain(ranker):
    """Return the parameters of a ranker as they stand in a file, which can be compared."""
    return repr(saved(ranker.get_params(deep=False), fitted=False))


def fitted(ranker, parameter):
    data = {"y": Y, "qid": QID} | FITTED_TO.get(parameter, {})
    with warnings.catch_warnings(action="ignore"):  # of parts that some parameters make constant
        return ranker.fit(X, **data)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("name", "parameter", "value"), [*cases()])
def test_every_parameter_is_cloned_pickled_saved_loaded_and_fitted_again(
    name, parameter, value, tmp_path
):
    ranker = with_parameter(name, parameter, value)
    assert plain(clone(ranker)) == plain(ranker)
    before = plain(ranker)
    fitted(ranker, parameter)
    if parameter != "random_state":  # whose state moves on
        assert plain(ranker) == before
    ranker.save(tmp_path / "model")
    again = [load(tmp_path / "model"), pickle.loads(pickle.dumps(ranker))]
    for copy in again:
        assert plain(copy) == plain(ranker)
        np.testing.assert_array_equal(copy.predict(X), ranker.predict(X))
        if parameter != "label_weights":
            assert copy.score(*DATA) == ranker.score(*DATA)
    scores = fitted(ranker, parameter).predict(X)
    for copy in again:
        np.testing.assert_array_equal(fitted(copy, parameter).predict(X), scores)


def test_a_kind_of_parameter_without_an_example_would_be_seen():
    found = {parameter for _, parameter, value in (case.values for case in cases())}
    assert found == EXAMPLES.keys()


def test_random_numbers_of_another_generator_are_refused_before_a_file_is_written(tmp_path):
    ranker = made("TreeDirectRanker").set_params(
        random_state=np.random.RandomState(np.random.PCG64(3))
    )
    with pytest.raises(TypeError, match=r"random_state must be .* to be saved; got one of PCG64"):
        fitted(ranker, "random_state").save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
