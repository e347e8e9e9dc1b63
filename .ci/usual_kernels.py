"""Compile the kernels of usual fits for each level of x86-64, and put the code into the package.

``.ci/wheel`` runs it on a copy of the package.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from llvmlite.binding import get_host_cpu_features

import treerank
from treerank import (
    HistogramTrees,
    LightGBMTrees,
    SoftTrees,
    TreeDirectRanker,
    XGBoostTrees,
    get_metric,
    make_objective,
    make_web_search,
)
from treerank.baselines import BASELINES, LambdaMART
from treerank.metrics.registry import METRICS
from treerank.numerics import machine_code
from treerank.numerics.kernel_cache import SharedCacheFile
from treerank.objectives.listwise import LISTWISE
from treerank.objectives.losses import PAIR_LOSSES
from treerank.objectives.weights import PAIR_WEIGHTS

BOOSTERS = LightGBMTrees, XGBoostTrees, HistogramTrees


def fit_trees(X, y, qid):
    """Fit boosted trees, to numbers and tables of several types, in several ways."""
    n = len(y) // 2
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    coarse = X.round(0).clip(0, 5)
    single = X.astype(np.float32)
    locked = X.copy()
    locked.flags.writeable = False
    tables = X, missing, coarse, single, np.asfortranarray(single), pd.DataFrame(X), locked
    for part, table in product(BOOSTERS, tables):
        ranker = TreeDirectRanker(part(5)).fit(table, y, qid)
        ranker.predict(table), ranker.predict(table[:40]), ranker.predict(table[:1])
        ranker.score(table, y, qid), ranker.rank(table, qid)
    for type_ in (np.float32, np.float64):  # enough rows to bin them for LightGBM
        many = np.tile(X, (8, 1)).astype(type_), np.tile(y, 8), np.tile(qid, 8)
        TreeDirectRanker(LightGBMTrees(5)).fit(*many)
    for part in BOOSTERS:
        rows = {"eval_set": (X[n:], y[n:], qid[n:])}
        TreeDirectRanker(part(5, early_stopping_rounds=2)).fit(X[:n], y[:n], qid[:n], **rows)
        TreeDirectRanker(part(5, categorical_features=[0, 1])).fit(coarse, y, qid).predict(coarse)
        TreeDirectRanker(part(5, subsample=0.5, colsample_bytree=0.5)).fit(X, y, qid)
        TreeDirectRanker(part(5)).fit(X, y, qid, sample_weight=np.ones(len(y)))
        TreeDirectRanker(part(5), per_level=True).fit(X, y, qid).predict(X)
        TreeDirectRanker(part(5, output="trees")).fit(X, y, qid).predict(X)
    for options in (
        {"precision": "int16"},
        {"precision": "int8"},
        {"grow_policy": "depthwise"},
        {"monotone_constraints": [1] + [0] * (X.shape[1] - 1)},
    ):
        ranker = TreeDirectRanker(HistogramTrees(5, **options)).fit(X, y, qid)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranker.treerank")
        ranker.save(path)
        treerank.load(path).predict(X)


def fit_baselines(X, y, qid):
    """Fit the rankers of the literature that need no torch."""
    for name in BASELINES:
        ranker = getattr(treerank.baselines, name)
        if "neural" not in BASELINES[name] and "sortnet" not in BASELINES[name]:
            ranker().fit(X, y, qid).predict(X)
    LambdaMART(5, subsample_queries=0.5, precision="int16").fit(X, y, qid)


def follow_objectives(y, qid):
    """Ask objectives for derivatives, as fits do, and for values."""
    scores = np.random.default_rng(1).normal(size=len(y))
    for loss, weight in product(("logistic", "half_squared_tanh"), PAIR_WEIGHTS):
        for smoothing in (0.0, 1.0):
            objective = make_objective(y, qid, loss=loss, weight=weight, smoothing=smoothing)
            objective.derivatives(scores)
    for loss, weight in product(PAIR_LOSSES, ("uniform", "query", "ndcg", "map")):
        make_objective(y, qid, loss=loss, weight=weight).derivatives(scores)
    for weight in PAIR_WEIGHTS:
        make_objective(y, qid, weight=weight)(scores)
    for options in ({"k": 10}, {"query_normalization": "equal"}):
        make_objective(y, qid, weight="ndcg", **options).derivatives(scores)
    for loss in LISTWISE:
        make_objective(y, qid, loss=loss).derivatives(scores)


def measure(y, qid):
    """Compute every metric, with and without a cutoff."""
    scores = np.random.default_rng(1).normal(size=len(y))
    for metric, labels in product(METRICS.values(), (y, y.astype(float))):
        metric(labels, scores, qid)
    for name in ("ndcg", "map", "mrr", "p", "err", "recall"):
        get_metric(f"{name}@10")(y, scores, qid)


def read(X, y, qid):
    """Write a LETOR file and read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.txt")
        treerank.write_letor(path, X, y, qid)
        treerank.read_letor(path)


def compile_all(chosen):
    """Do all steps, or the chosen ones; say what the code costs."""
    sizes = []

    def save(file, key, data):
        if file.kernel:
            sizes.append(machine_code.save(file.kernel, key, data))

    SharedCacheFile.save = save
    X, y, qid = make_web_search(50, documents_per_query=20, random_state=0)
    X = X[:, :20]
    steps = {
        "trees": lambda: fit_trees(X, y, qid),
        "objectives": lambda: follow_objectives(y, qid),
        "metrics": lambda: measure(y, qid),
        "reading": lambda: read(X, y, qid),
        "baselines": lambda: fit_baselines(X, y, qid),
        "soft-trees": lambda: TreeDirectRanker(SoftTrees(n_epochs=1)).fit(X, y, qid).predict(X),
    }
    for name in chosen or steps:
        before, start = len(sizes), time.process_time()
        steps[name]()
        seconds, size = time.process_time() - start, sum(sizes[before:]) / 1e6
        print(f"{name:12} {len(sizes) - before:4} kernels {size:5.1f} MB {seconds:4.0f} s CPU")
        sys.stdout.flush()


def main():
    """Start a process for each level, as numba compiles for one processor in a process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", help="some of the steps; all if none is named")
    parser.add_argument("--level", choices=machine_code.TUNED_FOR, help="the level of this process")
    arguments = parser.parse_args()
    if arguments.level:
        return compile_all(arguments.steps)
    for level, processor in machine_code.TUNED_FOR.items():
        features, needed = get_host_cpu_features(), machine_code.LEVELS[level]
        if not all(features.get(name) for name in needed):
            print(f"{level}: left out, as this processor cannot run it", flush=True)
            continue
        print(level, flush=True)
        (machine_code.FOLDER / level).mkdir(parents=True)
        features.update((name, name in needed) for name in features)
        target = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features.flatten()}
        command = [sys.executable, __file__, "--level", level, *arguments.steps]
        subprocess.run(command, env=os.environ | target, check=True)


if __name__ == "__main__":
    main()
