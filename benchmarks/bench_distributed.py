"""What does a fit take by two workers of one thread, by one process of two threads, and of one?

Each fit runs in a fresh process or cluster on this machine, after a small one that compiles. The
rows of the workers come from Parquet files, so their time includes reading and the shuffle; "rows"
is the part of it until the first worker has its rows.
"""

import argparse
import tempfile
import time

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
from timing import say_versions

from treerank import HistogramTrees, TreeDirectRanker
from treerank.distributed import fit
from treerank.progress import listening

LOCAL = {"memory_limit": 0, "dashboard_address": None, "host": "127.0.0.1"}


def documents(rows, features):
    """Return documents in queries of 40, as a data frame."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features), dtype=np.float32)
    y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.standard_normal(rows)), 0, 4)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(features)])
    return frame.assign(label=y, query=np.arange(rows) // 40)


def trees(n_trees, n_jobs):
    """Return a ranker of trees of one size."""
    sizes = {"num_leaves": 31, "learning_rate": 0.1, "colsample_bytree": 1.0}
    part = HistogramTrees(n_trees, n_jobs=n_jobs, min_child_samples=20, **sizes)
    return TreeDirectRanker(part, random_state=0)


def seconds(run):
    """Return the seconds of a fit, and those until its first tree is grown."""
    heard, began = [], time.perf_counter()
    with listening(lambda *progress: heard.append(time.perf_counter())):
        run()
    return time.perf_counter() - began, heard[0] - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()
    say_versions("xgboost", "dask")
    frame = documents(arguments.rows, arguments.features)
    small = documents(2_000, arguments.features)
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(np.array_split(np.arange(len(frame)), arguments.files)):
            frame.iloc[rows].to_parquet(f"{folder}/part-{number:04}.parquet")
        for n_workers in arguments.workers:
            options = LOCAL | {"n_workers": n_workers, "threads_per_worker": 1}
            with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
                fit(trees(2, None), dd.from_pandas(small, npartitions=n_workers))
                ranker = trees(arguments.trees, None)
                took, first = seconds(lambda r=ranker: fit(r, dd.read_parquet(folder)))
            print(f"{n_workers} workers: {took:.1f} s, first tree after {first:.1f} s", flush=True)
    X, y, qid = frame.drop(columns=["label", "query"]), frame["label"], frame["query"]
    for n_threads in (1, 2):
        ranker = trees(arguments.trees, n_threads)
        took, first = seconds(lambda r=ranker: r.fit(X, y, qid))
        print(f"{n_threads} threads: {took:.1f} s, first tree after {first:.1f} s", flush=True)


if __name__ == "__main__":
    main()
