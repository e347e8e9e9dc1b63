"""How long does one query wait for its scores? 100 and 1,000 documents, one and several threads.

The same trees, trained by LightGBM: scored by LightGBM itself, by our scorer, by the C that we
export, by onnxruntime and by treelite. With several threads, each scores queries of its own; the
times are then those of single calls, too.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import lightgbm
import numpy as np
from latency_ways import WAYS
from timing import say_versions

from treerank import read_forest
from treerank.rankers import ForestRanker


def train(n_trees, n_leaves, n_features, path):
    random = np.random.default_rng(0)
    X = random.normal(size=(10_000, n_features))
    y = np.clip(np.round(X[:, :10].sum(axis=1) / 2 + 2), 0, 4)
    params = {"objective": "lambdarank", "num_leaves": n_leaves, "verbosity": -1}
    data = lightgbm.Dataset(X, y, group=np.full(100, 100))
    lightgbm.train(params, data, n_trees).save_model(path)
    return X


def microseconds(score, query, n_calls):
    """Return the time of each of some calls."""
    times = np.empty(n_calls)
    for i in range(n_calls):
        begin = time.perf_counter()
        score(query)
        times[i] = time.perf_counter() - begin
    return 1e6 * times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each line, at most")
    arguments = parser.parse_args()
    say_versions("lightgbm", "numba", "numpy")
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "model.txt"
        X = train(arguments.trees, arguments.leaves, arguments.features, path)
        ranker = ForestRanker(read_forest(path), n_jobs=1)
        for n_documents in (100, 1000):
            compare(ranker, folder, X[:n_documents].copy(), arguments)


def compare(ranker, folder, query, arguments):
    """Print the times of all ways for one query."""
    expected, theirs = ranker.predict(query), {}
    for way, make in WAYS.items():
        try:
            score = make(ranker, folder)
        except ImportError as error:
            print(f"{way:26} {error}")
            continue
        assert (score(query) == expected).all(), way
        most = 1e6 * arguments.seconds / microseconds(score, query, 3).min()
        n_calls = int(np.clip(most, 10, 2000))
        for n_jobs in (1, arguments.jobs):
            with ThreadPoolExecutor(n_jobs) as pool:
                calls = [pool.submit(microseconds, score, query, n_calls) for _ in range(n_jobs)]
            times = np.quantile(np.concatenate([call.result() for call in calls]), [0, 0.5, 0.99])
            theirs.setdefault(n_jobs, times)
            ratios = " ".join(f"{ratio:5.2f}" for ratio in times / theirs[n_jobs])
            print(
                f"{len(query):5} documents, {n_jobs} threads, {way:26} "
                f"least {times[0]:8.0f} p50 {times[1]:8.0f} p99 {times[2]:8.0f} us, "
                f"of LightGBM's {ratios}",
                flush=True,
            )


if __name__ == "__main__":
    main()
