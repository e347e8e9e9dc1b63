"""Are own trees faster than LGBMRanker on thousands of sparse columns? Same trees and leaves."""

import argparse

import lightgbm
import numpy as np
from scipy.sparse import csr_matrix
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank.baselines.boosted import LambdaMART

IN_A_QUERY = 50


def make_data(n_rows, n_columns, share):
    """Return log-normal values at random places; the label leans on a tenth of the columns."""
    rng = np.random.default_rng(0)
    filled = rng.integers(n_columns, size=(n_rows, int(share * n_columns)))
    rows = np.repeat(np.arange(n_rows), filled.shape[1])
    X = csr_matrix((rng.lognormal(size=filled.size), (rows, filled.ravel())), (n_rows, n_columns))
    X.sum_duplicates()
    leaning = rng.normal(size=n_columns) * (rng.random(n_columns) < 0.1)
    scores = X @ leaning + 0.3 * rng.normal(size=n_rows)
    y = np.digitize(scores, np.quantile(scores, [0.6, 0.8, 0.9, 0.97]))
    return X, y, np.arange(n_rows) // IN_A_QUERY


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=5000)
    parser.add_argument("--share", type=float, default=0.01, help="of the values that are not 0")
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    X, y, qid = make_data(arguments.rows, arguments.columns, arguments.share)
    sizes = np.unique(qid, return_counts=True)[1]
    trees = {"num_leaves": arguments.leaves, "n_jobs": arguments.jobs, "learning_rate": 0.1}
    ours = LambdaMART(arguments.trees, colsample_bytree=1.0, random_state=0, **trees)
    theirs = lightgbm.LGBMRanker(n_estimators=arguments.trees, verbosity=-1, **trees)
    fits = {
        "LambdaMART": lambda: ours.fit(X, y, qid),
        "LGBMRanker": lambda: theirs.fit(X, y, group=sizes),
    }
    say_versions("lightgbm", "numba")
    times = time_in_turn(fits, arguments.repetitions)
    say_times(times)
    say_ratio("LambdaMART against LGBMRanker", times, *fits, f">= {1 / 0.6:.2f}")


if __name__ == "__main__":
    main()
