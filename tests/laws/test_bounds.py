"""A number is accepted exactly at its bound and refused just outside, whatever has the parameter.

The table says the bounds of each parameter by its name, as the documentation does. A parameter with
a bound that is added to a ranker, a feature part, a metric, a splitter or a function has to be
added to the table: its test fails until then.
"""

import importlib
import inspect
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import treerank
from treerank.checks import check_count, check_counts, check_number
from treerank.parameters import _rule_of, check_unless, rules_of

LARGEST, SMALLEST = 1e30, 1e-30  # of finite numbers in size, beside 0
INT32, INT64, SEED = 2**31 - 1, 2**63 - 1, 2**32 - 1


class Bounds(NamedTuple):
    """The least and the largest number; ``open_low`` and ``open_high`` exclude them."""

    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False
    open_low: bool = False
    open_high: bool = False
    no_limit: int | None = None


def whole(low, high=INT64, no_limit=None):
    return Bounds(low, high, is_whole=True, no_limit=no_limit)


FINITE, NOT_NEGATIVE = Bounds(), Bounds(0)
POSITIVE = Bounds(0, open_low=True)
SHARE, PROBABILITY = Bounds(0, 1, open_low=True), Bounds(0, 1)
LEVEL = Bounds(0, 1, open_low=True, open_high=True)
BELOW_1 = Bounds(0, 1, open_high=True)
STEP = Bounds(0, 1e6, open_low=True)
WIDTH = Bounds(0, 1e9, open_low=True)

#: Bounds by the name of a parameter.
BOUNDS = {
    **dict.fromkeys(
        [
            *("bins", "early_stopping_rounds", "k", "max_estimators", "max_iter", "n_classes"),
            *("n_documents", "n_epochs", "n_estimators", "n_examples", "n_generations", "n_orders"),
            *("n_pairs", "n_positions", "n_repeats", "n_resamples", "n_restarts", "n_sessions"),
            *("n_splits", "n_steps", "n_sweeps", "per_query"),
        ],
        whole(1),
    ),
    **dict.fromkeys(["max_consecutive", "min_child_samples", "top"], whole(1, INT32)),
    **dict.fromkeys(["n_refits", "random_state"], whole(0)),
    **dict.fromkeys(["n_bins"], whole(2)),
    **dict.fromkeys(["batch_size", "num_leaves"], whole(2, INT32)),
    **dict.fromkeys(["hidden", "n_hidden", "n_outputs", "n_perceptrons"], whole(1, 2**16)),
    "degree": whole(1, 100),
    "depth": whole(1, 20),
    "max_bin": whole(2, 255),
    "max_depth": whole(1, INT32, no_limit=-1),
    "n_bags": whole(0),
    "sizes": whole(2, math.inf),
    "subsample_freq": whole(0, INT32),
    **dict.fromkeys(["highest", "no_relevant", "relevance", "threshold", "at_least"], FINITE),
    **dict.fromkeys(
        [
            *("alpha", "cat_l2", "cat_smooth", "exploration", "head_alpha", "max_label"),
            *("min_child_weight", "min_split_gain", "reg_alpha", "reg_lambda", "severity"),
            *("smoothing", "tolerance", "weight_decay"),
        ],
        NOT_NEGATIVE,
    ),
    **dict.fromkeys(
        ["C", "clip", "sigma", "temperature", "test_to_train", "time", "tol"], POSITIVE
    ),
    **dict.fromkeys(["decay_epochs", "decay_rate", "learning_rate"], STEP),
    **dict.fromkeys(["gamma", "spread"], WIDTH),
    **dict.fromkeys(
        ["colsample_bytree", "precision", "share", "subsample", "subsample_queries"], SHARE
    ),
    **dict.fromkeys(["correction", "noise", "trade_off"], PROBABILITY),
    **dict.fromkeys(["level", "persistence"], LEVEL),
    **dict.fromkeys(["dropout", "forgetting", "momentum"], BELOW_1),
}
#: Where a parameter of this name has other bounds.
OTHER = {
    "alpha_ndcg.alpha": PROBABILITY,
    "err_ia.alpha": PROBABILITY,
    "err_ia.k": whole(1, 10**6),
    "fuse.k": POSITIVE,
    "slices.at_least": whole(2),
    "compare.random_state": whole(0, SEED),
    "AdaRank.tolerance": POSITIVE,
    "ClickRelevance.n_bags": whole(2),
    "LightGBMTrees.max_bin": whole(2, 2**20),
    "XGBoostTrees.max_bin": whole(2, 2**20),
    "LightGBMTrees.min_child_samples": whole(0, INT32),
    "RefitTrees.min_child_samples": whole(1),
    "LightGBMTrees.num_leaves": whole(2, 2**17),
    "XGBoostTrees.num_leaves": whole(2, INT32, no_limit=0),
    "XGBoostTrees.max_depth": whole(0, INT32),
    "QueryKFold.n_splits": whole(2),
    "refresh.n_splits": whole(2),
    "RefitTrees.learning_rate": NOT_NEGATIVE,
    "SoftTrees.n_estimators": whole(1, INT32),
    "SortNet.batch_size": whole(1, INT32),
    "evaluate_from_log.n_resamples": whole(2),
    **{
        f"{owner}.k": whole(1, INT32)
        for owner in (
            *("LambdaMART", "LambdaRank", "PairSettings", "StreamingRanker", "TreeDirectRanker"),
            "ndcg_bounds",
        )
    },
}


