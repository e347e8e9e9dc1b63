"""Explanations: how long exact Shapley values of pairs take, beside shap, and whole reports.

The same 500 trees of 31 leaves, trained by LightGBM, explained by treerank and by shap's
interventional TreeExplainer if shap is installed. Pairs share their second document, or each has
one of its own; for the latter, shap needs an explainer for each pair. The report is one of the
default ranker beside one of fewer trees.
"""

import functools
import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import timing
from benchmarks.measurements import Measurement
from treerank import LightGBMTrees, TreeDirectRanker, make_web_search, read_forest, report
from treerank.forests.shapley import margin_parts

TITLE = "How long do explanations and reports take?"
IS_TIMING = True


@functools.cache
def explaining(n_trees, n_pairs, n_turns):
    """Return the times of explaining pairs by name, and the largest difference from shap."""
    import lightgbm

    X, y, qid = make_web_search(2 * n_pairs // 100 + 5, documents_per_query=100, random_state=0)
    params = {"objective": "lambdarank", "num_leaves": 31, "verbosity": -1}
    data = lightgbm.Dataset(X, y, group=np.bincount(qid))
    booster = lightgbm.train(params, data, n_trees)
    with TemporaryDirectory() as folder:
        booster.save_model(Path(folder, "model.txt"))
        forest = read_forest(Path(folder, "model.txt"))
    a, b = np.random.default_rng(0).permutation(X)[: 2 * n_pairs].reshape(2, -1, X.shape[1])
    calls = {
        "one pair": lambda: margin_parts(forest, a[:1], b[:1], n_threads=1),
        "1,000 pairs, one second document": lambda: margin_parts(forest, a, b[:1], n_threads=1),
        "1,000 pairs": lambda: margin_parts(forest, a, b, n_threads=1),
    }
    error = None
    if importlib.util.find_spec("shap"):
        import shap

        explainer = shap.TreeExplainer(booster, b[:1], feature_perturbation="interventional")
        calls["shap"] = lambda: explainer.shap_values(a)
        error = np.abs(calls["shap"]() - calls["1,000 pairs, one second document"]()).max()
    return timing.time_turns(calls, n_turns), error


def against_shap(size):
    """Return the time over shap's, and the largest difference of values."""
    times, error = explaining(*size)
    if error is None:
        raise ModuleNotFoundError("No module named 'shap'", name="shap")
    ours = "1,000 pairs, one second document"
    return timing.ratio_of(times, ours, "shap") | {"largest difference": error}


def reported(n_queries, n_turns):
    """Return seconds and size of a report."""
    shape = {"documents_per_query": 34 if n_queries > 100 else 8, "n_features": 136}
    train = make_web_search(n_queries // 5, **shape, random_state=0)
    test = make_web_search(n_queries, **shape, random_state=1)
    ranker = TreeDirectRanker(random_state=0).fit(*train)
    baseline = TreeDirectRanker(LightGBMTrees(n_estimators=20), random_state=0).fit(*train)
    pages = []

    def write():
        pages.append(report(ranker, *test, train=train, baseline=baseline))

    times = timing.median_of(timing.time_turns({"": write}, n_turns)[""])
    return times | {"kB": len(pages[-1].html.encode()) / 1000}


def measurements(options):
    """Yield milliseconds of explanations, their ratio to shap's, and those of a report."""
    size = (5, 10, 1) if options.quick else (500, 1000, 5)
    for name in ("one pair", "1,000 pairs, one second document", "1,000 pairs"):
        measure = lambda name=name: timing.median_of(explaining(*size)[0][name])  # noqa: E731
        yield Measurement({"explained": name}, measure)
    if importlib.util.find_spec("shap"):
        name = {"explained": "1,000 pairs, one second document", "over": "shap"}
        yield Measurement(name, lambda: against_shap(size))
    n_queries = 40 if options.quick else 3000
    measure = functools.partial(reported, n_queries, 1 if options.quick else 3)
    yield Measurement({"report": f"{n_queries} queries, 136 features"}, measure)


def section(rows):
    """Return milliseconds."""
    answer = "The table shows the times of exact explanations, with 500 trees of 31 leaves."
    milliseconds = {
        row["conditions"].get("explained", "report"): row["values"].get("milliseconds")
        for row in rows
        if "over" not in row["conditions"]
    }
    if milliseconds.get("one pair") and milliseconds.get("report"):
        answer = (
            "With 500 trees of 31 leaves, the exact explanation of a pair of documents takes "
            f"{milliseconds['one pair']:.1f} ms on one thread. A report on 3,000 queries "
            f"with 136 features takes {milliseconds['report'] / 1000:.1f} s."
        )
    shown = [
        row | {"conditions": {"timed": f"report on {name}".replace("3000", "3,000")}}
        if (name := row["conditions"].get("report"))
        else row
        for row in rows
    ]
    notes = '"One second document" means that all pairs have the same second document.'
    return timing.section_of(shown, answer, notes)
