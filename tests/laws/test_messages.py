"""Messages show the beginning of a long value only: laws over the code and over all arguments.

A value that a message shows as ``repr`` goes through ``quote``, which cuts it: a column, a label or
an id may be as long as any text.
"""

import ast
import importlib
import inspect
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ranking_sample import make_ranking_sample
from sklearn.base import clone

import treerank
from treerank import (
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    compare,
    compare_scores,
    make_objective,
    read_runs,
)
from treerank.baselines import RankSVM
from treerank.feature_parts import LinearModel, Stages
from treerank.inspection import permutation_importance
from treerank.rankers import ColumnRanker, refresh
from treerank.reranking import fuse

pytestmark = pytest.mark.slow

PACKAGE = Path(treerank.__file__).parent
#: A program that stands alone, and so cannot import ``quote``.
ALONE = PACKAGE / "exports" / "modules" / "scorer.py"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != ALONE]


def values_in_messages(module):
    """Yield each value of an f-string in what a module raises or warns of."""
    for node in ast.walk(ast.parse(module.read_text())):
        called = getattr(getattr(node, "func", None), "id", None)
        if isinstance(node, ast.Raise) or called == "warn_user":
            yield from (n for n in ast.walk(node) if isinstance(n, ast.FormattedValue))


def is_cut(value):
    return value.format_spec is not None  # such as :.50


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_message_shows_values_by_quote(module):
    uncut = [value for value in values_in_messages(module) if not is_cut(value)]
    assert [ast.unparse(v.value) for v in uncut if v.conversion == ord("r")] == []


def test_the_law_sees_values():
    shown = [ast.unparse(v.value) for module in MODULES for v in values_in_messages(module)]
    assert sum(text.startswith("quote(") for text in shown) > 400


class Long:
    """An object of a very long text."""

    def __repr__(self):
        return "o" * 100_000


LONG, OTHER = "x" * 100_000, "y" * 100_000
VALUES = {
    "text": LONG,
    "list": [LONG, OTHER],
    "tuple": (LONG, OTHER),
    "dict": {LONG: 1.0},
    "number": 10**5000,
    "numbers": [0] * 10_000,
    "frame": pd.DataFrame({LONG: [LONG, OTHER]}),
    "object": Long(),
}
PACKAGES = (
    *("baselines", "clicks", "datasets", "documents", "evaluation", "exports", "feature_parts"),
    *("inspection", "metrics", "objectives", "rankers", "reranking", "search_engines"),
    "statistics",
)
PUBLIC = {f"treerank.{name}": getattr(treerank, name) for name in treerank.__all__}
for package in PACKAGES:
    module = importlib.import_module(f"treerank.{package}")
    PUBLIC |= {f"{package}.{name}": getattr(module, name) for name in module.__all__}
PUBLIC = {value: name for name, value in PUBLIC.items() if callable(value)}
X, Y, QID = make_ranking_sample(6)


def messages_of(call):
    """Return the text of the error and of the warnings of a call."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            call()
        except OSError:  # the system's text
            return []
        except Exception as error:
            return [str(error), *getattr(error, "__notes__", [])]
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("function", PUBLIC, ids=PUBLIC.values())
def test_no_argument_makes_a_long_message(function):
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    required = [p.name for p in named if p.default is p.empty]
    for parameter in named:
        for value in VALUES.values():
            for other in (value, [0, 1]):
                arguments = dict.fromkeys(required, other) | {parameter.name: value}

                def call(arguments=arguments):
                    made = function(**arguments)
                    if hasattr(made, "_learn"):
                        made.fit(X, Y, QID)
                    elif hasattr(made, "transform"):
                        made.fit(X, make_objective(Y, QID))

                assert [text[:99] for text in messages_of(call) if len(text) >= 2000] == []


TREES = LightGBMTrees(2, min_child_samples=1, n_jobs=1)
FRAME = pd.DataFrame(X[:, :3], columns=[LONG, OTHER, "b"])
MANY = pd.DataFrame(np.zeros((len(X), 3000))).rename(columns="column_{}".format).assign(f=X[:, 0])
RANKER = TreeDirectRanker(TREES, random_state=0)


def fit(X=FRAME, y=Y, qid=QID, ranker=RANKER, **more):
    return clone(ranker).fit(X, y, qid, **more)


def fitted_with(**columns):
    return lambda: fit(FRAME.assign(**{LONG: columns["long"]}))


N = len(Y)
CALLS = {
    "a column is missing": lambda: fit().predict(FRAME[[LONG, "b"]]),
    "many columns are missing": lambda: fit(MANY).predict(MANY.iloc[:, :9]),
    "numbers as text": fitted_with(long=[f"{i}" for i in range(N)]),
    "units": fitted_with(long=[f"{i} kg" for i in range(N)]),
    "dates": fitted_with(long=pd.date_range("2026", periods=N)),
    "objects": fitted_with(long=[{"a": LONG}] * N),
    "lists": fitted_with(long=[[1.0, LONG], [2.0]] * (N // 2) + [[1.0]] * (N % 2)),
    "a name twice": lambda: fit(pd.concat([FRAME, FRAME], axis=1)),
    "left out": lambda: fit(FRAME.assign(**{LONG: "a"}), ranker=TreeDirectRanker("linear")),
    "precision": lambda: fit(
        FRAME.assign(**{LONG: 1e9 + 1e-3 * np.arange(N)}), ranker=TreeDirectRanker(XGBoostTrees(2))
    ),
    "no such column": lambda: ColumnRanker("c").fit(MANY, Y, QID),
    "no such constraint": lambda: fit(
        ranker=TreeDirectRanker(LightGBMTrees(monotone_constraints={LONG + "c": 1}))
    ),
    "labels": lambda: RankSVM().fit(FRAME, {LONG: Y, OTHER: Y}, QID),
    "label weights": lambda: fit(
        y={LONG: Y, OTHER: Y}, ranker=TreeDirectRanker(TREES, label_weights={"c": 1.0})
    ),
    "a wrong label": lambda: fit(y={LONG: Y, OTHER: np.full(N, np.inf)}),
    "labels of eval_set": lambda: fit(eval_set=(FRAME, {LONG: Y, OTHER: Y}, QID)),
    "ranker without predict": lambda: compare({LONG: RANKER, OTHER: 3}, (FRAME, Y, QID), cv=2),
    "grid": lambda: compare({LONG: RANKER}, (FRAME, Y, QID), cv=2, grid={OTHER: {}}),
    "scores": lambda: compare_scores({LONG: np.full(N, np.nan)}, Y, QID),
    "reference": lambda: compare_scores({LONG: X[:, 0], OTHER: X[:, 1]}, Y, QID).summary("c"),
    "importance": lambda: permutation_importance(fit(), FRAME, Y, QID, groups={LONG: ["c"]}),
    "runs": lambda: read_runs({LONG: {LONG: [OTHER, OTHER]}}, {LONG: {OTHER: 1}}),
    "scores of a run": lambda: fuse({LONG: np.full(N, np.inf)}, QID),
    "refreshed": lambda: refresh(fit(), FRAME.rename(columns={LONG: "c"}), Y, QID),
    "parts": lambda: fit(
        ranker=TreeDirectRanker(Stages([LinearModel()] * 300), loss="hinge", weight="map")
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_long_names_and_many_names_make_no_long_message(call):
    messages = messages_of(call)
    assert messages
    assert [text[:99] for text in messages if len(text) >= 2000] == []
