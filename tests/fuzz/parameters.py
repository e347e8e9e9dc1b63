"""Arguments of every public class, function and method: values of every kind.

Each is called with arguments that are right, few iterations and tiny data, of which one or two
arguments are replaced. A good answer is a result, of finite numbers if it is learned, or a
ValueError or TypeError with a short message that names one of the arguments that were replaced.
"""

import inspect
import itertools
import re
from functools import cache, partial

import numpy as np

from tests.fuzz import attempt, folder, pick
from tests.support.random_logs import random_log
from treerank import LightGBMTrees, clicks, compare, get_metric, inspection, report, statistics
from treerank.baselines import RankSVM
from treerank.datasets import make_web_search, write_letor, write_parquet
from treerank.datasets.trec import write_trec_run
from treerank.exports import export, write_feature_set
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.metrics import METRICS, RankingScorer, alpha_ndcg, err_ia, exposure_by_group
from treerank.model_selection import QueryKFold, QueryShuffleSplit
from treerank.objectives import Pairs, make_objective
from treerank.objectives.lists.losses import LISTWISE
from treerank.parameters import Rule, rules_of
from treerank.registry import RANKERS, ranker_class

LARGEST_MESSAGE = 1000
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3))
Y = np.digitize(X[:, 0] + RANDOM.normal(size=40), [0, 1]).astype(float)
QID = np.repeat(np.arange(5), 8)
SCORES = X[:, 0]
DATA = {"X": X, "y": Y, "qid": QID}
LABELED = {"y": Y, "qid": QID}
SCORED = {"scores": SCORES, "qid": QID}
NAMES = np.arange(40).astype(str)
NUMBERS = [-1, 0, 1, 2, 3, 1.5, 0.5, 0.1, 1e-10, 1e-300, 1e300, 10**10, 2**31, 2**63, 10**400]
ODD_NUMBERS = [np.nan, np.inf, -np.inf, -1e400, np.float32(1), np.float32(0.5), np.int64(3), 1 + 2j]
WORDS = ["", "x", "auto", "all", "ndcg", "ndcg@3", "hinge", "listnet", "cpu", "step", b"x"]
OTHERS = [[], [1], [1, 0, -1], [[0, 1]], (), (2, 1), {}, {"x": 1}, {0: 1}, set(), object(), int]
ARRAYS = [np.array([1, 2]), np.array([True, False, True]), np.zeros((2, 2)), np.bool_(True)]
HUGE = ["x" * 10**6, [0] * 10**6, np.zeros(10**5)]
FUNCTIONS = [lambda *given: 0.5, np.random, np.random.RandomState(0), np.random.default_rng(0)]
VALUES = [None, True, False, *NUMBERS, *ODD_NUMBERS, *WORDS, *OTHERS, *ARRAYS, *HUGE, *FUNCTIONS]
#: Values that many arguments allow.
NEAR = [None, True, False, 1, 2, 3, 5, 10, 0, 0.5, 0.01, 1.0, 0.9, [1, 0, 0], (4, 2)]
#: Values for columns: too short, too long, of another type, not finite, of two dimensions.
COLUMNS = [
    *(Y[:-1], np.append(Y, 0), X, X[:0], Y[:0], np.full(40, np.nan), np.full(40, np.inf), -Y),
    *(Y.astype(str), Y.astype(object), Y > 0, Y * 1e300, [None] * 40, QID[::-1], Y.astype("M8[s]")),
    *(Y + 1j, Y.astype(np.float16), np.zeros(40), list(Y), tuple(QID), "0" * 40, QID.reshape(5, 8)),
]
#: Arguments whose text may be the path of a file.
FILES = ("X", "X_a", "X_b", "train", "data", "features")
#: A user may ask for as many of these as there is time for.
ITERATIONS = {
    *("n_estimators", "n_epochs", "n_generations", "n_restarts", "n_sweeps", "n_steps"),
    *("max_iter", "n_splits", "early_stopping_rounds", "n_perceptrons", "max_estimators"),
}
FEW = {
    **{"n_estimators": 2, "n_epochs": 2, "n_generations": 5, "n_restarts": 1, "n_sweeps": 1},
    **{"n_steps": 2, "max_iter": 2, "n_perceptrons": 3, "min_child_samples": 1},
}
#: Other numbers that a user may raise as long as there is time.
AMOUNTS = re.compile("^n_(?!bins|jobs|outputs)|^per_query$|^values$|^workers$|^bins$|^k$")


