"""Functions and methods of all public packages, with arguments of every kind.

Each is called with arguments that are right, of which one or two are replaced by a value of any
kind. A good answer is a result, or a ValueError or TypeError with a short message that names one
of the arguments that were replaced.
"""

import itertools
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
    """Yield the methods of a ranker, each with arguments that are right."""
    fitted, pair = ranker(), {"X_a": X[:4], "X_b": X[4:8]}

    def fit(**given):
        return RankSVM().fit(**given)

    def compare_rankers(**given):
        return compare({"a": RankSVM()}, **given)

    yield fit, DATA | {"sample_weight": np.ones(40)}
    yield fitted.predict, {"X": X}
    yield fitted.rank, {"X": X, "qid": QID}
    yield fitted.top_k, {"X": X, "qid": QID, "k": 3}
    yield fitted.score, DATA
    methods = fitted.compare, fitted.explain, fitted.predict_pair_proba, fitted.explain_interactions
    yield from ((method, pair) for method in methods)
    yield make_ranking_scorer, {"metric": "ndcg@3"}
    rows = {"X": X, "qid": QID, "rows": [3]}
    yield inspection.explain_standing, {"ranker": fitted} | rows
    yield inspection.explain_moves, {"old": fitted, "new": fitted} | rows
    yield alpha_ndcg, {"aspects": X > 0, "k": 3, "alpha": 0.5} | SCORED
    yield err_ia, {"aspects": X > 0, "k": 3, "alpha": 0.5} | SCORED
    yield exposure_by_group, {"group": Y, "k": 3, "discount": "log2"} | SCORED
    yield get_metric, {"metric": "ndcg@3"}
    data = {"data": (X, Y, QID), "cv": 2}
    yield compare_rankers, data | {"metrics": ["ndcg@3"], "random_state": 0}


def of_files():
    """Yield what reads and writes files, with arguments that are right."""
    path, solr = {"path": folder() / "file"}, {"ranker": ranker(), "format": "solr"}
    yield write_letor, path | DATA
    yield write_parquet, path | DATA
    yield write_trec_run, path | {"doc_ids": NAMES, "tag": "t"} | SCORED
    yield write_trec_qrels, path | {"doc_ids": NAMES} | LABELED
    yield export, path | solr | {"check": X}
    yield write_feature_set, path | solr


def of_clicks():
    """Yield what works on clicks, with arguments that are right."""
    shown = log()
    documents = shown.items.document
    n_items, n_slots = len(shown.items.query), shown.n_positions
    features = np.arange(n_items)[:, None], shown.items.query, documents
    joined = {"log": shown, "features": features, "query": "query", "document": "document"}
    seed, propensities = {"random_state": 0}, np.linspace(1, 0.5, n_slots)
    columns = {"session": shown.session, "query": shown.query[shown.session].astype(str)}
    columns |= {"document": documents[shown.item].astype(str), "position": shown.position}
    yield clicks.ClickLog.from_columns, columns | {"click": shown.clicked.astype(int)}
    sizes = {"n_sessions": 9, "n_queries": 3, "n_documents": 6, "n_positions": 4}
    yield clicks.make_click_log, sizes | {"severity": 1.0} | seed
    user = {"n_sessions": 3, "n_positions": 4, "severity": 1.0, "noise": 0.1, "exploration": 0.2}
    yield clicks.simulate_clicks, LABELED | {"scores": SCORES} | user | seed
    yield clicks.estimate_propensities, {"log": shown, "monotone": True}
    yield clicks.estimate_trust_bias, {"log": shown, "max_iter": 3, "tol": 0.01}
    yield clicks.count_data, joined
    bags = {"feature_part": "line", "n_bags": 2, "monotone": True}
    yield clicks.regression_propensities, joined | bags | seed
    long = {"log": clicks.make_click_log(2000, n_positions=2, random_state=0)}
    yield clicks.propensity_intervals, long | {"n_resamples": 20, "level": 0.9} | seed
    rankings = {"log": shown, "scores": np.arange(n_items, dtype=float)}
    rankings |= {"baseline": np.ones(n_items), "relevance": np.full(n_items, 0.2)}
    settings = {"propensities": propensities, "reward": "clicks", "clip": 5.0}
    settings |= {"level": 0.9, "n_resamples": 20}
    yield clicks.evaluate_from_log, rankings | settings | seed
    lists = {"first": ["a", "b", "c"], "second": ["c", "a", "d"], "k": 2}
    yield clicks.team_draft, lists | seed
    counts = {"clicks": [1, 0, 2, 1], "other_clicks": [0, 0, 1, 1]}
    yield clicks.interleaving_preference, counts
    yield relevance, {"n_bags": 2, "propensities": propensities} | seed


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
    """Yield what inspects rankers, with arguments that are right."""
    fitted, seed = {"ranker": ranker()}, {"random_state": 0}
    predicted = {"predicted": np.linspace(0, 1, 40), "won": Y > 0, "bins": 3}
    yield inspection.calibration_curve, predicted
    yield inspection.copies, {"X": X, "qid": QID, "reference": X}
    swaps = {"scores": SCORES, "metric": "ndcg@3", "n_swaps": 3, "per_query": 1}
    yield inspection.costly_swaps, LABELED | swaps
    yield inspection.data_sheet, DATA
    yield inspection.drift, {"X": X, "reference": X + 1}
    line = {"X": X, "qid": QID, "feature": 1, "values": 5, "n_documents": 10}
    yield inspection.effect, fitted | line | seed
    shuffles = {"metric": "ndcg@3", "groups": {"g": [0, 1]}, "shuffle": "within", "n_repeats": 1}
    yield inspection.permutation_importance, fitted | DATA | shuffles | seed
    yield inspection.single_features, DATA | {"metric": "ndcg@3"}
    values = {"values": RANDOM.normal(size=40), "columns": {"c": X[:, 1]}, "qid": np.arange(40)}
    yield inspection.slices, values | {"n_bins": 2, "at_least": 5}
    page = {"baseline": SCORES, "train": (X, Y, QID), "metrics": ["map"], "title": "t"}
    page |= {"document_names": QID.astype(str), "slices": {"c": X[:, 1]}, "about": {"a": "b"}}
    yield report, fitted | DATA | page | {"n_examples": 2} | seed


def of_statistics():
    """Yield the tests and intervals, with arguments that are right."""
    samples, resamples = {"a": X[:, 0], "b": X[:, 1]}, {"n_resamples": 50, "random_state": 0}
    values = {"values": X[:, 0], "level": 0.9}
    yield statistics.adjust_holm, {"p_values": [0.1, 0.5]}
    yield statistics.bootstrap_interval, values | resamples
    yield statistics.corrected_interval, values | {"test_to_train": 0.5}
    yield statistics.friedman_test, {"values": X}
    yield statistics.nemenyi_test, {"values": X, "alpha": 0.1}
    names = {"names": ["a", "b", "c"], "test": "wilcoxon", "adjust": True}
    yield statistics.pairwise_tests, {"values": X} | names
    yield statistics.randomization_test, samples | resamples
    yield statistics.wilcoxon_test, samples
    yield statistics.corrected_resampled_t_test, samples | {"test_to_train": 0.5}


@cache
def targets():
    """Return what is called, by name: a function and arguments that are right."""
    rooms = of_ranker(), of_files(), of_clicks(), of_inspection(), of_statistics()
    return {run.__qualname__: (run, right) for run, right in itertools.chain(*rooms)}


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
