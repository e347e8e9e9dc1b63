"""Functions and methods of all public packages, with arguments of every kind.

Each is called with arguments that are right, of which one or two are replaced by a value of any
kind. A good answer is a result, or a ValueError or TypeError with a short message that names one
of the arguments that were replaced.
"""

import re
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

from tests.fuzz.parameters import LARGEST_MESSAGE, NEAR, VALUES, attempt, short
from treerank import clicks, inspection, statistics
from treerank.baselines import RankSVM
from treerank.datasets.letor import write_letor
from treerank.datasets.parquet import write_parquet
from treerank.datasets.trec import write_trec_qrels, write_trec_run
from treerank.evaluation import compare
from treerank.exports import export, write_feature_set
from treerank.metrics import alpha_ndcg, err_ia, exposure_by_group, get_metric, make_ranking_scorer
from treerank.reports import report

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3))
Y = np.digitize(X[:, 0] + RANDOM.normal(size=40), [0, 1]).astype(float)
QID = np.repeat(np.arange(5), 8)
SCORES = X[:, 0]
DATA = {"X": X, "y": Y, "qid": QID}
LABELED = {"y": Y, "qid": QID}
SCORED = {"scores": SCORES, "qid": QID}
NAMES = np.arange(40).astype(str)
#: Values for columns: too short, too long, of another type, not finite, of two dimensions.
COLUMNS = [
    *(Y[:-1], np.append(Y, 0), X, X[:0], Y[:0], np.full(40, np.nan), np.full(40, np.inf), -Y),
    *(Y.astype(str), Y.astype(object), Y > 0, Y * 1e300, [None] * 40, QID[::-1], Y.astype("M8[s]")),
    *(Y + 1j, Y.astype(np.float16), np.zeros(40), list(Y), tuple(QID), "0" * 40, QID.reshape(5, 8)),
]
#: Arguments whose text may be the path of a file.
FILES = ("X", "X_a", "X_b", "train", "data", "features")
#: Numbers that a user may raise as long as there is time.
AMOUNTS = re.compile("^n_(?!bins)|^per_query$|^values$|^workers$|^bins$|^k$")


@cache
def ranker():
    """Return a fitted ranker."""
    return RankSVM().fit(X, Y, QID)


@cache
def log():
    """Return a log of 60 sessions."""
    return clicks.make_click_log(60, random_state=0)


@cache
def folder():
    """Return a folder for files."""
    return Path(tempfile.mkdtemp())


def of_ranker():
    """Return the methods of a ranker, with arguments that are right."""
    a, b = X[:4], X[4:8]
    fitted = ranker()
    return {
        "fit": (lambda **given: RankSVM().fit(**given), DATA | {"sample_weight": np.ones(40)}),
        "predict": (fitted.predict, {"X": X}),
        "rank": (fitted.rank, {"X": X, "qid": QID}),
        "top_k": (fitted.top_k, {"X": X, "qid": QID, "k": 3}),
        "score": (fitted.score, DATA),
        "compare_pairs": (fitted.compare, {"X_a": a, "X_b": b}),
        "explain": (fitted.explain, {"X_a": a, "X_b": b}),
        "predict_pair_proba": (fitted.predict_pair_proba, {"X_a": a, "X_b": b}),
        "make_ranking_scorer": (make_ranking_scorer, {"metric": "ndcg@3"}),
        "explain_interactions": (fitted.explain_interactions, {"X_a": a, "X_b": b}),
        "explain_standing": (
            inspection.explain_standing,
            {"ranker": fitted, "X": X, "qid": QID, "rows": [3]},
        ),
        "explain_moves": (
            inspection.explain_moves,
            {"old": fitted, "new": fitted, "X": X, "qid": QID, "rows": [3]},
        ),
        "alpha_ndcg": (alpha_ndcg, {"aspects": X > 0, "k": 3, "alpha": 0.5} | SCORED),
        "err_ia": (err_ia, {"aspects": X > 0, "k": 3, "alpha": 0.5} | SCORED),
        "exposure_by_group": (exposure_by_group, {"group": Y, "k": 3, "discount": "log2"} | SCORED),
        "get_metric": (get_metric, {"metric": "ndcg@3"}),
        "compare": (
            lambda **given: compare({"a": RankSVM()}, **given),
            {"data": (X, Y, QID), "cv": 2, "metrics": ["ndcg@3"], "random_state": 0},
        ),
    }


