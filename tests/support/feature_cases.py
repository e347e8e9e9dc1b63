"""Cases of a covering array: what a ranker may be given at once, and the laws of each such fit."""

import pickle
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from treerank import Ensemble, TreeDirectRanker, checkpointing, get_metric, load
from treerank.feature_parts import Stages
from treerank.feature_parts.registry import feature_part_class
from treerank.rankers import NestedRanker

#: Levels of each feature. The first of each is the default.
LEVELS = {
    "engine": ("lightgbm", "histogram", "xgboost"),
    "weight": ("uniform", "ndcg"),
    "eval_set": (None, "one", "two"),
    "position": (False, True),
    "sample_weight": (False, True),
    "query_weight": (False, True),
    "several_labels": (False, True),
    "categories": (False, True),
    "nan_labels": (False, True),
    "nan_features": (False, True),
    "constraints": (False, True),
    "warm_start": (False, True),
    "checkpoint": (False, True),
    "callbacks": (False, True),
    "composite": (None, "ensemble", "engines", "stages"),
    "nested": (None, "once", "twice"),
    "calibration": (False, True),
    "precision": ("float32", "int8"),
    "custom_loss": (False, True),
    "custom_metric": (False, True),
}
#: What is refused together, and the beginning of the error.
REFUSED = (
    ({"position": True, "several_labels": True}, "y must be a single column if position"),
    ({"position": True, "nan_labels": True}, "y must be a click, 0 or 1, if position is given"),
    *(
        ({"several_labels": True, "nested": times}, "y must be a single label for NestedRanker")
        for times in ("once", "twice")
    ),
    *(
        ({"warm_start": True, "composite": name}, f"warm_start must be False for .*{cls}")
        for name, cls in (("ensemble", "Ensemble"), ("engines", "Ensemble"), ("stages", "Stages"))
    ),
)
#: What cannot be in one case: what is refused, and a parameter that other engines have not.
FORBIDDEN = [levels for levels, _ in REFUSED]
FORBIDDEN += [{"precision": "int8", "engine": engine} for engine in ("lightgbm", "xgboost")]
#: Features whose triples meet, too: those in which faults were found before.
RISKIEST = (
    *("eval_set", "sample_weight", "several_labels", "categories", "nan_labels", "warm_start"),
    *("checkpoint", "callbacks", "composite", "nested"),
)
N_TREES, N_QUERIES, N_DOCUMENTS, N_FEATURES = 6, 12, 10, 4
#: Where a callback ends a fit, where a fit is killed, and where another goes on.
STOPS_AT, DIES_AT, WARM_AT = 4, 3, 3


def squared_hinge_of_half(margin):
    """Return value, gradient and hessian of a loss of one's own."""
    gap = max(0.5 - margin, 0.0)
    return gap * gap / 2, -gap, 1.0 if gap > 0.0 else 0.0


def label_of_first(y, scores, qid):
    """Return a metric of one's own: the mean label of the documents that may stand first."""
    total, queries = 0.0, np.unique(qid)
    for query in queries:
        labels, values = y[qid == query], scores[qid == query]
        total += labels[values == values.max()].mean()
    return total / len(queries)


@dataclass
class Documents:
    """Rows of a training set or an evaluation set, and what is known of each."""

    X: Any
    y: Any
    qid: np.ndarray
    by_row: dict[str, np.ndarray] = field(default_factory=dict)

    def taking(self, rows):
        """Return rows, which may be repeated."""
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        if isinstance(self.y, dict):
            y = {name: column[rows] for name, column in self.y.items()}
        else:
            y = self.y[rows]
        by_row = {name: column[rows] for name, column in self.by_row.items()}
        return Documents(X, y, self.qid[rows], by_row)

    @property
    def labels(self):
        """All labels side by side."""
        columns = self.y.values() if isinstance(self.y, dict) else [self.y]
        return np.column_stack(list(columns))


