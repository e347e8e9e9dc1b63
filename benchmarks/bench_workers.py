"""Do fits in several worker processes slow each other down? Ours and LGBMRanker, threads not given.

As in a search with ``n_jobs=2``. joblib tells each worker its share of the cores. If a worker takes
all cores nevertheless, the processes wait for each other's threads.
"""

import argparse
import time

import joblib
import lightgbm
import numpy as np
from timing import say_versions

from treerank import TreeDirectRanker
from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.trees.lightgbm import LightGBMTrees


def fit_ours(data, n_jobs):
    """Fit once and return the CPU seconds."""
    X, y, qid = data
    started = time.process_time()
    TreeDirectRanker(LightGBMTrees(n_jobs=n_jobs), random_state=0).fit(X, y, qid)
    return time.process_time() - started


def fit_lightgbm(data, n_jobs):
    """Fit once and return the CPU seconds."""
    X, y, qid = data
    started = time.process_time()
    lightgbm.LGBMRanker(n_jobs=n_jobs, verbose=-1).fit(X, y, group=np.bincount(qid))
    return time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--fits", type=int, default=4, help="in one go")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    say_versions("joblib", "lightgbm")
    data = make_web_search(arguments.queries, documents_per_query=40, random_state=0)
    with joblib.Parallel(arguments.workers) as parallel:
        for fit in (fit_ours, fit_lightgbm):  # workers import and compile
            parallel(joblib.delayed(fit)(data, 1) for _ in range(arguments.workers))
        for turn in range(arguments.repetitions):
            for fit in (fit_ours, fit_lightgbm):
                for n_jobs in (None, 1):
                    started = time.perf_counter()
                    cpu = parallel(joblib.delayed(fit)(data, n_jobs) for _ in range(arguments.fits))
                    wall = time.perf_counter() - started
                    how = f"{turn + 1}: {fit.__name__}, n_jobs={n_jobs}"
                    print(f"{how:32} {wall:7.2f} s wall {sum(cpu):7.2f} s CPU", flush=True)


if __name__ == "__main__":
    main()