def of_files():
    """Return what reads and writes files, with arguments that are right."""
    path = folder() / "file"
    rows = {"X": X, "y": Y, "qid": QID}
    return {
        "write_letor": (write_letor, {"path": path} | rows),
        "write_parquet": (write_parquet, {"path": path} | rows),
        "write_trec_run": (write_trec_run, {"path": path, "doc_ids": NAMES, "tag": "t"} | SCORED),
        "write_trec_qrels": (write_trec_qrels, {"path": path, "doc_ids": NAMES} | LABELED),
        "export": (export, {"ranker": ranker(), "path": path, "format": "solr", "check": X}),
        "write_feature_set": (
            write_feature_set,
            {"ranker": ranker(), "path": path, "format": "solr"},
        ),
    }


def of_clicks():
    """Return what works on clicks, with arguments that are right."""
    shown = log()
    columns = {
        "session": shown.session,
        "query": shown.query[shown.session].astype(str),
        "document": shown.items.document[shown.item].astype(str),
        "position": shown.position,
        "click": shown.clicked.astype(int),
    }
    n_items, n_slots = len(shown.items.query), shown.n_positions
    features = np.arange(n_items)[:, None], shown.items.query, shown.items.document
    joined = {"log": shown, "features": features, "query": "query", "document": "document"}
    found = {
        "from_columns": (clicks.ClickLog.from_columns, columns),
        "make_click_log": (
            clicks.make_click_log,
            {"n_sessions": 9, "n_queries": 3, "n_documents": 6, "n_positions": 4}
            | {"severity": 1.0, "random_state": 0},
        ),
        "simulate_clicks": (
            clicks.simulate_clicks,
            LABELED
            | {"scores": SCORES, "n_sessions": 3, "n_positions": 4, "severity": 1.0}
            | {"noise": 0.1, "exploration": 0.2, "random_state": 0},
        ),
        "estimate_propensities": (clicks.estimate_propensities, {"log": shown, "monotone": True}),
        "estimate_trust_bias": (
            clicks.estimate_trust_bias,
            {"log": shown, "max_iter": 3, "tol": 0.01},
        ),
        "count_data": (clicks.count_data, joined),
        "regression_propensities": (
            clicks.regression_propensities,
            {"log": shown, "features": features, "feature_part": "line", "n_bags": 2}
            | {"monotone": True, "query": "query", "document": "document"}
            | {"random_state": 0},
        ),
        "propensity_intervals": (
            clicks.propensity_intervals,
            {
                "log": clicks.make_click_log(2000, n_positions=2, random_state=0),
                "n_resamples": 20,
                "level": 0.9,
                "random_state": 0,
            },
        ),
        "evaluate_from_log": (
            clicks.evaluate_from_log,
            {"log": shown, "scores": np.arange(n_items, dtype=float), "baseline": np.ones(n_items)}
            | {"propensities": np.linspace(1, 0.5, n_slots), "reward": "clicks", "clip": 5.0}
            | {"relevance": np.full(n_items, 0.2), "level": 0.9, "n_resamples": 20}
            | {"random_state": 0},
        ),
        "team_draft": (
            clicks.team_draft,
            {"first": ["a", "b", "c"], "second": ["c", "a", "d"], "k": 2, "random_state": 0},
        ),
        "interleaving_preference": (
            clicks.interleaving_preference,
            {"clicks": [1, 0, 2, 1], "other_clicks": [0, 0, 1, 1]},
        ),
        "ClickRelevance": (
            relevance,
            {"n_bags": 2, "propensities": np.linspace(1, 0.5, n_slots), "random_state": 0},
        ),
    }
    return found


def relevance(**params):
    """Fit the estimator of relevance."""
    shown = log()
    features = np.random.default_rng(0).normal(size=(len(shown.items.query), 2))
    few = {"feature_part": clicks_part()} | params
    documents = (features, shown.items.query, shown.items.document)
    return clicks.ClickRelevance(**few).fit(shown, documents).relevance_


def clicks_part():
    """Return trees that are quick."""
    from treerank import LightGBMTrees

    return LightGBMTrees(n_estimators=3, n_jobs=1)


