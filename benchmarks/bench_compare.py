"""How long do 15 hold-outs of six rankers with an inner grid of 8 take? MQ2008, two processes.

The bar is 30 minutes on two cores. ``--store`` keeps the fits, so that a second run shows what
continuing after an interruption costs. ``--splits 1`` gives an estimate in a fifteenth of the time.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge
from timing import say_versions

from treerank import TreeDirectRanker, show_progress
from treerank.datasets.letor import read_letor
from treerank.datasets.ranking_data import RankingData
from treerank.evaluation import compare
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.model_selection import QueryShuffleSplit

LOSSES = ("logistic", "half_squared_tanh", "half_squared", "exponential", "fidelity")
TREES = [(trees, leaves, rate) for trees in (50, 100) for leaves in (7, 15) for rate in (0.05, 0.1)]


def all_queries(folder):
    """The whole of MQ2008: each of its queries is in the test set of one fold."""
    parts = [tuple(read_letor(folder / f"Fold{fold}" / "test.txt")) for fold in range(1, 6)]
    return RankingData(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of MQ2008")
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", type=Path)
    arguments = parser.parse_args()
    say_versions()
    part = LightGBMTrees(n_jobs=1)
    rankers = {loss: TreeDirectRanker(part, loss=loss) for loss in LOSSES} | {"line": Ridge()}
    parts = [
        LightGBMTrees(n_estimators=n, num_leaves=leaves, learning_rate=rate, n_jobs=1)
        for n, leaves, rate in TREES
    ]
    grid = {loss: {"feature_part": parts} for loss in LOSSES}
    grid["line"] = {"alpha": np.logspace(-2, 5, 8).tolist()}
    wall, cpu = time.perf_counter(), time.process_time()
    with show_progress("comparing"):
        comparison = compare(
            rankers,
            all_queries(arguments.folder),
            cv=QueryShuffleSplit(arguments.splits, random_state=0),
            grid=grid,
            n_jobs=arguments.jobs,
            store=arguments.store,
        )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(comparison.summary())
    print(f"{wall / 60:.1f} minutes by wall, {cpu / 60:.1f} of CPU in this process")


if __name__ == "__main__":
    main()