@cache
def ranker():
    """Return a fitted ranker."""
    return RankSVM().fit(X, Y, QID)


@cache
def log():
    """Return a log of 60 sessions."""
    return random_log(60)


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
    yield RankingScorer, {"metric": "ndcg@3"}
    rows = {"X": X, "qid": QID, "rows": [3]}
    yield inspection.explain_lead, {"ranker": fitted} | rows
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
    user = {"n_sessions": 3, "n_positions": 4, "severity": 1.0, "noise": 0.1, "exploration": 0.2}
    yield clicks.simulate_clicks, LABELED | {"scores": SCORES} | user | seed
    yield clicks.estimate_propensities, {"log": shown}
    yield clicks.estimate_trust_bias, {"log": shown, "max_iter": 3, "tol": 0.01}
    yield clicks.count_data, joined
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
    few = {"feature_part": LightGBMTrees(n_estimators=3, n_jobs=1)} | params
    documents = (features, shown.items.query, shown.items.document)
    return clicks.ClickRelevance(**few).fit(shown, documents).relevance_


def of_inspection():
    """Yield what inspects rankers, with arguments that are right."""
    fitted, seed = {"ranker": ranker()}, {"random_state": 0}
    predicted = {"predicted": np.linspace(0, 1, 40), "won": Y > 0, "bins": 3}
    yield inspection.calibration_curve, predicted
    yield inspection.duplicates, {"X": X, "qid": QID, "reference": X}
    swaps = {"scores": SCORES, "metric": "ndcg@3", "n_pairs": 3, "per_query": 1}
    yield inspection.costly_rank_changes, LABELED | swaps
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
    yield statistics.randomization_test, samples | resamples
    yield statistics.corrected_resampled_t_test, samples | {"test_to_train": 0.5}


def fitted_ranker(cls, *, with_held_out, **params):
    """Return the scores of a ranker; a slow search is shortened."""
    needed = {"trees": forest, "ranker": RankSVM, "hidden": lambda: (3,), "column": lambda: 0}
    needed["feature_part"] = lambda: feature_part_class("streaming")(2, min_child_samples=1)
    few = FEW | {name: make() for name, make in needed.items() if name in arguments(cls)}
    few = {name: value for name, value in few.items() if name in arguments(cls)}
    eval_set = (X, Y, QID) if with_held_out else None
    return cls(**(few | params)).fit(X, Y, QID, eval_set=eval_set).predict(X)


@cache
def forest():
    """Return a few trees."""
    part = LightGBMTrees(n_estimators=2, min_child_samples=1)
    return ranker_class("TreeDirectRanker")(part).fit(X, Y, QID).forest()


def fitted_part(cls, *, with_held_out, **params):
    """Return the outputs of a feature part."""
    few = {name: value for name, value in FEW.items() if name in arguments(cls)}
    validation = (X, lambda scores: -abs(float(scores.sum()))) if with_held_out else None
    part = cls(**(few | params)).fit(X, make_objective(Y, QID), validation=validation)
    outputs = part.transform(X)
    return outputs if isinstance(outputs, np.ndarray) else outputs.toarray()


def splits(cls, **params):
    """Return the rows of the first splits."""
    found = itertools.islice(cls(**params).split(X, qid=QID), 2)
    return np.concatenate([np.concatenate(rows) for rows in found])


def measured(cls, **params):
    """Return the values of a metric."""
    return np.nan_to_num(cls(**params).per_query(Y, SCORES, QID))


