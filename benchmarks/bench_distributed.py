"""What does a fit take by workers of Dask, beside one process and beside LightGBM and XGBoost?

One command for each figure; all of them run on this machine, whose workers have one thread each:

    python benchmarks/bench_distributed.py speed --rows 1000000
    python benchmarks/bench_distributed.py memory --rows 10000000 --files 1000 --limit 10GiB
    python benchmarks/bench_distributed.py predictions --rows 10000000 --files 1000 --limit 10GiB
    python benchmarks/bench_distributed.py others --rows 1000000

The documents lie in Parquet files, whose ends cut queries. "speed" compares workers with threads of
one process; "rows" are the seconds in which Dask reads and shuffles them, which it does alone
before. "memory" and "predictions" report the largest peak of a worker, and that of the client.
"others" fits ``lightgbm.dask`` and ``xgboost.dask`` on the same cluster, with one worker and with
all, and tells whether both models are the same.
"""

import argparse
import hashlib
import json
import re
import resource
import tempfile
import time
import warnings
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
from timing import say_versions

from treerank import HistogramTrees, TreeDirectRanker
from treerank.distributed import fit, predict
from treerank.progress import listening

LOCAL = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
DOCUMENTS_PER_QUERY = 40
SIZES = {"num_leaves": 31, "learning_rate": 0.1}


