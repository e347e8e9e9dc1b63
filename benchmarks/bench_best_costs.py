"""What does TreeDirectRanker.best cost, in fits and predictions of an LGBMRanker?

On the first fold of each data set: against one that stops early, and against one with as many trees
as the best one keeps.
"""

import argparse
import functools
from pathlib import Path

import lightgbm
import quality_rankers
from best_rankers import LEAVES, MSRD, RANKERS, fit_best, parts_of
from timing import say_ratio, say_times, say_versions, time_in_turn


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
    n_trees = sum(part.best_iteration_ for *trees, _ in bags for part in trees)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=["mq2008", "ohsumed", "clueweb09"])
    arguments = parser.parse_args()
    say_versions("lightgbm")
    for name in arguments.sets:
        time_costs(name, parts_of(name, arguments.data))


if __name__ == "__main__":
    main()
