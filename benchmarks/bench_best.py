"""Is TreeDirectRanker.best ahead of other boosted rankers?

NDCG@10 of every test query, for several seeds; queries without a relevant document are left out.
Sets are LETOR folds, ``clueweb09`` or an ``msrd.npz``, where folds 0 and 1 train, 2 validates and
the others test. All rankers get the same trees and stop early on the validation part, except the
best one, which stops on queries that it leaves out. ``--refit`` gives all rankers the same labels:
they learn from both parts, the best one at once, the others with as many trees as early stopping
on the validation part keeps. Results go to a folder, and a second run measures only what is missing
there.
"""

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import quality_rankers
from bench_quality import NDCG_AT_10
from best_rankers import LEAVES, MSRD, RANKERS, REFITTED, SEARCHED, parts_of
from timing import say_versions

from treerank.statistics import bootstrap_interval, randomization_test


def measure(name, parts, label, seed):
    """Return NDCG@10 of each test query, followed by the CPU seconds of all fits."""
    quality_rankers.LEAVES = LEAVES[name == MSRD]
    values, seconds = [], 0.0
    for train, valid, test in parts:
        start = time.process_time()
        predict = (RANKERS | SEARCHED | REFITTED)[label](train, valid, seed)
        seconds += time.process_time() - start
        values.append(NDCG_AT_10.per_query(test[1], predict(test[0]), test[2]))
    return np.append(np.concatenate(values), seconds)


def stored(arguments, name, label, seed):
    """Return what was measured, now or earlier."""
    path = arguments.results / f"{name}-{''.join(filter(str.isalnum, label))}-{seed}.npy"
    if not path.exists():
        np.save(path, measure(name, parts_of(name, arguments.data), label, seed))
    return np.load(path)


def say_differences(found):
    """Print the lead of each best ranker over all queries, given values by ranker and data set."""
    pooled = {k: np.concatenate([v[:-1] for v in sets.values()]) for k, sets in found.items()}
    kept = ~np.isnan(next(iter(pooled.values())))
    for best, label in itertools.permutations(pooled, 2):
        if best.startswith("best"):
            a, b = pooled[best][kept], pooled[label][kept]
            difference, p_value = bootstrap_interval(a - b), randomization_test(a, b).p_value
            print(f"{best} - {label:34} {np.mean(a - b):+.4f} {difference}, p = {p_value:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["mq2008", "ohsumed", "clueweb09"])
    parser.add_argument("--rankers", nargs="+", choices=[*RANKERS, *SEARCHED, *REFITTED])
    parser.add_argument("--refit", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost", "catboost")
    arguments.results.mkdir(exist_ok=True)
    labels = arguments.rankers or list(REFITTED if arguments.refit else RANKERS)
    found = {label: {} for label in labels}
    for name in arguments.sets:
        for label in labels:
            seeds = [stored(arguments, name, label, seed) for seed in range(arguments.seeds)]
            found[label][name] = np.mean(seeds, axis=0)
            mean, seconds = np.nanmean(found[label][name][:-1]), found[label][name][-1]
            print(f"{name:10} {label:34} {mean:.4f} {seconds:8.1f} s CPU", flush=True)
    for label in labels:
        means = [np.nanmean(values[:-1]) for values in found[label].values()]
        print(f"mean       {label:34} {np.mean(means):.4f}")
    say_differences(found)


if __name__ == "__main__":
    main()