def documents(first, last, features):
    """Return some documents as a data frame; those of a query are next to each other."""
    rng = np.random.default_rng(first)
    X = rng.standard_normal((last - first, features), dtype=np.float32)
    y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.standard_normal(len(X))), 0, 4)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(features)])
    return frame.assign(label=y, query=np.arange(first, last) // DOCUMENTS_PER_QUERY)


def write_files(folder, arguments):
    """Write the documents, one file at a time, unless the folder holds some."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("*.parquet")):
        return
    ends = np.arange(1, arguments.files) * arguments.rows // arguments.files
    ends = [0, *(ends // DOCUMENTS_PER_QUERY * DOCUMENTS_PER_QUERY + 13), arguments.rows]
    for number, (first, last) in enumerate(pairwise(ends)):
        rows = documents(first, last, arguments.features)
        rows.to_parquet(folder / f"part-{number:04}.parquet")


@contextmanager
def cluster_of(n_workers, limit=0):
    """Start a cluster of processes of one thread."""
    with dask.config.set({"distributed.worker.memory.spill": False}):
        options = LOCAL | {"n_workers": n_workers, "memory_limit": limit}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


def ranker_of(arguments, n_jobs=None):
    """Return a ranker of trees of one size."""
    part = HistogramTrees(
        arguments.trees, n_jobs=n_jobs, colsample_bytree=1.0, min_child_samples=20, **SIZES
    )
    return TreeDirectRanker(part, random_state=0)


def compile_kernels(arguments, n_workers):
    """Fit to a few documents, so that the kernels are compiled in all processes."""
    small = dd.from_pandas(documents(0, 2_000, arguments.features), npartitions=n_workers)
    fit(ranker_of(argparse.Namespace(trees=2)), small)


def seconds(run):
    """Return what a function returns, its seconds, and those of each tree but the first."""
    heard, began = [], time.perf_counter()
    with listening(lambda *progress: heard.append(time.perf_counter())):
        result = run()
    ended = time.perf_counter()
    per_tree = (heard[-1] - heard[0]) / max(len(heard) - 1, 1) if heard else np.nan
    return result, ended - began, per_tree


def model_of(fitted):
    """Return a hash of the trees."""
    return hashlib.sha256(repr(fitted.feature_part_.get_state()["model"]).encode()).hexdigest()


def report(name, **values):
    """Print one line of JSON."""
    rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in values.items()}
    print(json.dumps({"name": name} | rounded), flush=True)


def peak():
    """Return the peak of the memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def peaks_of(client):
    """Return the peaks of memory of the workers and of this process in MB."""
    return {"worker_MB": max(client.run(peak).values()), "client_MB": peak()}


def seconds_of_rows(folder, n_workers):
    """Return the seconds in which Dask reads the rows and shuffles them."""
    began = time.perf_counter()
    frame = dd.read_parquet(folder)
    distributed.wait(frame.shuffle("query", npartitions=n_workers, shuffle_method="p2p").persist())
    return time.perf_counter() - began


def speed(folder, arguments):
    """Whole fits, and trees, of workers of one thread and of threads of one process."""
    for n_workers in arguments.workers:
        with cluster_of(n_workers):
            compile_kernels(arguments, n_workers)
            moved = [seconds_of_rows(folder, n_workers) for _ in range(2)][1]  # files are cached
            fitted, took, tree = seconds(lambda: fit(ranker_of(arguments), dd.read_parquet(folder)))
            values = {"seconds": took, "rows": moved, "after_rows": took - moved, "per_tree": tree}
            report(f"{n_workers} workers", **values, model=model_of(fitted)[:8])
    frame = pd.read_parquet(folder)
    X, y, qid = frame.drop(columns=["label", "query"]), frame["label"], frame["query"]
    for n_jobs in (1, 2):
        ranker_of(arguments, n_jobs).fit(X[:2_000], y[:2_000], qid[:2_000])
        ranker = ranker_of(arguments, n_jobs)
        fitted, took, tree = seconds(lambda ranker=ranker: ranker.fit(X, y, qid))
        report(f"{n_jobs} threads", seconds=took, per_tree=tree, model=model_of(fitted)[:8])


def memory(folder, arguments):
    """A fit by workers whose memory is limited, from files that no process reads as a whole."""
    for n_workers in arguments.workers:
        with cluster_of(n_workers, arguments.limit) as client:
            compile_kernels(arguments, n_workers)
            _, took, tree = seconds(lambda: fit(ranker_of(arguments), dd.read_parquet(folder)))
            report(f"{n_workers} workers", seconds=took, per_tree=tree, **peaks_of(client))


def predictions(folder, arguments):
    """Scores of all documents by workers whose memory is limited."""
    first = pd.read_parquet(sorted(folder.glob("*.parquet"))[0])
    X, y, qid = first.drop(columns=["label", "query"]), first["label"], first["query"]
    ranker = ranker_of(arguments).fit(X, y, qid)
    for n_workers in arguments.workers:
        with cluster_of(n_workers, arguments.limit) as client:
            predict(ranker, dd.read_parquet(folder).partitions[:1]).compute()
            scores, took, _ = seconds(lambda: predict(ranker, dd.read_parquet(folder)).compute())
            report(f"{n_workers} workers", rows=len(scores), seconds=took, **peaks_of(client))


def fit_lightgbm(client, folder, arguments):
    """Fit by ``lightgbm.dask``; each partition tells the sizes of its own pieces of queries."""
    from lightgbm.dask import DaskLGBMRanker

    frame = dd.read_parquet(folder).persist()
    distributed.wait(frame)
    X = frame.drop(columns=["label", "query"])
    meta = pd.Series(dtype="int64", name="group")
    group = frame.map_partitions(_sizes_of_queries, meta=meta)
    ranker = DaskLGBMRanker(
        client=client, n_estimators=arguments.trees, tree_learner="data", verbosity=-1, **SIZES
    )
    began = time.perf_counter()
    ranker.fit(X, frame["label"], group=group)
    took = time.perf_counter() - began
    text = ranker.booster_.model_to_string().split("end of trees")[0]
    return took, text, int(group.count().compute())


def _sizes_of_queries(part):
    """Return the number of documents of each query of a partition, in the order of the rows."""
    return part.groupby("query", sort=True)["query"].count().rename("group").reset_index(drop=True)


def fit_xgboost(client, folder, arguments):
    """Fit by ``xgboost.dask``, which moves whole queries to the workers."""
    import xgboost.dask

    frame = dd.read_parquet(folder).persist()
    distributed.wait(frame)
    X, y = frame.drop(columns=["label", "query"]), frame["label"]
    began = time.perf_counter()
    ranker = xgboost.dask.DaskXGBRanker(
        n_estimators=arguments.trees,
        max_leaves=31,
        grow_policy="lossguide",
        learning_rate=0.1,
        allow_group_split=False,
        objective="rank:ndcg",
    )
    ranker.client = client
    ranker.fit(X, y, qid=frame["query"])
    took = time.perf_counter() - began
    trees = "".join(ranker.get_booster().get_dump(with_stats=True))
    return took, trees, None


def fit_ours(client, folder, arguments):
    """Fit by this package; Dask reads the rows within the time."""
    frame = dd.read_parquet(folder).persist()
    distributed.wait(frame)
    fitted, took, _ = seconds(lambda: fit(ranker_of(arguments), frame, client=client))
    return took, model_of(fitted), None


def others(folder, arguments):
    """Three packages on the same clusters, from partitions that the workers hold already."""
    fits = {"treerank": fit_ours, "lightgbm.dask": fit_lightgbm, "xgboost.dask": fit_xgboost}
    n_queries = -(-arguments.rows // DOCUMENTS_PER_QUERY)
    for name, run in fits.items():
        models = {}
        for n_workers in arguments.workers:
            with cluster_of(n_workers) as client, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if name == "treerank":
                    compile_kernels(arguments, n_workers)
                took, models[n_workers], n_groups = run(client, folder, arguments)
            told = {str(each.message) for each in caught if re.search("quer|group|qid", str(each))}
            values = {"seconds": took, "queries": n_queries, "groups": n_groups or n_queries}
            report(f"{name}, {n_workers} workers", **values, warnings=sorted(told))
        report(name, is_the_model_of_one_worker=len({*models.values()}) == 1)


FIGURES = {each.__name__: each for each in (speed, memory, predictions, others)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--limit", default="0", help="memory of each worker, such as 10GiB")
    parser.add_argument("--data", type=Path, help="folder for the files, which are kept there")
    arguments = parser.parse_args()
    say_versions("dask", "lightgbm", "xgboost")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary, "train")
        write_files(folder, arguments)
        FIGURES[arguments.figure](folder, arguments)


if __name__ == "__main__":
    main()
