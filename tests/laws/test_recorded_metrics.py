"""Metrics that a fit records are what ``score`` says of the same rows.

The documents of an ``eval_set`` have what those of the training set lack: values far beyond, gaps,
categories, columns in another order, rows that nobody judged.
"""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from laws import Case
from scipy.sparse import csr_matrix
from small_rankers import NAMES, made

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees, get_metric, load
from treerank.documents.reading import accepted_by
from treerank.metrics import NDCG
from treerank.rankers import ForestRanker

N, METRICS = 240, ["ndcg@10", "map", NDCG(5, ties="pessimistic")]


def documents(seed, far=1.0):
    """Return features, labels and queries; the first feature is missing where nothing is good."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=N)
    X = np.column_stack([rng.uniform(-1, 1, N), rng.normal(size=N) + y, rng.integers(0, 4, N)])
    X[(y == 0) & (rng.random(N) < 0.9), 0] = np.nan
    X[:, :2] *= far
    return X, y, np.repeat(np.arange(12), 20)


def frame(X, colors):
    names = np.array(colors)[X[:, 2].astype(int)]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "color": pd.Categorical(names)})


def far():
    return documents(1), documents(2, far=30.0), {}


def gaps():
    X, y, qid = documents(2)
    X[::5, 1] = np.nan  # where training has no gaps
    return documents(1), (X, y, qid), {}


def categories():
    (X, y, qid), (X2, y2, qid2) = documents(1), documents(2)
    held_out = frame(X2, ["red", "green", "none before", "blue"])[["color", "b", "a"]]
    return (frame(X, ["red", "green", "blue", "black"]), y, qid), (held_out, y2, qid2), {}


def sparse():
    (X, y, qid), (X2, y2, qid2) = documents(1), documents(2, far=3.0)
    return (csr_matrix(np.nan_to_num(X)), y, qid), (csr_matrix(np.nan_to_num(X2)), y2, qid2), {}


def unjudged():
    X, y, qid = documents(2, far=3.0)
    labels = np.where(np.arange(N) % 4 == 0, np.nan, y)
    return documents(1), (X, labels, qid), {}


def labels():
    (X, y, qid), (X2, y2, qid2) = documents(1), documents(2, far=3.0)
    several = [{"good": each, "cheap": each[::-1]} for each in (y, y2)]
    return (X, several[0], qid), (X2, several[1], qid2), {"label_weights": {"cheap": 0.3}}


KINDS = [far, gaps, categories, sparse, unjudged, labels]
#: What has no iterations, or records none.
RECORDS_NOTHING = {
    *("ColumnRanker", "CoordinateAscent", "ForestRanker", "RefitTrees"),
    *("RankSVM", "SortNet", "linear"),
}


def suits(ranker, kind):
    """Tell whether a ranker takes such documents."""
    if kind in (sparse, categories):
        return getattr(accepted_by(ranker), kind.__name__)
    return kind is not labels or "label_weights" in ranker.get_params(deep=False)


def cases():
    for name in [name for name in NAMES if name not in RECORDS_NOTHING]:
        for kind in KINDS:
            if suits(made(name), kind):
                yield pytest.param(name, kind, id=f"{name}-{kind.__name__}")


def score_by(metric, ranker, *data):
    """Return the score of a ranker by another metric."""
    return set_metric(ranker, metric).score(*data)


def set_metric(ranker, metric):
    """Set the metric of a ranker, which is that of the ranker of stages, and return it."""
    name = "metric" if "metric" in ranker.get_params() else "ranker__metric"
    return ranker.set_params(**{name: metric})


def scores_of(ranker, X, y, qid):
    """Return the metrics of a ranker by the names that they have in the record."""
    metrics = {get_metric(metric).name: metric for metric in METRICS}
    found = {name: score_by(metric, ranker, X, y, qid) for name, metric in metrics.items()}
    if not isinstance(y, dict):
        return found
    for metric, (label, column) in product(map(get_metric, METRICS), y.items()):
        found[f"{metric.name} of {label}"] = metric(column, ranker.predict(X), qid)
    return found


@pytest.mark.parametrize(("name", "kind"), [*cases()])
def test_recorded_metrics_are_the_score_of_the_same_rows(name, kind):
    train, held_out, settings = kind()
    ranker = Case(made(name), None).unfitted().set_params(**settings)
    with warnings.catch_warnings(action="ignore"):  # of what few documents lack
        ranker.fit(*train, eval_set=held_out, eval_metric=METRICS)
    curves = ranker.evals_result_["validation"]
    rows = [dict(zip(curves, row, strict=True)) for row in zip(*curves.values(), strict=True)]
    best = getattr(ranker, "best_iteration_", None)
    kept = rows if best is None else [rows[best - 1]]
    scores = scores_of(ranker, *held_out)
    assert any(row == pytest.approx(scores, rel=1e-12) for row in kept), (rows, scores)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in {"ForestRanker", "RankSVM", "RefitTrees"}]
)
def test_a_function_gets_the_ids_of_queries_in_fit_as_in_score(name):
    train, held_out, _ = far()
    X, y, qid = train
    ids, seen = np.array([f"q{number + 1}" for number in qid]), set()
    held_out = *held_out[:2], np.array([f"q{number + 100}" for number in qid])

    def weighted(y, scores, qid):
        seen.update(qid.tolist())
        values = np.nan_to_num(get_metric("pairwise_accuracy").per_query(y, scores, qid))
        return np.average(values, weights=[int(query[1:]) for query in np.unique(qid)])

    ranker = set_metric(Case(made(name), None).unfitted(), weighted)
    for eval_set in (0.3, [held_out, (X, y, ids)], held_out):
        with warnings.catch_warnings(action="ignore"):
            ranker.fit(X, y, ids, eval_set=eval_set)
    assert seen <= {*ids, *held_out[2]}
    if name not in RECORDS_NOTHING:
        values = ranker.evals_result_["validation"]["weighted"]
        assert any(value == pytest.approx(ranker.score(*held_out)) for value in values)


def test_rankers_that_record_nothing_are_known():
    train, held_out, _ = far()
    for name in RECORDS_NOTHING - {"ForestRanker", "RefitTrees"}:
        with warnings.catch_warnings(action="ignore"):
            ranker = Case(made(name), None).unfitted().fit(*train, eval_set=held_out)
        assert not getattr(ranker, "evals_result_", {}), name


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("far", [5.0, -5.0])
def test_a_value_far_beyond_those_of_training_is_not_taken_for_a_missing_one(far, tmp_path):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 2, size=400), np.repeat(np.arange(20), 20)
    X = np.where(y == 1, rng.uniform(-1, 1, size=400), np.nan).reshape(-1, 1)
    for trees in (HistogramTrees, LightGBMTrees, XGBoostTrees):
        ranker = TreeDirectRanker(trees(9, learning_rate=0.3, n_jobs=1), random_state=0)
        ranker.fit(X, y, qid)
        scores = inside, outside, missing = ranker.predict([[0.5], [far], [np.nan]])
        assert inside == pytest.approx(outside, rel=1e-6), trees
        assert outside > missing + 0.1, trees
        ranker.save(tmp_path / "model")
        forest = ForestRanker(ranker.forest())
        for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(ranker)), forest):
            assert other.predict([[0.5], [far], [np.nan]]).tolist() == [*scores]
        ranker.set_params(warm_start=True, feature_part__n_estimators=12).fit(X, y, qid)
        inside, outside, missing = ranker.predict([[0.5], [far], [np.nan]])
        assert inside == pytest.approx(outside, rel=1e-6), trees
        assert outside > missing + 0.1, trees