def public_objects():
    """Yield every public class and function once."""
    root, seen = Path(treerank.__file__).parent, set()
    folders = [path.parent for path in sorted(root.glob("*/__init__.py"))]
    for module in ["treerank", *(f"treerank.{folder.name}" for folder in folders)]:
        package = importlib.import_module(module)
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if callable(value) and id(value) not in seen:
                seen.add(id(value))
                yield value


def numeric_rules():
    """Yield the name, the rule and the kind of each parameter whose rule has bounds."""
    seen = set()
    for value in public_objects():
        found = {}
        if isinstance(value, type):
            found = {f"{value.__name__}.{name}": rule for name, rule in rules_of(value).items()}
            functions = [method for _, method in inspect.getmembers(value, inspect.isfunction)]
        else:
            functions = [value]
        for function in functions:
            if function not in seen:
                seen.add(function)
                owner = function.__qualname__.removesuffix(".__init__")
                hints = inspect.get_annotations(getattr(function, "__wrapped__", object))
                found |= {f"{owner}.{name}": _rule_of(hint) for name, hint in hints.items()}
        for parameter, rule in found.items():
            inner = rule
            while inner is not None and inner.check is check_unless:
                inner = inner.bounds["rule"]
            if inner is not None and inner.check in (check_count, check_counts, check_number):
                yield parameter, rule, inner.check is check_counts


RULES = {parameter: rest for parameter, *rest in numeric_rules()}


def around(bounds):
    """Return what is accepted exactly at the bounds and just inside, and what is not outside."""
    low, high = bounds.low, bounds.high
    if bounds.is_whole:
        ends = [low, low + 1, np.int64(low)]
        ends += [high, high - 1] if high < math.inf else [10**6]
        outside = [low - 1, low - 2, float(low), low + 0.5, True, np.nan, "1"]
        outside += [high + 1] if high < math.inf else []
        if bounds.no_limit is not None:
            ends.append(bounds.no_limit)
            outside = [value for value in outside if value != bounds.no_limit]
            outside += [bounds.no_limit - 1, bounds.no_limit - 2]
        return ends, outside
    inside, outside = [], [np.nan, math.inf, -math.inf, True, "1"]
    for bound, is_open, way in ((low, bounds.open_low, 1), (high, bounds.open_high, -1)):
        if math.isinf(bound):
            inside.append(-way * LARGEST)
            outside.append(-way * LARGEST * 1.001)
            continue
        (outside if is_open else inside).extend([bound, float(bound), np.float32(bound)])
        inner = np.nextafter(bound, way * math.inf) if bound else way * SMALLEST
        outer = np.nextafter(bound, -way * math.inf) if bound else -way * SMALLEST
        inside.append(float(inner))
        outside.append(float(outer))
    return inside, outside


@pytest.mark.parametrize("parameter", RULES)
def test_a_number_is_accepted_at_its_bound_and_refused_just_outside(parameter):
    rule, is_sequence = RULES[parameter]
    name = parameter.rpartition(".")[2]
    accepted, refused = around(OTHER[parameter] if parameter in OTHER else BOUNDS[name])
    for value in accepted:
        rule(name, [value] if is_sequence else value)
    for value in refused:
        with pytest.raises((ValueError, TypeError), match=name):
            rule(name, [value] if is_sequence else value)


def test_the_table_has_no_parameter_that_is_gone():
    names = {parameter.rpartition(".")[2] for parameter in RULES}
    assert set(BOUNDS) <= names
    assert set(OTHER) <= set(RULES)
    assert len(RULES) > 200
