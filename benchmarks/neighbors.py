"""Fits beside other programs: a LightGBM fit of two threads, and fits in several processes.

A fair share is 2: two programs on the same processors. "threads that spin" leaves waiting threads
as the engines let them; treerank sets ``GOMP_SPINCOUNT`` otherwise.
"""

import functools
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np

from . import processes
from .measurements import Measurement

LIGHTGBM = """
import lightgbm, numpy as np
rng = np.random.default_rng(1)
X, y = rng.normal(size=(50_000, 100)).astype(np.float32), rng.normal(size=50_000)
data = lightgbm.Dataset(X, y)
while True:
    lightgbm.train({"num_threads": 2, "verbosity": -1}, data, 100)
"""
#: Prints the wall seconds of some fits; the engines come first where their threads may spin.
FITS = """
import sys, time
name, rows, spins = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
if spins:
    import lightgbm, xgboost
import treerank, lightgbm, xgboost, numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(rows, 136)).astype(np.float32)
y = np.clip(X[:, 0] + rng.normal(size=rows), 0, 4).astype(int)
qid = np.arange(rows) // 120
if name == "LGBMRanker":
    ranker = lightgbm.LGBMRanker(n_estimators=60, verbosity=-1, n_jobs=2)
    fit = lambda: ranker.fit(X, y, group=np.bincount(qid))
else:
    part = getattr(treerank, name)(60, num_leaves=31, learning_rate=0.1, colsample_bytree=1.0)
    ranker = treerank.TreeDirectRanker(part)
    fit = lambda: ranker.fit(X, y, qid)
fit()
began = time.perf_counter()
fit()
print(time.perf_counter() - began)
"""
NAMES = ("LightGBMTrees", "XGBoostTrees", "HistogramTrees", "LGBMRanker")


@contextmanager
def beside():
    """Run a LightGBM fit inside the block."""
    ordinary = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    with subprocess.Popen([sys.executable, "-c", LIGHTGBM], env=ordinary) as process:
        time.sleep(5)
        try:
            yield
        finally:
            process.kill()


def slowdown(name, rows, spins, n_turns):
    """Return the seconds of a fit beside another program over those without."""
    quiet, busy = [], []
    for _ in range(n_turns):
        quiet += processes.run(FITS, name, rows, spins)
        with beside():
            busy += processes.run(FITS, name, rows, spins)
    ratios = np.array(busy, dtype=float) / np.array(quiet, dtype=float)
    return {"ratio": np.median(ratios), "least": ratios.min(), "most": ratios.max()}


def fit_in_worker(name, data):
    """Fit once, threads not given."""
    X, y, qid = data
    if name == "LGBMRanker":
        from lightgbm import LGBMRanker

        LGBMRanker(verbose=-1).fit(X, y, group=np.bincount(qid))
    else:
        from treerank import TreeDirectRanker

        TreeDirectRanker(random_state=0).fit(X, y, qid)


def in_workers(name, n_queries, n_turns):
    """Return the median seconds of four fits in two processes of joblib, as a search has them."""
    import joblib

    from treerank import make_web_search

    data, times = make_web_search(n_queries, documents_per_query=40, random_state=0), []
    with joblib.Parallel(2) as parallel:
        for _ in range(n_turns + 1):
            began = time.perf_counter()
            parallel(joblib.delayed(fit_in_worker)(name, data) for _ in range(4))
            times.append(time.perf_counter() - began)
    return {"seconds": np.median(times[1:])}


def measurements(quick):
    """Yield how much slower fits are beside others."""
    names, rows = (NAMES[:1], 1200) if quick else (NAMES, 48_000)
    for spins in (False,) if quick else (False, True):
        for name in names:
            conditions = {"beside": "a LightGBM fit", "fit": name, "threads that spin": spins}
            measure = functools.partial(slowdown, name, rows, spins, 1 if quick else 3)
            yield Measurement(conditions, measure)
    for name in () if quick else ("TreeDirectRanker", "LGBMRanker"):
        measure = functools.partial(in_workers, name, 400, 3)
        yield Measurement({"four fits in two processes": name}, measure)
