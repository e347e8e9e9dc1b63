"""How fast are pair gradients? Ours against a plain double loop, and LightGBM's lambdarank.

The double loop is numba's, parallel over queries and with fastmath. The time of LightGBM's
objective is the time of a lambdarank fit minus the time of a fit of as many trees with constant
gradients in the same turn, divided by the number of trees; on a few columns and with small trees,
so that growing them takes little of the time. Ours gets the scores that lambdarank had before
each of these trees, the first of which are all equal. By default lambdarank visits only pairs
with one of the first 30 documents (``lambdarank_truncation_level``); ours visits all pairs, so
lambdarank is timed over all pairs, too. All get one thread each, then all threads each.
"""

import argparse

import lightgbm
import numba
import numpy as np
from lambdarank import fit_lightgbm, scores_before_trees
from timing import say_ratio, say_times, say_versions, time_turns

from treerank.datasets.web_search import make_web_search
from treerank.numerics.threads import threads_allowed
from treerank.objectives import make_objective

COLUMNS = 8
#: What a ranker takes if nothing is said.
SMOOTHING = 1.0


@numba.njit(parallel=True, fastmath=True)
def double_loop(scores, y, indptr, gradient, hessian):
    for q in numba.prange(len(indptr) - 1):
        a, b = indptr[q], indptr[q + 1]
        gradient[a:b] = 0
        hessian[a:b] = 0
        for i in range(a, b):
            for j in range(a, b):
                if y[i] > y[j]:
                    p = 1 / (1 + np.exp(scores[i] - scores[j]))
                    gradient[i] -= p
                    gradient[j] += p
                    hessian[i] += p * (1 - p)
                    hessian[j] += p * (1 - p)


def compare(n_threads, objectives, X, data, trees, repetitions):
    """Time everything with so many threads, and print it."""
    numba.set_num_threads(n_threads)
    scores = scores_before_trees(X, data, trees)
    ndcg = objectives["logistic x delta NDCG"]
    constant = [array.astype(np.float32) for array in ndcg.derivatives(scores[-1])]
    loop = data.get_label(), ndcg.groups.indptr, *np.empty((2, len(X)))

    def call(derivatives):
        return lambda: [derivatives(s, iteration=t) for t, s in enumerate(scores)]

    def fit(objective, **params):
        return lambda: fit_lightgbm(data, objective, trees, num_threads=n_threads, **params)

    calls = {name: call(objective.derivatives) for name, objective in objectives.items()} | {
        "lambdarank": fit("lambdarank"),
        "lambdarank, all pairs": fit("lambdarank", lambdarank_truncation_level=len(X)),
        "constant": fit(lambda *_: constant),
    }
    times = {name: t / trees for name, t in time_turns(calls, repetitions).items()}
    times |= time_turns({"double loop": lambda: double_loop(scores[-1], *loop)}, repetitions)
    print(f"{n_threads} threads; each tree of a fit, or each call:")
    say_times(times)
    for theirs in ("lambdarank", "lambdarank, all pairs"):
        times[theirs] -= times["constant"]
    say_ratio("logistic against the double loop", times, "logistic", "double loop", ">= 15")
    bars = {"logistic x delta NDCG": ">= 6", "the same, smoothed": ">= 4"}
    for ours, bar in bars.items():
        say_ratio(f"{ours} against lambdarank", times, ours, "lambdarank", bar)
        say_ratio(f"{ours} against lambdarank, all pairs", times, ours, "lambdarank, all pairs")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    objectives = {
        "logistic": make_objective(y, qid),
        "logistic x delta NDCG": make_objective(y, qid, weight="ndcg"),
        "the same, smoothed": make_objective(y, qid, weight="ndcg", smoothing=SMOOTHING),
    }
    X, groups = X[:, :COLUMNS], objectives["logistic"].groups
    data = lightgbm.Dataset(X, y, group=groups.sizes, free_raw_data=False).construct()
    say_versions("numba", "lightgbm")
    print(f"{len(y)} documents, {objectives['logistic'].n_pairs / 1e6:.1f} M pairs")
    for n_threads in sorted({1, threads_allowed()}):
        compare(n_threads, objectives, X, data, arguments.trees, arguments.repetitions)


if __name__ == "__main__":
    main()