def priced(make, **params):
    """Return the gradient of an objective, or of one with a loss or pairs of a class."""
    if make is not make_objective:
        params = {"pairs" if make is Pairs else "loss": make(**params)}
    objective = make_objective(Y, QID, **params)
    scores = SCORES if objective.n_outputs == 1 else np.tile(SCORES, (objective.n_outputs, 1)).T
    return np.stack(objective.derivatives(scores))


def generated(make, **params):
    """Return all numbers of a data set."""
    small = {"n_queries": 3, "documents_per_query": 5, "n_features": 4, "random_state": 0}
    return np.nan_to_num(np.concatenate([np.ravel(array) for array in make(**(small | params))]))


def arguments(call):
    """Return the names of the arguments that get other values."""
    kept = ("y", "qid", "sample_weight", "query_weight", "given_pairs", "dtype")
    return [name for name in inspect.signature(call).parameters if name not in kept]


def of_registries():
    """Yield classes and makers, each with what returns numbers that depend on its arguments."""
    for with_held_out in (False, True):
        for fit, classes in {
            fitted_ranker: map(ranker_class, RANKERS),
            fitted_part: map(feature_part_class, FEATURE_PARTS),
        }.items():
            yield from ((cls, partial(fit, with_held_out=with_held_out)) for cls in classes)
    yield from ((type(metric), measured) for metric in METRICS.values())
    yield from ((type(loss), priced) for loss in LISTWISE.values())
    yield from ((cls, splits) for cls in (QueryKFold, QueryShuffleSplit))
    yield from [(Pairs, priced), (make_objective, priced), (make_web_search, generated)]


@cache
def targets():
    """Return what is called: a class or function, what calls it, and arguments that are right."""
    listed = [(call, partial(run, call), {}) for call, run in of_registries() if arguments(call)]
    rooms = of_ranker(), of_files(), of_clicks(), of_inspection(), of_statistics()
    return listed + [(run, run, right) for run, right in itertools.chain(*rooms)]


def drawn_value(random, call, name):
    """Return a value for an argument, of any kind or likely to be allowed, but nothing endless."""
    rule = rules_of(call).get(name) if isinstance(call, type) else None
    near = [*NEAR, *(rule or Rule(None)).bounds.get("allowed", ())]
    kinds = (VALUES, near) if isinstance(call, type) else (VALUES, near, COLUMNS)
    value = pick(random, pick(random, kinds))
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    endless = value > 3 if name in ITERATIONS else AMOUNTS.search(name) and 5 < value < 2**63
    return 2 if endless else value


def case(random: np.random.Generator) -> None:
    """Call one target with one or two arguments of any kind."""
    call, run, right = pick(random, targets())
    changeable = [name for name in right if name != "path"] or arguments(call)
    n_drawn = min(1 + (random.random() < 0.2), len(changeable))
    drawn = random.choice(changeable, n_drawn, replace=False).tolist()
    changed = {name: drawn_value(random, call, name) for name in drawn}
    text = f"{call.__qualname__}({', '.join(f'{k}={short(v)}' for k, v in changed.items())})"
    error = attempt(run, **(right | changed), errors=Exception)
    if not isinstance(error, Exception):
        assert right or np.isfinite(error).all(), f"{text}: numbers that are not finite"
        return
    if any(isinstance(changed.get(name), str) for name in FILES):
        return
    assert isinstance(error, ValueError | TypeError), f"{text}: {short(error)}"
    # Scores may grow without bound under a penalty, too; the remedy is the same. Of two columns of
    # different lengths, the other may be named.
    named = any(name in str(error) for name in (*changed, "learning_rate"))
    named = named or (right and re.search("entr(y|ies)|shape", str(error)))
    assert named, f"{text}: no argument is named by {short(error)}"
    assert len(str(error)) <= LARGEST_MESSAGE, f"{text}: a message of {len(str(error))} characters"


def short(value):
    """Return the first characters of the text of a value."""
    try:
        return repr(value)[:300]
    except ValueError:  # a number of too many digits
        return f"a huge {type(value).__name__}"
