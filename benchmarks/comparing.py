"""Comparing rankers: NDCG@10 of every test query, and differences with their intervals.

Values are those of ``NDCG(k=10)``: gains 2^y - 1, scores that tie averaged over their orders,
queries without a relevant document left out. Differences are paired over queries, with a bootstrap
interval of 95 %, which takes the fitted models as given.
"""

import functools
import time
import warnings

import numpy as np

from treerank import NDCG
from treerank.statistics import bootstrap_interval

from . import data, rankers

METRIC = NDCG(k=10)


@functools.cache
def by_query(options, data_set: str, ranker: str, seed: int, stopped: bool):
    """Return NDCG@10 of all test queries that have an answer, and the processor seconds of fits."""
    values, seconds = [], 0.0
    if data_set != data.TINY:
        by_query(options, data.TINY, ranker, seed, stopped)  # compiles
    for train, validation, test in data.folds(options, data_set, validation=stopped):
        began = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            predict = rankers.RANKERS[ranker](train, validation, seed)
        seconds += time.process_time() - began
        values.append(METRIC.per_query(test[1], predict(test[0]), test[2]))
    values = np.concatenate(values)
    return values[~np.isnan(values)], seconds


def mean_of(options, data_set: str, ranker: str, seed: int = 0, stopped: bool = False) -> dict:
    """Return the mean NDCG@10, the number of test queries, and the processor seconds."""
    values, seconds = by_query(options, data_set, ranker, seed, stopped)
    return {"ndcg@10": values.mean(), "n_queries": len(values), "cpu_seconds": seconds}


def lead_of(options, data_sets, ranker: str, peer: str, seed: int = 0, stopped: bool = False):
    """Return by how much a ranker leads a peer over the queries of data sets, with the interval."""
    found = [
        by_query(options, name, ranker, seed, stopped)[0]
        - by_query(options, name, peer, seed, stopped)[0]
        for name in data_sets
    ]
    interval = bootstrap_interval(np.concatenate(found))
    return {
        "lead": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "n_queries": sum(map(len, found)),
    }
