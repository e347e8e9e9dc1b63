"""What do long queries cost when only the top counts? All pairs, NDCG@30, and lambdarank.

By default, LightGBM's lambdarank visits the pairs with one of the first 30 documents. Its time is
taken as in bench_pair_gradients.py. LightGBM refuses queries of more than 10,000 documents.
"""

import argparse

import lightgbm
import numpy as np
from lambdarank import fit_lightgbm
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank.objectives import make_objective

LABELS = [0.52, 0.32, 0.13, 0.02, 0.01]
DOCUMENTS = 180_000


def compare_at(length, trees, repetitions):
    rng = np.random.default_rng(0)
    qid = np.arange(DOCUMENTS) // length
    y = rng.choice(5, DOCUMENTS, p=LABELS).astype(float)
    scores = rng.normal(size=DOCUMENTS)
    everything, top = (make_objective(y, qid, weight="ndcg", k=k) for k in (None, 30))
    constant = [array.astype(np.float32) for array in top.derivatives(scores)]
    X = rng.normal(size=(DOCUMENTS, 8))
    data = lightgbm.Dataset(X, y, group=np.diff(top.groups.indptr)).construct()
    times = time_in_turn(
        {
            "all pairs": lambda: everything.derivatives(scores),
            "NDCG@30": lambda: top.derivatives(scores),
            "lambdarank fit": lambda: fit_lightgbm(data, "lambdarank", trees),
            "constant fit": lambda: fit_lightgbm(data, lambda *_: constant, trees),
        },
        repetitions,
    )
    times["lambdarank"] = (times["lambdarank fit"] - times["constant fit"]) / trees
    print(f"queries of {length} documents")
    say_times(times)
    say_ratio("NDCG@30 against all pairs", times, "NDCG@30", "all pairs")
    say_ratio("NDCG@30 against lambdarank", times, "NDCG@30", "lambdarank")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    say_versions("numba", "lightgbm")
    for length in arguments.lengths:
        compare_at(length, arguments.trees, arguments.repetitions)


if __name__ == "__main__":
    main()
