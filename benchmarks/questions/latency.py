"""Latency: how long one query waits for its scores, on one thread.

136 features. The same 500 trees of 31 leaves, trained by LightGBM: scored by LightGBM itself, by
``scorer()``, by the C that treerank exports, by onnxruntime and by treelite. And ``predict`` of
fitted rankers, checks included, over the bare engine's.
"""

import functools
import time
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from benchmarks import scorers, timing
from benchmarks.drawing import intervals, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees, read_forest
from treerank.rankers import ForestRanker

TITLE = "How long does one query wait for its scores?"
IS_TIMING = True
OURS, BOOSTER = "ranker.scorer()", "lightgbm.Booster.predict"
N_FEATURES = 136
PARTS = {"LightGBM": LightGBMTrees, "XGBoost": XGBoostTrees, "histogram": HistogramTrees}


@functools.cache
def trained(n_trees):
    """Return a folder with ``model.txt``, the ranker of its trees, and documents."""
    import lightgbm

    folder, random = Path(mkdtemp()), np.random.default_rng(0)
    X = random.normal(size=(10_000, N_FEATURES))
    y = np.clip(np.round(X[:, :10].sum(axis=1) / 2 + 2), 0, 4)
    params = {"objective": "lambdarank", "num_leaves": 31, "verbosity": -1}
    data = lightgbm.Dataset(X, y, group=np.full(100, 100))
    lightgbm.train(params, data, n_trees).save_model(folder / "model.txt")
    return folder, ForestRanker(read_forest(folder / "model.txt"), n_jobs=1), X


def waiting(scorer, n_trees, n_documents, seconds):
    """Return the median and the 99th percentile of single calls, in milliseconds."""
    folder, ranker, X = trained(n_trees)
    query = X[:n_documents].copy()
    score = scorers.WAYS[scorer](ranker, folder)
    if not (score(query) == ranker.predict(query)).all():
        raise ValueError(f"scores must be those of the ranker; got others by {scorer}.")
    times, began = [], time.perf_counter()
    while len(times) < 10 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        score(query)
        times.append(1e3 * (time.perf_counter() - start))
    median, late = np.quantile(times, [0.5, 0.99])
    return {"median ms": median, "99th percentile ms": late}


@functools.cache
def prediction_times(name, n_turns):
    """Return the times of ways to score 100 documents by a fitted ranker."""
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(10_000, N_FEATURES)), np.repeat(np.arange(100), 100)
    y = np.clip(np.round(X[:, :10].sum(axis=1) / 2 + 2), 0, 4)
    size = {"n_estimators": 60, "num_leaves": 63, "learning_rate": 0.1, "n_jobs": 1}
    own = {"max_depth": 0, "grow_policy": "lossguide"} if name == "XGBoost" else {}
    ranker = TreeDirectRanker(PARTS[name](**size, **own), random_state=0).fit(X, y, qid)
    query, scorer, booster = X[:100].copy(), ranker.scorer(), ranker.feature_part_.booster_
    ways = {"predict": ranker.predict, "scorer()": scorer}
    if name == "LightGBM":
        ways["engine"] = lambda X: booster.predict(X, num_threads=1)
    elif name == "XGBoost":
        ways["engine"] = lambda X: booster.inplace_predict(X, predict_type="margin")
    calls = {key: lambda way=way: [way(query) for _ in range(100)] for key, way in ways.items()}
    return {key: turns / 100 for key, turns in timing.time_turns(calls, n_turns).items()}


def measurements(options):
    """Yield times of single calls, and of ``predict`` over the engine."""
    n_trees, seconds = (5, 0.01) if options.quick else (500, 0.5)
    for n_documents in (10, 100, 1000):
        for scorer in scorers.WAYS:
            measure = functools.partial(waiting, scorer, n_trees, n_documents, seconds)
            yield Measurement({"scored by": scorer, "documents": n_documents}, measure)
    for name in PARTS:
        for way in ("predict", "scorer()"):
            if name == "histogram":
                measure = lambda n=name, w=way: timing.median_of(  # noqa: E731
                    prediction_times(n, 1 if options.quick else 15)[w]
                )
                yield Measurement({"trees": name, "way": way}, measure)
                continue
            yield Measurement(
                {"trees": name, "way": way, "over": "engine"},
                lambda n=name, w=way: timing.ratio_of(
                    prediction_times(n, 1 if options.quick else 15), w, "engine"
                ),
            )
        if options.quick:
            break


def section(rows):
    """Return medians and 99th percentiles."""
    single = [row for row in rows if "scored by" in row["conditions"]]
    others = [row for row in rows if "scored by" not in row["conditions"]]
    groups, body = {}, []
    for row in single:
        name, n = row["conditions"]["scored by"], row["conditions"]["documents"]
        median, late = row["values"]["median ms"], row["values"]["99th percentile ms"]
        groups.setdefault(f"{n:,} documents", {})[name] = (median, median, late)
        body.append([name, f"{n:,}", f"{median:.3g}", f"{late:.3g}"])
    medians = {name: medians[0] for name, medians in groups.get("100 documents", {}).items()}
    answer = "The tables show the times of single calls on one thread, with 500 trees of 31 leaves."
    if {OURS, BOOSTER} <= set(medians):
        answer = (
            "All scorers compared here use the same 500 trees of 31 leaves on one thread. Scoring "
            f"a query of 100 documents takes a median of {medians[OURS]:.2f} ms with `{OURS}` and "
            f"{medians[BOOSTER]:.2f} ms with `{BOOSTER}`."
        )
    chart = intervals(
        answer, groups, "milliseconds: median to 99th percentile", reference=None, logarithmic=True
    )
    head = ["scored by", "documents", "median, ms", "99th percentile, ms"]
    rest = timing.section_of(others, answer).tables if others else []
    notes = (
        "In the tables after the first, fitted rankers with 60 trees of up to 63 leaves score 100 "
        'documents, and "engine" means that the model of LightGBM or XGBoost inside the ranker '
        "scores these documents directly."
    )
    tables = [("Single calls", table(head, body)), *rest]
    return Section(answer, [chart], tables, notes if rest else "")
