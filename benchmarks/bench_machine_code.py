"""Is the machine code that a wheel brings as fast as what numba compiles for the machine?

A process for each compiles the same kernels: for the machine, and for levels of x86-64 as
``.ci/wheel`` does, or tuned for another processor (``--tuned-for skylake-avx512``). They work by
turns, with one thread. Printed are the medians of CPU time, and of its ratio to that of the first.
"""

import argparse
import os
import subprocess
import sys

import numpy as np
from llvmlite.binding import get_host_cpu_features
from timing import say_versions

from treerank.numerics.machine_code import LEVELS, TUNED_FOR

WORKER = """
import sys, time
import numpy as np
from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker
from treerank import make_objective, make_web_search

X, y, qid = make_web_search(200, random_state=0)
X, scores = X.astype(np.float32), np.random.default_rng(0).normal(size=len(y))
logistic, ndcg = make_objective(y, qid), make_objective(y, qid, weight="ndcg")
tanh = make_objective(y, qid, loss="half_squared_tanh", weight="map")
histogram = TreeDirectRanker(HistogramTrees(20)).fit(X, y, qid)
tasks = {
    "logistic": lambda: [logistic.derivatives(scores) for _ in range(20)],
    "logistic x delta NDCG": lambda: [ndcg.derivatives(scores) for _ in range(10)],
    "half_squared_tanh x delta MAP": lambda: [tanh.derivatives(scores) for _ in range(10)],
    "fit of HistogramTrees": lambda: TreeDirectRanker(HistogramTrees(20)).fit(X, y, qid),
    "its prediction": lambda: [histogram.predict(X) for _ in range(3)],
    "fit of LightGBMTrees": lambda: TreeDirectRanker(LightGBMTrees(20)).fit(X, y, qid),
}
for task in tasks.values():
    task()
print(*tasks, sep="|", flush=True)
for name in sys.stdin:
    start = time.process_time()
    tasks[name.strip()]()
    print(time.process_time() - start, flush=True)
"""


def started(target):
    """Start a worker that compiles for a target; return it with the names of its tasks."""
    threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER],
        env=os.environ | threads | target,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return worker, worker.stdout.readline().strip().split("|")


def seconds(worker, name):
    """Return the CPU seconds of a task."""
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def target(level, processor):
    """Return the settings with which numba compiles for a level."""
    features = get_host_cpu_features()
    features.update((name, name in LEVELS[level]) for name in features)
    return {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features.flatten()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--levels", nargs="*", default=list(LEVELS), choices=LEVELS)
    parser.add_argument("--tuned-for", help="a processor as LLVM names it")
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    say_versions("numba", "llvmlite", "lightgbm")
    targets = {"this machine": {}}
    for level in arguments.levels:
        processor = arguments.tuned_for or TUNED_FOR[level]
        targets[f"{level} ({processor})"] = target(level, processor)
    workers = {name: started(settings) for name, settings in targets.items()}
    [_, tasks], *_ = workers.values()
    for task in tasks:
        rounds = np.array(
            [
                [seconds(worker, task) for worker, _ in workers.values()]
                for _ in range(arguments.repetitions)
            ]
        )
        ratios = rounds / rounds[:, :1]
        for name, used, ratio in zip(targets, *np.median([rounds, ratios], axis=1), strict=True):
            print(f"{task:30} {name:24} {1e3 * used:8.1f} ms CPU {ratio:6.3f}")


if __name__ == "__main__":
    main()
