"""Clusters: fits by workers of Dask on this machine, and those of LightGBM and XGBoost.

The documents lie in Parquet files, whose ends cut queries; workers are processes of one thread.
"""

import functools
import hashlib
import re
import tempfile
import time
import warnings
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Thread

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd

from treerank import HistogramTrees, TreeDirectRanker
from treerank.distributed import dask_frames, fit, predict
from treerank.progress import listening

from .processes import peak_MB

LOCAL = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
DOCUMENTS_PER_QUERY = 40
SIZES = {"num_leaves": 31, "learning_rate": 0.1}
#: Seconds after which a fit of another program is given up.
LIMIT = 300


def documents(first, last, features=136):
    """Return some documents as a data frame; those of a query are next to each other."""
    rng = np.random.default_rng(first)
    X = rng.standard_normal((last - first, features), dtype=np.float32)
    y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.standard_normal(len(X))), 0, 4)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(features)])
    return frame.assign(label=y, query=np.arange(first, last) // DOCUMENTS_PER_QUERY)


@functools.cache
def files_of(n_rows, n_files):
    """Return a folder of Parquet files, written one at a time, whose ends cut queries."""
    folder = Path(tempfile.mkdtemp())
    ends = np.arange(1, n_files) * n_rows // n_files
    ends = [0, *(ends // DOCUMENTS_PER_QUERY * DOCUMENTS_PER_QUERY + 13), n_rows]
    for number, (first, last) in enumerate(pairwise(ends)):
        documents(first, last).to_parquet(folder / f"part-{number:04}.parquet")
    return folder


#: Settings of Dask by which its processes take less time beside a fit; the guide advises them.
IN_GUIDE = "Dask as in the guide"
QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}


@contextmanager
def cluster_of(n_workers, limit=0, settings=None):
    """Start a cluster of processes of one thread, with further settings of Dask."""
    with dask.config.set({"distributed.worker.memory.spill": False} | (settings or {})):
        options = LOCAL | {"n_workers": n_workers, "memory_limit": limit}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


def ranker_of(n_trees, n_jobs=None):
    """Return a ranker of trees of one size."""
    part = HistogramTrees(
        n_trees, n_jobs=n_jobs, colsample_bytree=1.0, min_child_samples=20, **SIZES
    )
    return TreeDirectRanker(part, random_state=0)


def compile_kernels(n_workers):
    """Fit to a few documents, so that the kernels are compiled in all processes."""
    fit(ranker_of(2), dd.from_pandas(documents(0, 2_000), npartitions=n_workers))


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


def peaks_of(client):
    """Return the peak of memory of the largest worker in MB.

    Workers are started for each measurement. The client's peak would be that of all measurements
    so far.
    """
    return {"worker_MB": max(client.run(peak_MB).values())}


@contextmanager
def watching_rows():
    """Note the seconds until the workers have their rows, of each fit within the block."""
    shuffled, heard = dask_frames._Fit.shuffled, []

    def watched(self, *arguments):
        began = time.perf_counter()
        parts = shuffled(self, *arguments)
        heard.append(time.perf_counter() - began)
        return parts

    dask_frames._Fit.shuffled = watched
    try:
        yield heard
    finally:
        dask_frames._Fit.shuffled = shuffled


def by_workers(n_rows, n_files, n_trees, n_workers, limit="0", n_turns=1, settings=None):
    """Return the seconds of a fit by workers, those until they have the rows, and the largest peak.

    Seconds are medians of the turns. ``settings`` are further ones of Dask.
    """
    folder = files_of(n_rows, n_files)
    with cluster_of(n_workers, limit, settings) as client:
        compile_kernels(n_workers)
        fit_files = functools.partial(fit, ranker_of(n_trees), dd.read_parquet(folder))
        with watching_rows() as moved:
            turns = [seconds(fit_files) for _ in range(n_turns)]
        took, of_tree = np.median([turn[1:] for turn in turns], axis=0).tolist()
        after = [turn[1] - rows for turn, rows in zip(turns, moved, strict=True)]
        values = {"seconds": took, "seconds after the rows": float(np.median(after))}
        values |= {"seconds of rows": float(np.median(moved)), "seconds a tree": of_tree}
        return values | peaks_of(client) | {"model": model_of(turns[-1][0])[:8]}


def by_workers_between_threads(n_rows, n_files, n_trees, number, n_turns):
    """Return the values of :func:`by_workers`, also with ``QUIET``, and those of as many threads.

    Threads of one process fit before there is a cluster and after it has ended, so that neither
    slows the other down, and a machine that becomes slower meanwhile slows down both.
    """
    by_threads = functools.partial(turns_of_threads, n_rows, n_files, n_trees, number)
    before = by_threads(-(-n_turns // 2))
    values, quiet = (
        by_workers(n_rows, n_files, n_trees, number, n_turns=n_turns, settings=settings)
        for settings in (None, QUIET)
    )
    turns = before + by_threads(-(-n_turns // 2))
    models = {values["model"], quiet["model"]} | {model_of(turn[0])[:8] for turn in turns}
    if len(models) > 1:
        raise RuntimeError(f"all fits must produce one model; they produced {sorted(models)}.")
    took, of_tree = np.median([turn[1:] for turn in turns], axis=0).tolist()
    values |= {"seconds of threads": took, "seconds a tree of threads": of_tree}
    return values | {f"{name}, {IN_GUIDE}": value for name, value in quiet.items()}


def turns_of_threads(n_rows, n_files, n_trees, n_jobs, n_turns):
    """Fit several times by threads of one process; return what :func:`seconds` returns of each."""
    frame = pd.read_parquet(files_of(n_rows, n_files))
    X, y, qid = frame.drop(columns=["label", "query"]), frame["label"], frame["query"]
    ranker_of(n_trees, n_jobs).fit(X[:2_000], y[:2_000], qid[:2_000])
    return [seconds(lambda: ranker_of(n_trees, n_jobs).fit(X, y, qid)) for _ in range(n_turns)]


def predicted(n_rows, n_files, n_trees, n_workers, limit="0"):
    """Return the seconds of scoring all documents by workers, and the peak of memory."""
    folder = files_of(n_rows, n_files)
    first = pd.read_parquet(sorted(folder.glob("*.parquet"))[0])
    X, y, qid = first.drop(columns=["label", "query"]), first["label"], first["query"]
    ranker = ranker_of(n_trees).fit(X, y, qid)
    with cluster_of(n_workers, limit) as client:
        predict(ranker, dd.read_parquet(folder).partitions[:1]).compute()
        scores, took, _ = seconds(lambda: predict(ranker, dd.read_parquet(folder)).compute())
        return {"rows": len(scores), "seconds": took} | peaks_of(client)


def fit_lightgbm(client, folder, n_trees):
    """Fit by ``lightgbm.dask``; each partition tells the sizes of its own pieces of queries."""
    from lightgbm.dask import DaskLGBMRanker

    frame = dd.read_parquet(folder).persist()
    distributed.wait(frame)
    X = frame.drop(columns=["label", "query"])
    meta = pd.Series(dtype="int64", name="group")
    group = frame.map_partitions(_sizes_of_queries, meta=meta)
    ranker = DaskLGBMRanker(
        client=client, n_estimators=n_trees, tree_learner="data", verbosity=-1, **SIZES
    )
    began = time.perf_counter()
    ranker.fit(X, frame["label"], group=group)
    took = time.perf_counter() - began
    text = ranker.booster_.model_to_string().split("end of trees")[0]
    return took, text, int(group.count().compute())


def _sizes_of_queries(part):
    """Return the number of documents of each query of a partition, in the order of the rows."""
    return part.groupby("query", sort=True)["query"].count().rename("group").reset_index(drop=True)


def fit_xgboost(client, folder, n_trees):
    """Fit by ``xgboost.dask``, which moves whole queries to the workers; None after ``LIMIT``."""
    import xgboost.dask

    frame = dd.read_parquet(folder).persist()
    distributed.wait(frame)
    X, y = frame.drop(columns=["label", "query"]), frame["label"]
    began = time.perf_counter()
    ranker = xgboost.dask.DaskXGBRanker(
        n_estimators=n_trees,
        max_leaves=31,
        grow_policy="lossguide",
        learning_rate=0.1,
        allow_group_split=False,
        objective="rank:ndcg",
    )
    ranker.client = client
    thread = Thread(target=ranker.fit, args=(X, y), kwargs={"qid": frame["query"]}, daemon=True)
    thread.start()
    thread.join(LIMIT)
    if thread.is_alive():
        return None, "", None
    took = time.perf_counter() - began
    trees = "".join(ranker.get_booster().get_dump(with_stats=True))
    return took, trees, None


def fit_ours(client, folder, n_trees):
    """Fit by this package; Dask reads the rows within the time."""
    frame = dd.read_parquet(folder).persist()
    distributed.wait(frame)
    fitted, took, _ = seconds(lambda: fit(ranker_of(n_trees), frame, client=client))
    return took, model_of(fitted), None


PROGRAMS = {"treerank": fit_ours, "lightgbm.dask": fit_lightgbm, "xgboost.dask": fit_xgboost}


def by_program(program, n_rows, n_files, n_trees, n_workers):
    """Return the seconds of a fit, a hash of the model, and how many queries it saw whole.

    The workers hold the partitions already.
    """
    n_queries = -(-n_rows // DOCUMENTS_PER_QUERY)
    with cluster_of(n_workers) as client, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if program == "treerank":
            compile_kernels(n_workers)
        took, model, n_groups = PROGRAMS[program](client, files_of(n_rows, n_files), n_trees)
    warned = {str(each.message) for each in caught if re.search("quer|group|qid", str(each))}
    return {
        "seconds": took,
        "queries": n_queries,
        "groups": n_groups or n_queries,
        "model": hashlib.sha256(model.encode()).hexdigest()[:8],
        "warnings": len(warned),
    }
