"""Is TreeDirectRanker.best ahead of other boosted rankers, and what does it cost?

NDCG@10 of every test query, for several seeds; queries without a relevant document are left out.
Sets are LETOR folds, ``clueweb09`` or an ``msrd.npz``, where folds 0 and 1 train, 2 validates and
the others test. All rankers get the same trees and stop early on the validation part, except the
best one, which stops on queries that it leaves out. ``--refit`` gives all rankers the same labels:
they learn from both parts, the best one at once, the others with as many trees as early stopping
on the validation part keeps. Results go to a folder, and a second run measures only what is missing
there. ``--costs`` times one fold instead: fits and predictions of the
best ranker, of an LGBMRanker that stops early, and of one with as many trees as the best one keeps.
"""

import argparse
import functools
import itertools
import time
from operator import itemgetter
from pathlib import Path
from unittest.mock import patch

import lightgbm
import numpy as np
import quality_rankers
from bench_quality import NDCG_AT_10, folds_of
from quality_rankers import PEERS, fit_ours, joined, refitted
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank import TreeDirectRanker
from treerank.statistics import bootstrap_interval, randomization_test

MSRD = "msrd"
#: Leaves of the peers' trees, and on MSRD.
LEAVES = 15, 31
#: Settings of searched peers; the depth is that of CatBoost's trees.
CANDIDATES = [
    {"RATE": rate, "LEAVES": leaves, "DEPTH": depth}
    for rate in (0.05, 0.1)
    for leaves, depth in ((7, 4), (15, 5), (31, 6), (63, 8))
]


def fit_best(train, valid, seed):
    """Fit the best ranker, on one thread."""
    ranker = TreeDirectRanker.best(random_state=seed)
    for trees in ranker.feature_part.parts[1:]:
        trees.set_params(n_jobs=quality_rankers.JOBS)
    return ranker.fit(*train, eval_set=valid).predict


def fit_best_to_all(train, valid, seed):
    """Fit the best ranker to both parts."""
    return fit_best(joined(train, valid), None, seed)


def searched(fit):
    """Return a function that fits all candidates and keeps the best on the validation part."""

    def fit_candidates(train, valid, seed):
        found = []
        for candidate in CANDIDATES:
            with patch.multiple(quality_rankers, **candidate):
                predict = fit(train, valid, seed)
            found.append((NDCG_AT_10(valid[1], predict(valid[0]), valid[2]), predict))
            print(f"  {candidate} {found[-1][0]:.4f} on the validation part", flush=True)
        return max(found, key=itemgetter(0))[1]

    return fit_candidates


STOPPED = PEERS | {"TreeDirectRanker()": lambda *data: fit_ours({}, *data)}
RANKERS = STOPPED | {"best": fit_best}
SEARCHED = {f"{label}, searched": searched(fit) for label, fit in PEERS.items()}
REFITTED = {f"{label}, refitted": refitted(fit) for label, fit in STOPPED.items()}
REFITTED["best, refitted"] = fit_best_to_all


def parts_of(name, folder):
    """Yield (train, validation, test), each X, y, qid."""
    if name != MSRD:
        yield from folds_of(name, folder)
        return
    data = np.load(folder / MSRD / "msrd.npz")
    fold = data["fold"]
    cuts = fold < 2, fold == 2, fold > 2
    yield tuple(tuple(data[column][cut] for column in ("X", "y", "qid")) for cut in cuts)


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


def fit_as_many(n_trees, train):
    """Fit an LGBMRanker of a number of trees."""
    X, y, _, sizes = quality_rankers.sorted_by_query(*train)
    ranker = lightgbm.LGBMRanker(
        n_estimators=n_trees,
        learning_rate=quality_rankers.RATE,
        num_leaves=quality_rankers.LEAVES,
        verbosity=-1,
        n_jobs=quality_rankers.JOBS,
    )
    return ranker.fit(X, y, group=sizes).predict


def time_costs(name, parts):
    """Print the times of fits to the first fold, and of scoring its test documents."""
    quality_rankers.LEAVES = LEAVES[name == MSRD]
    train, valid, test = next(iter(parts))
    best = fit_best(train, valid, 0)
    bags = best.__self__.feature_part_.bags_
    n_trees = sum(part.best_iteration_ for _, *trees in bags for part in trees)
    early = RANKERS["LGBMRanker lambdarank"](train, valid, 0)
    as_many = fit_as_many(n_trees, train)
    print(f"{name}: {len(train[0]):,} and {len(test[0]):,} documents")
    labels = f"LGBMRanker, {early.__self__.best_iteration_} trees", f"LGBMRanker, {n_trees} trees"
    fits = {
        "best": lambda: fit_best(train, valid, 0),
        labels[0]: lambda: RANKERS["LGBMRanker lambdarank"](train, valid, 0),
        labels[1]: lambda: fit_as_many(n_trees, train),
    }
    predictions = {
        label: functools.partial(predict, test[0])
        for label, predict in zip(fits, (best, early, as_many), strict=True)
    }
    for what, calls, n_times in ("fits", fits, 3), ("predictions", predictions, 15):
        print(what)
        times = time_in_turn(calls, n_times)
        say_times(times)
        for label in labels:
            say_ratio(f"best against {label}", times, label, "best", "at most 6x")


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
    parser.add_argument("--results", type=Path)
    parser.add_argument("--sets", nargs="+", default=["mq2008", "ohsumed", "clueweb09"])
    parser.add_argument("--rankers", nargs="+", choices=[*RANKERS, *SEARCHED, *REFITTED])
    parser.add_argument("--refit", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--costs", action="store_true")
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost", "catboost")
    if arguments.costs:
        for name in arguments.sets:
            time_costs(name, parts_of(name, arguments.data))
        return
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
