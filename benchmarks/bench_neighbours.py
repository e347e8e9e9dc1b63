"""How much slower is a fit beside other programs? A LightGBM fit of two threads, or busy processes.

Every figure is the median of fits in one process, in turn quiet and beside. The neighbours run at
the same priority and at the lowest. A fair share is 2: two programs on the same processors.
``--spins`` sets how long waiting threads spin; ``keep`` leaves it to the runtimes.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
from timing import say_versions

LIGHTGBM = """
import lightgbm, numpy as np
rng = np.random.default_rng(1)
X, y = rng.normal(size=(50_000, 100)).astype(np.float32), rng.normal(size=50_000)
data = lightgbm.Dataset(X, y)
while True:
    lightgbm.train({"num_threads": 2, "verbosity": -1}, data, 100)
"""
BUSY = "while True: pass"
#: What runs beside: the script, how many processes, and their priority.
NEIGHBOURS = {
    "LightGBM": (LIGHTGBM, 1, 0),
    "LightGBM, low": (LIGHTGBM, 1, 19),
    "1 busy": (BUSY, 1, 0),
    "2 busy": (BUSY, 2, 0),
    "4 busy": (BUSY, 4, 0),
    "4 busy, low": (BUSY, 4, 19),
}
RANKERS = ["LightGBMTrees", "XGBoostTrees", "HistogramTrees", "LGBMRanker", "XGBRanker", "ndcg"]


@contextmanager
def beside(script, n_processes, priority):
    """Run processes inside the block, all of them at work."""
    command = ["nice", "-n", str(priority), sys.executable, "-c", script]
    ordinary = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    # Of the same session: the system shares the processors by session before it looks at priority.
    processes = [subprocess.Popen(command, env=ordinary) for _ in range(n_processes)]
    time.sleep(5 if script == LIGHTGBM else 0.5)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def work_of(name, X, y, qid):
    """Return a function that fits a ranker, or computes derivatives."""
    import lightgbm
    import xgboost

    import treerank

    size = np.bincount(qid)
    if name == "LGBMRanker":
        ranker = lightgbm.LGBMRanker(n_estimators=60, verbosity=-1, n_jobs=2)
        return lambda: ranker.fit(X, y, group=size)
    if name == "XGBRanker":
        ranker = xgboost.XGBRanker(n_estimators=60, n_jobs=2)
        return lambda: ranker.fit(X, y, group=size)
    if name == "ndcg":
        objective = treerank.make_objective(y, qid, loss="logistic", weight="ndcg")
        return lambda: [objective.derivatives(X[:, 0].astype(float)) for _ in range(50)]
    part = getattr(treerank, name)(n_estimators=60)
    ranker = treerank.TreeDirectRanker(feature_part=part)
    return lambda: ranker.fit(X, y, qid)


def seconds(function):
    """Return wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spins", default="default", help="a number, 'keep' or 'default'")
    parser.add_argument("--rows", type=int, default=48_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--rankers", nargs="+", default=RANKERS)
    parser.add_argument("--neighbours", nargs="+", default=["LightGBM", "LightGBM, low"])
    arguments = parser.parse_args()
    if arguments.spins.isdecimal():
        os.environ["GOMP_SPINCOUNT"] = arguments.spins
    elif arguments.spins == "keep":
        import lightgbm  # noqa: F401  # before treerank, whose setting then comes too late
        import torch  # noqa: F401
        import xgboost  # noqa: F401
    import treerank  # noqa: F401  # before the engines, whose threads read what it sets

    say_versions("lightgbm", "xgboost", "numba")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(arguments.rows, 136)).astype(np.float32)
    y = np.clip(X[:, 0] + rng.normal(size=len(X)), 0, 4).astype(int)
    qid = np.arange(len(X)) // 120
    for name in arguments.rankers:
        work = work_of(name, X, y, qid)
        work()
        quiet, rest = [], {neighbour: [] for neighbour in arguments.neighbours}
        for _ in range(arguments.repetitions):
            quiet.append(seconds(work))
            for neighbour, times in rest.items():
                with beside(*NEIGHBOURS[neighbour]):
                    times.append(seconds(work))
        wall, cpu = np.median(quiet, axis=0)
        line = f"{name:16} quiet {wall:6.2f} s (CPU {cpu:6.2f})"
        for neighbour, times in rest.items():
            beside_wall, beside_cpu = np.median(times, axis=0)
            ratios = f"{beside_wall / wall:5.2f}x wall {beside_cpu / cpu:5.2f}x CPU"
            line += f"; {neighbour}: {beside_wall:6.2f} s, {ratios}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