def of_inspection():
    """Return what inspects rankers, with arguments that are right."""
    fitted = ranker()
    values = RANDOM.normal(size=(40, 1))[:, 0]
    return {
        "calibration_curve": (
            inspection.calibration_curve,
            {"predicted": np.linspace(0, 1, 40), "won": Y > 0, "bins": 3},
        ),
        "copies": (inspection.copies, {"X": X, "qid": QID, "reference": X}),
        "costly_swaps": (
            inspection.costly_swaps,
            LABELED | {"scores": SCORES, "metric": "ndcg@3", "n_swaps": 3, "per_query": 1},
        ),
        "data_sheet": (inspection.data_sheet, DATA),
        "drift": (inspection.drift, {"X": X, "reference": X + 1}),
        "effect": (
            inspection.effect,
            {"ranker": fitted, "X": X, "qid": QID, "feature": 1, "values": 5}
            | {"n_documents": 10, "random_state": 0},
        ),
        "permutation_importance": (
            inspection.permutation_importance,
            DATA
            | {"ranker": fitted, "metric": "ndcg@3", "groups": {"g": [0, 1]}, "shuffle": "within"}
            | {"n_repeats": 1, "random_state": 0},
        ),
        "single_features": (inspection.single_features, DATA | {"metric": "ndcg@3"}),
        "slices": (
            inspection.slices,
            {"values": values, "columns": {"c": X[:, 1]}, "qid": np.arange(40)}
            | {"n_bins": 2, "at_least": 5},
        ),
        "report": (
            report,
            DATA
            | {"ranker": fitted, "baseline": SCORES, "train": (X, Y, QID), "metrics": ["map"]}
            | {"document_names": QID.astype(str), "slices": {"c": X[:, 1]}, "title": "t"}
            | {"about": {"a": "b"}, "n_examples": 2, "random_state": 0},
        ),
    }


def of_statistics():
    """Return the tests and intervals, with arguments that are right."""
    a, b = X[:, 0], X[:, 1]
    resamples = {"n_resamples": 50, "random_state": 0}
    return {
        "adjust_holm": (statistics.adjust_holm, {"p_values": [0.1, 0.5]}),
        "bootstrap_interval": (
            statistics.bootstrap_interval,
            {"values": a, "level": 0.9} | resamples,
        ),
        "corrected_interval": (
            statistics.corrected_interval,
            {"values": a, "test_to_train": 0.5, "level": 0.9},
        ),
        "friedman_test": (statistics.friedman_test, {"values": X, "correct_ties": True}),
        "nemenyi_test": (statistics.nemenyi_test, {"values": X, "alpha": 0.1}),
        "pairwise_tests": (
            statistics.pairwise_tests,
            {"values": X, "names": ["a", "b", "c"], "test": "wilcoxon", "adjust": True},
        ),
        "randomization_test": (statistics.randomization_test, {"a": a, "b": b} | resamples),
        "wilcoxon_test": (statistics.wilcoxon_test, {"a": a, "b": b}),
        "corrected_resampled_t_test": (
            statistics.corrected_resampled_t_test,
            {"a": a, "b": b, "test_to_train": 0.5},
        ),
    }


@cache
def targets():
    """Return what is called, by name: a function and arguments that are right."""
    return of_ranker() | of_files() | of_clicks() | of_inspection() | of_statistics()


def drawn_value(random, name):
    """Return a value for an argument, of any kind, but nothing endless and no file."""
    kind = random.choice(3)
    values = (VALUES, NEAR, COLUMNS)[kind]
    value = values[random.integers(len(values))]
    if name == "test" and callable(value):
        return "wilcoxon"
    number = isinstance(value, int) and not isinstance(value, bool)
    return 2 if AMOUNTS.search(name) and number and 5 < value < 2**63 else value


def case(random: np.random.Generator) -> None:
    """Call one target with one or two arguments of any kind."""
    names = sorted(targets())
    name = names[random.integers(len(names))]
    run, right = targets()[name]
    changeable = [argument for argument in right if argument != "path"]
    n_drawn = min(1 + (random.random() < 0.2), len(changeable))
    drawn = random.choice(changeable, n_drawn, replace=False).tolist()
    check(name, run, right, {argument: drawn_value(random, argument) for argument in drawn})


def check(name, run, right, changed):
    """Raise AssertionError if the answer is not good."""
    text = f"{name}({', '.join(f'{k}={short(v)}' for k, v in changed.items())})"
    _, error = attempt(partial(run, **(right | changed)))
    if error is None:
        return
    if any(isinstance(changed.get(name), str) for name in FILES):
        return
    assert isinstance(error, ValueError | TypeError), f"{text}: {short(error)}"
    named = any(argument in str(error) for argument in changed)
    # Of two columns of different lengths, the other may be named.
    assert named or re.search("entr(y|ies)|shape", str(error)), (
        f"{text}: no argument is named by {short(error)}"
    )
    assert len(str(error)) <= LARGEST_MESSAGE, f"{text}: a message of {len(str(error))} characters"