def drawn(case, seed, n_queries=N_QUERIES, training=False):
    """Draw documents of a case; its features are few numbers, so that copies move no bin."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(N_DOCUMENTS - 3, N_DOCUMENTS + 3, size=n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    n = len(qid)
    X = rng.integers(-4, 5, size=(n, N_FEATURES)) / 4.0
    kind = rng.integers(4, size=n)
    relevance = X[:, 0] - X[:, 1] + np.array([0.0, 1.0, -1.0, 0.5])[kind] * case["categories"]
    y = np.clip(np.rint(1.5 + relevance + 0.5 * rng.normal(size=n)), 0, 3)
    by_row = {}
    if training and case["position"]:
        y = (y + rng.normal(size=n) > 1.8).astype(float)
        by_row["position"] = 1 + np.arange(n) % 6
    if training and case["sample_weight"]:
        by_row["sample_weight"] = rng.integers(1, 4, size=n).astype(float)
    if training and case["query_weight"]:
        by_row["query_weight"] = rng.integers(1, 4, size=n_queries)[qid].astype(float)
    if case["several_labels"]:
        other = np.clip(np.rint(1 + X[:, 2] + 0.3 * rng.normal(size=n)), 0, 2)
        y = {"first": y, "second": other}
    if case["nan_labels"]:
        y = _with_gaps(y, rng)
    if case["nan_features"]:
        X = np.where(rng.random(size=X.shape) < 0.15, np.nan, X)
    if case["categories"]:
        X = pd.DataFrame(X, columns=[f"x{i}" for i in range(N_FEATURES)])
        X["kind"] = pd.Categorical.from_codes(kind, ["shoe", "hat", "coat", "sock"])
        X.index = pd.Index(rng.permutation(len(X)) + 100)
    return Documents(X, y, qid, by_row)


def _with_gaps(y, rng):
    """Return labels of which some are missing; some documents have none at all."""
    if not isinstance(y, dict):
        return np.where(rng.random(len(y)) < 0.2, np.nan, y)
    n = len(y["first"])
    gone = rng.random(n) < 0.1
    return {name: np.where(gone | (rng.random(n) < 0.1), np.nan, c) for name, c in y.items()}


def part_of(case, n_trees, **settings):
    """Return trees of a case."""
    settings = {"learning_rate": 0.3, "num_leaves": 4, "random_state": 3, "n_jobs": 1} | settings
    if case["engine"] == "xgboost":
        settings |= {"min_child_weight": 1e-6, "max_depth": 3, "colsample_bytree": 1.0}
    else:
        settings |= {"min_child_samples": 1, "min_child_weight": 1e-6}
    if case["engine"] == "lightgbm":  # to which copies would be more documents in a bin or a leaf
        settings["min_child_samples"] = 0
        settings["engine_params"] = None if case["checkpoint"] else {"min_data_in_bin": 1}
    if case["engine"] == "histogram":
        settings["precision"] = case["precision"]
    if case["constraints"]:
        settings["monotone_constraints"] = {"x0": 1} if case["categories"] else [1, 0, 0, 0]
    return feature_part_class(case["engine"])(n_trees, **settings)


def ranker_of(case, n_trees=N_TREES):
    """Return an unfitted ranker of a case."""
    part = part_of(case, n_trees, warm_start=case["warm_start"])
    others = [engine for engine in LEVELS["engine"] if engine != case["engine"]]
    if case["composite"] == "ensemble":
        part = Ensemble([part, "linear"], n_bags=2, random_state=0)
    if case["composite"] == "engines":
        more = [part_of(case | {"engine": engine}, n_trees) for engine in others]
        part = Ensemble([part, *more], n_bags=2, random_state=0)
    if case["composite"] == "stages":
        few = part_of(case | {"engine": others[0]}, WARM_AT)
        part = Stages(["linear", few, part], random_state=0)
    settings = {
        "weight": case["weight"],
        "smoothing": 0.0,
        "random_state": 7,
        "loss": squared_hinge_of_half if case["custom_loss"] else "logistic",
        "metric": label_of_first if case["custom_metric"] else "ndcg@5",
    }
    if case["several_labels"]:
        settings["label_weights"] = {"second": 0.5}
    ranker = TreeDirectRanker(part, warm_start=case["warm_start"], **settings)
    sizes = {"once": (5,), "twice": (6, 3)}
    nested = case["nested"]
    return NestedRanker(ranker, sizes=sizes[nested], random_state=1) if nested else ranker


class Case:
    """Levels of all features, the documents that they mean, and a fit."""

    def __init__(self, levels, seed=0):
        self.levels = {name: values[0] for name, values in LEVELS.items()} | levels
        self.seed = seed
        self.train = drawn(self.levels, 10 * seed, training=True)
        self.valid = drawn(self.levels, 10 * seed + 1)
        self.other = drawn(self.levels, 10 * seed + 2, n_queries=4)
        self.test = drawn(self.levels, 10 * seed + 3)

    def __getitem__(self, name):
        return self.levels[name]

    def eval_set(self):
        """Return the evaluation sets as ``fit`` takes them."""
        sets = [(each.X, each.y, each.qid) for each in (self.valid, self.other)]
        return {None: None, "one": sets[0], "two": sets}[self["eval_set"]]

    def callbacks(self):
        """Return a callback that ends the fit, where the case has one."""

        def stop(n_done, n_total, note):
            return n_done == STOPS_AT

        return [stop] if self["callbacks"] else []

    def fit(self, train=None, ranker=None, *, extra=(), path=None):
        """Fit a ranker to documents, with all that the case says."""
        train = self.train if train is None else train
        ranker = ranker_of(self.levels) if ranker is None else ranker
        given = dict(train.by_row)
        if self["eval_set"]:
            given["eval_set"] = self.eval_set()
        callbacks = [*self.callbacks(), *extra]
        if callbacks:
            given["callbacks"] = callbacks
        with warnings.catch_warnings(), checkpointing(path, every=1):
            warnings.simplefilter("ignore")
            ranker.fit(train.X, train.y, train.qid, **given)
            if self["calibration"]:
                y = self.valid.y["first"] if self["several_labels"] else self.valid.y
                ranker.calibrate(self.valid.X, y, self.valid.qid)
        return ranker

    def answers(self, ranker):
        """Return what a fitted ranker says about the documents of the test."""
        X = self.test.X
        answers = {"scores": ranker.predict(X), "ranks": ranker.rank(X, self.test.qid)}
        if self["calibration"]:
            half = len(self.test.qid) // 2
            a, b = (self.test.taking(np.arange(half) + start).X for start in (0, half))
            answers["pair"] = ranker.predict_pair_proba(a, b)
            answers["relevance"] = ranker.predict_relevance(X)
        return answers


def assert_same(found, expected):
    """Compare answers, bit for bit."""
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


class Killed(Exception):
    """The process is killed in the middle of a fit."""


def same_again(case, fitted):
    """An equal ranker learns the same, and so does a fitted one."""
    copies = [ranker_of(case.levels), clone(fitted)]
    if not case["warm_start"]:  # which would go on
        copies.append(pickle.loads(pickle.dumps(fitted)))
    for ranker in copies:
        assert_same(case.answers(case.fit(ranker=ranker)), case.answers(fitted))


def rows_in_another_order(case, fitted):
    """Rows and queries may be in any order."""
    order = np.random.default_rng(1).permutation(len(case.train.qid))
    assert_same(case.answers(case.fit(case.train.taking(order))), case.answers(fitted))


def other_names_of_queries(case, fitted):
    """Queries may be called anything."""
    names = np.random.default_rng(2).permutation(case.train.qid.max() + 1)
    texts = np.array([f"query {name:03d}" for name in names])[case.train.qid]
    renamed = replace(case.train, qid=texts)
    assert_same(case.answers(case.fit(renamed)), case.answers(fitted))


def other_order_of_columns_and_categories(case, fitted):
    """Columns of a data frame are found by name, and categories by their text."""
    if not case["categories"]:
        return
    before = case.answers(fitted)

    def turned(frame):
        frame = frame[frame.columns[::-1]].copy()
        levels = frame["kind"].cat.categories[::-1]
        frame["kind"] = frame["kind"].cat.reorder_categories(levels)
        return frame

    test = case.test
    try:
        case.test = replace(test, X=turned(test.X))
        assert_same(case.answers(fitted), before)
        case.test = replace(test, X=test.X.assign(kind=test.X["kind"].astype(str)))
        assert_same(case.answers(fitted), before)
    finally:
        case.test = test
    levels = case.train.X["kind"].cat.categories[::-1]
    frame = case.train.X.assign(kind=case.train.X["kind"].cat.reorder_categories(levels))
    assert_same(case.answers(case.fit(replace(case.train, X=frame))), before)


def unjudged_is_left_out(case, fitted):
    """Documents without any label change nothing."""
    if case["nan_labels"]:
        judged = np.flatnonzero(~np.isnan(case.train.labels).all(axis=1))
        assert len(judged) < len(case.train.qid)
        assert_same(case.answers(case.fit(case.train.taking(judged))), case.answers(fitted))


def weight_zero_is_left_out(case, fitted):
    """Documents of weight 0 change nothing."""
    if case["sample_weight"]:
        n = len(case.train.qid)
        rows = np.concatenate([np.arange(n), np.arange(0, n, 3)])
        more = case.train.taking(rows)
        more.by_row["sample_weight"][n:] = 0.0
        assert_same(case.answers(case.fit(more)), case.answers(fitted))


def counts_documents(case):
    """Tell whether copies are more than weights: rounded to eight bits, and to LightGBM.

    It counts documents in a bin, which a fit with a checkpoint leaves as it is, and in a category.
    """
    counts = case["engine"] == "lightgbm" and (case["categories"] or case["checkpoint"])
    return case["precision"] == "int8" or counts


def query_weight_is_copies(case, fitted):
    """A query of weight 2 counts as two queries."""
    if not case["query_weight"] or counts_documents(case):
        return
    if case["composite"] or case["nested"] or case["position"]:
        return  # bags, stages and propensities count queries
    train = case.train
    times = train.by_row["query_weight"].astype(int)
    rows = np.repeat(np.arange(len(times)), times)
    number = np.concatenate([np.arange(n) for n in times])
    copies = replace(train.taking(rows), qid=number * 1000 + train.qid[rows])
    del copies.by_row["query_weight"]
    assert_near(case, case.fit(copies), fitted)


def sample_weight_is_copies(case, fitted):
    """A document of weight 2 counts as two copies of it, where pairs are weighed alike."""
    if not case["sample_weight"] or case["weight"] != "uniform" or counts_documents(case):
        return
    if case["composite"] or case["nested"]:
        return  # the lines of a bag are standardized, and sizes of stages count documents
    rows = np.repeat(np.arange(len(case.train.qid)), case.train.by_row["sample_weight"].astype(int))
    copies = case.train.taking(rows)
    del copies.by_row["sample_weight"]
    assert_near(case, case.fit(copies), fitted)


def assert_near(case, ranker, fitted):
    """Compare scores up to the rounding of sums in another order.

    Two features may part the documents of training alike, so only these are compared, and not
    where an evaluation set has chosen another number of trees by them.
    """
    if histories(ranker)[1] == histories(fitted)[1]:
        found, expected = (each.predict(case.train.X) for each in (ranker, fitted))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def resumed_is_uninterrupted(case, fitted):
    """A fit that was killed goes on from its checkpoint, and ends in the same model."""
    if not case["checkpoint"]:
        return

    def die(n_done, n_total, note):
        if n_done == DIES_AT:
            raise Killed

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        try:
            case.fit(extra=[die], path=path)
        except Killed:
            pass
        else:
            assert case["composite"] or case["nested"], "the callback was not called"
        resumed = case.fit(path=path)
    assert_same(case.answers(resumed), case.answers(fitted))
    assert histories(resumed) == histories(fitted)


def histories(ranker):
    """Return what a ranker has recorded."""
    return getattr(ranker, "evals_result_", None), getattr(ranker, "best_iteration_", None)


def continued_is_at_once(case, fitted):
    """A fit of some trees that goes on with more ends in the model of one fit."""
    if not case["warm_start"] or case["eval_set"] or case["callbacks"]:
        return
    ranker = case.fit(ranker=ranker_of(case.levels, WARM_AT))
    name = "ranker__" * bool(case["nested"]) + "feature_part__n_estimators"
    ranker.set_params(**{name: N_TREES})
    assert_same(case.answers(case.fit(ranker=ranker)), case.answers(fitted))


def saved_is_unsaved(case, fitted):
    """Files and pickles hold the whole model."""
    if case["nested"] and case["custom_loss"]:
        return
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # functions of one's own are not in the file
        fitted.save(Path(folder, "model"))
        loaded = load(Path(folder, "model"))
    assert_same(case.answers(loaded), case.answers(fitted))
    assert_same(case.answers(pickle.loads(pickle.dumps(fitted))), case.answers(fitted))
    assert histories(loaded) == histories(fitted)


def scorer_is_predict(case, fitted):
    """The scorer of single queries gives the scores of ``predict``."""
    try:
        scorer = fitted.scorer()
    except (TypeError, ValueError):
        return  # not every ranker has one
    np.testing.assert_allclose(scorer(case.test.X), fitted.predict(case.test.X), rtol=0, atol=1e-6)


def one_by_one(case, fitted):
    """The score of a document does not depend on those around it."""
    rows = np.arange(len(case.test.qid))[::-3]
    np.testing.assert_array_equal(
        fitted.predict(case.test.taking(rows).X), fitted.predict(case.test.X)[rows]
    )


def recorded_is_score(case, fitted):
    """The recorded metric of the iteration that is kept is the score of the same rows."""
    recorded, best = histories(fitted)
    if not case["eval_set"]:
        return
    sets = {"validation": case.valid, "validation_1": case.other}
    for name in recorded:
        labels = sets[name].y if isinstance(sets[name].y, dict) else {"": sets[name].y}
        for label, y in labels.items():
            curves = [
                c for n, c in recorded[name].items() if not label or n.endswith(f" of {label}")
            ]
            value = curves[0][(best or len(curves[0])) - 1]
            expected = _score(fitted, sets[name].X, y, sets[name].qid)
            assert abs(value - expected) < 1e-5, (name, label, value, expected)


def _score(ranker, X, y, qid):
    """Return the metric of a ranker for one label."""
    judged = ~np.isnan(y)
    return get_metric(ranker.metric)(y[judged], ranker.predict(X)[judged], qid[judged])


def constraints_are_kept(case, fitted):
    """The score rises with a feature of which it must."""
    if not case["constraints"] or case["composite"] in ("ensemble", "stages"):
        return  # the linear model of a composite has no constraints
    for value in np.linspace(-1.5, 1.5, 5):
        X = case.test.X.copy()
        higher = case.test.X.copy()
        if case["categories"]:
            X["x0"], higher["x0"] = value, value + 0.5
        else:
            X[:, 0], higher[:, 0] = value, value + 0.5
        assert (fitted.predict(higher) >= fitted.predict(X) - 1e-12).all()


def a_stopped_fit_is_a_short_one(case, fitted):
    """A fit that a callback ends is one of so many trees."""
    if not case["callbacks"] or case["nested"] or case["eval_set"]:
        return
    if case["composite"] in ("ensemble", "engines"):
        return  # an ensemble keeps whole fits
    shorter = Case(case.levels | {"callbacks": False}, case.seed)
    ranker = shorter.fit(ranker=ranker_of(case.levels, STOPS_AT))
    assert_same(shorter.answers(ranker), case.answers(fitted))


LAWS = (
    same_again,
    rows_in_another_order,
    other_names_of_queries,
    other_order_of_columns_and_categories,
    unjudged_is_left_out,
    weight_zero_is_left_out,
    query_weight_is_copies,
    sample_weight_is_copies,
    resumed_is_uninterrupted,
    continued_is_at_once,
    saved_is_unsaved,
    scorer_is_predict,
    one_by_one,
    recorded_is_score,
    constraints_are_kept,
    a_stopped_fit_is_a_short_one,
)


def broken_laws(levels, seed=0):
    """Return the laws that a case breaks, by name, with what was found; a fit that fails is one."""
    case, broken = Case(levels, seed), {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            fitted = case.fit(path=Path(folder, "checkpoint") if case["checkpoint"] else None)
        except Exception as error:
            return {"fit": f"{type(error).__name__}: {error}"}
    for law in LAWS:
        try:
            law(case, fitted)
        except Exception as error:
            broken[law.__name__] = f"{type(error).__name__}: {error}"
    return broken


def described(levels):
    """Return the features of a case that are not at their default, as text."""
    return " ".join(
        name if level is True else f"{name}={level}"
        for name, level in levels.items()
        if level != LEVELS[name][0]
    )
