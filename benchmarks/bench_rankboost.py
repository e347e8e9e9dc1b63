"""How long do 300 rounds of RankBoost take, where every stump of every feature is tried?

On data of the size of an MSLR fold. A round reads one byte per value, and passes over the documents
once for the potentials; no pair is visited.
"""

import argparse

import numpy as np
from timing import say_times, say_versions, time_in_turn

from treerank.baselines.stumps.rankboost import RankBoost
from treerank.baselines.stumps.stumps import MAX_THRESHOLDS, BinnedFeatures, best_stump
from treerank.datasets.web_search import make_web_search
from treerank.objectives import make_objective


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    y, rows = y.astype(np.float64), np.arange(len(X))
    objective, scores = make_objective(y, qid, loss="exponential"), np.zeros(len(y))
    features = BinnedFeatures.of(X, rows, MAX_THRESHOLDS)
    potentials = -objective(scores)[1]
    say_versions("numba", "numpy")
    print(f"{X.shape[0]} x {X.shape[1]}, {arguments.rounds} rounds")
    functions = {
        "binning": lambda: BinnedFeatures.of(X, rows, MAX_THRESHOLDS),
        "potentials of a round": lambda: objective(scores),
        "best stump of a round": lambda: best_stump(features.codes, potentials),
        "whole fit (bar: 20,000)": lambda: RankBoost(n_estimators=arguments.rounds).fit(X, y, qid),
    }
    say_times(time_in_turn(functions, arguments.repetitions))


if __name__ == "__main__":
    main()
